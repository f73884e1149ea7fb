"""Every warning of a tuning: functions that call for it, and the sentence."""

import warnings

import numpy as np
import pytest
from made_up_landscape import FunctionEvaluator, at_least, at_most, tune_function

import jaxbandit as jb


def quadratic_to(centre):
    return lambda x: float(((x - centre) ** 2).sum())


def sentences(evaluator, start, limits=(), **changes):
    return tune_function(evaluator, start, limits, **changes).warnings


def matching(found, words):
    return [sentence for sentence in found if words in sentence]


def test_nothing_is_said_where_all_is_well():
    """The limit binds and is used up, the search converges inside the range."""
    evaluator = FunctionEvaluator(quadratic_to(1.0), {"unfairness": lambda x: float(x.sum())}, noise=0.05)
    assert sentences(evaluator, [0.2, 0.3], [at_most(1.5)], final_seeds=4096, seeds=256) == ()


@pytest.mark.parametrize("limit", [at_most(50.0), at_least(-50.0)])
def test_a_limit_that_does_not_bind(limit):
    evaluator = FunctionEvaluator(quadratic_to(1.0), {"unfairness": lambda x: float(x.sum())}, noise=0.05)
    (sentence,) = matching(sentences(evaluator, [0.2, 0.3], [limit]), "does not bind")
    assert sentence.startswith(f"the limit {limit} does not bind: unfairness comes to ")


def test_a_limit_that_is_not_used_up():
    """The limited metric jumps: within the limit is only what is far within it."""
    evaluator = FunctionEvaluator(quadratic_to(3.0), {"unfairness": lambda x: 1.0 + 9.0 * (x.max() > 1.0)})
    found = sentences(evaluator, [0.5, 0.5], [at_most(5.0)])
    assert len(matching(found, "the limit unfairness <= 5 is not used up: unfairness comes to 1.00 ± 0")) == 1
    assert "more `steps` or `seeds`" in matching(found, "is not used up")[0]


@pytest.mark.parametrize(("limit", "reached"), [(at_most(-1.0), "0"), (at_least(9.0), "8.00")])
def test_a_limit_out_of_reach(limit, reached):
    evaluator = FunctionEvaluator(quadratic_to(1.0), {"unfairness": lambda x: float(np.minimum(x, 4.0).sum())})
    found = tune_function(evaluator, [0.5, 0.5], [limit])
    assert not found.points[-1].meets_limits
    (sentence,) = matching(found.warnings, "is out of reach")
    assert sentence.startswith(f"the limit {limit} is out of reach: unfairness comes to {reached} ± 0 at the result")
    assert sentence.endswith("relax the limit, or tune more parameters")


def test_a_limit_that_the_mean_meets_and_the_interval_does_not():
    """The least that can be reached is 0.9, with a half interval of 0.3."""
    evaluator = FunctionEvaluator(quadratic_to(0.0), {"unfairness": lambda x: 0.9}, noise=1.2)
    found = tune_function(evaluator, [0.5, 0.5], [at_most(1.0)], final_seeds=64)
    assert found.points[-1].limited["unfairness"] <= 1.0
    (sentence,) = matching(found.warnings, "is met by the mean, but not by the upper end of its 97.5 % interval")
    assert sentence.endswith("raise `final_seeds`")
    assert not found.points[-1].meets_limits


def test_the_start_is_the_result():
    evaluator = FunctionEvaluator(lambda x: float(not np.allclose(x, [0.5, 0.7])))
    found = tune_function(evaluator, [0.5, 0.7])
    assert found.step == 0
    assert found.values["penalties"].tolist() == [0.5, 0.7]
    (sentence,) = matching(found.warnings, "the start is the result")
    assert f"nor {len(found.trajectory.step) - 2} steps found values with a better objective" in sentence


@pytest.mark.parametrize("steps", [1, 3])
def test_a_search_that_has_not_converged(steps):
    found = tune_function(FunctionEvaluator(quadratic_to(1.0), noise=0.5), [5.0, 5.0, 5.0], steps=steps)
    assert not found.converged
    (sentence,) = matching(found.warnings, "has not converged")
    assert sentence.startswith(f"the search has not converged in {steps} steps: ")


def test_a_flat_objective():
    evaluator = FunctionEvaluator(lambda x: 3.0, {"unfairness": lambda x: 1.0}, noise=0.5)
    found = tune_function(evaluator, [0.5, 0.7], [at_most(2.0)])
    (sentence,) = matching(found.warnings, "did not depend on penalties in a sweep")
    assert sentence.startswith("regret (reward) and unfairness did not depend on penalties")
    assert found.values["penalties"].tolist() == [0.5, 0.7]
    assert not matching(sentences(FunctionEvaluator(quadratic_to(1.0), noise=0.5), [0.5, 0.7]), "did not depend")


def test_numbers_per_arm_that_matter_where_common_values_do_not():
    evaluator = FunctionEvaluator(lambda x: float((x[0] - x[1] - 0.4) ** 2), noise=0.0)
    found = tune_function(evaluator, [0.7, 0.7], final_seeds=4096, seeds=256)
    assert abs(np.diff(found.values["penalties"])[0] + 0.4) < 0.1
    assert not matching(found.warnings, "did not depend")


def test_the_lower_end_of_a_range():
    found = tune_function(FunctionEvaluator(lambda x: float(x.sum()), noise=0.1), [0.5, 0.7])
    assert found.values["penalties"].tolist() == [0.0, 0.0]
    assert matching(found.warnings, "penalties ends at 0, the lower end of its range")


def test_some_numbers_at_the_lower_end_are_not_worth_a_word():
    found = tune_function(FunctionEvaluator(lambda x: float(x[0] + (x[1] - 1.0) ** 2)), [0.5, 0.7])
    assert found.values["penalties"][0] == 0.0
    assert not matching(found.warnings, "the lower end")


def test_the_upper_end_of_a_range():
    found = tune_function(FunctionEvaluator(lambda x: float(-x.sum())), [0.5, 0.7], high=2.0)
    assert matching(found.warnings, "penalties ends at 2, the upper end of its range")


def test_the_end_of_the_sweep():
    found = tune_function(FunctionEvaluator(lambda x: float((np.maximum(1e-9, 1 / (1e-9 + x))).sum())), [0.5, 0.7])
    (sentence,) = matching(found.warnings, "is the largest of the sweep")
    assert sentence.endswith("better values may lie beyond it; start from a larger one")


def test_values_that_the_policy_refuses():
    evaluator = FunctionEvaluator(quadratic_to(1.0), noise=0.1, refused=lambda x: bool(x.max() > 1.2))
    found = tune_function(evaluator, [0.5, 0.5])
    (sentence,) = matching(found.warnings, "the policy refused ")
    assert sentence.endswith("which counted as out of range; the first refusal: refused")


OLD_README = jb.Problem(means=[0.9, 0.8, 0.7], fractions=0.05, penalties=0.45)


@pytest.mark.slow
def test_the_budget_of_the_old_readme_does_not_bind():
    """Nothing is missed at any rate: the tuner says that the budget does not bind, and that the rates do not matter."""
    with pytest.warns(UserWarning, match="does not bind") as caught:
        found = jb.tuning.tune(
            OLD_README, "hard-threshold-ucb", ["penalties"],
            objective={"kind": "budget", "most": 50.0}, horizon=1000, seeds=256, final_seeds=256, steps=1,
        )  # fmt: skip
    said = [str(warning.message) for warning in caught]
    assert said == list(found.warnings)
    assert all(warning.filename == __file__ for warning in caught)  # the line of the call
    assert matching(said, "the limit unfairness <= 50 does not bind: unfairness comes to 0 ± 0 at the result")
    assert matching(said, "did not depend on penalties in a sweep of common values")
    assert matching(said, "the start is the result")
    assert repr(found).count("\nwarning: ") == len(said)


@pytest.mark.slow
def test_warnings_may_be_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="did not depend on penalties"):
            jb.tuning.tune(
                OLD_README, "hard-threshold-ucb", ["penalties"],
                objective={"kind": "budget", "most": 50.0}, horizon=1000, seeds=256, final_seeds=256, steps=1,
            )  # fmt: skip
