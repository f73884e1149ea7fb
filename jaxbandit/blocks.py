"""How runs are cut into blocks, and how a block of a prepared problem and policy gets onto the device."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from .errors import InputError
from .exact import Quota, rounded_down

Tree = TypeVar("Tree")

CPU_BLOCK = 2048  # runs a block: amortises the cost of a step and still fits a core's cache (measured)
DEVICE_BLOCK = 1 << 17  # on an accelerator only width pays
LANES = 16  # of a vector, and a multiple of every smaller vector's
_CALENDAR = 1 << 22  # bytes of delayed feedback a block: what stays in a core's share of the caches (measured)
_CALENDAR_MOST = 1 << 29  # bytes that a block may take where fewer runs than `_CALENDAR_RUNS` would fit
_CALENDAR_RUNS = 128
_DEVICE_CALENDAR = 1 << 33  # on an accelerator, where one block runs at a time
_TABLE = 1 << 22  # entries of the table of quotas that one call of the engine reads
_MOST_ROUNDS = 1024  # of a call: some 50 ms on a core, so that progress shows


@dataclass(frozen=True)
class Block:
    """Some instances and some seeds of each, simulated together.

    On the device a block is `[K, cells, lanes]`, a cell an instance and its seeds the lanes; where seeds are few,
    a cell is one run. Lanes are filled up to whole vectors with repetitions, so that every run of every block goes
    through the same vector code, and gets the same bits, whatever the block. Blocks of one simulation share a shape.

    Attributes:
        instances, seeds: the runs of the block.
        tall, wide: the most instances and seeds of any block of the simulation.
    """

    instances: slice
    seeds: slice
    tall: int
    wide: int

    @property
    def _flat(self) -> bool:
        return self.wide < LANES

    def rows(self) -> np.ndarray:
        """The block's instances, the last repeated where it has fewer than others: int64 `[tall]`."""
        return _padded(self.instances, self.tall)

    def places(self) -> np.ndarray:
        """Which of `rows` each cell simulates, int64 `[cells]`."""
        if not self._flat:
            return np.arange(self.tall)
        runs = np.repeat(np.arange(self.tall), self.wide)
        return np.pad(runs, (0, -len(runs) % LANES), mode="edge")

    def cells(self) -> np.ndarray:
        """Which instance each cell simulates, int64 `[cells]`."""
        return self.rows()[self.places()]

    def lanes(self) -> np.ndarray:
        """Which seed each lane of each cell simulates, int64 `[cells or 1, lanes]`."""
        if not self._flat:
            return _padded(self.seeds, self.wide + -self.wide % LANES)[None]
        runs = np.tile(_padded(self.seeds, self.wide), self.tall)
        return np.pad(runs, (0, -len(runs) % LANES), mode="edge")[:, None]

    def unpack(self, values: np.ndarray) -> np.ndarray:
        """The block's own runs, `[..., instances, seeds]`, of device results `[..., cells, lanes]`."""
        if self._flat:
            values = values[..., : self.tall * self.wide, 0].reshape(*values.shape[:-2], self.tall, self.wide)
        rows, columns = (part.stop - part.start for part in (self.instances, self.seeds))
        return values[..., :rows, :columns]


def _padded(part: slice, width: int) -> np.ndarray:
    return np.minimum(np.arange(part.start, part.start + width), part.stop - 1)


def fitting(under_way: int, delay: str) -> int:
    """The most runs of a block whose delayed feedback fits; whole vectors of them.

    Args:
        under_way: bytes of delayed feedback a run.
        delay: the kind of the delay, for the error.

    Raises:
        InputError: where one vector of runs takes more than half of the machine's memory.
    """
    if under_way * LANES > _memory() // 2:
        words = f"a delay or a horizon whose calendar fits: {LANES} runs take {under_way * LANES / 2**30:.3g} GiB"
        raise InputError("problem.delay", delay, f"{words}; a shorter horizon or fewer arms need less")
    if jax.default_backend() != "cpu":
        runs = _DEVICE_CALENDAR // under_way
    else:
        runs = max(_CALENDAR // under_way, min(_CALENDAR_MOST // under_way, _CALENDAR_RUNS))
    return max(LANES, runs - runs % LANES)


def _memory() -> int:
    """The machine's memory in bytes."""
    if not hasattr(os, "sysconf"):
        return 1 << 34
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def cut(instances: int, seeds: int, block: int | None, share: int, most: int | None = None) -> list[Block]:
    """Blocks of at most `block` runs that cover `instances` x `seeds`, at least `share` of them where that pays.

    Args:
        block: runs a block; None lets the device decide.
        share: how many blocks would keep every worker busy.
        most: the most runs a block that memory allows; None for any.
    """
    runs = instances * seeds
    if block is None:
        block = CPU_BLOCK if jax.default_backend() == "cpu" else DEVICE_BLOCK
        if share > 1 and runs >= 256:
            block = min(block, max(128, math.ceil(runs / share)))
    block = block if most is None else min(block, most)
    wide = _even(seeds, min(block, seeds))
    tall = _even(instances, max(1, min(block // wide, instances)))
    return [
        Block(slice(j, min(j + tall, instances)), slice(i, min(i + wide, seeds)), tall, wide)
        for j in range(0, instances, tall)
        for i in range(0, seeds, wide)
    ]


def _even(count: int, most: int) -> int:
    """Items a part, when `count` are cut into the fewest parts of at most `most`, as even as can be."""
    return math.ceil(count / math.ceil(count / most))


def workers() -> int:
    """Host threads that drive blocks: one a core on CPU, where a block runs on one core; else one."""
    if jax.default_backend() != "cpu":
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def rounds_per_call(arms: int, cells: int) -> int:
    """Rounds that one call of the engine plays at most; a matter of memory and shape only."""
    return max(64, min(_MOST_ROUNDS, _TABLE // (arms * cells)))


def on_device(tree: Tree, cells: np.ndarray) -> Tree:
    """A prepared problem or policy for some cells: arrays `[K or 1, J or 1]` become `[K or 1, cells or 1, 1]`."""
    return jax.tree.map(lambda leaf: _place(leaf, cells), tree)


def _place(leaf: Any, cells: np.ndarray) -> jax.Array:
    array = np.asarray(leaf)
    if array.ndim == 2:
        array = (array[:, cells] if array.shape[1] > 1 else array)[..., None]
    return jnp.asarray(array, dtype=jnp.int32 if array.dtype.kind in "iu" else jnp.result_type(float))


def quota_on_device(quota: Quota, places: np.ndarray) -> Quota:
    """Rows of a quota table, `[n, K, tall or 1]`, for the cells at `places`: device arrays `[n, K, cells or 1, 1]`."""
    rest = rounded_down(quota.rest, np.dtype(jnp.result_type(float)))
    parts = (quota.whole, rest, quota.rank)
    return Quota(*(jnp.asarray((p[..., places] if p.shape[-1] > 1 else p)[..., None]) for p in parts))


def recorded_rounds(horizon: int, record: int | str | list[int]) -> np.ndarray:
    """The recorded rounds, the last always among them.

    Args:
        record: how many, from 1 on log-spaced where whole numbers allow; "all" for every round; or the rounds.

    Returns:
        Increasing int64; min(record, horizon) of them for a number.
    """
    if isinstance(record, list):
        return np.unique([*record, horizon])
    if record == "all" or int(record) >= horizon:
        return np.arange(1, horizon + 1)
    count = int(record)
    if count == 1:
        return np.array([horizon])
    rounds = [1]
    for left in range(count - 1, 0, -1):
        step = (horizon / rounds[-1]) ** (1 / left)
        rounds.append(min(max(rounds[-1] + 1, round(rounds[-1] * step)), horizon - left + 1))
    return np.array(rounds)
