"""uniform-random: every available arm with the same probability."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.users_code import contracts
from jaxbandit.core.xla.fusion import cond_fused, without_fusion
from jaxbandit.policies.base import Index, PolicyState
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.sampling import sample_number
from jaxbandit.policies.selection.top_arm import one_hot


def uniform_scores(now: RoundView) -> Array:
    """Scores whose L highest available arms are a uniform draw of L available arms, float `[K, *runs]`."""
    if now.plays == 1:
        arm = without_fusion(lambda: _uniform_arm(now), now.pulls)
        return one_hot(arm, now.available).astype(now.deviation.dtype)
    return now.random.uniform(now.pulls.shape[0])


def _uniform_arm(now: RoundView) -> Array:
    """The number of an available arm, drawn uniformly by one random number, int32 `[1, *runs]`; K for none."""
    arms, uniform = len(now.pulls), now.random.uniform()

    def of_all() -> Array:
        return jnp.minimum((uniform * arms).astype(jnp.int32), arms - 1)  # uniform * K may be rounded up to K

    def of_some() -> Array:
        return sample_number(jnp.ones(now.available.shape, uniform.dtype), uniform, now.available)

    return cond_fused(jnp.all(now.available), of_all, of_some)  # XLA knows where all arms are always available


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

    def _select_one(self, state: PolicyState, now: RoundView) -> Array:
        if contracts.has_users_method(self, "value", "score", "tie_breaker"):
            return super()._select_one(state, now)
        return _uniform_arm(now)
