"""op-fcucb-d: merit paper, Algorithm 3."""

from __future__ import annotations

from typing import ClassVar

from jax import Array

from jaxbandit.policies.merit.proportional import (
    ConfidenceRegionPolicy,
    confidence_radius,
    missing_rewards,
    pulls_at_least_one,
)
from jaxbandit.policies.round_view import RoundView


class OPFCUCBD(ConfidenceRegionPolicy, name="op-fcucb-d"):
    """OP-FCUCB-D: fcucb-d with a wider confidence region, which allows for every value of the missing rewards.

    The interval of arm k is [S_k / N_k - r_k, (S_k + N_k - M_k) / N_k + r_k] with r_k = sqrt(log(6 L K T) / N_k), where
    N_k is the number of times that the arm was selected, M_k the number of its rewards that have arrived and S_k their
    sum. The N_k - M_k missing rewards thus count as 0 in the lower end and as 1 in the upper end. The policy is made
    for delays that depend on the rewards. It uses the horizon T. The problem needs rewards in [0, 1], and `merit`
    unless the policy has its own.

    Source: Chen, Cai, Chen, Zhang & Lui, "Merit-based fair combinatorial semi-bandit with unrestricted feedback
    delays" (merit paper), Alg. 3; the radius is that of Theorem 8.

    Raises:
        InputError: when the simulation starts, if merit is missing or rewards can be outside [0, 1].

    Example:
        >>> jb.policy("op-fcucb-d")
        OPFCUCBD(merit=None)
    """

    source: ClassVar[str] = "merit paper, Alg. 3"

    def confidence_region(self, now: RoundView) -> tuple[Array, Array]:
        plays = pulls_at_least_one(now)
        radius = confidence_radius(now, 6.0, plays)  # merit paper, Theorem 8
        low = now.total / plays - radius  # merit paper, Alg. 3, lines 5-8
        return low, (missing_rewards(now) + now.total) / plays + radius
