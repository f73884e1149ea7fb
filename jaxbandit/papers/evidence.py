"""The evidence on claims: estimates with standard errors, and the verdicts that follow from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from jaxbandit.metrics.definitions import METRICS
from jaxbandit.papers.experiment import Data

REPRODUCED, FAILED, UNDECIDED = "reproduced", "not reproduced", "undecided"
FAMILYWISE_ERROR = 0.05  # the probability that some confidence interval of a claim misses its value


@dataclass(frozen=True)
class Estimate:
    """One of the numbers that decide a claim.

    Attributes:
        setting: the setting in which the number was measured, in words.
        value: the estimate.
        stderr: its standard error; 0 for a number that is the same in every run.
    """

    setting: str
    value: float
    stderr: float = 0.0


@dataclass(frozen=True)
class Evidence:
    """The verdict on a claim, and the numbers behind it.

    Attributes:
        verdict: "reproduced", "not reproduced" or "undecided".
        statistic: the measured statistic in words, with its unit and the range that the claim gives it.
        number: the value that decides: of the values in all settings, the one that is furthest outside the range or,
            if all are inside, closest to its ends.
        low, high: the confidence interval of that value. The intervals of all settings hold together with 95 %.
        setting: the setting of that value.
        compared: the number of settings compared.
        tolerance: the two ends of the range that the claim gives the statistic; infinite where there is none.
        finding: the reason why the claim does not hold; empty if it holds.
        holds_for: the nearest settings in which the claim holds; empty if there are none or none is needed.
    """

    verdict: str
    statistic: str
    number: float
    low: float
    high: float
    setting: str
    compared: int
    tolerance: tuple[float, float] = (-math.inf, math.inf)
    finding: str = ""
    holds_for: str = ""

    def explained(self, finding: str, holds_for: str = "") -> Evidence:
        """The evidence with a finding, where the claim was not reproduced; else the evidence as it is."""
        return self if self.verdict == REPRODUCED else replace(self, finding=finding, holds_for=holds_for)


@dataclass(frozen=True)
class Claim:
    """A statement of a paper about its experiments, and how to decide it.

    Attributes:
        name: the paper's name and a number, such as "merit-1".
        statement: the statement in short.
        place: where the paper makes it.
        figure: the name of the figure that shows it.
        weigh: computes the evidence from the results of the paper's experiments.
        needs: experiments without which the claim cannot be decided.
        assumed: what the experiments assume because the paper does not state it.
    """

    name: str
    statement: str
    place: str
    figure: str
    weigh: Callable[[Data], Evidence]
    needs: tuple[str, ...] = ()
    assumed: str = ""


def decide(statistic: str, estimates: Sequence[Estimate], low: float = -math.inf, high: float = math.inf) -> Evidence:
    """Decide whether every estimate lies strictly between `low` and `high`.

    The confidence intervals are Bonferroni's: all hold together with 95 %. The claim is reproduced where every
    interval lies inside the range, not reproduced where some interval lies wholly outside, and undecided otherwise. An
    estimate without error that equals an end of the range lies outside. Without estimates the claim is undecided.
    """
    tolerance = (low, high)
    if not estimates:
        return Evidence(UNDECIDED, statistic, math.nan, math.nan, math.nan, "no setting", 0, tolerance)
    z = NormalDist().inv_cdf(1 - FAMILYWISE_ERROR / (2 * len(estimates)))

    def outside(estimate: Estimate) -> float:
        return max(low - estimate.value - z * estimate.stderr, estimate.value - z * estimate.stderr - high)

    def slack(estimate: Estimate) -> float:
        return min(estimate.value - z * estimate.stderr - low, high - estimate.value - z * estimate.stderr)

    finite = [one for one in estimates if math.isfinite(one.value) and math.isfinite(one.stderr)]
    failing = [one for one in finite if outside(one) >= 0]
    worst = max(failing, key=outside) if failing else min(finite or estimates, key=slack)
    inside = len(finite) == len(estimates) and slack(worst) > 0
    verdict = FAILED if failing else REPRODUCED if inside else UNDECIDED
    half = z * worst.stderr
    interval = (worst.value - half, worst.value + half)
    return Evidence(verdict, statistic, worst.value, *interval, worst.setting, len(estimates), tolerance)


def mean_over_runs(setting: str, values: ArrayLike) -> Estimate:
    """The mean of one value per run, `[instance, seed]`. Its error is over instances, or over seeds of one instance."""
    values = np.asarray(values, np.float64)
    sample = values.mean(axis=1) if values.shape[0] > 1 else values[0]
    stderr = sample.std(ddof=1) / math.sqrt(len(sample)) if len(sample) > 1 else math.inf
    return Estimate(setting, float(sample.mean()), float(stderr))


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
    return Estimate(setting, float(value), mean_over_runs(setting, (above - value * below) / level).stderr)


def parameter_in_label(label: str) -> float:
    """The parameter at the end of the label of a grid's configuration, such as 0.5 of "lfg (eta=0.5)"."""
    return float(label.rpartition("=")[2].rstrip(")"))


def signs_in_words(estimates: Sequence[Estimate]) -> str:
    """How many differences are positive, and their range."""
    values = [estimate.value for estimate in estimates]
    positive = sum(value > 0 for value in values)
    return f"{positive} of {len(values)} differences are positive, from {min(values):.3g} to {max(values):.3g}"


def split_by_verdict(
    settings: Mapping[str, Sequence[Estimate]], low: float = -math.inf, high: float = math.inf
) -> tuple[list[str], list[str]]:
    """The settings whose estimates lie between `low` and `high`, each setting decided alone, and the other settings."""
    inside = [name for name, estimates in settings.items() if decide(name, estimates, low, high).verdict == REPRODUCED]
    return inside, [name for name in settings if name not in inside]


def holds_from(by_time: Mapping[int, Sequence[Estimate]], low: float = -math.inf, high: float = math.inf) -> int | None:
    """The earliest time from which all estimates together lie between `low` and `high`; None where there is none."""
    for time in sorted(by_time):
        later = [estimate for other, estimates in by_time.items() if other >= time for estimate in estimates]
        if decide("", later, low, high).verdict == REPRODUCED:
            return time
    return None
