"""What the runs of a results dataset estimate: means with their standard errors."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import xarray as xr

from jaxbandit.core.errors import InputError, suggest_keywords, unknown_name
from jaxbandit.metrics.definitions import METRICS

CONFIDENCE = 1.96  # standard errors on each side: 95 %

_BESIDE = ("family", "kind", "phase_name")  # coordinates along `policy`, with those of grids, which have a `key`
_OF_PROBLEMS = ("means", "fractions", "penalties", "opportunities")  # along `policy` only where a grid varies them

P = ParamSpec("P")
R = TypeVar("R")


def of_results(function: Callable[Concatenate[xr.Dataset, P], R]) -> Callable[Concatenate[xr.Dataset, P], R]:
    """The function of results, which are made `whole` first; unknown keyword arguments are refused."""

    @functools.wraps(function)
    def taking(results: xr.Dataset, *given: P.args, **keywords: P.kwargs) -> R:
        return function(whole(results), *given, **keywords)

    return suggest_keywords(taking)


def whole(results: Any) -> xr.Dataset:
    """Results of which one policy, or one instance, may have been selected, with these dimensions again.

    Raises:
        InputError: no dataset of `simulate`, or one that lacks a dimension which cannot be told again.
    """
    if not isinstance(results, xr.Dataset):
        raise InputError("results", results, "the dataset that `simulate` returns")
    for name in ("policy", "instance", "seed", "round"):
        kept = name in results.dims or (name in results.coords and name in ("policy", "instance"))
        if not kept or results.sizes.get(name) == 0:
            example = 'sel(policy=["ucb1"])' if name == "policy" else f"isel({name}=[0])"
            words = f"the dataset of `simulate` with its dimension {name!r}, of which a part is results.{example}"
            raise InputError("results", tuple(map(str, results.dims)), words)
    for name in ("instance", "policy"):
        if name not in results.dims:
            results = _along(results, name)
    return results


def _along(results: xr.Dataset, name: str) -> xr.Dataset:
    """The results with a dimension that a selection has removed."""
    beside: list[str] = []  # what stands beside the labels has lost the dimension, too;
    apart: list[str] = []  # what a problem holds may have had none
    if name == "policy":
        beside = [str(key) for key, held in results.coords.items() if key in _BESIDE or "key" in held.attrs]
        apart = [key for key in _OF_PROBLEMS if key in results]
    grown = results.reset_coords(beside).drop_vars(apart).expand_dims(name)
    grown = grown.assign({key: results[key].variable for key in apart}).set_coords(beside)
    return grown.transpose("policy", "instance", ..., missing_dims="ignore")


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
