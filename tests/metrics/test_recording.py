"""What the program of the rounds records is what the recorder computes from counts: the same bits."""

import jax
import numpy as np
import pytest
import xarray as xr
from harness import DISTINCT, MERIT, TRANSFER, in_several_calls, places_of_calls
from sweeps import swept

import jaxbandit as jb
from jaxbandit.core.xla import tiling
from jaxbandit.engine import plan, rollout
from jaxbandit.engine.batch import recorder

MEANS = [0.9, 0.6, 0.3]
GROUPS = {"groups": [[0, 1], [2]], "group_fractions": [0.3, 0.2]}
CASES = {
    "all metrics of fractions": (jb.Problem(MEANS, fractions=0.2, penalties=0.4), "hard-threshold-ucb", {}),
    "unequal fractions": (jb.Problem(MEANS, fractions=[0.1, 0.3, 0.2]), "fucb", {}),
    "curves of all runs": (jb.Problem(MEANS, fractions=0.2), "ucb1", {"runs": ["regret", "max_deficit"]}),
    "large values": (jb.Problem(MEANS, fractions=0.3, penalties=1e6), "ucb1", {}),
    "running sums": (jb.Problem(MEANS, merit="power"), "fcucb-d", {"metrics": ["reward_regret", "fairness_regret"]}),
    "groups": (jb.Problem(MEANS, **GROUPS), "ucb1", {}),
    "delays": (jb.Problem(MEANS, delay={"kind": "geometric", "p": 0.2}), "ucb1", {}),
    "drawn rewards": (
        jb.Problem(MEANS, penalties=0.4, opportunity="softmax"),
        "ucb1",
        {"metrics": ["utility", "utility_regret"]},
    ),
    "instances and a grid": (
        jb.Problem([MEANS, [0.2, 0.5, 0.4], [0.1, 0.2, 0.3]], fractions=0.2),
        {"kind": "lfg", "eta": [0.5, 2.0]},
        {},
    ),
    "rates of instances": (
        jb.Problem(
            [[0.8, 0.64, 0.9], [0.5, 0.6, 0.96], [0.72, 0.62, 0.54], [0.55, 0.92, 0.28], [0.8, 0.66, 0.01]],
            fractions=[0.12, 0.26, 0.17],
            penalties=[0.04, 0.75, 0.72],
        ),
        "ucb1",
        {"runs": ["penalized_regret"]},
    ),
    "several plays": (jb.Problem(MEANS, fractions=0.5, plays=2), "lfg", {"metrics": ["c_regret"], "pulls_mean": False}),
}
REGRET = {"metrics": ["regret"]}
SLOW = ("instances and a grid", "rates of instances", "all metrics of fractions")


def both_ways(problem, policy, monkeypatch, **settings):
    """The results of both ways, and how often the recorder's own program ran."""
    made, programs = [], []
    for limit in (1 << 62, 1):
        monkeypatch.setattr(plan, "_IN_ROUNDS", limit)
        recorder._compiled.compiled.clear_cache()
        made.append(jb.simulate(problem, policy, horizon=150, seeds=72, record=100, **settings).drop_attrs())
        programs.append(recorder._compiled.compiled._cache_size())
    return made, programs


@pytest.mark.cpu
@pytest.mark.parametrize("case", swept(CASES, SLOW))
def test_both_ways_of_recording_give_the_same_bits(case, monkeypatch):
    """In tiles of two vectors, the last of which overlaps the one before it; two chunks of recorded rounds."""
    problem, policy, settings = CASES[case]
    in_several_calls(monkeypatch)
    monkeypatch.setattr(tiling, "_LEAST_RUNS", 32)
    monkeypatch.setattr(tiling, "_LEAST_WITH_CALENDAR", 32)
    monkeypatch.setattr(tiling, "tile_bytes", lambda: 0)
    rollout.compiled.cache_clear()
    (counts, rounds), programs = both_ways(problem, policy, monkeypatch, **settings)
    rollout.compiled.cache_clear()
    xr.testing.assert_identical(counts, rounds)
    assert programs[0] > 0
    assert programs[1] == 0


@pytest.mark.cpu
@pytest.mark.slow
@pytest.mark.parametrize("case", ["curves of all runs", "running sums"])
def test_one_call_records_what_several_do(case, monkeypatch):
    problem, policy, settings = CASES[case]
    monkeypatch.setattr(plan, "_IN_ROUNDS", 1)
    made, places = [], places_of_calls(monkeypatch)
    for _ in range(2):
        made.append(jb.simulate(problem, policy, horizon=150, seeds=72, record=100, block=512, **settings).drop_attrs())
        in_several_calls(monkeypatch)
    assert places == [256] * 2 + [64] * 3  # one call compiles the program
    xr.testing.assert_identical(*made)


@pytest.mark.parametrize(
    "case",
    swept(
        [*CASES, "a user's metric"],
        ["curves of all runs", "groups", "instances and a grid", "a user's metric"],
    ),
)
def test_all_stops_at_once_give_what_one_after_the_other_gives(case, monkeypatch):
    """As on a GPU: 100 recorded rounds in chunks, the last of which is padded."""
    problem, policy, settings = CASES.get(case, (jb.Problem(MEANS, fractions=0.2), "ucb1", {}))
    made = []
    if case not in CASES:

        class RewardAndDeficit(jb.Metric, name="reward_and_deficit"):
            """The drawn rewards, plus the largest deficit at t, which other metrics need, too."""

            needs = ("fractions",)
            needs_rewards = True

            def value(self, now):
                return now.rewards + now.deficit.max(axis=0)

    for at_once in (False, True):
        monkeypatch.setattr(recorder, "on_cpu", lambda at_once=at_once: not at_once)
        monkeypatch.setattr(plan, "_IN_ROUNDS", 1 << 62)
        recorder._compiled.compiled.clear_cache()
        made.append(jb.simulate(problem, policy, horizon=150, seeds=72, record=100, **settings).drop_attrs())
    recorder._compiled.compiled.clear_cache()
    xr.testing.assert_identical(*made)


@pytest.mark.cpu
@pytest.mark.slow
@pytest.mark.parametrize("pulls_mean", [False, True])
def test_many_runs_without_metrics_have_counts(pulls_mean, monkeypatch):
    monkeypatch.setattr(plan, "_IN_ROUNDS", 1)
    results = jb.simulate(jb.Problem(MEANS), "ucb1", horizon=150, seeds=72, metrics=[], pulls_mean=pulls_mean)
    assert (results.pulls.sum("arm") == 150).all()
    assert ("pulls_mean" in results) == pulls_mean


@pytest.mark.cpu
@pytest.mark.slow
@pytest.mark.parametrize("x64", [False, True])
def test_the_rounds_keep_their_types(x64, monkeypatch):
    """64-bit types, which metrics need, do not reach the policy."""
    with jax.enable_x64(x64):
        (counts, rounds), _ = both_ways(jb.Problem(MEANS, fractions=0.2), "moss", monkeypatch)
    xr.testing.assert_identical(counts, rounds)


@pytest.mark.slow
def test_what_needs_counts_is_recorded_from_counts(monkeypatch):
    """Users' metrics, traces, means that change, and blocks of few seeds."""

    class Spread(jb.Metric, name="spread_of_counts"):
        """max_k N_k - min_k N_k."""

        def value(self, now):
            return now.pulls.max(axis=0) - now.pulls.min(axis=0)

    try:
        problem = jb.Problem(MEANS)
        changing = jb.Problem({"changes": [[1, MEANS], [50, MEANS[::-1]]]})
        for of, more in [(problem, {}), (problem, {"trace": True, **REGRET}), (changing, REGRET)]:
            _, programs = both_ways(of, "ucb1", monkeypatch, **more)
            assert min(programs) > 0
    finally:
        jb.unregister("metrics", "spread_of_counts")


@pytest.mark.cpu
@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("kind", DISTINCT)
def test_both_ways_for_every_policy(kind, monkeypatch):
    if kind in MERIT:
        problem = jb.Problem([0.2, 0.9, 0.5, 0.7], plays=2, merit="power", delay={"kind": "geometric", "p": 0.2})
    else:
        opportunity = "softmax" if kind in TRANSFER and kind != "constant-opportunity" else "uniform"
        tau = [0.1, 0.05, 0.2, 0.15]
        problem = jb.Problem([0.3, 0.6, 0.5, 0.8], fractions=tau, penalties=0.3, opportunity=opportunity)
    (counts, rounds), _ = both_ways(problem, kind, monkeypatch)
    xr.testing.assert_identical(counts, rounds)


INSTANCES = {"fractions": [0.1, 0.3, 0.2], "penalties": 0.4}


@pytest.mark.parametrize(
    ("given", "shared"),
    [
        ({}, True),
        *(pytest.param(given, False, marks=pytest.mark.slow) for given in ({"availability": 0.6}, {"plays": 2})),
    ],
    ids=str,
)
def test_curves_are_the_means_of_runs(given, shared):
    """Also of metrics that share their moments, since they are the lost reward plus a number per round."""
    problem = jb.Problem([MEANS, [0.2, 0.5, 0.4]], **INSTANCES, **given)
    names = ["regret", "r_regret", "c_regret", "unfairness"]
    made = jb.simulate(problem, "ucb1", horizon=150, seeds=40, record=10, metrics=names, runs=names)
    for name in names:
        values = made[f"{name}_runs"]
        np.testing.assert_allclose(made[name], values.mean("seed"), rtol=1e-12, atol=1e-10)
        np.testing.assert_allclose(made[f"{name}_stderr"], values.std("seed", ddof=1) / 40**0.5, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(made[f"{name}_final"], values[..., -1])
    errors = [made[f"{name}_stderr"].values for name in names[:3]]
    assert shared == (np.array_equal(errors[0], errors[1]) and np.array_equal(errors[0], errors[2]))
