"""Runs as lanes of vectors, and a block of them played group after group, in one program.

A group's state stays in the first caches of a core. Groups are whole vectors, as blocks are: every run goes through the
same vector code, and gets the same bits, whatever the group.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

LANES = 16  # of a vector, and a multiple of every smaller vector's
_BYTES = 40 << 10  # of a group's state: where most policies are fastest (measured)
_LEAST = 64  # runs of a group, at least: four vectors, which pay for going through the operations


def in_tiles(play_on: Callable[..., Any], faults: int) -> Callable[..., Any]:
    """`engine.play_on`, on CPU of groups of a block's runs in turn; elsewhere as it is.

    Args:
        play_on: that function.
        faults: how many numbers it gives of faults, of which the largest of all groups count.
    """

    @functools.wraps(play_on)
    def play(policy: Any, world: Any, key: Any, quotas: Any, *rounds: Any) -> Any:
        *numbers, stops, state = rounds
        cells, lanes = state.pulls.shape[-2:]
        axis, width = tile_size(cells, lanes, _bytes_per_run(state))
        size = (cells, lanes)[axis]
        # A calendar is read all over, whichever runs it is of.
        if width == size or state.under_way is not None or jax.default_backend() != "cpu":
            return play_on(policy, world, key, quotas, *rounds)

        def one(i: Array, made: Any) -> Any:
            def part(leaf: Any) -> Any:
                return (
                    lax.dynamic_slice_in_dim(leaf, i * width, width, axis) if has_run_axis(leaf, axis, size) else leaf
                )

            def put(whole: Array, result: Array) -> Array:
                if not has_run_axis(whole, axis, size):
                    return result
                return lax.dynamic_update_slice_in_dim(whole, result, i * width, axis)

            its = jax.tree.map(part, (policy, world, key, quotas))
            *results, faults = play_on(*its, *numbers, stops, jax.tree.map(part, state))
            *before, most = made
            return *jax.tree.map(put, tuple(before), tuple(results)), jnp.maximum(most, faults)

        counts = jnp.zeros((len(stops), *state.pulls.shape), state.pulls.dtype)
        values = {name: total.value for name, total in state.sums.items()}
        sums = jax.tree.map(lambda value: jnp.zeros((len(stops), *value.shape[1:]), value.dtype), values)
        # The last group goes back to be as wide as the others: what it plays again, it plays alike.
        return lax.fori_loop(0, -(-size // width), one, (state, counts, sums, jnp.zeros(faults, jnp.int32)))

    return play


def tile_size(cells: int, lanes: int, state: int) -> tuple[int, int]:
    """The axis, -1 for lanes and -2 for cells, that a block is cut along, and how much of it a group takes.

    Args:
        cells, lanes: of the block.
        state: bytes of a run's.
    """
    runs = max(_LEAST, _BYTES // state)
    ways = [(-1, _part(lanes, cells, LANES, runs)), (-2, _part(cells, lanes, LANES // math.gcd(LANES, lanes), runs))]
    return min(ways, key=lambda way: abs(math.log(way[1] * (lanes, cells)[way[0]] / runs)))


def _part(size: int, beside: int, whole: int, runs: int) -> int:
    """The parts, equal but for the last, whole vectors, that `size` is cut into where each has about so many `runs`."""
    count = -(-size * beside // runs)
    part = -(-size // count)
    return min(size, part + -part % whole)


def _bytes_per_run(state: Any) -> int:
    return tree_bytes(state) // int(state.pulls[0].size)


def tree_bytes(tree: Any) -> int:
    """What the arrays of a tree take, or shapes and dtypes that stand for arrays."""
    return sum(leaf.size * jnp.dtype(leaf.dtype).itemsize for leaf in jax.tree.leaves(tree))


def has_run_axis(leaf: Any, axis: int, size: int) -> bool:
    """Whether an array has an entry a cell, or a lane, along `axis`: numbers and tables are the same for all runs."""
    return jnp.ndim(leaf) >= 3 and leaf.shape[axis] == size
