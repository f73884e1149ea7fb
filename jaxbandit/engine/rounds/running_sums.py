"""What the engine adds up beside the counts, for metrics that need it."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array

from jaxbandit.engine.rounds.feedback import Sent
from jaxbandit.environment.world import World
from jaxbandit.policies.selection.top_arms import top_arms


def _reward(world: World, sent: Sent, selected: Array, chances: Array | None, available: Array) -> Array:
    return jnp.sum(jnp.where(sent.here, sent.reward, 0.0), axis=0, keepdims=True)


def _reward_regret(world: World, sent: Sent, selected: Array, chances: Array | None, available: Array) -> Array:
    lost = jnp.sum((world.fair - chances) * world.means, axis=0, keepdims=True)
    return jnp.maximum(lost, 0.0)  # merit paper, eq. 5


def _awake_regret(world: World, sent: Sent, selected: Array, chances: Array | None, available: Array) -> Array:
    means = jnp.broadcast_to(world.means, selected.shape)
    best = top_arms((means,), world.plays, world.plays, available)
    return jnp.sum(means * (best.astype(means.dtype) - selected.astype(means.dtype)), axis=0, keepdims=True)


def _fairness_regret(world: World, sent: Sent, selected: Array, chances: Array | None, available: Array) -> Array:
    return jnp.sum(jnp.abs(world.fair - chances), axis=0, keepdims=True)  # merit paper, eq. 6


# What a round adds to each sum that metrics need beside the counts, float `[1, *runs]`
SUMS: dict[str, Callable[[World, Sent, Array, Array | None, Array], Array]] = {
    "reward": _reward,
    "awake_regret": _awake_regret,
    "reward_regret": _reward_regret,
    "fairness_regret": _fairness_regret,
}
CHANCES = frozenset({"reward_regret", "fairness_regret"})  # the sums that need the probability of selecting each arm
