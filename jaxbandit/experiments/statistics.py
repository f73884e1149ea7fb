"""Means over runs with their standard errors, and the check of results that users pass to functions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np
import xarray as xr

from jaxbandit.core.errors import InputError, suggest_keywords, unknown_name
from jaxbandit.core.input_values import to_python
from jaxbandit.engine.settings import check_names
from jaxbandit.metrics.definitions import METRICS

_MANY = 40  # degrees of freedom from which on a series gives the quantile of Student's t
CONFIDENCE = 1.96  # standard errors on each side of a mean of many runs: a 95 % confidence interval

_LABEL_COORDINATES = ("family", "kind", "phase_name")  # along `policy`, as are those with an attribute `key` (grids)
_PROBLEM_VARIABLES = ("means", "fractions", "penalties", "opportunities")  # along `policy` only if a grid varies them

P = ParamSpec("P")
R = TypeVar("R")


def checked_results(function: Callable[Concatenate[xr.Dataset, P], R]) -> Callable[Concatenate[xr.Dataset, P], R]:
    """Decorate a function of results: check them, and restore their dimensions with `restore_dimensions`.

    An unknown keyword argument raises an `InputError` that suggests the nearest one.
    """

    @functools.wraps(function)
    def checked(results: xr.Dataset, *arguments: P.args, **keywords: P.kwargs) -> R:
        return function(restore_dimensions(results), *arguments, **keywords)

    return suggest_keywords(checked)


def restore_dimensions(results: object) -> xr.Dataset:
    """Restore the dimensions `policy` and `instance` of results from which one policy or instance was selected.

    Raises:
        InputError: no dataset of `simulate`, or one that lacks another dimension.
    """
    if not isinstance(results, xr.Dataset):
        raise InputError("results", results, "the dataset that `simulate` returns")
    for name in ("policy", "instance", "seed", "round"):
        selected = name in ("policy", "instance") and name in results.coords
        if not (name in results.dims or selected) or results.sizes.get(name) == 0:
            example = 'sel(policy=["ucb1"])' if name == "policy" else f"isel({name}=[0])"
            words = f"must have the dimension {name!r} of the dataset of `simulate`; results.{example} keeps it"
            raise InputError("results", tuple(map(str, results.dims)), words)
    for name in ("instance", "policy"):
        if name not in results.dims:
            results = _with_dimension(results, name)
    return results


def _with_dimension(results: xr.Dataset, name: str) -> xr.Dataset:
    """The results with a dimension of length one that a selection has removed."""
    coordinates: list[str] = []  # along `policy`, too: the selection has removed the dimension from them
    shared: list[str] = []  # variables of the problem, which may not have had the dimension
    if name == "policy":
        coordinates = [
            str(key) for key, values in results.coords.items() if key in _LABEL_COORDINATES or "key" in values.attrs
        ]
        shared = [key for key in _PROBLEM_VARIABLES if key in results]
    expanded = results.reset_coords(coordinates).drop_vars(shared).expand_dims(name)
    expanded = expanded.assign({key: results[key].variable for key in shared}).set_coords(coordinates)
    return expanded.transpose("policy", "instance", ..., missing_dims="ignore")


def recorded_metrics(results: xr.Dataset) -> list[str]:
    """The metrics in the results: those of `METRICS` in its order, then those whose classes are not defined here."""
    known = [name for name in METRICS if name in results]
    names = [str(name) for name in results.data_vars]
    others = [name for name in names if name not in known and {f"{name}_stderr", f"{name}_final"} <= set(names)]
    return known + others


def metric_label(results: xr.Dataset, metric: str) -> str:
    """The label of a recorded metric, with its unit."""
    return str(results[metric].attrs.get("long_name") or (METRICS[metric].label if metric in METRICS else metric))


def metric_words(metric: str) -> str:
    """The name of a metric in tables and sentences, as its label has it."""
    return {"r_regret": "r-regret", "c_regret": "c-regret"}.get(metric, metric.replace("_", " "))


def larger_is_better(results: xr.Dataset, metric: str) -> bool:
    """Whether a recorded metric is a gain."""
    return METRICS[metric].larger_is_better if metric in METRICS else results[metric].attrs.get("better") == "larger"


def needed_keys(metric: str) -> int:
    """The number of keys of the problem that a metric needs; 0 where its class is not defined here."""
    return len(METRICS[metric].needs) if metric in METRICS else 0


def distinct_metrics(results: xr.Dataset) -> dict[str, list[str]]:
    """The recorded metrics, those that need most of the problem first.

    With one play r-regret and c-regret differ only in the rounding of tau_k t, by less than the sum of the gaps: they
    are one entry.

    Returns:
        By the name of the first of some such metrics, the names of all of them.
    """
    found = {name: [name] for name in sorted(recorded_metrics(results), key=needed_keys, reverse=True)}
    if {"r_regret", "c_regret"} <= set(found) and _differ_in_rounding(results):
        found["r_regret"] += found.pop("c_regret")
    return found


def _differ_in_rounding(results: xr.Dataset) -> bool:
    """Whether r-regret and c-regret differ by at most the sum of the gaps in every run at T, as with one play."""
    if results.attrs.get("plays") != 1 or "means" not in results:
        return False
    gaps = (results.means.max("arm") - results.means).sum("arm")
    apart = abs(results.c_regret_final - results.r_regret_final) - gaps
    return bool((apart <= 1e-6).all())


def joint_label(results: xr.Dataset, metrics: Sequence[str]) -> str:
    """The label of metrics that are shown together, as "r-regret ≈ c-regret (reward)"."""
    labels = [metric_label(results, name) for name in metrics]
    return " ≈ ".join([*(label.partition(" (")[0] for label in labels[:-1]), labels[-1]])


def panel_labels(results: xr.Dataset, metrics: Sequence[str] | None) -> dict[str, str]:
    """The metrics to draw, one panel each, with their labels: those that are named, or `distinct_metrics`.

    Raises:
        InputError: as `chosen_metrics`, or no metric.
    """
    names = chosen_metrics(results, metrics)
    if not names:
        raise InputError("metrics", names, "must name at least one metric")
    if metrics is not None:
        return {name: metric_label(results, name) for name in names}
    return {name: joint_label(results, equal) for name, equal in distinct_metrics(results).items()}


def chosen_metrics(results: xr.Dataset, metrics: Sequence[str] | None) -> list[str]:
    """The named metrics without repetitions, or all that are recorded.

    Raises:
        InputError: not a list of names, or a metric that the results do not hold.
    """
    if metrics is None:
        return recorded_metrics(results)
    names = to_python(metrics)
    check_names(names, "metrics")
    for name in names:
        check_metric(results, name, "metrics")
    return list(dict.fromkeys(names))


def check_metric(results: xr.Dataset, metric: str, key: str = "metric") -> None:
    """Raise an error unless the results hold the metric.

    Raises:
        InputError: about the argument `key`.
    """
    recorded = recorded_metrics(results)
    if not recorded:
        raise InputError(key, metric, "left out: the results have no metric at recorded rounds")
    if metric not in recorded:
        raise unknown_name(key, metric, recorded)


def check_all_seeds(results: xr.Dataset) -> None:
    """Raise an error where seeds were selected: the means in the results are still over all seeds of the simulation.

    Results without the attribute `seeds`, such as those of files of earlier versions, are not checked for missing ones.

    Raises:
        InputError: seeds that the means are over are missing, or seeds are repeated.
    """
    held = results.sizes["seed"]
    means_over = int(results.attrs.get("seeds", held))
    repeated = "seed" in results.indexes and not results.indexes["seed"].is_unique
    if held != means_over or repeated:
        words = (
            f"must hold all {means_over:,} seeds, each once: the means in the results are over them; for other seeds, "
            "simulate them alone (`seeds=`, `first_seed=`), or compute means of the runs, such as "
            "`results.regret_final.mean('seed')`"
        )
        seeds = f"{held:,} seed" + "s" * (held != 1) + ", some twice" * repeated
        raise InputError("results.seed", seeds, words)


def check_last_round(results: xr.Dataset) -> None:
    """Raise an error where the last round was left out: values of single runs in the results are still those at T.

    Results without the attribute `horizon`, such as those of files of earlier versions, are not checked.

    Raises:
        InputError: the last round is missing.
    """
    last = int(results["round"].values.max())
    horizon = int(results.attrs.get("horizon", last))
    if last != horizon:
        words = (
            f"must end with round T = {horizon:,}, whose values the runs in the results have; for an earlier end, "
            "simulate it alone (`horizon=`), or read means, such as `results.regret.isel(round=-1)`"
        )
        raise InputError("results.round", f"1 to {last:,}" if last > 1 else "1", words)


def mean_over_instances(results: xr.Dataset, metric: str) -> tuple[xr.DataArray, xr.DataArray]:
    """The mean over instances of the mean over seeds, and its standard error given the instances.

    Returns:
        Both with the dimensions `policy` and `round` of the results. The error is 0 for one seed.

    Raises:
        InputError: seeds were selected from the results.
    """
    check_all_seeds(results)
    mean = results[metric].mean("instance")
    squares = (results[f"{metric}_stderr"].fillna(0.0) ** 2).sum("instance")
    error = squares**0.5 / results.sizes["instance"]
    return mean, error


def mean_of_runs(runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean over instances and seeds of runs `[..., J, N]`, and its standard error given the instances.

    Returns:
        Both `[...]`. The error is NaN for one seed.
    """
    instances, seeds = runs.shape[-2:]
    variance = runs.var(axis=-1, ddof=1) if seeds > 1 else np.full(runs.shape[:-1], np.nan)
    return runs.mean(axis=(-2, -1)), np.sqrt((variance / seeds).sum(axis=-1)) / instances


def t_quantile(results: xr.Dataset) -> float:
    """The standard errors on each side of a mean of the runs in its 95 % confidence interval.

    They are those of Student's t: 12.7 for two runs, 2.26 for ten, 1.96 for many.
    """
    return t_quantile_of(results.sizes["instance"], results.sizes["seed"])


@functools.cache
def t_quantile_of(instances: int, seeds: int) -> float:
    """`t_quantile` of the numbers of instances and of seeds; 0 for one seed, whose spread is unknown."""
    degrees = instances * (seeds - 1)
    if degrees == 0:
        return 0.0
    if degrees >= _MANY:  # Abramowitz & Stegun 1964, eq. 26.7.5, with an error below 1e-8; importing SciPy takes 0.1 s
        z = NormalDist().inv_cdf(0.975)
        first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
        third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
        fourth = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160
        return z + first / degrees + second / degrees**2 + third / degrees**3 + fourth / degrees**4
    from scipy import special

    return float(special.stdtrit(degrees, 0.975))


def sample_size(results: xr.Dataset) -> str:
    """The number of instances and runs that means are over, in words, and whether ties are random."""
    n, j = results.sizes["seed"], results.sizes["instance"]
    runs = f"{n} run" + ("s" if n > 1 else "") + (" with random ties" if results.attrs.get("ties") == "random" else "")
    return runs if j == 1 else f"{j} instances × {runs}"


def with_error(mean: float, half: float) -> str:
    """A mean with the half width of its interval, rounded to the width's digits; without it where it is NaN.

    Where the width is 0 or tiny, the mean has at least three significant digits.
    """
    if math.isnan(half):
        return f"{mean:.4g}"
    if half == 0:
        return f"{rounded(mean)} ± 0"
    digits = max(0, 1 - math.floor(math.log10(half)))
    return f"{mean:.{digits}f} ± {half:.{digits}f}" if digits <= 6 else f"{mean:.6g} ± {half:.2g}"


def rounded(number: float) -> str:
    """A number with at least two decimals and at least three significant digits; 0 as "0"."""
    if number == 0 or not math.isfinite(number):
        return "0" if number == 0 else str(number)
    digits = max(2, 2 - math.floor(math.log10(abs(number))))
    return f"{number:.{digits}f}" if digits <= 6 else f"{number:.3g}"
