"""Tiles of a block: their sizes, and that they are played as the block is."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from sweeps import every

import jaxbandit as jb
from jaxbandit.core import compensated_sums
from jaxbandit.core.struct import struct
from jaxbandit.core.xla import tiling
from jaxbandit.core.xla.tiling import LANES, in_tiles, tile_size, tree_bytes
from jaxbandit.engine import rollout
from jaxbandit.engine.rounds.stops import AtStops, nothing_at_stops

QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}  # compiles in half the time
MERIT = {"kind": "power", "scale": 1.0, "exponent": 2.0}


@pytest.mark.parametrize(("cells", "lanes"), [(1, 4096), (3, 1024), (700, 16), (4096, 1), (73, 112), (1, 16 * 157)])
def test_tiles_are_complete_vectors_of_a_block(cells, lanes, monkeypatch):
    monkeypatch.setattr(tiling, "tile_bytes", lambda: 40 << 10)
    axis, width = tile_size(cells, lanes, 80)
    assert width <= (cells, lanes)[axis]
    assert (width if axis == -1 else width * lanes) % LANES == 0
    assert 384 <= width * (lanes, cells)[axis] <= 768


def test_tiles_are_slightly_longer_where_that_saves_runs_that_are_played_twice(monkeypatch):
    monkeypatch.setattr(tiling, "tile_bytes", lambda: 40 << 10)
    assert tile_size(1, 2048, 168) == (-1, 256)  # 243 runs fit: nine tiles of 240 would play 112 runs twice
    assert tile_size(1, 640, 168) == (-1, 224)  # two tiles of 320 would be too long
    assert tile_size(1, 2080, 168) == (-1, 240)  # eight tiles of 272 would play more runs twice


def test_a_small_block_is_one_tile():
    for block in ((1, 48), (48, 1), (2, 16)):
        axis, width = tile_size(*block, 80)
        assert width == block[axis]


def test_bytes_of_a_tree():
    assert tree_bytes({"a": jnp.zeros((2, 3)), "b": jax.ShapeDtypeStruct((5,), jnp.int16)}) == 2 * 3 * 4 + 5 * 2


@struct
class State:
    pulls: Any
    sums: Any
    under_way: Any = None


def begin(cells, lanes, under_way=None):
    pulls = np.random.default_rng(0).integers(0, 9, (3, cells, lanes)).astype(np.int32)
    return State(pulls, {"regret": compensated_sums.zeros((1, cells, lanes))}, under_way)


def played_in(cells, lanes, under_way=None):
    """The outcome of a simple game in tiles and at once, and the shapes that it was played in."""
    rng = np.random.default_rng(1)
    weights, means, key = (  # one per cell, common to all cells, one per run; whole numbers, so that sums are exact
        rng.integers(0, 9, shape).astype(np.float32) for shape in ((3, cells, 1), (3, 1, 1), (1, cells, lanes))
    )
    table = np.arange(5, dtype=np.float32)  # common to all runs
    shapes = []

    def play_on(policy, world, key, quotas, first, last, stops, recording, state):
        shapes.append(state.pulls.shape)
        score = policy["weights"] * state.pulls.astype(jnp.float32) + world * key[0] + policy["table"][2]
        pulls = state.pulls + jnp.where(score > quotas, first, last)
        counts = jnp.stack([pulls * stop for stop in stops])
        sums = {"regret": jnp.stack([jnp.sum(score, axis=0) + n for n in range(2)])}
        faults = jnp.stack([jnp.max(pulls), jnp.max(20 - pulls)])
        return State(pulls, state.sums, state.under_way), AtStops(counts, sums), faults

    quotas = np.full((3, 1, 1), 40, np.float32)
    arguments = ({"weights": weights, "table": table}, means, (key,), quotas)
    arguments = (*arguments, np.int32(1), np.int32(5), np.int32([2, 7]), None, begin(cells, lanes, under_way))
    at_once, in_parts = (
        jax.jit(function, compiler_options=QUICKLY)(*arguments)
        for function in (play_on, in_tiles(play_on, nothing_at_stops, 2, lambda *_: None, lambda *_: None))
    )
    return in_parts, at_once, shapes[1:]


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("cells", "lanes", "tile"),
    [
        (1, 64, (3, 1, 16)),  # lanes are cut
        (1, 40, (3, 1, 16)),  # the last tile overlaps the one before it
        (4, 16, (3, 1, 16)),  # cells are cut
        (20, 2, (3, 8, 2)),  # cells of less than a vector, with an overlap
        (1, 16, (3, 1, 16)),  # one tile
    ],
)
def test_tiles_are_played_as_the_block_is(cells, lanes, tile, monkeypatch):
    monkeypatch.setattr(tiling, "_LEAST_RUNS", 16)
    monkeypatch.setattr(tiling, "tile_bytes", lambda: 0)
    in_parts, at_once, shapes = played_in(cells, lanes)
    assert set(shapes) == {tile}
    jax.tree.map(np.testing.assert_array_equal, in_parts, at_once)


@pytest.mark.cpu
def test_tiles_with_a_calendar_of_feedback_have_more_runs(monkeypatch):
    monkeypatch.setattr(tiling, "_LEAST_RUNS", 16)
    monkeypatch.setattr(tiling, "_LEAST_WITH_CALENDAR", 32)
    monkeypatch.setattr(tiling, "tile_bytes", lambda: 0)
    calendar = jnp.arange(2 * 3 * 64, dtype=jnp.float32).reshape(2, 3, 1, 64)
    in_parts, at_once, shapes = played_in(1, 64, calendar)
    assert set(shapes) == {(3, 1, 32)}
    jax.tree.map(np.testing.assert_array_equal, in_parts, at_once)


@pytest.mark.parametrize(
    ("kind", "costly"),
    [("thompson", True), ("f-ts", True), ("calibrated-thompson", True), ("ucb1", False), ("fucb", False)],
)
def test_tiles_are_smaller_where_a_part_is_costly(kind, costly):
    prepared = jb.policy(kind).prepare(jb.Problem([0.9, 0.5], fractions=0.2), 10)
    assert tiling.is_costly(prepared) == costly


GRID = {"kind": "lfg", "eta": [0.5, 1.0, 2.0, 4.0]}
ROWS = {"random": "uniform", "arms": 3, "instances": 8}
CASES = {
    "lanes": ({"means": [0.9, 0.6, 0.3], "fractions": 0.2}, "lfg", 64),
    "instances": ({"means": {**ROWS, "instances": 5}, "fractions": 0.2}, "lfg", 48),
    "a grid of instances": ({"means": ROWS, "fractions": 0.2}, GRID, 16),
    "a grid": ({"means": [0.9, 0.6, 0.3], "fractions": 0.2}, GRID, 2),
    "draws that are refused": ({"means": [0.9, 0.6, 0.3], "fractions": 0.2}, "f-ts", 72),
    "delays": ({"means": [0.9, 0.6, 0.3], "delay": {"kind": "geometric", "p": 0.1}}, "ucb1", 72),
    "several plays": ({"means": [0.9, 0.6, 0.3], "plays": 2, "merit": MERIT}, "fgreedy-d", 64),
}


@pytest.mark.parametrize("case", every(CASES, 2))
def test_simulations_in_tiles_are_those_of_whole_blocks(case, monkeypatch):
    """The same bits: tiles of a vector and of two, against blocks that are one tile."""
    problem, policy, seeds = CASES[case]
    results = []
    for size in (0, 3000, 1 << 30):
        monkeypatch.setattr(tiling, "_LEAST_RUNS", 16)
        monkeypatch.setattr(tiling, "_LEAST_WITH_CALENDAR", 16)
        monkeypatch.setattr(tiling, "tile_bytes", lambda size=size: size)
        rollout.compiled.cache_clear()
        results.append(jb.simulate(problem, policy, horizon=40, seeds=seeds, record=4, key=1))
    rollout.compiled.cache_clear()
    xr.testing.assert_identical(results[0].drop_attrs(), results[2].drop_attrs())
    xr.testing.assert_identical(results[1].drop_attrs(), results[2].drop_attrs())
