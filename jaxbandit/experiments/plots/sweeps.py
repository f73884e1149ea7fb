"""Grids over one parameter: metrics at T against its value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import NullFormatter

from jaxbandit.core.errors import InputError
from jaxbandit.experiments.grids.parameters import (
    family_names,
    family_positions,
    parameter_values,
    parameters,
    short_name,
    unknown_parameter,
    varying,
)
from jaxbandit.experiments.plots.canvas import styled
from jaxbandit.experiments.plots.legends import axis_label, legend, panels
from jaxbandit.experiments.plots.style import Look, caption, styles
from jaxbandit.experiments.statistics import (
    check_last_round,
    checked_results,
    mean_of_runs,
    panel_labels,
    sample_size,
    t_quantile_of,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_TICKS = 6  # values of a logarithmic axis that are labelled one by one
_MARKED = 40  # points of a line with markers; longer lines have none


@checked_results
@styled
def sweep(results: xr.Dataset, x: str, metrics: Sequence[str] | None = None) -> Figure:
    """Draw metrics at T against one parameter of a grid: means over runs and instances, 95 % confidence intervals.

    There is one line for each family that varies this parameter and no other. Policies outside grids do not depend on
    it: their lines are level. The axis is logarithmic where the values are positive and the largest is at least 20
    times the smallest. Values that are not numbers stand side by side.

    Args:
        results: as `simulate` returns them.
        x: a parameter, of `jb.grids.parameters(results)`.
        metrics: names of metrics in the results; default: all.

    Raises:
        InputError: a metric or parameter that the results do not hold; a parameter that no family varies alone; or
            rounds before T were selected from the results.

    Example:
        >>> lfg = {"kind": "lfg", "eta": [1, 10, 100]}
        >>> results = jb.simulate(jb.Problem([0.9, 0.5], fractions=0.1), lfg, horizon=99, seeds=50)
        >>> jb.plots.sweep(results, "policies.eta", ["unfairness"]).axes[0].get_xlabel()
        'eta'
    """
    check_last_round(results)
    labels, known = panel_labels(results, metrics), parameters(results)
    if x not in known:
        raise unknown_parameter("x", x, known)
    varied = varying(results)
    lines = [family for family, own in varied.items() if own == [x]]
    if not lines:
        held = "; ".join(f"{family}: {', '.join(own)}" for family, own in varied.items())
        words = f"the only parameter that some family varies ({held}); select one value of the other parameters first"
        raise InputError("x", x, words)
    level = [family for family in family_names(results) if family not in varied]
    figure, axes = panels(len(labels))
    for axis, (metric, label) in zip(axes, labels.items(), strict=True):
        _draw_panel(axis, results, metric, x, lines, level)
        axis.set_ylabel(axis_label(label))
    bars = ", bars and bands: 95 % confidence" if results.sizes["seed"] > 1 else ""
    legend(figure, axes[0], f"T = {int(results['round'][-1]):,}, mean over {sample_size(results)}{bars}")
    return figure


def drawable_parameters(results: xr.Dataset) -> list[str]:
    """The parameters that some family varies alone, over at least three values."""
    found = {}
    for family, names in varying(results).items():
        values = results[names[0]].values[family_positions(results, family)]
        if len(names) == 1 and len(parameter_values(values)) >= 3:
            found[names[0]] = True
    return list(found)


def _draw_panel(axis: Axes, results: xr.Dataset, metric: str, x: str, lines: list[str], level: list[str]) -> None:
    """Draw one metric: the families `lines` against the parameter, the families `level` as level lines."""
    looks, labels = styles(results), results.policy.values.tolist()
    runs = results[f"{metric}_final"].transpose("policy", "instance", "seed").values
    positions = {family: family_positions(results, family) for family in lines}
    values = parameter_values(np.concatenate([results[x].values[own] for own in positions.values()]))
    numbers = [value for value in values if isinstance(value, int | float)]
    places = dict(zip(values, numbers if len(numbers) == len(values) else range(len(values)), strict=True))
    for family, own in positions.items():
        at = np.array([places[value] for value in results[x].values[own].tolist()])
        _draw_line(axis, at, runs[own], caption(family), looks[labels[own[-1]]])
    for family in level:
        position = family_positions(results, family)[0]
        _draw_level(axis, runs[position], caption(family), looks[labels[position]])
    if len(numbers) < len(values):
        axis.set_xticks(range(len(values)), [caption(str(value)) for value in values], rotation=90)
    elif min(numbers) > 0 and max(numbers) >= 20 * min(numbers):
        axis.set_xscale("log")
        if len(numbers) <= _MOST_TICKS:
            axis.set_xticks(numbers, [f"{number:g}" for number in numbers])
        axis.xaxis.set_minor_formatter(NullFormatter())  # labels between powers of ten would overlap
    axis.set_xlabel(short_name(x))


def _draw_line(axis: Axes, at: np.ndarray, runs: np.ndarray, label: str, look: Mapping[str, object]) -> None:
    """Draw the means of runs `[point, instance, seed]` against the parameter's values."""
    order = np.argsort(at, kind="stable")
    mean, error = mean_of_runs(runs[order])
    kept: Look = {**look, "marker": ""} if len(order) > _MARKED else dict(look)
    half = None if np.isnan(error).all() else t_quantile_of(*runs.shape[1:]) * error
    axis.errorbar(at[order], mean, half, markersize=3, elinewidth=0.7, label=label, **kept)


def _draw_level(axis: Axes, runs: np.ndarray, label: str, look: Look) -> None:
    """Draw the mean of runs `[instance, seed]` as a level line with its band."""
    mean, error = (float(value) for value in mean_of_runs(runs))
    axis.axhline(mean, color=look["color"], linestyle="--", linewidth=1.0, label=label)
    if not math.isnan(error):
        half = t_quantile_of(*runs.shape) * error
        axis.axhspan(mean - half, mean + half, color=look["color"], alpha=0.15, lw=0)
