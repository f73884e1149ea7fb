"""Heat maps of grids: a metric over two parameters, with the best cell and those that are as good."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, NullLocator

from jaxbandit.experiments.grids.layout import GridLayout, layout
from jaxbandit.experiments.grids.parameters import Value, short_name, varying
from jaxbandit.experiments.plots.canvas import new_figure, styled
from jaxbandit.experiments.plots.legends import axis_label, wrapped
from jaxbandit.experiments.plots.style import caption
from jaxbandit.experiments.statistics import (
    check_last_round,
    check_metric,
    checked_results,
    larger_is_better,
    mean_of_runs,
    panel_labels,
    sample_size,
    t_quantile_of,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.colorbar import Colorbar
    from matplotlib.figure import Figure

_NUMBERED = 100  # cells with numbers in them; larger maps have colours only
_TICKS = 16  # values that are written on an axis; of more values every second, third, ... is
_LONGEST = 10  # characters of the values of x that stand side by side


@checked_results
@styled
def heat_map(results: xr.Dataset, metric: str, x: str, y: str, family: str | None = None) -> Figure:
    """Draw a metric at T over two parameters of a grid: means over runs and instances.

    Values stand in order and equally far apart, whatever their scale. Lighter cells are better. The best cell has a
    frame; in maps of more than 100 cells, a star. Where one parameter is a key of the problem, this is the best cell on
    each problem; where both are, no cell is marked. A line surrounds the cells whose difference from the best, run by
    run, has a 95 % confidence interval that holds 0 (each cell is compared by itself). Cells that the grid leaves out
    are hatched.

    Args:
        results: as `simulate` returns them.
        metric: the name of a metric in the results.
        x, y: two parameters, of `jb.grids.parameters(results)`.
        family: the family of the grid; default: the only one that varies both parameters.

    Raises:
        InputError: a metric, parameter or family that the results do not hold; a family without these parameters; a
            family that varies further parameters: select one value of each first, since the map does not average over
            them; or rounds before T were selected from the results.

    Example:
        >>> lfg = {"kind": "lfg", "eta": [1, 10, 100], "exploration": [0.5, 2.0]}
        >>> results = jb.simulate(jb.Problem([0.9, 0.5], fractions=0.1), lfg, horizon=99, seeds=50)
        >>> figure = jb.plots.heat_map(results, "r_regret", x="policies.eta", y="policies.exploration")
        >>> figure.axes[0].get_xlabel()
        'eta'
    """
    check_metric(results, metric)
    return _draw(results, panel_labels(results, [metric]), layout(results, x, y, family))


@checked_results
@styled
def heat_maps(results: xr.Dataset, x: str, y: str, family: str | None = None) -> Figure:
    """Draw a heat map of each metric in the results, side by side; with one play, r-regret stands for c-regret, too.

    Args:
        results: as `simulate` returns them.
        x, y: two parameters, of `jb.grids.parameters(results)`.
        family: the family of the grid; default: the only one that varies both parameters.

    Raises:
        InputError: as `heat_map` does.

    Example:
        >>> lfg = {"kind": "lfg", "eta": [1, 10, 100], "exploration": [0.5, 2.0]}
        >>> results = jb.simulate(jb.Problem([0.9, 0.5], fractions=0.1), lfg, horizon=99, seeds=50)
        >>> figure = jb.plots.heat_maps(results, x="policies.eta", y="policies.exploration")
        >>> sum(axis.get_xlabel() == "eta" for axis in figure.axes)  # one map per metric
        4
    """
    return _draw(results, panel_labels(results, None), layout(results, x, y, family))


def drawable_families(results: xr.Dataset) -> list[tuple[str, str, str]]:
    """The families that vary exactly two parameters, each with these."""
    return [(family, names[0], names[1]) for family, names in varying(results).items() if len(names) == 2]


def _draw(results: xr.Dataset, labels: Mapping[str, str], grid: GridLayout) -> Figure:
    check_last_round(results)
    count = len(labels)
    columns = min(3, count)
    rows = math.ceil(count / columns)
    widest, tallest = (5.2, 4.2) if count == 1 else (3.4, 2.8)
    wide, tall = (max(1.6, min(widest, 0.34 * len(grid.columns))), max(1.3, min(tallest, 0.28 * len(grid.rows))))
    figure, axes = new_figure(rows, columns, figsize=((wide + 1.3) * columns, (tall + 0.6) * rows + 0.5))
    for axis, (metric, label) in zip(axes.flat, labels.items(), strict=False):
        _draw_panel(figure, axis, results, metric, axis_label(label, tall + 0.6), grid)
    for axis in axes.flat[count:]:
        axis.set_visible(False)
    title = _title(results, grid, figure.get_figwidth())
    figure.set_figheight(figure.get_figheight() + 0.13 * max(title.count("\n") - 1, 0))
    figure.suptitle(title, fontsize=7.5, x=0.02, ha="left")
    return figure


def _draw_panel(figure: Figure, axis: Axes, results: xr.Dataset, metric: str, label: str, grid: GridLayout) -> None:
    """Draw the map of one metric."""
    filled = grid.positions >= 0
    runs = results[f"{metric}_final"].transpose("policy", "instance", "seed").values[grid.positions[filled]]
    means = runs.mean(axis=(1, 2))
    values = np.full(filled.shape, np.nan)
    values[filled] = means
    gain = larger_is_better(results, metric)
    norm = colour_scale(means)
    image = axis.imshow(values, cmap="cividis" if gain else "cividis_r", norm=norm, aspect="auto", origin="lower")
    for row, column in np.argwhere(~filled):
        axis.add_patch(_cell(row, column, facecolor="0.95", edgecolor="0.7", hatch="////", linewidth=0))
    if np.ptp(means) > 0:
        for cells in _of_each_problem(grid, filled):
            _mark_best(axis, runs, filled, cells, gain)
    if values.size <= _NUMBERED:
        digits = _decimals(means)
        for row, column in np.argwhere(filled):
            dark = (norm(values[row, column]) < 0.5) == gain
            text, ink = f"{values[row, column]:,.{digits}f}", "white" if dark else "black"
            axis.text(column, row, text, ha="center", va="center", fontsize=6, color=ink)
    _set_ticks(axis.xaxis, grid.columns, grid.x)
    _set_ticks(axis.yaxis, grid.rows, grid.y)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axis, label=label)
    bar.outline.set_visible(False)
    if np.ptp(means) == 0:
        bar.set_ticks([means[0]])
    if isinstance(norm, LogNorm):
        _set_round_ticks(bar, norm)


def _of_each_problem(grid: GridLayout, filled: np.ndarray) -> list[np.ndarray]:
    """The numbers of the filled cells that are on one problem: numbers on different problems are not comparable."""
    rows, columns = np.nonzero(filled)
    on = [place for name, place in ((grid.x, columns), (grid.y, rows)) if name.startswith("problem.")]
    if len(on) == 2:
        return []
    problems = on[0] if on else np.zeros(len(rows), int)
    return [np.flatnonzero(problems == problem) for problem in np.unique(problems)]


def _mark_best(axis: Axes, runs: np.ndarray, filled: np.ndarray, cells: np.ndarray, gain: bool) -> None:
    """Mark the best of some cells, and draw a line around those of them that are as good.

    Args:
        runs: the runs of the filled cells, `[cell, instance, seed]`.
        filled: whether the grid fills a cell, bool `[row, column]`.
        cells: the numbers of the compared ones among the filled cells.
        gain: whether larger is better.
    """
    means = runs[cells].mean(axis=(1, 2))
    best = cells[np.argmax(means) if gain else np.argmin(means)]
    row, column = np.argwhere(filled)[best]
    as_good = np.zeros(filled.shape, bool)
    if runs.shape[2] > 1:
        difference, error = mean_of_runs(runs[cells] - runs[best])
        as_good[tuple(np.argwhere(filled)[cells].T)] = np.abs(difference) <= t_quantile_of(*runs.shape[1:]) * error
    axis.add_collection(LineCollection(list(_outline(as_good)), colors="black", linewidths=1.0, capstyle="projecting"))
    if filled.size <= _NUMBERED:
        axis.add_patch(_cell(row, column, inset=0.09, fill=False, edgecolor="black", linewidth=1.4))
    else:
        axis.plot(column, row, "*", markersize=9, color="white", markeredgecolor="black", markeredgewidth=0.7)


def colour_scale(values: np.ndarray) -> Normalize:
    """Logarithmic where all values are positive and the largest is at least five times the smallest; else linear."""
    low, high = float(values.min()), float(values.max())
    if low > 0 and high >= 5 * low:
        return LogNorm(low, high)
    return Normalize(low, high) if high > low else Normalize(low - 0.5, high + 0.5)


def _set_round_ticks(bar: Colorbar, norm: LogNorm) -> None:
    """Write 1, 2, 5, 10, ... within the range, or powers of ten where these are many."""
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
    """The edges between cells inside and outside, bool `[row, column]`."""
    padded = np.pad(inside, 1)
    for row, column in np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1]):
        yield [(column - 0.5, row - 0.5), (column + 0.5, row - 0.5)]
    for row, column in np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1]):
        yield [(column - 0.5, row - 0.5), (column - 0.5, row + 0.5)]


def _decimals(values: np.ndarray) -> int:
    """The decimal places that give the largest value three digits."""
    largest = float(np.abs(values).max())
    return 2 if largest == 0 else max(0, min(4, 2 - math.floor(math.log10(largest))))


def _set_ticks(axis: XAxis | YAxis, values: Sequence[Value], name: str) -> None:
    """Write the values of a parameter and its name on an axis."""
    words = [f"{value:.4g}" if isinstance(value, float) else caption(str(value)) for value in values]
    every = math.ceil(len(words) / _TICKS)
    axis.set_ticks(range(0, len(words), every), words[::every])
    if axis.axis_name == "x" and sum(len(word) + 2 for word in words[::every]) > 5 * len(words[::every]) + _LONGEST:
        axis.set_tick_params(rotation=90)
    axis.set_label_text(short_name(name))


def _title(results: xr.Dataset, grid: GridLayout, width: float) -> str:
    """The title of the maps: the family, the sample and what the marks mean; in lines of the figure's width."""
    horizon, letters = int(results["round"][-1]), int(16.5 * width)
    fixed = "".join(f", {short_name(name)} = {value}" for name, value in grid.fixed.items())
    head = f"{caption(f'{grid.family}{fixed}')}: T = {horizon:,}, mean over {sample_size(results)}"
    mark = "framed" if grid.positions.size <= _NUMBERED else "starred"
    on_problems = sum(name.startswith("problem.") for name in (grid.x, grid.y))
    if on_problems == 2:
        return wrapped(head, letters)
    legend = f"{mark}: the best" + (" on each problem" if on_problems else "")
    if results.sizes["seed"] > 1:
        legend += "; outlined: not significantly different from it (95 %)"
    if len(head) + len(legend) + 2 <= letters:
        return f"{head}; {legend}"
    return f"{wrapped(head, letters)}\n{wrapped(legend, letters)}"
