"""fgreedy-d: the epsilon-greedy policy that paper 002 compares with."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.policies.merit.proportional import Proportional
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.top_arms import top_arms


class FGreedyD(Proportional, name="fgreedy-d"):
    """With probability eps / t^decay L arms evenly at random, else in proportion to the merit of the means."""

    source: ClassVar[str] = "002 sec. 6"
    real_counts: ClassVar[bool] = True
    eps: float = parameter(0.1, low=0, high=1, doc="probability of exploring in the first round")
    decay: float = parameter(0.0, low=0, doc="0: eps throughout; 1/3: eps / t^(1/3)")

    def estimate(self, now: RoundView) -> Array:
        return jnp.clip(now.mean, 0.0, 1.0)  # rounding may leave [0, 1]

    def chances(self, now: RoundView) -> Array:
        return self._mixed(now, self._explores(now), super().chances(now))

    def choose(self, state: Any, now: RoundView) -> tuple[Array, Array]:
        greedy, fair = self.drawn(now, super().chances(now))
        explores, lots = self._explores(now), now.deeper().deeper()
        evenly = top_arms((lots.random.uniform(len(fair)),), now.plays, now.plays, now.available)
        return jnp.where(explores, evenly, greedy), self._mixed(now, explores, fair)

    def _explores(self, now: RoundView) -> Array:
        """Whether the coin falls for exploring, bool `[1, *runs]`."""
        return now.deeper().random.uniform() < self.eps * now.t.astype(now.deviation.dtype) ** -self.decay

    def _mixed(self, now: RoundView, explores: Array, fair: Array) -> Array:
        """The chances of the branch that the coin takes, float `[K, *runs]`."""
        there = jnp.sum(now.available, axis=0, keepdims=True, dtype=fair.dtype)
        even = jnp.where(now.available, jnp.minimum(there, float(now.plays)) / jnp.maximum(there, 1.0), 0.0)
        return jnp.where(explores, even, fair)
