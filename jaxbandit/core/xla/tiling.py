"""Tiles: a block of runs is simulated tile after tile, in one program.

The runs of a block are cells (configurations and instances) times lanes (seeds), and the lanes fill vectors. The state
of a tile fits into the first caches of a core. Tiles consist of complete vectors, as blocks do: every run goes through
the same vector code and gets the same bits in any tile.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.component import Component
from jaxbandit.core.xla.fusion import on_cpu

Tree = TypeVar("Tree")

LANES = 16  # lanes of the longest vector, in float32; a multiple of the lanes of shorter vectors
_FIRST_CACHE = 32 << 10  # bytes of a core's first cache for data, where the system does not tell
_BESIDE = 8 << 10  # bytes of it that are left to other arrays than the state (measured on two processors)
_LEAST_RUNS = 64  # runs per tile, at least: fewer do not make up for the overhead of each operation
_LEAST_WITH_CALENDAR = 128  # the same with delayed feedback: shorter rows of a calendar are copied number by number
_COSTLY = 3  # by how much tiles are smaller where an index is costly (measured)


def once_per_cell(make: Callable[[tuple[int, ...]], Tree], shape: tuple[int, ...]) -> Tree:
    """`make(shape)`, a tree of arrays `[..., *runs]` in which all lanes of a cell are alike.

    They are computed for one lane and repeated. XLA would compute what is known beforehand for every lane, while it
    compiles: in .3 s for 8192 runs, and 10 s for a million.

    Args:
        make: the function of a shape `(K, *runs)`.
        shape: K, and the axes of runs, of which the last has the lanes; without any, there is one run.
    """
    if len(shape) == 1:
        return make(shape)

    def repeated(leaf: Array) -> Array:
        return jnp.broadcast_to(leaf, (*leaf.shape[:-1], shape[-1]))

    return jax.tree.map(repeated, make((*shape[:-1], 1)))


def in_tiles(
    play_on: Callable[..., Any],
    nothing: Callable[..., Any],
    faults: int,
    own_calendar: Callable[..., Any],
    most_runs: Callable[..., int | None],
) -> Callable[..., Any]:
    """`rollout.play_on`, which on CPU plays the tiles of a block one after the other.

    Args:
        play_on: that function.
        nothing: a function of its arguments `recording`, `stops` and `state` that returns what it has at the stops, of
            no round. Results without an axis of runs are added over the tiles if they are integers; floats are those
            of the last tile, since all tiles have the same.
        faults: how many fault numbers it returns; the result has the largest over all tiles.
        own_calendar: a function of its arguments `policy`, `world` and `state` that returns the shapes of the calendar
            of feedback that it keeps beside the state, or None.
        most_runs: a function of the same arguments that returns the largest number of runs per tile, or None.
    """

    @functools.wraps(play_on)
    def play(policy: Any, world: Any, key: Any, quotas: Any, *rounds: Any) -> Any:
        *numbers, stops, recording, state = rounds
        if recording is not None:
            recording = recording.prepared()
            rounds = (*numbers, stops, recording, state)
        cells, lanes = state.pulls.shape[-2:]
        # Fewer runs leave out a costly index more often, and the redraws of refused random numbers end earlier.
        weight = _COSTLY if is_costly(policy) else 1
        beside = own_calendar(policy, world, state)
        a_run = tree_bytes((state, beside)) // int(state.pulls[0].size)
        least = _LEAST_RUNS if state.under_way is beside is None else _LEAST_WITH_CALENDAR
        axis, width = tile_size(cells, lanes, weight * a_run, least, most_runs(policy, world, state))
        size = (cells, lanes)[axis]
        if width == size or not on_cpu():
            return play_on(policy, world, key, quotas, *rounds)

        def play_tile(i: Array, block: Any) -> Any:
            def cut(leaf: Array) -> Array:
                if not has_run_axis(leaf, axis, size):
                    return leaf
                return lax.dynamic_slice_in_dim(leaf, i * width, width, axis)

            def put(of_block: Array, of_tile: Array) -> Array:
                if not has_run_axis(of_block, axis, size):
                    return of_tile
                return lax.dynamic_update_slice_in_dim(of_block, of_tile, i * width, axis)

            def joined(of_block: Array, of_tile: Array) -> Array:
                if has_run_axis(of_block, axis, size) or not jnp.issubdtype(of_block.dtype, jnp.integer):
                    return put(of_block, of_tile)
                return of_block + of_tile

            own, start, *arguments = jax.tree.map(cut, (recording, state, policy, world, key, quotas))
            if own is not None and axis == -1:
                own = own.without_lanes(jnp.maximum(i * width - (size - width), 0))
            before, at_stops, most = block
            after, found, faults = play_on(*arguments, *numbers, stops, own, start)
            return jax.tree.map(put, before, after), jax.tree.map(joined, at_stops, found), jnp.maximum(most, faults)

        # The last tile overlaps the one before it, to have the same width; runs that are played twice are equal.
        block = state, nothing(recording, stops, state), jnp.zeros(faults, jnp.int32)
        return lax.fori_loop(0, -(-size // width), play_tile, block)

    return play


def tile_size(cells: int, lanes: int, state: int, least: int = _LEAST_RUNS, most: int | None = None) -> tuple[int, int]:
    """The axis along which a block is cut (-1 for lanes, -2 for cells), and the length of a tile along it.

    Args:
        cells, lanes: the size of the block.
        state: bytes of the state of one run.
        least, most: runs per tile, at least and at most; `most` is at least `least`, or None.
    """
    runs = max(least, tile_bytes() // state)
    runs = runs if most is None else min(runs, most)
    along_lanes = _tile_length(lanes, cells, LANES, runs)
    along_cells = _tile_length(cells, lanes, LANES // math.gcd(LANES, lanes), runs)
    cuts = [(-1, along_lanes), (-2, along_cells)]
    return min(cuts, key=lambda cut: abs(math.log(cut[1] * (lanes, cells)[cut[0]] / runs)))


@functools.cache
def tile_bytes() -> int:
    """The bytes of a tile's state: those of the first cache for data, except a few for other arrays."""
    held = Path("/sys/devices/system/cpu/cpu0/cache/index0/size")  # "32K"
    size = _FIRST_CACHE
    with contextlib.suppress(OSError, ValueError):  # elsewhere than on Linux
        size = int(held.read_text().strip().removesuffix("K")) << 10
    return max(size - _BESIDE, size // 2)


def _tile_length(size: int, other: int, multiple: int, runs: int) -> int:
    """The length of equal parts of an axis of length `size`, a multiple of `multiple`, with about `runs` runs each.

    The last part overlaps the one before it, so that some runs are played twice. If they are fewer with one part less,
    the parts may be longer by an eighth.

    Args:
        other: the length of the other axis.
    """
    count = -(-size * other // runs)

    def length(count: int) -> int:
        part = -(-size // count)
        return min(size, part + -part % multiple)

    def played(length: int) -> int:
        return -(-size // length) * length

    few, many = length(max(count - 1, 1)), length(count)
    return few if 8 * few * other <= 9 * runs and played(few) < played(many) else many


def is_costly(policy: Any) -> bool:
    """Whether a part of a policy says that it takes longer to compute than the rest of a round."""
    return isinstance(policy, Component) and any(getattr(part, "costly", False) for part in policy.components())


def tree_bytes(tree: Any) -> int:
    """The bytes that the arrays of a tree take; the leaves may be `jax.ShapeDtypeStruct`s."""
    return sum(leaf.size * jnp.dtype(leaf.dtype).itemsize for leaf in jax.tree.leaves(tree))


def has_run_axis(leaf: Array, axis: int, size: int) -> bool:
    """Whether an array has one entry per cell, or per lane, along `axis`; scalars and tables are common to all runs."""
    return jnp.ndim(leaf) >= 3 and leaf.shape[axis] == size
