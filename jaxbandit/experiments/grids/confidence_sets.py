"""Confidence sets for the best policy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jaxbandit.core.errors import InputError, warn
from jaxbandit.core.input_values import to_python
from jaxbandit.experiments.grids.comparisons import check_for_nan
from jaxbandit.experiments.grids.parameters import comparisons, varying
from jaxbandit.experiments.statistics import (
    check_all_seeds,
    check_last_round,
    check_metric,
    checked_results,
    larger_is_better,
    mean_of_runs,
    t_quantile,
)

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_DRAWS = 4000  # of the largest difference, where all policies are equal
_SHARE = 0.2  # of the error that the steps may make; the rest is that of comparisons with the first
_ROWS = 256  # policies that are compared with the first at a time
_SKEWED = 0.4  # skewness of a mean difference: from here on coverage of 95 % falls below about 93 %
_FALSE_ALARM = 0.01  # the probability of a warning of skewness for normal differences, at most about
_FLAT = 1e-12  # a smaller slope is rounding
_MOST_SIMULATED = 1000  # policies; among more, Bonferroni's inequality gives the limit


@checked_results
def confidence_set(
    results: xr.Dataset,
    metric: str,
    family: str | None = None,
    per: str | Sequence[str] | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """The policies that may be the best by a metric at T: a set that holds the truly best one with a given confidence.

    Policies are compared run by run, in the mean over instances: run i of instance j draws the same random numbers
    under every policy. A policy is in the set if neither of two tests rejects that it is the best; their errors add up
    to 1 - `level`.

    - Steps of multiple comparisons with the best: in each step the policy of the worst mean leaves, if it is
      significantly worse than the one that beats it most clearly. The limit for this largest of all differences is that
      for equal policies, of as many as are left and with the correlations of their runs. The steps end with the first
      policy that stays.
    - A comparison with the policy of the best mean, given that it has the best mean.

    Both take means of differences between policies as normally distributed. Where rare runs decide much, this needs
    many seeds: about 6 g^2 if the differences of runs have the skewness g. A warning says where the seeds are too few;
    the set then holds the best less often than `level` says. Fewer than 20 seeds hardly show skewness, so a warning
    is rare there.

    Args:
        results: as `simulate` returns them, with at least two seeds.
        metric: the name of a metric in the results.
        family: compare only the policies of this family; default: all policies.
        per: a parameter or several, such as `["problem.penalties"]`, or "instance": a set for each combination of their
            values, as in `best`.
        level: the confidence, between 0.5 and 1; default: 0.95.

    Returns:
        A pandas DataFrame, one row per policy of a set, the best mean first. Its columns: `per`; `policy`; the
        parameters that the grids vary; the metric and `<metric>_stderr`; and `difference`, the mean by which the policy
        is worse than the best one of its set (0 for that one itself), with `low` and `high`, the ends of the 95 %
        confidence interval of this one difference.

    Raises:
        InputError: a metric, a family or a parameter that the results do not hold; a level out of range; a run of the
            metric is NaN; one seed; seeds or rounds before T were selected from the results; or policies on different
            problems would be compared unasked.

    Source:
        Hsu 1981 (simultaneous intervals for all distances from the best); Marcus, Peritz & Gabriel 1976 (steps); Lee,
        Sun, Sun & Taylor 2016 and Hung & Fithian 2019 (tests given which mean is the best).

    Example:
        >>> grid = {"kind": "ucb1", "exploration": [0.1, 0.5, 8.0]}
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), grid, horizon=500, seeds=200)
        >>> kept = jb.grids.confidence_set(results, "regret")
        >>> "ucb1 (exploration=8)" in kept.policy.values
        False
    """
    import pandas as pd

    check_metric(results, metric)
    check_all_seeds(results)
    check_last_round(results)
    level = to_python(level)
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0.5 <= level < 1:
        raise InputError("level", level, "a number of at least 0.5 and below 1")
    if results.sizes["seed"] < 2:
        raise InputError("results.seed", results.sizes["seed"], "at least 2 seeds, whose spread tells the confidence")
    varied = [name for names in varying(results).values() for name in names]
    tables = []
    for point, part, positions in comparisons(results, family, per):
        check_for_nan(part, metric, positions)
        runs = part[f"{metric}_final"].transpose("policy", "instance", "seed").values[positions].astype(np.float64)
        losses = -runs if larger_is_better(results, metric) else runs
        kept = _set_of_best(losses, 1 - level)
        difference, error = mean_of_runs(losses[kept] - losses[kept[0]])
        mean, stderr = mean_of_runs(runs[kept])
        width = t_quantile(part)
        columns: dict[str, object] = {name: [value] * len(kept) for name, value in point.items()}
        columns["policy"] = results.policy.values[positions[kept]]
        columns |= {n: results[n].values[positions[kept]] for n in dict.fromkeys(varied) if n not in point}
        columns |= {metric: mean, f"{metric}_stderr": stderr, "difference": difference}
        columns |= {"low": difference - width * error, "high": difference + width * error}
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def _set_of_best(losses: np.ndarray, alpha: float) -> np.ndarray:
    """The numbers of the policies that may have the smallest mean, the smallest observed one first.

    A policy is kept if neither test rejects it. Each test wrongly rejects the best with at most its share of `alpha`.

    Args:
        losses: `[policy, instance, seed]`, float64.
        alpha: the probability that the best is not among them.
    """
    order = np.argsort(losses.mean(axis=(1, 2)), kind="stable")
    kept = _not_worse_than_all(losses[order], _SHARE * alpha)
    _warn_of_skewness(losses[order[:kept]])
    return order[:kept][_not_worse_than_first(losses[order], kept, (1 - _SHARE) * alpha)]


def _not_worse_than_all(losses: np.ndarray, alpha: float) -> int:
    """The number of policies that the steps keep; the policies are sorted, the best mean first."""
    from scipy import special  # late: `import jaxbandit` does not need it

    near = np.flatnonzero(_near_the_first(losses, alpha))
    losses = losses[near]
    draws, left = _draws(losses), len(near)
    while left > 1:
        ratios, spread = _ratios(losses[left - 1] - losses[: left - 1])
        score = _normal_score(float(ratios.max()), losses.shape[2] - 1)
        if left <= _MOST_SIMULATED:
            with np.errstate(divide="ignore", invalid="ignore"):
                drawn = (draws[:, left - 1, None] - draws[:, : left - 1]) / spread
            p_value = float((np.nan_to_num(drawn, nan=0.0).max(axis=1) >= score).mean())
        else:
            p_value = (left - 1) * float(special.ndtr(-score))
        if p_value >= alpha:
            break
        left -= 1
    return int(near[left - 1]) + 1


def _not_worse_than_first(losses: np.ndarray, kept: int, alpha: float) -> np.ndarray:
    """Whether policies are not significantly worse than the first, given that its mean is the best, bool `[kept]`.

    Where a policy and the first are equal, their difference has a normal distribution, cut off where another policy
    would have had the best mean (all else being the same): the test compares with this distribution.
    """
    from scipy import special  # late: `import jaxbandit` does not need it

    _, instances, seeds = losses.shape
    behind = losses - losses[0]
    mean, error = mean_of_runs(behind)
    centred = (behind - behind.mean(axis=2, keepdims=True)).reshape(len(losses), -1)
    centred /= instances * np.sqrt(seeds * (seeds - 1))
    kept_ones = mean[:kept] == 0  # the first, and policies whose runs have the same mean
    for start in range(0, kept, _ROWS):
        rows = np.arange(start, min(start + _ROWS, kept))
        rows = rows[error[rows] > 0]
        slopes = centred[rows] @ centred.T / error[rows, None] ** 2  # of all distances from the first, along these
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = mean[rows, None] - mean / slopes  # where another policy passes the first
        low = np.where(slopes > _FLAT, ends, -np.inf).max(axis=1)
        high = np.where(slopes < -_FLAT, ends, np.inf).min(axis=1)
        below, at, above = special.stdtr(seeds - 1, -np.stack([low, mean[rows], high]) / error[rows])
        kept_ones[rows] |= (at - above >= alpha * (below - above)) | (at >= alpha)
    return kept_ones


def _warn_of_skewness(losses: np.ndarray) -> None:
    """Warn where the mean differences from the first are too skewed for tests that take them as normal."""
    from scipy import special  # late: `import jaxbandit` does not need it

    instances, seeds = losses.shape[1:]
    behind = losses[1:] - losses[0]
    _, error = mean_of_runs(behind)
    third = ((behind - behind.mean(axis=2, keepdims=True)) ** 3).mean(axis=2).sum(axis=1) / (seeds**2 * instances**3)
    skewness = np.abs(np.divide(third, error**3, out=np.zeros_like(error), where=error > 0)).max(initial=0.0)
    # The standard deviation of the skewness of `seeds` normal numbers, as that of their mean (Fisher 1930)
    noise = math.sqrt(6 * (seeds - 2) / ((seeds + 1) * (seeds + 3) * seeds * instances))
    if skewness > max(_SKEWED, -noise * special.ndtri(_FALSE_ALARM / (2 * len(losses)))):
        needed = math.ceil(seeds * (skewness / _SKEWED) ** 2)
        warn(
            f"the differences of runs are too skewed for {seeds:,} seeds: the confidence set may hold the best policy "
            f"less often than its level says; simulate about {needed:,} seeds or more"
        )


def _near_the_first(losses: np.ndarray, alpha: float) -> np.ndarray:
    """Whether policies are not far worse than the first: within the limit of Bonferroni's inequality, bool `[policy]`.

    They are those that the steps would remove in any case, at less cost.
    """
    from scipy import special  # late: `import jaxbandit` does not need it

    ratios, _ = _ratios(losses - losses[0])
    limit = -special.stdtrit(losses.shape[2] - 1, alpha / max(len(losses) - 1, 1))
    near: np.ndarray = ratios <= limit
    return near


def _ratios(differences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means of differences `[policy, instance, seed]` in standard errors, and these; equal runs have the ratio 0."""
    mean, error = mean_of_runs(differences)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(mean == 0, 0.0, mean / error)
    return ratios, error


def _normal_score(ratio: float, degrees: int) -> float:
    """The value that a standard normal variable exceeds as rarely as one of Student's t exceeds the ratio."""
    from scipy import special  # late: `import jaxbandit` does not need it

    return float(-special.ndtri(special.stdtr(degrees, -ratio)))


def _draws(losses: np.ndarray) -> np.ndarray:
    """Draws of the policies' means where all are equal, with the covariances of their runs, `[draw, policy]`."""
    if len(losses) > _MOST_SIMULATED:
        losses = losses[:_MOST_SIMULATED]
    _, instances, seeds = losses.shape
    centred = (losses - losses.mean(axis=2, keepdims=True)).reshape(len(losses), -1)
    centred /= instances * np.sqrt(seeds * (seeds - 1))
    if centred.shape[1] > len(centred):  # by policies instead of runs, of which there may be a million
        values, vectors = np.linalg.eigh(centred @ centred.T)
        centred = vectors * np.sqrt(np.maximum(values, 0.0))
    weights = np.random.default_rng(0).standard_normal((_DRAWS, centred.shape[1]))  # the same for the same results
    drawn: np.ndarray = weights @ centred.T
    return drawn
