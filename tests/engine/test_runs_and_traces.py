"""Curves of single runs, traces and mean selections, against NumPy on the traces and against `jb.Simulator`."""

import tomllib

import numpy as np
import pytest
import xarray as xr
from harness import ONE_PLAY
from logged import logged
from stepping import DELAYS, PROBLEM, problem_for, scanned, some_cases
from sweeps import FULL

import jaxbandit as jb
from jaxbandit.engine.plan import Plan, make_plan
from jaxbandit.engine.settings import Configuration, SimulationSettings
from jaxbandit.experiments.configs import config as configs
from jaxbandit.metrics.block_statistics import BlockStatistics

ROUNDS, SEEDS = 90, 5
HARD = "hard-threshold-ucb"


def simulate(kind, *, seeds=SEEDS, trace=True, runs=("regret", "utility"), rounds=ROUNDS, **problem):
    return jb.simulate(
        problem_for(**problem),
        kind,
        horizon=rounds,
        seeds=seeds,
        key=1,
        trace=trace,
        runs=runs,
        metrics=["regret", "utility"],
        record=20,
        gpu_kernel=False,  # as with a trace: drawn rewards of a kernel may differ in their last bits
    )


def counts_of(results, arms):
    """N_k of every run at every round, from the trace: int `[policy, instance, seed, t, arm]`."""
    return (results.arms.values[..., None] == np.arange(arms)).sum(axis=-2).cumsum(axis=-2)


def assert_consistent(results, problem):
    """The trace, the counts, the curves of the runs and the means agree, computed from the trace with NumPy."""
    means = problem.means.T  # [J, K]
    every = counts_of(results, problem.arms)
    np.testing.assert_array_equal(every[..., -1, :], results.pulls)
    counts, t = every[:, :, :, results["round"].values - 1], results["round"].values
    seeds = results.sizes["seed"]
    np.testing.assert_allclose(results.pulls_mean, counts.mean(axis=2).swapaxes(2, 3), rtol=1e-14)
    error = counts.std(axis=2, ddof=1).swapaxes(2, 3) / np.sqrt(seeds)
    np.testing.assert_allclose(results.pulls_mean_stderr, error, rtol=1e-12, atol=1e-12)
    best = np.sort(means, axis=1)[:, -problem.plays :].sum(axis=1)
    regret = t * best[:, None, None] - (counts * means[:, None, None]).sum(axis=-1)
    np.testing.assert_allclose(results.regret_runs, regret, atol=1e-9)
    np.testing.assert_allclose(results.regret, results.regret_runs.mean("seed"), atol=1e-9)
    np.testing.assert_array_equal(results.regret_final, results.regret_runs.isel(round=-1))
    np.testing.assert_array_equal(np.isnan(results.rewards), results.arms < 0)
    if "utility_runs" in results:
        rewards = np.nansum(results.rewards.values.astype(float), axis=-1).cumsum(axis=-1)[..., t - 1]
        owed = t[:, None] * results.opportunities.values[:, None, None]
        costs = (problem.penalties.T[:, None, None] * (owed - counts).clip(0)).sum(axis=-1)
        np.testing.assert_allclose(results.utility_runs, rewards - costs, rtol=1e-6, atol=1e-4)


def assert_is_the_run(results, problem, kind, seed):
    """The traced run is that of the simulator, selection by selection."""
    simulator = jb.Simulator(problem, kind, horizon=ROUNDS)
    for instance in range(problem.instances):
        _, info = scanned(simulator, simulator.init(1, instance, seed), ROUNDS)
        run = results.isel(policy=0, instance=instance, seed=seed)
        np.testing.assert_array_equal(run.arms, info.arms)
        np.testing.assert_array_equal(run.rewards, np.where(info.arms < 0, np.nan, info.rewards))
        np.testing.assert_array_equal(
            run.delays, np.where((info.arms < 0) | (info.delays >= jb.NEVER), -1, info.delays)
        )


def slow(*case):
    return pytest.param(*case, marks=pytest.mark.slow)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("thompson", {"delay": DELAYS["reward-dependent"]}),
        pytest.param(
            "lfg",
            {"plays": 3, "availability": 0.6, "means": [[0.9, 0.8, 0.7, 0.4], [0.1, 0.6, 0.3, 0.2]]},
            marks=FULL,
        ),
        slow(
            "fair-mmab",
            {"plays": 2, "reward": {"kind": "gaussian", "sd": 0.2}, "delay": {"kind": "packet-loss", "p": 0.5}},
        ),
    ],
)
def test_a_trace_is_what_happened(kind, problem):
    results, made = simulate(kind, **problem), problem_for(**problem)
    assert_consistent(results, made)
    assert_is_the_run(results, made, kind, seed=3)
    plain = simulate(kind, trace=False, runs=(), **problem)
    assert not {"arms", "rewards", "delays", "regret_runs"} & set(plain)
    xr.testing.assert_identical(results[list(plain)].drop_attrs(), plain.drop_attrs())


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "plays", "delay"), some_cases(2))
def test_every_trace_is_what_happened(kind, plays, delay):
    problem = {"plays": plays, "delay": DELAYS[delay]}
    if plays > 1:
        problem["merit"] = None if kind in ONE_PLAY else PROBLEM["merit"]
    results = simulate(kind, **problem)
    assert_consistent(results, problem_for(**problem))


@pytest.mark.slow
def test_blocks_and_added_seeds_change_nothing(tmp_path):
    problem, settings = problem_for(), {"horizon": 70, "key": 1, "trace": True, "runs": ["regret"], "record": 9}
    at_once = jb.simulate(problem, HARD, seeds=12, **settings)
    in_blocks = jb.simulate(problem, HARD, seeds=12, block=5, keep=tmp_path, **settings)
    xr.testing.assert_identical(at_once.drop_attrs(), in_blocks.drop_attrs())
    error = float(at_once.regret_final[0, 0, :4].std(ddof=1)) / 2  # of the first four
    added = jb.simulate(problem, HARD, seeds=4, until=f"regret_stderr<{0.9 * error:.6f}", **settings)
    assert 4 < added.sizes["seed"] < 100
    both = min(added.sizes["seed"], 12)
    xr.testing.assert_identical(
        added[["arms", "rewards", "regret_runs"]].isel(seed=slice(both)).drop_attrs(),
        at_once[["arms", "rewards", "regret_runs"]].isel(seed=slice(both)).drop_attrs(),
    )
    assert_consistent(added, problem)


def test_statistics_are_written_and_read():
    plan = make_plan(
        problem_for(),
        [Configuration("u", jb.policy("ucb1"), "u")],
        SimulationSettings(9, 3, trace=True, runs=["regret"]),
    )
    rng, shape = np.random.default_rng(0), plan.result_shape(plan.stacks[0])
    empty = BlockStatistics.empty(shape, 1, 3)
    empty.moments["pulls"].add_counts((...,), rng.integers(0, 99, (3, *empty.moments["pulls"].shape)))
    runs = {name: rng.integers(1, 9, array.shape).astype(array.dtype) for name, array in empty.runs.items()}
    shifts = {name: rng.random(array.shape) for name, array in empty.shifts.items()}
    made = BlockStatistics(shape, runs, empty.moments, shifts)
    for full in (False, True):
        read = BlockStatistics.empty(shape, 1, 3).restore(made.arrays(full))
        assert all(np.array_equal(read.runs[name], array) for name, array in runs.items())
        np.testing.assert_array_equal(read.moments["pulls"].mean(3), made.moments["pulls"].mean(3))
        np.testing.assert_array_equal(read.mean("regret", 3), shifts["regret"])


def test_a_grid_over_plays_pads_its_traces():
    table = {"means": [0.9, 0.5, 0.2], "reward": "bernoulli"}
    results = jb.simulate(table, "ucb1", horizon=20, seeds=2, trace=True, grid={"problem": {"plays": [1, 2]}})
    assert results.arms.shape == (2, 1, 2, 20, 2)
    one, two = results.isel(policy=0), results.isel(policy=1)
    assert np.all(one.arms[..., 1] == -1)
    assert np.all(np.isnan(one.rewards[..., 1]))
    assert np.all(one.delays[..., 1] == -1)
    assert np.all(two.arms >= 0)
    assert np.all(two.delays == 0)


@pytest.mark.slow
def test_metrics_of_runs_are_recorded_too():
    results = jb.simulate(problem_for(), "ucb1", horizon=20, seeds=2, metrics=["unfairness"], runs=["regret"], record=3)
    assert {"unfairness", "regret", "regret_runs"} <= set(results)
    assert "unfairness_runs" not in results
    config = tomllib.loads(results.config)
    assert config["simulation"]["runs"] == ["regret"]
    assert "trace" not in config["simulation"]
    assert configs.make_plan(config).runs == ["regret"]
    again = jb.simulate(problem_for(), "ucb1", horizon=20, seeds=1, metrics=[], record=3)
    assert set(again.data_vars) >= {"pulls", "pulls_mean"}
    assert np.isnan(again.pulls_mean_stderr).all()


def test_means_of_selections_are_kept_where_they_are_small():
    def keeps(instances, **settings):
        problem = {"means": {"random": "uniform", "arms": 10, "instances": instances}}
        simulation = {"horizon": 1000, "seeds": 1, **settings}
        return configs.make_plan(
            {"simulation": simulation, "problem": problem, "policies": [{"kind": "ucb1"}]}
        ).pulls_mean

    most = (64 << 20) // (16 * 10 * 200)
    assert keeps(most)
    assert not keeps(most + 1)
    assert keeps(most + 1, pulls_mean=True)
    assert not keeps(1, pulls_mean=False)


def test_switches_may_be_numpys():
    results = jb.simulate(
        problem_for(), "ucb1", horizon=20, seeds=2, record=3, metrics=[], pulls_mean=np.False_, trace=np.True_
    )
    assert "pulls_mean" not in results
    assert "arms" in results


def test_large_results_are_announced(monkeypatch):
    monkeypatch.setattr(Plan, "results_bytes", lambda plan: 3 << 29)
    with logged("^results will take about 1.5 GiB of memory$"):
        jb.simulate(problem_for(), "ucb1", horizon=20, seeds=2, record=3, metrics=[])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"runs": "regret"}, "simulation.runs = 'regret': must be a list of names, such as"),
        ({"runs": ["regert"]}, "simulation.runs = 'regert': .*did you mean 'regret'"),
        (
            {"runs": ["utility"], "problem": {"means": [0.5, 0.2]}},
            "simulation.runs = 'utility': .*needs problem.opportunity",
        ),
        ({"trace": "yes"}, "simulation.trace = 'yes': must be true or false"),
        ({"pulls_mean": 2}, "simulation.pulls_mean = 2: must be true or false"),
        ({"trace": True, "horizon": 10**6, "seeds": 10**5}, "simulation.seeds = 100000: .*GiB.*without `trace`"),
        ({"runs": ["regret"], "record": "all", "horizon": 10**6, "seeds": 10**5}, "simulation.seeds = 100000: .*GiB"),
    ],
)
def test_what_cannot_be_kept_is_refused(given, words):
    settings = {"problem": problem_for(), "policies": "ucb1", "horizon": 20, "seeds": 2, **given}
    with pytest.raises(jb.InputError, match=words):
        jb.simulate(**settings)
