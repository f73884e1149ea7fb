"""discounted-ucb: Garivier & Moulines (2011)."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.input_values import Number
from jaxbandit.policies.indices.nonstationary.discounted import DiscountedIndex, DiscountedSums
from jaxbandit.policies.round_view import RoundView, safe_sqrt

_FORGOTTEN = 1e-30  # a discounted count below which nothing is known of an arm


class DiscountedUCB(DiscountedIndex, name="discounted-ucb"):
    """Discounted UCB: UCB1 for mean rewards that change, in which older feedback counts less.

    The index is S'_k / N'_k + sqrt(x log(max(n, 1)) / N'_k), where n is the sum of all N'_j and x the parameter
    `exploration`. At the end of a round, N'_k = g N'_k + the number of rewards of arm k that arrived in the round, and
    S'_k = g S'_k + their sum, with the parameter `discount` as g. With g = 1, n is the number of rewards that have
    arrived. An arm with N'_k below 1e-30 has index +infinity. An arm that was selected but whose first reward has not
    arrived is treated as if it had one reward, of 0; n does not count this reward.

    Garivier & Moulines write 2 B sqrt(ξ log(n) / N'_k) for rewards in [0, B], so x is 4 ξ B^2: the default is their
    ξ = 1/2 for rewards in [0, 1].

    Source: Garivier & Moulines (2011), "On upper-confidence bound policies for switching bandit problems".

    Example:
        >>> jb.policy("discounted-ucb", discount=0.995)
        DiscountedUCB(discount=0.995, exploration=2.0)
    """

    source: ClassVar[str] = "Garivier & Moulines 2011"
    real_counts: ClassVar[bool] = True
    exploration: Number = parameter(2.0, low=0, doc="x, the weight of the logarithm in the radius", smooth=True)

    def value(self, state: DiscountedSums, now: RoundView) -> Array:
        log = jnp.log(jnp.maximum(jnp.sum(state.count, axis=0, keepdims=True), 1.0))
        count = jnp.where(now.received == 0, 1.0, jnp.maximum(state.count, _FORGOTTEN))
        index = state.total / count + safe_sqrt(self.exploration * log / count)
        forgotten = (now.received > 0) & (state.count < _FORGOTTEN)
        return jnp.where(forgotten, jnp.inf, index)
