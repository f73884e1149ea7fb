"""Metrics against the round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxbandit.core.errors import InputError
from jaxbandit.experiments.plots.legends import inner_labels, legend, panels, representative_looks, sample_note
from jaxbandit.experiments.plots.style import Look, caption, styles
from jaxbandit.experiments.ranking import Representative, representatives
from jaxbandit.experiments.statistics import (
    CONFIDENCE,
    checked_results,
    chosen_metrics,
    mean_over_instances,
    metric_label,
)

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@checked_results
def curves(results: xr.Dataset, metrics: Sequence[str] | None = None) -> Figure:
    """Draw metrics against the round: one panel per metric, means over runs with their 95 % confidence bands.

    If a group (a grid, or policies of one kind) has more than 24 policies, each panel shows the best, the median and
    the worst by its own metric at T, and names the best.

    Args:
        results: as `simulate` returns them.
        metrics: names of metrics in the results; default: all.

    Raises:
        InputError: a metric that the results do not hold, or none.

    Example:
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), ["ucb1", "moss"], horizon=99, seeds=50)
        >>> figure = jb.plots.curves(results, ["regret"])
        >>> figure.axes[0].get_ylabel()
        'regret (reward)'
    """
    names = chosen_metrics(results, metrics)
    if not names:
        raise InputError("metrics", names, "must name at least one metric")
    figure, axes = panels(len(names))
    looks = styles(results)
    ranked = False
    for axis, name in zip(axes, names, strict=True):
        shown = representatives(results, name)
        ranked = ranked or any(policy.role for policy in shown.values())
        _draw_panel(axis, results, name, shown, looks)
    note = sample_note(results, "band", "each panel's metric" if ranked else "")
    legend(figure, axes[0], note, inner_labels(results))
    return figure


def _draw_panel(
    axis: Axes, results: xr.Dataset, name: str, shown: Mapping[int, Representative], looks: Mapping[str, Look]
) -> None:
    """Draw the curves of one metric."""
    part = results[[name, f"{name}_stderr"]].isel(policy=list(shown))
    mean, error = (a.transpose("policy", "round").values for a in mean_over_instances(part, name))
    labelled = representative_looks(results, shown, looks)
    for (label, look), y, half in zip(labelled, mean, CONFIDENCE * error, strict=True):
        line = {k: look[k] for k in ("color", "linestyle")}
        band(axis, results["round"].values, y, half, label=label, **line)
    _name_best(axis, results, shown, labelled)
    axis.set_xlabel("round t")
    axis.set_ylabel(metric_label(results, name))
    axis.set_xlim(0, float(results["round"][-1]))
    axis.ticklabel_format(axis="x", style="sci", scilimits=(-3, 4), useMathText=True)
    axis.axhline(0, color="0.8", linewidth=0.6, zorder=0)
    if name == "max_deficit":  # below 1 every arm has its floor(tau t) rounds
        axis.axhline(1, color="0.5", linewidth=0.8, linestyle=(0, (2, 2)), zorder=0)


def band(axis: Axes, x: np.ndarray, y: np.ndarray, half: np.ndarray, **look: Any) -> None:
    """Draw a curve with a band around it that reaches `half` above and below.

    Args:
        look: keyword arguments of `Axes.plot`, `color` among them.
    """
    axis.plot(x, y, **look)
    axis.fill_between(x, y - half, y + half, color=look["color"], alpha=0.2, linewidth=0)


def _name_best(
    axis: Axes, results: xr.Dataset, shown: Mapping[int, Representative], labelled: Sequence[tuple[str, Look]]
) -> None:
    """Write the best point of each large group above a panel, in the group's colour, for up to three groups."""
    points = [
        (caption(str(results.policy.values[position]).removeprefix(name).strip(" ()")), look["color"])
        for (position, (name, role)), (_, look) in zip(shown.items(), labelled, strict=True)
        if role.startswith("best")
    ]
    if len(points) > 3:
        return
    for line, (point, colour) in enumerate(reversed(points)):
        text = f"best: {point}" if len(point) <= 44 else f"best: {point[:43]}…"
        place: dict[str, Any] = {
            "xycoords": "axes fraction",
            "xytext": (0, 3 + 7 * line),
            "textcoords": "offset points",
        }
        axis.annotate(text, (0, 1), fontsize=6, color=colour, **place)
