"""fcts-d: merit paper, Algorithm 2; with one play and no delay, FairX-TS of Wang et al. (2021)."""

from __future__ import annotations

from typing import ClassVar

from jax import Array

from jaxbandit.policies.base import Alias
from jaxbandit.policies.merit.proportional import MeritPolicy
from jaxbandit.policies.round_view import RoundView


class FCTSD(MeritPolicy, name="fcts-d"):
    """FCTS-D: draws arms in proportion to the merit f(x_k) of posterior draws x_k of the means.

    x_k is drawn from Beta(1 + S_k, 1 + M_k - S_k), where M_k is the number of rewards of arm k that have arrived and
    S_k their sum. L arms are drawn with the probabilities L f(x_k) / sum_j f(x_j), where f is the merit function. A
    reward r that is not 0 or 1 is replaced by a random number that is 1 with probability r, else 0.

    With one play per round and no delay the policy is FairX-TS of Wang, Bai, Sun & Joachims (2021); `fairx-ts` is
    another name for it. The problem needs rewards in [0, 1], and `merit` unless the policy has its own.

    Source: Chen, Cai, Chen, Zhang & Lui, "Merit-based fair combinatorial semi-bandit with unrestricted feedback
    delays" (merit paper), Alg. 2.

    Raises:
        InputError: when the simulation starts, if merit is missing or rewards can be outside [0, 1].

    Example:
        >>> jb.policy("fcts-d")
        FCTSD(merit=None)
    """

    source: ClassVar[str] = "merit paper, Alg. 2"
    binary_feedback: ClassVar[bool] = True
    costly: ClassVar[bool] = True  # as `Index.costly`: it draws from Beta distributions

    def estimate(self, now: RoundView) -> Array:
        received = now.received.astype(now.total.dtype)
        random = now.for_wrapped_policy().random
        return random.beta(1.0 + now.total, 1.0 + received - now.total)  # merit paper, Alg. 2, line 3


Alias("fairx-ts", FCTSD, "fcts-d, which is FairX-TS for one play without delay", "Wang et al. 2021")
