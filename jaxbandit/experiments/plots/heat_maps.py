"""Heat maps of grids: a metric over two parameters, with the best cell and all that cannot be told from it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, NullLocator

from jaxbandit.core.errors import InputError, unknown_name
from jaxbandit.experiments.plots.style import caption
from jaxbandit.experiments.statistics import CONFIDENCE, check, mean_of_runs, of_results, recorded, sample_size
from jaxbandit.experiments.tables import levels, members, missing, parameters, unknown_label, varying
from jaxbandit.metrics.definitions import METRICS

_NUMBERED = 100  # cells; in a larger map the colours tell
_TICKS = 16  # values on an axis; of more every second, third, ... is written
_LONGEST = 10  # characters of the values of x that stand side by side


@dataclass(frozen=True)
class Map:
    """A family of a grid laid out over two of its parameters.

    Attributes:
        family: its label.
        x, y: the parameters.
        columns, rows: their values, numbers sorted, others as they appear.
        places: where each cell's policy stands, int `[rows, columns]`; -1 where there is none.
        fixed: what the other parameters are.
    """

    family: str
    x: str
    y: str
    columns: list[Any]
    rows: list[Any]
    places: np.ndarray
    fixed: dict[str, Any]


@of_results
def heat_map(results: xr.Dataset, metric: str, x: str, y: str, family: str | None = None) -> Figure:
    """A metric at T over two parameters of a grid: mean over runs and instances.

    Values stand in order and equally far apart, whatever their scale. Light is good. Framed is the best cell, or a
    star where there are more than 100; a line goes around those that cannot be told from it, run by run (95 %; each is
    compared by itself). Cells that the grid leaves out are hatched.

    Args:
        results: as `simulate` returns them.
        metric: of the results.
        x, y: two parameters, of `grids.parameters(results)`.
        family: whose grid; it can be left out where one alone varies both.

    Raises:
        InputError: a metric, parameter or family that is not in the results; a family that has not both parameters; or
            further parameters that vary, of which one value has to be selected first: an average over them would be
            of no policy.

    Example:
        >>> lfg = {"kind": "lfg", "eta": [1, 10, 100], "exploration": [0.5, 2.0]}
        >>> results = jb.simulate(jb.Problem([0.9, 0.5], fractions=0.1), lfg, horizon=99, seeds=50)
        >>> figure = heat_map(results, "r_regret", x="eta", y="exploration")
    """
    check(results, metric)
    return _draw(results, [metric], laid_out(results, x, y, family))


@of_results
def heat_maps(results: xr.Dataset, x: str, y: str, family: str | None = None) -> Figure:
    """A heat map of each metric in the results, side by side; arguments and errors are those of `heat_map`."""
    return _draw(results, recorded(results), laid_out(results, x, y, family))


def drawable(results: xr.Dataset) -> Iterator[tuple[str, str, str]]:
    """The families that vary two parameters and no more, each with these."""
    for family, names in varying(results).items():
        if len(names) == 2:
            yield family, names[0], names[1]


def laid_out(results: xr.Dataset, x: str, y: str, family: str | None = None) -> Map:
    """Where the policies of a family stand over two parameters; arguments and errors are those of `heat_map`."""
    known = parameters(results)
    for key, name in (("x", x), ("y", y)):
        if name not in known:
            raise unknown_name(key, name, known) if known else InputError(key, name, "nothing: there is no grid")
    if x == y:
        raise InputError("y", y, f"another parameter than x, one of {', '.join(n for n in known if n != x)}")
    family = _family(results, x, y) if family is None else family
    positions = members(results, family)
    held = {name: results[name].values[positions] for name in known}
    for key, name in (("x", x), ("y", y)):
        if not levels(held[name]):
            own = ", ".join(other for other in known if levels(held[other])) or "it has none"
            raise InputError(key, name, f"a parameter of {family}'s grid: {own}")
    others = {name: levels(held[name]) for name in known if name not in (x, y)}
    _refuse_more(family, {name: values for name, values in others.items() if len(values) > 1})
    columns, rows = levels(held[x]), levels(held[y])
    places = np.full((len(rows), len(columns)), -1)
    across, down = ({value: i for i, value in enumerate(values)} for values in (columns, rows))
    for place, at_x, at_y in zip(positions.tolist(), held[x].tolist(), held[y].tolist(), strict=True):
        if not (missing(at_x) or missing(at_y)):
            places[down[at_y], across[at_x]] = place
    fixed = {name: values[0] for name, values in others.items() if values}
    return Map(family, x, y, columns, rows, places, fixed)


def _family(results: xr.Dataset, x: str, y: str) -> str:
    """The one family that varies both parameters."""
    varied = varying(results)
    able = [family for family, names in varied.items() if {x, y} <= set(names)]
    if len(able) > 1:
        raise unknown_label("family", None, able)
    if not able:
        words = "; ".join(f"{family}: {', '.join(names)}" for family, names in varied.items())
        raise InputError("x and y", (x, y), f"two parameters that one family varies ({words})")
    return able[0]


def _refuse_more(family: str, more: dict[str, list[Any]]) -> None:
    """A map shows two parameters: of each further one, one value has to be selected first."""
    if not more:
        return
    name, value = next((name, values[0]) for name, values in more.items())
    held = ", ".join(f"{n} ({len(values)} values)" for n, values in more.items())
    select = f'results.isel(policy=results["{name}"] == {value!r})'
    allowed = f"one value of each parameter besides x and y; select it first: {select}"
    raise InputError("results", f"{family}, which varies {held}", allowed)


def _draw(results: xr.Dataset, metrics: Sequence[str], laid: Map) -> Figure:
    columns = min(3, len(metrics))
    rows = math.ceil(len(metrics) / columns)
    widest, tallest = (5.2, 4.2) if len(metrics) == 1 else (3.4, 2.8)
    wide, tall = (max(1.6, min(widest, 0.34 * len(laid.columns))), max(1.3, min(tallest, 0.28 * len(laid.rows))))
    figure, axes = plt.subplots(
        rows, columns, figsize=((wide + 1.3) * columns, (tall + 0.6) * rows + 0.5), squeeze=False, layout="constrained"
    )
    for axis, metric in zip(axes.flat, metrics, strict=False):
        _panel(figure, axis, results, metric, laid)
    for axis in axes.flat[len(metrics) :]:
        axis.set_visible(False)
    figure.suptitle(_title(results, laid, figure.get_figwidth()), fontsize=7.5, x=0.02, ha="left")
    return figure


def _panel(figure: Figure, axis: Any, results: xr.Dataset, metric: str, laid: Map) -> None:
    there = laid.places >= 0
    runs = results[f"{metric}_final"].transpose("policy", "instance", "seed").values[laid.places[there]]
    means = runs.mean(axis=(1, 2))
    values = np.full(there.shape, np.nan)
    values[there] = means
    gain = METRICS[metric].larger_is_better
    first = int(np.argmax(means) if gain else np.argmin(means))
    norm = scale(means)
    image = axis.imshow(values, cmap="cividis" if gain else "cividis_r", norm=norm, aspect="auto", origin="lower")
    for row, column in np.argwhere(~there):
        axis.add_patch(_cell(row, column, facecolor="0.95", edgecolor="0.7", hatch="////", linewidth=0))
    if np.ptp(means) > 0:
        _mark(axis, runs, there, first)
    if values.size <= _NUMBERED:
        digits = _digits(means)
        for row, column in np.argwhere(there):
            dark = (norm(values[row, column]) < 0.5) == gain
            text, ink = f"{values[row, column]:,.{digits}f}", "white" if dark else "black"
            axis.text(column, row, text, ha="center", va="center", fontsize=6, color=ink)
    _ticks(axis.xaxis, laid.columns, laid.x)
    _ticks(axis.yaxis, laid.rows, laid.y)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axis, label=METRICS[metric].label)
    bar.outline.set_visible(False)
    if np.ptp(means) == 0:
        bar.set_ticks([means[0]])
    if isinstance(norm, LogNorm):
        _round_ticks(bar, norm)


def _mark(axis: Any, runs: np.ndarray, there: np.ndarray, first: int) -> None:
    """Mark the best cell, and go around those that cannot be told from it.

    Args:
        runs: of the cells that are there, `[cells, instance, seed]`.
        there: whether a cell is, bool `[rows, columns]`.
        first: the best of the cells that are there.
    """
    row, column = np.argwhere(there)[first]
    alike = np.zeros(there.shape, bool)
    if runs.shape[2] > 1:
        apart, error = mean_of_runs(runs - runs[first])
        alike[there] = np.abs(apart) <= CONFIDENCE * error
    axis.add_collection(LineCollection(list(_outline(alike)), colors="black", linewidths=1.0, capstyle="projecting"))
    if there.size <= _NUMBERED:
        axis.add_patch(_cell(row, column, inset=0.09, fill=False, edgecolor="black", linewidth=1.4))
    else:
        axis.plot(column, row, "*", markersize=9, color="white", markeredgecolor="black", markeredgewidth=0.7)


def scale(values: np.ndarray) -> Normalize:
    """Logarithmic where all values are positive and the largest is five times the smallest or more."""
    low, high = float(values.min()), float(values.max())
    if low > 0 and high >= 5 * low:
        return LogNorm(low, high)
    return Normalize(low, high) if high > low else Normalize(low - 0.5, high + 0.5)


def _round_ticks(bar: Any, norm: LogNorm) -> None:
    """1, 2, 5, 10, ... within the range, or powers of ten where these are many."""
    low, high = float(norm.vmin or 1.0), float(norm.vmax or 1.0)
    tens = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(tens) <= 4 else (1,)
    bar.set_ticks([step * 10.0**ten for ten in tens for step in steps if low <= step * 10.0**ten <= high])
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def _cell(row: int, column: int, inset: float = 0.0, **look: Any) -> Rectangle:
    side = 1 - 2 * inset
    return Rectangle((column - 0.5 + inset, row - 0.5 + inset), side, side, **look)


def _outline(inside: np.ndarray) -> Iterator[list[tuple[float, float]]]:
    """The edges between the cells inside and those outside."""
    padded = np.pad(inside, 1)
    for row, column in np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1]):
        yield [(column - 0.5, row - 0.5), (column + 0.5, row - 0.5)]
    for row, column in np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1]):
        yield [(column - 0.5, row - 0.5), (column - 0.5, row + 0.5)]


def _digits(values: np.ndarray) -> int:
    """Three digits of the largest."""
    largest = float(np.abs(values).max())
    return 2 if largest == 0 else max(0, min(4, 2 - math.floor(math.log10(largest))))


def _ticks(axis: Any, values: list[Any], name: str) -> None:
    words = [f"{value:.4g}" if isinstance(value, float) else caption(str(value)) for value in values]
    every = math.ceil(len(words) / _TICKS)
    axis.set_ticks(range(0, len(words), every), words[::every])
    if axis.axis_name == "x" and sum(len(word) + 2 for word in words[::every]) > 5 * len(words[::every]) + _LONGEST:
        axis.set_tick_params(rotation=90)
    axis.set_label_text(name)


def _title(results: xr.Dataset, laid: Map, width: float) -> str:
    horizon = int(results["round"][-1])
    fixed = "".join(f", {name} = {value}" for name, value in laid.fixed.items())
    head = f"{caption(f'{laid.family}{fixed}')}: T = {horizon:,}, mean over {sample_size(results)}"
    mark = "framed" if laid.places.size <= _NUMBERED else "starred"
    legend = f"{mark}: the best"
    if results.sizes["seed"] > 1:
        legend += "; outlined: not told from it (95 %)"
    return f"{head}; {legend}" if len(head) + len(legend) < 17 * width else f"{head}\n{legend}"
