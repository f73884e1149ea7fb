"""soft-threshold-ucb: paper 000, section 5, "On hard threshold"."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.rationals import rounded_product
from jaxbandit.policies.penalties.hard_threshold import HardThreshold
from jaxbandit.policies.round_view import RoundView, deficit


class SoftThreshold(HardThreshold, name="soft-threshold-ucb"):
    """The index, plus A_k times the share still missing: max(tau_k t - N_k(t-1), 0) / (tau_k t), 0 at tau_k = 0."""

    source: ClassVar[str] = "000 sec. 5"

    def value(self, state: Any, now: RoundView) -> Array:
        missing = jnp.maximum(deficit(now.quota_now, now.pulls), 0.0)
        quota_before = deficit(now.quota_now, jnp.zeros_like(now.pulls))  # tau_k t
        share = jnp.where(quota_before > 0, missing / jnp.where(quota_before > 0, quota_before, 1.0), 0.0)
        return self.index(state, now) + rounded_product(self.penalties, share)
