"""How runs are cut into blocks, and how a block of a prepared problem and policy gets onto the device."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.core.rationals import Quota, rounded_down
from jaxbandit.core.xla.tiling import LANES
from jaxbandit.environment.ground_truth import instance_columns

Tree = TypeVar("Tree")

_CPU_BLOCK = 2048, 8192  # runs a block, at least and at most: they pay for a call (measured)
_STATE = 2 << 20  # bytes of the state of a CPU block beyond which more runs gain nothing (measured)
_DEVICE_BLOCK = 1 << 17  # on an accelerator only width pays
STOPS = 16  # recorded rounds that one call of the engine may end stretches at
_TABLE = 1 << 22  # entries of the table of quotas that one call of the engine reads
_MOST_ROUNDS = 2048  # of a call: 20 to 100 ms on a core, seconds with Beta draws, so that progress shows


@dataclass(frozen=True)
class Block:
    """Some rows (instances, of one or of several configurations) and some seeds of each, simulated together.

    On the device a block is `[K, cells, lanes]`, a cell a row and its seeds the lanes; where seeds are few, a cell is
    one run. Lanes are filled up to whole vectors with repetitions, so that every run of every block goes through the
    same vector code, and gets the same bits, whatever the block. Blocks of one simulation share a shape.

    Attributes:
        rows, seeds: the runs of the block.
        tall, wide: the most rows and seeds of any block of the simulation.
        shards: devices that a block is spread over, evenly.
    """

    rows: slice
    seeds: slice
    tall: int
    wide: int
    shards: int = 1

    @property
    def _flat(self) -> bool:
        return self.wide < LANES

    @property
    def axis(self) -> int:
        """The axis of device arrays that is spread over devices: that of the cells, or of the lanes where few cells."""
        return -2 if self._flat or self.tall >= self.shards else -1

    @property
    def runs(self) -> int:
        """How many there are."""
        return (self.rows.stop - self.rows.start) * (self.seeds.stop - self.seeds.start)

    def numbers(self) -> np.ndarray:
        """The block's rows, the last repeated where it has fewer than there are places: int64 `[rows]`."""
        spread = not self._flat and self.axis == -2
        return _padded(self.rows, self.tall + (-self.tall % self.shards if spread else 0))

    def places(self) -> np.ndarray:
        """Which of `numbers` each cell simulates, int64 `[cells]`."""
        if not self._flat:
            return np.arange(len(self.numbers()))
        runs = np.repeat(np.arange(self.tall), self.wide)
        return np.pad(runs, (0, -len(runs) % (LANES * self.shards)), mode="edge")

    def cells(self) -> np.ndarray:
        """Which row each cell simulates, int64 `[cells]`."""
        return self.numbers()[self.places()]

    def lanes(self) -> np.ndarray:
        """Which seed each lane of each cell simulates, int64 `[cells or 1, lanes]`."""
        if not self._flat:
            whole = LANES * (self.shards if self.axis == -1 else 1)
            return _padded(self.seeds, self.wide + -self.wide % whole)[None]
        runs = np.tile(_padded(self.seeds, self.wide), self.tall)
        return np.pad(runs, (0, -len(runs) % (LANES * self.shards)), mode="edge")[:, None]

    def counted(self) -> np.ndarray:
        """Which lanes of a cell are runs of the block, bool `[lanes]`; of cells of one run each, `[1]`."""
        return np.ones(1, bool) if self._flat else np.arange(self.lanes().shape[1]) < self.seeds.stop - self.seeds.start

    def summed(self, values: np.ndarray) -> np.ndarray:
        """Sums over a row's seeds `[..., rows]` of sums over parts of the lanes of a cell, `[..., cells, parts]`."""
        if self._flat:
            return self.unpack(values).sum(axis=-1)
        return values.sum(axis=-1)[..., : self.rows.stop - self.rows.start]

    def unpack(self, values: np.ndarray) -> np.ndarray:
        """The block's own runs, `[..., rows, seeds]`, of device results `[..., cells, lanes]`."""
        if self._flat:
            values = values[..., : self.tall * self.wide, 0].reshape(*values.shape[:-2], self.tall, self.wide)
        rows, columns = (part.stop - part.start for part in (self.rows, self.seeds))
        return values[..., :rows, :columns]


def _padded(part: slice, width: int) -> np.ndarray:
    return np.minimum(np.arange(part.start, part.start + width), part.stop - 1)


@dataclass(frozen=True)
class Size:
    """The rows and seeds of a block."""

    tall: int
    wide: int

    def count(self, rows: int, seeds: int) -> int:
        """How many blocks of it cover `rows` x `seeds`."""
        return math.ceil(rows / self.tall) * math.ceil(seeds / self.wide)


def usual(state: int) -> int:
    """Runs of a block where nobody asks for a number, a device; `state` is the bytes of one run's."""
    if jax.default_backend() != "cpu":
        return _DEVICE_BLOCK
    least, most = _CPU_BLOCK
    return min(most, max(least, _STATE // state))


def size(rows: int, seeds: int, block: int | None, share: int, pay: int, most: int | None = None) -> Size:
    """The size of blocks of at most `block` runs of `rows` x `seeds`, a multiple of `share` of them where that pays.

    Args:
        block: runs a block; None for `pay`.
        share: how many blocks would keep every worker busy.
        pay: runs that a block should have, on all devices that it is spread over.
        most: the most runs a block that memory allows; None for any.
    """
    runs = rows * seeds
    if block is None:
        block = pay
        if share > 1 and runs >= 256:
            times = math.ceil(runs / (block * share))
            block = min(block, max(128, math.ceil(runs / (times * share))))
    block = block if most is None else min(block, most)
    wide = _even(seeds, min(block, seeds))
    return Size(_even(rows, max(1, min(block // wide, rows))), wide)


def cover(rows: int, seeds: slice, size: Size, shards: int = 1) -> list[Block]:
    """Blocks of one size that cover `rows` x `seeds`."""
    tall, wide = size.tall, size.wide
    return [
        Block(slice(j, min(j + tall, rows)), slice(i, min(i + wide, seeds.stop)), tall, wide, shards)
        for j in range(0, rows, tall)
        for i in range(seeds.start, seeds.stop, wide)
    ]


def _even(count: int, most: int) -> int:
    """Items a part, when `count` are cut into the fewest parts of at most `most`, as even as can be."""
    return math.ceil(count / math.ceil(count / most))


def rounds_per_call(arms: int, cells: int) -> int:
    """Rounds that one call of the engine plays at most; a matter of memory and shape only."""
    return max(64, min(_MOST_ROUNDS, _TABLE // (arms * cells)))


def on_device(tree: Tree, cells: np.ndarray) -> Tree:
    """A prepared problem or policy for some cells: arrays `[K or 1, W]` become `[K or 1, cells or 1, 1]`.

    Args:
        tree: its W columns repeat over the rows of a grid.
        cells: the row that each cell simulates, int64 `[cells]`.
    """
    return jax.tree.map(lambda leaf: _place(leaf, cells), tree)


def _place(leaf: Any, cells: np.ndarray) -> jax.Array:
    array = np.asarray(leaf)
    if array.ndim == 2:
        array = instance_columns(array, cells)[..., None]
    return jnp.asarray(array.astype(np.int32 if array.dtype.kind in "iu" else jnp.result_type(float)))


def quota_on_device(quota: Quota, places: np.ndarray) -> Quota:
    """Rows of a quota table, `[n, K, tall or 1]`, for the cells at `places`: device arrays `[n, K, cells or 1, 1]`."""
    rest = rounded_down(quota.fraction, np.dtype(jnp.result_type(float)))
    parts = (quota.floor, rest, quota.fraction_rank)
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
