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
    """Soft-threshold UCB: index_k + A_k max(tau_k t - N_k(t-1), 0) / (tau_k t), the missing share of the quota.

    The second term is 0 where tau_k = 0. Each arm is played once first, whatever the base. The problem needs
    `fractions`, and `penalties` unless the policy has its own.

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
