"""fcucb-d: merit paper, Algorithm 1; with one play and no delay, FairX-UCB of Wang et al. (2021)."""

from __future__ import annotations

from typing import ClassVar

from jax import Array

from jaxbandit.policies.base import Alias
from jaxbandit.policies.merit.proportional import ConfidenceRegionPolicy, confidence_radius
from jaxbandit.policies.round_view import RoundView


class FCUCBD(ConfidenceRegionPolicy, name="fcucb-d"):
    """FCUCB-D: draws arms in proportion to the merit of optimistic means, the best in a confidence region.

    First each arm is played once. Then, in each round, L arms are drawn with the probabilities
    L f(x_k) / sum_j f(x_j), where f is the merit function. The optimistic means x maximise the mean reward per play,
    sum_k f(x_k) x_k / sum_k f(x_k), over all x in [0, 1]^K with |x_k - m_k| <= sqrt(log(4 L K T) / M_k). m_k is the
    mean of the M_k rewards of arm k that have arrived, K the number of arms and L the number of plays per round.

    The policy uses the horizon T. With one play per round and no delay it is FairX-UCB of Wang, Bai, Sun & Joachims
    (2021); `fairx-ucb` is another name for it. The problem needs rewards in [0, 1], and `merit` unless the policy has
    its own.

    Source: Chen, Cai, Chen, Zhang & Lui, "Merit-based fair combinatorial semi-bandit with unrestricted feedback
    delays" (merit paper), Alg. 1; the radius is that of Theorem 6.

    Raises:
        InputError: when the simulation starts, if merit is missing or rewards can be outside [0, 1].

    Example:
        >>> jb.policy("fcucb-d", merit={"kind": "power", "scale": 3.5}).merit["scale"]
        3.5
    """

    source: ClassVar[str] = "merit paper, Alg. 1"

    def confidence_region(self, now: RoundView) -> tuple[Array, Array]:
        radius = confidence_radius(now, 4.0, now.samples)  # merit paper, Theorem 6
        return now.mean - radius, now.mean + radius  # merit paper, Alg. 1, lines 5-6


Alias("fairx-ucb", FCUCBD, "fcucb-d, which is FairX-UCB for one play without delay", "Wang et al. 2021")
