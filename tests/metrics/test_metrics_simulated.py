"""The metrics of whole simulations: those of their pulls, in every round."""

import functools

import numpy as np
import pytest
from exact_metrics import ALL, exact_of
from harness import trajectory

import jaxbandit as jb
from jaxbandit.metrics.definitions import METRICS

WORLD = jb.Problem(
    means=[[0.35, 0.62, 0.5, 0.81], [0.5, 0.5, 0.1, 0.5], [0.9, 0.2, 0.88, 0.0]],
    fractions=[[0.07, 0.29, 0.1, 0.1], [0.25] * 4, [0.0, 0.3, 0.15, 0.01]],
    penalties=[[0.4, 0.1, 0.35, 0.2], [0.0, 1.0, 0.2, 0.3], [0.5, 0.7, 0.02, 0.9]],
)
TWO_PLAYS = jb.Problem(WORLD.means.T, plays=2, fractions=WORLD.fractions.T, penalties=WORLD.penalties.T)
KINDS = ["hard-threshold-ucb", "uniform-random"]
pytestmark = pytest.mark.filterwarnings("ignore:c_regret grows")


@functools.cache
def simulated(record):
    """All metrics of two policies, by the same programs whatever the record."""
    return jb.simulate(WORLD, KINDS, horizon=150, seeds=6, record=record, key=3)


def recomputed(results, problem):
    """Every metric at the horizon, `[policy, instance, seed]` by name, from the pulls."""
    horizon = int(results["round"][-1])
    values = {name: np.zeros(results.pulls.shape[:3]) for name in ALL}
    for place in np.ndindex(results.pulls.shape[:3]):
        for name, value in exact_of(problem, place[1], results.pulls.values[place], horizon).items():
            values[name][place] = float(value)
    return values


@pytest.mark.parametrize("plays", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_results_are_the_metrics_of_their_pulls(plays):
    problem, results = WORLD, simulated(7)
    if plays == 2:
        problem, results = TWO_PLAYS, jb.simulate(TWO_PLAYS, KINDS[0], horizon=150, seeds=6, record=7, key=3)
    assert [name for name in METRICS if name in results] == ALL
    for name, runs in recomputed(results, problem).items():
        last = results.isel(round=-1)
        np.testing.assert_allclose(results[f"{name}_final"], runs, rtol=1e-9, atol=1e-11, err_msg=name)
        np.testing.assert_allclose(last[name], runs.mean(axis=2), rtol=1e-9, atol=1e-11, err_msg=name)
        error = runs.std(axis=2, ddof=1) / np.sqrt(6)
        np.testing.assert_allclose(last[f"{name}_stderr"], error, rtol=1e-9, atol=1e-11, err_msg=name)
        assert runs.std() > 0  # a metric that is 0 everywhere would prove nothing


def test_every_round_is_the_mean_over_the_runs_of_that_round():
    results = simulated("all")
    counts = np.cumsum(trajectory(WORLD, KINDS[0], 150, 6, key=3), axis=0, dtype=int)  # [T, K, J, S]
    runs = {name: np.zeros((WORLD.instances, 6, 150)) for name in ALL}
    for j, i, t in np.ndindex(WORLD.instances, 6, 150):
        for name, value in exact_of(WORLD, j, counts[t, :, j, i], t + 1).items():
            runs[name][j, i, t] = float(value)
    for name, values in runs.items():
        np.testing.assert_allclose(results[name][0], values.mean(axis=1), rtol=1e-9, atol=1e-11, err_msg=name)
        error = values.std(axis=1, ddof=1) / np.sqrt(6)
        np.testing.assert_allclose(results[f"{name}_stderr"][0], error, rtol=1e-6, atol=1e-9, err_msg=name)
    largest = runs["max_deficit"].max(axis=2)
    np.testing.assert_allclose(results.max_deficit_ever[0], largest, rtol=1e-6)  # the engine keeps it in float32,
    assert np.all(results.max_deficit_ever[0] >= largest - 1e-11)  # but recorded rounds count exactly
    assert np.any(largest > runs["max_deficit"][:, :, -1] + 0.5)  # it is not a copy of the last round


@pytest.mark.parametrize("record", [1, 7, "all"])
def test_the_running_maximum_includes_rounds_that_are_not_recorded(record):
    results, everything = simulated(record), simulated("all")
    np.testing.assert_allclose(results.max_deficit_ever, everything.max_deficit_ever, rtol=1e-6)  # float32 between
    assert np.all(results.max_deficit_ever >= results.max_deficit_final)
    # The largest mean is at most the mean of the largest; means are kept to 2^-40.
    assert np.all(results.max_deficit_ever.mean("seed") >= results.max_deficit.max("round") - 1e-11)
