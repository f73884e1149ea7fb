"""Grids over one parameter: metrics at T against its value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from jaxbandit.core.errors import InputError, unknown_name
from jaxbandit.experiments.plots.style import caption, legend, panels, styles
from jaxbandit.experiments.statistics import CONFIDENCE, chosen, mean_of_runs, of_results, sample_size
from jaxbandit.experiments.tables import families, levels, members, parameters, varying
from jaxbandit.metrics.definitions import METRICS

_MARKED = 40  # points of a line; those of a longer one have no markers


@of_results
def sweep(results: xr.Dataset, x: str, metrics: Sequence[str] | None = None) -> Figure:
    """Metrics at T against one parameter of a grid: mean over runs and instances with its 95 % confidence interval.

    A line for each family that varies this parameter and no other. Policies outside grids, which do not depend on it,
    are level lines. The axis is logarithmic where the values are positive and the largest is 20 times the smallest or
    more; values that are no numbers stand side by side.

    Args:
        results: as `simulate` returns them.
        x: a parameter, of `grids.parameters(results)`.
        metrics: names of metrics in the results; default: all.

    Raises:
        InputError: a metric or parameter that is not in the results, or one that no family varies alone.

    Example:
        >>> lfg = {"kind": "lfg", "eta": [1, 10, 100]}
        >>> results = jb.simulate(jb.Problem([0.9, 0.5], fractions=0.1), lfg, horizon=99, seeds=50)
        >>> figure = sweep(results, "eta", ["r_regret", "unfairness"])
    """
    names, known = chosen(results, metrics), parameters(results)
    if not names:
        raise InputError("metrics", names, "at least one metric")
    if x not in known:
        raise unknown_name("x", x, known) if known else InputError("x", x, "nothing: there is no grid")
    varied = varying(results)
    lines = [family for family, own in varied.items() if own == [x]]
    if not lines:
        held = "; ".join(f"{family}: {', '.join(own)}" for family, own in varied.items())
        raise InputError(
            "x", x, f"a parameter that a family varies alone ({held}); select one value of the others first"
        )
    level = [family for family in families(results) if family not in varied]
    figure, axes = panels(len(names))
    for axis, metric in zip(axes, names, strict=True):
        _panel(axis, results, metric, x, lines, level)
    bars = ", bars and bands: 95 % confidence" if results.sizes["seed"] > 1 else ""
    legend(figure, axes[0], f"T = {int(results['round'][-1]):,}, mean over {sample_size(results)}{bars}")
    return figure


def swept_alone(results: xr.Dataset) -> list[str]:
    """The parameters that some family varies alone, over three values or more."""
    found = {}
    for family, names in varying(results).items():
        if len(names) == 1 and len(levels(results[names[0]].values[members(results, family)])) >= 3:
            found[names[0]] = True
    return list(found)


def _panel(axis: Any, results: xr.Dataset, metric: str, x: str, lines: list[str], level: list[str]) -> None:
    looks, labels = styles(results), results.policy.values.tolist()
    runs = results[f"{metric}_final"].transpose("policy", "instance", "seed").values
    held = {family: members(results, family) for family in lines}
    values = levels(np.concatenate([results[x].values[places] for places in held.values()]))
    numbers = all(isinstance(value, int | float) for value in values)
    where = dict(zip(values, values if numbers else range(len(values)), strict=True))
    for family, places in held.items():
        at = np.array([where[value] for value in results[x].values[places].tolist()])
        order = np.argsort(at, kind="stable")
        mean, error = mean_of_runs(runs[places[order]])
        look = looks[labels[places[-1]]]
        if len(order) > _MARKED:
            look = {**look, "marker": ""}
        half = None if np.isnan(error).all() else CONFIDENCE * error
        axis.errorbar(at[order], mean, half, markersize=3, elinewidth=0.7, label=caption(family), **look)
    for family in level:
        look, (place,) = looks[labels[members(results, family)[0]]], members(results, family)[:1]
        mean, error = mean_of_runs(runs[place])
        axis.axhline(mean, color=look["color"], linestyle="--", linewidth=1.0, label=caption(family))
        if not math.isnan(error):
            axis.axhspan(mean - CONFIDENCE * error, mean + CONFIDENCE * error, color=look["color"], alpha=0.15, lw=0)
    if not numbers:
        axis.set_xticks(range(len(values)), [caption(str(value)) for value in values], rotation=90)
    elif min(values) > 0 and max(values) >= 20 * min(values):
        axis.set_xscale("log")
    axis.set_xlabel(x)
    axis.set_ylabel(METRICS[metric].label)
