"""uniform-random: every available arm with the same probability."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.policies.base import Index, PolicyState
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.sampling import sample_arm


def uniform_scores(now: RoundView) -> Array:
    """Scores whose L highest available arms are a uniform draw of L available arms, float `[K, *runs]`."""
    if now.plays == 1:
        return _uniform_arm(now).astype(now.deviation.dtype)
    return now.random.uniform(now.pulls.shape[0])


def _uniform_arm(now: RoundView) -> Array:
    """A uniform draw of one available arm by one random number, as a mask, bool `[K, *runs]`."""
    return sample_arm(jnp.ones(now.available.shape, now.deviation.dtype), now.random.uniform(), now.available)


class UniformRandom(Index, name="uniform-random"):
    """Uniform: plays uniformly random available arms in every round, and learns nothing; a baseline.

    Example:
        >>> jb.policy("uniform-random")
        UniformRandom()
    """

    source: ClassVar[str] = "baseline without learning"
    initial_pass: ClassVar[bool] = False

    def value(self, state: PolicyState, now: RoundView) -> Array:
        return uniform_scores(now)

    def _top(self, state: PolicyState, now: RoundView) -> Array:
        return _uniform_arm(now) if now.plays == 1 else super()._top(state, now)
