"""What tells one run from another: a digest of all that decides its results."""

from __future__ import annotations

import hashlib
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandit.core import prng
from jaxbandit.core.errors import InputError
from jaxbandit.core.provenance import version
from jaxbandit.core.xla import program_digest
from jaxbandit.engine.batch import traced_programs
from jaxbandit.engine.batch.stacking import Stack
from jaxbandit.engine.settings import SimulationSettings


def digest(
    settings: SimulationSettings, asked: tuple[Any, ...], labels: list[str], stacks: list[Stack], names: list[str]
) -> str:
    """A digest of all that decides the results: two runs of one digest have blocks in common, bit for bit.

    That is the program of each group's rounds, users' code and all that it calls in it; the arrays that the policies
    and the problem made on the host; what is recorded; and the versions of what simulates.

    Args:
        setting: with the key, horizon and seeds; how blocks are cut decides nothing.
        asked: what is recorded of the runs, and until when; of a clear `repr`.
        labels: of the entries.
        groups: with every number of the policies and problems.
        names: of the metrics.

    Raises:
        InputError: a policy calls back to Python, where its code cannot be compared.
    """
    about = (
        *(version(), jax.__version__, jax.default_backend(), jax.local_devices()[0].device_kind),
        *(str(jnp.result_type(float)), [int(word[0]) for word in prng.key_words(settings.key)]),
        *(settings.horizon, settings.seeds, asked, labels, [stack.configurations for stack in stacks]),
    )
    made = hashlib.sha256(repr(about).encode())
    for stack in stacks:
        made.update(_program(stack, names).encode())
        ground_truth = stack.ground_truth  # of which metrics ask for more than the world holds
        leaves = jax.tree.leaves((stack.policy, stack.world))
        for part in (
            *leaves,
            ground_truth.means,
            ground_truth.fractions,
            ground_truth.penalties,
            ground_truth.opportunities,
            ground_truth.plays,
        ):
            made.update(program_digest.array_bytes(part))
    return made.hexdigest()


def _program(stack: Stack, names: list[str]) -> str:
    try:
        return traced_programs.digest_of(stack, names)
    except program_digest.OpaqueError as error:
        words = f"policies, rewards and delays without calls back to Python ({error}), whose code cannot be compared"
        raise InputError("policies", stack.policy.name, f"{words}, where progress is kept") from None
