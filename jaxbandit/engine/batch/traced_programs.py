"""Digests of what a stack's rounds compute, equal for equal programs in any process.

A program with users' code is traced for a few runs, from the state before round 1 to the end of a round. The digest
therefore covers everything that decides the program: classes in a notebook's cells, their parents, closures, helpers
and constants. Tracing calls every method of users' classes with numbers of runs that differ from the number of arms, so
that arrays whose axes are swapped raise an error. A program of this package's code alone is not traced: its digest is
that of the package's files, and of the classes and shapes in it.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Hashable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.errors import InputError
from jaxbandit.core.rationals import Quota
from jaxbandit.core.users_code.contracts import has_user_code
from jaxbandit.core.xla import program_digest
from jaxbandit.core.xla.compat import ClosedJaxpr
from jaxbandit.engine import rollout
from jaxbandit.engine.batch import package_code
from jaxbandit.engine.batch.blocks import on_device
from jaxbandit.engine.batch.stacking import Stack
from jaxbandit.environment.ground_truth import GroundTruth
from jaxbandit.environment.world import World
from jaxbandit.metrics import definitions
from jaxbandit.metrics.metric import METRICS, is_users, kept_ever
from jaxbandit.metrics.runs_apart import check_runs_apart, example
from jaxbandit.policies.base import Policy

# Programs with users' code are cached under the digest of what that code computes. `jax.jit` identifies a function by
# its object, and would miss changes of the helpers and globals that the function reads.
PROGRAM = jax.make_user_context(None)

_CHECKED: set[str] = set()  # the digests of users' metrics whose values of a run do not depend on the other runs


def told_apart(stack: Stack, names: list[str]) -> Stack:
    """The stack with the key of its compiled programs. `names` are the names of the metrics.

    Raises:
        ReturnedError: a method of a user's class returned what cannot be used.
    """
    program = kept_by(stack.policy, stack.world, *_shape(stack, names))
    return dataclasses.replace(stack, program=program, recorder=recorder_kept_by(stack.ground_truth, names))


def recorder_kept_by(ground_truth: GroundTruth, names: Sequence[str]) -> Hashable:
    """`kept_by` for the program that computes the metrics of these names; None where all are this package's.

    Raises:
        ReturnedError: a user's metric returned what cannot be used.
    """
    try:
        return metrics_digest(ground_truth, names)
    except program_digest.OpaqueError:
        return object()


def metrics_digest(ground_truth: GroundTruth, names: Sequence[str]) -> str | None:
    """The digest of what users' metrics compute; None where all metrics are this package's.

    Raises:
        program_digest.OpaqueError, ReturnedError: as `digest_of`.
    """
    own = [name for name in names if is_users(METRICS[name])]
    if not own:
        return None
    arguments = example(own, ground_truth, 1, 7 if len(ground_truth.means) != 7 else 11)
    with jax.enable_x64(True), PROGRAM(object()):  # users' code is traced anew
        digest = program_digest.digest(jax.make_jaxpr(functools.partial(definitions.compute_metrics, own))(*arguments))
        if digest not in _CHECKED:
            check_runs_apart(own, ground_truth)
            _CHECKED.add(digest)
    return digest


def digest_of(stack: Stack, names: list[str]) -> str:
    """The digest of what a stack's rounds compute, where metrics of these names are recorded.

    Raises:
        program_digest.OpaqueError: a part is computed by calls back to Python.
        ReturnedError: a method of a user's class returned what cannot be used.
    """
    held = stack.program
    rounds = held if isinstance(held, str) else digest(stack.policy, stack.world, *_shape(stack, names))
    return f"{rounds} {metrics_digest(stack.ground_truth, names) or ''}"


def _shape(stack: Stack, names: list[str]) -> tuple[int, int | None, bool, tuple[str, ...]]:
    guarantees = stack.ground_truth.guarantees
    columns = None if guarantees is None else guarantees.shape[1]
    return stack.arms, columns, bool(kept_ever(names)), definitions.required_sums(names)


def kept_by(policy: Policy, world: World, arms: int, columns: int | None, *kept: Any) -> Hashable:
    """The key of the compiled programs of a policy and a world, in addition to their shapes: the value of `PROGRAM`.

    It is None where all code is this package's; the digest where some code is a user's; and a new object where code
    calls back to Python, so that no other simulation reuses the program. Arguments and errors are those of `digest`.
    """
    if not _users(policy, world):
        return None
    try:
        return digest(policy, world, arms, columns, *kept)
    except program_digest.OpaqueError:
        return object()


def _users(policy: Policy, world: World) -> bool:
    return has_user_code(policy) or has_user_code(world.reward) or has_user_code(world.delay)


def digest(
    policy: Policy,
    world: World,
    arms: int,
    columns: int | None,
    deficits_ever: bool = False,
    asked: tuple[str, ...] = (),
) -> str:
    """The digest of what the rounds of a policy in a world compute.

    Where all code is this package's, its files, the classes and the shapes decide that. Tracing would take .1 s per
    policy.

    Args:
        policy, world: prepared, on the host: arrays `[K or 1, W]`.
        arms: K.
        columns: the number of columns of the fractions; None without fractions.
        deficits_ever, asked: as for `rollout.begin`.

    Raises:
        program_digest.OpaqueError, ReturnedError: as `digest_of`.
    """
    cells, lanes = [prime for prime in (3, 5, 7, 11) if prime not in (arms, world.plays)][:2]
    mine = _users(policy, world)
    placed = on_device((policy, world), np.zeros(cells, np.int64))
    leaves, structure = jax.tree.flatten(placed)
    words = None if mine else package_code.structure_in_words(structure)
    if words is not None:
        shapes = [(one.shape, str(one.dtype), one.weak_type) for one in leaves]
        about = (arms, world.plays, columns, deficits_ever, asked, str(jnp.result_type(float)), jax.default_backend())
        return hashlib.sha256(repr((package_code.source_digest(), words, shapes, about)).encode()).hexdigest()
    return program_digest.digest(traced_round(policy, world, (arms, cells, lanes), columns, deficits_ever, asked))


def traced_round(
    policy: Policy,
    world: World,
    shape: tuple[int, int, int],
    columns: int | None,
    deficits_ever: bool = False,
    asked: tuple[str, ...] = (),
) -> ClosedJaxpr:
    """The program of a round, traced anew where users have code in it.

    Args:
        policy, world, columns, deficits_ever, asked: as for `digest`.
        shape: K, and the numbers of instances and of runs of each.
    """
    mine, (arms, cells, lanes) = _users(policy, world), shape
    placed = on_device((policy, world), np.zeros(cells, np.int64))
    key = tuple(jnp.zeros((1, cells, lanes), jnp.uint32) for _ in range(2))
    quota = None
    if columns is not None:
        rows = (world.guarantees(arms), 1 if columns == 1 else cells, 1)
        quota = Quota(jnp.zeros(rows, jnp.int32), jnp.zeros(rows), jnp.zeros(rows, jnp.int32))

    def rounds(
        policy: Policy, world: World, key: rollout.Keys, quota: Quota | None, t: Array, horizon: Array
    ) -> object:
        state = rollout.begin(policy, world, shape, deficits_ever, asked)
        state, _ = rollout.play(policy, world, jax.tree.map(jnp.asarray, state), t, horizon, quota, quota, key)
        return state, policy.phase_rounds(state.policy, t) if policy.phases else None

    one = jnp.asarray(1, jnp.int32)
    with PROGRAM(object() if mine else None):  # users' code is traced anew
        try:
            return jax.make_jaxpr(rounds)(*placed, key, quota, one, one)
        except Exception as error:
            if mine and not isinstance(error, InputError):
                error.add_note(f"A round of policy {policy.name!r} was traced when this was raised.")
            raise
