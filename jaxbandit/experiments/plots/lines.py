"""Metrics against the round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit.core.errors import InputError, unknown_name
from jaxbandit.core.input_values import finite_numbers, is_whole_number, to_python
from jaxbandit.experiments.grids.ranking import Representative, best_of_groups, representatives
from jaxbandit.experiments.plots.canvas import styled
from jaxbandit.experiments.plots.legends import (
    axis_label,
    group_colour,
    inner_labels,
    legend,
    panels,
    representative_looks,
    sample_note,
)
from jaxbandit.experiments.plots.style import Look, caption, styles
from jaxbandit.experiments.statistics import (
    checked_results,
    mean_over_instances,
    panel_labels,
    recorded_metrics,
    t_quantile,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BANDS = ("confidence", "quantiles")
_LEVELS = (0.9, 0.5)
_LONGEST = 44  # characters above a panel
_THICK = 2.0  # the line of the best point of a grid

# The line of each policy, `[policy, round]`, and the lower and the upper edge of each of its bands, likewise.
Lines = tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]


@dataclass(frozen=True)
class _Content:
    """The content of the panels: the checked arguments of `curves`.

    Attributes:
        band: "confidence", "quantiles" or None.
        levels: the share of the runs in each band of quantiles; empty for other bands.
        runs: the number of single runs.
    """

    band: str | None
    levels: list[float]
    runs: int

    @property
    def needs_runs(self) -> bool:
        """Whether the panels need the curves of every run."""
        return self.band == "quantiles" or self.runs > 0


@checked_results
@styled
def curves(
    results: xr.Dataset,
    metrics: Sequence[str] | None = None,
    *,
    band: str | None = "confidence",
    levels: Sequence[float] | None = None,
    runs: int = 0,
) -> Figure:
    """Draw metrics against the round: one panel per metric, one line with its bands per policy.

    By default a line is the mean over runs, with its 95 % confidence band. With `band="quantiles"` it is the median
    over the runs of all instances, with bands between quantiles, which show how much single runs differ. Quantiles and
    single runs need the curves of every run: `simulate(..., runs=["regret"])`.

    Of a grid on one problem, each panel draws the best point by its own metric at T as a thicker line, and names it. If
    a group (a grid, or policies of one kind) has more than 24 policies, each panel shows its best, median and worst
    policy only. The dotted line in the panel of the max deficit is one round: below it every arm has its guaranteed
    selections, rounded down.

    Args:
        results: as `simulate` returns them.
        metrics: names of metrics in the results; default: all, those that need most of the problem first (with one
            play, r-regret stands for c-regret, too), and for quantiles or single runs all whose curves are kept run by
            run.
        band: "confidence", "quantiles", or None for means without a band.
        levels: the share of the runs in each band of quantiles, numbers between 0 and 1; default: (0.9, 0.5), the
            bands from the 5 % to the 95 % quantile and from the 25 % to the 75 % quantile.
        runs: the number of single runs per policy that are drawn as thin lines, from 0 (the default) to the number of
            runs: the first run of every instance, then the second of every instance, and so on.

    Raises:
        InputError: the results have a single recorded round; a metric that they do not hold, or none; an argument
            outside its range; quantiles or single runs of a metric whose curves are not kept run by run; means where
            seeds were selected from the results.

    Example:
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), ["ucb1", "moss"], horizon=99, seeds=50, runs=["regret"])
        >>> figure = jb.plots.curves(results, ["regret"], band="quantiles", runs=3)
        >>> figure.axes[0].get_ylabel()
        'regret (reward)'
        >>> print(figure.legends[0].get_title().get_text())
        median over 50 runs, bands: 5–95 % and 25–75 % of
        runs, thin lines: 3 runs
    """
    if results.sizes["round"] < 2:
        words = "must have at least two recorded rounds, as with `simulate(..., record=200)`; a line needs two points"
        raise InputError("results.round", results["round"].values.tolist(), words)
    content = _checked_content(results, band, levels, runs)
    labels = _drawn_metrics(results, metrics, content)
    figure, axes = panels(len(labels))
    looks = styles(results)
    ranked = marked = False
    for axis, (name, label) in zip(axes, labels.items(), strict=True):
        shown = representatives(results, name)
        ranked = ranked or any(policy.role for policy in shown.values())
        best = best_of_groups(results, name, shown)
        marked = marked or any(not shown[position].role for position in best)
        _draw_panel(axis, results, name, shown, best, looks, content)
        axis.set_ylabel(axis_label(label))
    legend(figure, axes[0], _note(results, content, ranked, marked), inner_labels(results))
    return figure


def metrics_with_runs(results: xr.Dataset) -> list[str]:
    """The recorded metrics whose curves are kept run by run."""
    return [name for name in recorded_metrics(results) if f"{name}_runs" in results]


def _checked_content(results: xr.Dataset, band: object, levels: object, runs: object) -> _Content:
    """The content of the panels.

    Raises:
        InputError: an argument of `curves` outside its range.
    """
    if band is not None and band not in BANDS:
        raise unknown_name("band", band, BANDS)
    if levels is not None and band != "quantiles":
        raise InputError("levels", to_python(levels), 'must not be given without band = "quantiles"')
    chosen: list[float] = []
    if band == "quantiles":
        words = "numbers between 0 and 1, such as [0.9, 0.5]"
        chosen = np.atleast_1d(
            finite_numbers(_LEVELS if levels is None else to_python(levels), "levels", words)
        ).tolist()
        if not all(isinstance(level, float) and 0 < level < 1 for level in chosen):
            raise InputError("levels", to_python(levels), words)
    count, most = to_python(runs), results.sizes["instance"] * results.sizes["seed"]
    if not is_whole_number(count, least=0) or count > most:
        raise InputError("runs", runs, f"a whole number from 0 to {most:,}, the number of runs per policy")
    return _Content(None if band is None else str(band), sorted(set(chosen), reverse=True), count)


def _drawn_metrics(results: xr.Dataset, metrics: Sequence[str] | None, content: _Content) -> dict[str, str]:
    """The metrics to draw, with their labels.

    Raises:
        InputError: no metric, one that the results do not hold, or one whose curves are needed but not kept.
    """
    kept = metrics_with_runs(results)
    if content.needs_runs and metrics is None:
        metrics = kept or recorded_metrics(results)[:1]
    labels = panel_labels(results, metrics)
    lacking = [name for name in labels if name not in kept]
    if content.needs_runs and lacking:
        key, held = ("band", content.band) if content.band == "quantiles" else ("runs", content.runs)
        words = f'`simulate(..., runs=["{lacking[0]}"])` keeps'
        raise InputError(
            key, held, f"cannot be drawn without {lacking[0]}_runs, the curves of every run, which {words}"
        )
    return labels


def _note(results: xr.Dataset, content: _Content, ranked: bool, marked: bool) -> str:
    """The note of the legend: what the lines and the bands are, and the number of runs."""
    more = ""
    if content.levels:
        ranges = [f"{50 - 50 * level:.3g}–{50 + 50 * level:.3g} %" for level in content.levels]
        words = ", ".join(ranges[:-1]) + " and " * (len(ranges) > 1) + ranges[-1]
        more += f", {'band' if len(ranges) == 1 else 'bands'}: {words} of runs"
    if content.runs:
        more += f", thin lines: {content.runs} run{'s' if content.runs > 1 else ''}"
    if marked:
        more += ", thick: the best of each grid at T"
    return sample_note(
        results,
        "band" if content.band == "confidence" else "",
        "each panel's metric" if ranked else "",
        line="median" if content.levels else "mean",
        more=more,
    )


def _draw_panel(
    axis: Axes,
    results: xr.Dataset,
    name: str,
    shown: Mapping[int, Representative],
    best: Mapping[int, str],
    looks: Mapping[str, Look],
    content: _Content,
) -> None:
    """Draw the curves of one metric; `best` is from `best_of_groups`."""
    part, rounds = results.isel(policy=list(shown)), results["round"].values
    labelled = representative_looks(results, shown, looks)
    lines, bands = _quantiles(part, name, content.levels) if content.levels else _means(part, name, content.band)
    single = _runs(part, name)[:, : content.runs] if content.runs else np.empty((len(labelled), 0, len(rounds)))
    for number, (position, (label, look)) in enumerate(zip(shown, labelled, strict=True)):
        line = {k: look[k] for k in ("color", "linestyle")}
        for run in single[number]:
            axis.plot(rounds, run, color=look["color"], linewidth=0.4, alpha=0.6, zorder=1.5)
        edges = [(low[number], high[number]) for low, high in bands]
        curve_with_bands(axis, rounds, lines[number], edges, label=label, **line)
        if position in best and not shown[position].role:
            thick = line | {"color": group_colour(results, looks, best[position]), "linewidth": _THICK}
            axis.plot(rounds, lines[number], zorder=2.5, **thick)
    _name_best(axis, results, best, looks)
    axis.set_xlabel("round t")
    axis.set_xlim(0, float(rounds[-1]))
    axis.ticklabel_format(axis="x", style="sci", scilimits=(-3, 4), useMathText=True)
    axis.axhline(0, color="0.8", linewidth=0.6, zorder=0)
    if name == "max_deficit":  # below 1 every arm has its floor(tau t) rounds
        axis.axhline(1, color="0.5", linewidth=0.8, linestyle=(0, (2, 2)), zorder=0)


def _means(part: xr.Dataset, name: str, band: str | None) -> Lines:
    """The mean of a metric over runs, and its confidence band unless `band` is None."""
    mean, error = (values.transpose("policy", "round").values for values in mean_over_instances(part, name))
    half = t_quantile(part) * error
    return mean, [] if band is None else [(mean - half, mean + half)]


def _quantiles(part: xr.Dataset, name: str, levels: Sequence[float]) -> Lines:
    """The median of a metric over the runs of all instances, and the band between two quantiles for each level."""
    tails = [(1 - level) / 2 for level in levels]
    low_median_high = [*tails, 0.5, *(1 - tail for tail in tails)]
    values = np.quantile(_runs(part, name), low_median_high, axis=1)
    count = len(tails)
    return values[count], list(zip(values[:count], values[count + 1 :], strict=True))


def _runs(part: xr.Dataset, name: str) -> np.ndarray:
    """The curves of a metric's runs, float64 `[policy, run, round]`, those of one seed side by side."""
    runs = part[f"{name}_runs"].transpose("policy", "seed", "instance", "round").values
    return runs.reshape(len(runs), -1, runs.shape[-1]).astype(np.float64)


def curve_with_bands(
    axis: Axes, x: np.ndarray, y: np.ndarray, edges: Sequence[tuple[np.ndarray, np.ndarray]], **look: Any
) -> None:
    """Draw a curve with bands, each between a lower and an upper edge.

    Args:
        look: keyword arguments of `Axes.plot`, `color` among them.
    """
    axis.plot(x, y, **look)
    for low, high in edges:
        axis.fill_between(x, low, high, color=look["color"], alpha=0.2, linewidth=0)


def _name_best(axis: Axes, results: xr.Dataset, best: Mapping[int, str], looks: Mapping[str, Look]) -> None:
    """Write the best point of each group above a panel, in the group's colour, for up to three groups."""
    if len(best) > 3:
        return
    for line, (position, group) in enumerate(reversed(list(best.items()))):
        point = caption(str(results.policy.values[position]).removeprefix(group).strip(" ()"))
        text = f"best {caption(group)}: {point}"
        text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
        place: dict[str, Any] = {
            "xycoords": "axes fraction",
            "xytext": (0, 3 + 7 * line),
            "textcoords": "offset points",
        }
        colour = group_colour(results, looks, group)
        axis.annotate(text, (0, 1), fontsize=6, color=colour, **place)
