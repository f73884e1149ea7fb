"""moss: Audibert & Bubeck (2009), "Minimax policies for adversarial and stochastic bandits", sec. 3."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.policies.base import Index
from jaxbandit.policies.round_view import RoundView


class MOSS(Index, name="moss"):
    """m_k + sqrt(max(log(T / (K M_k)), 0) / M_k): knows the horizon."""

    source: ClassVar[str] = "Audibert & Bubeck 2009, sec. 3"
    real_counts: ClassVar[bool] = True

    def value(self, state: Any, now: RoundView) -> Array:
        horizon = now.horizon.astype(now.deviation.dtype)
        ratio = horizon / (now.pulls.shape[0] * now.samples)
        return now.upper(jnp.maximum(jnp.log(ratio), 0.0))
