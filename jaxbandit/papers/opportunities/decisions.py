"""The evidence on what the opportunities paper says of its figures: each function returns the verdict on a claim."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from jaxbandit.papers.evidence import (
    Estimate,
    Evidence,
    decide,
    decide_over_time,
    decide_with_tolerances,
    mean_over_runs,
    signs_in_words,
)
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.opportunities.experiments import (
    FUNCTIONS,
    TRANSFER_COSTS,
    arm_means,
    arm_shares,
    average_utility,
    horizons,
    phase_shares,
)
from jaxbandit.papers.opportunities.theory import ARMS

ByTime = dict[int, list[Estimate]]
ALLOCATION = 0.05  # the largest relative difference from 1 of a ratio that the theory gives exactly
GRANTED = 0.99  # the smallest share of the rounds that counts as all of them
WITHHELD = 0.05  # the share of an arm's opportunities from which on they count as withheld


def _difference(setting: str, gap: np.ndarray, horizon: int) -> Estimate:
    """The mean of a difference per round. Where whole numbers of rounds explain it in every run, it is a tie."""
    if np.abs(gap).max() * horizon <= ARMS:
        return Estimate(setting, 0.0)
    return mean_over_runs(setting, gap)


def _exploration_in_words(data: Data) -> str:
    """The share of the rounds in phases 1 and 2 at each horizon, with f softmax at lambda = 0.4."""
    shares = {horizon: float(_shares(data, "0.4", horizon)[0].mean()) for horizon in horizons(data)}
    return ", ".join(f"{share:.0%} (T = {horizon:,})" for horizon, share in shares.items())


def _all_positive(data: Data, statistic: str, by_time: ByTime) -> Evidence:
    """Decide whether differences are positive at every horizon; they may be so at longer horizons alone."""
    estimates = [estimate for at_time in by_time.values() for estimate in at_time]
    least = [min(at_time, key=lambda estimate: estimate.value) for at_time in by_time.values()]
    in_words = ", ".join(f"{estimate.value:.2g} ({estimate.setting})" for estimate in least)
    finding = (
        f"{signs_in_words(estimates)}; the least at each horizon: {in_words}; phases 1 and 2, which select all arms "
        f"alike, take {_exploration_in_words(data)} of the rounds"
    )
    return decide_over_time(statistic, by_time, 0.0).explained(finding)


def decreases_in_transfer_cost(data: Data) -> Evidence:
    """Whether the average utility at a transfer cost is above that at the next larger one."""
    by_time: ByTime = {}
    for horizon in horizons(data):
        for f in FUNCTIONS:
            for less, more in pairwise(TRANSFER_COSTS):
                gap = average_utility(data, f, less, horizon) - average_utility(data, f, more, horizon)
                estimate = _difference(f"{f}, λ = {less} minus {more}, T = {horizon:,}", gap, horizon)
                by_time.setdefault(horizon, []).append(estimate)
    return _all_positive(
        data, "average utility at one λ minus that at the next larger (reward per round); more than 0", by_time
    )


def same_without_transfer_cost(data: Data) -> Evidence:
    """Whether the fairness functions have the same utility in every run at lambda = 0."""
    estimates = []
    for horizon in horizons(data):
        for f, g in pairwise(FUNCTIONS):
            gap = np.abs(average_utility(data, f, "0", horizon) - average_utility(data, g, "0", horizon)).max()
            estimates.append(Estimate(f"{f} and {g}, T = {horizon:,}", float(gap)))
    statistic = (
        "largest difference between fairness functions in the average utility of any run at λ = 0 (reward per round); "
        "below 1e-9"
    )
    return decide(statistic, estimates, high=1e-9).explained("the runs depend on the fairness function")


def increases_in_horizon(data: Data) -> Evidence:
    """Whether the average utility increases from each horizon to the next, where it can."""
    by_time: ByTime = {}
    for short, long in pairwise(horizons(data)):
        for f in FUNCTIONS:
            for cost in TRANSFER_COSTS:
                if (f, cost) != ("uniform", "0.8"):
                    gain = average_utility(data, f, cost, long) - average_utility(data, f, cost, short)
                    estimate = mean_over_runs(f"{f}, λ = {cost}, T = {short:,} to {long:,}", gain)
                    by_time.setdefault(short, []).append(estimate)
    statistic = "average utility at a horizon minus that at the next shorter (reward per round); more than 0"
    return _all_positive(data, statistic, by_time)


def linear_above_uniform(data: Data) -> Evidence:
    """Whether the average utility with f linear is above that with f uniform for lambda > 0."""
    by_time: ByTime = {}
    for horizon in horizons(data):
        for cost in TRANSFER_COSTS[1:]:
            gap = average_utility(data, "linear", cost, horizon) - average_utility(data, "uniform", cost, horizon)
            by_time.setdefault(horizon, []).append(_difference(f"λ = {cost}, T = {horizon:,}", gap, horizon))
    statistic = "average utility with f linear minus that with f uniform (reward per round); more than 0"
    return _all_positive(data, statistic, by_time)


def difference_of_allocations(data: Data) -> Evidence:
    """Whether the difference of two utilities at lambda = 0.8 is the value of the difference of the entitlements."""
    by_time: ByTime = {}
    for horizon in horizons(data):
        uniform, softmax = (arm_shares(data, f, "0.8", horizon)[1] for f in ("uniform", "softmax"))
        value = float((softmax - uniform) @ arm_means(data, horizon))
        gap = average_utility(data, "softmax", "0.8", horizon) - average_utility(data, "uniform", "0.8", horizon)
        by_time[horizon] = [mean_over_runs(f"T = {horizon:,}", gap / value)]
    statistic = (
        "average utility with f softmax minus that with f uniform at λ = 0.8, divided by the reward per round that the "
        "opportunities of f softmax bring beyond those of f uniform; 1 within {:.0%}"
    )
    evidence = decide_with_tolerances(
        ALLOCATION,
        (0.01, 0.1),
        lambda near: decide_over_time(statistic.format(near), by_time, 1 - near, 1 + near),
        "within {:.0%}",
    )
    ratios = ", ".join(f"{at_time[0].value:.2f} ({at_time[0].setting})" for at_time in by_time.values())
    return evidence.explained(
        f"the ratio is {ratios}; phases 1 and 2 take {_exploration_in_words(data)} of the rounds and withhold "
        "opportunities of f softmax, none of f uniform"
    )


def grants_more_to_better_arms(data: Data) -> Evidence:
    """Whether at lambda = 0.8 the shares of the rounds grow with the mean with f softmax, and not with f uniform."""
    by_time: ByTime = {}
    for horizon in horizons(data):
        softmax, uniform = (np.diff(arm_shares(data, f, "0.8", horizon)[0]) for f in ("softmax", "uniform"))
        for arm in range(softmax.shape[2]):
            gap = softmax[..., arm] - np.abs(uniform[..., arm])
            estimate = _difference(f"arms {arm + 2} and {arm + 1}, T = {horizon:,}", gap, horizon)
            by_time.setdefault(horizon, []).append(estimate)
    statistic = (
        "share of the rounds of an arm minus that of the arm with the next smaller mean, f softmax, λ = 0.8, minus the "
        "absolute difference of these shares with f uniform; more than 0"
    )
    return _all_positive(data, statistic, by_time)


def all_rounds_in_black_box(data: Data) -> Evidence:
    """Whether at lambda = 0 all rounds of all runs go to the black box."""
    estimates = []
    for horizon in horizons(data):
        before = (1 - phase_shares(data, "softmax", "0", horizon)[..., 3]).max() * horizon
        estimates.append(Estimate(f"T = {horizon:,}", float(before)))
    statistic = "rounds before the black box at λ = 0, f softmax, the most of any run; less than 1"
    return decide(statistic, estimates, high=1.0).explained("some runs explore first")


def all_rounds_are_opportunities(data: Data) -> Evidence:
    """Whether at lambda = 0.8 with f softmax nearly all rounds are opportunities of the arms that get them."""
    by_time: ByTime = {}
    for horizon in horizons(data):
        shares, entitled = arm_shares(data, "softmax", "0.8", horizon)
        by_time[horizon] = [mean_over_runs(f"T = {horizon:,}", np.minimum(shares, entitled).sum(axis=-1))]
    statistic = (
        "share of the rounds in which an arm is played that is still entitled to rounds, f softmax, λ = 0.8: the sum "
        "over the arms of min(N_k/T, f_k); more than {:g}"
    )
    evidence = decide_with_tolerances(
        GRANTED,
        (0.95, 0.999),
        lambda least: decide_over_time(statistic.format(least), by_time, least),
        "more than {:g}",
    )
    shares_in_words = ", ".join(f"{at_time[0].value:.3f} ({at_time[0].setting})" for at_time in by_time.values())
    return evidence.explained(
        f"the share is {shares_in_words}; where phases 1 and 2 take all rounds, the worst arms get more rounds than "
        f"they are entitled to: these phases take {_exploration_in_words(data)} of the rounds"
    )


def _shares(data: Data, cost: str, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """Shares of the rounds in phases 1 and 2 together and in phase 3, with f softmax: both `[instance, seed]`."""
    spent = phase_shares(data, "softmax", cost, horizon)
    return spent[..., :2].sum(axis=-1), spent[..., 2]


def _changes(data: Data, share: int, sign: int, statistic: str) -> Evidence:
    """Whether one of the two `_shares` grows (sign 1) or shrinks (sign -1) from each horizon to the next."""
    by_time: ByTime = {}
    for short, long in pairwise(horizons(data)):
        for cost in TRANSFER_COSTS[1:]:
            before, after = (_shares(data, cost, horizon)[share] for horizon in (short, long))
            gap = sign * (after - before)
            estimate = _difference(f"λ = {cost}, T = {short:,} to {long:,}", gap, short)
            by_time.setdefault(short, []).append(estimate)
    return _all_positive(data, statistic, by_time)


def explores_less(data: Data) -> Evidence:
    """Whether the share of phases 1 and 2 shrinks from each horizon to the next."""
    statistic = (
        "share of the rounds in phases 1 and 2 at a horizon, f softmax, minus that at the next longer; more than 0"
    )
    return _changes(data, 0, -1, statistic)


def grants_more(data: Data) -> Evidence:
    """Whether the share of phase 3 grows from each horizon to the next."""
    statistic = "share of the rounds in phase 3 at the next longer horizon, f softmax, minus that at one; more than 0"
    return _changes(data, 1, 1, statistic)


def withholds_opportunities(data: Data) -> Evidence:
    """Whether at lambda = 0.4 opportunities of arms with a larger gap, and of no others, are withheld in the end."""
    last = horizons(data)[-1]
    mu = arm_means(data, last)
    far = mu.max() - mu > 0.4
    missing, shares_in_words = [], []
    for arm, is_far in enumerate(far):
        by_horizon = []
        for horizon in horizons(data):
            shares, entitled = arm_shares(data, "softmax", "0.4", horizon)
            by_horizon.append(mean_over_runs(f"arm {arm + 1}, T = {horizon:,}", 1 - shares[..., arm] / entitled[arm]))
        missing.append(by_horizon[-1])
        if is_far:
            in_words = ", ".join(f"{max(one.value, 0):.2f}" for one in by_horizon)
            shares_in_words.append(f"{in_words} (arm {arm + 1})")
    statistic = (
        f"share of an arm's opportunities that is withheld, f softmax, λ = 0.4, T = {last:,}: 1 - N_k/(T f_k), minus "
        "{0:g} for arms with Δ > λ, and {0:g} minus this share for the others; more than 0"
    )

    def decided(least: float) -> Evidence:
        margins = [
            replace(one, value=one.value - least if is_far else least - one.value)
            for one, is_far in zip(missing, far, strict=True)
        ]
        return decide(statistic.format(least), margins, 0.0)

    evidence = decide_with_tolerances(WITHHELD, (0.01, 0.5), decided, "withheld from {:g} on")
    times = ", ".join(f"{horizon:,}" for horizon in horizons(data))
    black_box = float(phase_shares(data, "softmax", "0.4", last)[..., 3].mean())
    return evidence.explained(
        f"at T = {times} the share (0 where an arm gets more) is {'; '.join(shares_in_words)}. Phase 1 ends for an arm "
        "when its gap is known to be above λ - β, and phase 3 withholds only where the gap is known to be above λ: "
        "arm 3, the one nearest to λ, ends phase 1 before that, so phase 3 still grants its opportunities. Phase 4 has "
        f"{black_box:.0%} of the rounds at T = {last:,}"
    )
