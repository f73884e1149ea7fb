"""The functions that decide the claims of the plays paper. The paper states no horizon, so each is decided at many."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from jaxbandit.papers.evidence import (
    REPRODUCED,
    Estimate,
    Evidence,
    at_round,
    decide,
    decide_with_tolerances,
    mean_over_runs,
    ratio,
)
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.plays.experiments import (
    CASES,
    COMPARED,
    CS,
    GROWTH_TIMES,
    KL,
    LARGE,
    OWN,
    RIVALS,
    SLACK,
    SLACKS,
    THETAS,
    TIMES,
    UNEVEN,
    WINDOW,
    growth_name,
    place,
    reordered,
)
from jaxbandit.papers.plays.horizons import ByTime, decided, largest_until, recorded, runs_at, with_words

GROWTH = 0.5  # c-regret counts as bounded where its growth is less than this times that of log t
FAR_BELOW = -5.0  # rounds: the level below which the deficits of UCB-PLLP should stay
CLOSE = 0.05  # of the height of the panel: closer than this, two lines of a figure count as close
MOST = 0.5  # share of the runs: the paper draws one run, and more than half show what it shows


def _index(base: str) -> str:
    return base.split(", ")[1]


def _names(data: Data, figure: Mapping[str, str]) -> list[str]:
    """The experiments of a figure that compares policies: as the paper lists the arms, and in random orders."""
    return [one for name in figure.values() for one in (name, reordered(name)) if one in data]


def _growth_times(data: Data) -> list[int]:
    return sorted({t for base in OWN for t in recorded(data, growth_name(base), GROWTH_TIMES)})


def _growth_regret(data: Data, base: str, theta: str, c: str, t: int) -> np.ndarray:
    """c-regret of every run of figure 1 or 2, `[1, seed]`."""
    return runs_at(data, growth_name(base), "c_regret", base, t)[[CASES.index((theta, c))]]


def _bases(data: Data, t: int) -> list[str]:
    """The versions of Fair-MMAB that were simulated for t rounds."""
    return [base for base in OWN if recorded(data, growth_name(base), [t])]


def bounded(data: Data) -> Evidence:
    by_time: ByTime = {}
    for t in _growth_times(data)[2:]:
        estimates = by_time.setdefault(t, [])
        for base in _bases(data, t):
            for theta, c in CASES:
                total, early = (_growth_regret(data, base, theta, c, s) for s in (t, t // 4))
                setting = f"T = {t:,}, {_index(base)}, {THETAS[theta]}, c = {c}"
                estimates.append(ratio(setting, total - early, early / (math.log(t // 4) / math.log(4))))
    statistic = (
        "c-regret gained from T/4 to T, divided by the mean gain over a factor 4 of t before: 1 or more where it grows "
        "like log t, 0 or less where it has reached a bound; less than {:g}"
    )
    return decide_with_tolerances(
        GROWTH, (0.25, 0.75), lambda most: decided(statistic.format(most), by_time, high=most), "less than {:g}"
    )


def larger_c_more_regret(data: Data) -> Evidence:
    by_time: ByTime = {}
    for t in _growth_times(data):
        for base in _bases(data, t):
            for theta, words in THETAS.items():
                for less, more in pairwise(CS):
                    gap = _growth_regret(data, base, theta, more, t) - _growth_regret(data, base, theta, less, t)
                    setting = f"T = {t:,}, {_index(base)}, {words}, c = {more} minus {less}"
                    by_time.setdefault(t, []).append(mean_over_runs(setting, gap))
    statistic = "c-regret at T with the larger c minus that with the smaller (rewards); more than 0"
    return decided(statistic, by_time, 0.0)


def thetas_cross(data: Data) -> Evidence:
    by_time: ByTime = {}
    for t in _growth_times(data):
        for base in _bases(data, t):
            for c, more, less in ((CS[0], "theta1", "theta2"), (CS[-1], "theta2", "theta1")):
                gap = _growth_regret(data, base, more, c, t) - _growth_regret(data, base, less, c, t)
                setting = f"T = {t:,}, {_index(base)}, c = {c}, {THETAS[more]} minus {THETAS[less]}"
                by_time.setdefault(t, []).append(mean_over_runs(setting, gap))
    statistic = (
        "c-regret at T, that of θ₁ minus that of θ₂ at c = 0.05, that of θ₂ minus that of θ₁ at c = 0.15 (rewards); "
        "more than 0"
    )
    return decided(statistic, by_time, 0.0)


def kl_below_ucb1(data: Data) -> Evidence:
    by_time: ByTime = {}
    for t in recorded(data, growth_name(KL), _growth_times(data)):
        mean, error = zip(*(at_round(data[growth_name(base)], "c_regret", base, t) for base in OWN), strict=True)
        cases = zip(CASES, mean[0] - mean[1], np.hypot(*error), strict=True)
        by_time[t] = [
            Estimate(f"T = {t:,}, {THETAS[theta]}, c = {c}", gap, stderr) for (theta, c), gap, stderr in cases
        ]
    statistic = "c-regret at T with UCB1 minus that with KL-UCB (rewards); more than 0"
    return decided(statistic, by_time, 0.0)


def _regret_gaps(data: Data, figure: Mapping[str, str], more: Sequence[str], less: Sequence[str]) -> ByTime:
    """c-regret of each of `more` minus that of each of `less`, run by run with common random numbers."""
    by_time: ByTime = {}
    for name in _names(data, figure):
        for t in recorded(data, name, TIMES):
            for above in more:
                for below in less:
                    gap = runs_at(data, name, "c_regret", above, t) - runs_at(data, name, "c_regret", below, t)
                    setting = f"T = {t:,}, {place(name)}, {above} minus {below}"
                    by_time.setdefault(t, []).append(mean_over_runs(setting, gap))
    return by_time


def _least_regret(data: Data, figure: Mapping[str, str]) -> Evidence:
    """Whether Fair-MMAB has less c-regret than every other policy."""
    statistic = "c-regret at T of another policy minus that of Fair-MMAB (rewards); more than 0"
    return decided(statistic, _regret_gaps(data, figure, RIVALS, OWN), 0.0)


def regret_saved(data: Data, name: str, label: str) -> float:
    """The c-regret that leaving bad arms behind saves at T: the sum over j > L of (mu_(L) - mu_j) (tau_j T - N_j)+."""
    results = data[name].isel(instance=0)
    counts, mu = results.pulls.sel(policy=label).values, results.means.values
    last = np.sort(mu)[-int(results.attrs["plays"])]
    lack = np.maximum(results.fractions.values * float(results["round"][-1]) - counts, 0.0)
    return float((np.maximum(last - mu, 0.0) * lack).sum(axis=-1).mean())


def least_regret_even(data: Data) -> Evidence:
    saved = ", ".join(f"{regret_saved(data, name, 'LFG'):.1f} ({place(name)})" for name in COMPARED.values())
    last = int(data[COMPARED["theta1"]]["round"][-1])
    words = (
        f"LFG leaves bad arms behind, which c-regret counts as gained: by T = {last:,} this lowers that of LFG by "
        f"{saved} rewards"
    )
    return with_words(_least_regret(data, COMPARED), words)


def least_regret_uneven(data: Data) -> Evidence:
    return _least_regret(data, UNEVEN)


def pllp_most_regret(data: Data) -> Evidence:
    statistic = "c-regret at T of UCB-PLLP minus that of another policy (rewards); more than 0"
    return decided(statistic, _regret_gaps(data, COMPARED, ["UCB-PLLP"], [*OWN, "LFG", "UCB-LP"]), 0.0)


def _never_behind(data: Data, figure: Mapping[str, str], words: str) -> list[Estimate]:
    """The largest deficit under Fair-MMAB of any run in any round."""
    return [
        Estimate(f"{words}, {place(name)}, {_index(base)}", float(data[name].max_deficit_ever.sel(policy=base).max()))
        for base in OWN
        for name in _names(data, figure)
    ]


def own_never_behind(data: Data) -> Evidence:
    estimates = [*_never_behind(data, COMPARED, "Fig. 4"), *_never_behind(data, LARGE, "Fig. 5")]
    for base in OWN:
        deficits = data[growth_name(base)].max_deficit_ever.sel(policy=base).max("seed").values
        for (theta, c), value in zip(CASES, deficits, strict=True):
            estimates.append(Estimate(f"Fig. 1-2, {_index(base)}, {THETAS[theta]}, c = {c}", float(value)))
    statistic = "largest deficit of any arm over all runs and all rounds (rounds); less than 1"
    return decide(statistic, estimates, high=1.0).explained("an arm was behind by a round or more")


def own_never_behind_uneven(data: Data) -> Evidence:
    statistic = "largest deficit of any arm under Fair-MMAB over all runs and all rounds (rounds); less than 1"
    evidence = decide(statistic, _never_behind(data, UNEVEN, "Fig. 8-9"), high=1.0)
    return evidence.explained("an arm was behind by a round or more")


def _behind(data: Data, figure: Mapping[str, str]) -> Evidence:
    """Whether LFG and UCB-LP leave some arm behind by more than a round."""
    by_time: ByTime = {}
    shares = []
    for name in _names(data, figure):
        times = recorded(data, name, TIMES)
        for label in ("LFG", "UCB-LP"):
            for t in times:
                values = runs_at(data, name, "max_deficit", label, t)
                by_time.setdefault(t, []).append(mean_over_runs(f"T = {t:,}, {place(name)}, {label}", values))
            share = float((runs_at(data, name, "max_deficit", label, times[-1]) > 1).mean())
            shares.append(f"{share:.0%} ({place(name)}, {label})")
    statistic = "largest deficit at T, mean over runs (rounds); more than 1"
    words = f"share of the runs in which it is more than 1 at T = {times[-1]:,}: {', '.join(shares)}"
    return with_words(decided(statistic, by_time, 1.0), words)


def others_behind(data: Data) -> Evidence:
    return _behind(data, COMPARED)


def others_unfair_large(data: Data) -> Evidence:
    by_time: ByTime = {}
    for name in _names(data, LARGE):
        for t in recorded(data, name, TIMES):
            for label in ("LFG", "UCB-LP"):
                unfair = largest_until(data, name, label, t) >= 1
                by_time.setdefault(t, []).append(mean_over_runs(f"T = {t:,}, {place(name)}, {label}", unfair))
    statistic = (
        "share of the runs in which some arm is behind by a round or more in a recorded round up to T; more than "
    )
    return decide_with_tolerances(
        MOST, (0.9, 0.99), lambda least: decided(f"{statistic}{least:g}", by_time, low=least), "more than {:g}"
    )


def others_behind_uneven(data: Data) -> Evidence:
    return _behind(data, UNEVEN)


_PLLP = (
    "UCB-PLLP selects an arm whose truncated index is d below the L-th best once its queue is d sqrt(t) / 0.9 long, of "
    "which the slack makes 0.4 sqrt(t): the deficit of arms with d above 0.36 grows without a bound, and the claim is "
    "false for large T"
)


def _pllp_never_behind(data: Data, figure: Mapping[str, str]) -> Evidence:
    """Whether most runs of UCB-PLLP stay below a deficit of 1 up to T."""
    by_time: ByTime = {}
    means: dict[int, list[float]] = {}
    for name in _names(data, figure):
        for t in recorded(data, name, TIMES):
            largest = largest_until(data, name, "UCB-PLLP", t)
            by_time.setdefault(t, []).append(mean_over_runs(f"T = {t:,}, {place(name)}", largest < 1))
            means.setdefault(t, []).append(float(largest.mean()))
    statistic = (
        "share of the runs in which no arm is behind by a round or more in a recorded round up to T; more than {:g}"
    )
    ranges = "; ".join(f"{min(values):.2g} to {max(values):.2g} at T = {t:,}" for t, values in means.items())
    evidence = decide_with_tolerances(
        MOST, (0.9, 0.99), lambda least: decided(statistic.format(least), by_time, low=least), "more than {:g}"
    )
    return with_words(evidence, f"the largest deficit up to T, mean over runs: {ranges} rounds; {_PLLP}")


def pllp_never_behind(data: Data) -> Evidence:
    return _pllp_never_behind(data, COMPARED)


def pllp_never_behind_large(data: Data) -> Evidence:
    return _pllp_never_behind(data, LARGE)


def pllp_never_behind_uneven(data: Data) -> Evidence:
    return _pllp_never_behind(data, UNEVEN)


def pllp_far_below(data: Data) -> Evidence:
    by_time: ByTime = {}
    for name in _names(data, COMPARED):
        for t in recorded(data, name, TIMES):
            values = runs_at(data, name, "max_deficit", "UCB-PLLP", t)
            by_time.setdefault(t, []).append(mean_over_runs(f"T = {t:,}, {place(name)}", values))
    statistic = f"largest deficit under UCB-PLLP at T, mean over runs (rounds); less than {FAR_BELOW:g}"
    return with_words(decided(statistic, by_time, high=FAR_BELOW), _PLLP)


def own_close_to_1(data: Data) -> Evidence:
    by_time: ByTime = {}
    for name in COMPARED.values():
        for t in recorded(data, name, TIMES):
            results = data[name].sel(round=slice(TIMES[0], t)).isel(instance=0)
            height = float(results.max_deficit.max() - results.max_deficit.min())
            for base in OWN:
                runs = data[name].max_deficit_runs.sel(policy=base, round=slice(t - WINDOW + 1, t))
                distance = (1 - runs.mean("round").values) / height
                by_time.setdefault(t, []).append(mean_over_runs(f"T = {t:,}, {place(name)}, {_index(base)}", distance))
    statistic = (
        f"1 minus the largest deficit under Fair-MMAB, mean over the {WINDOW} rounds up to T, divided by the distance "
        f"between the highest and the lowest of the five curves from t = {TIMES[0]} to T; between 0 and {{:g}}"
    )
    return decide_with_tolerances(
        CLOSE, (0.02, 0.1), lambda most: decided(statistic.format(most), by_time, 0.0, most), "less than {:.0%}"
    )


def _gap(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Values `[instance, seed]` minus others, run by run, for the seeds that both have."""
    seeds = min(values.shape[1], others.shape[1])
    gap: np.ndarray = values[:, :seeds] - others[:, :seeds]
    return gap


def pllp_lower_with_large_fractions(data: Data) -> Evidence:
    by_time: ByTime = {}
    pairs = [(COMPARED[theta], LARGE[theta]) for theta in THETAS]
    pairs += [(reordered(even), reordered(large)) for even, large in pairs if reordered(large) in data]
    for of_figure_4, of_figure_5 in pairs:
        for t in recorded(data, of_figure_4, TIMES):
            even, large = (runs_at(data, name, "max_deficit", "UCB-PLLP", t) for name in (of_figure_4, of_figure_5))
            by_time.setdefault(t, []).append(mean_over_runs(f"T = {t:,}, {place(of_figure_4)}", _gap(even, large)))
    statistic = "largest deficit under UCB-PLLP at T, that of Fig. 4 minus that of Fig. 5, mean over runs (rounds); "
    evidence = decided(f"{statistic}more than 0", by_time, 0.0)
    lower = [eps for number, eps in enumerate(SLACKS) if _is_lower(data, number)]
    holds_for = f"eps_t = {lower[0]:g}/sqrt(t) in Fig. 5, and 0.2/sqrt(t) in Fig. 4, up to T = 10,000" if lower else ""
    return evidence.explained(evidence.finding, holds_for)


def _is_lower(data: Data, number: int) -> bool:
    """Whether UCB-PLLP with another slack in figure 5 has lower deficits than in figure 4 at all horizons."""
    estimates = []
    for theta, name in SLACK.items():
        runs = data[name].max_deficit_runs.isel(policy=number)
        for t in recorded(data, name, TIMES):
            even = runs_at(data, COMPARED[theta], "max_deficit", "UCB-PLLP", t)
            estimates.append(mean_over_runs("", _gap(even, runs.sel(round=t).values)))
    return decide("", estimates, 0.0).verdict == REPRODUCED


def c4_above_c5(data: Data) -> Evidence:
    by_time: ByTime = {}
    for base in OWN:
        for t in recorded(data, UNEVEN["c4"], TIMES):
            c4, c5 = (runs_at(data, name, "c_regret", base, t) for name in UNEVEN.values())
            by_time.setdefault(t, []).append(mean_over_runs(f"T = {t:,}, {_index(base)}", c4 - c5))
    return decided("c-regret at T with c4 minus that with c5 (rewards); more than 0", by_time, 0.0)
