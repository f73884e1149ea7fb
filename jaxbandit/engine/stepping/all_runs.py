"""All runs of a simulator at once, played by the rounds that a simulation compiles."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core import prng
from jaxbandit.core.xla.tiling import LANES
from jaxbandit.engine import rollout
from jaxbandit.engine.batch.chunks import failure
from jaxbandit.engine.batch.traced_programs import PROGRAM, kept_by
from jaxbandit.engine.stepping.placement import is_traced
from jaxbandit.engine.stepping.quota_schedule import QuotaSchedule
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Policy


def final_states(
    policy: Policy, world: World, schedule: QuotaSchedule | None, horizon: int, key: Any, shape: tuple[int, int, int]
) -> tuple[Array, rollout.State]:
    """The keys of all runs, uint32 `[J, seeds, 2]`, and their states at the end, with arrays `[J, seeds, K, 1]`.

    Args:
        policy, world: prepared, on the device: arrays `[K or 1, J or 1]`.
        schedule: the quotas; None without fractions.
        horizon: T.
        key: as for `Simulator.init`.
        shape: (K, J, seeds).

    Raises:
        ReturnedError, FloatingPointError: as `jb.simulate`; only where nothing is traced.
    """
    arms, instances, seeds = shape
    lanes = seeds + -seeds % LANES  # whole vectors, as blocks have: the same code, and so the same bits
    words = prng.traced_run_keys(key, jnp.arange(instances)[:, None], jnp.arange(lanes))
    own, played = jax.tree.map(_per_cell, (policy, world))
    quotas = None if schedule is None else jax.tree.map(_per_cell, schedule.up_to(horizon))
    zero, last = jnp.zeros((), jnp.int32), jnp.asarray(horizon, jnp.int32)
    key_words, numbers = (words[0][None], words[1][None]), (zero, last, zero, last[None])
    block = arms, instances, lanes
    if is_traced((own, played, words)):  # within other programs XLA cannot always make one kernel of it
        state = jax.tree.map(jnp.asarray, rollout.begin(own, played, block, False))
        final = rollout.play_on(own, played, key_words, quotas, *numbers, state)[0]
    else:
        columns = None if schedule is None else schedule.per_period.shape[1]
        with PROGRAM(kept_by(policy, world, arms, columns)):
            state = rollout.start(own, played, block, False)
            final, _, _, faults = rollout.advance(own, played, key_words, quotas, *numbers, state)
        found = dict(zip(rollout.FAULTS, np.asarray(faults).tolist(), strict=True))
        if any(found.values()):
            raise failure(f"policy {policy.name!r}", found, horizon, world)
    runs = jax.tree.map(lambda leaf: _per_run(leaf, instances, lanes)[:, :seeds], final)
    return jnp.stack(words, axis=-1)[:, :seeds], runs


def _per_cell(leaf: Array) -> Array:
    """Arrays `[..., K or 1, J or 1]` become `[..., K or 1, J or 1, 1]`; scalars and tables stay as they are."""
    return leaf[..., None] if leaf.ndim >= 2 else leaf


def _per_run(leaf: Array, instances: int, lanes: int) -> Array:
    """Arrays `[..., K or 1, J or 1, lanes or 1]` become `[J, lanes, ..., K or 1, 1]`; others are repeated."""
    if leaf.ndim < 2:
        return jnp.broadcast_to(leaf, (instances, lanes, *leaf.shape))
    spread = jnp.broadcast_to(leaf, (*leaf.shape[:-2], instances, lanes))
    return jnp.moveaxis(spread, (-2, -1), (0, 1))[..., None]
