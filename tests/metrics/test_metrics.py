"""Metrics against exact fractions, and which metrics a problem defines."""

import doctest
import functools
import importlib
import operator
import re
from fractions import Fraction

import jax
import numpy as np
import pytest
from exact_metrics import ALL, exact, exact_of, quota_at
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import judge

import jaxbandit as jb
from jaxbandit.environment.ground_truth import ground_truth_of, instance_columns
from jaxbandit.metrics.definitions import (
    METRICS,
    defined_metrics,
    metric_inputs,
    required_sums,
    resolve_metrics,
    shared_terms,
)
from jaxbandit.metrics.formulas import SHARED


def test_every_metric_has_an_exact_reference():
    assert set(ALL) <= set(METRICS)
    # Tested with the policies of their papers, in `test_dynamic_regret.py`, `test_groups.py` and `test_welfare.py`
    elsewhere = {"merit", "opportunity", "availability", "group_fractions"}
    counted = {name for name, metric in METRICS.items() if not elsewhere & set(metric.needs) and not metric.when_named}
    assert counted == set(exact([0], 1, [Fraction(1)], [Fraction(0)], [Fraction(0)], 1))


# Counts to metrics, over random counts

rates = st.floats(0, 3, allow_subnormal=False).map(lambda x: round(x, 3))
written = st.one_of(
    st.integers(0, 249).map(lambda n: n / 1000), st.floats(0.001, 0.249), st.fractions(0, Fraction(1, 4))
)


@st.composite
def problems(draw):
    """Problems of 4 arms; fractions and penalties are one number, one per arm or one row per instance."""
    arms, instances = 4, draw(st.integers(1, 3))

    def spread(numbers):
        row = st.lists(numbers, min_size=arms, max_size=arms)
        return draw(st.one_of(numbers, row, st.lists(row, min_size=instances, max_size=instances)))

    mu = st.lists(st.floats(-2, 2).map(lambda x: round(x, 3)), min_size=arms, max_size=arms)
    means = draw(st.lists(mu, min_size=instances, max_size=instances))
    plays = draw(st.integers(1, 2))
    return jb.Problem(means, plays=plays, reward="gaussian", fractions=spread(written), penalties=spread(rates))


def random_counts(rng, problem, rounds, seeds):
    """Counts `[R, K, J, S]`: anything up to t, or within a few selections of the quota."""
    shape = (len(rounds), problem.arms, problem.instances, seeds)
    t = rounds.reshape(-1, 1, 1, 1)
    tau = np.broadcast_to(problem.fractions, problem.means.shape)
    quotas = np.array([[[tau_kj * int(s) // 1 for tau_kj in row] for row in tau] for s in rounds], np.int64)[..., None]
    near = np.maximum(quotas + rng.integers(-1, 3, shape), 0)
    return np.where(rng.random(shape) < 0.5, near, (t * rng.random(shape)).astype(np.int64)).astype(np.int32)


@given(problems(), st.lists(st.integers(1, 2**24), min_size=1, max_size=3, unique=True), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_metrics_are_those_of_exact_arithmetic(problem, rounds, number):
    rounds, seeds = np.resize(np.sort(np.array(rounds)), 3), 2
    rows = np.resize(
        np.roll(np.arange(problem.instances), number), 3
    )  # a block may begin with any instance and repeat some
    counts = random_counts(np.random.default_rng(number), problem, rounds, seeds)[:, :, rows]
    quota = quota_at(instance_columns(problem.fractions, rows), rounds)
    values = judge(ALL, counts, rounds, ground_truth_of(problem, 10).at_rows(rows), quota)
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
    """As NumPy computes one operation after the other, arm by arm; a fused multiply-add would give other last bits."""
    rng, rounds, arms = np.random.default_rng(1), np.array([901, 4000]), 5
    means = rng.uniform(0, 1, (shape[0], arms))
    problem = jb.Problem(means, fractions=[0.013 * k for k in range(arms)], penalties=rng.uniform(0, 1, arms))
    counts = rng.integers(0, 900, (2, arms, *shape)).astype(np.int32)
    quota = quota_at(problem.fractions, rounds)
    values = judge(ALL, counts, rounds, ground_truth_of(problem, 10), quota)
    n, t, mu = counts.astype(float), rounds.astype(float)[:, None, None], means.T[:, :, None]
    floor, fraction = (np.asarray(part, float)[..., None] for part in (quota.floor, quota.fraction))
    gap, rate, deficit = mu.max(0) - mu, problem.penalties[..., None], (floor - n) + fraction

    def added(terms):
        return functools.reduce(operator.add, terms)

    lost = added([gap[k] * n[:, k] for k in range(arms)])
    paid = added([rate[k] * np.maximum(deficit[:, k], 0) for k in range(arms)])
    least = added([np.minimum(gap, rate)[k] * (floor + fraction)[:, k] for k in range(arms)])
    best = mu.max(0)
    expected = {
        "regret": (t * best - best * added([n[:, k] for k in range(arms)])) + lost,
        "penalized_regret": (lost + paid) - least,
        "r_regret": lost - added([gap[k] * (floor + fraction)[:, k] for k in range(arms)]),
        "c_regret": lost + added([(mu[k] - best) * floor[:, k] for k in range(arms)]),
        "unfairness": added([np.maximum(deficit[:, k], 0) for k in range(arms)]),
        "max_deficit": deficit.max(axis=1),
    }
    for name in ALL:
        np.testing.assert_array_equal(values[name], expected[name], err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("plays", [1, 2])
def test_terms_without_counts_keep_their_bits_where_they_are_computed_once(plays):
    rng, rounds, arms = np.random.default_rng(2), np.array([17, 901, 4000]), 5
    means, rates = rng.uniform(0, 1, (2, 4, arms))
    problem = jb.Problem(means, fractions=[0.013 * k for k in range(arms)], penalties=rates, plays=plays)
    counts = rng.integers(0, 900, (3, arms, 4, 16)).astype(np.int32)
    given = ground_truth_of(problem, 10), quota_at(problem.fractions, rounds)
    inputs = metric_inputs(ALL, rounds, *given)
    with jax.enable_x64(True):
        shared = jax.jit(functools.partial(shared_terms, ALL))(inputs)
    assert set(shared) == set(SHARED)
    once = judge(ALL, counts, rounds, *given, shared=shared)
    for name, values in judge(ALL, counts, rounds, *given).items():
        np.testing.assert_array_equal(once[name], values, err_msg=name)


def test_metrics_of_many_arms_are_those_of_exact_arithmetic():
    """Of more arms than a compiled program is unrolled for."""
    rng, rounds = np.random.default_rng(0), np.array([700])
    rates_of_arms = rng.uniform(0, 1, 50)
    problem = jb.Problem(
        rng.uniform(0, 1, 50), plays=3, fractions=[n / 1000 for n in range(50)], penalties=rates_of_arms
    )
    counts, facts = rng.integers(0, 40, (1, 50, 1, 1)).astype(np.int32), ground_truth_of(problem, 700)
    values = judge(ALL, counts, rounds, facts, quota_at(problem.fractions, rounds))
    for name, expected in exact_of(problem, 0, counts[0, :, 0, 0], 700).items():
        assert values[name].item() == pytest.approx(float(expected), rel=1e-13), name


def test_regret_counts_every_play():
    """By hand: T = 10 and L = 2; the best two arms earn 1.7 per round, and the arms played here earned 12.1."""
    problem = jb.Problem([0.5, 0.8, 0.1, 0.9], plays=2)
    counts = np.array([8, 5, 1, 4], np.int32).reshape(1, 4, 1, 1)
    value = judge(["regret"], counts, np.array([10]), ground_truth_of(problem, 10), None)["regret"]
    assert value.item() == pytest.approx(17 - (4 + 4 + 0.1 + 3.6))


def test_more_plays_than_int32_holds_are_counted():
    t = 2**30  # three arms per round, so 3 2^30 selections; arm 3 took a fourth of those of arm 2
    problem = jb.Problem([[0.875, 0.75, 0.5, 0.25]], plays=3, fractions=0)
    counts = np.array([t, t, t - t // 4, t // 4], np.int32).reshape(1, 4, 1, 1)
    values = judge(
        ["regret", "c_regret"], counts, np.array([t]), ground_truth_of(problem, 10), quota_at(problem.fractions, [t])
    )
    assert values["regret"].item() == values["c_regret"].item() == 0.25 * (t // 4)


def test_penalized_regret_by_hand():
    """T = 100, gaps 0, 0.1 and 0.6, A = 0.3, tau = 0.2: the oracle loses (0.1 + 0.3) 20 = 8."""
    problem = jb.Problem([0.9, 0.8, 0.3], fractions=0.2, penalties=0.3)
    counts = np.array([[85, 60], [10, 20], [5, 20]], np.int32).reshape(1, 3, 1, 2)
    rounds, facts = np.array([100]), ground_truth_of(problem, 100)
    value = judge(["penalized_regret"], counts, rounds, facts, quota_at(problem.fractions, rounds))
    assert value["penalized_regret"].ravel().tolist() == pytest.approx([1 + 3 + 3 + 4.5 - 8, 2 + 12 - 8])


# Which metrics

TAU, PENALTIES = {"fractions": 0.1}, {"penalties": 0.2}


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({}, ["regret"]),
        (TAU, ["regret", "r_regret", "c_regret", "unfairness", "max_deficit"]),
        (PENALTIES, ["regret"]),
        ({**TAU, **PENALTIES}, ALL),
        ({"merit": "power"}, ["regret", "reward_regret", "fairness_regret"]),
        ({**PENALTIES, "opportunity": "uniform"}, ["regret", "utility", "utility_regret"]),
    ],
)
def test_a_metric_is_defined_when_the_problem_has_all_keys_it_needs(given, names):
    problem = jb.Problem([0.9, 0.5, 0.1], **given)
    assert sorted(defined_metrics(problem)) == sorted(names)
    assert resolve_metrics(None, problem) == [name for name in METRICS if name in names]


def test_the_running_sums_of_the_engine_are_those_that_metrics_need():
    assert required_sums(["regret", "max_deficit"]) == ()
    assert required_sums(["utility", "reward_regret", "fairness_regret"]) == (
        "reward",
        "reward_regret",
        "fairness_regret",
    )


def test_results_have_the_metrics_that_are_named_and_no_others():
    """Each has the same values whatever the others are."""
    problem = jb.Problem([0.9, 0.5, 0.1], **TAU)
    named = ["unfairness", "regret"], ["max_deficit_ever", "unfairness", "regret"]
    results = [jb.simulate(problem, "ucb1", horizon=30, seeds=3, metrics=names) for names in named]
    common = {f"{name}{suffix}" for name in named[0] for suffix in ("", "_stderr", "_final")}
    common |= {"pulls", "pulls_mean", "pulls_mean_stderr", "means", "fractions"}
    assert set(results[0].data_vars) == common
    more = {"max_deficit", "max_deficit_stderr", "max_deficit_final", "max_deficit_ever"}
    assert set(results[1].data_vars) == common | more
    for name in common:
        np.testing.assert_array_equal(results[0][name], results[1][name], err_msg=name)


def test_a_metric_named_twice_is_kept_once():
    problem = jb.Problem([0.5], **TAU)
    assert resolve_metrics(["unfairness", "regret", "unfairness"], problem) == ["unfairness", "regret"]


@pytest.mark.parametrize(
    ("given", "names", "message"),
    [
        ({}, ["regert"], r"'regert': must be one of .*\(did you mean 'regret'\?\)"),
        (TAU, ["regret", "max deficit"], r"'max deficit': must be one of .*\(did you mean 'max_deficit'\?\)"),
        ({}, ["unfairness"], r"'unfairness': must be one of regret; unfairness needs problem\.fractions"),
        (TAU, ["penalized_regret"], r"must be one of .*r_regret.*; .* needs problem\.fractions and problem\.penalties"),
        (PENALTIES, ["penalized_regret"], r"must be one of regret; .* needs problem\.fractions and problem\.penalties"),
        (PENALTIES, ["regret", "r_regret"], r"'r_regret': must be one of .*; r_regret needs problem\.fractions"),
    ],
)
def test_other_metrics_are_refused(given, names, message):
    problem = jb.Problem([0.9, 0.5, 0.1], **given)
    with pytest.raises(jb.InputError, match=r"^simulation\.metrics = .*" + message):
        resolve_metrics(names, problem)


def test_every_metric_says_its_formula_and_source():
    for name, metric in METRICS.items():
        assert re.search(r"paper, |et al\. \d{4}\)", metric.summary), name
        assert metric.label.endswith(
            ("(reward)", "(reward per round)", "(rounds)", "(missed rounds)", "(selections)", "plays)")
        ), name
    assert [name for name, metric in METRICS.items() if metric.larger_is_better] == ["utility"]


def test_the_examples_of_the_metrics_run():
    tried = 0
    for name in ("block_statistics", "definitions", "exact_range", "moments", "optimal_allocations"):
        module = importlib.import_module(f"jaxbandit.metrics.{name}")
        for test in doctest.DocTestFinder().find(module, extraglobs={"jb": jb}):
            tried += len(test.examples)
            assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
    assert tried > 8
