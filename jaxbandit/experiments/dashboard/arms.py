"""The selections of each arm, for the page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from jaxbandit.experiments.dashboard.arrays import ArrayStore
from jaxbandit.experiments.plots.legends import problem_values

if TYPE_CHECKING:
    import xarray as xr

_MOST_COUNTS = 200_000  # numbers of one kind; with more, the page has the means over instances alone


def arms(results: xr.Dataset, shown: list[int], store: ArrayStore) -> dict[str, object]:
    """Selections by T and in the recorded rounds, mean rewards and fractions of the arms, for the shown policies.

    The arrays are `[policy, series, arm]` and `[policy, series, arm, round]`. Series 0 of several instances is the mean
    over instances with the arms of each sorted by their means, the best first.
    """
    part = results.isel(policy=shown)
    means = problem_values(part, "means")
    several = part.sizes["instance"] > 1
    runs = part.pulls.transpose("policy", "instance", "arm", "seed").values
    seeds = runs.shape[-1]
    spread = runs.std(axis=-1, ddof=1) if seeds > 1 else np.full(runs.shape[:-1], math.nan)
    made: dict[str, object] = {
        "count": part.sizes["arm"],
        "sorted": several,
        "means": store.add(_series(means, means)),
        "pulls": store.add(_series(runs.mean(axis=-1), means)),
        "pullsError": store.add(_series_of_errors(spread / math.sqrt(seeds), means)),
        "fractions": store.add(_series(problem_values(part, "fractions"), means)) if "fractions" in part else None,
        "curves": None,
    }
    if "pulls_mean" in part and part.sizes["round"] > 1:
        order = ("policy", "instance", "arm", "round")
        mean, error = (part[name].transpose(*order).values for name in ("pulls_mean", "pulls_mean_stderr"))
        mean, error = _series(mean, means), _series_of_errors(error, means)
        if mean.size > _MOST_COUNTS:
            mean, error = mean[:, :1], error[:, :1]
        made["curves"] = {"mean": store.add(mean, "<f4"), "error": store.add(error, "<f4")}
    return made


def _series(values: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Values `[policy, instance, arm, ...]` of each instance, before them their mean over instances, if several."""
    if values.shape[1] == 1:
        return values
    return np.concatenate([_sorted(values, means).mean(axis=1, keepdims=True), values], axis=1)


def _series_of_errors(errors: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Standard errors likewise: before them, that of the mean over instances."""
    if errors.shape[1] == 1:
        return errors
    pooled = np.sqrt((_sorted(errors, means) ** 2).sum(axis=1, keepdims=True)) / errors.shape[1]
    return np.concatenate([pooled, errors], axis=1)


def _sorted(values: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Values `[policy, instance, arm, ...]` with the arms of each instance sorted by their means, the best first."""
    order = np.argsort(-means, axis=2, kind="stable")
    return np.take_along_axis(values, order.reshape(*order.shape, *(1,) * (values.ndim - 3)), axis=2)
