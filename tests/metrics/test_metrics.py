"""Metrics and optimal allocations against exact fractions and linear programs, both written from the SPEC alone."""

import functools
import itertools
import math
import operator
from fractions import Fraction

import numpy as np
import pytest
from harness import trajectory
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import judge
from scipy.optimize import linprog

import jaxbandit as jb
from jaxbandit.core.rationals import Quota, QuotaTable
from jaxbandit.environment.ground_truth import columns, ground_truth_of
from jaxbandit.metrics.definitions import METRICS, chosen, defined
from jaxbandit.metrics.optimal_allocations import fair_allocation, fair_counts, penalized_allocation, penalized_loss

ALL = ["regret", "penalized_regret", "r_regret", "c_regret", "unfairness", "max_deficit"]


def exact(counts, t, mu, tau, A, plays):
    """SPEC section 4 for one run at round t: every metric by name, a Fraction."""
    arms = range(len(mu))
    gap = [max(mu) - m for m in mu]
    behind = [tau[k] * t - counts[k] for k in arms]
    missed = [max(d, Fraction(0)) for d in behind]
    order = sorted(arms, key=lambda k: (-mu[k], k))
    optimum = sum(min(gap[k], A[k]) * tau[k] * t for k in arms)
    return {
        "regret": t * sum(sorted(mu)[-plays:]) - sum(mu[k] * counts[k] for k in arms),
        "penalized_regret": sum(gap[k] * counts[k] + A[k] * missed[k] for k in arms) - optimum,
        "r_regret": sum(gap[k] * (counts[k] - tau[k] * t) for k in arms),
        "c_regret": sum((mu[i] - mu[order[plays - 1]]) * (t - counts[i]) for i in order[:plays])
        + sum((mu[order[plays - 1]] - mu[j]) * (counts[j] - math.floor(tau[j] * t)) for j in order[plays:]),
        "unfairness": sum(missed),
        "max_deficit": max(behind),
    }


def exact_of(problem, instance, counts, t):
    """`exact` with the numbers of one instance of a problem, as they are: floats are ratios too."""
    j = instance if problem.instances > 1 else 0
    mu, tau, A = (
        [Fraction(x) for x in np.broadcast_to(values, problem.means.shape)[:, j]]
        for values in (problem.means, problem.fractions, problem.penalties)
    )
    return exact([int(n) for n in counts], int(t), mu, tau, A, problem.plays)


def test_every_metric_has_an_exact_reference():
    assert set(ALL) <= set(METRICS)
    elsewhere = {"merit", "opportunity"}  # in test_merit.py and test_transfer.py
    counted = {name for name, metric in METRICS.items() if not elsewhere & set(metric.needs)}
    assert counted == set(exact([0], 1, [Fraction(1)], [Fraction(0)], [Fraction(0)], 1))


# Counts to metrics, over random counts

rates = st.floats(0, 3, allow_subnormal=False).map(lambda x: round(x, 3))
written = st.one_of(
    st.integers(0, 249).map(lambda n: n / 1000), st.floats(0.001, 0.249), st.fractions(0, Fraction(1, 4))
)


@st.composite
def problems(draw):
    """Problems of 4 arms; what fairness asks is one number, one an arm or one row an instance."""
    arms, instances = 4, draw(st.integers(1, 3))

    def spread(numbers):
        row = st.lists(numbers, min_size=arms, max_size=arms)
        return draw(st.one_of(numbers, row, st.lists(row, min_size=instances, max_size=instances)))

    mu = st.lists(st.floats(-2, 2).map(lambda x: round(x, 3)), min_size=arms, max_size=arms)
    means = draw(st.lists(mu, min_size=instances, max_size=instances))
    plays = draw(st.integers(1, 2))
    return jb.Problem(means, plays=plays, reward="gaussian", fractions=spread(written), penalties=spread(rates))


def random_counts(rng, problem, rounds, seeds):
    """Counts `[R, K, J, S]`: anything up to t, or within a round of what is owed."""
    shape = (len(rounds), problem.arms, problem.instances, seeds)
    t = rounds.reshape(-1, 1, 1, 1)
    tau = np.broadcast_to(problem.fractions, problem.means.shape)
    owed = np.array([[[tau_kj * int(s) // 1 for tau_kj in row] for row in tau] for s in rounds], np.int64)[..., None]
    near = np.maximum(owed + rng.integers(-1, 3, shape), 0)
    return np.where(rng.random(shape) < 0.5, near, (t * rng.random(shape)).astype(np.int64)).astype(np.int32)


def quota_at(fractions, rounds):
    rows = [QuotaTable(fractions, 1).rows(int(t), 1) for t in rounds]
    return Quota(*(np.concatenate([getattr(row, name) for row in rows]) for name in ("whole", "rest", "rank")))


@given(problems(), st.lists(st.integers(1, 2**24), min_size=1, max_size=3, unique=True), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=80)
def test_metrics_are_what_the_spec_says(problem, rounds, number):
    rounds, seeds = np.resize(np.sort(np.array(rounds)), 3), 2
    rows = np.resize(np.roll(np.arange(problem.instances), number), 3)  # a block may begin with any, and repeat some
    counts = random_counts(np.random.default_rng(number), problem, rounds, seeds)[:, :, rows]
    quota = quota_at(columns(problem.fractions, rows), rounds)
    values = judge(ALL, counts, rounds, ground_truth_of(problem).at(rows), quota)
    size = float(np.abs(problem.means).max() + problem.penalties.max() + 1)
    for name, value in values.items():
        assert value.shape == (3, 3, seeds)
        assert value.dtype == np.float64
        for (r, j, i), found in np.ndenumerate(value):
            expected = exact_of(problem, rows[j], counts[r, :, j, i], rounds[r])[name]
            largest = size * float(max(counts[r].max(), rounds[r]))
            assert float(found) == pytest.approx(float(expected), rel=0, abs=1e-14 * largest), name
            if name in ("unfairness", "max_deficit"):
                assert np.sign(found) == (expected > 0) - (expected < 0), name


@pytest.mark.parametrize("shape", [(3, 16), (48, 1)], ids=["seeds", "runs"])
def test_every_operation_is_rounded_by_itself(shape):
    """In arm order, as NumPy does one operation after the other: a product fused with a sum would differ in the end."""
    rng, rounds, arms = np.random.default_rng(1), np.array([901, 4000]), 5
    means = rng.uniform(0, 1, (shape[0], arms))
    problem = jb.Problem(means, fractions=[0.013 * k for k in range(arms)], penalties=rng.uniform(0, 1, arms))
    counts = rng.integers(0, 900, (2, arms, *shape)).astype(np.int32)
    quota = quota_at(problem.fractions, rounds)
    values = judge(ALL, counts, rounds, ground_truth_of(problem), quota)
    n, t, mu = counts.astype(float), rounds.astype(float)[:, None, None], means.T[:, :, None]
    whole, rest = (np.asarray(part, float)[..., None] for part in (quota.whole, quota.rest))
    gap, price, missed = mu.max(0) - mu, problem.penalties[..., None], (whole - n) + rest

    def added(terms):
        return functools.reduce(operator.add, terms)

    lost = added([gap[k] * n[:, k] for k in range(arms)])
    paid = added([price[k] * np.maximum(missed[:, k], 0) for k in range(arms)])
    least = added([np.minimum(gap, price)[k] * (whole + rest)[:, k] for k in range(arms)])
    last = mu.max(0)
    expected = {
        "regret": t * last - added([mu[k] * n[:, k] for k in range(arms)]),
        "penalized_regret": (lost + paid) - least,
        "r_regret": added([-gap[k] * missed[:, k] for k in range(arms)]),
        "c_regret": added(
            [np.maximum(mu[k] - last, 0) * (t - n[:, k]) + (last - mu[k]) * (n - whole)[:, k] for k in range(arms)]
        ),
        "unfairness": added([np.maximum(missed[:, k], 0) for k in range(arms)]),
        "max_deficit": missed.max(axis=1),
    }
    for name in ALL:
        np.testing.assert_array_equal(values[name], expected[name], err_msg=name)


def test_metrics_of_many_arms_are_what_the_spec_says():
    """More than a program is written out for."""
    rng, rounds = np.random.default_rng(0), np.array([700])
    prices = rng.uniform(0, 1, 50)
    problem = jb.Problem(rng.uniform(0, 1, 50), plays=3, fractions=[n / 1000 for n in range(50)], penalties=prices)
    counts = rng.integers(0, 40, (1, 50, 1, 1)).astype(np.int32)
    values = judge(ALL, counts, rounds, ground_truth_of(problem), quota_at(problem.fractions, rounds))
    for name, expected in exact_of(problem, 0, counts[0, :, 0, 0], 700).items():
        assert values[name].item() == pytest.approx(float(expected), rel=1e-13), name


def test_regret_counts_every_play():
    """By hand: T = 10, L = 2, the best two arms make 1.7 a round; the plays here made 12."""
    problem = jb.Problem([0.5, 0.8, 0.1, 0.9], plays=2)
    counts = np.array([8, 5, 1, 4], np.int32).reshape(1, 4, 1, 1)
    value = judge(["regret"], counts, np.array([10]), ground_truth_of(problem), None)["regret"]
    assert value.item() == pytest.approx(17 - (4 + 4 + 0.1 + 3.6))


def test_penalized_regret_by_hand():
    """000 eq. 10, T = 100: gaps 0 .1 .6, A = .3, tau = .2; the prophet pays (.1 + .3) 20 = 8."""
    problem = jb.Problem([0.9, 0.8, 0.3], fractions=0.2, penalties=0.3)
    counts = np.array([[85, 60], [10, 20], [5, 20]], np.int32).reshape(1, 3, 1, 2)
    rounds = np.array([100])
    value = judge(["penalized_regret"], counts, rounds, ground_truth_of(problem), quota_at(problem.fractions, rounds))
    assert value["penalized_regret"].ravel().tolist() == pytest.approx([1 + 3 + 3 + 4.5 - 8, 2 + 12 - 8])


# Optimal allocations

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
    """000 eq. 6, a round."""
    return float(np.sum((mu.max() - mu) * y + A * np.maximum(tau - y, 0)))


@given(instances())
@settings(deadline=None, max_examples=100)
def test_the_penalized_allocation_solves_000_eq_6(instance):
    mu, tau, A = instance
    K = len(mu)
    y = penalized_allocation(mu, tau, A)
    rate = penalized_loss(mu.max(axis=0) - mu, tau, A)
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
def test_the_fair_allocation_earns_most_of_all_that_are_fair(instance):
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
def test_several_plays_earn_most_of_all_that_are_fair(instance, rounds):
    """Against the linear program over all sets of L arms, 003 eq. 3-6: `fair_allocation` and, in whole rounds,
    `fair_counts`, whose optimum 003 eq. 1 is no less."""
    mu, tau, plays = instance
    arms = len(mu)
    sets = list(itertools.combinations(range(arms), plays))
    holds = np.array([[k in chosen for chosen in sets] for k in range(arms)], float)
    owed = np.array([float(x) for x in tau])
    solved = linprog(-mu @ holds, A_ub=-holds, b_ub=1e-12 - owed, A_eq=np.ones((1, len(sets))), b_eq=[1])
    assert solved.status == 0
    y = fair_allocation(mu[:, None], owed[:, None], plays)[:, 0]
    assert y.sum() == pytest.approx(plays, abs=1e-13)
    assert np.all(y >= owed - 1e-14)
    assert np.all(y <= 1 + 1e-14)
    assert mu @ y == pytest.approx(-solved.fun, abs=1e-9)

    whole = fair_counts(mu[:, None], np.array(tau, object)[:, None], plays, rounds)[:, 0]
    assert whole.dtype == np.int64
    assert whole.sum() == plays * rounds
    assert all(math.floor(x * rounds) <= n <= rounds for x, n in zip(tau, whole.tolist(), strict=True))
    assert mu @ whole >= mu @ y * rounds - 1e-7 * rounds


def test_the_optimum_of_003_theorem_3_1_by_hand():
    """K = 8, L = 3, theta1, tau = .1: arms 0 and 1 always, arm 2 what the five others leave of the third play."""
    mu, tau = np.array([[0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]]).T, np.full((8, 1), 0.1)
    np.testing.assert_allclose(fair_allocation(mu, tau, 3).ravel(), [1, 1, 0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    exact_tau = np.full((8, 1), Fraction(1, 10), object)
    assert fair_counts(mu, exact_tau, 3, 99).ravel().tolist() == [99, 99, 54, 9, 9, 9, 9, 9]


def test_c_regret_of_the_optimum_is_nothing():
    problem = jb.Problem([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2], plays=3, fractions=0.1)
    rounds = np.array([99, 1000])
    best = [fair_counts(problem.means, problem.fractions, 3, int(t)) for t in rounds]
    values = judge(
        ["c_regret"], np.array(best)[..., None], rounds, ground_truth_of(problem), quota_at(problem.fractions, rounds)
    )
    np.testing.assert_allclose(values["c_regret"], 0, atol=1e-12)


@given(instances(), st.lists(st.integers(1, 10**6), min_size=1, max_size=3))
@settings(deadline=None, max_examples=30)
def test_the_least_loss_is_linear_in_the_rounds(instance, rounds):
    mu, tau, A = instance
    t = np.array(rounds, float)
    gaps = mu.max(axis=0) - mu
    least = penalized_loss(gaps, tau * t[:, None, None], A)
    np.testing.assert_allclose(least, t[:, None] * penalized_loss(gaps, tau, A), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("one", [0, 1])
def test_allocations_take_one_column_for_all_instances(one):
    mu = np.array([[0.9, 0.2], [0.5, 0.8], [0.1, 0.7]])
    tau, A = (
        (np.array([[0.1], [0.3], [0.2]]), np.full((3, 2), 0.3)) if one else (np.full((3, 2), 0.2), np.full((3, 1), 0.3))
    )
    whole = np.broadcast_to(tau, mu.shape), np.broadcast_to(A, mu.shape)
    np.testing.assert_array_equal(penalized_allocation(mu, tau, A), penalized_allocation(mu, *whole))
    np.testing.assert_array_equal(fair_allocation(mu, tau), fair_allocation(mu, whole[0]))


def test_the_prophet_of_000_by_hand():
    """Gaps 0, .4, .8 with A = .5: arm 1 is critical and gets its share, arm 2 is not and gets nothing."""
    mu, tau = np.array([[0.9], [0.5], [0.1]]), np.array([[0.05], [0.2], [0.3]])
    np.testing.assert_allclose(penalized_allocation(mu, tau, np.full((3, 1), 0.5)).ravel(), [0.8, 0.2, 0])
    np.testing.assert_allclose(fair_allocation(mu, tau).ravel(), [0.5, 0.2, 0.3])


def test_of_several_best_arms_the_lowest_takes_what_is_left():
    mu, tau = np.array([[0.3], [0.7], [0.7]]), np.array([[0.1], [0.1], [0.2]])
    np.testing.assert_allclose(fair_allocation(mu, tau).ravel(), [0.1, 0.7, 0.2])


# Whole simulations

WORLD = jb.Problem(
    means=[[0.35, 0.62, 0.5, 0.81], [0.5, 0.5, 0.1, 0.5], [0.9, 0.2, 0.88, 0.0]],
    fractions=[[0.07, 0.29, 0.1, 0.1], [0.25] * 4, [0.0, 0.3, 0.15, 0.01]],
    penalties=[[0.4, 0.1, 0.35, 0.2], [0.0, 1.0, 0.2, 0.3], [0.5, 0.7, 0.02, 0.9]],
)
KINDS = ["hard-threshold-ucb", "fucb", "uniform-random"]


def recomputed(results, problem):
    """Every metric at the horizon, `[policy, instance, seed]` by name, from the pulls."""
    horizon = int(results["round"][-1])
    values = {name: np.zeros(results.pulls.shape[:3]) for name in ALL}
    for place in np.ndindex(results.pulls.shape[:3]):
        for name, value in exact_of(problem, place[1], results.pulls.values[place], horizon).items():
            values[name][place] = float(value)
    return values


@pytest.mark.parametrize("plays", [1, 2])
def test_results_are_the_metrics_of_their_pulls(plays):
    problem = jb.Problem(WORLD.means.T, plays=plays, fractions=WORLD.fractions.T, penalties=WORLD.penalties.T)
    results = jb.simulate(problem, KINDS, horizon=300, seeds=6, record=25, key=3)
    for name, runs in recomputed(results, problem).items():
        last = results.isel(round=-1)
        np.testing.assert_allclose(results[f"{name}_final"], runs, rtol=1e-9, atol=1e-11, err_msg=name)
        np.testing.assert_allclose(last[name], runs.mean(axis=2), rtol=1e-9, atol=1e-11, err_msg=name)
        error = runs.std(axis=2, ddof=1) / np.sqrt(6)
        np.testing.assert_allclose(last[f"{name}_stderr"], error, rtol=1e-9, atol=1e-11, err_msg=name)
        assert runs.std() > 0  # a metric of 0 everywhere would prove nothing


@pytest.mark.parametrize("kind", ["hard-threshold-ucb", "uniform-random"])
def test_every_round_is_the_mean_over_the_runs_of_that_round(kind):
    horizon, seeds = 100, 6
    results = jb.simulate(WORLD, kind, horizon=horizon, seeds=seeds, record="all", key=5)
    counts = np.cumsum(trajectory(WORLD, kind, horizon, seeds, key=5), axis=0, dtype=int)  # [T, K, J, S]
    runs = {name: np.zeros((WORLD.instances, seeds, horizon)) for name in ALL}
    for j, i, t in np.ndindex(WORLD.instances, seeds, horizon):
        for name, value in exact_of(WORLD, j, counts[t, :, j, i], t + 1).items():
            runs[name][j, i, t] = float(value)
    for name, values in runs.items():
        np.testing.assert_allclose(results[name][0], values.mean(axis=1), rtol=1e-9, atol=1e-11, err_msg=name)
        error = values.std(axis=1, ddof=1) / np.sqrt(seeds)
        np.testing.assert_allclose(results[f"{name}_stderr"][0], error, rtol=1e-6, atol=1e-9, err_msg=name)
    deepest = runs["max_deficit"].max(axis=2)
    np.testing.assert_allclose(results.max_deficit_ever[0], deepest, rtol=1e-6)  # the engine's own is float32
    assert np.any(deepest > runs["max_deficit"][:, :, -1] + 0.5)  # it is no mere copy of the last round


@pytest.mark.parametrize("record", [1, 7, "all"])
def test_the_running_maximum_sees_every_round(record):
    results = jb.simulate(WORLD, KINDS, horizon=300, seeds=6, record=record, key=3, metrics=["max_deficit"])
    everything = jb.simulate(WORLD, KINDS, horizon=300, seeds=6, record="all", key=3, metrics=["max_deficit"])
    np.testing.assert_allclose(results.max_deficit_ever, everything.max_deficit_ever, rtol=1e-6)  # float32 between
    assert np.all(results.max_deficit_ever >= results.max_deficit_final)
    # The largest mean is at most the mean of the largest; means are kept to 2^-40.
    assert np.all(results.max_deficit_ever.mean("seed") >= results.max_deficit.max("round") - 1e-11)


def test_for_one_run_the_running_maximum_is_the_maximum_of_its_curve():
    results = jb.simulate(WORLD, KINDS, horizon=300, seeds=1, record="all", key=8, metrics=["max_deficit"])
    curve, ever = results.max_deficit.max("round"), results.max_deficit_ever[:, :, 0]
    assert np.all(ever >= curve)
    np.testing.assert_allclose(ever, curve, rtol=1e-6)


# Which metrics

TAU, PRICE = {"fractions": 0.1}, {"penalties": 0.2}


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({}, ["regret"]),
        (TAU, ["regret", "r_regret", "c_regret", "unfairness", "max_deficit"]),
        (PRICE, ["regret"]),
        ({**TAU, **PRICE}, ALL),
    ],
)
def test_a_metric_is_defined_when_the_problem_has_what_it_needs(asked, names):
    problem = jb.Problem([0.9, 0.5, 0.1], **asked)
    assert defined(problem) == names
    assert chosen(None, problem) == names
    results = jb.simulate(problem, "ucb1", horizon=30, seeds=3)
    assert [name for name in METRICS if name in results] == names
    assert ("max_deficit_ever" in results) == ("max_deficit" in names)


@pytest.mark.parametrize(
    "names", [["regret"], ["unfairness", "regret"], ["max_deficit"], ["r_regret", "penalized_regret"]]
)
def test_only_the_metrics_asked_for_are_kept(names):
    problem = jb.Problem([0.9, 0.5, 0.1], **TAU, **PRICE)
    some, whole = (jb.simulate(problem, "ucb1", horizon=30, seeds=3, metrics=m) for m in (names, None))
    expected = {f"{name}{suffix}" for name in names for suffix in ("", "_stderr", "_final")}
    expected |= {"max_deficit_ever"} if "max_deficit" in names else set()
    assert set(some.data_vars) == expected | {"pulls", "means", "fractions", "penalties"}
    for name in some.data_vars:
        np.testing.assert_array_equal(some[name], whole[name], err_msg=name)


def test_a_metric_named_twice_is_kept_once():
    assert chosen(["unfairness", "regret", "unfairness"], jb.Problem([0.5], **TAU)) == ["unfairness", "regret"]


@pytest.mark.parametrize(
    ("asked", "names", "message"),
    [
        ({}, ["regert"], r"'regert': must be one of .*\(did you mean 'regret'\?\)"),
        (TAU, ["regret", "max deficit"], r"'max deficit'; .*\(did you mean 'max_deficit'\?\)"),
        ({}, ["unfairness"], r"unfairness \(which needs problem\.fractions\)': must be one of regret"),
        (TAU, ["penalized_regret"], r"needs problem\.fractions and problem\.penalties\)'; .*r_regret"),
        (PRICE, ["penalized_regret"], r"needs problem\.fractions and problem\.penalties\)'; .*regret"),
        (PRICE, ["regret", "r_regret"], r"r_regret \(which needs problem\.fractions\)"),
    ],
)
def test_other_metrics_are_refused(asked, names, message):
    problem = jb.Problem([0.9, 0.5, 0.1], **asked)
    with pytest.raises(jb.InputError, match=r"^simulation\.metrics = .*" + message):
        jb.simulate(problem, "ucb1", horizon=30, seeds=3, metrics=names)
