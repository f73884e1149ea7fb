"""Paper 002: what decides its claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import xarray as xr

from jaxbandit.metrics.definitions import METRICS
from jaxbandit.papers.evidence import REPRODUCED, Evidence, Margin, at, decide, difference, final, over_runs, ratio
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
    exponents,
    fixed,
    name,
    timing,
)

REACHED = 0.05  # how far, in proportion, a fraction may be from the optimal one
SUBLINEAR = 0.8  # the largest exponent of a regret in the round that counts as sublinear; linear: 1, the bounds: 1/2
LINEAR = 0.9  # the smallest that counts as linear
CLOSE = 1.25  # the largest ratio of two regrets that are quite close
COMPARABLE = 2.0  # the largest ratio of two regrets that are comparable
EPS = 0.1  # how often FGREEDY-D explores by default
WINDOW = 4  # exponents are those over the last three quarters of the rounds


def exponent(where: str, results: xr.Dataset, metric: str, label: str) -> Margin:
    """x of a metric that grows like t^x over the last three quarters of the rounds.

    Its error takes both ends as independent, which they are not: the interval is too wide rather than too narrow.
    """
    rounds = results["round"].values
    last = int(rounds[-1])
    early = int(rounds[np.argmin(np.abs(rounds - last / WINDOW))])
    (begun, begun_error), (done, done_error) = (at(results, metric, label, t) for t in (early, last))
    span = np.log(last / early)
    with np.errstate(divide="ignore", invalid="ignore"):  # no regret at all has no exponent
        value, error = np.log(done / begun) / span, np.hypot(done_error / done, begun_error / begun) / span
    return Margin(where, float(value[0]), float(error[0]))


def spread(results: xr.Dataset, metric: str) -> Margin:
    """The gap between the most and the least regret of the five policies that every experiment has."""
    means = {label: float(final(results, metric, label).mean()) for label in FIVE}
    most, least = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
    return difference(f"{most} less {least}", results, metric, most, least)


def _name(metric: str) -> str:
    return METRICS[metric].label.partition(" (")[0]


def _range(margins: Sequence[Margin]) -> str:
    """The margins in words, for a finding."""
    values = [margin.value for margin in margins]
    return f"{min(values):.3g} to {max(values):.3g}"


def _positive(margins: Sequence[Margin]) -> str:
    count = sum(margin.value > 0 for margin in margins)
    return f"{count} of {len(margins)} differences are positive; they run from {_range(margins)}"


def extremes(data: Data) -> Evidence:
    """What the unfair policies gain in reward and lose in fairness, against each of the others."""
    results = data[name("geometric")]
    margins = []
    for unfair in UNFAIR:
        for fair in (*FAIR, GREEDY):
            margins.append(difference(f"reward regret, {fair} less {unfair}", results, REGRETS[0], fair, unfair))
            margins.append(difference(f"fairness regret, {unfair} less {fair}", results, REGRETS[1], unfair, fair))
    words = (
        "reward regret of FCUCB-D, FCTS-D or FGREEDY-D less that of CUCB-D or MP-TS-D (rewards), and fairness regret "
        "of the latter less that of the former (selections); more than 0"
    )
    return decide(words, margins, 0.0).explained(_positive(margins))


def fractions(data: Data) -> Evidence:
    """How near each arm's fraction of the rounds is to the optimal one."""
    words = f"an arm's fraction of the rounds over its optimal fraction, less 1; within {REACHED:.0%}"

    def compared(experiment: str) -> tuple[Evidence, str]:
        results, optimal = data[experiment], data.problem(experiment).fair_chances()[:, 0]
        margins = []
        for label in FAIR:
            shares = results.pulls.sel(policy=label).values[0] / float(results["round"][-1])
            for arm, best in enumerate(optimal):
                margins.append(over_runs(f"{label}, arm {arm}", (shares[:, arm] / best - 1)[None]))
        return decide(words, margins, -REACHED, REACHED), _range(margins)

    (evidence, near), (longer, nearer) = compared(name("geometric")), compared(fixed(0))
    setting = f"T = {int(data[fixed(0)]['round'][-1]):,} without delay"
    why = (
        f"the deviations run from {near}: FCUCB-D's optimism takes rounds from the arms of least merit; at {setting} "
        f"they run from {nearer}: {longer.verdict}"
    )
    return evidence.explained(why, setting if longer.verdict == REPRODUCED else "")


def uniform(data: Data) -> Evidence:
    """Whether uniform fractions or the optimal ones are nearer to those of FGREEDY-D."""
    experiment = name("geometric")
    problem = data.problem(experiment)
    optimal, even = problem.fair_chances()[:, 0], problem.plays / problem.arms

    def margin(results: xr.Dataset, where: str) -> Margin:
        shares = results.pulls.sel(policy=GREEDY).values[0] / float(results["round"][-1])
        return over_runs(where, (abs(shares - even).sum(1) - abs(shares - optimal).sum(1))[None])

    words = (
        "distance (sum over arms) of FGREEDY-D's fractions from uniform ones less their distance from the optimal "
        "ones; less than 0"
    )
    evidence = decide(words, [margin(data[experiment], f"eps = {EPS}")], high=0.0)
    more = decide(words, [margin(data[EXPLORING], "eps = 0.6")], high=0.0)
    why = (
        f"the paper does not say how often FGREEDY-D explores; at eps = {EPS} it does not in {1 - EPS:.0%} of rounds; "
        f"at eps = 0.6 the difference is {more.number:.3g} [{more.low:.3g}, {more.high:.3g}]: {more.verdict}"
    )
    return evidence.explained(why, "eps = 0.6" if more.verdict == REPRODUCED else "")


def below_greedy(data: Data) -> Evidence:
    """How much more regret FGREEDY-D has than the fair policies."""
    results = data[name("geometric")]
    margins = [difference(f"{_name(m)}, {label}", results, m, GREEDY, label) for m in REGRETS for label in FAIR]
    words = "regret of FGREEDY-D less that of FCUCB-D or FCTS-D (rewards; selections); more than 0"
    return decide(words, margins, 0.0).explained(_positive(margins))


def penalty_rate(data: Data) -> Evidence:
    """What FCUCB-D gains in reward over FCTS-D, and loses in fairness."""
    results = data[name("geometric")]
    margins = [
        difference("reward regret, FCTS-D less FCUCB-D", results, REGRETS[0], "FCTS-D", "FCUCB-D"),
        difference("fairness regret, FCUCB-D less FCTS-D", results, REGRETS[1], "FCUCB-D", "FCTS-D"),
    ]
    words = (
        "reward regret of FCTS-D less that of FCUCB-D (rewards), and fairness regret of FCUCB-D less that of FCTS-D "
        "(selections); more than 0"
    )
    return decide(words, margins, 0.0).explained(_positive(margins))


def sublinear(data: Data, names: Iterable[str]) -> Evidence:
    """How fast the regrets of the fair policies grow in some experiments."""
    margins = [
        exponent(f"{_name(metric)} of {label}, {experiment}", data[experiment], metric, label)
        for experiment in names
        for metric in REGRETS
        for label in FAIR
    ]
    words = f"exponent of a regret in the round, from T/{WINDOW} to T; sublinear: less than {SUBLINEAR}"
    return decide(words, margins, high=SUBLINEAR).explained(f"the exponents run from {_range(margins)}")


def linear(data: Data) -> Evidence:
    """How fast the fairness regret of the others grows where delays have no mean."""
    words = f"exponent of fairness regret in the round, from T/{WINDOW} to T; linear: more than {LINEAR}"

    def grown(metric: str, *labels: str) -> list[Margin]:
        return [
            exponent(f"{label}, {name(delay)}", data[name(delay)], metric, label)
            for delay in ("pareto", "packet-loss")
            for label in labels
        ]

    margins, unfair = grown(REGRETS[1], *UNFAIR, GREEDY), decide(words, grown(REGRETS[1], *UNFAIR), low=LINEAR)
    shares = []  # of FGREEDY-D's fairness regret that its exploration makes
    for delay in ("pareto", "packet-loss"):
        results, problem = data[name(delay)], data.problem(name(delay))
        apart = abs(problem.fair_chances() - problem.plays / problem.arms).sum()
        explored = EPS * float(results["round"][-1]) * apart
        shares.append(f"{explored / final(results, REGRETS[1], GREEDY).mean():.0%}")
    why = (
        f"the exponents run from {_range(margins)}: exploration, which costs the same in every round, makes "
        f"{' and '.join(shares)} of FGREEDY-D's fairness regret at T, and the rest grows more slowly; the exponents of "
        f"its reward regret run from {_range(grown(REGRETS[0], GREEDY))}"
    )
    alone = "CUCB-D and MP-TS-D alone" if unfair.verdict == REPRODUCED else ""
    return decide(words, margins, low=LINEAR).explained(why, alone)


def insensitive(data: Data) -> Evidence:
    """How the regrets of the fair policies under fixed delays compare with those without delay."""
    margins: dict[str, list[Margin]] = {}
    for metric in REGRETS:
        for label in FAIR:
            base = final(data[fixed(0)], metric, label)
            for rounds in FIXED[1:]:
                where = f"{_name(metric)} of {label}, d = {rounds}"
                margins.setdefault(metric, []).append(ratio(where, final(data[fixed(rounds)], metric, label), base))
    words = f"regret at T under a fixed delay over that without delay; close: from {1 / CLOSE} to {CLOSE}"
    ranges = "; ".join(f"{_name(metric)}, {_range(own)}" for metric, own in margins.items())
    ends = [[final(data[fixed(d)], REGRETS[0], label).mean() for d in (FIXED[0], FIXED[-1])] for label in FAIR]
    paid = " and ".join(f"{(late - soon) / FIXED[-1]:.3g}" for soon, late in ends)
    why = (
        f"the ratios: {ranges}. Each round of delay is one more of selecting about uniformly, for {paid} rewards "
        "(FCUCB-D, FCTS-D), which is much beside regrets this small"
    )
    fair = decide(words, margins[REGRETS[1]], 1 / CLOSE, CLOSE)
    every = [margin for own in margins.values() for margin in own]
    alone = "fairness regret alone" if fair.verdict == REPRODUCED else ""
    return decide(words, every, 1 / CLOSE, CLOSE).explained(why, alone)


def optimistic(data: Data, names: Iterable[str], loses: bool) -> Evidence:
    """Each OP variant against its plain policy: that it has more of both regrets (`loses`), or less."""
    what = "an OP variant less that of its plain policy" if loses else "a plain policy less that of its OP variant"
    words = f"regret of {what} (rewards; selections); more than 0"
    margins: dict[str, list[Margin]] = {}
    for experiment in names:
        for metric in REGRETS:
            for plain, op in zip(FAIR, OPTIMISTIC, strict=True):
                more, less = (op, plain) if loses else (plain, op)
                where = f"{_name(metric)}, {more} less {less}, {experiment}"
                margin = difference(where, data[experiment], metric, more, less)
                margins.setdefault(experiment, []).append(margin)
    every = [margin for own in margins.values() for margin in own]
    negative = [f"{margin.where}: {margin.value:.4g}" for margin in every if margin.value <= 0]
    why = f"{_positive(every)}; not positive: {'; '.join(negative) or 'none'}"
    if loses and any("FCTS-D" in text for text in negative):
        why += ". Where little is missing, the average of OP-FCTS-D's two draws varies less than FCTS-D's one draw"
    called = {name(delay): what for delay, what in DELAYS.items()}
    holds = [called.get(made, made) for made, own in margins.items() if decide(words, own, 0.0).verdict == REPRODUCED]
    return decide(words, every, 0.0).explained(why, ", ".join(holds))


def tradeoff(data: Data) -> Evidence:
    """The sum of both regrets on the conversion log."""
    results = data[LOG]
    both = {label: sum(final(results, metric, label) for metric in REGRETS) for label in FIVE}
    margins = [
        over_runs(f"{other} less {label}", both[other] - both[label]) for other in (*UNFAIR, GREEDY) for label in FAIR
    ]
    words = "reward and fairness regret together of CUCB-D, MP-TS-D or FGREEDY-D less those of FCUCB-D or FCTS-D; > 0"
    return decide(words, margins, 0.0).explained(_positive(margins))


def widens(data: Data, metric: str) -> Evidence:
    """How the gap between the policies grows with the exponent of the merit, a step and a delay each."""
    unit = "rewards" if metric == REGRETS[0] else "selections"
    words = (
        f"growth, from one c to the next, of the gap between the most and the least {_name(metric)} of five ({unit})"
    )
    words += "; more than 0"
    margins: dict[int, list[Margin]] = {}
    for delay in DELAYS:
        gaps = {c: spread(data[name(delay, c)], metric) for c in exponents(data, delay)}
        for small, large in pairwise(gaps):
            error = float(np.hypot(gaps[small].error, gaps[large].error))
            where = f"{DELAYS[delay]}, from c = {small} to {large}"
            margins.setdefault(small, []).append(Margin(where, gaps[large].value - gaps[small].value, error))
    every = [margin for own in margins.values() for margin in own]
    steepness = exponents(data, "geometric")
    away = ", ".join(f"{_away(data, c, metric):.3g}" for c in steepness)
    far = (
        "uniform selections earn less than the optimal ones by"
        if metric == REGRETS[0]
        else ("the optimal fractions are from those of the three best arms by")
    )
    why = f"{_positive(every)}. In a round {far} {away} at c = {', '.join(map(str, steepness))}"
    after = [c for c in margins if decide(words, _from(margins, c), 0.0).verdict == REPRODUCED]
    return decide(words, every, 0.0).explained(why, f"from c = {min(after)} on" if after else "")


def _from(margins: Mapping[int, list[Margin]], least: int) -> list[Margin]:
    return [margin for c, own in margins.items() if c >= least for margin in own]


def _away(data: Data, c: int, metric: str) -> float:
    """How far the optimal policy is from the one with the most of a regret, a round: what sets the gap."""
    problem = data.problem(name("geometric", c))
    means, optimal = problem.means[:, 0], problem.fair_chances()[:, 0]
    if metric == REGRETS[0]:
        return float((optimal - problem.plays / problem.arms) @ means)
    best = means >= np.sort(means)[-problem.plays]
    return float(abs(optimal - best).sum())


def comparable(data: Data) -> Evidence:
    """The regrets of FGREEDY-D under reward-dependent delay, relative to those of the fair policies."""
    margins = []
    for c in exponents(data, "reward-dependent"):
        results = data[name("reward-dependent", c)]
        for metric in REGRETS:
            for label in FAIR:
                where = f"{_name(metric)}, c = {c}, over {label}"
                margins.append(ratio(where, final(results, metric, GREEDY), final(results, metric, label)))
    words = (
        f"regret of FGREEDY-D at T over that of FCUCB-D or FCTS-D; comparable: from {1 / COMPARABLE} to {COMPARABLE:g}"
    )
    return decide(words, margins, 1 / COMPARABLE, COMPARABLE).explained(f"the ratios run from {_range(margins)}")


def _seconds(data: Data, label: str, searched: bool = False) -> list[list[float]]:
    """Of a round of a run, a timing each, `[1, timing]`."""
    runs = [data[timing(label, repeat, searched)].attrs for repeat in range(REPEATS)]
    return [[1 / run["rounds_per_second"] for run in runs]]


def faster(data: Data) -> Evidence:
    """The running times of TS-type policies, relative to those of their UCB types."""
    words = f"running time of a TS-type policy over that of its UCB type, {REPEATS} timings each; less than 1"

    def compared(searched: bool) -> Evidence:
        margins = [
            ratio(f"{fast} over {slow}", _seconds(data, fast), _seconds(data, slow, searched))
            for slow, fast in zip(BOXED, (FAIR[1], OPTIMISTIC[1]), strict=True)
        ]
        return decide(words, margins, high=1.0)

    evidence, search = compared(searched=False), compared(searched=True)
    why = (
        "for 1 + 2μ^c the best point of a box is its upper corner, which costs nothing to find, while a Beta draw "
        "does; with the optimum searched for on a grid, as for any other merit function, the ratio is "
        f"{search.number:.3g} [{search.low:.3g}, {search.high:.3g}]: {search.verdict}"
    )
    return evidence.explained(why, "an optimum that is searched for" if search.verdict == REPRODUCED else "")
