"""Verdicts on claims: what follows from estimates and their errors."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from jaxbandit.papers.evidence import (
    FAILED,
    REPRODUCED,
    UNDECIDED,
    Estimate,
    decide,
    holds_from,
    mean_over_runs,
    parameter_in_label,
    ratio,
    signs_in_words,
    split_by_verdict,
)
from jaxbandit.papers.penalties.claims import tradeoff_line


@pytest.mark.parametrize(
    ("values", "verdict", "number"),
    [
        ([5.0, 4.0], REPRODUCED, 4.0),
        ([5.0, 2.0], UNDECIDED, 2.0),
        ([5.0, -2.0], UNDECIDED, -2.0),
        ([5.0, -4.0, -3.0], FAILED, -4.0),
        ([5.0, math.nan], UNDECIDED, 5.0),
    ],
)
def test_verdicts_follow_from_the_estimates(values, verdict, number):
    evidence = decide("more than 0", [Estimate(str(v), v, 1.0) for v in values], low=0.0)
    assert (evidence.verdict, evidence.number, evidence.setting) == (verdict, number, str(number))
    assert (evidence.compared, evidence.tolerance) == (len(values), (0.0, math.inf))
    half = NormalDist().inv_cdf(1 - 0.05 / (2 * len(values)))  # Bonferroni
    assert (evidence.low, evidence.high) == pytest.approx((number - half, number + half))


def test_without_estimates_a_claim_is_undecided():
    evidence = decide("", [], low=0.0)
    assert evidence.verdict == UNDECIDED
    assert math.isnan(evidence.number)


def test_both_ends_of_the_range_count_and_exact_values_need_no_interval():
    assert decide("", [Estimate("", 0.5)], 0.0, 1.0).verdict == REPRODUCED
    assert decide("", [Estimate("", 1.5)], 0.0, 1.0).verdict == FAILED
    assert decide("", [Estimate("", 1.5)], high=1.0).verdict == FAILED
    assert decide("", [Estimate("", 0.9, 0.2)], high=1.0).verdict == UNDECIDED


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
    assert signs_in_words([up, down]) == "1 of 2 differences are positive, from -1 to 1"


def test_parameters_in_labels():
    assert parameter_in_label("lfg (eta=0.5)") == 0.5
    assert parameter_in_label("eta-fucb (eta=1e-06)") == 1e-6


def test_a_tradeoff_is_its_means_over_instances_in_order_of_unfairness():
    """Three configurations on two instances."""
    unfair = np.array([[3.0, 5.0], [1.0, 2.0], [9.0, 0.0]])
    reward = np.array([[10.0, 20.0], [30.0, 40.0], [50.0, 70.0]])
    x, y = tradeoff_line(unfair, reward)
    assert (x.tolist(), y.tolist()) == ([1.5, 4.0, 4.5], [35.0, 15.0, 60.0])
