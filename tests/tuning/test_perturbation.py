"""The estimator "perturbation" against finite differences of the policy itself, on other random numbers."""

import numpy as np
import pytest
from finite_differences import CASES, central_differences, estimated
from small_problem import SMALL
from sweeps import swept

import jaxbandit as jb
from jaxbandit import tuning
from jaxbandit.core.errors import InputError

SPREAD, SEEDS = 0.1, 20_000


@pytest.mark.parametrize("name", swept(CASES, CASES.keys() - {"self-regulated"}))
def test_slopes_are_finite_differences_of_the_policy_itself(name):
    """Within 4 standard errors: one false alarm in 1,000 for all cases. Some slope is larger than its error."""
    case = CASES[name]
    largest = 0.0
    for value in case.values:
        expected, error = central_differences(case, value, SPREAD, SEEDS, key=7)
        found, own_error = estimated(case, value, SPREAD, SEEDS, key=1)
        assert found.shape == np.shape(value)
        assert np.all(np.abs(found - expected) <= 4 * np.hypot(error, own_error))
        largest = max(largest, float(np.max(np.abs(found) / np.maximum(own_error, 1e-30))))
    assert largest > 8


def test_a_number_that_changes_nothing_has_slope_0():
    """The best arm never misses its quota, so its rate never counts, whatever the other rates are."""
    found = tuning.value_and_gradient(
        SMALL, "hard-threshold-ucb", {"penalties": [0.05] * 3}, objective="regret", horizon=64, seeds=64
    )
    assert found.gradient["penalties"][0] == found.gradient_stderr["penalties"][0] == 0.0
    assert found.gradient["penalties"][2] != 0


@pytest.mark.slow
def test_the_value_is_the_mean_of_the_simulated_runs():
    """The same runs as those of `jb.simulate`, whatever is tuned; the metrics are their means."""

    def given(objective):
        return tuning.value_and_gradient(
            SMALL, "hard-threshold-ucb", ["penalties"], objective=objective, horizon=64, seeds=64, key=3
        ).value

    objective = tuning.WeightedSum(weights={"regret": 1.0, "unfairness": -0.5})
    found = tuning.value_and_gradient(
        SMALL, "hard-threshold-ucb", ["penalties"], objective=objective, horizon=64, seeds=64, key=3
    )
    results = jb.simulate(SMALL, "hard-threshold-ucb", horizon=64, seeds=64, key=3, record=1)
    regret, unfairness = (results[f"{name}_final"].values[0, 0] for name in ("regret", "unfairness"))
    runs = regret - 0.5 * unfairness
    np.testing.assert_allclose(found.value, runs.mean(), rtol=1e-6)
    np.testing.assert_allclose(found.value_stderr, runs.std(ddof=1) / 8, rtol=1e-6)
    np.testing.assert_allclose(found.metrics["unfairness"], unfairness.mean(), rtol=1e-6)
    assert found.value == given({"minimize": {"regret": 1.0, "unfairness": -0.5}})
    assert found.value == given(tuning.Goal(objective))
    reward = tuning.value_and_gradient(
        SMALL, "hard-threshold-ucb", ["penalties"], objective="reward", horizon=64, seeds=64, key=3
    )
    np.testing.assert_allclose(reward.value, 0.9 * 64 - regret.mean(), rtol=1e-6)


@pytest.mark.slow
def test_at_the_ends_of_a_range_the_difference_is_one_sided():
    """Rates below 0 and an `alpha` above 1 are never simulated; the derivative is over half the distance."""
    at_0 = {"penalties": [0.0, 0.0, 0.0]}
    found = tuning.value_and_gradient(
        SMALL, "hard-threshold-ucb", at_0, objective="regret", horizon=64, seeds=64, spread=0.2
    )
    runs = [
        jb.simulate(
            SMALL, {"kind": "hard-threshold-ucb", "penalties": [rates]}, horizon=64, seeds=64, record=1
        ).regret_final.values.ravel()
        for rates in ([0.0, 0.0, 0.0], [0.0, 0.0, 0.2])
    ]
    np.testing.assert_allclose(found.gradient["penalties"][2], (runs[1] - runs[0]).mean() / 0.2, rtol=1e-6)


@pytest.mark.slow
def test_instances_are_averaged():
    problem = jb.Problem([[0.9, 0.6, 0.3], [0.2, 0.8, 0.5]], fractions=0.2, penalties=0.3)
    both, *each = (
        tuning.value_and_gradient(world, "hard-threshold-ucb", ["penalties"], horizon=64, seeds=64, objective="regret")
        for world in (problem, *(problem.replace(means=problem.means[:, j].tolist()) for j in (0, 1)))
    )
    assert both.gradient["penalties"].shape == (3,)
    results = jb.simulate(problem, "hard-threshold-ucb", horizon=64, seeds=64, record=1)
    np.testing.assert_allclose(both.value, results.regret_final.values.mean(), rtol=1e-6)
    np.testing.assert_allclose(both.value, np.mean([one.value for one in each]), atol=4 * both.value_stderr)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"spread": 0}, "spread = 0: must be a number from 1e-6 to 1"),
        ({"spread": 1.5}, "spread = 1.5: must be a number from 1e-6 to 1"),
        ({"spread": "wide"}, "spread = 'wide': must be a number from 1e-6 to 1"),
        ({"spread": [0.1]}, "spread = [0.1]: must be a number from 1e-6 to 1"),
        ({"spread": 0.1, "estimator": "relaxed"}, "spread = 0.1: must be given with the estimator 'perturbation' only"),
        ({"temperature": 0.1}, "temperature = 0.1: "),
        ({"width": 0.1}, "width = 0.1: "),
        ({"seeds": 1}, "seeds = 1: must be a whole number >= 2"),
        ({"estimator": "guess"}, "estimator = 'guess': must be one of perturbation, relaxed, score"),
        (
            {"objective": {"minimize": "regret", "over": "worst"}},
            "objective.over = 'worst': must be 'mean' for",
        ),
        (
            {"objective": {"minimize": "regret", "subject_to": {"metric": "unfairness", "at_most": 1.0}}},
            "objective.subject_to = 'unfairness <= 1': must be empty for a gradient",
        ),
        ({"objective": {"minimize": "regert"}}, "objective.minimize = 'regert': must be one of "),
        ({"parameters": []}, "parameters = []: must be a list of names"),
        ({"parameters": ["penalties", "penalties"]}, "parameters = ['penalties', 'penalties']: "),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(changes, message):
    given = {"problem": SMALL, "policy": "hard-threshold-ucb", "parameters": ["penalties"], "horizon": 10, **changes}
    with pytest.raises(InputError) as caught:
        tuning.value_and_gradient(**given)
    assert str(caught.value).startswith(message)
