"""The selection of the result on fresh runs."""

import numpy as np
import pytest
from made_up_landscape import FunctionEvaluator, at_most, tune_function

FINAL = 256


class CountingEvaluator(FunctionEvaluator):
    """Notes the fresh runs of each evaluation."""

    def __call__(self, points, seeds, first=0):
        self.fresh = [*getattr(self, "fresh", []), *([seeds] if first else [])]
        return super().__call__(points, seeds, first)


def one_parameter(noise):
    """A function of one parameter with its minimum, 10, at 0.7."""
    return CountingEvaluator(lambda x: 10 + 4 * float(np.log(x[0] / 0.7) ** 2), noise=noise)


def test_what_the_runs_do_not_decide_is_simulated_with_more():
    evaluator = one_parameter(noise=9.0)
    found = tune_function(evaluator, 2.0, final_seeds=FINAL, low=1e-3)
    assert evaluator.fresh == [FINAL, 4 * FINAL]
    chosen = float(found.values["penalties"])
    assert 10 + 4 * np.log(chosen / 0.7) ** 2 < 10.1  # the values of the sweep are 26 % apart, which costs up to 0.06
    assert found.points[-1].objective_stderr == pytest.approx(9.0 / np.sqrt(4 * FINAL), rel=0.1)


def test_without_noise_the_first_fresh_runs_decide():
    evaluator = one_parameter(noise=0.0)
    tune_function(evaluator, 2.0, final_seeds=FINAL, low=1e-3)
    assert evaluator.fresh == [FINAL]


@pytest.mark.parametrize("noise", [0.0, 9.0])
def test_the_points_keep_their_names_where_the_start_is_the_best_common_value(noise):
    first = tune_function(one_parameter(noise), 2.0, final_seeds=FINAL, low=1e-3)
    common = float(first.points[1].values["penalties"])
    found = tune_function(one_parameter(noise), common, final_seeds=FINAL, low=1e-3)
    assert [point.name for point in found.points] == ["start", "common", "result"]
    assert float(found.points[0].values["penalties"]) == common
    assert found.points[-1].objective <= found.points[0].objective


def alike(x):
    """A metric that depends on the mean of the numbers alone."""
    return 10.0 + (float(x.mean()) - 2.0) ** 2


@pytest.mark.parametrize("limits", [(), (at_most(1.2),)], ids=["free", "limited"])
def test_a_common_value_is_kept_where_numbers_of_their_own_are_not_better(limits):
    evaluator = FunctionEvaluator(alike, {"unfairness": lambda x: float(x.mean())}, noise=0.05)
    found = tune_function(evaluator, [0.4, 0.8, 0.6, 0.5], limits, final_seeds=1024)
    values = found.values["penalties"]
    assert np.ptp(values) < 1e-9
    assert found.points[-1].meets_limits
    np.testing.assert_allclose(values, 1.2 if limits else 2.0, rtol=0.02 if limits else 0.1)


def test_numbers_of_their_own_are_kept_where_they_are_better():
    weights = np.array([1.0, 4.0, 1.0, 1.0])
    evaluator = FunctionEvaluator(
        lambda x: 10.0 + float(((x - weights / 2) ** 2).mean()), {"unfairness": lambda x: float(x.mean())}, noise=0.05
    )
    found = tune_function(evaluator, [0.4, 0.8, 0.6, 0.5], [at_most(0.8)], final_seeds=1024)
    assert found.values["penalties"][1] > 1.5 * found.values["penalties"][0]
    assert found.points[-1].objective < found.points[1].objective
