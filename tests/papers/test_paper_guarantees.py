"""The guarantees paper: what decides its claims, on results made by hand."""

import math

import numpy as np
import pytest
from made_up_results import SEEDS, MadeUpData

from jaxbandit.papers import Sizes
from jaxbandit.papers.evidence import FAILED, HOLDS_FROM, HOLDS_UNTIL, IN_PART, REPRODUCED, UNDECIDED
from jaxbandit.papers.guarantees import experiments as guarantees
from jaxbandit.papers.guarantees.claims import CLAIMS as ALL_CLAIMS
from jaxbandit.papers.guarantees.findings import FINDINGS

CLAIMS = {claim.name: claim.weigh for claim in ALL_CLAIMS}
EXPERIMENTS = list(guarantees.experiments(Sizes()))
NOISE = np.random.default_rng(2).standard_normal(SEEDS)
NOISE -= NOISE.mean()  # so that means are exact


@pytest.fixture
def data():
    return MadeUpData(EXPERIMENTS)


def decided(number, data):
    return CLAIMS[f"guarantees-{number}"](data)


def curve(data, name, metric, label, at, noise=0.001):
    """Set the curves of a metric: `at(t)` in every run, with noise that differs between policies."""
    held = data[name][f"{metric}_runs"]
    rounds = data[name]["round"].values
    spread = np.roll(NOISE, sum(map(ord, label)))[:, None]
    held.loc[{"policy": label}] = np.array([at(t) for t in rounds.tolist()]) * (1 + noise * spread)


def test_every_claim_states_where_it_comes_from_and_why_its_range_is_as_it_is():
    assert all(claim.quotation and claim.place and claim.setting and claim.tolerance for claim in ALL_CLAIMS)


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda one: one.name)
def test_every_finding_contradicts_what_is_printed(finding):
    assert finding.measure()[1]


@pytest.mark.parametrize(
    ("own", "expected", "where"),
    [
        (lambda t: 1.05, REPRODUCED, ""),
        (lambda t: 1.05 if t <= 20_000 else 2.0, HOLDS_UNTIL, "T ≤ 20,000"),
        (lambda t: 1.05 if t > 20_000 else 2.0, HOLDS_FROM, "T ≥ 80,000"),
        (lambda t: 0.5, FAILED, ""),
    ],
)
def test_regrets_that_follow_that_of_ucb1(data, own, expected, where):
    curve(data, guarantees.REGRET, "regret", "UCB1", lambda t: t**0.5)
    for label in ("LFG", "η-FUCB"):
        curve(data, guarantees.REGRET, "regret", label, lambda t: own(t) * t**0.5)
    evidence = decided(1, data)
    assert (evidence.verdict, evidence.holds_for) == (expected, where)


@pytest.mark.parametrize(("factor", "expected"), [(0.5, REPRODUCED), (1.5, FAILED)])
def test_thompson_sampling_below_ucb1(data, factor, expected):
    curve(data, guarantees.REGRET, "regret", "UCB1", lambda t: t**0.5)
    curve(data, guarantees.REGRET, "regret", "F-TS", lambda t: factor * t**0.5)
    assert decided(2, data).verdict == expected


@pytest.mark.parametrize(
    ("regret", "expected"),
    [
        (math.log, REPRODUCED),
        (lambda t: t**0.5, FAILED),
        (lambda t: math.log(t) + t**2 * (t < 9_999) / 1e5, HOLDS_FROM),
    ],
    ids=["logarithm", "root", "logarithm at last"],
)
def test_r_regrets_that_grow_like_a_logarithm(data, regret, expected):
    for name in (guarantees.R_REGRET, guarantees.FRACTIONS):
        for label in ("FUCB", "LFG"):
            curve(data, name, "r_regret", label, regret, noise=1e-5)
    evidence = decided(3, data)
    assert evidence.verdict == expected
    assert evidence.holds_for == ("T ≥ 320,000" if expected == HOLDS_FROM else "")


def traded(data, increases, missed):
    labels = data[guarantees.ETA].policy.values.tolist()
    for number, label in enumerate(labels):
        level = 10 + number if increases else 10 - number
        curve(data, guarantees.ETA, "r_regret", label, lambda t, level=level: level, noise=1e-4)
        curve(data, guarantees.ETA, "unfairness", label, lambda t: missed, noise=1e-4)


@pytest.mark.parametrize(
    ("increases", "missed", "expected"), [(True, 2, REPRODUCED), (True, 20, IN_PART), (False, 20, FAILED)]
)
def test_r_regret_for_fairness(data, increases, missed, expected):
    traded(data, increases, missed)
    assert decided(4, data).verdict == expected


@pytest.mark.parametrize(("printed", "expected"), [(math.log, REPRODUCED), (lambda t: t, FAILED)])
def test_the_largest_eta_as_printed_and_clipped(data, printed, expected):
    label = data[guarantees.ETA].policy.values[-1]
    curve(data, guarantees.ETA, "r_regret", label, printed, noise=1e-5)
    curve(data, guarantees.CLIPPED, "r_regret", label, math.log, noise=1e-5)
    evidence = decided(5, data)
    assert (evidence.verdict, evidence.holds_for) == (
        expected,
        "" if expected == REPRODUCED else "γ clipped at 0, all T",
    )


@pytest.mark.parametrize(("largest", "expected"), [(0.9, REPRODUCED), (1.2, FAILED)])
def test_no_arm_is_behind_by_a_round(data, largest, expected):
    data[guarantees.R_REGRET].max_deficit_ever[:] = largest
    assert decided(6, data).verdict == expected


@pytest.mark.parametrize(
    ("factor", "expected"),
    [(lambda r: 1.1, REPRODUCED), (lambda r: 1.1 if r < 0.03 else 0.2, IN_PART), (lambda r: 0.2, FAILED)],
    ids=["all r", "small r", "no r"],
)
def test_an_r_regret_similar_to_that_of_ucb1(data, factor, expected):
    for name, every_r in ((guarantees.R_REGRET, [0.05]), (guarantees.FRACTIONS, guarantees.OTHER_R)):
        factors = np.array([factor(r) for r in every_r])[:, None, None]
        curve(data, name, "regret", "UCB1", lambda t: t**0.5)
        curve(data, name, "r_regret", "FUCB", lambda t: t**0.5)
        data[name].r_regret_runs.loc[{"policy": "FUCB"}] *= factors
    assert decided(7, data).verdict == expected


@pytest.mark.parametrize(
    ("lfg", "expected"),
    [(lambda t: 0.5, REPRODUCED), (lambda t: 0.5 if t < 9_999 else 2.0, IN_PART), (lambda t: 2.0, FAILED)],
    ids=["less", "less at first", "more"],
)
def test_lfg_against_the_policies_of_the_paper(data, lfg, expected):
    for name in (guarantees.R_REGRET, guarantees.FRACTIONS):
        for label in data[name].policy.values.tolist():
            curve(data, name, "r_regret", label, lambda t, label=label: (lfg(t) if label == "LFG" else 1) * t**0.5)
    assert decided(8, data).verdict == expected


@pytest.mark.parametrize(
    ("known", "naive", "expected"),
    [
        (0.5, lambda t: t**0.7, (REPRODUCED, REPRODUCED)),
        (2.0, lambda t: t, (FAILED, FAILED)),
        (1.0, lambda t: t**0.9, (UNDECIDED, UNDECIDED)),
        (-1.0, lambda t: -t, (REPRODUCED, UNDECIDED)),
    ],
    ids=["better", "worse", "alike", "below 0"],
)
def test_policies_that_know_the_horizon(data, known, naive, expected):
    curve(data, guarantees.R_REGRET, "r_regret", "FUCB", math.sqrt, noise=0.01)
    for t in guarantees.KNOWN_TIMES:
        held = data[guarantees.known_name(t)].r_regret_final
        held.loc[{"policy": "T-FUCB"}] = known * math.sqrt(t) * (1 + 0.01 * np.roll(NOISE, 3))
        held.loc[{"policy": "NAIVE"}] = naive(t) * (1 + 0.01 * NOISE)
    assert tuple(decided(number, data).verdict for number in (9, 10)) == expected
