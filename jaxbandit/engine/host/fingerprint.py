"""The fingerprint of a run: a digest of all that decides its results."""

from __future__ import annotations

import hashlib

import jax
import jax.numpy as jnp

from jaxbandit.core import prng
from jaxbandit.core.errors import InputError
from jaxbandit.core.provenance import version
from jaxbandit.core.xla import gpu_kernel, program_digest
from jaxbandit.engine.batch import traced_programs
from jaxbandit.engine.batch.stacking import Stack
from jaxbandit.engine.plan import Plan


def digest(plan: Plan) -> str:
    """A digest of all that decides the results: two runs of one digest have blocks in common, bit for bit.

    It covers the program of each stack's rounds, with all users' code that it calls; the arrays that policies and
    problems hold; what is recorded, and the stopping rule; and the versions of jaxbandit, JAX and the device. The sizes
    of blocks decide nothing.

    Raises:
        InputError: a policy has callbacks to Python, whose code cannot be compared.
    """
    made = hashlib.sha256(repr(sorted(parts(plan).items())).encode())
    for stack in plan.stacks:
        made.update(_program(stack, plan.metrics).encode())
    return made.hexdigest()


def parts(plan: Plan) -> dict[str, str]:
    """By what they cover, in words, digests of all that decides the results but for the programs of the rounds."""
    settings = plan.settings
    recorded = (plan.metrics, plan.rounds.tolist(), plan.runs, settings.trace, plan.pulls_mean, settings.p_mean)
    asked = (plan.stopping_rule, *recorded, gpu_kernel.works(settings.gpu_kernel))
    runs = (
        settings.horizon,
        settings.first_seed,
        settings.seeds,
        [int(word[0]) for word in prng.key_words(settings.key)],
    )
    machine = (version(), jax.__version__, jax.default_backend(), jax.local_devices()[0].device_kind)
    labels = [one.label for one in plan.configurations]
    policies = _digest(
        (labels, [stack.configurations for stack in plan.stacks]), [stack.policy for stack in plan.stacks]
    )
    problem = []
    for stack in plan.stacks:
        truth = stack.ground_truth  # which holds what metrics need beyond the world
        problem += [stack.world, truth.means, truth.guarantees, truth.penalties, truth.opportunities, truth.plays]
        if truth.path is not None:
            problem += [truth.path.rounds, truth.path.means]
    return {
        "the version of jaxbandit or JAX, the dtype or the device": _digest((*machine, str(jnp.result_type(float)))),
        "the horizon, the key or the seeds": _digest(runs),
        "the metrics, the recorded rounds or the stopping rule": _digest(asked),
        "the policies": policies,
        "the problem": _digest((), problem),
    }


def _digest(words: object, arrays: object = ()) -> str:
    made = hashlib.sha256(repr(words).encode())
    for leaf in jax.tree.leaves(arrays):
        made.update(program_digest.array_bytes(leaf))
    return made.hexdigest()


def _program(stack: Stack, names: list[str]) -> str:
    try:
        return traced_programs.digest_of(stack, names)
    except program_digest.OpaqueError as error:
        words = f"policies, rewards and delays without callbacks to Python ({error}) if progress is kept"
        why = "the code behind a callback cannot be compared with that of an earlier run"
        raise InputError("policies", stack.policy.name, f"{words}: {why}") from None
