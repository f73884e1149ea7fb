"""The simulation around the engine: what users set by JAX's own means, rounds recorded, bars, and bad indices."""

import threading
from concurrent.futures import wait
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from harness import in_several_calls, places_of_calls

import jaxbandit as jb
from jaxbandit.core.xla.tiling import LANES
from jaxbandit.engine import rollout, simulation
from jaxbandit.engine.batch import blocks, recorder
from jaxbandit.engine.batch.blocks import cover, recorded_rounds, size
from jaxbandit.engine.host import compilation
from jaxbandit.engine.plan import make_plan
from jaxbandit.engine.settings import Configuration, SimulationSettings

PROBLEM = jb.Problem([0.3, 0.6, 0.5, 0.8], fractions=[0.1, 0.05, 0.2, 0.15], penalties=[0.2, 0.5, 0.4, 0.3])


class Watched(jb.Index):
    """The mean; tells what dtype it saw."""

    seen: ClassVar[list] = []

    def value(self, state, now):
        self.seen.append(now.mean.dtype)
        return now.mean


@pytest.mark.slow
def test_float64_by_context_reaches_every_worker():
    Watched.seen.clear()
    with jax.enable_x64(True):
        jb.simulate(PROBLEM, Watched(), horizon=30, seeds=4, metrics=["regret"])
    assert Watched.seen
    assert set(Watched.seen) == {jnp.dtype("float64")}
    Watched.seen.clear()
    jb.simulate(PROBLEM, Watched(), horizon=30, seeds=4, metrics=["regret"])
    assert set(Watched.seen) == {jnp.dtype("float32")}


class Undefined(jb.Index):
    """Not a number from the tenth selection on."""

    def value(self, state, now):
        return jnp.where(now.pulls > 9, jnp.nan, now.mean)


@pytest.mark.slow
def test_the_quotas_of_later_chunks_are_those_of_their_rounds(monkeypatch):
    def simulated():
        return jb.simulate(PROBLEM, "fair-learn", horizon=300, seeds=4, record=2).drop_attrs()

    in_one_chunk = simulated()
    monkeypatch.setattr(blocks, "_MOST_ROUNDS", 64)
    monkeypatch.setattr(blocks, "_PLAYED", 0)
    xr.testing.assert_identical(simulated(), in_one_chunk)


@pytest.mark.slow
@pytest.mark.cpu
def test_late_feedback_is_the_same_in_one_call_and_in_several(monkeypatch):
    problem = {"means": [0.9, 0.5, 0.3], "delay": {"kind": "geometric", "p": 0.05}}
    results, places = [], places_of_calls(monkeypatch)
    for _ in range(2):
        results.append(jb.simulate(problem, "ucb1", horizon=150, seeds=20, record=70, block=32).drop_attrs())
        in_several_calls(monkeypatch)
    assert places == [256] * 2 + [64] * 3  # one call compiles the program
    xr.testing.assert_identical(*results)


def test_calls_are_long_where_they_stay_small_and_quick():
    def calls(lanes, horizon, recorded, keeps_counts=True, costly=False):
        return blocks.long_calls(7, 1, lanes, horizon, recorded, keeps_counts, costly)

    def whole(stops, rounds=2048):
        return blocks.Calls(rounds, stops, whole=True)

    assert calls(560, 2000, 2) == calls(560, 1, 1) == calls(50_000, 2000, 16) == whole(16)
    assert calls(10_000, 2000, 4) == calls(300_000, 2000, 2) == whole(4)
    assert calls(560, 2000, 20) == whole(64)
    assert calls(560, 2049, 200) == calls(560, 8192, 200) == whole(256, rounds=8192)
    assert calls(560, 20000, 200) == calls(560, 32768, 200, costly=True) == whole(256, rounds=32768)
    assert calls(8192, 2000, 200, keeps_counts=False) == whole(256)
    # Several calls: too many rounds of all runs, too large a quota table, too many recorded rounds, too many counts
    assert calls(8192, 20000, 200, keeps_counts=False) == blocks.Calls(rounds=8192, stops=256)
    assert calls(8192, 4000, 20, costly=True) == blocks.Calls(rounds=2048, stops=16)
    assert calls(16, 70000, 200) == calls(16, 70000, 300) == blocks.Calls(rounds=65536, stops=256)
    assert calls(16, 70000, 2) == calls(16, 70000, 300)  # few counts: one program, whatever is recorded
    assert calls(73, 2000, 2) == whole(256)
    assert calls(74, 2000, 2) == whole(16)
    assert calls(560, 2000, 257) == blocks.Calls(rounds=2048, stops=256)
    assert calls(1200, 2000, 200) == blocks.Calls(rounds=2048, stops=64)
    assert calls(50000, 2000, 20) == blocks.Calls(rounds=2048, stops=16)
    assert blocks.long_calls(1000, 64, 100, 70, 2, True, False) == blocks.Calls(rounds=65, stops=4)


@pytest.mark.cpu
@pytest.mark.parametrize(("arms", "few", "many"), [(5, 41_000, 42_000), (1000, 330, 340)])  # 2^26 / (200 max(8, arms))
def test_large_simulations_are_recorded_in_the_rounds(arms, few, many):
    def in_rounds(seeds):
        problem = jb.Problem(np.linspace(0.9, 0.1, arms))
        planned = make_plan(problem, [Configuration("u", jb.policy("ucb1"), "u")], SimulationSettings(1000, seeds))
        return planned.recorder(planned.stacks[0], planned.blocks[0]).recording is not None

    assert not in_rounds(few)
    assert in_rounds(many)


@pytest.mark.cpu
def test_blocks_hold_few_runs_where_the_state_of_a_run_is_large():
    sizes = [blocks.usual(bytes_per_run) for bytes_per_run in (80, 400, 2048, 8000, 40_000, 10**6)]
    assert sizes == [8192, 5242, 2048, 524, 128, 128]


@pytest.mark.parametrize("availability", [pytest.param(1.0, marks=pytest.mark.slow), 0.7])
def test_an_index_that_is_not_a_number_is_an_error(availability):
    problem = jb.Problem([0.3, 0.6, 0.5, 0.8], availability=availability)
    with pytest.raises(FloatingPointError, match=r"'Undefined': an index was not a number, in round \d+ or before"):
        jb.simulate(problem, Undefined(), horizon=200, seeds=4)


@pytest.mark.parametrize(
    ("horizon", "record"), [(1, 1), (7, 7), (1000, 1), (1000, 2), (1000, 50), (20000, 200), (5, 99)]
)
def test_recorded_rounds(horizon, record):
    rounds = recorded_rounds(horizon, record)
    assert len(rounds) == min(record, horizon)
    assert rounds[-1] == horizon
    assert rounds[0] >= 1
    assert np.all(np.diff(rounds) > 0)


def test_recorded_rounds_are_log_spaced_once_they_can_be():
    rounds = recorded_rounds(20000, 200)
    ratios = rounds[101:] / rounds[100:-1]
    assert ratios.max() / ratios.min() < 1.03


def test_rounds_can_be_recorded_by_name_or_all():
    np.testing.assert_array_equal(recorded_rounds(50, [10, 5]), [5, 10, 50])
    np.testing.assert_array_equal(recorded_rounds(5, "all"), [1, 2, 3, 4, 5])
    few = jb.simulate(PROBLEM, "ucb1", horizon=90, seeds=3, record=[10, 50])
    every = jb.simulate(PROBLEM, "ucb1", horizon=90, seeds=3, record="all")
    for name in ("regret", "unfairness_stderr"):
        np.testing.assert_array_equal(few[name], every[name].sel(round=[10, 50, 90]))


@pytest.mark.parametrize(("instances", "seeds"), [(1, 1), (1, 1000), (3, 5), (50, 20), (7, 16), (300, 1), (5, 17)])
@pytest.mark.parametrize("block", [1, 7, 64, 2048, None])
@pytest.mark.parametrize(("share", "shards", "arms"), [(1, 1, 5), (2, 1, 5), (2, 1, 5000), (1, 8, 5)])
def test_blocks_hold_every_run_once_and_whole_vectors(instances, seeds, block, share, shards, arms):
    blocks_size = size(instances, seeds, block, share, 2048 * shards, arms=arms)
    blocks = cover(instances, slice(0, seeds), blocks_size, shards)
    times = np.zeros((instances, seeds), int)
    for b in blocks:
        times[b.rows, b.seeds] += 1
        cells, lanes = b.cells(), b.lanes()
        assert (len(cells) if b.wide < LANES else lanes.shape[1]) % LANES == 0
        shape = len(cells), lanes.shape[1]
        assert shape[b.axis] % shards == 0
        assert (shape[0] * shape[1] // shards) % LANES == 0
        own = b.unpack(
            np.broadcast_to(np.stack(np.broadcast_arrays(cells[:, None], lanes)), (2, len(cells), lanes.shape[1]))
        )
        np.testing.assert_array_equal(own[0], np.arange(instances)[b.rows][:, None] + 0 * own[1])
        np.testing.assert_array_equal(own[1], np.arange(seeds)[b.seeds][None] + 0 * own[0])
        assert (b.cells().shape, b.lanes().shape) == (blocks[0].cells().shape, blocks[0].lanes().shape)
    assert np.all(times == 1)


@pytest.mark.parametrize("share", [2, 3])
@pytest.mark.parametrize("most", [280, 500, 3000])
def test_blocks_that_memory_limits_keep_all_cores_busy(share, most):
    made = size(1, 4096, None, share, 2048, most)
    assert made.count(1, 4096) % share == 0
    assert made.wide <= most


@pytest.mark.slow
def test_blocks_of_one_simulation_share_a_program():
    """Five instances in blocks of two: the last block has one, and compiles nothing."""
    tau = [[0.1, 0.05, 0.2, k / 100] for k in range(5)]
    problem = jb.Problem([[0.3, 0.6, 0.5, 0.8]] * 5, fractions=tau, penalties=0.3)
    before = rollout.compiled()._cache_size()
    settings = {"horizon": 90, "seeds": 20, "metrics": ["regret", "unfairness"]}
    parts = jb.simulate(problem, "fucb", block=40, **settings)
    assert rollout.compiled()._cache_size() == before + 1
    whole = jb.simulate(problem, "fucb", **settings)
    for name in whole.data_vars:
        np.testing.assert_array_equal(whole[name], parts[name], err_msg=name)


@pytest.mark.slow
def test_recorders_compile_beside_engines_what_they_then_use():
    """An empty chunk has the shapes of a played one: nothing is compiled again."""
    problem = jb.Problem([0.3, 0.6, 0.5, 0.8], fractions=0.05, merit="power")
    plan = make_plan(
        problem,
        [Configuration("fucb", jb.policy("fucb"), "fucb")],
        SimulationSettings(40, 19, metrics=["regret", "unfairness", "reward_regret"]),
    )
    recorder._compiled.compiled.clear_cache()
    compilation._compile_recorder(plan, 0)
    assert recorder._compiled.compiled._cache_size() == 1
    result = simulation.run(plan)
    assert recorder._compiled.compiled._cache_size() == 1
    assert result.statistics[0].mean("regret", 19)[0, -1] > 0


def test_a_failure_stops_the_others_and_an_interruption_is_passed_on(monkeypatch):
    pools = []

    def interrupted(plan, task, workers, bar):
        pools.append(workers)
        raise KeyboardInterrupt

    plan = make_plan(PROBLEM, [Configuration("ucb1", jb.policy("ucb1"), "ucb1")], SimulationSettings(50, 2))
    monkeypatch.setattr(simulation, "simulate_block", interrupted)
    with pytest.raises(KeyboardInterrupt):
        simulation.run(plan)
    assert pools[0].stopped.is_set()


def test_programs_are_compiled_ahead_but_not_during_a_pause():
    plan = make_plan(PROBLEM, [Configuration("fucb", jb.policy("fucb"), "fucb")], SimulationSettings(30, 21))
    pause = threading.Lock()
    with compilation.compiled_ahead([plan], pause) as (done,):
        assert done.result(60) > 0
    programs = rollout.compiled()._cache_size()
    simulation.run(plan)
    assert rollout.compiled()._cache_size() == programs
    with pause, compilation.compiled_ahead([plan], pause) as (done,):
        assert not wait([done], 0.2).done
        pause.release()
        assert done.result(60) > 0
        pause.acquire()


def test_an_interruption_ends_the_compilation_ahead():
    """The plans that wait are dropped."""
    names = ("kl-ucb", "thompson", "lfg")
    made = [
        make_plan(PROBLEM, [Configuration(name, jb.policy(name), name)], SimulationSettings(30, 22)) for name in names
    ]
    with pytest.raises(KeyboardInterrupt), compilation.compiled_ahead(made, threading.Lock()) as ahead:
        raise KeyboardInterrupt
    assert all(one.done() for one in ahead)
    assert ahead[-1].cancelled() or ahead[-1].exception() is not None


def test_the_bar_shows_rounds_selections_and_time(capsys):
    jb.simulate(jb.Problem([0.1, 0.2, 0.3], plays=2), "ucb1", horizon=3000, seeds=20, progress=True)
    shown = capsys.readouterr().err
    assert "60.0k/60.0k rounds" in shown
    assert "selections/s" in shown
    assert "left]" in shown


def test_a_rule_that_chooses_by_itself_is_no_base():
    with pytest.raises(jb.InputError, match=r"policies\.base = 'fair-learn': must be one of .*ucb1"):
        jb.policy("lfg", base="fair-learn")
    bent = jb.policy("fair-learn", base=jb.policy("hard-threshold-ucb", penalties=0.5))
    assert jb.simulate(PROBLEM, bent, horizon=50, seeds=2).pulls.values.sum() == 100


@pytest.mark.parametrize("horizon", [2**24 + 1, 2**31])
def test_a_horizon_that_float32_cannot_count_is_refused(horizon):
    with pytest.raises(jb.InputError, match="at most 16777216 rounds; enable float64"):
        jb.simulate(PROBLEM, "ucb1", horizon=horizon, seeds=1)
