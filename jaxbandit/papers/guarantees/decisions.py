"""The evidence on the claims of the guarantees paper: each function measures a statistic and decides."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np

from jaxbandit.papers.evidence import (
    HOLDS_FROM,
    REPRODUCED,
    Estimate,
    Evidence,
    decide,
    decide_over_time,
    decide_with_tolerances,
    final_values,
    growth,
    mean_over_runs,
    parameter_in_label,
    ratio,
)
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.guarantees.experiments import (
    CLIPPED,
    ETA,
    FIGURE_ROUNDS,
    FRACTIONS,
    KNOWN_TIMES,
    OTHER_R,
    R_REGRET,
    REGRET,
    at_time,
    known_name,
    times,
)

UCB1, FUCB, FTS, ETA_FUCB, LFG, TFUCB, NAIVE = "UCB1", "FUCB", "F-TS", "η-FUCB", "LFG", "T-FUCB", "NAIVE"
CLOSE = 0.1  # relative difference in regret up to which a policy follows another closely
SIMILAR = 1.5  # the largest ratio of two similar regrets
LOGARITHMIC = math.sqrt(2)  # between 1, the growth of log T over a factor 4 divided by that before, and 2, of a root
SUBLINEAR = 0.9  # the largest exponent of T that counts as sublinear
SMALL_R = min(OTHER_R)  # with which a logarithm shows later than the longest horizon
_LARGE_ETA = "eta-fucb (eta=1)"
_EVERY_R = {0.05: (R_REGRET, 0)} | {r: (FRACTIONS, number) for number, r in enumerate(OTHER_R)}  # experiment, instance


def _over_time(
    data: Data, name: str, estimate: Callable[[int], list[Estimate]], statistic: str, *ends: float
) -> Evidence:
    """Decide at each horizon of an experiment; the range in which the claim holds is the verdict."""
    return decide_over_time(statistic, {t: estimate(t) for t in times(data, name)}, *ends)


def _in_words(estimates: list[Estimate]) -> str:
    return ", ".join(f"{estimate.value:.3g} ({estimate.setting})" for estimate in estimates)


def _range(estimates: list[Estimate]) -> str:
    ends = [end(estimates, key=lambda estimate: estimate.value) for end in (min, max)]
    return " to ".join(f"{estimate.value:.3g} ({estimate.setting})" for estimate in ends)


def follows_ucb1(data: Data) -> Evidence:
    """Whether LFG and η-FUCB without fractions have nearly the regret of UCB1."""

    def estimates(t: int) -> list[Estimate]:
        ucb1 = at_time(data, REGRET, "regret", UCB1, t)
        both = {label: at_time(data, REGRET, "regret", label, t) for label in (LFG, ETA_FUCB)}
        return [mean_over_runs(f"{label}, T = {t:,}", (own - ucb1) / ucb1.mean()) for label, own in both.items()]

    def decided(close: float) -> Evidence:
        statistic = f"regret at r = 0 divided by that of UCB1, minus 1; within {close:g}"
        return _over_time(data, REGRET, estimates, statistic, -close, close)

    every = [one for t in times(data, REGRET) for one in estimates(t)]
    return decide_with_tolerances(CLOSE, (0.05, 0.2, 0.5), decided, "within {:g}").explained(
        f"{_in_words(every)}. LFG explores less than UCB1: its bonus is sqrt(1.5 log t / N), and its index is capped "
        "at 1, where UCB1 has sqrt(2 log t / N). η-FUCB adds -η N to each index, which decides more and more; "
        "with γ clipped at 0 it makes the selections of UCB1"
    )


def thompson_below_ucb1(data: Data) -> Evidence:
    """Whether F-TS without fractions has less regret than UCB1."""

    def estimates(t: int) -> list[Estimate]:
        gap = at_time(data, REGRET, "regret", UCB1, t) - at_time(data, REGRET, "regret", FTS, t)
        return [mean_over_runs(f"T = {t:,}", gap / t)]

    statistic = "regret per round of UCB1 minus that of F-TS at r = 0 (rewards per round); more than 0"
    return _over_time(data, REGRET, estimates, statistic, 0.0)


def _similar(data: Data, metric: str) -> list[Estimate]:
    """FUCB's r-regret divided by a metric of UCB1, for every r and horizon."""
    return [
        ratio(
            f"r = {r:g}, T = {t:,}",
            at_time(data, name, "r_regret", FUCB, t, instance),
            at_time(data, name, metric, UCB1, t, instance),
        )
        for r, (name, instance) in sorted(_EVERY_R.items())
        for t in times(data, name)
    ]


def similar_to_ucb1(data: Data) -> Evidence:
    """Whether FUCB's r-regret is similar to UCB1's regret."""
    literal, other = _similar(data, "regret"), _similar(data, "r_regret")

    def decided(similar: float, estimates: list[Estimate] = literal) -> Evidence:
        statistic = f"r-regret of FUCB divided by the regret of UCB1; from 1/{similar:g} to {similar:g}"
        return decide(statistic, estimates, 1 / similar, similar)

    read = decided(SIMILAR, other)
    return decide_with_tolerances(SIMILAR, (1.25, 2.0, 4.0), decided, "up to a factor {:g}").explained(
        f"the ratios range from {_range(literal)}. The regret of UCB1 counts all rounds of worse arms, the r-regret "
        f"only those above their quotas r T. Read as the r-regret of UCB1, which the paper does not say, it holds in "
        f"{len(read.inside)} of {read.compared} settings: {'; '.join(read.inside)}"
    )


def lfg_below_the_others(data: Data) -> Evidence:
    """Whether LFG has less r-regret than the policies that the paper proposes."""
    estimates = []
    for r, (name, instance) in sorted(_EVERY_R.items()):
        for label in (FUCB, FTS, ETA_FUCB) if name == R_REGRET else (FUCB,):
            for t in times(data, name):
                own, lfg = (at_time(data, name, "r_regret", one, t, instance) for one in (label, LFG))
                estimates.append(mean_over_runs(f"{label} minus LFG, r = {r:g}, T = {t:,}", own - lfg))
    missed = ", ".join(
        f"{float(data[R_REGRET].unfairness.sel(policy=label, round=FIGURE_ROUNDS).mean()):.3g} ({label})"
        for label in (LFG, FUCB, FTS, ETA_FUCB)
    )
    statistic = "r-regret of a policy of the paper minus that of LFG (rewards); more than 0"
    return decide(statistic, estimates, 0.0).explained(
        f"the differences range from {_range(estimates)}. Missed rounds at r = 0.05, T = {FIGURE_ROUNDS:,}: {missed}"
    )


def _growth(data: Data, name: str, label: str, t: int, instance: int = 0, words: str = "") -> Estimate:
    early, middle, late = (at_time(data, name, "r_regret", label, t // part, instance) for part in (16, 4, 1))
    return growth(f"{label}{words}, T = {t:,}", early, middle, late)


_GROWTH = (
    "growth of the r-regret from T/4 to T, divided by that from T/16 to T/4: 1 for log T, 2 for a square root, 4 for a "
    "straight line"
)


def _grows_like_log(by_time: Mapping[int, list[Estimate]]) -> Evidence:
    return decide_with_tolerances(
        LOGARITHMIC,
        (1.2, 2.0, 3.0),
        lambda most: decide_over_time(f"{_GROWTH}; below {most:.3g}", by_time, high=most),
        "below {:g}",
    )


def logarithmic(data: Data) -> Evidence:
    """Whether the r-regrets of FUCB and LFG grow like log T, for r from 0.01 on."""

    def estimates(t: int, every_r: Iterable[float]) -> list[Estimate]:
        return [
            _growth(data, name, label, t, instance, f", r = {r:g}")
            for label in (FUCB, LFG)
            for r, (name, instance) in sorted(_EVERY_R.items())
            if r in every_r
        ]

    every = {t: estimates(t, set(_EVERY_R) - {SMALL_R}) for t in times(data, R_REGRET)[2:]}
    bounded = [one.setting for at in every.values() for one in at if math.isnan(one.value)]
    by_time = {t: [one for one in at if not math.isnan(one.value)] for t, at in every.items()}
    last = max(by_time)
    evidence = _grows_like_log(by_time).explained(
        f"the ratios at T = {last:,} are {_in_words(by_time[last])}; with r = {SMALL_R:g} they are still "
        f"{_in_words(estimates(last, [SMALL_R]))}; left out: {'; '.join(bounded) or 'none'}. With gaps of 0.01 UCB1 "
        "distinguishes the best arm from the next one after about 2 log T / gap² = 200,000 plays"
    )
    return replace(evidence, holds_for=f"{evidence.holds_for}, r from 0.01 to 0.09" if evidence.holds_for else "")


def logarithmic_for_large_eta(data: Data) -> Evidence:
    """Whether the r-regret of η-FUCB with the largest η grows like log T."""
    evidence, clipped = (
        _grows_like_log({t: [_growth(data, name, _LARGE_ETA, t)] for t in times(data, name)[2:]})
        for name in (ETA, CLIPPED)
    )
    results = data[ETA]
    unguaranteed = 1 - float(results.fractions.sum())
    gaps = float(results.means.max()) - results.means.values[0]
    horizon = times(data, ETA)[-1]
    rate = at_time(data, ETA, "r_regret", _LARGE_ETA, horizon).mean() / horizon
    shared = unguaranteed * gaps.mean()
    return evidence.explained(
        "as printed, γ = r (t-1) - N is negative for arms ahead of their quotas, so a large η keeps all deficits "
        f"equal, and the rounds that are not guaranteed are shared equally: an r-regret of {shared:.4f} "
        f"per round; measured: {rate:.4f}. With γ clipped at 0 the ratio is {clipped.number:.3g} [{clipped.low:.3g}, "
        f"{clipped.high:.3g}] ({clipped.setting}): {clipped.verdict}{clipped.holds_for.removeprefix('T')}",
        f"γ clipped at 0, {clipped.holds_for or 'all T'}" if clipped.verdict in (REPRODUCED, HOLDS_FROM) else "",
    )


def trades_fairness(data: Data) -> Evidence:
    """Whether a larger η gives more r-regret, and satisfied fairness constraints in the end."""
    results = data[ETA].sel(round=FIGURE_ROUNDS)
    labels = results.policy.values.tolist()
    estimates = []
    for smaller, larger in pairwise(labels):
        more, less = (at_time(data, ETA, "r_regret", label, FIGURE_ROUNDS) for label in (larger, smaller))
        estimates.append(
            mean_over_runs(
                f"r-regret, η = {parameter_in_label(smaller):g} to {parameter_in_label(larger):g}", more - less
            )
        )
    arms = results.sizes["arm"]
    missed = at_time(data, ETA, "unfairness", labels[-1], FIGURE_ROUNDS) / arms
    estimates.append(mean_over_runs("1 minus the missed rounds per arm at the largest η", 1 - missed))
    words = ", ".join(f"{float(results.unfairness.sel(policy=label).mean()):.3g}" for label in labels)
    statistic = (
        "increase of the r-regret to the next larger η (rewards), and 1 minus the missed rounds per arm at the largest "
        f"η, T = {FIGURE_ROUNDS:,}; more than 0"
    )
    return decide(statistic, estimates, 0.0).explained(
        f"{_in_words(estimates)}. Missed rounds of all arms from the smallest η to the largest: {words}"
    )


def no_round_behind(data: Data) -> Evidence:
    """Whether FUCB never has an arm behind its quota by a whole round."""
    results = data[R_REGRET]
    largest = float(results.max_deficit_ever.sel(policy=FUCB).max())
    estimate = Estimate(f"FUCB, {results.sizes['seed']} runs, every round", largest)
    return decide("largest r t - N_k(t) of any arm, run and round (rounds); less than 1", [estimate], high=1.0)


def _known_times(data: Data) -> list[int]:
    return [t for t in KNOWN_TIMES if known_name(t) in data]


def better_with_the_horizon(data: Data) -> Evidence:
    """Whether T-FUCB, which knows T, has less r-regret than FUCB."""
    by_time = {}
    for t in _known_times(data):
        known = final_values(data[known_name(t)], "r_regret", TFUCB)
        gap = at_time(data, R_REGRET, "r_regret", FUCB, t) - known
        by_time[t] = [mean_over_runs(f"T = {t:,}", gap)]
    statistic = "r-regret of FUCB minus that of T-FUCB, r = 0.05 (rewards); more than 0"
    words = _in_words([one for at in by_time.values() for one in at])
    return decide_over_time(statistic, by_time, 0.0).explained(f"the differences are {words}")


def naive_is_sublinear(data: Data) -> Evidence:
    """Whether the r-regret of NAIVE grows like a power of T below 1 where its exploration shrinks with T."""

    def estimates() -> dict[int, list[Estimate]]:
        made = {}
        for short, long in pairwise(_known_times(data)):
            ends = [mean_over_runs("", final_values(data[known_name(t)], "r_regret", NAIVE)) for t in (short, long)]
            span = math.log(long / short)
            error = math.hypot(*(end.stderr / end.value for end in ends)) / span
            setting = f"T = {short:,} to {long:,}"
            made[long] = [Estimate(setting, math.log(ends[1].value / ends[0].value) / span, error, ends[0].samples)]
        return made

    def decided(most: float) -> Evidence:
        statistic = f"exponent of T in NAIVE's r-regret from one horizon to the next; sublinear: below {most:g}"
        return decide_over_time(statistic, estimates(), high=most)

    words = _in_words([one for at in estimates().values() for one in at])
    return decide_with_tolerances(SUBLINEAR, (0.75, 0.8, 1.0), decided, "below {:g}").explained(
        f"the exponents are {words}; the bound grows with about 0.7"
    )


def fixed_share_is_linear() -> tuple[str, bool]:
    """The r-regret of NAIVE with two arms whose means are 1 and 0, r = 0 and eps = 0.1, at two horizons."""
    regrets = [0.1 * horizon / 2 for horizon in (1_000, 1_000_000)]  # arm 2 gets half of the exploration: eq. 5
    rates = [
        regret / (horizon**2 * math.log(horizon)) ** (1 / 3)
        for regret, horizon in zip(regrets, (1_000, 1_000_000), strict=True)
    ]
    words = (
        f"r-regret {regrets[0]:,.0f} at T = 1,000 and {regrets[1]:,.0f} at T = 1,000,000; divided by (T² log T)^(1/3): "
        f"{rates[0]:.3g} and {rates[1]:.3g}"
    )
    return words, bool(regrets[1] / regrets[0] == 1000 and rates[1] > 3 * rates[0])


def unclipped_eta_is_linear() -> tuple[str, bool]:
    """The selections of the worse of two arms under η-FUCB, η = 1, r = 0, with constant rewards 1 and 0."""
    counts = {clipped: [_worse_arm(clipped, horizon) for horizon in (1_000, 4_000)] for clipped in (False, True)}
    words = "; ".join(
        f"{'γ clipped at 0' if clipped else 'as printed'}: {at[0]} rounds of arm 2 by T = 1,000, {at[1]} by T = 4,000"
        for clipped, at in counts.items()
    )
    return words, counts[False][1] > 3.5 * counts[False][0] and counts[True][1] < 1.5 * counts[True][0]


def _worse_arm(clipped: bool, horizon: int) -> int:
    """N_2(T) of Alg. 4 by its own few lines."""
    counts, means = np.ones(2), np.array([1.0, 0.0])
    for t in range(3, horizon + 1):
        behind = np.minimum(-counts, 0.0) if not clipped else np.zeros(2)  # r (t-1) - N with r = 0
        index = means + np.sqrt(2 * math.log(t) / counts) + behind
        counts[np.argmax(index)] += 1
    return int(counts[1])
