"""The claims of the guarantees paper, and the functions that decide them."""

from __future__ import annotations

import itertools

import numpy as np

from jaxbandit.papers.claim import Claim
from jaxbandit.papers.evidence import (
    REPRODUCED,
    Estimate,
    Evidence,
    decide,
    difference,
    final_values,
    growth,
    mean_over_runs,
)
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.guarantees.experiments import ETA, PARTS, R_REGRET, REGRET, name_eta, name_growth

CLOSE = 0.1  # relative difference in regret up to which a policy follows another
LOG, SQUARE_ROOT = 1.0, 2.0  # growth over a factor 4 of t, divided by the growth over the factor 4 before


def _follows_ucb1(data: Data) -> Evidence:
    results = data[REGRET]
    ucb1 = final_values(results, "regret", "ucb1")
    estimates = [
        mean_over_runs(label, (final_values(results, "regret", label) - ucb1) / ucb1.mean())
        for label in ("FUCB", "LFG")
    ]
    statistic = f"regret at τ = 0 divided by that of UCB1, minus 1; a policy follows UCB1 within {CLOSE}"
    in_words = ", ".join(f"{estimate.setting} {estimate.value:+.1%}" for estimate in estimates)
    return decide(statistic, estimates, -CLOSE, CLOSE).explained(
        f"{in_words}: FUCB without fractions makes the selections of UCB1; LFG explores less, with a bonus of "
        "sqrt(1.5 log t / N) that is capped at 1, where UCB1 has sqrt(2 log t / N)"
    )


def _below_ucb1(data: Data) -> Evidence:
    estimate = difference("F-TS, τ = 0", data[REGRET], "regret", "F-TS", "ucb1")
    return decide("regret of F-TS minus that of UCB1 (rewards); less than 0", [estimate], high=0.0)


def _growth(data: Data, names: list[str], label: str) -> Estimate:
    """R(T) - R(T/4) divided by R(T/4) - R(T/16), of the same runs ended at three horizons."""
    early, middle, late = (final_values(data[name], "r_regret", label) for name in names)
    horizon = int(data[names[-1]]["round"][-1])
    return growth(f"{label}, T = {horizon:,}", early, middle, late)


def _grows_like_log(estimates: list[Estimate]) -> Evidence:
    statistic = (
        "growth of the r-regret from T/4 to T, divided by that from T/16 to T/4: 1 for log T, 2 for a square root, 4 "
        "for a straight line; below √2"
    )
    return decide(statistic, estimates, high=float(np.sqrt(LOG * SQUARE_ROOT)))


def _logarithmic(data: Data) -> Evidence:
    evidence, wide = (
        _grows_like_log(
            [_growth(data, [name_growth(gaps, part) for part in PARTS], label) for label in ("FUCB", "LFG")]
        )
        for gaps in ("narrow", "wide")
    )
    horizon = int(data[name_growth("wide", 1)]["round"][-1])
    finding = (
        "with gaps of 0.01 UCB1 distinguishes the best arm from the next one after about 2 log T / gap² = 200,000 "
        f"plays, ten times this horizon. With gaps of 0.05 and T = {horizon:,} the ratio is {wide.number:.2f} "
        f"[{wide.low:.2f}, {wide.high:.2f}]: {wide.verdict}"
    )
    return evidence.explained(finding, f"gaps of 0.05, T = {horizon:,}" if wide.verdict == REPRODUCED else "")


def _logarithmic_for_large_eta(data: Data) -> Evidence:
    evidence = _grows_like_log([_growth(data, [name_eta(part) for part in PARTS], "eta-fucb (eta=1)")])
    results = data[ETA]
    unguaranteed = 1 - float(results.fractions.sum())
    gaps = float(results.means.max()) - results.means.values[0]
    shared = unguaranteed * gaps.mean()  # per round, where the rounds not guaranteed are shared equally
    rate = final_values(results, "r_regret", "eta-fucb (eta=1)").mean() / float(results["round"][-1])
    return evidence.explained(
        "a large η keeps all deficits τ_k t - N_k equal, so the rounds that are not guaranteed are shared equally: "
        f"that is an r-regret of {shared:.4f} per round; measured: {rate:.4f}. It grows linearly with T",
        "small η, as far as guarantees-3 holds",
    )


def _trades(data: Data) -> Evidence:
    results = data[ETA]
    estimates = []
    for smaller, larger in itertools.pairwise(results.policy.values.tolist()):
        if not final_values(results, "unfairness", smaller).any():
            break
        for metric, sign in (("r_regret", 1), ("unfairness", -1)):
            change = sign * (final_values(results, metric, larger) - final_values(results, metric, smaller))
            estimates.append(mean_over_runs(f"{metric}, to {larger}", change))
    statistic = (
        "increase of the r-regret (rewards) and decrease of the unfairness (missed rounds) to the next larger eta, as "
        "long as there is unfairness; more than 0"
    )
    return decide(statistic, estimates, low=0.0).explained("there is little unfairness left to trade in the last step")


def _no_round_behind(data: Data) -> Evidence:
    results = data[R_REGRET]
    largest = float(results.max_deficit_ever.sel(policy="FUCB").max())
    estimate = Estimate(f"FUCB, τ = 0.05, {results.sizes['seed']} runs, every round", largest)
    return decide("largest τt - N_k(t) of any arm, run and round (rounds); less than 1", [estimate], high=1.0)


_FIGURE = "guarantees-section-6"
_PLOT_1 = "T = 20,000"
_PLOTS_2_3 = "T = 20,000, τ = 0.05"
CLAIMS = (
    Claim(
        "guarantees-1",
        "Without fairness the regrets of FUCB and LFG follow that of UCB1.",
        "",
        "sec. 6, first plot",
        _FIGURE,
        _follows_ucb1,
        assumed=_PLOT_1,
    ),
    Claim(
        "guarantees-2",
        "Without fairness F-TS has less regret than UCB1.",
        "",
        "sec. 6, first plot",
        _FIGURE,
        _below_ucb1,
        assumed=_PLOT_1,
    ),
    Claim(
        "guarantees-3",
        "With fairness the r-regret of FUCB and LFG grows like log T.",
        "",
        "sec. 6, second plot",
        _FIGURE,
        _logarithmic,
        assumed=_PLOTS_2_3,
    ),
    Claim(
        "guarantees-4",
        "A larger η gives more r-regret and less unfairness.",
        "",
        "sec. 6, third plot",
        _FIGURE,
        _trades,
        assumed=_PLOTS_2_3,
    ),
    Claim(
        "guarantees-5",
        "The r-regret is logarithmic even for large η.",
        "",
        "sec. 6",
        _FIGURE,
        _logarithmic_for_large_eta,
        assumed=_PLOTS_2_3,
    ),
    Claim(
        "guarantees-6",
        "Under FUCB no arm is behind its guarantee by a whole round, in any round.",
        "",
        "Theorem 4",
        _FIGURE,
        _no_round_behind,
        assumed=_PLOTS_2_3,
    ),
)
