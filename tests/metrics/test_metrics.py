"""Metrics against exact fractions, and which metrics a problem defines."""

import functools
import operator
from fractions import Fraction

import numpy as np
import pytest
from exact_metrics import ALL, exact, exact_of, quota_at
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import judge

import jaxbandit as jb
from jaxbandit.environment.ground_truth import ground_truth_of, instance_columns
from jaxbandit.metrics.definitions import METRICS, defined_metrics, resolve_metrics


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


@given(problems(), st.lists(st.integers(1, 2**24), min_size=1, max_size=3, unique=True), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=80)
def test_metrics_are_what_the_spec_says(problem, rounds, number):
    rounds, seeds = np.resize(np.sort(np.array(rounds)), 3), 2
    rows = np.resize(np.roll(np.arange(problem.instances), number), 3)  # a block may begin with any, and repeat some
    counts = random_counts(np.random.default_rng(number), problem, rounds, seeds)[:, :, rows]
    quota = quota_at(instance_columns(problem.fractions, rows), rounds)
    values = judge(ALL, counts, rounds, ground_truth_of(problem).at_rows(rows), quota)
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
    whole, rest = (np.asarray(part, float)[..., None] for part in (quota.floor, quota.fraction))
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
    assert defined_metrics(problem) == names
    assert resolve_metrics(None, problem) == names
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
    assert resolve_metrics(["unfairness", "regret", "unfairness"], jb.Problem([0.5], **TAU)) == ["unfairness", "regret"]


@pytest.mark.parametrize(
    ("asked", "names", "message"),
    [
        ({}, ["regert"], r"'regert': must be one of .*\(did you mean 'regret'\?\)"),
        (TAU, ["regret", "max deficit"], r"'max deficit': must be one of .*\(did you mean 'max_deficit'\?\)"),
        ({}, ["unfairness"], r"unfairness \(which needs problem\.fractions\)': must be one of regret"),
        (TAU, ["penalized_regret"], r"needs problem\.fractions and problem\.penalties\)': must be one of .*r_regret"),
        (PRICE, ["penalized_regret"], r"needs problem\.fractions and problem\.penalties\)': must be one of .*regret"),
        (PRICE, ["regret", "r_regret"], r"r_regret \(which needs problem\.fractions\)"),
    ],
)
def test_other_metrics_are_refused(asked, names, message):
    problem = jb.Problem([0.9, 0.5, 0.1], **asked)
    with pytest.raises(jb.InputError, match=r"^simulation\.metrics = .*" + message):
        jb.simulate(problem, "ucb1", horizon=30, seeds=3, metrics=names)
