"""Blocks of runs, and the arrays of a block on its device."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.core.rationals import Quota, rounded_down
from jaxbandit.core.xla.tiling import LANES
from jaxbandit.environment.ground_truth import instance_columns

Tree = TypeVar("Tree")

_CPU_BLOCK = 2048, 8192  # the least and the most runs per block: enough to pay for a call (measured)
_STATE = 2 << 20  # bytes of state per CPU block; larger blocks gain nothing (measured)
_MOST_STATE = 4 << 20  # bytes above which blocks have fewer runs: larger arrays take new pages in each call (measured)
_FEWEST = 128  # runs per block, whatever their state
_LEAST_BLOCK = _FEWEST, 8192  # runs, and runs times arms, from which a block pays for a further worker (measured)
_DEVICE_BLOCK = 1 << 18  # runs per block on an accelerator: the fastest with the default metrics (measured, H200)
STOPS = 16  # recorded rounds per call, at most, where many counts are kept at them
PLACES = 4, STOPS, 64, 256  # for recorded rounds of a call; more than `STOPS` where few counts are kept or none
_MANY_COUNTS = 1 << 16  # arms times runs from which places that are not needed take time (measured)
_FEW_COUNTS = 1 << 13  # arms times runs: 2 MiB at 64 rounds
_FEW_KEPT = 1 << 17  # recorded rounds times arms times runs that take no time that can be measured: 512 KiB
_MOST_COUNTS = 1 << 21  # recorded rounds times arms times runs of a call: 8 MiB
TRACED = 64  # rounds per call where every selection is kept: some MiB per block
_TABLE = 1 << 22  # entries of the quota table that one call reads
_MOST_ROUNDS = 2048  # rounds per call: 20 to 100 ms on one core, seconds with Beta draws, so that progress shows
_LONG_TABLE = 1 << 19  # entries of the quota table of longer calls: at most 50 MiB at the peak
_PLAYED = 1 << 29  # rounds times runs times arms of longer calls: at most one or two seconds on one core (measured)
_COSTLY_PLAYED = 1 << 27  # where a policy is costly, or of unknown cost


@dataclass(frozen=True)
class Block:
    """Some rows of a stack and some seeds of each row, simulated together.

    A row is an instance of a configuration. On the device a block is `[K, cells, lanes]`: a cell per row, a lane per
    seed. Where seeds are few, each run is a cell of its own. Lanes are padded with repeated runs to whole vectors, so
    that every run goes through the same vector code and gets the same bits, whatever the block. All blocks of a
    stack have one shape.

    Attributes:
        rows, seeds: the runs of the block.
        tall, wide: the most rows and seeds of any block of the stack.
        shards: the number of devices that a block is spread over, evenly.
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
        """The axis that is spread over devices: -2, the cells; or -1, the lanes, where cells are few."""
        return -2 if self._flat or self.tall >= self.shards else -1

    @property
    def runs(self) -> int:
        """The number of runs."""
        return (self.rows.stop - self.rows.start) * (self.seeds.stop - self.seeds.start)

    def numbers(self) -> np.ndarray:
        """The rows of the block, the last one repeated up to the shape of all blocks: int64 `[rows]`."""
        spread = not self._flat and self.axis == -2
        return _padded(self.rows, self.tall + (-self.tall % self.shards if spread else 0))

    def places(self) -> np.ndarray:
        """The position in `numbers` of each cell's row, int64 `[cells]`."""
        if not self._flat:
            return np.arange(len(self.numbers()))
        runs = np.repeat(np.arange(self.tall), self.wide)
        return np.pad(runs, (0, -len(runs) % (LANES * self.shards)), mode="edge")

    def cells(self) -> np.ndarray:
        """The row of each cell, int64 `[cells]`."""
        return self.numbers()[self.places()]

    def lanes(self) -> np.ndarray:
        """The seed of each lane, int64 `[cells or 1, lanes]`."""
        if not self._flat:
            whole = LANES * (self.shards if self.axis == -1 else 1)
            return _padded(self.seeds, self.wide + -self.wide % whole)[None]
        runs = np.tile(_padded(self.seeds, self.wide), self.tall)
        return np.pad(runs, (0, -len(runs) % (LANES * self.shards)), mode="edge")[:, None]

    def counted(self) -> np.ndarray:
        """Whether a lane is a run of the block and no repetition, bool `[lanes]`; `[1]` where each cell is one run."""
        return np.ones(1, bool) if self._flat else np.arange(self.lanes().shape[1]) < self.seeds.stop - self.seeds.start

    def summed(self, values: np.ndarray) -> np.ndarray:
        """Sums over the seeds of each row, `[..., rows]`, from sums over parts of a cell, `[..., cells, parts]`."""
        if self._flat:
            return self.unpack(values).sum(axis=-1)
        return values.sum(axis=-1)[..., : self.rows.stop - self.rows.start]

    def unpack(self, values: np.ndarray) -> np.ndarray:
        """The runs of the block, `[..., rows, seeds]`, from device arrays `[..., cells, lanes]`."""
        if self._flat:
            values = values[..., : self.tall * self.wide, 0].reshape(*values.shape[:-2], self.tall, self.wide)
        rows, columns = (part.stop - part.start for part in (self.rows, self.seeds))
        return values[..., :rows, :columns]


def _padded(part: slice, width: int) -> np.ndarray:
    return np.minimum(np.arange(part.start, part.start + width), part.stop - 1)


@dataclass(frozen=True)
class Size:
    """The most rows and seeds of a block."""

    tall: int
    wide: int

    def count(self, rows: int, seeds: int) -> int:
        """The number of blocks of this size that cover `rows` x `seeds` runs."""
        return math.ceil(rows / self.tall) * math.ceil(seeds / self.wide)


def usual(state: int) -> int:
    """The default number of runs per block and device; `state` is the bytes of one run's state."""
    if jax.default_backend() != "cpu":
        return _DEVICE_BLOCK
    least, most = _CPU_BLOCK
    return min(most, max(_STATE // state, min(least, _MOST_STATE // state), _FEWEST))


def size(
    rows: int, seeds: int, block: int | None, share: int, pay: int, most: int | None = None, arms: int = 1
) -> Size:
    """The size of the blocks that cover `rows` x `seeds` runs.

    Args:
        block: runs per block, at most; None for the default, `pay`.
        share: the number of blocks that keeps every worker busy; the default number of blocks is a multiple of it.
        pay: the default number of runs per block, on all its devices together.
        most: the most runs per block that fit the memory; None for any number.
        arms: K.
    """
    runs = rows * seeds
    fit = runs if most is None else most
    if block is None:
        block = min(pay, fit)
        few, work = _LEAST_BLOCK
        least = max(2 * LANES, min(few, work // arms))  # shorter loops are not vectorised
        if share > 1 and runs >= 2 * least:
            times = math.ceil(runs / (block * share))
            block = min(block, max(least, math.ceil(runs / (times * share))))
    block = min(block, fit)
    wide = _even(seeds, min(block, seeds))
    return Size(_even(rows, max(1, min(block // wide, rows))), wide)


def cover(rows: int, seeds: slice, size: Size, shards: int = 1) -> list[Block]:
    """The blocks of one size that cover `rows` x `seeds` runs."""
    tall, wide = size.tall, size.wide
    return [
        Block(slice(j, min(j + tall, rows)), slice(i, min(i + wide, seeds.stop)), tall, wide, shards)
        for j in range(0, rows, tall)
        for i in range(seeds.start, seeds.stop, wide)
    ]


def _even(count: int, most: int) -> int:
    """The size of the parts when `count` items are cut evenly into the fewest parts of at most `most` items."""
    return math.ceil(count / math.ceil(count / most))


@dataclass(frozen=True)
class Calls:
    """How the rounds of a block are divided into calls of the compiled program, which decides times, not results.

    Attributes:
        rounds: the most rounds per call; the quota table of a call has one row more.
        stops: the most recorded rounds per call.
        whole: whether one call plays all rounds; late feedback is then no part of the state.
    """

    rounds: int
    stops: int
    whole: bool = False


def rounds_per_call(arms: int, cells: int) -> int:
    """The most rounds of the usual calls."""
    return max(64, min(_MOST_ROUNDS, _TABLE // (arms * cells)))


def usual_calls(arms: int, cells: int, lanes: int) -> Calls:
    """The calls for a block of `[K, cells, lanes]`, in which counts are kept at the recorded rounds."""
    few = arms * cells * lanes <= _FEW_COUNTS
    return Calls(rounds_per_call(arms, cells), PLACES[1] if few else STOPS)


def long_calls(
    arms: int, cells: int, lanes: int, horizon: int, recorded: int, keeps_counts: bool, costly: bool
) -> Calls:
    """The calls on a CPU, where each costs the host milliseconds.

    Args:
        arms: K.
        cells, lanes: the shape of the block.
        horizon: T.
        recorded: the number of recorded rounds.
        keeps_counts: whether counts are kept at the recorded rounds.
        costly: whether a round may take long.
    """
    counts, enough_rounds = arms * cells * lanes, _MOST_ROUNDS
    while enough_rounds < horizon:
        enough_rounds *= 4  # in large steps: each size of the quota table is compiled anew
    most = min((_COSTLY_PLAYED if costly else _PLAYED) // counts, _LONG_TABLE // (arms * cells))
    rounds = max(rounds_per_call(arms, cells), min(_power_of_two(most), enough_rounds))
    places = [n for n in PLACES if n <= STOPS or not keeps_counts or n * counts <= _MOST_COUNTS]
    if counts < _MANY_COUNTS:  # small simulations share programs, whatever the number of recorded rounds
        places = places[1:] if PLACES[-1] * counts > _FEW_KEPT else places[-1:]
    enough_places = next((n for n in places if recorded <= n), None)
    if horizon <= rounds and enough_places is not None:
        return Calls(rounds, enough_places, whole=True)
    return Calls(rounds, enough_places or max(places))


def _power_of_two(most: int) -> int:
    """The largest power of two that is not above `most`; 0 for 0."""
    return 1 << (most.bit_length() - 1) if most else 0


def for_cells(tree: Tree, cells: np.ndarray) -> Tree:
    """A prepared policy or world for some cells: arrays `[K or 1, W]` become `[K or 1, cells or 1, 1]`, in NumPy.

    Args:
        tree: arrays of W columns, which repeat over the rows of a stack.
        cells: the row of each cell, int64 `[cells]`.
    """
    real = np.dtype(jnp.result_type(float))

    def of_cells(leaf: ArrayLike) -> np.ndarray:
        array = np.asarray(leaf)
        if array.ndim == 2:
            array = instance_columns(array, cells)[..., None]
        return array.astype(np.int32 if array.dtype.kind in "iu" else real)

    return jax.tree.map(of_cells, tree)


def on_device(tree: Tree, cells: np.ndarray) -> Tree:
    """`for_cells`, as device arrays."""
    return jax.device_put(for_cells(tree, cells))  # `jnp.asarray` would compile a program per shape


def quota_on_device(quota: Quota, places: np.ndarray) -> Quota:
    """Quotas `[n, K, rows or 1]` for the cells at `places`, as device arrays `[n, K, cells or 1, 1]`."""
    rest = rounded_down(quota.fraction, np.dtype(jnp.result_type(float)))
    parts = (quota.floor, rest, quota.fraction_rank)
    return jax.device_put(Quota(*((p[..., places] if p.shape[-1] > 1 else p)[..., None] for p in parts)))


def recorded_rounds(horizon: int, record: int | str | list[int]) -> np.ndarray:
    """The recorded rounds, the last always among them.

    Args:
        record: how many rounds, log-spaced from 1 on; "all" for every round; or the rounds themselves.

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
        # At most horizon - left + 1, by Bernoulli's inequality
        rounds.append(max(rounds[-1] + 1, round(rounds[-1] * step)))
    return np.array(rounds)
