"""The penalties paper: what decides its claims, on results made by hand."""

import numpy as np
import pytest
from made_up_results import SEEDS, MadeUpData

from jaxbandit.papers import Sizes
from jaxbandit.papers.evidence import FAILED, HOLDS_FROM, IN_PART, REPRODUCED, UNDECIDED
from jaxbandit.papers.penalties import experiments as penalties
from jaxbandit.papers.penalties.claims import CLAIMS as ALL_CLAIMS
from jaxbandit.papers.penalties.decisions import counts_of_arms, explained_by_line, exponent, lfg_at
from jaxbandit.papers.penalties.findings import FINDINGS

CLAIMS = {claim.name: claim.weigh for claim in ALL_CLAIMS}
EXPERIMENTS = list(penalties.experiments(Sizes(quick=True)))
DRAW = np.random.default_rng(0)


def verdict(number, data):
    return CLAIMS[f"penalties-{number}"](data).verdict


@pytest.fixture
def data():
    return MadeUpData([one for one in EXPERIMENTS if "figure-4" not in one.name])


def test_every_claim_states_where_it_comes_from_and_why_its_range_is_as_it_is():
    assert all(claim.quotation and claim.place and claim.setting and claim.tolerance for claim in ALL_CLAIMS)


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda one: one.name)
def test_every_finding_contradicts_what_is_printed(finding):
    words, contradicts = finding.measure()
    assert contradicts
    assert any(letter.isdigit() for letter in words)


def counted(results, critical, count, noise):
    """Set the selections of the critical or non-critical arms: `count(inverse, quota)` and noise."""
    for case in range(3):
        one = results.isel(instance=case, policy=0)
        gap = float(one.means.max()) - one.means.values
        chosen = np.flatnonzero((gap > 0) & ((gap <= one.penalties.values) == critical))
        inverse, _, _, quota = counts_of_arms(results, case, critical)
        values = count(inverse, quota[0]) * (1 + noise * DRAW.standard_normal((SEEDS, len(chosen))))
        results.pulls.values[0, case][:, chosen] = values


@pytest.mark.parametrize("critical", [False, True])
@pytest.mark.parametrize(
    ("power", "noise", "expected"),
    [(1.0, 0.01, REPRODUCED), (0.4, 0.01, FAILED), (1.0, 0.9, UNDECIDED)],
    ids=["proportional", "a power of 0.4", "noise"],
)
def test_counts_in_proportion_lie_on_a_line_through_the_origin(data, critical, power, noise, expected):
    def count(inverse, quota):
        reference = 1.2 * quota * (inverse / inverse.min()) ** power
        return reference if critical else 0.8 * quota * (inverse / inverse.max()) ** power

    for long in (False, True):
        counted(data[penalties.name_a_b(critical, long)], critical, count, noise)
    assert verdict(2 if critical else 1, data) == expected


def test_lines_and_exponents():
    x = np.array([1.0, 2.0, 4.0])
    assert explained_by_line(x, 3 * x, through_origin=True) == pytest.approx(1)
    assert explained_by_line(x, 3 * x + 5, through_origin=False) == pytest.approx(1)
    assert explained_by_line(x, 3 * x + 5, through_origin=True) < 0.9
    assert exponent(x, 7 * x**0.55) == pytest.approx(0.55)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda gain, t: gain, REPRODUCED),
        (lambda gain, t: gain if t >= 4000 else 0 * gain, HOLDS_FROM),
        (lambda gain, t: -gain, FAILED),
    ],
    ids=["less", "ties at first", "more"],
)
def test_the_least_penalized_regret(data, change, expected):
    for name in penalties.PANELS_C:
        results = data[name]
        own = results.penalized_regret.sel(policy=penalties.OWN).values
        for position, t in enumerate(results["round"].values.tolist()):
            for label in ("fair-learn", lfg_at(results, t)):
                gain = change(5 + DRAW.random(own.shape[0]), t)
                results.penalized_regret.loc[{"policy": label, "round": t}] = own[:, position] + gain
    assert verdict(3, data) == expected


def unfair_below(data, family, least_scale):
    """Set the selections: arm k has its quota at the scales s >= least_scale(k), and none of it below."""
    for setting in penalties.SETTINGS:
        results = data[penalties.name_d(setting)]
        members = results.policy.values[results.family.values == family]
        quota = results.fractions.values[0] * float(results["round"][-1])
        for number, label in enumerate(members, start=1):
            fair = np.array([number / len(members) >= least_scale(k) for k in range(8)])
            results.pulls.loc[{"policy": label}] = np.where(fair, quota + 1, 0.0)


def one_by_one(k):
    return 0.1 * k


def at_once(k):
    return 1.0 if k else 0.0


def later_at_once(k):
    return 0.5 if k else 0.0


def never(k):
    return 0.0


@pytest.mark.parametrize(
    ("own", "rivals", "expected"),
    [
        (one_by_one, at_once, (REPRODUCED, REPRODUCED, REPRODUCED)),
        (at_once, one_by_one, (FAILED, FAILED, FAILED)),
        (one_by_one, one_by_one, (REPRODUCED, FAILED, UNDECIDED)),
        (never, later_at_once, (FAILED, FAILED, REPRODUCED)),
    ],
    ids=["as claimed", "reversed", "alike", "none, and all at half the scale"],
)
def test_arms_that_become_unfair_one_by_one_or_at_once(data, own, rivals, expected):
    unfair_below(data, penalties.OWN, own)
    for rival in penalties.RIVALS:
        unfair_below(data, rival, rivals)
    assert tuple(verdict(number, data) for number in (4, 5, 7)) == expected


@pytest.mark.parametrize(
    ("gains", "expected"),
    [({"fair-learn": 30, "lfg": 40}, REPRODUCED), ({"fair-learn": 30, "lfg": -40}, IN_PART)],
    ids=str,
)
def test_the_reward_at_equal_unfairness(gains, expected):
    data = MadeUpData([one for one in EXPERIMENTS if "figure-4" in one.name])
    for results in data.values():
        instances = DRAW.random(results.sizes["instance"])[:, None]
        for family in (penalties.OWN, *penalties.RIVALS):
            members = results.policy.values[results.family.values == family]
            for number, label in enumerate(members):
                unfair = 100.0 * (len(members) - number)
                at = {"policy": label}
                results.unfairness_final.loc[at] = unfair + 0 * results.unfairness_final.loc[at]
                regret = 900 - 2 * unfair + gains.get(family, 0) + instances
                results.regret_final.loc[at] = regret + 0 * results.regret_final.loc[at]
    assert verdict(6, data) == expected


@pytest.mark.parametrize(
    ("soft", "hard", "expected"),
    [
        (lambda t: 0.1 * t, lambda t: 0.3, (REPRODUCED, REPRODUCED, REPRODUCED)),
        (lambda t: 9 * t**0.5, lambda t: 0.01 * t, (FAILED, FAILED, FAILED)),
    ],
    ids=["as claimed", "reversed"],
)
def test_deficits_that_stay_or_grow(data, soft, hard, expected):
    for t in penalties.FAIR_TIMES[:-1]:
        results = data[penalties.name_fair(t)]
        for label, missed in ((penalties.SOFT, soft(t)), (penalties.OWN, hard(t))):
            noise = 1 + 0.001 * DRAW.standard_normal(SEEDS)
            results.unfairness_final.loc[{"policy": label}] = missed * noise
            results.max_deficit_ever.loc[{"policy": label}] = missed * noise
    assert tuple(verdict(number, data) for number in (8, 9, 10)) == expected
