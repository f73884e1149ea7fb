"""soft-threshold-ucb: penalties paper, section 5, "On hard threshold"."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.rationals import rounded_product
from jaxbandit.policies.base import PolicyState
from jaxbandit.policies.penalties.hard_threshold import HardThreshold
from jaxbandit.policies.round_view import RoundView, deficit


class SoftThreshold(HardThreshold, name="soft-threshold-ucb"):
    """Soft-threshold UCB: like hard-threshold UCB, with a bonus in proportion to the missing share of the quota.

    The bonus of arm k in round t is A_k max(tau_k t - N_k(t-1), 0) / (tau_k t), or 0 if tau_k = 0. A_k is the penalty
    rate, N_k(t-1) the number of rounds before t in which the arm was selected, and tau_k its fraction. First each arm
    is played once, whatever the base. The problem needs `fractions`, and `penalties` unless the policy has its own.

    Source: penalties paper (anonymous, under review), "A new look at fairness in stochastic multi-armed bandit
    problems", sec. 5.

    Raises:
        InputError: when the simulation starts, if fractions or penalty rates are missing.

    Example:
        >>> jb.policy("soft-threshold-ucb", base="moss", penalties=2.5)
        SoftThreshold(base=MOSS(), penalties=2.5)
    """

    source: ClassVar[str] = "penalties paper, sec. 5"

    def value(self, state: PolicyState, now: RoundView) -> Array:
        missing = jnp.maximum(deficit(now.quota_now, now.pulls), 0.0)
        quota = deficit(now.quota_now, jnp.zeros_like(now.pulls))  # tau_k t
        share = jnp.where(quota > 0, missing / jnp.where(quota > 0, quota, 1.0), 0.0)
        return self.index(state, now) + rounded_product(self.penalties, share)
