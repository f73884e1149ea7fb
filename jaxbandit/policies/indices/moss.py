"""moss: Audibert & Bubeck (2009), "Minimax policies for adversarial and stochastic bandits", sec. 3."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.xla.fusion import on_cpu
from jaxbandit.policies.base import Index, PolicyState
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.quotients import rounded_quotient


class MOSS(Index, name="moss"):
    """MOSS: the index m_k + sqrt(max(log(T / (K M_k)), 0) / M_k).

    m_k is the mean of the M_k rewards of arm k that have arrived, and K is the number of arms. The policy uses the
    horizon T.

    Source: Audibert & Bubeck (2009), "Minimax policies for adversarial and stochastic bandits", sec. 3.

    Example:
        >>> jb.policy("moss")
        MOSS()
    """

    source: ClassVar[str] = "Audibert & Bubeck 2009, sec. 3"
    real_counts: ClassVar[bool] = True

    def value(self, state: PolicyState, now: RoundView) -> Array:
        horizon = now.horizon.astype(now.deviation.dtype)
        ratio = rounded_quotient(horizon, now.pulls.shape[0] * now.samples)  # exactly 1 where T = K M_k
        weight = jnp.maximum(jnp.log(ratio), 0.0)
        upper = now.upper(weight)
        # Arms without a bonus tie where their means are equal; on other devices only `mean` is rounded to nearest
        return upper if on_cpu() else jnp.where(weight > 0, upper, now.mean)
