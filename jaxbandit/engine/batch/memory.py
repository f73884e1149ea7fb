"""The memory that a simulation will take, estimated before it starts: blocks on devices, results on the host."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.core.xla.tiling import LANES, tree_bytes
from jaxbandit.engine import rollout
from jaxbandit.engine.batch.blocks import STOPS, TRACED, for_cells, rounds_per_call, usual
from jaxbandit.engine.batch.stacking import Stack
from jaxbandit.metrics.block_statistics import ResultShape

resource: ModuleType | None
try:
    import resource
except ImportError:  # elsewhere than on Unix
    resource = None

_CALENDAR = 1 << 23  # bytes of delayed feedback per block: larger blocks take more memory and gain nothing (measured)
_CALENDAR_MOST = 1 << 29  # bytes per block where fewer than `_CALENDAR_RUNS` runs would fit `_CALENDAR`
_CALENDAR_RUNS = 128
_LEAST = 1 << 31  # bytes of address space that JAX needs to start (1.7 GiB taken on 2 cores, measured)
_COMPILING = 1 << 29  # bytes that it takes to compile (measured)
_QUOTA = 96  # bytes per entry of a quota table at its peak, on the host and on the device (measured)


def runs_a_block(
    stack: Stack, result_shape: ResultShape, sums: tuple[str, ...], seeds: int, devices: int, at_once: int
) -> tuple[int, int | None]:
    """The default number of runs per block, and the most runs that fit its devices; None for no limit.

    Args:
        sums: the names of the `rollout.SUMS` that are kept.
        seeds: the number of seeds.
        devices: the number of devices that a block is spread over.
        at_once: the number of blocks in work at a time.

    Raises:
        InputError: one vector of runs does not fit.
    """
    state, calendar = _bytes_a_run(stack, bool(result_shape.deficits), sums, result_shape.traced > 0)
    # The state and its copies in a round; the records of this chunk and the next; the metrics
    need = 3 * state + 2 * 4 * STOPS * (stack.arms + len(sums)) + 16 * len(result_shape.metrics)
    if jax.default_backend() != "cpu":  # which computes the metrics of all stops of a chunk at once
        need += 8 * STOPS * (stack.arms + 4 * len(result_shape.metrics))
    room = device_bytes() * devices // (2 * at_once)
    if need * LANES > room:
        size = f"{LANES} runs, the fewest of a block, take {need * LANES / 2**30:.3g} of {room / 2**30:.3g} GiB"
        if not calendar:
            words = f"few enough that the state of {LANES} runs fits the memory: {size}"
            raise InputError("problem.means", f"{stack.arms} arms", words)
        words = f"a delay whose calendar of pending rewards fits the memory: {size}"
        raise InputError(
            "problem.delay",
            stack.world.delay.name,
            f"{words}; shorter delays, a shorter horizon or fewer arms need less",
        )
    runs = min(room // need, stack.rows * seeds + LANES)
    while runs > LANES and need * runs + _quotas(stack, -(-runs // seeds)) > room:
        runs //= 2
    if calendar and jax.default_backend() == "cpu":
        runs = min(runs, max(_CALENDAR // calendar, min(_CALENDAR_MOST // calendar, _CALENDAR_RUNS)))
    runs = max(LANES, runs - runs % LANES)
    return devices * usual(state - calendar), None if runs >= stack.rows * seeds else runs


def _quotas(stack: Stack, rows: int) -> int:
    """The peak bytes of a block's quota table, where each of its rows has its own."""
    guarantees = stack.ground_truth.guarantees
    if guarantees is None or guarantees.shape[1] == 1:
        return 0
    return _QUOTA * rounds_per_call(stack.arms, rows) * len(guarantees) * rows


def _bytes_a_run(stack: Stack, deficits_ever: bool, sums: tuple[str, ...], trace: bool) -> tuple[int, int]:
    """The bytes of one run's state, and of the calendar of delayed feedback in it."""
    leaves, structure = jax.tree.flatten(for_cells((stack.policy, stack.world), np.zeros(1, np.int64)))
    types = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
    # Users' code may have been edited since
    found = _bytes_of_state if stack.program is None else _bytes_of_state.__wrapped__
    return found(structure, types, stack.arms, deficits_ever, sums, TRACED if trace else 0)


@functools.lru_cache(maxsize=256)  # the same policies are simulated again and again
def _bytes_of_state(
    structure: Any,
    types: tuple[tuple[tuple[int, ...], np.dtype], ...],
    arms: int,
    deficits_ever: bool,
    sums: tuple[str, ...],
    traced: int,
) -> tuple[int, int]:
    """`_bytes_a_run` of a policy and a world of some structure, whose arrays have these shapes and dtypes."""
    policy, world = jax.tree.unflatten(structure, [jax.ShapeDtypeStruct(*one) for one in types])
    begin = functools.partial(
        rollout.begin, shape=(arms, 1, LANES), deficits_ever=deficits_ever, asked=sums, traced=traced
    )
    state = jax.eval_shape(begin, policy, world)
    return tree_bytes(state) // LANES, tree_bytes(state.under_way) // LANES


def results_bytes(stacks: Sequence[Stack], result_shapes: Sequence[ResultShape], seeds: int) -> int:
    """The host memory in bytes that statistics take, with the dataset and the file that are made from them."""
    total = 0
    for stack, result_shape in zip(stacks, result_shapes, strict=True):
        total += 3 * stack.rows * seeds * result_shape.bytes_per_run()
        total += stack.rows * (result_shape.moment_bytes_per_row() + 3 * 16 * result_shape.rounds * result_shape.curves)
    return total


def check_results(stacks: Sequence[Stack], result_shapes: Sequence[ResultShape], seeds: int) -> None:
    """Refuse results that the host has no room for.

    Raises:
        InputError: naming `simulation.seeds`, with the memory that is needed and the memory that is free.
    """
    need, room = results_bytes(stacks, result_shapes, seeds), host_bytes()
    if need > room:
        rows = sum(stack.rows for stack in stacks)
        free = f"{room / 2**30:.3g} GiB are free{_under_limit(room)}"
        words = (
            f"a number whose results fit the memory: {rows} configurations and instances x {seeds} seeds take "
            f"{need / 2**30:.3g} GiB, and {free}; fewer seeds, metrics or recorded rounds take less"
            f"{', and so does a run without `trace`' if any(shape.traced for shape in result_shapes) else ''}"
        )
        raise InputError("simulation.seeds", seeds, words)


def device_bytes() -> int:
    """The memory of one device in bytes; for a CPU device, its share of the host's memory."""
    device = jax.local_devices()[0]
    known = device.memory_stats() if device.platform != "cpu" else None
    if known and "bytes_limit" in known:
        return int(known["bytes_limit"])
    return host_bytes() // len(jax.local_devices())


def host_bytes() -> int:
    """The free memory of this host in bytes, as far as limits on this process or its control group allow."""
    rooms = [_free(), _address_space()]
    group = Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError, ValueError):  # no such limit
        rooms.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    return max(min(rooms), 1 << 26)


def check_limit() -> None:
    """Refuse an address-space limit under which JAX itself ends with a segmentation fault.

    Raises:
        InputError: naming the limit.
    """
    limit = _limit()
    if limit is not None and limit < _LEAST:
        words = f"at least {_LEAST >> 10} KiB, or unlimited: JAX needs this much address space to start"
        raise InputError("ulimit -v", limit >> 10, words)


def _limit() -> int | None:
    """The limit on this process's address space in bytes; None for no limit."""
    if resource is None:
        return None
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def _address_space() -> int:
    """The address space that is left, without what JAX takes to compile."""
    limit = _limit()
    if limit is None:
        return sys.maxsize
    taken = 0
    with contextlib.suppress(OSError):  # elsewhere than on Linux
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return limit - taken - _COMPILING


def _under_limit(room: int) -> str:
    """The words that name the address-space limit, where it is what leaves no more room."""
    limit = _limit()
    return "" if limit is None or _free() <= room else f" under `ulimit -v {limit >> 10}`"


def _free() -> int:
    with contextlib.suppress(OSError):  # elsewhere than on Linux
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 1 << 34
