"""What the figures of all papers share: panels, curves in the policies' own colours, theory beside them, one legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from jaxbandit.experiments.plots.figures import band
from jaxbandit.experiments.plots.style import styles
from jaxbandit.experiments.statistics import CONFIDENCE, mean_over_instances
from jaxbandit.metrics.bounds.table import bounds_for
from jaxbandit.metrics.definitions import METRICS
from jaxbandit.papers.experiment import Data

THEORY: Any = {"color": "0.35", "linewidth": 0.9, "linestyle": (0, (4, 2))}

REACH = 2  # times the height of the axes that a bound may reach


def panels(rows: int, columns: int, wide: float = 2.35, high: float = 1.75, **more: Any) -> tuple[Figure, np.ndarray]:
    """A figure of `rows` x `columns` panels, `wide` x `high` inches each."""
    return plt.subplots(
        rows, columns, figsize=(wide * columns, high * rows), squeeze=False, layout="constrained", **more
    )


def curves(axis: Any, results: xr.Dataset, metric: str, labels: Sequence[str] = (), **look: Any) -> None:
    """A metric against the round, mean over runs with its 95 % confidence band, a line a policy.

    Args:
        labels: of the policies to draw; all by default.
        look: what replaces the policies' own colour, line or label.
    """
    mean, error = mean_over_instances(results, metric)
    looks = styles(results)
    for label in labels or results.policy.values.tolist():
        own = {"label": label, **{k: looks[label][k] for k in ("color", "linestyle")}, **look}
        y, half = (a.sel(policy=label).values for a in (mean, CONFIDENCE * error))
        band(axis, results["round"].values, y, half, **own)
    axis.set_xlabel("round t")
    axis.set_ylabel(METRICS[metric].label)
    axis.set_xlim(0, float(results["round"][-1]))
    axis.ticklabel_format(axis="x", style="sci", scilimits=(-3, 4), useMathText=True)


def theory(axis: Any, x: Any, y: Any, label: str) -> None:
    """A bound beside the curves: drawn where it is within reach of the axes, else its value at the end in words."""
    y = np.where(np.isfinite(y), y, np.nan)  # infinite in rounds of which the theorem says nothing
    low, high = axis.get_ylim()
    if not y[-1] <= REACH * high or np.nanmin(y) > high:
        before = sum(text.get_gid() == "theory" for text in axis.texts)
        look: Any = {"ha": "left", "va": "top", "fontsize": 6, "color": "0.35", "gid": "theory"}
        short = label.partition("Theorem ")[2].partition(",")[0]
        words = f"Thm {short} at T: {y[-1]:.2g}" if short else f"{label}: {y[-1]:.2g}"
        axis.text(0.03, 0.98 - 0.085 * before, words, transform=axis.transAxes, **look)
        axis.set_ylim(low, high + 0.1 * (high - low))  # room for the words
        return
    axis.plot(x, y, label=label, **THEORY)
    axis.set_ylim(low, max(high, 1.05 * float(np.nanmax(y))))


def bounds(axis: Any, data: Data, name: str, metric: str, labels: Sequence[str] = ()) -> None:
    """The upper bounds of `jaxbandit.bounds` on a metric of the drawn policies, means over instances."""
    results, problem = data[name], data.problem(name)
    rounds, told = results["round"].values, set()
    for label in labels or results.policy.values.tolist():
        for bound in bounds_for(problem, str(results.kind.sel(policy=label).values), metric):
            if bound.side == "upper" and bound.source not in told:
                told.add(bound.source)
                value = bound.value(problem, int(rounds[-1]), rounds).mean(axis=1)
                theory(axis, rounds, value, bound.source + ("" if bound.exact else ", up to constants"))


def shades(colour: Any, count: int) -> list[dict[str, Any]]:
    """Looks for one policy in several settings: from light to its own colour, with dashes and markers of their own."""
    lightest, dashes = 0.55, ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
    looks = []
    for number in range(count):
        part = lightest * (1 - number / max(count - 1, 1))
        tint = tuple(c + (1 - c) * part for c in matplotlib.colors.to_rgb(colour))
        looks.append({"color": tint, "linestyle": dashes[number % 4], "marker": "osD^"[number % 4]})
    return looks


def legend(figure: Figure, axes: Any, note: str, columns: int = 0) -> None:
    """One legend below all panels, a line a label, with what the curves are means over."""
    found: dict[str, Any] = {}
    for axis in np.ravel(axes):
        handles, labels = axis.get_legend_handles_labels()
        found.update({label: handle for label, handle in zip(labels, handles, strict=True) if label not in found})
    longest = max(map(len, found))
    fit = max(1, int(figure.get_figwidth() / (0.5 + 0.065 * longest)))
    columns = min(len(found), columns or fit)
    figure.set_figheight(figure.get_figheight() + 0.17 * (1.5 + -(-len(found) // columns)))
    look: Any = {"loc": "outside lower center", "frameon": False, "title_fontsize": 7}
    figure.legend(list(found.values()), list(found), ncols=columns, title=note, **look)


def note(results: xr.Dataset, spread: str = "bands") -> str:
    """What the curves are means over, and what their bands are."""
    runs, instances = results.sizes["seed"], results.sizes["instance"]
    sample = f"{runs} runs" if instances == 1 else f"{instances} instances × {runs} runs"
    return f"mean over {sample}, {spread}: 95 % confidence"
