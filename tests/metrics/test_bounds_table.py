"""The table of which bound is for what: the values, conditions and texts of its rows, and how bounds are found."""

import math

import numpy as np
import pytest
import reference_bounds as reference

import jaxbandit as jb
from jaxbandit.metrics.bounds.table import BOUNDS, bounds_for
from jaxbandit.metrics.definitions import METRICS
from jaxbandit.policies.base import Policy
from jaxbandit.policies.make_policy import kind_of

MU, TAU, A, T = [0.9, 0.5, 0.3, 0.6], [0.1, 0.2, 0.0, 0.15], [0.5, 0.45, 0.2, 0.1], 500
ONE_PLAY = jb.Problem(MU, fractions=TAU, penalties=A)
EQUAL = jb.Problem(MU, fractions=0.2)
GAUSSIAN = jb.Problem(MU, fractions=TAU, penalties=A, reward={"kind": "gaussian", "sd": 0.7})
SHARES = [0.3, 0.1, 0.05, 0.2]
PLAYS = jb.Problem(MU, plays=2, fractions=SHARES)
MERIT = jb.Problem(MU, plays=2, delay={"kind": "packet-loss", "p": 0.9}, merit={"kind": "power", "scale": 0.5})
UTILITY = jb.Problem(MU, penalties=1.0, opportunity="linear")
FAMILY = jb.instances.lower_bound_family(2, T, 1.0, 2.0)
ROOT = math.sqrt(T)
Q = 0.9  # the share of rewards that arrives, at once
STEEP = 0.5 * 4 * 2  # M L / lambda
VALUES = {
    "penalties Theorem 2, eq. 13 penalized_regret hard-threshold-ucb": (
        ONE_PLAY,
        reference.penalized(MU, TAU, A, T, 1.0),
    ),
    "penalties Theorem 3, eq. 14 max_deficit hard-threshold-ucb": (
        jb.Problem(MU, fractions=TAU, penalties=[0.5, 0.6, 0.7, 0.6]),
        sum(reference.deficits(MU, [0.5, 0.6, 0.7, 0.6], T)),
    ),
    "penalties Theorem 4, eq. 15 penalized_regret hard-threshold-ucb": (ONE_PLAY, reference.worst_penalized(TAU, A, T)),
    "penalties Theorem 5, eq. 16 penalized_regret hard-threshold-ucb": (
        jb.Problem([1.0, 0.0], fractions=0.45, penalties=0.05),
        reference.noncritical_least([1.0, 0.0], [0.45, 0.45], [0.05, 0.05], T),
    ),
    "penalties Theorem 6, eq. 17 penalized_regret hard-threshold-ucb": (
        jb.Problem([0.9, 0.3], fractions=0.01, penalties=0.7),
        reference.critical_least([0.9, 0.3], [0.01, 0.01], [0.7, 0.7], T),
    ),
    "penalties Theorem 7 penalized_regret *": (GAUSSIAN, reference.penalized_least(TAU, A, T, 0.7)),
    "guarantees Theorem 2 r_regret t-fucb": (ONE_PLAY, reference.fair_ucb(MU, TAU, T)),
    "guarantees Theorem 3 r_regret fair-learn": (ONE_PLAY, reference.fair_ucb(MU, TAU, T)),
    "guarantees Theorem 4 max_deficit fair-learn": (EQUAL, 0.8),
    "guarantees Theorem 5 r_regret fair-learn": (EQUAL, reference.worst_fair(MU, [0.2] * 4, T) + 4 * 0.6),
    "guarantees Theorem 5 r_regret fair-random": (ONE_PLAY, reference.worst_fair(MU, TAU, T)),
    "guarantees Theorem 7 regret ucb1": (ONE_PLAY, reference.fair_ucb(MU, [0.0] * 4, T)),
    "merit Theorem 6 reward_regret fcucb-d": (MERIT, 4 / Q * ROOT),
    "merit Theorem 6 fairness_regret fcucb-d": (MERIT, STEEP * 4 / Q * ROOT),
    "merit Theorem 7 reward_regret fcts-d": (MERIT, 4 / Q * ROOT),
    "merit Theorem 7 fairness_regret fcts-d": (MERIT, STEEP * 4 / Q * ROOT),
    "merit Theorem 8 reward_regret op-fcucb-d": (MERIT, 2 * (1 - Q) * T + 4 * ROOT),
    "merit Theorem 8 fairness_regret op-fcucb-d": (MERIT, STEEP * 4 * ((1 - Q) * T + ROOT)),
    "merit Theorem 9 reward_regret op-fcts-d": (MERIT, STEEP * 4 * ((1 - Q) * T + ROOT / Q)),
    "merit Theorem 9 fairness_regret op-fcts-d": (MERIT, STEEP * 4 * ((1 - Q) * T + ROOT / Q)),
    "plays Theorem 3.4 max_deficit fair-mmab": (PLAYS, 1.0),
    "plays Theorem 3.5 c_regret fair-mmab": (PLAYS, reference.mmab_ucb1(MU, SHARES, 2)),
    "plays Theorem 3.6 c_regret fair-mmab/kl-ucb": (PLAYS, reference.mmab_kl_ucb(MU, SHARES, 2, 0.0)),
    "opportunities Theorem 1 utility_regret fairness-aware-etc": (UTILITY, reference.etc(4, 0.25, T)),
    "opportunities Theorem 2 utility_regret self-regulated": (UTILITY, reference.self_regulated(4, 0.25, T)),
    "opportunities Theorem 3 utility_regret *": (FAMILY, reference.utility_least(2, T, 1.0, 2.0)),
}


def row_of(bound):
    return f"{bound.paper} {bound.theorem} {bound.metric} {bound.policies[0]}"


@pytest.mark.parametrize("bound", BOUNDS, ids=row_of)
def test_the_value_of_every_bound_is_that_of_the_paper(bound):
    problem, expected = VALUES[row_of(bound)]
    value = bound.value(problem, T, [T // 2, T])
    assert 0 < expected < math.inf
    np.testing.assert_allclose(value[1], expected, 1e-9)
    trivial = math.inf if bound.side == "upper" else 0.0
    assert np.all((value[0] == trivial) == (bound.holds_at == "the horizon"))
    assert np.all((value[0] == value[1]) == (bound.holds_at == "constant"))


def test_every_bound_of_the_papers_is_in_the_table_and_of_known_policies():
    kinds = {kind_of(jb.policy(name)) for name in Policy.registry} | {"fair-mmab/kl-ucb"}
    for bound in BOUNDS:
        assert any(bound.covers(name) for name in kinds), bound.source
        assert bound.metric in METRICS
    assert set(VALUES) == {row_of(bound) for bound in BOUNDS}
    theorems = {"penalties": 6, "guarantees": 5, "merit": 4, "plays": 3, "opportunities": 3}
    for name, count in theorems.items():
        assert len({bound.theorem for bound in BOUNDS if bound.paper == name}) == count
    exact = {bound.source for bound in BOUNDS if bound.exact}
    assert exact == {
        *("penalties paper, Theorem 4, eq. 15", "penalties paper, Theorem 7"),
        *(f"guarantees paper, Theorem {number}" for number in (2, 3, 4, 5, 7)),
        *(f"plays paper, Theorem 3.{number}" for number in (4, 5, 6)),
    }
    lower = {bound.source for bound in BOUNDS if bound.side == "lower"}
    assert lower == {
        *(f"penalties paper, Theorem {number}" for number in ("5, eq. 16", "6, eq. 17", "7")),
        "opportunities paper, Theorem 3",
    }
    assert lower == {bound.source for bound in BOUNDS if bound.worst_case}


def test_a_bound_shows_what_it_is_for():
    shown = [repr(bound) for bound in BOUNDS]
    assert len(set(shown)) == len(BOUNDS)
    for bound, text in zip(BOUNDS, shown, strict=True):
        assert text.startswith(f"<{bound.source}: {bound.side} bound on {bound.metric} of ")
        assert "assumes " in text
        assert "0x" not in text
    assert "of any policy, at the horizon, up to constants, for the worst problem of a set;" in shown[-1]


WORLD = jb.Problem(
    [[0.9, 0.88, 0.2, 0.1], [0.3, 0.7, 0.6, 0.1]],
    fractions=[[0.3, 0.1, 0.2, 0.05], [0.2, 0.2, 0.2, 0.2]],
    penalties=[[0.3, 0.2, 0.1, 0.4], [0.1, 0.5, 0.7, 0.2]],
)


@pytest.mark.parametrize(
    ("name", "metric", "theorems"),
    [
        ("hard-threshold-ucb", "penalized_regret", ["Theorem 2", "Theorem 4", "Theorem 5", "Theorem 6"]),
        ("hard-threshold-ucb", "max_deficit", ["Theorem 3"]),
        ("fair-learn", "r_regret", ["Theorem 3"]),  # fractions differ, so Theorem 4, on which 5 rests, does not apply
        ("fair-learn/thompson", "r_regret", []),
        ("t-fucb", "r_regret", ["Theorem 2"]),
        ("fair-random", "r_regret", ["Theorem 5"]),
        ("ucb1", "regret", ["Theorem 7"]),
        ("ucb1", "r_regret", []),
        ("fair-mmab", "max_deficit", []),  # a fraction of L/K or more
    ],
)
def test_the_bounds_for_a_problem_are_those_whose_conditions_hold(name, metric, theorems):
    found = bounds_for(WORLD, name, metric)
    assert [bound.theorem.split(",")[0] for bound in found] == theorems
    for bound in found:
        value = bound.value(WORLD, 100, [1, 50, 100])
        assert value.shape == (3, 2)
        assert value.dtype == np.float64
        assert not np.isnan(value).any()


TWO = jb.Problem([0.9, 0.5], fractions=0.1)


@pytest.mark.parametrize(
    ("policy", "metric", "theorems"),
    [
        ("fair-learn", "max_deficit", ["Theorem 4"]),
        ({"kind": "fair-learn", "alpha": 0.0}, "max_deficit", ["Theorem 4"]),
        ({"kind": "fair-learn", "alpha": 30}, "max_deficit", []),
        ({"kind": "fair-learn", "base": {"kind": "ucb1", "exploration": 3.0}}, "max_deficit", ["Theorem 4"]),
        ({"kind": "fair-learn", "base": {"kind": "ucb1", "exploration": 3.0}}, "r_regret", ["Theorem 5"]),
        ({"kind": "fair-learn", "base": "thompson"}, "r_regret", ["Theorem 5"]),
        ({"kind": "ucb1", "exploration": 0.5}, "regret", []),
    ],
    ids=str,
)
def test_theorems_are_about_default_parameters(policy, metric, theorems):
    """Of a base only where a theorem is about one index; those of any base or policy take any parameters."""
    for given in (policy, jb.policy(policy)):
        assert [bound.theorem for bound in bounds_for(TWO, given, metric)] == theorems


def test_theorems_about_any_policy_are_for_any_parameters():
    problem = jb.Problem([0.9, 0.5], fractions=0.1, penalties=0.3, reward={"kind": "gaussian", "sd": 1.0})
    (bound,) = bounds_for(problem, {"kind": "ucb1", "exploration": 0.5}, "penalized_regret")
    assert bound.theorem == "Theorem 7"


def test_groups_are_obeyed_beyond_the_theorems():
    """Half of the rounds go to the worst arm, so the r-regret grows with t."""
    groups = {"groups": [[1]], "group_fractions": [0.5]}
    problem = TWO.replace(**groups)
    assert bounds_for(problem, "fair-learn", "r_regret") == bounds_for(problem, "f-ts", "max_deficit") == []
    assert [bound.theorem for bound in bounds_for(problem, "t-fucb", "r_regret")] == ["Theorem 2"]
    several = jb.Problem([0.9, 0.5, 0.3], fractions=0.1, plays=2)
    for kind in ("fair-mmab", "fair-mmab/kl-ucb"):
        for metric in ("max_deficit", "c_regret"):
            assert bounds_for(several, kind, metric) != []
            assert bounds_for(several.replace(groups=[[1, 2]], group_fractions=[0.5]), kind, metric) == []
    with pytest.raises(jb.InputError, match=r"problem\.group_fractions = .*: must be left out: the theorem assumes"):
        bounds_for(TWO, "fair-learn", "r_regret")[0].value(problem, 100, [100])


@pytest.mark.parametrize(
    ("kind", "metric", "message"),
    [
        ("nonsense", "regret", r"^kind = 'nonsense': must be one of "),
        ("fair-lern", "regret", r"did you mean 'fair-learn'\?"),
        ("fair-learn/tompson", "regret", r"^kind = 'fair-learn/tompson': must be one of "),
        ("ucb1", "nonsense", r"^metric = 'nonsense': must be one of awake_regret, "),
        ("ucb1", "regrets", r"did you mean 'regret'\?"),
    ],
)
def test_unknown_policies_and_metrics_are_refused(kind, metric, message):
    with pytest.raises(jb.InputError, match=message):
        bounds_for(WORLD, kind, metric)


def test_bounds_at_the_horizon_say_nothing_about_earlier_rounds():
    (bound,) = bounds_for(WORLD, "t-fucb", "r_regret")
    value = bound.value(WORLD, 100, [1, 99, 100])
    assert np.isinf(value[:2]).all()
    np.testing.assert_array_equal(value[2:], bound.function(*bound.arguments(WORLD), [100]))


GIVEN = {"fractions": 0.1, "penalties": 0.3, "merit": "power", "opportunity": "linear"}


@pytest.mark.parametrize(
    ("source", "changes", "key"),
    [
        ("penalties paper, Theorem 2, eq. 13", {"penalties": None}, "problem.penalties"),
        ("penalties paper, Theorem 2, eq. 13", {"fractions": None}, "problem.fractions"),
        ("penalties paper, Theorem 4, eq. 15", {"fractions": 0.25}, "problem.fractions"),
        ("penalties paper, Theorem 7", {}, "problem.reward"),
        ("penalties paper, Theorem 7", {"plays": 2, "reward": "gaussian", "merit": None}, "problem.plays"),
        ("guarantees paper, Theorem 3", {"plays": 2, "merit": None}, "problem.plays"),
        ("guarantees paper, Theorem 3", {"delay": {"kind": "fixed", "d": 3}}, "problem.delay"),
        ("guarantees paper, Theorem 3", {"availability": 0.5}, "problem.availability"),
        ("guarantees paper, Theorem 3", {"reward": {"kind": "gaussian", "sd": 0.6}}, "problem.reward"),
        ("guarantees paper, Theorem 4", {"fractions": [0.1, 0.2, 0.1, 0.1]}, "fractions"),
        ("guarantees paper, Theorem 4", {"plays": 2, "merit": None}, "problem.plays"),
        ("merit paper, Theorem 6", {"merit": None}, "problem.merit"),
        ("merit paper, Theorem 6", {"delay": {"kind": "reward-dependent"}}, "delay"),
        ("merit paper, Theorem 9", {"reward": "gaussian"}, "problem.reward"),
        ("plays paper, Theorem 3.5", {"plays": 2, "fractions": 0.34}, "fractions"),
        ("plays paper, Theorem 3.6", {"plays": 2, "fractions": 0}, "fractions"),
        ("plays paper, Theorem 3.4", {"plays": 4, "merit": None}, "plays"),
        ("opportunities paper, Theorem 1", {"opportunity": None}, "problem.opportunity"),
        ("opportunities paper, Theorem 2", {"opportunity": {"kind": "power", "c": 0.5}}, "problem.opportunity"),
        ("opportunities paper, Theorem 3", {}, "problem.opportunity"),
        (
            "opportunities paper, Theorem 3",
            {"opportunity": {"kind": "piecewise-linear", "scale": 2.0, "eps": 0.1}},
            "problem.penalties",
        ),
    ],
)
def test_a_theorem_that_does_not_apply_raises_an_error(source, changes, key):
    bound = next(bound for bound in BOUNDS if bound.source == source)
    problem = jb.Problem([0.9, 0.5, 0.4, 0.2], **{**GIVEN, **changes})
    with pytest.raises(jb.InputError) as error:
        bound.value(problem, 100, [100])
    assert error.value.key == key
