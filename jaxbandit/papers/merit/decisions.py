"""The evidence on the claims of section 6 of the merit paper: each function measures a statistic and decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from jaxbandit.papers.evidence import (
    Estimate,
    Evidence,
    at_round,
    decide,
    decide_some,
    decide_with_tolerances,
    difference,
    final_values,
    mean_over_runs,
    metric_name,
    ratio,
    values_in_words,
)
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.merit.experiments import (
    DELAYS,
    EXPLORING,
    FAIR,
    FIXED,
    GREEDY,
    INDEPENDENT,
    LOG,
    OPTIMISTIC,
    PUBLIC_EPS,
    REGRETS,
    UNFAIR,
    experiment_name,
    fixed_name,
)

CONVERGED = 0.1  # the largest part of the distance of uniform selections that counts as having converged
SUBLINEAR = 0.8  # the largest exponent of a regret in the round that counts as sublinear; linear: 1, the bounds: 1/2
MAINLY = 0.75  # the smallest share of the selections that is most of them; fair policies give 0.56 to three arms
LINEAR = 0.9  # the smallest exponent that counts as linear
CLOSE = 1.25  # the largest ratio of two regrets that are close
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


def values_range(estimates: Sequence[Estimate]) -> str:
    values = [estimate.value for estimate in estimates]
    return f"{min(values):.3g} to {max(values):.3g}"


def signs(estimates: Sequence[Estimate]) -> str:
    count = sum(estimate.value > 0 for estimate in estimates)
    return f"{count} of {len(estimates)} differences are positive; they range from {values_range(estimates)}"


def extremes(data: Data) -> Evidence:
    """Whether the unfair policies have less reward regret and more fairness regret than the fair ones."""
    results = data[experiment_name("geometric")]
    estimates = []
    for unfair in UNFAIR:
        for other in FAIR:
            estimates.append(difference(f"reward regret, {other} minus {unfair}", results, REGRETS[0], other, unfair))
            estimates.append(difference(f"fairness regret, {unfair} minus {other}", results, REGRETS[1], unfair, other))
    statistic = (
        "reward regret of FCUCB-D or FCTS-D minus that of CUCB-D or MP-TS-D (rewards), and fairness regret of the "
        "latter minus that of the former (selections); more than 0"
    )
    return decide(statistic, estimates, 0.0).explained(signs(estimates))


def mainly_three_arms(data: Data) -> Evidence:
    """Whether the unfair policies give most of their selections to the three arms of highest mean."""
    results = data[experiment_name("geometric")]
    means = results.means.values[0]
    three = means >= np.sort(means)[-3]
    estimates = []
    for label in UNFAIR:
        pulls = results.pulls.sel(policy=label).values[0]
        estimates.append(mean_over_runs(label, (pulls[:, three].sum(1) / pulls.sum(1))[None]))

    def decided(least: float) -> Evidence:
        statistic = f"share of the selections that go to the three arms of highest mean; more than {least:g}"
        return decide(statistic, estimates, low=least)

    return decide_with_tolerances(MAINLY, (0.5, 0.9, 0.99), decided, "more than {:g}").explained(
        values_range(estimates)
    )


def _distance_at_end(data: Data, label: str) -> Estimate:
    """The mean distance of the selection probabilities from the optimal ones over the last quarter of the rounds,
    divided by the distance of uniform ones. The distance is summed over arms: it is the fairness regret per round.
    """
    name = experiment_name("geometric")
    results, problem = data[name], data.problem(name)
    rounds = results["round"].values
    last = int(rounds[-1])
    begin = int(rounds[np.argmin(np.abs(rounds - 0.75 * last))])
    (before, before_error), (end, end_error) = (at_round(results, REGRETS[1], label, t) for t in (begin, last))
    scale = float(abs(problem.fair_chances()[:, 0] - problem.plays / problem.arms).sum()) * (last - begin)
    return Estimate(label, float(end[0] - before[0]) / scale, float(np.hypot(end_error, before_error)[0]) / scale)


def converge_to_optimum(data: Data) -> Evidence:
    """Whether the fair policies select the arms with nearly the optimal probabilities at last."""
    estimates = [_distance_at_end(data, label) for label in FAIR]

    def decided(close: float) -> Evidence:
        statistic = (
            "distance of the selection probabilities from the optimal ones, mean over the last quarter of the rounds, "
            f"divided by the distance of uniform ones; less than {close:g}"
        )
        return decide(statistic, estimates, high=close)

    results, optimal = data[experiment_name("geometric")], data.problem(experiment_name("geometric")).fair_chances()
    fractions = [results.pulls.sel(policy=label).values[0] / float(results["round"][-1]) for label in FAIR]
    off = [one.mean(0) / optimal[:, 0] - 1 for one in fractions]
    greedy = _distance_at_end(data, GREEDY)
    evidence = decide_with_tolerances(CONVERGED, (0.03, 0.05, 0.2), decided, "less than {:g}")
    return replace(
        evidence,
        finding=f"{values_in_words(estimates)}; for FGREEDY-D it is {greedy.value:.3g}. The fractions of all rounds "
        f"are off the optimal ones by {np.min(off):.1%} to {np.max(off):.1%}",
    )


def greedy_is_uniform(data: Data) -> Evidence:
    """Whether the fractions of FGREEDY-D are closer to uniform fractions than to the optimal ones."""
    problem = data.problem(experiment_name("geometric"))
    optimal, uniform = problem.fair_chances()[:, 0], problem.plays / problem.arms
    estimates, words = [], []
    for name, eps in ((experiment_name("geometric"), EPS), (EXPLORING, PUBLIC_EPS)):
        results = data[name]
        fractions = results.pulls.sel(policy=GREEDY).values[0] / float(results["round"][-1])
        far, near = (abs(fractions - point).sum(1) for point in (uniform, optimal))
        estimates.append(mean_over_runs(f"eps = {eps}", (far - near)[None]))
        words.append(f"{far.mean():.2f} from uniform, {near.mean():.2f} from optimal (eps = {eps})")
    statistic = (
        "distance (sum over arms) of FGREEDY-D's fractions from uniform ones minus their distance from the optimal "
        "ones; less than 0"
    )
    return decide(statistic, estimates, high=0.0).explained(
        f"the distances are {'; '.join(words)}; that of the optimal fractions from uniform ones is "
        f"{abs(optimal - uniform).sum():.2f}. FGREEDY-D explores in a share eps of the rounds only, and selects in "
        "proportion to the estimated merit in the others"
    )


def below_greedy(data: Data) -> Evidence:
    """Whether FGREEDY-D has more of both regrets than the fair policies."""
    results = data[experiment_name("geometric")]
    estimates = [difference(f"{metric_name(m)}, {label}", results, m, GREEDY, label) for m in REGRETS for label in FAIR]
    statistic = "regret of FGREEDY-D minus that of FCUCB-D or FCTS-D (rewards; selections); more than 0"
    return decide(statistic, estimates, 0.0).explained(signs(estimates))


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
    return decide(statistic, estimates, 0.0).explained(signs(estimates))


def sublinear(data: Data, experiments: Iterable[str]) -> Evidence:
    """Whether the regrets of the fair policies grow sublinearly in some experiments."""
    estimates = [
        exponent(f"{metric_name(metric)} of {label}, {_DELAY_IN_WORDS[experiment]}", data[experiment], metric, label)
        for experiment in experiments
        for metric in REGRETS
        for label in FAIR
    ]

    def decided(most: float) -> Evidence:
        statistic = f"exponent of a regret in the round, from T/{WINDOW} to T; sublinear: less than {most:g}"
        return decide(statistic, estimates, high=most)

    evidence = decide_with_tolerances(SUBLINEAR, (0.7, 0.9, 1.0), decided, "less than {:g}")
    return evidence.explained(f"the exponents range from {values_range(estimates)}")


def one_is_linear(data: Data) -> Evidence:
    """Whether each other policy has a regret that grows linearly where delays have no finite mean."""
    estimates, every = [], []
    for delay in ("pareto", "packet-loss"):
        results = data[experiment_name(delay)]
        for label in (*UNFAIR, GREEDY):
            both = [
                exponent(f"{metric_name(metric)} of {label}, {DELAYS[delay]}", results, metric, label)
                for metric in REGRETS
            ]
            every += both
            estimates.append(max(both, key=lambda one: one.value))

    def decided(least: float) -> Evidence:
        statistic = (
            f"the larger exponent of a policy's two regrets in the round, from T/{WINDOW} to T; linear: more than "
            f"{least:g}"
        )
        return decide(statistic, estimates, low=least)

    evidence = decide_with_tolerances(LINEAR, (0.8, 0.95), decided, "more than {:g}")
    return replace(evidence, finding=f"both exponents of each policy: {values_in_words(every)}")


def close_under_fixed_delays(data: Data, metric: str) -> Evidence:
    """Whether a regret of the fair policies under fixed delays is close to that without delay."""
    estimates = []
    for label in FAIR:
        undelayed = final_values(data[fixed_name(0)], metric, label)
        for rounds in FIXED[1:]:
            delayed = final_values(data[fixed_name(rounds)], metric, label)
            estimates.append(ratio(f"{label}, d = {rounds}", delayed, undelayed))

    def decided(close: float) -> Evidence:
        words = f"from 1/{close:g} to {close:g}"
        statistic = f"{metric_name(metric)} at T under a fixed delay divided by that without delay; close: {words}"
        return decide(statistic, estimates, 1 / close, close)

    ends = [[final_values(data[fixed_name(d)], metric, label).mean() for d in (FIXED[0], FIXED[-1])] for label in FAIR]
    per_round = " and ".join(f"{(delayed - undelayed) / FIXED[-1]:.3g}" for undelayed, delayed in ends)
    levels = "; ".join(f"{label} {start:.3g} to {end:.3g}" for label, (start, end) in zip(FAIR, ends, strict=True))
    return decide_with_tolerances(CLOSE, (1.1, 1.5, 2.5), decided, "up to a factor {:g}").explained(
        f"the ratios range from {values_range(estimates)}; without delay and with d = {FIXED[-1]} it is: {levels}. "
        f"In each round of delay the policies select almost uniformly, which adds {per_round} (FCUCB-D, FCTS-D)"
    )


def _differences(data: Data, experiments: Iterable[str], loses: bool) -> list[Estimate]:
    """The regrets of OP variants minus those of their plain policies, or the reverse where not `loses`."""
    return [
        difference(
            f"{metric_name(metric)}, {more} minus {less}, {_DELAY_IN_WORDS[experiment]}",
            data[experiment],
            metric,
            more,
            less,
        )
        for experiment in experiments
        for metric in REGRETS
        for more, less in (zip(OPTIMISTIC, FAIR, strict=True) if loses else zip(FAIR, OPTIMISTIC, strict=True))
    ]


def optimistic(data: Data, experiment: str, loses: bool) -> Evidence:
    """Whether each OP variant has more of both regrets than its plain policy (`loses`), or less."""
    pair = "an OP variant minus that of its plain policy" if loses else "a plain policy minus that of its OP variant"
    estimates = _differences(data, [experiment], loses)
    statistic = f"regret of {pair} (rewards; selections); more than 0"
    return decide(statistic, estimates, 0.0).explained(signs(estimates))


def optimistic_may_lose(data: Data) -> Evidence:
    """Whether some OP variant has a larger regret than its plain policy where delays are independent of rewards."""
    estimates = _differences(data, map(experiment_name, INDEPENDENT), loses=True)
    negative = [f"{estimate.setting}: {estimate.value:.4g}" for estimate in estimates if estimate.value <= 0]
    statistic = (
        "regret of an OP variant minus that of its plain policy (rewards; selections); more than 0 in some setting"
    )
    evidence = decide_some(statistic, estimates, low=0.0)
    return replace(evidence, finding=f"{signs(estimates)}; not positive: {'; '.join(negative) or 'none'}")


def _log_of_product(data: Data, experiment: str, above: str, below: str) -> Estimate:
    """The logarithm of the product of both regrets of a policy divided by that of another; first-order error."""
    value, runs = 0.0, 0.0
    for sign, label in ((1, above), (-1, below)):
        for metric in REGRETS:
            regret = final_values(data[experiment], metric, label)
            value += sign * float(np.log(regret.mean())) if regret.mean() > 0 else np.nan
            runs = runs + sign * regret / regret.mean()
    spread = mean_over_runs("", runs)
    return Estimate(f"{above} against {below}", value, spread.stderr, spread.samples)


def best_tradeoff(data: Data) -> Evidence:
    """Whether the fair policies have the smallest product of both regrets on the conversion log."""
    estimates = [_log_of_product(data, LOG, other, label) for other in (*UNFAIR, GREEDY) for label in FAIR]
    statistic = (
        "logarithm of the product of reward regret and fairness regret of CUCB-D, MP-TS-D or FGREEDY-D divided by that "
        "of FCUCB-D or FCTS-D; more than 0"
    )
    return decide(statistic, estimates, 0.0).explained(values_in_words(estimates))
