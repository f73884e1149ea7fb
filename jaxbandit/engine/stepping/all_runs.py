"""All runs of a simulator at once, played by the rounds that a simulation compiles; and all its relaxed runs."""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.rationals import Quota
from jaxbandit.core.xla.small_programs import SmallProgram
from jaxbandit.core.xla.tiling import LANES
from jaxbandit.engine import rollout
from jaxbandit.engine.advice.faults import about_policy
from jaxbandit.engine.batch.chunks import failure
from jaxbandit.engine.batch.traced_programs import PROGRAM, kept_by
from jaxbandit.engine.stepping.placement import keys_of_runs, within_other_program
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
    words, block = keys_of_runs(key, instances, lanes), (arms, instances, lanes)
    if within_other_program((policy, world, schedule, words)):
        # The rounds as they are: within another program XLA cannot always make one kernel of them
        own, played, quotas, numbers = _inputs(policy, world, schedule, horizon)
        state = jax.tree.map(jnp.asarray, rollout.begin(own, played, block, False))
        final = rollout.play_on(own, played, words, quotas, *numbers, None, state)[0]
        return _per_run(words, final, shape)
    own, played, quotas, numbers = _compiled_inputs(policy, world, schedule, horizon)
    with PROGRAM(kept_by(policy, world, arms, _columns(schedule))):
        state = rollout.start(own, played, block, False)
        final, _, faults = rollout.advance(own, played, words, quotas, *numbers, None, state)
    raise_faults(faults, policy, world, horizon)
    return _compiled_per_run(words, final, shape)


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
    words = keys_of_runs(key, instances, seeds)
    if within_other_program((policy, world, schedule, words, softness)):
        own, played, quotas, _ = _inputs(policy, world, schedule, horizon)
        final = relaxed_runs.final_state(own, RunInputs(played, words, quotas, softness), shape, horizon)
        return _per_run(words, final, shape)
    own, played, quotas, _ = _compiled_inputs(policy, world, schedule, horizon)
    with PROGRAM(kept_by(policy, world, arms, _columns(schedule))):
        final = _relaxed(own, RunInputs(played, words, quotas, softness), shape, horizon)
    raise_if_not_shares(final, policy, horizon)
    return _compiled_per_run(words, final, shape)


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


def _inputs(
    policy: Policy, world: World, schedule: QuotaSchedule | None, horizon: int
) -> tuple[Policy, World, Quota | None, tuple[Array, Array, Array, Array]]:
    """The policy, the world and the quotas as the rounds of blocks take them, and the numbers of the rounds.

    Arrays `[..., K or 1, J or 1]` become `[..., K or 1, J or 1, 1]`; scalars and tables stay as they are.
    """
    zero, last = jnp.zeros((), jnp.int32), jnp.asarray(horizon, jnp.int32)
    stops = last[None] if world.changes is None else jnp.append(world.changes.first_rounds[1:] - 1, last)
    given = policy, world, None if schedule is None else schedule.up_to(horizon)
    own, played, quotas = jax.tree.map(lambda leaf: leaf[..., None] if leaf.ndim >= 2 else leaf, given)
    return own, played, quotas, (zero, last, zero, stops)


def _per_run(words: tuple[Array, Array], tree: Tree, shape: tuple[int, int, int]) -> tuple[Array, Tree]:
    """The keys and the states of the first runs of each instance.

    Args:
        words: the words of the keys, `[1, J, lanes]`.
        tree: arrays `[..., K or 1, J or 1, lanes or 1]`, which become `[J, seeds, ..., K or 1, 1]`. Arrays without
            these axes are repeated.
        shape: (K, J, seeds).
    """
    _, instances, seeds = shape
    lanes = words[0].shape[-1]

    def per_run(leaf: Array) -> Array:
        if leaf.ndim < 2:
            return jnp.broadcast_to(leaf, (instances, seeds, *leaf.shape))
        spread = jnp.broadcast_to(leaf, (*leaf.shape[:-2], instances, lanes))
        return jnp.moveaxis(spread, (-2, -1), (0, 1))[:, :seeds, ..., None]

    return jnp.concatenate(words).transpose(1, 2, 0)[:, :seeds], jax.tree.map(per_run, tree)


_compiled_inputs = SmallProgram(_inputs, static_argnums=3)
_compiled_per_run = SmallProgram(_per_run, static_argnums=2)
