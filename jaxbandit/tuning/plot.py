"""The figure of a tuning: the objective, the limited metrics, the parameters and the prices over the steps."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from jaxbandit.experiments.plots.canvas import new_figure, styled
from jaxbandit.experiments.statistics import CONFIDENCE
from jaxbandit.metrics.metric import METRICS
from jaxbandit.tuning.goal import Goal
from jaxbandit.tuning.search.points import Point

_PATH, _RESULT, _LIMIT = "#0072B2", "#D55E00", "0.35"
_MOST_LABELS = 8  # curves of parameters in a panel with a legend


def draw(path: xr.Dataset, result: Point, goal: Goal, folder: Path, name: str = "tuning") -> None:
    """Draw the figure of `tuning_figure` as PNG and PDF into an existing folder."""
    figure = tuning_figure(path, result, goal)
    for suffix in (".png", ".pdf"):
        figure.savefig(folder / f"{name}{suffix}", bbox_inches="tight")
    plt.close(figure)


@styled
def tuning_figure(path: xr.Dataset, result: Point, goal: Goal) -> Figure:
    """The objective and each limited metric (means with 95 % intervals), the parameters, and the prices of the limits.

    Step 0 is the start, step 1 the best common value. The result, on fresh runs, is a point behind the last step.

    Args:
        path: the trajectory of a `Tuned`.
        result: its last point.
        goal: its goal.
    """
    limits = goal.limits
    metrics = list(dict.fromkeys(map(goal.name_of, limits)))
    count = 2 + len(metrics) + bool(limits)
    figure, (axes,) = new_figure(1, count, figsize=(2.4 * count, 2.1))
    _mean(axes[0], path, "objective", result.objective, result.objective_stderr)
    axes[0].set_ylabel(goal.objective.label)
    for axis, name in zip(axes[1:], metrics, strict=False):
        _mean(axis, path, name, result.limited[name], result.limited_stderr[name])
        for limit in limits:
            if goal.name_of(limit) == name:
                axis.axhline(limit.bound, color=_LIMIT, linestyle="--", label=str(limit))
                axis.set_ylabel(METRICS[limit.metric].label)
    axes[0].legend(frameon=False)
    if metrics:
        axes[1].legend(frameon=False)
    _parameters(axes[1 + len(metrics)], path, result)
    if limits:
        _prices(axes[-1], path)
    for axis in axes:
        axis.set_xlabel("step")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


def _mean(axis: Axes, path: xr.Dataset, name: str, result: float, stderr: float) -> None:
    """A mean over the steps, and that of the result."""
    axis.plot(path.step.values, path[name].values, color=_PATH, marker="o", markersize=2.5, label="seeds of the search")
    if f"{name}_stderr" in path:
        half = CONFIDENCE * path[f"{name}_stderr"].values
        axis.fill_between(
            path.step.values, path[name].values - half, path[name].values + half, color=_PATH, alpha=0.2, linewidth=0
        )
    place = [len(path.step)]
    axis.errorbar(
        place, [result], [CONFIDENCE * stderr], color=_RESULT, marker="s", markersize=3.5, label="result, fresh seeds"
    )


def _parameters(axis: Axes, path: xr.Dataset, result: Point) -> None:
    step = path.step.values
    for name in result.values:
        values = path[name].values.reshape(len(step), -1)
        for k, column in enumerate(values.T):
            label = f"{name}, arm {k}" if values.shape[1] > 1 else name
            (line,) = axis.plot(step, column, label=label)
            axis.plot(
                [len(step)], [np.ravel(result.values[name])[k]], color=line.get_color(), marker="s", markersize=3.5
            )
    if sum(np.size(values) for values in result.values.values()) <= _MOST_LABELS:
        axis.legend(frameon=False, fontsize=5, loc="upper left", bbox_to_anchor=(1.0, 1.0))  # beside the curves
    axis.set_ylabel("parameters")


def _prices(axis: Axes, path: xr.Dataset) -> None:
    names = [str(name) for name in path if str(name).startswith("multiplier_")]
    for name in names:
        axis.plot(path.step.values, path[name].values, label=path[name].attrs["long_name"])
    axis.legend(frameon=False, fontsize=5)
    axis.set_ylabel("objective per unit of the limit")
