"""The numerical parts of the search: prices, slopes, coordinates, sweeps and the choice of the best point."""

import itertools

import numpy as np
import pytest

from jaxbandit.tuning.goal import Goal, Limit
from jaxbandit.tuning.objective import MetricObjective
from jaxbandit.tuning.parameters import Tunable
from jaxbandit.tuning.search.coordinates import Coordinates
from jaxbandit.tuning.search.evaluation import Evaluation, Scores
from jaxbandit.tuning.search.linear_model import count_directions, directions, slopes_of
from jaxbandit.tuning.search.steps import prices
from jaxbandit.tuning.search.sweep import refinement, sweep, sweep_values

GOAL = Goal(MetricObjective(metric="regret"), (Limit("unfairness", 2.0),))


def tunable(start=0.5, low=0.0, high=None, name="penalties"):
    return Tunable(name, (name,), np.asarray(start, float), low, high)


def scores(values, excess=None, runs=4):
    """Scores without noise."""
    values = np.asarray(values, float)
    excess = np.zeros((len(values), 0)) if excess is None else np.asarray(excess, float)
    return Scores(values, excess, np.repeat(values[:, None], runs, 1), np.repeat(excess[:, :, None], runs, 2))


# Prices.


def brute_force_prices(slope, slopes):
    """The least gradient over all sets of limits whose unconstrained prices are not negative."""
    best = slope @ slope
    for size in range(1, len(slopes) + 1):
        for chosen in itertools.combinations(range(len(slopes)), size):
            own = slopes[list(chosen)]
            found = np.linalg.lstsq(own.T, -slope, rcond=None)[0]
            if np.all(found >= -1e-12):
                best = min(best, float(((slope + own.T @ found) ** 2).sum()))
    return best


@pytest.mark.parametrize(("size", "limits"), [(1, 0), (1, 1), (1, 4), (3, 1), (3, 2), (20, 2), (20, 5)])
def test_prices_leave_the_smallest_gradient(size, limits):
    rng = np.random.default_rng([size, limits])
    for _ in range(20):
        slope, slopes = rng.normal(size=size), rng.normal(size=(limits, size))
        found = prices(slope, slopes, np.zeros(limits))
        assert found.shape == (limits,)
        assert np.all(found >= 0)
        left = slope + slopes.T @ found
        np.testing.assert_allclose(left @ left, brute_force_prices(slope, slopes), rtol=1e-3, atol=1e-6)


def test_a_limit_that_nothing_changes_has_no_price():
    np.testing.assert_array_equal(prices(np.ones(3), np.zeros((1, 3)), np.zeros(1)), [0.0])


def test_the_price_is_what_a_unit_of_the_limit_costs():
    """Minimise x^2 where x >= 1: at x = 1 the objective falls by 2 per unit."""
    np.testing.assert_allclose(prices(np.array([2.0]), np.array([[-1.0]]), np.zeros(1)), [2.0])


@pytest.mark.parametrize("used_up", [0, 1])
def test_of_two_limits_that_explain_a_gradient_the_one_that_is_used_up_has_the_price(used_up):
    """With one parameter each of several limits explains the whole gradient."""
    slack = np.full(2, 0.5)
    slack[used_up] = 0.0
    slopes = np.array([[-1.0], [-3.0]])
    found = prices(np.array([2.0]), slopes, slack)
    np.testing.assert_allclose(found[used_up] * -slopes[used_up], 2.0, rtol=1e-6)
    assert found[1 - used_up] < 1e-6


# Slopes.


@pytest.mark.parametrize("outputs", [(), (0,), (1,), (3,)])
@pytest.mark.parametrize("size", [1, 2, 7, 12])
def test_slopes_of_a_linear_function_are_exact(size, outputs):
    rng = np.random.default_rng(size)
    moves, slope = rng.normal(size=(max(size, 8), size)), rng.normal(size=(size, *outputs))
    differences = np.tensordot(moves, slope, 1)
    found = slopes_of(moves, differences)
    assert found.shape == (size, *outputs)
    np.testing.assert_allclose(found, slope, atol=1e-12)


def test_slopes_leave_refused_points_out():
    moves = np.random.default_rng(0).normal(size=(8, 2))
    differences = moves @ np.array([1.0, -2.0])
    differences[3] = np.nan
    np.testing.assert_allclose(slopes_of(moves, differences), [1.0, -2.0])


@pytest.mark.parametrize("size", [1, 2, 5, 8, 30, 150])
def test_directions_are_axes_of_random_orientations(size):
    along = directions(size, np.random.default_rng(1))
    assert along.shape == (count_directions(size), size)
    np.testing.assert_allclose((along**2).mean(axis=1), 1.0)
    full = along[: min(size, len(along))]
    np.testing.assert_allclose(full @ full.T / size, np.eye(len(full)), atol=1e-9)


# Coordinates.

RANGES = {
    "half": tunable([0.0, 0.3, 5.0]),
    "free": tunable([-2.0, 0.0, 2.0], low=None),
    "interval": tunable([0.2, 0.5, 1.0], low=0.2, high=1.0),
    "number": tunable(0.7, low=-1.0, high=2.0),
}


@pytest.mark.parametrize("case", RANGES)
@pytest.mark.parametrize("scale", [1e-3, 0.4, 30.0])
def test_coordinates_are_undone(case, scale):
    one = RANGES[case]
    space = Coordinates([one], {one.name: scale})
    y = space.of({one.name: one.start})
    found = space.values(y)[one.name]
    assert found.shape == one.start.shape
    np.testing.assert_allclose(found, one.start, rtol=1e-12, atol=1e-12)


def test_coordinate_1_is_one_scale_from_the_lower_end():
    one = tunable(0.7, low=-1.0)
    space = Coordinates([one], {one.name: 3.0})
    np.testing.assert_allclose([space.values(np.array([y]))[one.name] for y in (0.0, 1.0)], [-1.0, 2.0])


@pytest.mark.parametrize("case", RANGES)
def test_points_are_moved_into_the_range(case):
    one = RANGES[case]
    space = Coordinates([one], {one.name: 0.4})
    for y in (-100.0, -0.5, 0.0, 0.5, 100.0):
        inside = space.inside(np.full(space.size, y))
        values = space.values(inside)[one.name]
        assert np.all(np.isfinite(values))
        assert np.all(values >= (-np.inf if one.low is None else one.low))
        assert np.all(values <= (np.inf if one.high is None else one.high))
        np.testing.assert_allclose(space.inside(inside), inside)
    if one.high is not None:
        np.testing.assert_allclose(space.values(space.inside(np.full(space.size, 100.0)))[one.name], one.high)


def test_derivatives_are_those_of_the_values():
    tunables = [tunable([0.3, 5.0]), tunable(0.4, low=None, name="eta")]
    space, h = Coordinates(tunables, {"penalties": 0.4, "eta": 2.0}), 1e-6
    y = np.array([0.3, -1.2 + 2.4, -0.7])

    def flat(y):
        return np.concatenate([np.ravel(value) for value in space.values(y).values()])

    slopes = [(flat(y + h * axis) - flat(y - h * axis))[n] / (2 * h) for n, axis in enumerate(np.eye(3))]
    np.testing.assert_allclose(space.derivatives(y), slopes, rtol=1e-6)


# The sweep.


@pytest.mark.parametrize(
    ("one", "least", "most"),
    [
        (tunable([0.4, 0.5, 0.6]), 0.0, 50.0),
        (tunable(0.0), 0.0, 100.0),
        (tunable(3.0, low=1.0), 1.0, 201.0),
        (tunable(0.5, low=0.0, high=1.0), 0.0, 1.0),
        (tunable(0.0, low=0.0, high=1.0), 0.0, 1.0),
        (tunable(-2.0, low=-4.0, high=4.0), -4.0, 4.0),
    ],
)
def test_a_sweep_covers_the_range(one, least, most):
    values = sweep_values(one)
    assert len(values) == 41
    assert np.all(np.diff(values) > 0)
    np.testing.assert_allclose([values[0], values[-1]], [least, most])


def test_refinements_lie_between_the_neighbours_of_the_best_value():
    values = np.array([0.0, 1.0, 2.0, 4.0])
    for best, ends in ((0, [0.0, 1.0]), (1, [0.0, 2.0]), (3, [2.0, 4.0])):
        found = refinement(values, best)
        np.testing.assert_allclose(found[[0, -1]], ends)
        assert len(found) == 9


def test_the_sweep_finds_the_best_common_values():
    """Two parameters one after the other: the first falls to the limit, the second to its minimum."""
    tunables = [tunable([1.0, 1.0]), tunable(1.0, name="exploration"), tunable(2.0, name="log_offset")]

    def evaluate(points, seeds):
        penalty = np.array([point["penalties"].mean() for point in points])
        bonus = np.array([float(point["exploration"]) for point in points])
        return scores(penalty + (bonus - 0.37) ** 2, (3.0 - penalty - 2.0)[:, None], seeds)

    found = sweep(evaluate, GOAL, tunables, 8)
    np.testing.assert_allclose(found.best["penalties"], 1.0, rtol=0.05)
    assert found.best["penalties"][0] >= 1.0
    np.testing.assert_allclose(found.best["exploration"], 0.37, rtol=0.05)
    assert list(found.flat) == ["log_offset"]
    assert found.at_end == ()
    assert found.ranges[0] >= 99
    assert set(found.scales) == {"penalties", "exploration", "log_offset"}


def test_a_sweep_from_a_start_that_is_far_too_large_goes_down_to_the_best_value():
    """All values of its first pass but 0 are too large, so that 0 comes out best there."""

    def evaluate(points, seeds):
        bonus = np.array([float(point["exploration"]) for point in points])
        return scores(np.abs(np.log(bonus + 1e-9) - np.log(0.37)), np.full((len(points), 1), -1.0), seeds)

    for start in (2e3, 2e5, 2e7):
        found = sweep(evaluate, GOAL, [tunable(start, name="exploration")], 8)
        np.testing.assert_allclose(found.best["exploration"], 0.37, rtol=0.05)


def test_the_sweep_says_that_the_best_value_is_the_largest():
    found = sweep(
        lambda points, seeds: scores([-float(p["penalties"]) for p in points], np.full((len(points), 1), -1.0)),
        GOAL, [tunable(1.0)], 8,
    )  # fmt: skip
    assert found.at_end == ("penalties",)


# The best point.


@pytest.mark.parametrize(
    ("values", "excess", "best"),
    [
        ([3.0, 1.0, 2.0], None, 1),
        ([3.0, 1.0, 2.0], [[-1.0], [0.5], [0.0]], 2),  # 1 is beyond the limit
        ([3.0, 1.0, 2.0], [[0.3], [0.2], [0.1]], 2),  # none is within: the nearest
        ([3.0, 1.0, 2.0], [[-1.0, 0.1], [0.2, -3.0], [-1.0, -1.0]], 2),
        ([np.nan, 1.0, 2.0], None, 1),
        ([np.nan, 1.0, 2.0], [[np.nan], [1.0], [2.0]], 1),
        ([0.0, 1.0, 2.0], [[np.nan], [-1.0], [-1.0]], 1),  # a limited metric that is not a number
        ([0.0, 1.0, 2.0], [[np.nan], [3.0], [1.0]], 2),
        ([1.0, 1.0], None, 0),
    ],
)
def test_the_best_point(values, excess, best):
    assert scores(values, excess).best() == best


def test_the_best_point_with_confidence():
    """A point whose mean is within the limit, but not by two standard errors, is left out."""
    noise = np.tile([-1.0, 1.0], 50)
    excess = np.array([-0.1, -0.3, -0.4])
    made = Scores(np.array([1.0, 2.0, 3.0]), excess[:, None], np.ones((3, 100)), (excess[:, None] + noise)[:, None])
    assert made.best() == 0
    np.testing.assert_allclose(made.excess_stderr, np.full((3, 1), noise.std(ddof=1) / 10))
    assert made.best(1.96) == 1


@pytest.mark.parametrize("over", ["mean", "worst"])
def test_scores_over_instances(over):
    rng = np.random.default_rng(0)
    objective, measured = rng.normal(size=(5, 3, 6)), rng.normal(size=(5, 3, 6))
    limits = (Limit("unfairness", 0.1), Limit("unfairness", -0.2, at_most=False))
    made = Scores.of(Evaluation(objective, {"unfairness": measured}), Goal(GOAL.objective, limits, over))
    choose = np.mean if over == "mean" else np.max
    np.testing.assert_allclose(made.value, choose(objective.mean(axis=2), axis=1))
    np.testing.assert_allclose(made.excess[:, 0], choose(measured.mean(axis=2), axis=1) - 0.1)
    np.testing.assert_allclose(made.excess[:, 1], choose(-0.2 - measured.mean(axis=2), axis=1))
    np.testing.assert_allclose(made.value_runs.mean(axis=1), made.value)
    np.testing.assert_allclose(made.excess_runs.mean(axis=2), made.excess)
