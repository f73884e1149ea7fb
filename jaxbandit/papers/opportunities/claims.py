"""Paper 004: what it says of its experiments, and what decides it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from jaxbandit.papers.evidence import REPRODUCED, Claim, Evidence, Margin, decide, from_on, over_runs, tally
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.opportunities.experiments import (
    FAMILIES,
    FUNCTIONS,
    PRICES,
    average_utility,
    edge_name,
    exponent,
    horizons,
    phase_shares,
    run_name,
    setting,
    worst_regret,
)

NEAR = 0.02  # how far from a theorem's exponent a fitted one may be


def _weighed(data: Data, words: str, by_time: dict[int, list[Margin]]) -> Evidence:
    """Differences that should all be positive, by the horizon they are of; the nearest setting is a longer horizon."""
    margins = [margin for made in by_time.values() for margin in made]
    least = [min(made, key=lambda margin: margin.value) for made in by_time.values()]
    finding = (
        f"{tally(margins)}; the least at each horizon: "
        f"{', '.join(f'{margin.value:.2g} ({margin.where})' for margin in least)}; sweeps, which play all arms alike, "
        f"take {_swept(data)} of the rounds"
    )
    start = from_on(by_time, 0.0)
    return decide(words, margins, 0.0).explained(finding, "" if start is None else f"T >= {start:,}")


def _swept(data: Data) -> str:
    """The shares of phases 1 and 2 with f softmax at lambda = 0.4."""
    shares = {horizon: float(_shares(data, "0.4", horizon)[0].mean()) for horizon in horizons(data)}
    return ", ".join(f"{share:.0%} (T = {horizon:,})" for horizon, share in shares.items())


def _falls_in_price(data: Data) -> Evidence:
    by_time: dict[int, list[Margin]] = {}
    for horizon in horizons(data):
        for f in FUNCTIONS:
            for less, more in pairwise(PRICES):
                gap = average_utility(data, f, less, horizon) - average_utility(data, f, more, horizon)
                margin = over_runs(f"{f}, λ = {less} less {more}, T = {horizon:,}", gap)
                by_time.setdefault(horizon, []).append(margin)
    return _weighed(
        data, "average utility at one λ less that at the next larger (reward a round); more than 0", by_time
    )


def _same_for_free(data: Data) -> Evidence:
    margins = []
    for horizon in horizons(data):
        for f, g in pairwise(FUNCTIONS):
            gap = np.abs(average_utility(data, f, "0", horizon) - average_utility(data, g, "0", horizon)).max()
            margins.append(Margin(f"{f} and {g}, T = {horizon:,}", float(gap)))
    words = "largest difference of the average utility between fairness functions at λ = 0, of any run (reward a round)"
    return decide(f"{words}; below 1e-9", margins, high=1e-9).explained("runs differ with the fairness function")


def _rises_in_time(data: Data) -> Evidence:
    groups: dict[str, dict[int, list[Margin]]] = {}
    for f in FUNCTIONS:
        for penalty_rate in PRICES:
            of_one = groups.setdefault(f"{f}, λ = {penalty_rate}", {})
            for short, long in pairwise(horizons(data)):
                gain = average_utility(data, f, penalty_rate, long) - average_utility(data, f, penalty_rate, short)
                of_one[short] = [over_runs(f"{f}, λ = {penalty_rate}, T = {short:,} to {long:,}", gain)]
    margins = [margin for of_one in groups.values() for made in of_one.values() for margin in made]
    starts = {group: from_on(of_one, 0.0) for group, of_one in groups.items()}
    holds = [f"{group} from T = {start:,} on" for group, start in starts.items() if start is not None]
    total = {group: sum(made[0].value for made in of_one.values()) for group, of_one in groups.items()}
    told = ", ".join(f"{gain:.2g} ({group})" for group, gain in total.items())
    words = "average utility at a horizon less that at the next shorter (reward a round); more than 0"
    finding = (
        f"{tally(margins)}; from the shortest horizon to the longest it gains {told}; sweeps, which play all arms "
        f"alike, take {_swept(data)} of the rounds, and with f uniform at λ = 0.8 opportunities are alike too"
    )
    return decide(words, margins, 0.0).explained(finding, "; ".join(holds))


def _above(data: Data, better: str, worse: str, penalty_rates: Sequence[str]) -> Evidence:
    by_time: dict[int, list[Margin]] = {}
    for horizon in horizons(data):
        for penalty_rate in penalty_rates:
            gap = average_utility(data, better, penalty_rate, horizon) - average_utility(
                data, worse, penalty_rate, horizon
            )
            by_time.setdefault(horizon, []).append(over_runs(f"λ = {penalty_rate}, T = {horizon:,}", gap))
    return _weighed(
        data, f"average utility with f {better} less that with {worse} (reward a round); more than 0", by_time
    )


def _straight(data: Data) -> Evidence:
    margins = []
    for horizon in horizons(data):
        for f in FUNCTIONS:
            outside = (1 - phase_shares(data, f, "0", horizon)[..., 3]).max() * horizon
            margins.append(Margin(f"{f}, T = {horizon:,}", float(outside)))
    words = "rounds before the black box at λ = 0, the most of any run; less than 1"
    return decide(words, margins, high=1.0).explained("some runs explore first")


def _all_opportunities(data: Data) -> Evidence:
    margins = []
    for horizon in horizons(data):
        for f in ("uniform", "softmax"):
            left = phase_shares(data, f, "0.8", horizon)[..., 3].max() * horizon
            margins.append(Margin(f"{f}, T = {horizon:,}", float(left)))
    words = (
        "rounds of the black box at λ = 0.8, the most of any run; less than K = 6, which whole rounds may leave over"
    )
    return decide(words, margins, high=6.0).explained("rounds are left to the black box")


def _shares(data: Data, penalty_rate: str, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """Shares of the rounds in phases 1 and 2 together and in phase 3, with f softmax: both `[instance, seed]`."""
    spent = phase_shares(data, "softmax", penalty_rate, horizon)
    return spent[..., :2].sum(axis=-1), spent[..., 2]


def _changes(data: Data, phase: int, sign: int, words: str) -> Evidence:
    """Whether a share of `_shares` grows (sign 1) or shrinks (-1) from each horizon to the next."""
    by_time: dict[int, list[Margin]] = {}
    for short, long in pairwise(horizons(data)):
        for penalty_rate in PRICES[1:]:
            shares = [_shares(data, penalty_rate, horizon)[phase] for horizon in (short, long)]
            margin = over_runs(f"λ = {penalty_rate}, T = {short:,} to {long:,}", sign * (shares[1] - shares[0]))
            by_time.setdefault(short, []).append(margin)
    return _weighed(data, words, by_time)


def _explores_less(data: Data) -> Evidence:
    words = "share of the rounds in phases 1 and 2 at a horizon, f softmax, less that at the next longer; more than 0"
    return _changes(data, 0, -1, words)


def _grants_more(data: Data) -> Evidence:
    words = "share of the rounds in phase 3 at a horizon, f softmax, less that at the next shorter; more than 0"
    return _changes(data, 1, 1, words)


def _withholds(data: Data) -> Evidence:
    by_time: dict[int, list[Margin]] = {}
    for horizon in horizons(data):
        results = data[run_name("softmax", "0.4", horizon)]
        mu, shares = results.means.values[0], results.opportunities.values[0]
        due = float(shares[mu.max() - mu > 0.4].sum())
        share = phase_shares(data, "softmax", "0.4", horizon)[..., 3] / due
        by_time[horizon] = [over_runs(f"T = {horizon:,}", share)]
    last = max(by_time)
    words = "rounds of the black box at λ = 0.4, f softmax, against the opportunities of arms not worth theirs, at the "
    words += "longest horizon: 1 where these are all withheld and known at no cost; more than 1/2"
    told = ", ".join(f"{made[0].value:.2g} ({made[0].where})" for made in by_time.values())
    return decide(words, by_time[last], 0.5).explained(f"exploring takes the rest; it is {told}")


def _exponents(data: Data) -> list[Margin]:
    return [Margin(setting(family), *exponent(*worst_regret(data, family))) for family in FAMILIES]


def _at_least(data: Data) -> Evidence:
    words = f"exponent of T in the worst instance's utility regret; more than 2/3 - {NEAR}"
    return decide(words, _exponents(data), 2 / 3 - NEAR).explained("the regret grows more slowly over these horizons")


def _at_most(data: Data) -> Evidence:
    times = worst_regret(data, "a")[0]
    bound = exponent(times, times ** (2 / 3) * np.log(times) ** (1 / 3), np.zeros(len(times)))[0]
    words = (
        "exponent of T in the worst instance's utility regret; less than that of T^(2/3) log(T)^(1/3) over the same "
        f"horizons, {bound:.3f}, + {NEAR}"
    )
    margins = _exponents(data)
    evidence = decide(words, margins, high=bound + NEAR)
    kept = [margin.where for margin in margins if decide(words, [margin], high=bound + NEAR).verdict == REPRODUCED]
    steps, plays = [], []
    for family in FAMILIES:
        times, regret, _ = worst_regret(data, family)
        local = np.diff(np.log(regret)) / np.diff(np.log(times))
        steps.append(f"{', '.join(f'{step:.2f}' for step in local)} ({setting(family)})")
        empty = data[edge_name(family, int(times[0]))].isel(policy=0, instance=0)  # S: arms 2 and 3 are owed as any
        owed = float(empty.opportunities[1:].sum()) * times[0]
        plays.append(f"{float(empty.pulls[:, 1:].sum('arm').mean()):.0f} of {owed:.0f} ({setting(family)})")
    finding = (
        "the black box's own plays, some log T, stand in for opportunities, some T^(2/3), at short horizons: "
        f"{', '.join(plays)} rounds at T = {times[0]:,}; so regret catches up. The exponent from horizon to horizon is "
        f"{'; '.join(steps)}"
    )
    return evidence.explained(finding, "; ".join(kept))


_ONE, _TWO, _THREE = (f"004-figure-{number}" for number in (1, 2, 3))
CLAIMS = (
    Claim("004-1", "Average utility falls as λ rises.", "sec. 5, Fig. 1", _ONE, _falls_in_price),
    Claim("004-2", "At λ = 0 the fairness function makes no difference.", "sec. 5, Fig. 1a", _ONE, _same_for_free),
    Claim("004-3", "Average utility rises with the horizon.", "sec. 5, Fig. 1", _ONE, _rises_in_time),
    Claim(
        "004-4",
        "For λ > 0 the utility of f linear is above that of f uniform.",
        "sec. 5, Fig. 1",
        _ONE,
        lambda data: _above(data, "linear", "uniform", PRICES[1:]),
    ),
    Claim(
        "004-5",
        "At λ = 0.8 the utility of f softmax is above that of f uniform.",
        "sec. 5, Fig. 1c",
        _ONE,
        lambda data: _above(data, "softmax", "uniform", PRICES[2:]),
    ),
    Claim("004-6", "At λ = 0 all rounds go to the black box.", "sec. 5, Fig. 2", _TWO, _straight),
    Claim(
        "004-7",
        "At λ = 0.8 f uniform and softmax leave no rounds to the black box.",
        "sec. 5, Fig. 2",
        _TWO,
        _all_opportunities,
    ),
    Claim("004-8", "The share of phases 1 and 2 shrinks with the horizon.", "sec. 5, Fig. 2", _TWO, _explores_less),
    Claim("004-9", "The share of phase 3 grows with the horizon.", "sec. 5, Fig. 2", _TWO, _grants_more),
    Claim(
        "004-10",
        "At λ = 0.4 the opportunities of arms not worth theirs go to the black box.",
        "sec. 5, Fig. 2",
        _TWO,
        _withholds,
    ),
    Claim(
        "004-11",
        "On the lower-bound family regret grows at least like T^(2/3).",
        "Thm 3, App. A.3",
        _THREE,
        _at_least,
    ),
    Claim(
        "004-12",
        "Self-regulated's regret grows no faster there than its bound, T^(2/3) log(T)^(1/3).",
        "Thm 2 and 3",
        _THREE,
        _at_most,
    ),
)
