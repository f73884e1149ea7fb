"""uniform-random: every available arm with the same chance."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.policies.base import Index
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.top_arms import sample


def uniform_score(now: RoundView) -> Array:
    """Scores whose L highest available arms are a uniform draw, float `[K, *runs]`."""
    if now.plays == 1:  # one number a round instead of one an arm
        chosen = sample(jnp.ones(now.available.shape, now.deviation.dtype), now.random.uniform(), now.available)
        return chosen.astype(now.deviation.dtype)
    return now.random.uniform(now.pulls.shape[0])


class UniformRandom(Index, name="uniform-random"):
    """A uniformly random arm in every round."""

    source: ClassVar[str] = "the policy that learns nothing"
    initial_pass: ClassVar[bool] = False

    def value(self, state: Any, now: RoundView) -> Array:
        return uniform_score(now)
