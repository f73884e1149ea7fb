"""All runs of a simulator at once, played by the rounds that a simulation compiles; and all its relaxed runs."""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core import prng
from jaxbandit.core.xla.tiling import LANES
from jaxbandit.engine import rollout
from jaxbandit.engine.advice.faults import about_policy
from jaxbandit.engine.batch.chunks import failure
from jaxbandit.engine.batch.traced_programs import PROGRAM, kept_by
from jaxbandit.engine.stepping.placement import is_traced
from jaxbandit.engine.stepping.quota_schedule import QuotaSchedule
from jaxbandit.engine.stepping.relaxed import relaxed_runs
from jaxbandit.engine.stepping.relaxed.relaxed_round import ShareState
from jaxbandit.engine.stepping.relaxed.relaxed_runs import RunInputs
from jaxbandit.engine.stepping.relaxed.softness import Softness
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Policy

Tree = TypeVar("Tree")


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
    own, played, quotas = _per_cell((policy, world, None if schedule is None else schedule.up_to(horizon)))
    zero, last = jnp.zeros((), jnp.int32), jnp.asarray(horizon, jnp.int32)
    stops = last[None] if world.changes is None else jnp.append(world.changes.first_rounds[1:] - 1, last)
    key_words, numbers = (words[0][None], words[1][None]), (zero, last, zero, stops)
    block = arms, instances, lanes
    if is_traced((own, played, words)):  # within other programs XLA cannot always make one kernel of it
        state = jax.tree.map(jnp.asarray, rollout.begin(own, played, block, False))
        final = rollout.play_on(own, played, key_words, quotas, *numbers, None, state)[0]
    else:
        with PROGRAM(kept_by(policy, world, arms, _columns(schedule))):
            state = rollout.start(own, played, block, False)
            final, _, faults = rollout.advance(own, played, key_words, quotas, *numbers, None, state)
        raise_faults(faults, policy, world, horizon)
    return jnp.stack(words, axis=-1)[:, :seeds], _per_run(final, instances, lanes, seeds)


def final_relaxed_states(
    policy: Policy,
    world: World,
    schedule: QuotaSchedule | None,
    horizon: int,
    key: Any,
    shape: tuple[int, int, int],
    softness: Softness,
) -> tuple[Array, ShareState]:
    """As `final_states`, for relaxed runs.

    Raises:
        FloatingPointError: a share is not a number; only where nothing is traced.
    """
    arms, instances, seeds = shape
    words = prng.traced_run_keys(key, jnp.arange(instances)[:, None], jnp.arange(seeds))
    own, played, quotas = _per_cell((policy, world, None if schedule is None else schedule.up_to(horizon)))
    inputs = RunInputs(played, (words[0][None], words[1][None]), quotas, softness)
    if is_traced((own, inputs)):
        final = relaxed_runs.final_state(own, inputs, shape, horizon)
    else:
        with PROGRAM(kept_by(policy, world, arms, _columns(schedule))):
            final = _relaxed(own, inputs, shape, horizon)
        raise_if_not_shares(final, policy, horizon)
    return jnp.stack(words, axis=-1), _per_run(final, instances, seeds, seeds)


def raise_faults(faults: Array, policy: Policy, world: World, last: int) -> None:
    """Raise an error about `rollout.FAULTS` in the rounds up to `last`, if there are any.

    Raises:
        ReturnedError, FloatingPointError: as `jb.simulate`.
    """
    found = dict(zip(rollout.FAULTS, np.asarray(faults).tolist(), strict=True))
    if any(found.values()):
        raise about_policy(failure(f"policy {policy.name!r}", found, last, world, policy), policy)


def raise_if_not_shares(state: ShareState, policy: Policy, last: int) -> None:
    """Raise an error if a share of the rounds up to `last` was not a number.

    Raises:
        FloatingPointError: it was not.
    """
    if not np.isfinite(state.partial_play).all():
        raise FloatingPointError(f"policy {policy.name!r}: a share was not a number, in round {last} or before")


_relaxed = jax.jit(relaxed_runs.final_state, static_argnums=(2, 3))


def _columns(schedule: QuotaSchedule | None) -> int | None:
    """The number of columns of the fractions; None without fractions."""
    return None if schedule is None else schedule.per_period.shape[1]


def _per_cell(tree: Tree) -> Tree:
    """Arrays `[..., K or 1, J or 1]` become `[..., K or 1, J or 1, 1]`; scalars and tables stay as they are."""
    return jax.tree.map(lambda leaf: leaf[..., None] if leaf.ndim >= 2 else leaf, tree)


def _per_run(tree: Tree, instances: int, lanes: int, seeds: int) -> Tree:
    """The first runs of each instance: arrays `[..., K or 1, J or 1, lanes or 1]` become `[J, seeds, ..., K or 1, 1]`.

    Arrays without these axes are repeated.
    """

    def per_run(leaf: Array) -> Array:
        if leaf.ndim < 2:
            return jnp.broadcast_to(leaf, (instances, seeds, *leaf.shape))
        spread = jnp.broadcast_to(leaf, (*leaf.shape[:-2], instances, lanes))
        return jnp.moveaxis(spread, (-2, -1), (0, 1))[:, :seeds, ..., None]

    return jax.tree.map(per_run, tree)
