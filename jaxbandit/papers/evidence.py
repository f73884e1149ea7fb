"""The evidence on claims: estimates with standard errors, and the verdicts that follow from them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from jaxbandit.metrics.definitions import METRICS

REPRODUCED, IN_PART, FAILED, UNDECIDED = "reproduced", "reproduced in part", "not reproduced", "cannot be told"
HOLDS_FROM, HOLDS_UNTIL = "holds from T", "holds until T"
VERDICTS = (REPRODUCED, IN_PART, HOLDS_FROM, HOLDS_UNTIL, FAILED, UNDECIDED)
ERROR = 0.05  # of a confidence interval, and of all counterexamples of a claim together


@dataclass(frozen=True)
class Estimate:
    """One of the numbers that decide a claim.

    Attributes:
        setting: the setting in which the number was measured, in words.
        value: the estimate.
        stderr: its standard error; 0 for a number that is the same in every run.
        samples: the number of values that the error was estimated from; 0 for many.
    """

    setting: str
    value: float
    stderr: float = 0.0
    samples: int = 0

    def half_width(self, error: float) -> float:
        """Half the width of the confidence interval that misses the true value with a probability of `error`."""
        return _quantile(1 - error / 2, self.samples) * self.stderr if self.stderr else 0.0


@functools.cache
def _quantile(level: float, samples: int) -> float:
    """The quantile of Student's distribution for an error from some samples; of the normal one for 0."""
    from scipy import stats  # late: `import jaxbandit` does not need it

    return float(stats.t.ppf(level, samples - 1) if samples > 1 else stats.norm.ppf(level))


@dataclass(frozen=True)
class Evidence:
    """The verdict on a claim, and the numbers behind it.

    Attributes:
        verdict: one of `VERDICTS`.
        statistic: the measured statistic in words, with its unit and the range that the claim gives it.
        number: the value that decides: of the values in all settings, the one that is furthest outside the range or,
            if all are inside, closest to its ends.
        low, high: the confidence interval of that value, as `decide` describes it.
        setting: the setting of that value.
        compared: the number of settings compared.
        inside: the settings in which the claim holds.
        ties: the number of settings in which an exact tie says nothing.
        tolerance: the two ends of the range that the claim gives the statistic; infinite where there is none.
        finding: the reason why the claim does not hold; empty if it holds.
        holds_for: where the claim holds, such as a range of horizons; empty if it holds everywhere, or nowhere.
        other_tolerances: the verdicts with other ends of the range: pairs of the end in words and the verdict.
    """

    verdict: str
    statistic: str
    number: float
    low: float
    high: float
    setting: str
    compared: int
    inside: tuple[str, ...] = ()
    ties: int = 0
    tolerance: tuple[float, float] = (-math.inf, math.inf)
    finding: str = ""
    holds_for: str = ""
    other_tolerances: tuple[tuple[str, str], ...] = ()

    def explained(self, finding: str, holds_for: str = "") -> Evidence:
        """The evidence with a finding, where the claim was not reproduced everywhere; else the evidence as it is."""
        if self.verdict == REPRODUCED:
            return self
        return replace(self, finding=finding, holds_for=self.holds_for or holds_for)

    def at_quick_sizes(self) -> Evidence:
        """The evidence where sizes were quick: a counterexample may be due to them, so it decides nothing."""
        others = tuple((end, UNDECIDED if word in (FAILED, IN_PART) else word) for end, word in self.other_tolerances)
        if self.verdict not in (FAILED, IN_PART):
            return replace(self, other_tolerances=others)
        found = f"at these quick sizes it is {self.verdict}, which may be due to fewer rounds or runs"
        why = "; ".join(filter(None, [found, self.finding]))
        return replace(self, verdict=UNDECIDED, finding=why, other_tolerances=others)


def decide(statistic: str, estimates: Sequence[Estimate], low: float = -math.inf, high: float = math.inf) -> Evidence:
    """Decide whether the claim that every estimate lies strictly between `low` and `high` holds.

    A setting is inside where its own 95 % interval lies in the range: to conclude that all are inside, no correction
    for their number is needed (an intersection-union test; Berger 1982). A setting is a counterexample where its
    interval lies wholly outside, with the level of Bonferroni: with 95 %, no setting in which the claim is true
    becomes one. Intervals are Student's. Where a difference is claimed to be above or below 0, an exact 0 is a tie,
    which says nothing.

    The claim is reproduced where all settings but ties are inside; reproduced in part where some are inside and some
    are counterexamples; not reproduced where some are counterexamples and none is inside; otherwise it cannot be told.
    """
    tolerance = (low, high)
    told = [one for one in estimates if one.stderr or one.value or 0 not in tolerance]
    ties = len(estimates) - len(told)
    if not told:
        where, number = (f"{ties} exact ties", 0.0) if ties else ("no setting", math.nan)
        return Evidence(UNDECIDED, statistic, number, number, number, where, ties, (), ties, tolerance)
    single, joint = ERROR, ERROR / len(told)

    def outside(one: Estimate) -> float:
        half = one.half_width(joint)
        return max(low - one.value - half, one.value - half - high)

    def slack(one: Estimate) -> float:
        half = one.half_width(single)
        return min(one.value - half - low, high - one.value - half)

    finite = [one for one in told if math.isfinite(one.value) and math.isfinite(one.stderr)]
    failing = [one for one in finite if outside(one) > 0 or (outside(one) == 0 and not one.stderr)]
    inside = [one for one in finite if slack(one) > 0]
    if failing:
        verdict, worst, error = (IN_PART if inside else FAILED), max(failing, key=outside), joint
    else:
        verdict = REPRODUCED if len(inside) == len(told) else UNDECIDED
        worst, error = min(finite or told, key=slack), single
    width = worst.half_width(error)
    interval = (worst.value - width, worst.value + width)
    names = tuple(one.setting for one in inside)
    return Evidence(verdict, statistic, worst.value, *interval, worst.setting, len(estimates), names, ties, tolerance)


def decide_some(
    statistic: str, estimates: Sequence[Estimate], low: float = -math.inf, high: float = math.inf
) -> Evidence:
    """Decide whether the claim that some estimate lies strictly between `low` and `high` holds.

    It does where the interval of one of them lies in the range, with the level of Bonferroni: with 95 %, no setting
    makes a claim true that is false in all. It does not where every estimate's own 95 % interval lies outside.
    """
    tolerance = (low, high)
    told = [one for one in estimates if math.isfinite(one.value) and math.isfinite(one.stderr)]
    told = [one for one in told if one.stderr or one.value or 0 not in tolerance]
    if not told:
        return Evidence(UNDECIDED, statistic, math.nan, math.nan, math.nan, "no setting", len(estimates))

    def slack(one: Estimate, error: float) -> float:
        half = one.half_width(error)
        return min(one.value - half - low, high - one.value - half)

    joint = ERROR / len(told)
    best = max(told, key=lambda one: slack(one, joint))
    inside = tuple(one.setting for one in told if slack(one, joint) > 0)
    outside = all(one.value + one.half_width(ERROR) < low or one.value - one.half_width(ERROR) > high for one in told)
    verdict = REPRODUCED if inside else FAILED if outside else UNDECIDED
    half = best.half_width(joint)
    interval = (best.value - half, best.value + half)
    ties = len(estimates) - len(told)
    return Evidence(verdict, statistic, best.value, *interval, best.setting, len(estimates), inside, ties, tolerance)


def decide_over_time(
    statistic: str, by_time: Mapping[int, Sequence[Estimate]], low: float = -math.inf, high: float = math.inf
) -> Evidence:
    """Decide a claim that may hold from a horizon on, or up to one.

    Where the claim is not reproduced at all horizons together, the verdict is that it holds from the earliest horizon
    such that it is reproduced at this and all later ones; or else, up to the latest one, if there are counterexamples
    or nothing but exact ties beyond it. A horizon at which there are exact ties alone does not count as reproduced. The
    number and the counts of settings and of ties are those of the horizons at which the claim holds.

    Args:
        statistic: the measured statistic in words.
        by_time: the estimates at each horizon.
        low, high: the range.
    """
    times = sorted(by_time)

    def decided(part: Sequence[int]) -> Evidence:
        return decide(statistic, [one for time in part for one in by_time[time]], low, high)

    told = [time for time in times if decided([time]).ties < len(by_time[time])]
    every = decided(times)
    if every.verdict == REPRODUCED and told == times:
        return every

    def holds(part: Sequence[int], verdict: str, where: str) -> Evidence | None:
        own = decided(part)
        if own.verdict != REPRODUCED or not set(part) <= set(told):
            return None
        return replace(own, verdict=verdict, holds_for=where)

    for n in range(1, len(times)):
        if found := holds(times[n:], HOLDS_FROM, f"T ≥ {times[n]:,}"):
            return found
    for n in range(len(times) - 1, 0, -1):
        beyond = decided(times[n:])
        fails = beyond.verdict in (FAILED, IN_PART) or beyond.ties == beyond.compared
        if fails and (found := holds(times[:n], HOLDS_UNTIL, f"T ≤ {times[n - 1]:,}")):
            return found
    return every


def decide_with_tolerances(
    chosen: float, others: Sequence[float], decided: Callable[[float], Evidence], words: str = "{:g}"
) -> Evidence:
    """Decide a claim at the chosen tolerance, and record how the verdict moves with it.

    Args:
        chosen: the tolerance that decides.
        others: other tolerances that a reader might have chosen.
        decided: the evidence at a tolerance.
        words: how the report writes a tolerance, such as "within {:.0%}".
    """
    found = {other: decided(other) for other in others}
    moved = tuple((words.format(other), _with_horizon(one)) for other, one in found.items())
    return replace(decided(chosen), other_tolerances=moved)


def _with_horizon(evidence: Evidence) -> str:
    """The verdict in words, with the horizons for which the claim holds."""
    return f"holds for {evidence.holds_for}" if evidence.verdict in (HOLDS_FROM, HOLDS_UNTIL) else evidence.verdict


def mean_over_runs(setting: str, values: ArrayLike) -> Estimate:
    """The mean of one value per run, `[instance, seed]`. Its error is over instances, or over seeds of one instance."""
    values = np.asarray(values, np.float64)
    sample = values.mean(axis=1) if values.shape[0] > 1 else values[0]
    stderr = sample.std(ddof=1) / math.sqrt(len(sample)) if len(sample) > 1 else math.inf
    return Estimate(setting, float(sample.mean()), float(stderr), len(sample))


def metric_name(metric: str) -> str:
    """The name of a metric in words, without its unit."""
    return METRICS[metric].label.partition(" (")[0]


def final_values(results: xr.Dataset, metric: str, policy: str) -> np.ndarray:
    """A metric at the horizon, `[instance, seed]`."""
    return results[f"{metric}_final"].sel(policy=policy).values


def at_round(results: xr.Dataset, metric: str, policy: str, t: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean over seeds of a metric in a recorded round, and its standard error: both `[instance]`."""
    mean, error = (results[name].sel(policy=policy, round=t) for name in (metric, f"{metric}_stderr"))
    return mean.values, error.values


def difference(setting: str, results: xr.Dataset, metric: str, more: str, less: str) -> Estimate:
    """A metric of policy `more` minus that of policy `less` at the horizon, run by run with common random numbers."""
    return mean_over_runs(setting, final_values(results, metric, more) - final_values(results, metric, less))


def ratio(setting: str, numerators: ArrayLike, denominators: ArrayLike) -> Estimate:
    """The ratio of the means of two values per run, both `[instance, seed]` and of the same runs.

    Its error is the first-order error of a ratio, over instances or seeds as in `mean_over_runs`.
    """
    above, below = (np.asarray(values, np.float64) for values in (numerators, denominators))
    value, level = above.mean() / below.mean(), below.mean()
    error = mean_over_runs(setting, (above - value * below) / level)
    return Estimate(setting, float(value), error.stderr, error.samples)


def growth(setting: str, early: ArrayLike, middle: ArrayLike, late: ArrayLike) -> Estimate:
    """(late - middle) / (middle - early) of three values per run, `[instance, seed]`; NaN where the values do not grow.

    A value grows if its mean increases by more than two standard errors in both steps: a ratio of other steps says
    nothing about growth.
    """
    values = [np.asarray(one, np.float64) for one in (early, middle, late)]
    first, second = values[1] - values[0], values[2] - values[1]
    steps = [mean_over_runs(setting, step) for step in (first, second)]
    if any(step.value <= 2 * step.stderr for step in steps):
        return Estimate(f"{setting} (it does not grow)", math.nan)
    return ratio(setting, second, first)


def horizon_exponent(short: int, early: ArrayLike, long: int, late: ArrayLike, words: str = "") -> Estimate:
    """The exponent x of a number that grows like T^x from one horizon to another; NaN where a mean is not above 0.

    Args:
        short, long: the horizons.
        early, late: values per run, `[instance, seed]`, of simulations of these horizons, which are independent.
        words: what the setting is, beside the horizons.
    """
    setting = f"{words}T = {short:,} to {long:,}"
    ends = [mean_over_runs(setting, values) for values in (early, late)]
    if min(end.value for end in ends) <= 0:
        return Estimate(f"{setting} (not above 0)", math.nan, math.nan)
    span = math.log(long / short)
    error = math.hypot(*(end.stderr / end.value for end in ends)) / span
    return Estimate(setting, math.log(ends[1].value / ends[0].value) / span, error, min(end.samples for end in ends))


def parameter_in_label(label: str) -> float:
    """The parameter at the end of the label of a grid's configuration, such as 0.5 of "lfg (eta=0.5)"."""
    return float(label.rpartition("=")[2].rstrip(")"))


def values_in_words(estimates: Sequence[Estimate]) -> str:
    """Each value with its setting."""
    return ", ".join(f"{estimate.value:.3g} ({estimate.setting})" for estimate in estimates)


def signs_in_words(estimates: Sequence[Estimate]) -> str:
    """How many differences are positive, and their range."""
    values = [estimate.value for estimate in estimates]
    positive = sum(value > 0 for value in values)
    return f"{positive} of {len(values)} differences are positive; all lie from {min(values):.3g} to {max(values):.3g}"


def split_by_verdict(
    settings: Mapping[str, Sequence[Estimate]], low: float = -math.inf, high: float = math.inf
) -> tuple[list[str], list[str]]:
    """The settings whose estimates lie between `low` and `high`, each setting decided alone, and the other settings."""
    inside = [name for name, estimates in settings.items() if decide(name, estimates, low, high).verdict == REPRODUCED]
    return inside, [name for name in settings if name not in inside]


def holds_from(by_time: Mapping[int, Sequence[Estimate]], low: float = -math.inf, high: float = math.inf) -> int | None:
    """The earliest time from which all estimates lie between `low` and `high`; None where there is none."""
    for time in sorted(by_time):
        later = [estimate for other, estimates in by_time.items() if other >= time for estimate in estimates]
        if decide("", later, low, high).verdict == REPRODUCED:
            return time
    return None
