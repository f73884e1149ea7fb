"""The evidence on the claims of appendix B of the merit paper: other merit functions, and running times."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import xarray as xr

from jaxbandit.papers.evidence import (
    Estimate,
    Evidence,
    decide,
    decide_with_tolerances,
    difference,
    final_values,
    metric_name,
    ratio,
    values_in_words,
)
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.merit.decisions import signs, values_range
from jaxbandit.papers.merit.experiments import (
    BOXED,
    DELAYS,
    FAIR,
    FIVE,
    GREEDY,
    INDEPENDENT,
    OPTIMISTIC,
    REGRETS,
    UNFAIR,
    experiment_name,
    simulated_exponents,
    timings,
)

COMPARABLE = 2.0  # the largest ratio of two regrets that are comparable


def spread(results: xr.Dataset, metric: str) -> Estimate:
    """The largest minus the smallest regret of the five policies that every experiment has."""
    means = {label: float(final_values(results, metric, label).mean()) for label in FIVE}
    largest, smallest = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
    return difference(f"{largest} minus {smallest}", results, metric, largest, smallest)


def distance_of_fair(results: xr.Dataset, metric: str) -> Estimate:
    """The distance of the regrets of FCUCB-D and FCTS-D."""
    gap = difference("", results, metric, *FAIR)
    return Estimate("FCUCB-D against FCTS-D", abs(gap.value), gap.stderr, gap.samples)


def widens(data: Data, metric: str) -> Evidence:
    """Whether gaps between the policies grow with the exponent of the merit function, per step and delay."""
    estimates = []
    for delay in DELAYS:
        for gap, words in ((spread, "largest minus smallest"), (distance_of_fair, "FCUCB-D against FCTS-D")):
            gaps = {c: gap(data[experiment_name(delay, c)], metric) for c in simulated_exponents(data, delay)}
            for small, large in pairwise(gaps):
                error = float(np.hypot(gaps[small].stderr, gaps[large].stderr))
                setting = f"{words}, {DELAYS[delay]}, c = {small} to {large}"
                estimates.append(Estimate(setting, gaps[large].value - gaps[small].value, error))
    unit = "rewards" if metric == REGRETS[0] else "selections"
    statistic = (
        f"growth, from one c to the next, of the gap in {metric_name(metric)} between the largest and the smallest of "
        f"five policies, and between FCUCB-D and FCTS-D ({unit}); more than 0"
    )
    exponents = simulated_exponents(data, "geometric")
    distances = ", ".join(f"{_distance_from_optimum(data, c, metric):.3g}" for c in exponents)
    distance = (
        "the reward of uniform selections is below that of the optimal ones by"
        if metric == REGRETS[0]
        else "the optimal fractions differ from those of the three best arms by"
    )
    finding = f"{signs(estimates)}. Per round {distance} {distances} at c = {', '.join(map(str, exponents))}"
    return decide(statistic, estimates, 0.0).explained(finding)


def _distance_from_optimum(data: Data, c: int, metric: str) -> float:
    """Per round, the distance of the optimal policy from the one with the largest regret: it makes the gap."""
    problem = data.problem(experiment_name("geometric", c))
    means, optimal = problem.means[:, 0], problem.fair_chances()[:, 0]
    if metric == REGRETS[0]:
        return float((optimal - problem.plays / problem.arms) @ means)
    three_best = means >= np.sort(means)[-problem.plays]
    return float(abs(optimal - three_best).sum())


def fairest(data: Data) -> Evidence:
    """Whether the fair policies have less fairness regret than the others with every merit function."""
    estimates = []
    for delay in INDEPENDENT:
        for c in simulated_exponents(data, delay):
            results = data[experiment_name(delay, c)]
            for label in FAIR:
                for other in (*UNFAIR, GREEDY):
                    setting = f"{other} minus {label}, {DELAYS[delay]}, c = {c}"
                    estimates.append(difference(setting, results, REGRETS[1], other, label))
    statistic = "fairness regret of CUCB-D, MP-TS-D or FGREEDY-D minus that of FCUCB-D or FCTS-D (selections); above 0"
    negative = [estimate for estimate in estimates if estimate.value <= 0]
    return decide(statistic, estimates, 0.0).explained(
        f"{signs(estimates)}; not positive: {values_in_words(negative)}. The optimism of FCUCB-D costs more than the "
        "exploration of FGREEDY-D where the merit function is steep"
    )


def comparable(data: Data) -> Evidence:
    """Whether the regrets of FGREEDY-D under reward-dependent delay are comparable with those of the fair policies."""
    estimates = []
    for c in simulated_exponents(data, "reward-dependent"):
        results = data[experiment_name("reward-dependent", c)]
        for metric in REGRETS:
            for label in FAIR:
                greedy, fair = (final_values(results, metric, policy) for policy in (GREEDY, label))
                estimates.append(ratio(f"{metric_name(metric)}, c = {c}, divided by that of {label}", greedy, fair))

    def decided(most: float) -> Evidence:
        words = f"from 1/{most:g} to {most:g}"
        statistic = f"regret of FGREEDY-D at T divided by that of FCUCB-D or FCTS-D; comparable: {words}"
        return decide(statistic, estimates, 1 / most, most)

    evidence = decide_with_tolerances(COMPARABLE, (1.25, 1.5, 3.0), decided, "up to a factor {:g}")
    return evidence.explained(f"the ratios range from {values_range(estimates)}")


def _seconds(data: Data, label: str, searched: bool = False) -> list[list[float]]:
    """The time of one round of one run, per timing, `[1, timing]`."""
    return [[1 / run.attrs["rounds_per_second"] for run in timings(data, label, searched)]]


def faster(data: Data) -> Evidence:
    """Whether the policies of TS type run faster than those of UCB type, which search for an optimum over a box."""

    def compared(searched: bool) -> list[Estimate]:
        return [
            ratio(f"{fast} divided by {slow}", _seconds(data, fast), _seconds(data, slow, searched))
            for slow, fast in zip(BOXED, (FAIR[1], OPTIMISTIC[1]), strict=True)
        ]

    statistic = (
        "running time of a policy of TS type divided by that of UCB type, whose optimum over the box of means is "
        f"searched for, {len(timings(data, FAIR[0]))} timings each; less than 1"
    )
    closed = values_in_words(compared(searched=False))
    evidence = decide(statistic, compared(searched=True), high=1.0)
    words = f"where the optimum over the box has a closed form, as here (see the findings), the ratios are {closed}"
    return Evidence(**{**vars(evidence), "finding": words})
