"""The search and the selection on functions whose constrained optimum is known."""

import numpy as np
import optax
import pytest
from made_up_landscape import FunctionEvaluator, at_least, at_most, quadratic, tune_function

SIZES = [1, 2, 10, 50]
NOISE = 1.0  # of a run; the functions differ by about 1 between the start and the optimum


def optimum_on_plane(problem, weights, bound):
    """The minimum of the quadratic function where weights . x = bound, by Lagrange."""
    inverse = weights / problem.curvature
    x = problem.centre - inverse * (weights @ problem.centre - bound) / (weights @ inverse)
    return problem.value(x)


def optimum_on_ellipsoid(problem, weights, bound):
    """The minimum where weights . x^2 = bound: x = d c / (d + price w), with the price by bisection."""
    low, high = 0.0, 1e6
    for _ in range(200):
        price = (low + high) / 2
        x = problem.curvature * problem.centre / (problem.curvature + price * weights)
        low, high = (price, high) if weights @ x**2 > bound else (low, price)
    return problem.value(x)


def check(tuned, evaluator, best, start, limited, excess):
    """The result is within the limits, and as good as the optimum up to a part of what there was to gain."""
    x = np.ravel(tuned.values["penalties"])
    gain = evaluator.functions["regret"](start) - best
    assert tuned.points[-1].meets_limits
    assert excess(limited(x)) <= 3 * tuned.points[-1].limited_stderr["unfairness"]
    distance = (evaluator.functions["regret"](x) - best) / abs(gain)
    assert distance < (0.03 if evaluator.noise else 0.005)


@pytest.mark.parametrize("noise", [0.0, NOISE])
@pytest.mark.parametrize("size", SIZES)
def test_without_limits_the_minimum_is_found(size, noise):
    problem = quadratic(np.random.default_rng(size), size)
    evaluator = FunctionEvaluator(problem.value, noise=noise)
    start = np.full(size, 3.0)
    tuned = tune_function(evaluator, start)
    left = (problem.value(np.ravel(tuned.values["penalties"])) - 10) / (problem.value(start) - 10)
    assert left < (0.02 if noise else 0.002)


@pytest.mark.parametrize("noise", [0.0, NOISE])
@pytest.mark.parametrize("size", SIZES)
def test_a_linear_limit(size, noise):
    rng = np.random.default_rng(size)
    problem, weights = quadratic(rng, size), rng.uniform(0.5, 1.5, size) / size
    bound = 0.7 * float(weights @ problem.centre)
    evaluator = FunctionEvaluator(problem.value, {"unfairness": lambda x: float(weights @ x)}, noise=noise * 0.3)
    start = np.full(size, 0.1)
    tuned = tune_function(evaluator, start, [at_most(bound)], final_seeds=1024)
    best = optimum_on_plane(problem, weights, bound)
    check(tuned, evaluator, best, start, lambda x: float(weights @ x), lambda value: value - bound)


@pytest.mark.parametrize("size", SIZES)
def test_a_curved_limit(size):
    rng = np.random.default_rng(size + 100)
    problem, weights = quadratic(rng, size), rng.uniform(0.5, 1.5, size) / size
    limited = lambda x: float(weights @ x**2)  # noqa: E731
    bound = 0.5 * limited(problem.centre)
    evaluator = FunctionEvaluator(problem.value, {"unfairness": limited}, noise=0.3 * NOISE)
    start = np.full(size, 0.05)
    tuned = tune_function(evaluator, start, [at_most(bound)], final_seeds=1024)
    check(tuned, evaluator, optimum_on_ellipsoid(problem, weights, bound), start, limited, lambda value: value - bound)


@pytest.mark.parametrize("size", SIZES)
def test_a_limit_that_falls_as_the_objective_rises(size):
    """As with penalty rates: the start is far beyond the limit."""
    weights = np.random.default_rng(size).uniform(0.5, 2.0, size) / size
    objective = lambda x: float(weights @ x)  # noqa: E731
    limited = lambda x: float(np.exp(-x).sum() / size)  # noqa: E731
    bound = 0.3
    evaluator = FunctionEvaluator(objective, {"unfairness": limited}, noise=0.05)
    # price / size exp(-x) = w, so exp(-x) = w size / price where that is below 1, and x = 0 where it is not.
    low, high = 1e-6, 1e6
    for _ in range(200):
        price = np.sqrt(low * high)
        x = np.maximum(0.0, np.log(price / (weights * size)))
        low, high = (price, high) if limited(x) > bound else (low, price)
    start = np.full(size, 0.05)
    tuned = tune_function(evaluator, start, [at_most(bound)], final_seeds=1024)
    found = np.ravel(tuned.values["penalties"])
    error = tuned.points[-1].limited_stderr["unfairness"]
    assert tuned.points[-1].meets_limits
    assert limited(found) <= bound + 3 * error
    assert objective(found) < 1.05 * objective(x) + 3 * price * error


def test_two_limits_with_signs():
    """x0 >= 1.5 and x0 + x1 <= 2, while x1 wants to be 1 and x0 wants to be 0.5."""
    evaluator = FunctionEvaluator(
        lambda x: float((x[0] - 0.5) ** 2 + (x[1] - 1.0) ** 2),
        {"unfairness": lambda x: float(x[0]), "deficit": lambda x: float(x.sum())},
        noise=0.05,
    )
    limits = [at_least(1.5), at_most(2.0, "deficit")]
    tuned = tune_function(evaluator, [1.0, 1.0], limits, final_seeds=1024, seeds=256)
    assert tuned.points[-1].meets_limits
    np.testing.assert_allclose(tuned.values["penalties"], [1.5, 0.5], atol=0.05)


def test_limits_that_exclude_each_other_give_the_nearest_point_and_say_so():
    evaluator = FunctionEvaluator(lambda x: float((x**2).sum()), {"unfairness": lambda x: float(x[0])}, noise=0.05)
    tuned = tune_function(evaluator, [0.5, 0.5], [at_least(1.0), at_most(0.8)])
    assert not tuned.points[-1].meets_limits
    assert 0.7 < tuned.values["penalties"][0] < 1.1
    assert sum("is out of reach" in sentence for sentence in tuned.warnings) >= 1


def test_a_step_function_is_searched_too():
    """No gradient tells where a step is; the sweep and the look around do."""
    evaluator = FunctionEvaluator(
        lambda x: float(np.floor(3 * np.abs(x - 0.7)).sum()), {"unfairness": lambda x: float(x.sum())}
    )
    tuned = tune_function(evaluator, [2.0, 2.0, 2.0], [at_most(3.0)])
    assert evaluator.functions["regret"](tuned.values["penalties"]) == 0


def test_refused_points_are_avoided_counted_and_reported():
    evaluator = FunctionEvaluator(
        lambda x: float(((x - 1.0) ** 2).sum()), noise=0.1, refused=lambda x: bool(x.max() > 1.05)
    )
    tuned = tune_function(evaluator, [0.5, 0.5])
    np.testing.assert_allclose(tuned.values["penalties"], 1.0, atol=0.12)
    assert len(evaluator.refusals) > 5
    assert f"the policy refused {len(evaluator.refusals)} of {evaluator.simulated} points" in tuned.warnings[-1]


def test_the_range_is_kept_and_its_end_is_reported():
    evaluator = FunctionEvaluator(lambda x: float(((x - 2.0) ** 2).sum()))
    tuned = tune_function(evaluator, [0.5, 0.5], low=0.25, high=1.0)
    asked = np.stack(evaluator.asked)
    assert asked.min() >= 0.25
    assert asked.max() <= 1.0
    np.testing.assert_array_equal(tuned.values["penalties"], 1.0)
    assert any("penalties ends at 1, the upper end of its range" in sentence for sentence in tuned.warnings)


def test_the_same_tuning_twice_is_the_same():
    first, second = (
        tune_function(FunctionEvaluator(quadratic(np.random.default_rng(3), 4).value, noise=1.0), np.ones(4))
        for _ in range(2)
    )
    assert first.trajectory.identical(second.trajectory)
    np.testing.assert_array_equal(first.values["penalties"], second.values["penalties"])


@pytest.mark.parametrize("seeds", [16, 64, 256])
def test_the_given_start_is_kept_as_it_is(seeds):
    """Whatever the seeds are, and beside other points that differ in their last bits."""
    start = [0.61, 0.17, 0.3]
    evaluator = FunctionEvaluator(quadratic(np.random.default_rng(3), 3).value, noise=1.0)
    found = tune_function(evaluator, start, steps=2, seeds=seeds, final_seeds=4 * seeds)
    assert found.points[0].values["penalties"].tolist() == start
    np.testing.assert_allclose(found.trajectory.penalties[0], start, rtol=1e-12)


@pytest.mark.parametrize("optimizer", [optax.adam(0.1), optax.chain(optax.clip(1.0), optax.sgd(0.1))])
def test_optimizers_of_optax_take_the_steps(optimizer):
    problem = quadratic(np.random.default_rng(1), 10)
    evaluator, start = FunctionEvaluator(problem.value), np.full(10, 3.0)
    found = tune_function(evaluator, start, optimizer=optimizer)
    assert problem.value(found.values["penalties"]) - 10 < 0.02 * (problem.value(start) - 10)
    assert not found.trajectory.identical(tune_function(evaluator, start).trajectory)
