"""epsilon-greedy: Sutton & Barto (1998), ch. 2; Auer, Cesa-Bianchi & Fischer (2002), Fig. 3 with constant eps."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.policies.base import Index
from jaxbandit.policies.indices.uniform_random import uniform_score
from jaxbandit.policies.round_view import RoundView


class EpsilonGreedy(Index, name="epsilon-greedy"):
    """With probability eps a uniformly random arm, else the highest mean (an arm never selected first)."""

    source: ClassVar[str] = "Auer et al. 2002, Fig. 3, constant eps"
    initial_pass: ClassVar[bool] = False  # the coin is tossed from round 1 on; the greedy branch has its own pass
    eps: float = parameter(0.1, low=0, high=1, doc="chance of a random arm")

    def value(self, state: Any, now: RoundView) -> Array:
        explores = now.random.uniform(attempt=1) < self.eps
        greedy = jnp.where(now.pulls == 0, jnp.inf, now.mean)
        return jnp.where(explores, uniform_score(now), greedy)
