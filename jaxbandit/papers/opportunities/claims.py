"""The claims of the opportunities paper, and the functions that decide them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from jaxbandit.papers.claim import Claim
from jaxbandit.papers.evidence import (
    REPRODUCED,
    Estimate,
    Evidence,
    decide,
    decide_over_time,
    holds_from,
    mean_over_runs,
    signs_in_words,
)
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.opportunities.experiments import (
    FAMILIES,
    FUNCTIONS,
    TRANSFER_COSTS,
    average_utility,
    exponent,
    family_in_words,
    family_name,
    horizons,
    phase_shares,
    run_name,
    worst_regret,
)

NEAR = 0.02  # the distance from a theorem's exponent up to which a fitted one agrees with it


def _all_positive(data: Data, statistic: str, by_time: dict[int, list[Estimate]]) -> Evidence:
    """Decide whether differences are positive at every horizon; they may be so at longer horizons alone."""
    estimates = [estimate for at_time in by_time.values() for estimate in at_time]
    least = [min(at_time, key=lambda estimate: estimate.value) for at_time in by_time.values()]
    in_words = ", ".join(f"{estimate.value:.2g} ({estimate.setting})" for estimate in least)
    finding = (
        f"{signs_in_words(estimates)}; the least at each horizon: {in_words}; phases 1 and 2, which select all arms "
        f"alike, take {_exploration_in_words(data)} of the rounds"
    )
    return decide_over_time(statistic, by_time, 0.0).explained(finding)


def _exploration_in_words(data: Data) -> str:
    """The share of the rounds in phases 1 and 2 at each horizon, with f softmax at lambda = 0.4."""
    shares = {horizon: float(_shares(data, "0.4", horizon)[0].mean()) for horizon in horizons(data)}
    return ", ".join(f"{share:.0%} (T = {horizon:,})" for horizon, share in shares.items())


def _decreases_in_transfer_cost(data: Data) -> Evidence:
    by_time: dict[int, list[Estimate]] = {}
    for horizon in horizons(data):
        for f in FUNCTIONS:
            for less, more in pairwise(TRANSFER_COSTS):
                gap = average_utility(data, f, less, horizon) - average_utility(data, f, more, horizon)
                estimate = mean_over_runs(f"{f}, λ = {less} minus {more}, T = {horizon:,}", gap)
                by_time.setdefault(horizon, []).append(estimate)
    statistic = "average utility at one λ minus that at the next larger (reward per round); more than 0"
    return _all_positive(data, statistic, by_time)


def _same_without_transfer_cost(data: Data) -> Evidence:
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


def _increases_in_horizon(data: Data) -> Evidence:
    by_curve: dict[str, dict[int, list[Estimate]]] = {}
    for f in FUNCTIONS:
        for cost in TRANSFER_COSTS:
            by_time = by_curve.setdefault(f"{f}, λ = {cost}", {})
            for short, long in pairwise(horizons(data)):
                gain = average_utility(data, f, cost, long) - average_utility(data, f, cost, short)
                by_time[short] = [mean_over_runs(f"{f}, λ = {cost}, T = {short:,} to {long:,}", gain)]
    estimates = [one for by_time in by_curve.values() for at_time in by_time.values() for one in at_time]
    starts = {curve: holds_from(by_time, 0.0) for curve, by_time in by_curve.items()}
    holds = [f"{curve} from T = {start:,} on" for curve, start in starts.items() if start is not None]
    total = {curve: sum(at_time[0].value for at_time in by_time.values()) for curve, by_time in by_curve.items()}
    in_words = ", ".join(f"{gain:.2g} ({curve})" for curve, gain in total.items())
    statistic = "average utility at a horizon minus that at the next shorter (reward per round); more than 0"
    finding = (
        f"{signs_in_words(estimates)}; from the shortest horizon to the longest the gain is {in_words}; phases 1 and "
        f"2, which select all arms alike, take {_exploration_in_words(data)} of the rounds, and with f uniform at λ = "
        "0.8 the opportunities are the same for all arms too"
    )
    return decide(statistic, estimates, 0.0).explained(finding, "; ".join(holds))


def _above(data: Data, better: str, worse: str, transfer_costs: Sequence[str]) -> Evidence:
    by_time: dict[int, list[Estimate]] = {}
    for horizon in horizons(data):
        for cost in transfer_costs:
            above, below = (average_utility(data, f, cost, horizon) for f in (better, worse))
            estimate = mean_over_runs(f"λ = {cost}, T = {horizon:,}", above - below)
            by_time.setdefault(horizon, []).append(estimate)
    statistic = f"average utility with f {better} minus that with f {worse} (reward per round); more than 0"
    return _all_positive(data, statistic, by_time)


def _all_rounds_in_black_box(data: Data) -> Evidence:
    estimates = []
    for horizon in horizons(data):
        for f in FUNCTIONS:
            before = (1 - phase_shares(data, f, "0", horizon)[..., 3]).max() * horizon
            estimates.append(Estimate(f"{f}, T = {horizon:,}", float(before)))
    statistic = "rounds before the black box at λ = 0, the most of any run; less than 1"
    return decide(statistic, estimates, high=1.0).explained("some runs explore first")


def _no_rounds_in_black_box(data: Data) -> Evidence:
    estimates = []
    for horizon in horizons(data):
        for f in ("uniform", "softmax"):
            remaining = phase_shares(data, f, "0.8", horizon)[..., 3].max() * horizon
            estimates.append(Estimate(f"{f}, T = {horizon:,}", float(remaining)))
    statistic = (
        "rounds of the black box at λ = 0.8, the most of any run; less than K = 6, which may remain because the arms' "
        "rounds are whole numbers"
    )
    return decide(statistic, estimates, high=6.0).explained("rounds remain for the black box")


def _shares(data: Data, cost: str, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """Shares of the rounds in phases 1 and 2 together and in phase 3, with f softmax: both `[instance, seed]`."""
    spent = phase_shares(data, "softmax", cost, horizon)
    return spent[..., :2].sum(axis=-1), spent[..., 2]


def _changes(data: Data, share: int, sign: int, statistic: str) -> Evidence:
    """Whether one of the two `_shares` grows (sign 1) or shrinks (sign -1) from each horizon to the next."""
    by_time: dict[int, list[Estimate]] = {}
    for short, long in pairwise(horizons(data)):
        for cost in TRANSFER_COSTS[1:]:
            before, after = (_shares(data, cost, horizon)[share] for horizon in (short, long))
            estimate = mean_over_runs(f"λ = {cost}, T = {short:,} to {long:,}", sign * (after - before))
            by_time.setdefault(short, []).append(estimate)
    return _all_positive(data, statistic, by_time)


def _explores_less(data: Data) -> Evidence:
    statistic = (
        "share of the rounds in phases 1 and 2 at a horizon, f softmax, minus that at the next longer; more than 0"
    )
    return _changes(data, 0, -1, statistic)


def _grants_more(data: Data) -> Evidence:
    statistic = "share of the rounds in phase 3 at a horizon, f softmax, minus that at the next shorter; more than 0"
    return _changes(data, 1, 1, statistic)


def _withheld_to_black_box(data: Data) -> Evidence:
    by_time: dict[int, list[Estimate]] = {}
    for horizon in horizons(data):
        results = data[run_name("softmax", "0.4", horizon)]
        mu, shares = results.means.values[0], results.opportunities.values[0]
        withheld = float(shares[mu.max() - mu > 0.4].sum())
        share = phase_shares(data, "softmax", "0.4", horizon)[..., 3] / withheld
        by_time[horizon] = [mean_over_runs(f"T = {horizon:,}", share)]
    last = max(by_time)
    statistic = (
        "rounds of the black box at λ = 0.4, f softmax, divided by the opportunities of arms whose gap is above λ, at "
        "the longest horizon: 1 where all of these are withheld and no round explores; more than 1/2"
    )
    in_words = ", ".join(f"{at_time[0].value:.2g} ({at_time[0].setting})" for at_time in by_time.values())
    return decide(statistic, by_time[last], 0.5).explained(f"exploration takes the other rounds; it is {in_words}")


def _exponents(data: Data) -> list[Estimate]:
    return [Estimate(family_in_words(family), *exponent(*worst_regret(data, family))) for family in FAMILIES]


def _grows_at_least(data: Data) -> Evidence:
    statistic = f"exponent of T in the largest utility regret of any instance; more than 2/3 - {NEAR}"
    evidence = decide(statistic, _exponents(data), 2 / 3 - NEAR)
    return evidence.explained("the regret grows more slowly over these horizons")


def _grows_at_most(data: Data) -> Evidence:
    times = worst_regret(data, "a")[0]
    bound = exponent(times, times ** (2 / 3) * np.log(times) ** (1 / 3), np.zeros(len(times)))[0]
    statistic = (
        "exponent of T in the largest utility regret of any instance; less than that of T^(2/3) log(T)^(1/3) over the "
        f"same horizons, {bound:.3f}, + {NEAR}"
    )
    estimates = _exponents(data)
    evidence = decide(statistic, estimates, high=bound + NEAR)
    holds = [one.setting for one in estimates if decide(statistic, [one], high=bound + NEAR).verdict == REPRODUCED]
    steps, selections = [], []
    for family in FAMILIES:
        times, regret, _ = worst_regret(data, family)
        local = np.diff(np.log(regret)) / np.diff(np.log(times))
        steps.append(f"{', '.join(f'{step:.2f}' for step in local)} ({family_in_words(family)})")
        # Instance 0: arms 1 and 2 are entitled to opportunities like any other arm.
        one = data[family_name(family, int(times[0]))].isel(policy=0, instance=0)
        entitled = float(one.opportunities[1:].sum()) * times[0]
        mean = float(one.pulls[:, 1:].sum("arm").mean())
        selections.append(f"{mean:.0f} of {entitled:.0f} ({family_in_words(family)})")
    finding = (
        "at short horizons the black box's own selections, about log T, replace opportunities, about T^(2/3): "
        f"{', '.join(selections)} rounds at T = {times[0]:,}; so the regret catches up later. The exponent from "
        f"horizon to horizon is {'; '.join(steps)}"
    )
    return evidence.explained(finding, "; ".join(holds))


_FIGURE_1, _FIGURE_2, _LOWER_BOUND = "opportunities-figure-1", "opportunities-figure-2", "opportunities-lower-bound"
_ASSUMED = "horizons from 1,000 to 1,000,000"
_ROWS = (
    ("Average utility decreases as λ increases.", "sec. 5, Fig. 1", _FIGURE_1, _decreases_in_transfer_cost),
    ("At λ = 0 the fairness function makes no difference.", "sec. 5, Fig. 1a", _FIGURE_1, _same_without_transfer_cost),
    ("Average utility increases with the horizon.", "sec. 5, Fig. 1", _FIGURE_1, _increases_in_horizon),
    (
        "For λ > 0 the utility with f linear is above that with f uniform.",
        "sec. 5, Fig. 1",
        _FIGURE_1,
        lambda data: _above(data, "linear", "uniform", TRANSFER_COSTS[1:]),
    ),
    (
        "At λ = 0.8 the utility with f softmax is above that with f uniform.",
        "sec. 5, Fig. 1c",
        _FIGURE_1,
        lambda data: _above(data, "softmax", "uniform", TRANSFER_COSTS[2:]),
    ),
    ("At λ = 0 all rounds go to the black box.", "sec. 5, Fig. 2", _FIGURE_2, _all_rounds_in_black_box),
    (
        "At λ = 0.8 f uniform and softmax leave no rounds to the black box.",
        "sec. 5, Fig. 2",
        _FIGURE_2,
        _no_rounds_in_black_box,
    ),
    ("The share of phases 1 and 2 decreases with the horizon.", "sec. 5, Fig. 2", _FIGURE_2, _explores_less),
    ("The share of phase 3 increases with the horizon.", "sec. 5, Fig. 2", _FIGURE_2, _grants_more),
    (
        "At λ = 0.4 the opportunities of arms with a gap above λ go to the black box.",
        "sec. 5, Fig. 2",
        _FIGURE_2,
        _withheld_to_black_box,
    ),
    (
        "On the lower-bound family the regret grows at least like T^(2/3).",
        "Thm 3, App. A.3",
        _LOWER_BOUND,
        _grows_at_least,
    ),
    (
        "On the lower-bound family the regret grows no faster than its bound, T^(2/3) log(T)^(1/3).",
        "Thm 2 and 3",
        _LOWER_BOUND,
        _grows_at_most,
    ),
)
CLAIMS = tuple(
    Claim(f"opportunities-{number}", statement, "", place, figure, weigh, assumed=_ASSUMED)
    for number, (statement, place, figure, weigh) in enumerate(_ROWS, start=1)
)
