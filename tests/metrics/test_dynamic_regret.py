"""Metrics where means change and arms sleep, against sums over the selections of every round."""

import jax
import numpy as np
import plain_metrics
import pytest
from sweeps import first_fast, partly_fast

import jaxbandit as jb

T, SEEDS = 300, 4
CHANGES = [[1, [0.9, 0.1, 0.5]], [37, [0.2, 0.8, 0.5]], [200, [0.4, 0.1, 0.95]]]
TABLE = [[1, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 1]]
FRACTIONS = [0.1, "1/7", 0.2]


def merit(mu):
    """The default of `merit = "power"`: 1 + 2 mu^4."""
    return 1 + 2 * mu**4


WALK = {"walk": {"start": [0.5, 0.4, 0.3], "every": 7, "sd": 0.1, "instances": 3}}
LATE = {"kind": "geometric", "p": 0.3}
CURVES = ["regret", "r_regret", "awake_regret", "unfairness"]


def problem(plays=1, **given):
    return jb.Problem(**{"means": {"changes": CHANGES}, "fractions": FRACTIONS, "plays": plays, **given})


def sums_over_rounds(played, results, instance=0):
    """The metrics after every round, `[seeds, T]`, by the plain functions."""
    mu, L, tau = played.means_at(np.arange(1, T + 1))[:, :, instance], played.plays, [0.1, 1 / 7, 0.2]
    awake = np.ones((T, 3), bool)
    if played.availability_table is not None:
        awake = np.array(TABLE, bool)[np.arange(T) % len(TABLE)]
    made: dict[str, list] = {name: [] for name in CURVES}
    for arms in results.arms.values[0, instance]:  # of each seed, [T, L]
        chosen = (arms[..., None] == np.arange(3)).any(axis=1)
        missed = np.multiply.outer(np.arange(1, T + 1), tau) - chosen.cumsum(axis=0)
        made["regret"].append(plain_metrics.dynamic_regret(chosen, mu, L))
        made["awake_regret"].append(plain_metrics.awake_regret(chosen, mu, awake, L))
        made["r_regret"].append(plain_metrics.dynamic_r_regret(chosen, mu, tau))
        made["unfairness"].append(np.maximum(missed, 0).sum(axis=1))
    return {name: np.array(curves) for name, curves in made.items()}


@pytest.mark.parametrize("record", partly_fast(["all", 4, [3, 36, 37, 250]], [[3, 36, 37, 250]]), ids=str)
@pytest.mark.parametrize("plays", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_metrics_add_up_the_rounds(plays, record):
    played = problem(plays, availability={"table": TABLE}, delay=LATE)
    results = jb.simulate(
        played, "discounted-ucb", horizon=T, seeds=SEEDS, record=record, runs=CURVES, trace=True, metrics=CURVES
    )
    at = results["round"].values - 1
    for name, sums in sums_over_rounds(played, results).items():
        atol = 1e-4 if name == "awake_regret" else 1e-9  # kept in float32 by the engine
        np.testing.assert_allclose(results[f"{name}_runs"].values[0, 0], sums[:, at], atol=atol, rtol=0)
        np.testing.assert_allclose(results[name].values[0, 0], sums[:, at].mean(axis=0), atol=atol, rtol=0)


@pytest.mark.slow
def test_metrics_of_a_walk_add_up_the_rounds_and_do_not_depend_on_blocks():
    played = problem(means=WALK, reward={"kind": "gaussian", "sd": 0.3})
    given = {"horizon": T, "seeds": SEEDS, "record": 5, "runs": CURVES[:2], "metrics": CURVES[:2], "trace": True}
    whole, parts = (jb.simulate(played, "thompson", block=block, **given) for block in (None, 3))
    for name in CURVES[:2]:
        np.testing.assert_array_equal(whole[f"{name}_runs"], parts[f"{name}_runs"])
        for instance in range(3):
            sums = sums_over_rounds(played, whole, instance)[name][:, whole["round"].values - 1]
            np.testing.assert_allclose(whole[f"{name}_runs"].values[0, instance], sums, atol=1e-9, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize("means", [{"changes": CHANGES}, WALK], ids=["changes", "walk"])
def test_the_recorded_rounds_change_no_bit(means):
    """With all rounds recorded, a change lies in another chunk of rounds than the stops after it."""
    given = {"horizon": 2000, "seeds": 40, "metrics": CURVES[:2], "runs": CURVES[:2]}
    every, *others = (
        jb.simulate(problem(means=means), "fair-learn", record=record, **given)
        for record in ("all", 7, [36, 37, 150, 2000], [2000])
    )
    for few in others:
        for name in CURVES[:2]:
            same = every.sel(round=few["round"].values)
            np.testing.assert_array_equal(few[f"{name}_runs"], same[f"{name}_runs"])
            np.testing.assert_array_equal(few[name], same[name])


@pytest.mark.slow
def test_fair_chances_are_those_of_the_round():
    """reward_regret and fairness_regret of a policy that selects at random."""
    played = problem(merit="power")
    names = ["reward_regret", "fairness_regret"]
    results = jb.simulate(played, "uniform-random", horizon=T, seeds=SEEDS, runs=names, metrics=names, trace=True)
    mu = played.means_at(np.arange(1, T + 1))[:, :, 0]
    at, expected = results["round"].values - 1, ([], [])
    for arms in results.arms.values[0, 0]:  # a policy of one play states chances 0 and 1
        stated = (arms == np.arange(3)).astype(float)
        expected[0].append(plain_metrics.dynamic_reward_regret(stated, mu, merit, 1)[at])
        expected[1].append(plain_metrics.dynamic_fairness_regret(stated, mu, merit, 1)[at])
    for name, sums in zip(names, expected, strict=True):
        np.testing.assert_allclose(results[f"{name}_runs"].values[0, 0], sums, rtol=1e-5)


@pytest.mark.slow
def test_a_row_that_changes_nothing_changes_no_bit():
    constant = jb.Problem(CHANGES[0][1], fractions=FRACTIONS)
    changing = problem(means={"changes": [[1, CHANGES[0][1]], [50, CHANGES[0][1]]]})
    names = ["regret", "r_regret", "max_deficit"]
    one, other = (jb.simulate(p, "fair-learn", horizon=T, seeds=SEEDS, metrics=names) for p in (constant, changing))
    np.testing.assert_array_equal(one.pulls, other.pulls)
    np.testing.assert_allclose(one.regret, other.regret, atol=1e-9)


@pytest.mark.slow
def test_results_have_the_means_of_the_recorded_rounds():
    results = jb.simulate(problem(), ["ucb1", "thompson"], horizon=T, seeds=2, record=[1, 36, 37, T])
    of_round = results.means_of_round.sel(instance=0).values
    np.testing.assert_array_equal(of_round, [CHANGES[0][1], CHANGES[0][1], CHANGES[1][1], CHANGES[2][1]])
    lengths = np.array([36, 163, 101]) / T
    np.testing.assert_allclose(results.means.values[0], lengths @ np.array([row for _, row in CHANGES]))


@pytest.mark.parametrize("name", first_fast(["utility_regret", "penalized_regret", "c_regret", "utility"]))
def test_metrics_of_constant_means_are_refused(name):
    played = problem(penalties=0.3, opportunity="uniform")
    with pytest.raises(jb.InputError, match=rf"metrics = '{name}': .*; {name} is not defined where means change"):
        jb.simulate(played, "ucb1", horizon=T, seeds=1, metrics=[name])
    assert name not in jb.simulate(played, "ucb1", horizon=T, seeds=1)


@pytest.mark.slow
def test_a_simulator_plays_the_runs_of_a_simulation():
    played = problem(availability={"table": TABLE}, delay=LATE)
    results = jb.simulate(played, "sliding-window-ucb", horizon=T, seeds=SEEDS, trace=True, metrics=["regret"])
    simulator = jb.Simulator(played, "sliding-window-ucb", horizon=T)
    np.testing.assert_array_equal(simulator.rollout(0, SEEDS).pulls, results.pulls.values[0])
    _, info = jax.lax.scan(lambda state, _: simulator.step(state), simulator.init(key=0, seed=2), length=T)
    np.testing.assert_array_equal(info.arms, results.arms.values[0, 0, 2])


def test_a_metric_of_a_users_sees_the_means_of_the_round():
    class BestMean(jb.Metric, name="best_mean"):
        """The largest mean of the round."""

        def value(self, now):
            return now.means.max(axis=0)

    try:
        results = jb.simulate(problem(), "ucb1", horizon=T, seeds=2, record=[36, 37, T], metrics=["best_mean"])
    finally:
        del jb.metrics.METRICS["best_mean"]
    assert results.best_mean.values.ravel().tolist() == pytest.approx([0.9, 0.8, 0.95])
