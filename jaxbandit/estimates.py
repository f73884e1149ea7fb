"""What the runs of a results dataset estimate: means with their standard errors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import xarray as xr

from .errors import InputError, unknown_name
from .metrics import METRICS

CONFIDENCE = 1.96  # standard errors on each side: 95 %


def recorded(results: xr.Dataset) -> list[str]:
    """The metrics in the results, in the order of `METRICS`."""
    return [name for name in METRICS if name in results]


def chosen(results: xr.Dataset, metrics: Sequence[str] | None) -> list[str]:
    """The metrics asked for, or all that are recorded.

    Raises:
        InputError: a name that is no metric, or one that the results do not hold.
    """
    if metrics is None:
        return recorded(results)
    if isinstance(metrics, str):
        raise InputError("metrics", metrics, f'a list of names, as ["{metrics}"]')
    for name in metrics:
        check(results, name, "metrics")
    return list(dict.fromkeys(metrics))


def check(results: xr.Dataset, metric: str, key: str = "metric") -> None:
    """Refuse what is no metric in the results.

    Raises:
        InputError: about the argument `key`.
    """
    if metric not in recorded(results):
        raise unknown_name(key, metric, recorded(results))


def mean_over_instances(results: xr.Dataset, metric: str) -> tuple[xr.DataArray, xr.DataArray]:
    """The mean over instances of the mean over seeds, and its standard error given the instances."""
    mean = results[metric].mean("instance")
    squares = (results[f"{metric}_stderr"].fillna(0.0) ** 2).sum("instance")
    error = squares**0.5 / results.sizes["instance"]
    return mean, error


def mean_of_runs(runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean over instances and seeds of `[..., J, N]` runs, and its standard error given the instances.

    It is NaN for one seed.
    """
    instances, seeds = runs.shape[-2:]
    variance = runs.var(axis=-1, ddof=1) if seeds > 1 else np.full(runs.shape[:-1], np.nan)
    return runs.mean(axis=(-2, -1)), np.sqrt((variance / seeds).sum(axis=-1)) / instances


def sample_size(results: xr.Dataset) -> str:
    """What the means are over, in words."""
    n, j = results.sizes["seed"], results.sizes["instance"]
    runs = f"{n} run" + ("s" if n > 1 else "")
    return runs if j == 1 else f"{j} instances × {runs}"


def with_error(mean: float, half: float) -> str:
    """A mean with the half width of its interval, in the digits that this leaves it; alone where it is NaN."""
    if math.isnan(half):
        return f"{mean:.4g}"
    digits = 2 if half == 0 else max(0, min(6, 1 - math.floor(math.log10(half))))
    return f"{mean:.{digits}f} ± {half:.{digits}f}"
