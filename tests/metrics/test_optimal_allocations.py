"""Optimal allocations against linear programs, and by hand."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from exact_metrics import quota_at
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import judge
from scipy.optimize import linprog

import jaxbandit as jb
from jaxbandit.environment.ground_truth import ground_truth_of
from jaxbandit.metrics.optimal_allocations import (
    fair_allocation,
    fair_counts,
    optimal_loss,
    optimal_utility,
    penalized_allocation,
)

hundredths = st.integers(0, 100).map(lambda n: n / 100)  # two decimals, so that gaps tie with penalties and arms tie


@st.composite
def instances(draw):
    """Means, fractions that sum to at most 1 and often to 1, and penalties; arrays `[K, J]`."""
    shape = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    size = shape[0] * shape[1]
    mu, A = (np.reshape(draw(st.lists(hundredths, min_size=size, max_size=size)), shape) for _ in range(2))
    weights = np.reshape(draw(st.lists(st.integers(0, 60), min_size=size, max_size=size)), shape)
    return mu, weights / np.maximum(weights.sum(axis=0), 100), A


def loss(y, mu, tau, A):
    """The loss per round of the shares y (penalties paper, eq. 6)."""
    return float(np.sum((mu.max() - mu) * y + A * np.maximum(tau - y, 0)))


@given(instances())
@settings(deadline=None, max_examples=100)
def test_the_penalized_allocation_solves_its_linear_program(instance):
    """Penalties paper, eq. 6."""
    mu, tau, A = instance
    K = len(mu)
    y = penalized_allocation(mu, tau, A)
    rate = optimal_loss(mu.max(axis=0) - mu, tau, A)
    np.testing.assert_allclose(y.sum(axis=0), 1, atol=1e-15 * K)
    assert y.min() >= -1e-15 * K
    for j in range(mu.shape[1]):
        # Variables y and z >= (tau - y)+; minimise gap y + A z over the simplex.
        cost = np.concatenate([mu[:, j].max() - mu[:, j], A[:, j]])
        once = np.concatenate([np.ones(K), np.zeros(K)])[None]
        solved = linprog(cost, A_ub=-np.hstack([np.eye(K), np.eye(K)]), b_ub=-tau[:, j], A_eq=once, b_eq=[1])
        assert solved.status == 0
        assert loss(y[:, j], mu[:, j], tau[:, j], A[:, j]) == pytest.approx(solved.fun, abs=1e-9)
        assert rate[j] == pytest.approx(solved.fun, abs=1e-9)


@given(instances())
@settings(deadline=None, max_examples=100)
def test_the_fair_allocation_earns_the_most_of_all_fair_allocations(instance):
    mu, tau, _ = instance
    K = len(mu)
    y = fair_allocation(mu, tau)
    np.testing.assert_allclose(y.sum(axis=0), 1, atol=1e-15 * K)
    assert np.all(y >= tau - 1e-15 * K)
    for j in range(mu.shape[1]):
        best = int(np.argmax(mu[:, j]))
        others = np.arange(K) != best
        np.testing.assert_array_equal(y[others, j], tau[others, j])
        solved = linprog(-mu[:, j], A_eq=np.ones((1, K)), b_eq=[1], bounds=[(x - 1e-15, None) for x in tau[:, j]])
        assert solved.status == 0
        assert mu[:, j] @ y[:, j] == pytest.approx(-solved.fun, abs=1e-9)


@st.composite
def several_plays(draw):
    """Means `[K]`, decimal fractions that sum to at most L, often to L, and L."""
    arms = draw(st.integers(1, 6))
    plays = draw(st.integers(1, arms))
    mu = np.array(draw(st.lists(hundredths, min_size=arms, max_size=arms)))
    weights = draw(st.lists(st.integers(0, 100), min_size=arms, max_size=arms))
    tau = [Fraction(w, max(100, math.ceil(sum(weights) / plays))) for w in weights]
    return mu, tau, plays


@given(several_plays(), st.integers(1, 10**6))
@settings(deadline=None, max_examples=150)
def test_fair_allocations_of_several_plays_solve_the_program_over_sets_of_arms(instance, rounds):
    """Plays paper, eq. 3 to 6, over all sets of L arms: `fair_allocation` and, in whole rounds, `fair_counts`, whose
    optimum (eq. 1) is at least as large."""
    mu, tau, plays = instance
    arms = len(mu)
    sets = list(itertools.combinations(range(arms), plays))
    holds = np.array([[k in chosen for chosen in sets] for k in range(arms)], float)
    lower = np.array([float(x) for x in tau])
    solved = linprog(-mu @ holds, A_ub=-holds, b_ub=1e-12 - lower, A_eq=np.ones((1, len(sets))), b_eq=[1])
    assert solved.status == 0
    y = fair_allocation(mu[:, None], lower[:, None], plays)[:, 0]
    assert y.sum() == pytest.approx(plays, abs=1e-13)
    assert np.all(y >= lower - 1e-14)
    assert np.all(y <= 1 + 1e-14)
    assert mu @ y == pytest.approx(-solved.fun, abs=1e-9)

    counts = fair_counts(mu[:, None], np.array(tau, object)[:, None], plays, rounds)[:, 0]
    assert counts.dtype == np.int64
    assert counts.sum() == plays * rounds
    assert all(math.floor(x * rounds) <= n <= rounds for x, n in zip(tau, counts.tolist(), strict=True))
    assert mu @ counts >= mu @ y * rounds - 1e-7 * rounds


def test_the_allocation_of_three_plays_by_hand():
    """K = 8, L = 3, tau = 0.1: arms 0 and 1 are always played, arm 2 gets what the others leave of the third play."""
    mu, tau = np.array([[0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]]).T, np.full((8, 1), 0.1)
    np.testing.assert_allclose(fair_allocation(mu, tau, 3).ravel(), [1, 1, 0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    exact_tau = np.full((8, 1), Fraction(1, 10), object)
    assert fair_counts(mu, exact_tau, 3, 99).ravel().tolist() == [99, 99, 54, 9, 9, 9, 9, 9]


def test_the_c_regret_of_the_optimal_counts_is_0():
    problem = jb.Problem([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2], plays=3, fractions=0.1)
    rounds = np.array([99, 1000])
    best = [fair_counts(problem.means, problem.fractions, 3, int(t)) for t in rounds]
    values = judge(
        ["c_regret"],
        np.array(best)[..., None],
        rounds,
        ground_truth_of(problem, int(rounds[-1])),
        quota_at(problem.fractions, rounds),
    )
    np.testing.assert_allclose(values["c_regret"], 0, atol=1e-12)


@given(instances(), st.lists(st.integers(1, 10**6), min_size=1, max_size=3))
@settings(deadline=None, max_examples=30)
def test_the_optimal_loss_is_linear_in_the_rounds(instance, rounds):
    mu, tau, A = instance
    t = np.array(rounds, float)
    gaps = mu.max(axis=0) - mu
    least = optimal_loss(gaps, tau * t[:, None, None], A)
    np.testing.assert_allclose(least, t[:, None] * optimal_loss(gaps, tau, A), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("one", [0, 1])
def test_allocations_accept_one_column_for_all_instances(one):
    mu = np.array([[0.9, 0.2], [0.5, 0.8], [0.1, 0.7]])
    tau, A = (
        (np.array([[0.1], [0.3], [0.2]]), np.full((3, 2), 0.3)) if one else (np.full((3, 2), 0.2), np.full((3, 1), 0.3))
    )
    full = np.broadcast_to(tau, mu.shape), np.broadcast_to(A, mu.shape)
    np.testing.assert_array_equal(penalized_allocation(mu, tau, A), penalized_allocation(mu, *full))
    np.testing.assert_array_equal(fair_allocation(mu, tau), fair_allocation(mu, full[0]))


def test_the_penalized_allocation_by_hand():
    """Gaps 0, 0.4 and 0.8 with A = 0.5: arm 1 is critical and gets its fraction, arm 2 is not and gets nothing."""
    mu, tau = np.array([[0.9], [0.5], [0.1]]), np.array([[0.05], [0.2], [0.3]])
    np.testing.assert_allclose(penalized_allocation(mu, tau, np.full((3, 1), 0.5)).ravel(), [0.8, 0.2, 0])
    np.testing.assert_allclose(fair_allocation(mu, tau).ravel(), [0.5, 0.2, 0.3])
    equal = np.array([[0.75], [0.25]]), np.array([[0.05], [0.2]]), np.full((2, 1), 0.5)  # gap 0.5 = A is critical
    np.testing.assert_allclose(penalized_allocation(*equal).ravel(), [0.8, 0.2])


def test_the_optimal_utility_by_hand():
    """Arm 0 gets 29 of 100 rounds, although 0.29 * 100 < 29 in float64; the costlier of two best arms comes first."""
    utility = optimal_utility([[0.5], [1.0]], [[0.29], [0.71]], [[0.6], [0.6]], [100])
    assert utility.item() == pytest.approx(0.5 * 29 + 71)
    best = optimal_utility([[1.0], [1.0]], [[0.35], [0.45]], [[0.6], [0.2]], [9])  # 3.15 and 4.05 rounds; 2 are left
    assert best.item() == pytest.approx(9)
    one_left = optimal_utility([[1.0], [1.0]], [[0.5], [0.5]], [[0.2], [0.6]], [9])  # 4.5 rounds each; arm 1 gets 5
    assert one_left.item() == pytest.approx(9 - 0.2 * 0.5)


def test_the_lowest_of_several_best_arms_gets_what_is_left():
    mu, tau = np.array([[0.3], [0.7], [0.7]]), np.array([[0.1], [0.1], [0.2]])
    np.testing.assert_allclose(fair_allocation(mu, tau).ravel(), [0.1, 0.7, 0.2])
