"""Bounds of the five papers against the papers, arm by arm; in limits; with bad arguments."""

import doctest
import importlib
import math
import pkgutil

import jax.numpy as jnp
import numpy as np
import pytest
import reference_bounds as reference

import jaxbandit as jb
from jaxbandit.metrics import bounds as theory
from jaxbandit.metrics.bounds import table
from jaxbandit.metrics.bounds.plays import first_learned_round

EXACT = 1e-10  # relative; the order of sums may differ
K, J = 5, 6
ROUNDS = [2, 300, 40_000]


def instances():
    """mu, tau and A, each `[K, J]`: random, but with two best arms, a gap that equals its penalty rate, and zeros."""
    rng = np.random.default_rng(7)
    mu, A = rng.uniform(0, 1, (K, J)), rng.uniform(0, 0.8, (K, J))
    tau = rng.dirichlet(np.ones(K + 1), J).T[:K]
    mu[:, 0] = [0.9, 0.9, 0.5, 0.25, 0.0]
    mu[:, 1], A[:, 1] = [0.75, 0.5, 0.25, 1.0, 0.0], [0.25, 0.5, 0.5, 0.0, 1.0]
    tau[:, 2] = [0.0, 0.1, 0.0, 0.2, 0.0]
    A[:, 3] = 0.0
    mu[:, 5], A[:, 5], tau[:, 5] = [0.9, 0.5, 0.3, 0.6, 0.2], [0.5, 0.6, 0.65, 0.1, 0.1], 0.0005
    A[:, 4] = (mu.max(axis=0) - mu)[:, 4] + [0.1, 0.2, 0.05, 0.3, 0.15]  # every gap is below its penalty rate
    return mu, tau, A


MU, TAU, PENALTIES = instances()


def each(function, *arrays, rounds=ROUNDS):
    """A reference function for every round and instance, `[R, J, ...]`."""
    columns = [array.T.tolist() for array in arrays]
    return np.array([[function(*column, T) for column in zip(*columns, strict=True)] for T in rounds])


# The papers, arm by arm


def test_penalized_regret_and_selections_are_those_of_the_paper():
    expected = each(lambda mu, tau, A, T: reference.penalized(mu, tau, A, T, 1.5), MU, TAU, PENALTIES)
    np.testing.assert_allclose(table.hard_threshold_regret(MU, TAU, PENALTIES, ROUNDS, constant=1.5), expected, EXACT)
    expected = each(lambda mu, tau, A, T: reference.pulls(mu, tau, A, T, 2.0), MU, TAU, PENALTIES)
    found = table.hard_threshold_pulls(MU, TAU, PENALTIES, ROUNDS, constant=2.0)
    np.testing.assert_allclose(found.transpose(0, 2, 1), expected, EXACT)


@pytest.mark.parametrize("means", [[0.9, 0.6], [0.8, 0.5], [0.6, 0.3]])  # .9 - .6 is rounded to more than .3
def test_rounding_does_not_decide_whether_a_gap_is_above_its_penalty_rate(means):
    arms = np.array(means)[:, None], np.array([[0.1], [0.1]]), np.array([[0.3], [0.3]])
    assert table.hard_threshold_regret(*arms, [10**5]).item() == 2.0  # K; the critical arm gains more than it costs
    assert not table.hard_threshold_assumptions_hold(*arms, [10**5]).item()
    np.testing.assert_array_equal(
        table.hard_threshold_deficits(arms[0], arms[2], [10**5])[0, :, 0] < np.inf, [True, False]
    )


def test_rounding_does_not_tell_equal_sums_of_mean_and_penalty_rate_apart():
    found = table.hard_threshold_deficits([[0.5], [0.6], [0.7]], [[0.8], [0.7], [0.0]], [1000])
    assert np.isinf(found).all()


def test_assumptions_are_those_of_the_paper():
    rounds = [100, 10**4, 10**6]
    found = table.hard_threshold_assumptions_hold(MU, TAU, PENALTIES, rounds)
    np.testing.assert_array_equal(found, each(reference.assumes, MU, TAU, PENALTIES, rounds=rounds))
    assert found.any()
    assert not found.all()


def test_deficits_follow_the_recursion_of_the_paper():
    """App. D's recursion, not eq. 33: from the third arm on they differ (4 b_1 against 3 b_1)."""
    expected = each(reference.deficits, MU, PENALTIES)
    found = table.hard_threshold_deficits(MU, PENALTIES, ROUNDS).transpose(0, 2, 1)
    np.testing.assert_allclose(found, expected, EXACT)
    assert np.isfinite(found[:, 4]).all()
    assert np.isinf(found[:, 3]).all()


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (
            table.hard_threshold_worst_case_regret(TAU, PENALTIES, ROUNDS),
            each(reference.worst_penalized, TAU, PENALTIES),
        ),
        (
            table.hard_threshold_noncritical_lower_bound(MU, TAU, PENALTIES, ROUNDS),
            each(reference.noncritical_least, MU, TAU, PENALTIES),
        ),
        (
            table.hard_threshold_critical_lower_bound(MU, TAU, PENALTIES, ROUNDS),
            each(reference.critical_least, MU, TAU, PENALTIES),
        ),
        (
            table.penalized_regret_lower_bound(TAU, PENALTIES, ROUNDS, sd=0.7),
            each(lambda tau, A, T: reference.penalized_least(tau, A, T, 0.7), TAU, PENALTIES),
        ),
        (table.fair_ucb_regret(MU, TAU, ROUNDS), each(reference.fair_ucb, MU, TAU)),
        (table.fair_worst_case_regret(MU, TAU, ROUNDS), each(reference.worst_fair, MU, TAU)),
        (table.ucb1_regret(MU, ROUNDS), each(reference.fair_ucb, MU, 0 * TAU)),
    ],
    ids=[
        *("penalties 4", "penalties 5", "penalties 6", "penalties 7"),
        *("guarantees 3", "guarantees 5", "guarantees 7"),
    ],
)
def test_bounds_of_one_play_are_those_of_the_paper(found, expected):
    np.testing.assert_allclose(found, expected, EXACT)
    assert (expected > 0).any()


def test_the_exact_fractions_of_a_problem_are_accepted():
    problem = jb.Problem([0.9, 0.5], fractions=[0.1, 0.2], penalties=0.3)
    found = table.hard_threshold_regret(problem.means, problem.fractions, problem.penalties, 100)
    assert found.item() == pytest.approx(reference.penalized([0.9, 0.5], [0.1, 0.2], [0.3, 0.3], 100, 1.0))


def test_missed_rounds_raise_the_worst_case_fair_regret():
    more = table.fair_worst_case_regret(MU, TAU, [50], missed_rounds=2.0) - table.fair_worst_case_regret(MU, TAU, [50])
    np.testing.assert_allclose(more, 2 * (MU.max(axis=0) - MU.min(axis=0))[None])


PLAYS = {  # mu, tau, L of one instance; gaps are so wide that a search round by round finds T_0
    "one play": ([0.9, 0.5, 0.2], [0.3, 0.2, 0.1], 1),
    "two": ([0.1, 0.9, 0.5], [0.4, 0.45, 0.3], 2),
    "three of five": ([0.3, 0.95, 0.65, 0.0, 1.0], [0.3, 0.2, 0.25, 0.3, 0.1], 3),
}


@pytest.mark.parametrize("name", PLAYS)
def test_constant_regrets_are_those_of_the_paper(name):
    mu, tau, L = PLAYS[name]
    column = np.array(mu)[:, None], np.array(tau)[:, None], L
    np.testing.assert_allclose(table.fair_mmab_ucb1_regret(*column), [reference.mmab_ucb1(mu, tau, L)], EXACT)
    for a in (0.0, 2.0):
        expected = reference.mmab_kl_ucb(mu, tau, L, a)
        np.testing.assert_allclose(table.fair_mmab_kl_ucb_regret(*column, a=a), [expected], EXACT)


def test_instances_of_several_plays_do_not_affect_each_other():
    mu, tau, L = PLAYS["three of five"]
    both = np.stack([mu, mu[::-1], [0.5] * 5], axis=1), np.stack([tau, tau[::-1], tau], axis=1), L
    for function in (table.fair_mmab_ucb1_regret, table.fair_mmab_kl_ucb_regret):
        one = function(both[0][:, :1], both[1][:, :1], L)[0]
        np.testing.assert_allclose(function(*both), [one, one, np.inf])


@pytest.mark.parametrize("a", [0.0, 2.0])
def test_the_first_learned_round_is_that_of_a_search(a):
    levels = [1e-4, 0.003, 0.02, 0.3, 5.0]
    expected = [reference.start(level, a, 4.5) for level in levels]
    assert first_learned_round(levels, a, 4.5).tolist() == expected
    assert first_learned_round([9.0], a, [41.0]).tolist() == [41.0]  # the first one that may be
    assert first_learned_round([0.0, 1e-12], a, 4.5).tolist() == [math.inf, pytest.approx(3e13, rel=0.4)]


def test_the_tail_sum_bounds_the_sum_itself():
    """Geometric series against the sum of App. E (plays paper), which exceeds the closed form that is printed there."""
    share, eps, start = 0.3, 0.1, 200
    rounds = range(start, 20_000)
    direct = sum(math.exp(-2 * s * eps**2) for t in rounds for s in range(math.floor(share * t), 3000, 1) if t < 2000)
    closed = reference.late(share, eps, start)
    assert closed * math.exp(-2 * eps**2) < direct < closed
    assert direct > math.exp(-2 * share * (start - 1) * eps**2) / (4 * eps**2 * share)  # as printed


def closed_forms(T):
    """By name, a delay and P(D <= d) of each arm as functions of d, for two arms of mean 0.5 and 0.25."""
    return {
        "none": ("none", [lambda d: 1.0] * 2),
        "fixed": ({"kind": "fixed", "d": [3, 9]}, [lambda d: float(d >= 3), lambda d: float(d >= 9)]),
        "geometric": (
            {"kind": "geometric", "p": [0.05, 0.3]},
            [lambda d: 1 - 0.95 ** (d + 1), lambda d: 1 - 0.7 ** (d + 1)],
        ),
        "pareto": (
            {"kind": "pareto", "alpha": [0.5, 2.0]},
            [lambda d: 1 - (d + 1) ** -0.5, lambda d: 1 - (d + 1) ** -2.0],
        ),
        "packet loss": ({"kind": "packet-loss", "p": [0.9, 0.4]}, [lambda d: 0.9, lambda d: 0.4]),
        "empirical": (
            {"kind": "empirical", "table": [[0, 7, 7, 40], [2, 3]]},
            [lambda d: sum(x <= d for x in (0, 7, 7, 40)) / 4, lambda d: sum(x <= d for x in (2, 3)) / 2],
        ),
        "reward-dependent": (
            {"kind": "reward-dependent", "one": {"kind": "fixed", "d": 5}, "zero": {"kind": "geometric", "p": 0.2}},
            [lambda d, m=m: m * (d >= 5) + (1 - m) * (1 - 0.8 ** (d + 1)) for m in (0.5, 0.25)],
        ),
    }


@pytest.mark.parametrize("name", closed_forms(0))
def test_rates_under_delay_are_minima_over_the_quantile(name):
    """Against a search over all quantiles at which a delay's distribution jumps, with d(q) by its definition."""
    T, L, K = 60, 1, 2
    spec, cdfs = closed_forms(T)[name]
    problem = jb.Problem([0.5, 0.25], delay=spec, merit={"kind": "power", "scale": 3.0, "exponent": 2.0})
    on = problem.delay, problem.means, L, [T]
    fair = problem.delay, problem.merit, problem.means, L, [T]
    root, steep = math.sqrt(T), 3.0 * 2.0 * L / 1.0  # M L / lambda
    costs = {
        "6": lambda q, d: K / q * root + L * d,
        "8 reward": lambda q, d: L * (1 - q) * T + K * max(d, 1) * root,
        "8 fairness": lambda q, d: steep * K * ((1 - q) * T + max(d, 1) * root),
        "9": lambda q, d: steep * K * ((1 - q) * T + max(d, 1) / q * root),
    }
    least = {name: reference.over_quantiles(cost, cdfs, T) for name, cost in costs.items()}
    found = {
        "8 reward": table.op_fcucb_d_reward_regret(*on),
        "8 fairness": table.op_fcucb_d_fairness_regret(*fair),
        "9": table.op_fcts_d_regret(*fair),
    }
    if name != "reward-dependent":
        found["6"] = table.merit_reward_regret(*on)
        np.testing.assert_allclose(table.merit_fairness_regret(*fair), steep * found["6"])
    for theorem, value in found.items():
        np.testing.assert_allclose(value, [[least[theorem]]], EXACT, err_msg=theorem)


def test_merit_constants_are_the_smallest_value_and_the_steepest_slope():
    class Bump(jb.Merit):
        def value(self, mu):
            return 0.5 + mu * (1.0 - mu)

    class Step(jb.Merit):
        def value(self, mu):
            return jnp.where(mu > 0.3, 1.5, 1.0)

    assert table.merit_constants(Bump()) == pytest.approx((0.5, 1.0))
    assert table.merit_constants(Step())[1] > 1000  # no Lipschitz constant holds
    power = jb.Problem([0.5], merit={"kind": "power", "scale": 3.5, "exponent": 8.0}).merit
    assert table.merit_constants(power) == pytest.approx((1.0, 28.0))


@pytest.mark.parametrize("slope", [0.05, 0.25, 2.0])
def test_utility_regrets_are_those_of_the_paper(slope):
    T = [10, 1000, 10**6]
    np.testing.assert_allclose(table.etc_utility_regret(4, slope, T), [reference.etc(4, slope, t) for t in T], EXACT)
    expected = [reference.self_regulated(4, slope, t) for t in T]
    np.testing.assert_allclose(table.self_regulated_utility_regret(4, slope, T), expected, EXACT)
    for c in (0.3, 2.0, 6.0):
        expected = [reference.utility_least(4, t, slope, c) for t in T]
        found = table.utility_regret_lower_bound(4, T, scale=slope, c=c)
        np.testing.assert_allclose(found, expected, EXACT, atol=1e-9)


# Limits


def test_without_fairness_all_bounds_of_one_play_are_the_classical_bound():
    gap = MU.max(axis=0) - MU
    rest = (1 + math.pi**2 / 3) * gap.sum(axis=0)
    classical = table.ucb1_regret(MU, ROUNDS)
    none = np.zeros((K, 1))
    np.testing.assert_allclose(table.fair_ucb_regret(MU, none, ROUNDS), classical)
    for tau, A in ((none, none), (none, PENALTIES), (TAU, none)):
        found = table.hard_threshold_regret(MU, tau, A, ROUNDS, constant=0.0)
        np.testing.assert_allclose(found + rest, classical, err_msg=f"{tau.max()} {A.max()}")


def test_high_penalty_rates_are_guarantees():
    high = table.hard_threshold_regret(MU, TAU, np.full((K, 1), 2.0), ROUNDS, constant=0.0)
    rest = (1 + math.pi**2 / 3) * (MU.max(axis=0) - MU).sum(axis=0)
    np.testing.assert_allclose(high + rest, table.fair_ucb_regret(MU, TAU, ROUNDS))


def test_constant_regrets_grow_as_the_gaps_beside_the_last_play_shrink():
    tau = np.full((3, 1), 0.3)
    for function in (table.fair_mmab_ucb1_regret, table.fair_mmab_kl_ucb_regret):
        above = [function([[0.5 + x], [0.5], [0.1]], tau, 2).item() for x in (0.0, 0.01, 0.1, 0.4)]
        below = [function([[0.9], [0.5], [0.5 - x]], tau, 2).item() for x in (0.0, 0.01, 0.1, 0.4)]
        for values in (above, below):
            assert values[0] == math.inf
            assert values == sorted(values, reverse=True)


def test_rates_under_delay_in_the_limits():
    def rates(delay):
        problem = jb.Problem([0.9, 0.5, 0.2], plays=2, delay=delay)
        return [
            function(problem.delay, problem.means, 2, [10, 400]).tolist()
            for function in (table.merit_reward_regret, table.op_fcucb_d_reward_regret)
        ]

    none = rates("none")
    assert none == [[[3 * math.sqrt(10)], [60.0]]] * 2
    assert rates({"kind": "fixed", "d": 0}) == none == rates({"kind": "packet-loss", "p": 1.0})
    lost = rates({"kind": "packet-loss", "p": 0.0})
    assert np.isinf(lost).all()
    assert np.isinf(rates({"kind": "fixed", "d": 11})[0][0])  # nothing arrives within 10 rounds
    assert rates({"kind": "fixed", "d": 11})[0][1] == [60.0 + 22.0]


def test_long_horizons_include_all_delays():
    problem = jb.Problem([0.9, 0.5], delay={"kind": "pareto", "alpha": [0.5, 0.2]})
    [[found]] = table.merit_reward_regret(problem.delay, problem.means, 1, [20_000])
    d = np.arange(20_001)
    np.testing.assert_allclose(found, np.min(2 / np.maximum(1 - (d + 1.0) ** -0.2, 1e-9) * math.sqrt(20_000) + d))


def test_the_lower_bound_on_utility_is_largest_where_its_cases_meet():
    K, L = 6, 2.0
    best = (K**2 / (4 * L)) ** (1 / 3)
    values = [table.utility_regret_lower_bound(K, [1000], L, c).item() for c in (0.5 * best, best, 2 * best)]
    assert values[1] == max(values)
    assert values[0] == 0.0


def test_bounds_are_trivial_where_theorems_say_nothing():
    assert np.isinf(table.etc_utility_regret(4, 0.0, [100])).all()
    assert np.isfinite(table.self_regulated_utility_regret(4, 0.0, [100])).all()
    few = table.penalized_regret_lower_bound([[0.1], [0.1]], [[0.5], [0.5]], [1, 2, 3], sd=1.0)
    assert few.ravel()[0] == 0.0
    assert few.ravel()[2] > 0.0
    assert np.isinf(table.hard_threshold_worst_case_regret([[0.1], [0.1]], [[0.5], [0.5]], [1])).all()


def test_the_lower_bound_as_printed_exceeds_the_regret_of_playing_in_turn():
    """Penalties paper, Theorem 7: with 1 - 2 max tau, it exceeds the largest regret of playing the arms in turn."""
    arms, T = 20, 10_000
    tau = np.full((arms, 1), (1 - 1 / T) / arms)
    in_turn = np.full((arms, 1), T / arms)
    most = (in_turn - tau * T).sum()  # gaps are at most 1
    assert most == pytest.approx(1.0)
    assert table.penalized_regret_lower_bound(tau, np.ones((arms, 1)), [T]).item() < most
    assert (1 - 2 * tau.max()) * math.sqrt((arms - 1) * T / 2) / (8 * math.e) > 12 * most


# Bad arguments

TWO = [[0.9], [0.5]], [[0.1], [0.1]], [[0.5], [0.5]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: table.ucb1_regret([[1.1], [0.5]], [10]), r"means = .*mean rewards from 0 to 1"),
        (lambda: table.ucb1_regret([0.9, 0.5], [10]), r"means = .*\[K, J\]"),
        (lambda: table.ucb1_regret([[0.9], [0.5]], [0]), r"rounds = \[0\]: must be whole numbers >= 1"),
        (lambda: table.ucb1_regret([[0.9], [0.5]], 1.5), r"rounds = 1\.5"),
        (lambda: table.ucb1_regret([[0.9], [0.5]], [[10]]), r"rounds = \[\[10\]\]"),
        (lambda: table.fair_ucb_regret(TWO[0], [[0.5], [0.5]], [10]), r"fractions = .*sum to less than 1"),
        (lambda: table.fair_ucb_regret(TWO[0], [[0.5]], [10]), r"fractions = .*\[2, J or 1\]"),
        (lambda: table.fair_ucb_regret(TWO[0], [[-0.1], [0.1]], [10]), r"fractions = .*numbers >= 0"),
        (lambda: table.fair_learn_deficit([[0.1], [0.2]]), r"fractions = .*0 or all equal"),
        (lambda: table.fair_learn_deficit([[0.5], [0.0]]), r"fractions = .*below 1/K = 1/2"),
        (
            lambda: table.fair_worst_case_regret(*TWO[:2], [10], missed_rounds=-1),
            r"missed_rounds = -1: must be a number >= 0",
        ),
        (lambda: table.hard_threshold_regret(*TWO[:2], [[-1], [0]], [10]), r"penalties = .*numbers >= 0"),
        (lambda: table.hard_threshold_regret(*TWO, [10], constant=[1, 2]), r"constant = \[1, 2\]"),
        (lambda: table.hard_threshold_deficits(TWO[0], [[1.0]], [10]), r"penalties = .*\[2, J or 1\]"),
        (lambda: table.penalized_regret_lower_bound(*TWO[1:], [10], sd="wide"), r"sd = 'wide'"),
        (lambda: table.fair_mmab_deficit([[0.5], [0.1], [0.2], [0.2]], 2), r"fractions = .*below L/K = 0\.5"),
        (lambda: table.fair_mmab_ucb1_regret(*TWO[:2], 2), r"plays = 2: must be a whole number from 1 to 1"),
        (lambda: table.fair_mmab_ucb1_regret(TWO[0], [[0.5], [0.1]], 1), r"below 1/\(K-L\+1\) = 0\.5"),
        (lambda: table.fair_mmab_kl_ucb_regret(TWO[0], [[0.0], [0.1]], 1), r"fractions = .*above 0"),
        (lambda: table.fair_mmab_kl_ucb_regret(*TWO[:2], 1, a=-1), r"a = -1"),
        (lambda: table.etc_utility_regret(1, 0.5, [10]), r"arms = 1: must be a whole number >= 2"),
        (lambda: table.etc_utility_regret(3, -0.5, [10]), r"lipschitz = -0\.5"),
        (lambda: table.utility_regret_lower_bound(3, [10], c=0), r"c = 0: must be a number above 0"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(jb.InputError, match=message):
        call()


def test_examples_run():
    names = [f"jaxbandit.metrics.bounds.{found.name}" for found in pkgutil.iter_modules(theory.__path__)]
    modules = [importlib.import_module(name) for name in names]
    tried = 0
    for module in [table, *modules]:
        for test in doctest.DocTestFinder().find(module, extraglobs={"jb": jb}):
            tried += len(test.examples)
            assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
    assert tried > 20


def test_every_bound_names_its_paper_and_has_an_example():
    modules = ("guarantees", "merit", "opportunities", "penalties", "plays")
    functions = [
        value for value in vars(table).values() if getattr(value, "__module__", "").rpartition(".")[2] in modules
    ]
    assert len(functions) > 20
    for function in functions:
        paper = function.__module__.rpartition(".")[2]
        assert "Example:" in function.__doc__, function
        assert f"Source: {paper} paper" in function.__doc__, function
