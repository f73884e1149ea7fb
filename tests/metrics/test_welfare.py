"""Nash regret, p-mean regret and the price of fairness against a plain computation."""

import itertools
import math

import numpy as np
import plain_metrics
import pytest
from judging import judge
from sweeps import partly_fast

import jaxbandit as jb
from jaxbandit.environment.ground_truth import ground_truth_of

T, SEEDS = 60, 8
CHANGING = {"changes": [[1, [0.1, 0.2]]]}
MEANS = [0.3, 0.9, 0.05, 0.6]


def plain(means, p):
    """max mu minus the p-mean of the means of the rounds, from the list of these means."""
    counts = [means.count(mu) for mu in MEANS]
    return plain_metrics.p_mean_regret(counts, MEANS, len(means), p)


@pytest.mark.parametrize("p", partly_fast([0, 1, 0.5, -1, -30, 1e-9, -1e-9, 40], [-30]), ids=str)
def test_p_mean_regret_of_every_round(p):
    results = jb.simulate(
        jb.Problem(MEANS), "ucb1", horizon=T, seeds=SEEDS, p_mean=p, trace=True, record=[1, 7, T],
        metrics=["p_mean_regret", "nash_regret"], runs=["p_mean_regret", "nash_regret"],
    )  # fmt: skip
    rewards = np.array(MEANS)[results.arms.values[0, 0, :, :, 0]]
    for place, t in enumerate([1, 7, T]):
        for name, exponent in (("p_mean_regret", p), ("nash_regret", 0)):
            expected = [plain(run[:t].tolist(), exponent if abs(exponent) > 1e-6 else 0) for run in rewards]
            np.testing.assert_allclose(results[f"{name}_runs"].values[0, 0, :, place], expected, atol=1e-8)
    assert results.nash_regret.attrs["long_name"] == "Nash regret (reward per round)"


@pytest.mark.parametrize(("p", "value"), [(0, 0.8), (-1, 0.8), (1, 0.8 - 0.4), (2, 0.8 - math.sqrt(0.5) * 0.8)])
def test_a_round_without_available_arms_has_reward_0(p, value):
    """Rounds 1 and 2 of each 4 have none; in the others arm 1, of mean 0.8, is alone."""
    problem = jb.Problem([0.2, 0.8], availability={"table": [[0, 0], [0, 0], [0, 1], [0, 1]]})
    results = jb.simulate(problem, "ucb1", horizon=8, seeds=2, metrics=["p_mean_regret"], p_mean=p)
    assert results.p_mean_regret.values[0, 0, -1] == pytest.approx(value)


@pytest.mark.parametrize(("p", "value"), [(0, 0.8), (-1, 0.8), (1, 0.8 - 0.6), (2, 0.8 - math.sqrt(0.75 * 0.64))])
def test_an_arm_of_mean_0_that_was_played(p, value):
    """The means of the rounds are 0, 0.8, 0.8, 0.8: their mean is 0 for p <= 0. Arms not played do not count."""
    problem = jb.Problem([0.0, 0.8, 0.0])
    counts = np.array([1, 3, 0]).reshape(1, 3, 1, 1)
    got = judge(["p_mean_regret"], counts, np.array([4]), ground_truth_of(problem, 4), None, p_mean=p)
    assert got["p_mean_regret"].item() == pytest.approx(value)
    unplayed = np.array([0, 4, 0]).reshape(1, 3, 1, 1)
    got = judge(["p_mean_regret"], unplayed, np.array([4]), ground_truth_of(problem, 4), None, p_mean=p)
    assert got["p_mean_regret"].item() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("p", [-1, 0, 0.5, 1, 20, 50])
@pytest.mark.parametrize("t", [3, 6, 7, 9, 41])
def test_no_reward_at_all_has_the_mean_0(p, t):
    """Arms of mean 0 alone were played, or none; the shares of the rounds do not sum to 1 exactly."""
    problem = jb.Problem([0.0] * 6 + [0.9])
    played = np.append(np.bincount(np.arange(t) % 6, minlength=6), 0).reshape(1, 7, 1, 1)
    for counts in (played, 0 * played):
        got = judge(["p_mean_regret"], counts, np.array([t]), ground_truth_of(problem, t), None, p_mean=p)
        assert got["p_mean_regret"].item() == 0.9


def best_allocation(means, tau, plays):
    """The largest reward of amounts from tau to 1 that sum to L: the best vertex of this polytope."""
    best = -math.inf
    for free in range(len(means)):
        others = [k for k in range(len(means)) if k != free]
        for ends in itertools.product([0, 1], repeat=len(others)):
            y = {k: 1.0 if end else tau[k] for k, end in zip(others, ends, strict=True)}
            y[free] = plays - sum(y.values())
            if tau[free] - 1e-12 <= y[free] <= 1 + 1e-12:
                best = max(best, sum(means[k] * amount for k, amount in y.items()))
    return best


@pytest.mark.slow
@pytest.mark.parametrize("plays", [1, 2])
def test_price_of_fairness(plays):
    means = [MEANS, [0.5, 0.5, 0.1, 0.2], [0.0, 0.0, 0.0, 0.0]]
    tau = [[0.1, 0.05, 0.3, 0.0], [0.2, 0.2, 0.25, 0.25], [0.1, 0.1, 0.1, 0.1]]
    problem = jb.Problem(means, fractions=tau, plays=plays)
    results = jb.simulate(problem, ["ucb1", "fair-learn"], horizon=5, seeds=2, metrics=["regret", "price_of_fairness"])
    assert results.price_of_fairness.dims == ("instance",)
    for instance in range(2):
        without = sum(sorted(means[instance])[-plays:])
        loss = without - best_allocation(means[instance], tau[instance], plays)
        assert results.price_of_fairness.values[instance] == pytest.approx(loss / without, abs=1e-12)
        other = plain_metrics.price_of_fairness(means[instance], tau[instance], plays)
        assert results.price_of_fairness.values[instance] == pytest.approx(other, abs=1e-12)
    assert results.price_of_fairness.values[2] == 0
    alone = jb.simulate(problem, "ucb1", horizon=5, seeds=2, metrics=["price_of_fairness"])
    np.testing.assert_array_equal(alone.price_of_fairness, results.price_of_fairness)
    assert "price_of_fairness" in alone.attrs["config"]


def test_a_grid_has_a_price_for_each_problem():
    grid = {"problem.fractions": [0.0, 0.1, 0.2]}
    results = jb.simulate(
        {"means": MEANS}, "ucb1", horizon=5, seeds=1, metrics=["regret", "price_of_fairness"], grid=grid
    )
    assert results.price_of_fairness.dims == ("policy", "instance")
    prices = results.price_of_fairness.values[:, 0]
    assert prices[0] == 0
    assert (np.diff(prices) > 0).all()


@pytest.mark.parametrize(
    ("problem", "given", "message"),
    [
        ({"plays": 2}, {"metrics": ["nash_regret"]}, "nash_regret is defined for one play per round"),
        ({"means": [-0.1, 0.5], "reward": "gaussian"}, {"metrics": ["nash_regret"]}, "is defined for means >= 0"),
        ({"means": CHANGING}, {"metrics": ["nash_regret"]}, "not defined where means change"),
        (
            {"means": {"changes": [[1, [0.1, 0.2]]]}},
            {"metrics": ["price_of_fairness"]},
            "not defined where means change",
        ),
        ({}, {"metrics": ["price_of_fairness"]}, "price_of_fairness needs problem.fractions"),
        ({}, {"metrics": ["p_mean_regret"]}, r"simulation\.p_mean is missing: must be given for"),
        ({}, {"metrics": ["p_mean_regret"], "p_mean": "half"}, r"simulation\.p_mean = 'half': must be a number"),
        ({}, {"metrics": ["regret"], "runs": ["price_of_fairness"]}, r"simulation\.runs = 'price_of_fairness'"),
    ],
)
def test_what_is_not_defined_is_refused(problem, given, message):
    with pytest.raises(jb.InputError, match=message):
        jb.simulate(jb.Problem(**{"means": MEANS, **problem}), "ucb1", horizon=5, seeds=1, **given)


@pytest.mark.slow
def test_welfare_is_computed_when_it_is_named():
    results = jb.simulate(jb.Problem(MEANS, fractions=0.1), "ucb1", horizon=5, seeds=1)
    assert not {"nash_regret", "p_mean_regret", "price_of_fairness"} & set(results)
