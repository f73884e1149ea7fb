"""The evidence on the claims of the guarantees paper: each function measures a statistic and decides."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise

from jaxbandit.papers.evidence import (
    HOLDS_FROM,
    IN_PART,
    REPRODUCED,
    Estimate,
    Evidence,
    decide,
    decide_over_time,
    decide_with_tolerances,
    final_values,
    growth,
    horizon_exponent,
    mean_over_runs,
    parameter_in_label,
    ratio,
    values_in_words,
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
_LARGE_ETA = "η-FUCB (eta=1)"
_EVERY_R = {0.05: (R_REGRET, 0)} | {r: (FRACTIONS, number) for number, r in enumerate(OTHER_R)}  # experiment, instance


def _over_time(
    data: Data, name: str, estimate: Callable[[int], list[Estimate]], statistic: str, *ends: float
) -> Evidence:
    """Decide at each horizon of an experiment; the range in which the claim holds is the verdict."""
    return decide_over_time(statistic, {t: estimate(t) for t in times(data, name)}, *ends)


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
        f"{values_in_words(every)}. LFG explores less than UCB1: its bonus is sqrt(1.5 log t / N), and its index is "
        "capped at 1, where UCB1 has sqrt(2 log t / N). η-FUCB adds -η N to each index, which decides more and more; "
        "with γ clipped at 0 it makes the selections of UCB1"
    )


def thompson_below_ucb1(data: Data) -> Evidence:
    """Whether F-TS without fractions has less regret than UCB1."""

    def estimates(t: int) -> list[Estimate]:
        gap = at_time(data, REGRET, "regret", UCB1, t) - at_time(data, REGRET, "regret", FTS, t)
        return [mean_over_runs(f"T = {t:,}", gap / t)]

    words = values_in_words([one for t in times(data, REGRET) for one in estimates(t)])
    statistic = "regret per round of UCB1 minus that of F-TS at r = 0 (rewards per round); more than 0"
    return _over_time(data, REGRET, estimates, statistic, 0.0).explained(f"the differences are {words}")


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


def _at(label: str, r: float) -> tuple[str, str, int]:
    """The experiment, the policy and the instance in which the arms have the fraction r."""
    name, instance = _EVERY_R[r]
    return name, label, instance


def _growth(data: Data, name: str, label: str, instance: int, t: int, words: str = "") -> Estimate:
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
    """Whether the r-regrets of FUCB and LFG grow like log T: for which r and from which horizon on."""
    every_r = sorted(_EVERY_R)

    def estimates(t: int, least: float) -> list[Estimate]:
        return [
            _growth(data, *_at(label, r), t, f", r = {r:g}") for label in (FUCB, LFG) for r in every_r if r >= least
        ]

    def by_time(least: float) -> dict[int, list[Estimate]]:
        made = {t: estimates(t, least) for t in times(data, R_REGRET)[2:]}
        return {t: [one for one in at if not math.isnan(one.value)] for t, at in made.items()}

    def decided(most: float) -> Evidence:
        """The verdict for the most fractions: for all r, else for all from the least r on for which it holds."""
        statistic = f"{_GROWTH}; below {most:.3g}"
        found = {least: decide_over_time(statistic, by_time(least), high=most) for least in every_r[:-1]}
        least = next((r for r, one in found.items() if one.verdict in (REPRODUCED, HOLDS_FROM)), every_r[0])
        if least == every_r[0]:
            return found[least]
        where = ", ".join(filter(None, [found[least].holds_for, f"r from {least:g} to {every_r[-1]:g}"]))
        verdict = IN_PART if found[least].verdict == REPRODUCED else found[least].verdict
        return replace(found[least], verdict=verdict, holds_for=where)

    last = times(data, R_REGRET)[-1]
    bounded = [one.setting for t in times(data, R_REGRET)[2:] for one in estimates(t, 0) if math.isnan(one.value)]
    return decide_with_tolerances(LOGARITHMIC, (1.2, 2.0, 3.0), decided, "below {:g}").explained(
        f"the ratios at T = {last:,} are {values_in_words(by_time(every_r[0])[last])}; left out: "
        f"{'; '.join(bounded) or 'none'}. With gaps of 0.01 UCB1 distinguishes the best arm from the next one after "
        "about 2 log T / gap² = 200,000 plays; the smaller r, the less the guaranteed plays help"
    )


def horizon_known_is_logarithmic(data: Data) -> Evidence:
    """Whether the r-regret of T-FUCB, simulated at each horizon, grows like log T."""
    finals = {t: final_values(data[known_name(t)], "r_regret", TFUCB) for t in _known_times(data)}
    by_time = {
        t: [growth(f"{TFUCB}, T = {t:,}", finals[t // 16], finals[t // 4], finals[t])]
        for t in finals
        if t // 16 in finals
    }
    words = values_in_words([one for at in by_time.values() for one in at])
    return _grows_like_log(by_time).explained(f"the ratios are {words or 'not known at these horizons'}")


def thompson_below_fucb(data: Data) -> Evidence:
    """Whether F-TS with fractions has less r-regret than FUCB."""

    def estimates(t: int) -> list[Estimate]:
        gap = at_time(data, R_REGRET, "r_regret", FUCB, t) - at_time(data, R_REGRET, "r_regret", FTS, t)
        return [mean_over_runs(f"T = {t:,}", gap)]

    words = values_in_words([one for t in times(data, R_REGRET) for one in estimates(t)])
    statistic = "r-regret of FUCB minus that of F-TS, r = 0.05 (rewards); more than 0"
    return _over_time(data, R_REGRET, estimates, statistic, 0.0).explained(f"the differences are {words}")


def logarithmic_for_large_eta(data: Data) -> Evidence:
    """Whether the r-regret of η-FUCB with the largest η grows like log T."""
    evidence, clipped = (
        _grows_like_log({t: [_growth(data, name, _LARGE_ETA, 0, t)] for t in times(data, name)[2:]})
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
    results = data[ETA]
    labels = results.policy.values.tolist()

    def estimates(t: int) -> list[Estimate]:
        made = []
        for smaller, larger in pairwise(labels):
            more, less = (at_time(data, ETA, "r_regret", label, t) for label in (larger, smaller))
            etas = f"η = {parameter_in_label(smaller):g} to {parameter_in_label(larger):g}"
            made.append(mean_over_runs(f"r-regret, {etas}, T = {t:,}", more - less))
        missed = at_time(data, ETA, "unfairness", labels[-1], t) / results.sizes["arm"]
        return [*made, mean_over_runs(f"1 minus the missed rounds per arm at the largest η, T = {t:,}", 1 - missed)]

    statistic = (
        "increase of the r-regret to the next larger η (rewards), and 1 minus the missed rounds per arm at the largest "
        "η; more than 0"
    )
    shown = results.unfairness.sel(round=FIGURE_ROUNDS)
    words = ", ".join(f"{float(shown.sel(policy=label).mean()):.3g}" for label in labels)
    return _over_time(data, ETA, estimates, statistic, 0.0).explained(
        f"{values_in_words(estimates(FIGURE_ROUNDS))}. Missed rounds of all arms at T = {FIGURE_ROUNDS:,} from the "
        f"smallest η to the largest: {words}"
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
    words = values_in_words([one for at in by_time.values() for one in at])
    return decide_over_time(statistic, by_time, 0.0).explained(f"the differences are {words}")


def naive_is_sublinear(data: Data) -> Evidence:
    """Whether the r-regret of NAIVE grows like a power of T below 1 where its exploration shrinks with T."""

    def estimates() -> dict[int, list[Estimate]]:
        made = {}
        for short, long in pairwise(_known_times(data)):
            early, late = (final_values(data[known_name(t)], "r_regret", NAIVE) for t in (short, long))
            made[long] = [horizon_exponent(short, early, long, late)]
        return made

    def decided(most: float) -> Evidence:
        statistic = f"exponent of T in NAIVE's r-regret from one horizon to the next; sublinear: below {most:g}"
        return decide_over_time(statistic, estimates(), high=most)

    words = values_in_words([one for at in estimates().values() for one in at])
    return decide_with_tolerances(SUBLINEAR, (0.75, 0.8, 1.0), decided, "below {:g}").explained(
        f"the exponents are {words}; the bound grows with about 0.7"
    )
