"""What decides a claim: margins with their errors, and a verdict that follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
import xarray as xr

REPRODUCED, FAILED, UNDECIDED = "reproduced", "not reproduced", "undecided"
ALARM = 0.05  # the chance that some interval of a claim misses its value


@dataclass(frozen=True)
class Margin:
    """One number of those that a claim is about.

    Attributes:
        where: the setting it was measured in.
        value: the estimate.
        error: its standard error; 0 for what holds run by run.
    """

    where: str
    value: float
    error: float = 0.0


@dataclass(frozen=True)
class Evidence:
    """The verdict on a claim, and what it rests on.

    Attributes:
        verdict: "reproduced", "not reproduced" or "undecided".
        quantity: what was measured, with its unit, and what the claim says of it.
        number: the value, of all settings, that decides.
        low, high: its confidence interval; the intervals of all settings hold together with 95 %.
        where: the setting of that value.
        settings: how many settings were compared.
        finding: why the claim does not hold; empty where it does.
        nearest: the nearest setting in which it does; empty where there is none, or no need.
    """

    verdict: str
    quantity: str
    number: float
    low: float
    high: float
    where: str
    settings: int
    finding: str = ""
    nearest: str = ""

    def explained(self, finding: str, nearest: str = "") -> Evidence:
        """The same with the finding, where the claim was not reproduced."""
        return self if self.verdict == REPRODUCED else replace(self, finding=finding, nearest=nearest)


@dataclass(frozen=True)
class Claim:
    """What a paper says of its experiments, and how to tell.

    Attributes:
        name: as "000-1".
        statement: the claim in short.
        source: where the paper makes it.
        figure: the name of the figure that shows it.
        weigh: from the paper's results to the evidence.
        needs: experiments without which it cannot be weighed.
    """

    name: str
    statement: str
    source: str
    figure: str
    weigh: Callable[[Any], Evidence]
    needs: tuple[str, ...] = ()


def decide(quantity: str, margins: Sequence[Margin], low: float = -math.inf, high: float = math.inf) -> Evidence:
    """Whether every margin lies between `low` and `high`; what is known to lie on one of them does not.

    Intervals are Bonferroni's: all hold together with 95 %. The claim is reproduced where every interval lies inside,
    not reproduced where one lies outside, and undecided otherwise. The margin shown is the one furthest out.

    Nothing to compare decides nothing.
    """
    if not margins:
        return Evidence(UNDECIDED, quantity, math.nan, math.nan, math.nan, "no setting", 0)
    z = NormalDist().inv_cdf(1 - ALARM / (2 * len(margins)))

    def outside(margin: Margin) -> float:
        return max(low - margin.value - z * margin.error, margin.value - z * margin.error - high)

    def slack(margin: Margin) -> float:
        return min(margin.value - z * margin.error - low, high - margin.value - z * margin.error)

    known = [m for m in margins if math.isfinite(m.value) and math.isfinite(m.error)]
    failing = [m for m in known if outside(m) >= 0]
    worst = max(failing, key=outside) if failing else min(known or margins, key=slack)
    inside = REPRODUCED if len(known) == len(margins) and slack(worst) > 0 else UNDECIDED
    verdict = FAILED if failing else inside
    half = z * worst.error
    return Evidence(verdict, quantity, worst.value, worst.value - half, worst.value + half, worst.where, len(margins))


def over_runs(where: str, values: Any) -> Margin:
    """The mean of a value a run, `[instance, seed]`: over instances where there are several, else over seeds."""
    values = np.asarray(values, np.float64)
    sample = values.mean(axis=1) if values.shape[0] > 1 else values[0]
    error = sample.std(ddof=1) / math.sqrt(len(sample)) if len(sample) > 1 else math.inf
    return Margin(where, float(sample.mean()), float(error))


def final(results: xr.Dataset, metric: str, policy: str) -> np.ndarray:
    """A metric at the horizon, `[instance, seed]`."""
    return results[f"{metric}_final"].sel(policy=policy).values


def at(results: xr.Dataset, metric: str, policy: str, t: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean over seeds of a metric at a recorded round, and its standard error: both `[instance]`."""
    mean, error = (results[name].sel(policy=policy, round=t) for name in (metric, f"{metric}_stderr"))
    return mean.values, error.values


def difference(where: str, results: xr.Dataset, metric: str, more: str, less: str) -> Margin:
    """How much more of a metric one policy has than another at the horizon, run by run: both meet the same draws."""
    return over_runs(where, final(results, metric, more) - final(results, metric, less))


def ratio(where: str, above: Any, below: Any) -> Margin:
    """The ratio of the means of two values a run, both of the same runs, `[instance, seed]`.

    Its error is the first-order one of a ratio, over what `over_runs` averages over.
    """
    above, below = (np.asarray(values, np.float64) for values in (above, below))
    value, level = above.mean() / below.mean(), below.mean()
    return Margin(where, float(value), over_runs(where, (above - value * below) / level).error)


def number(label: str) -> float:
    """The parameter that the label of a grid's point ends with, as 0.5 of "lfg (eta=0.5)"."""
    return float(label.rpartition("=")[2].rstrip(")"))


def tally(margins: Sequence[Margin]) -> str:
    """How many margins are positive, and their range."""
    values = [margin.value for margin in margins]
    positive = sum(value > 0 for value in values)
    return f"{positive} of {len(values)} differences are positive, from {min(values):.3g} to {max(values):.3g}"


def holding(
    groups: Mapping[str, Sequence[Margin]], low: float = -math.inf, high: float = math.inf
) -> tuple[list[str], list[str]]:
    """The groups of margins that lie between `low` and `high`, each weighed on its own, and those that do not."""
    kept = [name for name, margins in groups.items() if decide(name, margins, low, high).verdict == REPRODUCED]
    return kept, [name for name in groups if name not in kept]


def from_on(by_time: Mapping[int, Sequence[Margin]], low: float = -math.inf, high: float = math.inf) -> int | None:
    """The least time from which on all margins together lie between `low` and `high`; None where there is none."""
    for time in sorted(by_time):
        later = [margin for other, margins in by_time.items() if other >= time for margin in margins]
        if decide("", later, low, high).verdict == REPRODUCED:
            return time
    return None
