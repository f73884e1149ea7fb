"""The selection of the result on fresh runs."""

import numpy as np
import pytest
from made_up_landscape import FunctionEvaluator, tune_function

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
