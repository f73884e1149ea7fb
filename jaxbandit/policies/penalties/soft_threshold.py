"""soft-threshold-ucb: paper 000, section 5, "On hard threshold"."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.rationals import product
from jaxbandit.policies.penalties.hard_threshold import HardThreshold
from jaxbandit.policies.round_view import Round, deficit


class SoftThreshold(HardThreshold, name="soft-threshold-ucb"):
    """The index, plus A_k times the share still missing: max(tau_k t - N_k(t-1), 0) / (tau_k t), 0 at tau_k = 0."""

    source: ClassVar[str] = "000 sec. 5"

    def value(self, state: Any, now: Round) -> Array:
        missing = jnp.maximum(deficit(now.due, now.pulls), 0.0)
        owed = deficit(now.due, jnp.zeros_like(now.pulls))  # tau_k t
        share = jnp.where(owed > 0, missing / jnp.where(owed > 0, owed, 1.0), 0.0)
        return self.index(state, now) + product(self.penalties, share)
