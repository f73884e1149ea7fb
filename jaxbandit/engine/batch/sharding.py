"""The devices of this process, the number of host threads that drive them, and blocks spread over all devices.

Runs share nothing. A block is cut along its runs into one equal shard per device (`jax.shard_map`), and devices
exchange nothing.
"""

from __future__ import annotations

import functools
import os
from typing import Any, TypeVar

import jax
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as Spec

from jaxbandit.core.errors import InputError
from jaxbandit.core.rationals import Quota
from jaxbandit.core.xla import cpu_kernel
from jaxbandit.core.xla.tiling import has_run_axis
from jaxbandit.engine import rollout
from jaxbandit.engine.batch.blocks import Block
from jaxbandit.engine.batch.kept_programs import Kept
from jaxbandit.engine.rollout import State
from jaxbandit.engine.rounds.stops import AtStops, Recording, nothing_at_stops
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Policy

Tree = TypeVar("Tree")

_RUNS = "runs"
_WORKERS_OF_DEVICE = 4  # a sixth faster than 2 with the default metrics (measured, H200)


def check() -> None:
    """Refuse a choice of platforms for which JAX finds no devices, and to compile nothing.

    Raises:
        InputError: naming the variable of the environment.
    """
    config: Any = jax.config
    if config.jax_disable_jit:
        raise InputError("JAX_DISABLE_JIT", True, "False: simulations are compiled programs")
    try:
        jax.local_devices()
    except Exception as error:  # of several kinds, some without a word
        reason = f" ({str(error).splitlines()[0]})" if str(error) else ""
        words = f"platforms for which JAX finds devices on this machine, such as cpu{reason}"
        raise InputError("JAX_PLATFORMS", config.jax_platforms, words) from None


def mesh() -> Mesh | None:
    """This process's devices in a row; None for one device, or where `jax.default_device` chooses one."""
    config: Any = jax.config
    devices = jax.local_devices()
    if len(devices) == 1 or config.jax_default_device is not None:
        return None
    return Mesh(np.array(devices), (_RUNS,))


def workers() -> int:
    """The number of host threads: one more than blocks that play at a time, for the thread that records.

    On an accelerator the work of the host takes longer than that of the device, so blocks take turns in more threads.
    """
    return at_play() + 1 if jax.default_backend() == "cpu" else _WORKERS_OF_DEVICE


def at_play() -> int:
    """The number of blocks that play at a time: one per core where a CPU device plays a block on one core, else one."""
    if jax.default_backend() != "cpu":
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    found = mesh()
    return cores if found is None else max(1, cores // found.size)


def spread(tree: Tree, block: Block, over: Mesh | None) -> Tree:
    """Arrays `[..., cells or 1, lanes or 1]` of a block, placed on its devices, or on one where `over` is None.

    Arrays of NumPy stay where they are if that device is a CPU: programs take them faster than JAX places them.
    """
    if over is None:
        return tree if jax.default_backend() == "cpu" else jax.device_put(tree)
    specs = _specs(tree, block.axis, len(block.places()), block.lanes().shape[1])
    shardings = jax.tree.map(lambda spec: NamedSharding(over, spec), specs, is_leaf=_is_spec)
    return jax.device_put(tree, shardings)


def advance(
    over: Mesh | None,
    block: Block,
    policy: Policy,
    world: World,
    key: rollout.Keys,
    quotas: Quota | None,
    origin: np.int32,
    horizon: np.int32,
    first: np.int32,
    stops: np.ndarray,
    recording: Recording | None,
    state: State,
) -> tuple[State, Any, Array]:
    """`rollout.advance` of a block, each device its shard; the faults get an axis of devices in front.

    Only blocks on one device can have a recording.
    """
    arguments = (policy, world, key, quotas, origin, horizon, first, stops, recording)
    if over is None:
        return _ROUNDS(*arguments, state)
    return compiled()(over, block.axis, arguments, state)


def _returned(*arguments: Any) -> Any:
    """A tree of the structure of what `rollout.play_on` returns."""
    *_, stops, recording, state = arguments
    return state, nothing_at_stops(recording, stops, state), stops


def _compiled_rounds(*arguments: Any) -> Any:
    return rollout.advance(*arguments)


_ROUNDS = Kept("rounds", _compiled_rounds, rollout.as_one_kernel, _returned, donated=1)


@functools.cache
def compiled() -> Any:
    """`_advance`, compiled, its state donated."""
    return cpu_kernel.compiled(_advance, static_argnames=("over", "axis"), donate_argnames=("state",))


def _advance(over: Mesh, axis: int, arguments: Any, state: State) -> tuple[State, AtStops, Array]:
    cells, lanes = arguments[2][0].shape[-2:]

    def specs(tree: Any) -> Any:
        return _specs(tree, axis, cells, lanes)

    def shard(arguments: Any, state: State) -> Any:
        state, at_stops, faults = rollout.as_one_kernel()(*arguments, state)
        return state, at_stops, faults[None]

    counts: Any = jax.ShapeDtypeStruct((len(arguments[7]), *state.pulls.shape), state.pulls.dtype)
    sums: Any = {name: jax.ShapeDtypeStruct((1, cells, lanes), np.float32) for name in state.sums}
    chunks_of = jax.shard_map(
        shard,
        mesh=over,
        in_specs=(specs(arguments), specs(state)),
        out_specs=(specs(state), specs(AtStops(counts, sums)), Spec(_RUNS)),
        check_vma=False,  # nothing is shared that would have to agree
    )
    return chunks_of(arguments, state)


def _specs(tree: Any, axis: int, cells: int, lanes: int) -> Any:
    """The partition of each leaf: along `axis` where it has one entry per cell, or per lane, there; else none."""
    size = cells if axis == -2 else lanes

    def spec(leaf: Any) -> Spec:
        if not has_run_axis(leaf, axis, size):
            return Spec()
        axes: list[str | None] = [None] * leaf.ndim
        axes[axis] = _RUNS
        return Spec(*axes)

    return jax.tree.map(spec, tree)


def _is_spec(leaf: Any) -> bool:
    return isinstance(leaf, Spec)
