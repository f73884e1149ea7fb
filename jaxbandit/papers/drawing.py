"""Panels, curves in the policies' colours, bounds beside them, and one legend: shared by the figures of all papers."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.typing import ColorType
from numpy.typing import ArrayLike

from jaxbandit.experiments.plots.canvas import new_figure
from jaxbandit.experiments.plots.lines import curve_with_bands
from jaxbandit.experiments.plots.style import styles
from jaxbandit.experiments.statistics import CONFIDENCE, mean_over_instances, sample_size
from jaxbandit.metrics.bounds.table import bounds_for
from jaxbandit.metrics.definitions import METRICS
from jaxbandit.papers.experiment import Data

Look = dict[str, Any]  # keyword arguments of matplotlib, whose types differ

THEORY: Look = {"color": "0.35", "linewidth": 0.9, "linestyle": (0, (4, 2))}

MAX_BOUND_HEIGHT = 2  # bounds are drawn up to so many times the height of the axes


def panels(
    rows: int, columns: int, width: float = 2.35, height: float = 1.75, **more: Any
) -> tuple[Figure, np.ndarray]:
    """A figure of `rows` x `columns` panels, each `width` x `height` inches.

    Args:
        more: further arguments of `matplotlib.pyplot.subplots`.

    Returns:
        The figure, and its axes, `[rows, columns]`.
    """
    size = (width * columns, height * rows)
    return new_figure(rows, columns, figsize=size, **more)


def curves(axis: Axes, results: xr.Dataset, metric: str, labels: Sequence[str] = (), **look: Any) -> None:
    """Draw a metric against the round, one line per policy: the mean over runs with its 95 % confidence band.

    Args:
        labels: the policies to draw; default: all.
        look: replaces the policies' own colour, line style or label.
    """
    mean, error = mean_over_instances(results, metric)
    looks = styles(results)
    for label in labels or results.policy.values.tolist():
        own = {"label": label, **{key: looks[label][key] for key in ("color", "linestyle")}, **look}
        y, half = (values.sel(policy=label).values for values in (mean, CONFIDENCE * error))
        curve_with_bands(axis, results["round"].values, y, [(y - half, y + half)], **own)
    axis.set_xlabel("round t")
    axis.set_ylabel(METRICS[metric].label)
    axis.set_xlim(0, float(results["round"][-1]))
    axis.ticklabel_format(axis="x", style="sci", scilimits=(-3, 4), useMathText=True)


def theory(axis: Axes, x: ArrayLike, y: ArrayLike, label: str) -> None:
    """Draw a bound beside the curves. A bound far above the axes is not drawn: its value at T is written instead."""
    y = np.where(np.isfinite(y), y, np.nan)  # infinite in rounds about which the theorem says nothing
    low, high = axis.get_ylim()
    if not y[-1] <= MAX_BOUND_HEIGHT * high or np.nanmin(y) > high:
        lines_before = sum(text.get_gid() == "theory" for text in axis.texts)
        look: Look = {"ha": "left", "va": "top", "fontsize": 6, "color": "0.35", "gid": "theory"}
        theorem = label.partition("Theorem ")[2].partition(",")[0]
        text = f"Thm {theorem} at T: {y[-1]:.2g}" if theorem else f"{label}: {y[-1]:.2g}"
        axis.text(0.03, 0.98 - 0.085 * lines_before, text, transform=axis.transAxes, **look)
        axis.set_ylim(low, high + 0.1 * (high - low))  # room for the text
        return
    axis.plot(x, y, label=label, **THEORY)
    axis.set_ylim(low, max(high, 1.05 * float(np.nanmax(y))))


def bounds(axis: Axes, data: Data, name: str, metric: str, labels: Sequence[str] = ()) -> None:
    """Draw the upper bounds on a metric that the drawn policies have, means over instances.

    Args:
        name: the experiment.
        labels: the drawn policies; default: all.
    """
    results, problem = data[name], data.problem(name)
    rounds, drawn = results["round"].values, set()
    for label in labels or results.policy.values.tolist():
        for bound in bounds_for(problem, str(results.kind.sel(policy=label).values), metric):
            if bound.side == "upper" and bound.source not in drawn:
                drawn.add(bound.source)
                value = bound.value(problem, int(rounds[-1]), rounds).mean(axis=1)
                theory(axis, rounds, value, bound.source + ("" if bound.exact else ", up to constants"))


def shades(colour: ColorType, count: int) -> list[Look]:
    """Looks for one policy in several settings: from light to its own colour, each with its own dashes and marker."""
    lightest, dashes = 0.55, ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
    looks = []
    for number in range(count):
        lightness = lightest * (1 - number / max(count - 1, 1))
        shade = tuple(c + (1 - c) * lightness for c in matplotlib.colors.to_rgb(colour))
        looks.append({"color": shade, "linestyle": dashes[number % 4], "marker": "osD^"[number % 4]})
    return looks


def legend(figure: Figure, axes: np.ndarray | Sequence[Axes], note: str, columns: int = 0) -> None:
    """Draw one legend for all panels below them.

    Args:
        note: its title, which says what the curves are means over; it is broken into lines as wide as the figure.
        columns: of the legend; default: as many as fit.
    """
    handles_by_label: dict[str, Any] = {}  # matplotlib's handles are lines, bars or containers
    for axis in np.ravel(np.asarray(axes, dtype=object)):
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles_by_label.setdefault(label, handle)
    longest = max(map(len, handles_by_label))
    fitting = max(1, int(figure.get_figwidth() / (0.5 + 0.065 * longest)))
    columns = min(len(handles_by_label), columns or fitting)
    most = int(figure.get_figwidth() / 0.053)  # inches per character of the title's font
    lines = textwrap.wrap(note, most)
    lines = textwrap.wrap(note, min(most, len(note) // len(lines) + 10))  # of about equal lengths
    height = 0.17 * (1.5 + -(-len(handles_by_label) // columns)) + 0.12 * (len(lines) - 1)
    figure.set_figheight(figure.get_figheight() + height)
    look: Look = {"loc": "outside lower center", "frameon": False, "title_fontsize": 7}
    figure.legend(
        list(handles_by_label.values()), list(handles_by_label), ncols=columns, title="\n".join(lines), **look
    )


def sample_note(results: xr.Dataset, spread: str = "bands") -> str:
    """What the curves are means over, and what their bands or bars (`spread`) show."""
    return f"mean over {sample_size(results)}, {spread}: 95 % confidence"
