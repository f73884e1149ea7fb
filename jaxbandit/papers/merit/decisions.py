"""The evidence on the claims of the merit paper: each function measures a statistic and returns the verdict on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import xarray as xr

from jaxbandit.papers.evidence import (
    REPRODUCED,
    Estimate,
    Evidence,
    at_round,
    decide,
    difference,
    final_values,
    mean_over_runs,
    metric_name,
    ratio,
)
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.merit.experiments import (
    BOXED,
    DELAYS,
    EXPLORING,
    FAIR,
    FIVE,
    FIXED,
    GREEDY,
    LOG,
    OPTIMISTIC,
    REGRETS,
    REPEATS,
    UNFAIR,
    experiment_name,
    fixed_name,
    simulated_exponents,
    timing_name,
)

REACHED = 0.05  # the largest relative difference between a fraction and the optimal one that counts as reaching it
SUBLINEAR = 0.8  # the largest exponent of a regret in the round that counts as sublinear; linear: 1, the bounds: 1/2
LINEAR = 0.9  # the smallest exponent that counts as linear
CLOSE = 1.25  # the largest ratio of two regrets that are close
COMPARABLE = 2.0  # the largest ratio of two regrets that are comparable
EPS = 0.1  # the default probability of exploration of FGREEDY-D
WINDOW = 4  # exponents are measured from T/4 to T

_DELAY_IN_WORDS = {experiment_name(delay): words for delay, words in DELAYS.items()} | {LOG: "conversion log"}


def exponent(setting: str, results: xr.Dataset, metric: str, label: str) -> Estimate:
    """The exponent x of a metric that grows like t^x from T/4 to T.

    Its error treats the values at T/4 and at T as independent. They are positively correlated, so the interval is too
    wide rather than too narrow.
    """
    rounds = results["round"].values
    last = int(rounds[-1])
    early = int(rounds[np.argmin(np.abs(rounds - last / WINDOW))])
    (begin, begin_error), (end, end_error) = (at_round(results, metric, label, t) for t in (early, last))
    span = np.log(last / early)
    with np.errstate(divide="ignore", invalid="ignore"):  # a regret of 0 has no exponent
        value, error = np.log(end / begin) / span, np.hypot(end_error / end, begin_error / begin) / span
    return Estimate(setting, float(value[0]), float(error[0]))


def spread(results: xr.Dataset, metric: str) -> Estimate:
    """The largest minus the smallest regret of the five policies that every experiment has."""
    means = {label: float(final_values(results, metric, label).mean()) for label in FIVE}
    largest, smallest = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
    return difference(f"{largest} minus {smallest}", results, metric, largest, smallest)


def _range(estimates: Sequence[Estimate]) -> str:
    values = [estimate.value for estimate in estimates]
    return f"{min(values):.3g} to {max(values):.3g}"


def _positive(estimates: Sequence[Estimate]) -> str:
    count = sum(estimate.value > 0 for estimate in estimates)
    return f"{count} of {len(estimates)} differences are positive; they range from {_range(estimates)}"


def extremes(data: Data) -> Evidence:
    """Whether the unfair policies have less reward regret and more fairness regret than each of the others."""
    results = data[experiment_name("geometric")]
    estimates = []
    for unfair in UNFAIR:
        for other in (*FAIR, GREEDY):
            estimates.append(difference(f"reward regret, {other} minus {unfair}", results, REGRETS[0], other, unfair))
            estimates.append(difference(f"fairness regret, {unfair} minus {other}", results, REGRETS[1], unfair, other))
    statistic = (
        "reward regret of FCUCB-D, FCTS-D or FGREEDY-D minus that of CUCB-D or MP-TS-D (rewards), and fairness regret "
        "of the latter minus that of the former (selections); more than 0"
    )
    return decide(statistic, estimates, 0.0).explained(_positive(estimates))


def reach_optimal_fractions(data: Data) -> Evidence:
    """Whether the fair policies select every arm in nearly its optimal fraction of the rounds."""
    statistic = f"an arm's fraction of the rounds divided by its optimal fraction, minus 1; within {REACHED:.0%}"

    def compared(experiment: str) -> tuple[Evidence, str]:
        results, optimal = data[experiment], data.problem(experiment).fair_chances()[:, 0]
        estimates = []
        for label in FAIR:
            fractions = results.pulls.sel(policy=label).values[0] / float(results["round"][-1])
            for arm, optimum in enumerate(optimal):
                estimates.append(mean_over_runs(f"{label}, arm {arm}", (fractions[:, arm] / optimum - 1)[None]))
        return decide(statistic, estimates, -REACHED, REACHED), _range(estimates)

    evidence, deviations = compared(experiment_name("geometric"))
    longer, longer_deviations = compared(fixed_name(0))
    setting = f"T = {int(data[fixed_name(0)]['round'][-1]):,} without delay"
    finding = (
        f"the deviations range from {deviations}: the optimism of FCUCB-D takes rounds from the arms of least merit; "
        f"at {setting} they range from {longer_deviations}: {longer.verdict}"
    )
    return evidence.explained(finding, setting if longer.verdict == REPRODUCED else "")


def greedy_is_uniform(data: Data) -> Evidence:
    """Whether the fractions of FGREEDY-D are closer to uniform fractions than to the optimal ones."""
    experiment = experiment_name("geometric")
    problem = data.problem(experiment)
    optimal, uniform = problem.fair_chances()[:, 0], problem.plays / problem.arms

    def estimate(results: xr.Dataset, setting: str) -> Estimate:
        fractions = results.pulls.sel(policy=GREEDY).values[0] / float(results["round"][-1])
        distances = abs(fractions - uniform).sum(1) - abs(fractions - optimal).sum(1)
        return mean_over_runs(setting, distances[None])

    statistic = (
        "distance (sum over arms) of FGREEDY-D's fractions from uniform ones minus their distance from the optimal "
        "ones; less than 0"
    )
    evidence = decide(statistic, [estimate(data[experiment], f"eps = {EPS}")], high=0.0)
    more = decide(statistic, [estimate(data[EXPLORING], "eps = 0.6")], high=0.0)
    finding = (
        f"the paper does not say how often FGREEDY-D explores; with eps = {EPS} it does not explore in {1 - EPS:.0%} "
        f"of the rounds; with eps = 0.6 the difference is {more.number:.3g} [{more.low:.3g}, {more.high:.3g}]: "
        f"{more.verdict}"
    )
    return evidence.explained(finding, "eps = 0.6" if more.verdict == REPRODUCED else "")


def below_greedy(data: Data) -> Evidence:
    """Whether FGREEDY-D has more of both regrets than the fair policies."""
    results = data[experiment_name("geometric")]
    estimates = [difference(f"{metric_name(m)}, {label}", results, m, GREEDY, label) for m in REGRETS for label in FAIR]
    statistic = "regret of FGREEDY-D minus that of FCUCB-D or FCTS-D (rewards; selections); more than 0"
    return decide(statistic, estimates, 0.0).explained(_positive(estimates))


def reward_against_fairness(data: Data) -> Evidence:
    """Whether FCUCB-D has less reward regret and more fairness regret than FCTS-D."""
    results = data[experiment_name("geometric")]
    estimates = [
        difference("reward regret, FCTS-D minus FCUCB-D", results, REGRETS[0], "FCTS-D", "FCUCB-D"),
        difference("fairness regret, FCUCB-D minus FCTS-D", results, REGRETS[1], "FCUCB-D", "FCTS-D"),
    ]
    statistic = (
        "reward regret of FCTS-D minus that of FCUCB-D (rewards), and fairness regret of FCUCB-D minus that of FCTS-D "
        "(selections); more than 0"
    )
    return decide(statistic, estimates, 0.0).explained(_positive(estimates))


def sublinear(data: Data, experiments: Iterable[str]) -> Evidence:
    """Whether the regrets of the fair policies grow sublinearly in some experiments."""
    estimates = [
        exponent(f"{metric_name(metric)} of {label}, {_DELAY_IN_WORDS[experiment]}", data[experiment], metric, label)
        for experiment in experiments
        for metric in REGRETS
        for label in FAIR
    ]
    statistic = f"exponent of a regret in the round, from T/{WINDOW} to T; sublinear: less than {SUBLINEAR}"
    return decide(statistic, estimates, high=SUBLINEAR).explained(f"the exponents range from {_range(estimates)}")


def linear(data: Data) -> Evidence:
    """Whether the fairness regret of the other policies grows linearly where delays have no finite mean."""
    statistic = f"exponent of fairness regret in the round, from T/{WINDOW} to T; linear: more than {LINEAR}"

    def growth(metric: str, *labels: str) -> list[Estimate]:
        return [
            exponent(f"{label}, {DELAYS[delay]}", data[experiment_name(delay)], metric, label)
            for delay in ("pareto", "packet-loss")
            for label in labels
        ]

    estimates, unfair = growth(REGRETS[1], *UNFAIR, GREEDY), decide(statistic, growth(REGRETS[1], *UNFAIR), low=LINEAR)
    explored = []  # the parts of FGREEDY-D's fairness regret that its exploration makes
    for delay in ("pareto", "packet-loss"):
        experiment = experiment_name(delay)
        results, problem = data[experiment], data.problem(experiment)
        distance = abs(problem.fair_chances() - problem.plays / problem.arms).sum()
        regret = EPS * float(results["round"][-1]) * distance
        explored.append(f"{regret / final_values(results, REGRETS[1], GREEDY).mean():.0%}")
    finding = (
        f"the exponents range from {_range(estimates)}: exploration, whose regret is the same in every round, makes "
        f"{' and '.join(explored)} of FGREEDY-D's fairness regret at T, and the remainder grows more slowly; the "
        f"exponents of its reward regret range from {_range(growth(REGRETS[0], GREEDY))}"
    )
    holds_for = "CUCB-D and MP-TS-D only" if unfair.verdict == REPRODUCED else ""
    return decide(statistic, estimates, low=LINEAR).explained(finding, holds_for)


def insensitive_to_delay(data: Data) -> Evidence:
    """Whether the regrets of the fair policies under fixed delays are close to those without delay."""
    by_metric: dict[str, list[Estimate]] = {}
    for metric in REGRETS:
        for label in FAIR:
            undelayed = final_values(data[fixed_name(0)], metric, label)
            for rounds in FIXED[1:]:
                delayed = final_values(data[fixed_name(rounds)], metric, label)
                setting = f"{metric_name(metric)} of {label}, d = {rounds}"
                by_metric.setdefault(metric, []).append(ratio(setting, delayed, undelayed))
    statistic = f"regret at T under a fixed delay divided by that without delay; close: from {1 / CLOSE} to {CLOSE}"
    ranges = "; ".join(f"{metric_name(metric)}, {_range(estimates)}" for metric, estimates in by_metric.items())
    ends = [
        [final_values(data[fixed_name(d)], REGRETS[0], label).mean() for d in (FIXED[0], FIXED[-1])] for label in FAIR
    ]
    per_round = " and ".join(f"{(delayed - undelayed) / FIXED[-1]:.3g}" for undelayed, delayed in ends)
    finding = (
        f"the ratios: {ranges}. In each round of delay the policies select almost uniformly, which adds {per_round} "
        "rewards of regret (FCUCB-D, FCTS-D): much, in proportion to regrets this small"
    )
    fair = decide(statistic, by_metric[REGRETS[1]], 1 / CLOSE, CLOSE)
    every = [estimate for estimates in by_metric.values() for estimate in estimates]
    holds_for = "fairness regret only" if fair.verdict == REPRODUCED else ""
    return decide(statistic, every, 1 / CLOSE, CLOSE).explained(finding, holds_for)


def optimistic(data: Data, experiments: Iterable[str], loses: bool) -> Evidence:
    """Whether each OP variant has more of both regrets than its plain policy (`loses`), or less."""
    pair = "an OP variant minus that of its plain policy" if loses else "a plain policy minus that of its OP variant"
    statistic = f"regret of {pair} (rewards; selections); more than 0"
    by_delay: dict[str, list[Estimate]] = {}
    for experiment in experiments:
        delay = _DELAY_IN_WORDS[experiment]
        for metric in REGRETS:
            for plain, op in zip(FAIR, OPTIMISTIC, strict=True):
                more, less = (op, plain) if loses else (plain, op)
                setting = f"{metric_name(metric)}, {more} minus {less}, {delay}"
                estimate = difference(setting, data[experiment], metric, more, less)
                by_delay.setdefault(delay, []).append(estimate)
    every = [estimate for estimates in by_delay.values() for estimate in estimates]
    negative = [f"{estimate.setting}: {estimate.value:.4g}" for estimate in every if estimate.value <= 0]
    finding = f"{_positive(every)}; not positive: {'; '.join(negative) or 'none'}"
    if loses and any("FCTS-D" in text for text in negative):
        finding += ". With little missing feedback the mean of OP-FCTS-D's two draws varies less than FCTS-D's one draw"
    holds = [delay for delay, estimates in by_delay.items() if decide(statistic, estimates, 0.0).verdict == REPRODUCED]
    return decide(statistic, every, 0.0).explained(finding, ", ".join(holds))


def best_tradeoff(data: Data) -> Evidence:
    """Whether the fair policies have the smallest sum of both regrets on the conversion log."""
    results = data[LOG]
    both = {label: sum(final_values(results, metric, label) for metric in REGRETS) for label in FIVE}
    estimates = [
        mean_over_runs(f"{other} minus {label}", both[other] - both[label])
        for other in (*UNFAIR, GREEDY)
        for label in FAIR
    ]
    statistic = (
        "sum of reward and fairness regret of CUCB-D, MP-TS-D or FGREEDY-D minus that of FCUCB-D or FCTS-D; more than 0"
    )
    return decide(statistic, estimates, 0.0).explained(_positive(estimates))


def widens(data: Data, metric: str) -> Evidence:
    """Whether the gap between the policies grows with the exponent of the merit function, per step and delay."""
    unit = "rewards" if metric == REGRETS[0] else "selections"
    statistic = (
        f"growth, from one c to the next, of the gap between the largest and the smallest {metric_name(metric)} of "
        f"five policies ({unit}); more than 0"
    )
    by_exponent: dict[int, list[Estimate]] = {}
    for delay in DELAYS:
        gaps = {c: spread(data[experiment_name(delay, c)], metric) for c in simulated_exponents(data, delay)}
        for small, large in pairwise(gaps):
            error = float(np.hypot(gaps[small].stderr, gaps[large].stderr))
            setting = f"{DELAYS[delay]}, from c = {small} to {large}"
            estimate = Estimate(setting, gaps[large].value - gaps[small].value, error)
            by_exponent.setdefault(small, []).append(estimate)
    every = [estimate for estimates in by_exponent.values() for estimate in estimates]
    exponents = simulated_exponents(data, "geometric")
    distances = ", ".join(f"{_distance_from_optimum(data, c, metric):.3g}" for c in exponents)
    distance = (
        "the reward of uniform selections is below that of the optimal ones by"
        if metric == REGRETS[0]
        else "the optimal fractions differ from those of the three best arms by"
    )
    finding = f"{_positive(every)}. Per round {distance} {distances} at c = {', '.join(map(str, exponents))}"
    starts = [c for c in by_exponent if decide(statistic, _from(by_exponent, c), 0.0).verdict == REPRODUCED]
    return decide(statistic, every, 0.0).explained(finding, f"from c = {min(starts)} on" if starts else "")


def _from(by_exponent: Mapping[int, list[Estimate]], least: int) -> list[Estimate]:
    return [estimate for c, estimates in by_exponent.items() if c >= least for estimate in estimates]


def _distance_from_optimum(data: Data, c: int, metric: str) -> float:
    """Per round, the distance of the optimal policy from the one with the largest regret: it makes the gap."""
    problem = data.problem(experiment_name("geometric", c))
    means, optimal = problem.means[:, 0], problem.fair_chances()[:, 0]
    if metric == REGRETS[0]:
        return float((optimal - problem.plays / problem.arms) @ means)
    three_best = means >= np.sort(means)[-problem.plays]
    return float(abs(optimal - three_best).sum())


def comparable(data: Data) -> Evidence:
    """Whether the regrets of FGREEDY-D under reward-dependent delay are comparable with those of the fair policies."""
    estimates = []
    for c in simulated_exponents(data, "reward-dependent"):
        results = data[experiment_name("reward-dependent", c)]
        for metric in REGRETS:
            for label in FAIR:
                greedy, fair = (final_values(results, metric, policy) for policy in (GREEDY, label))
                estimates.append(ratio(f"{metric_name(metric)}, c = {c}, divided by that of {label}", greedy, fair))
    statistic = (
        "regret of FGREEDY-D at T divided by that of FCUCB-D or FCTS-D; comparable: from "
        f"{1 / COMPARABLE} to {COMPARABLE:g}"
    )
    evidence = decide(statistic, estimates, 1 / COMPARABLE, COMPARABLE)
    return evidence.explained(f"the ratios range from {_range(estimates)}")


def _seconds(data: Data, label: str, searched: bool = False) -> list[list[float]]:
    """The time of one round of one run, per timing, `[1, timing]`."""
    runs = [data[timing_name(label, repeat, searched)].attrs for repeat in range(REPEATS)]
    return [[1 / run["rounds_per_second"] for run in runs]]


def faster(data: Data) -> Evidence:
    """Whether the policies of TS type run faster than those of UCB type."""
    statistic = f"running time of a policy of TS type divided by that of UCB type, {REPEATS} timings each; less than 1"

    def compared(searched: bool) -> Evidence:
        estimates = [
            ratio(f"{fast} divided by {slow}", _seconds(data, fast), _seconds(data, slow, searched))
            for slow, fast in zip(BOXED, (FAIR[1], OPTIMISTIC[1]), strict=True)
        ]
        return decide(statistic, estimates, high=1.0)

    evidence, search = compared(searched=False), compared(searched=True)
    finding = (
        "for 1 + 2μ^c the optimum over a box is at its upper corner, which takes no time to find, whereas a Beta draw "
        "does; with a search for the optimum, as other merit functions need it, the ratio is "
        f"{search.number:.3g} [{search.low:.3g}, {search.high:.3g}]: {search.verdict}"
    )
    return evidence.explained(finding, "with a search for the optimum" if search.verdict == REPRODUCED else "")
