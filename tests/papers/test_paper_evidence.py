"""Verdicts on claims: what follows from estimates and their errors."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from jaxbandit.papers.evidence import (
    FAILED,
    HOLDS_FROM,
    HOLDS_UNTIL,
    IN_PART,
    REPRODUCED,
    UNDECIDED,
    VERDICTS,
    Estimate,
    decide,
    decide_over_time,
    decide_some,
    decide_with_tolerances,
    growth,
    holds_from,
    mean_over_runs,
    parameter_in_label,
    ratio,
    signs_in_words,
    split_by_verdict,
)
from jaxbandit.papers.penalties.decisions import tradeoff_line


@pytest.mark.parametrize(
    ("values", "verdict", "number", "inside"),
    [
        ([5.0, 4.0], REPRODUCED, 4.0, 2),
        ([5.0, 2.0], REPRODUCED, 2.0, 2),  # 2 is above 1.96: no correction for the number of settings
        ([5.0, 1.9], UNDECIDED, 1.9, 1),
        ([5.0, -2.0], UNDECIDED, -2.0, 1),  # -2 is above -2.24: a counterexample among two needs more
        ([5.0, -4.0, -3.0], IN_PART, -4.0, 1),
        ([-5.0, -4.0, 0.5], FAILED, -5.0, 0),
        ([5.0, math.nan], UNDECIDED, 5.0, 1),
    ],
)
def test_verdicts_follow_from_the_estimates(values, verdict, number, inside):
    evidence = decide("more than 0", [Estimate(str(v), v, 1.0) for v in values], low=0.0)
    assert (evidence.verdict, evidence.number, evidence.setting) == (verdict, number, str(number))
    assert (evidence.compared, len(evidence.inside), evidence.tolerance) == (len(values), inside, (0.0, math.inf))
    settings = len(values) if verdict in (IN_PART, FAILED) else 1  # Bonferroni's intervals for counterexamples alone
    half = NormalDist().inv_cdf(1 - 0.05 / (2 * settings))
    assert (evidence.low, evidence.high) == pytest.approx((number - half, number + half))


def test_without_estimates_a_claim_cannot_be_told():
    evidence = decide("", [], low=0.0)
    assert evidence.verdict == UNDECIDED
    assert math.isnan(evidence.number)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [([1.0, 0.0, 2.0], REPRODUCED), ([0.0, 0.0], UNDECIDED), ([-1.0, 0.0], FAILED), ([-1.0, 0.0, 2.0], IN_PART)],
)
def test_an_exact_tie_says_nothing(values, verdict):
    evidence = decide("more than 0", [Estimate(str(v), v) for v in values], low=0.0)
    assert (evidence.verdict, evidence.ties) == (verdict, values.count(0.0))


def test_few_samples_have_the_quantiles_of_student():
    assert Estimate("", 1.0, 1.0, 5).half_width(0.05) == pytest.approx(2.776, abs=1e-3)  # 4 degrees of freedom
    assert Estimate("", 1.0, 1.0).half_width(0.05) == pytest.approx(1.960, abs=1e-3)
    assert mean_over_runs("", np.arange(5.0)[None]).samples == 5
    assert decide("", [Estimate("", 2.5, 1.0, 5)], low=0.0).verdict == UNDECIDED


SETTINGS, SAMPLES, REPEATED = 8, 10, 1500
BEYOND = 3 * math.sqrt(0.05 * 0.95 / REPEATED)  # three standard errors of a share of 5 %


def shares_of_verdicts(means):
    """How often each verdict is reached on normal samples with these means and deviation 1; more than 0 is claimed."""
    draw = np.random.default_rng(5)
    samples = np.asarray(means)[:, None] + draw.normal(size=(REPEATED, len(means), SAMPLES))
    value, error = samples.mean(-1), samples.std(-1, ddof=1) / math.sqrt(SAMPLES)
    found = [
        decide("", [Estimate("", v, e, SAMPLES) for v, e in zip(*row, strict=True)], low=0.0).verdict
        for row in zip(value.tolist(), error.tolist(), strict=True)
    ]
    return {name: found.count(name) / REPEATED for name in VERDICTS}


def test_error_rates():
    """Five kinds of worlds; a gate is three standard errors: a false alarm in 1 % of all drawings of this test."""
    assert shares_of_verdicts([3.0] * SETTINGS)[REPRODUCED] > 0.99
    edge = shares_of_verdicts([3.0] * (SETTINGS - 1) + [0.0])  # not true in one setting, by a hair
    assert edge[REPRODUCED] < 0.05 + BEYOND
    assert shares_of_verdicts([3.0] * (SETTINGS - 1) + [-3.0])[IN_PART] > 0.99
    none = shares_of_verdicts([0.0] * SETTINGS)  # nothing can be told
    assert none[FAILED] + none[IN_PART] < 0.05 + BEYOND
    assert none[UNDECIDED] > 0.95 - BEYOND
    assert shares_of_verdicts([-3.0] * SETTINGS)[FAILED] > 0.99


def test_both_ends_of_the_range_count_and_exact_values_need_no_interval():
    assert decide("", [Estimate("", 0.5)], 0.0, 1.0).verdict == REPRODUCED
    assert decide("", [Estimate("", 1.5)], 0.0, 1.0).verdict == FAILED
    assert decide("", [Estimate("", 1.0)], high=1.0).verdict == FAILED  # a level, not a difference
    assert decide("", [Estimate("", 0.9, 0.2)], high=1.0).verdict == UNDECIDED


UP, DOWN, OPEN, TIE = Estimate("", 1.0, 0.1), Estimate("", -1.0, 0.1), Estimate("", 0.05, 0.1), Estimate("", 0.0)


@pytest.mark.parametrize(
    ("by_time", "verdict", "where"),
    [
        ([[UP], [UP], [UP]], REPRODUCED, ""),
        ([[TIE, UP], [UP], [UP]], REPRODUCED, ""),
        ([[TIE], [UP], [UP]], HOLDS_FROM, "T ≥ 100"),
        ([[UP], [TIE], [TIE, TIE]], HOLDS_UNTIL, "T ≤ 10"),
        ([[UP], [DOWN], [UP]], HOLDS_FROM, "T ≥ 1,000"),
        ([[OPEN], [UP, DOWN], [UP, UP]], HOLDS_FROM, "T ≥ 1,000"),
        ([[UP], [UP], [DOWN]], HOLDS_UNTIL, "T ≤ 100"),
        ([[UP], [OPEN], [DOWN]], HOLDS_UNTIL, "T ≤ 10"),
        ([[UP, DOWN], [DOWN], [DOWN]], IN_PART, ""),
        ([[DOWN], [DOWN], [OPEN]], FAILED, ""),
        ([[OPEN], [OPEN], [TIE]], UNDECIDED, ""),
        ([[UP], [OPEN], [OPEN]], UNDECIDED, ""),
    ],
)
def test_claims_that_hold_from_a_horizon_on_or_up_to_one(by_time, verdict, where):
    evidence = decide_over_time("", dict(zip((10, 100, 1000), by_time, strict=True)), low=0.0)
    assert (evidence.verdict, evidence.holds_for) == (verdict, where)
    times = {"T ≥ 100": by_time[1:], "T ≥ 1,000": by_time[2:], "T ≤ 10": by_time[:1], "T ≤ 100": by_time[:2]}
    assert evidence.compared == sum(map(len, times.get(where, by_time)))  # of which the ties are counted, too


def test_growth_is_the_ratio_of_two_steps_and_is_none_where_nothing_grows():
    noise = 0.1 * np.array([[1.0, -1.0, 2.0, -2.0]])
    assert growth("", noise, 5 + noise, 15 + 2 * noise).value == pytest.approx(2.0, rel=0.05)
    for early, middle, late in ((5, 4, 3), (0, 5, 5), (0, 0, 5)):
        estimate = growth("here", early + noise, middle + 2 * noise, late - noise)
        assert math.isnan(estimate.value)
        assert estimate.setting == "here (it does not grow)"
        assert decide("", [estimate], high=1.4).verdict == UNDECIDED


def test_only_claims_that_are_not_reproduced_have_a_finding():
    holds, fails = (decide("", [Estimate("", value)], low=0.0) for value in (1.0, -1.0))
    assert holds.explained("why", "where").finding == ""
    assert (fails.explained("why", "where").finding, fails.explained("why", "where").holds_for) == ("why", "where")


def test_errors_are_over_instances_where_there_are_several():
    values = np.array([[1.0, 3.0], [5.0, 7.0], [12.0, 14.0]])
    means = [2.0, 6.0, 13.0]
    estimate = mean_over_runs("", values)
    assert estimate.value == pytest.approx(7.0)
    assert estimate.stderr == pytest.approx(np.std(means, ddof=1) / math.sqrt(3))
    assert mean_over_runs("", values[:1]).stderr == pytest.approx(1.0)


def test_the_error_of_a_ratio_is_the_deviation_of_many_ratios():
    """The deviation of 4000 ratios has a relative standard error of 1/sqrt(8000) = 1.1 %; the gate is five of them."""
    draw = np.random.default_rng(3)
    below = draw.normal(10, 2, (4000, 50))
    above = 3 * below + draw.normal(0, 5, below.shape)
    estimates = [ratio("here", a[None], b[None]) for a, b in zip(above, below, strict=True)]
    values = np.array([estimate.value for estimate in estimates])
    assert np.mean([estimate.stderr for estimate in estimates]) == pytest.approx(values.std(), rel=0.056)
    assert values.mean() == pytest.approx(3, abs=5 * values.std() / np.sqrt(4000) + 0.01)
    assert ratio("here", 3 * below[:1], below[:1]).stderr == pytest.approx(0, abs=1e-12)


def test_the_earliest_time_from_which_a_claim_holds():
    up, down = Estimate("", 1.0, 0.1), Estimate("", -1.0, 0.1)
    by_time = {10: [up], 20: [down], 30: [up], 40: [Estimate("", 2)]}
    assert holds_from(by_time, 0.0) == 30
    assert holds_from({10: [up], 20: [down]}, 0.0) is None
    assert split_by_verdict({"a": [up], "b": [down, up]}, low=0.0) == (["a"], ["b"])
    assert signs_in_words([up, down]) == "1 of 2 differences are positive; all lie from -1 to 1"


def test_parameters_in_labels():
    assert parameter_in_label("lfg (eta=0.5)") == 0.5
    assert parameter_in_label("eta-fucb (eta=1e-06)") == 1e-6


def test_a_tradeoff_is_its_means_over_instances_in_order_of_unfairness():
    """Three configurations on two instances."""
    unfair = np.array([[3.0, 5.0], [1.0, 2.0], [9.0, 0.0]])
    reward = np.array([[10.0, 20.0], [30.0, 40.0], [50.0, 70.0]])
    x, y = tradeoff_line(unfair, reward)
    assert (x.tolist(), y.tolist()) == ([1.5, 4.0, 4.5], [35.0, 15.0, 60.0])


@pytest.mark.parametrize(
    ("values", "verdict", "inside"),
    [
        ([-5.0, 3.0], REPRODUCED, 1),
        ([-5.0, 2.0], UNDECIDED, 0),  # 2 is below 2.24: one of two settings needs more than 1.96
        ([-5.0, -2.0], FAILED, 0),
        ([0.0, 0.0], UNDECIDED, 0),
    ],
)
def test_one_setting_decides_what_may_be(values, verdict, inside):
    evidence = decide_some("above 0", [Estimate(str(v), v, 1.0 if v else 0.0) for v in values], low=0.0)
    assert (evidence.verdict, len(evidence.inside)) == (verdict, inside)


def test_the_error_rate_of_what_may_be():
    """No setting is above 0; a gate of three standard errors: a false alarm in 0.1 % of all drawings of this test."""
    samples = np.random.default_rng(6).normal(size=(REPEATED, SETTINGS, SAMPLES))
    value, error = samples.mean(-1), samples.std(-1, ddof=1) / math.sqrt(SAMPLES)
    found = [
        decide_some("", [Estimate("", v, e, SAMPLES) for v, e in zip(*row, strict=True)], low=0.0).verdict
        for row in zip(value.tolist(), error.tolist(), strict=True)
    ]
    assert found.count(REPRODUCED) / REPEATED < 0.05 / 2 + BEYOND


def test_other_tolerances_are_recorded():
    evidence = decide_with_tolerances(
        0.5, (0.1, 2.0), lambda t: decide(f"{t}", [Estimate("", 1.0)], high=t), "below {:g}"
    )
    assert evidence.verdict == FAILED
    assert evidence.other_tolerances == (("below 0.1", FAILED), ("below 2", REPRODUCED))


def test_at_quick_sizes_a_counterexample_decides_nothing():
    fails, holds = (decide("", [Estimate("", value)], low=0.0) for value in (-1.0, 1.0))
    assert fails.at_quick_sizes().verdict == UNDECIDED
    assert "not reproduced" in fails.at_quick_sizes().finding
    assert holds.at_quick_sizes() == holds


def test_at_quick_sizes_no_tolerance_decides_against_a_claim():
    def decided(least):
        return decide("", [UP], low=least)

    found = decide_with_tolerances(0.0, (UP.value - 0.5, UP.value + 9.0), decided).at_quick_sizes()
    assert found.verdict == REPRODUCED
    assert UNDECIDED in dict(found.other_tolerances).values()
    assert not {FAILED, IN_PART} & set(dict(found.other_tolerances).values())
