"""The figures 1 to 5 and 7 to 9 of the plays paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxbandit.experiments.plots.style import styles
from jaxbandit.papers.claim import PaperFigure
from jaxbandit.papers.drawing import THEORY, Look, bounds, curves, legend, panels, sample_note, shades
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.plays.experiments import (
    CASES,
    COMPARED,
    CS,
    FIGURE_ROUNDS,
    KL,
    LARGE,
    OWN,
    THETAS,
    UCB,
    UNEVEN,
    growth_name,
    place,
)


def _panel(axis: Axes, results: xr.Dataset, metric: str, labels: Sequence[str] = (), **look: Any) -> None:
    """Draw curves over rounds in plain numbers; beside deficits the level below which every arm has its guarantee."""
    curves(axis, results, metric, labels, **look)
    axis.ticklabel_format(axis="x", style="plain")
    if metric == "max_deficit":
        axis.axhline(1, label="y = 1", zorder=0, **THEORY)


def _figure_1_or_2(data: Data, base: str) -> Figure:
    """Above the rounds of the paper's figure, below all rounds on a logarithmic axis."""
    figure, axes = panels(2, 2, width=2.8)
    results = data[growth_name(base)]
    looks = shades(styles(results)[base]["color"], len(CS))
    for number, (theta, c) in enumerate(CASES):
        above, below = axes[:, list(THETAS).index(theta)]
        one, own = results.isel(instance=[number]), looks[CS.index(c)]
        look: Look = {"label": f"c = {c}", "color": own["color"], "linestyle": own["linestyle"]}
        _panel(above, one.sel(round=slice(None, FIGURE_ROUNDS)), "c_regret", **look)
        _panel(below, one, "c_regret", **look)
        above.set_title(THETAS[theta], loc="left")
    for axis in axes[1]:
        axis.set_xscale("log")
        axis.set_xlim(*(float(results["round"][end]) for end in (0, -1)))
    for axis in axes.flat:
        axis.set_ylim(bottom=0)
    for axis in axes[:, 1]:
        axis.set_ylabel("")
    legend(figure, axes, f"{base}, {sample_note(results.isel(instance=[0]))}")
    return figure


def _figure_3_to_5(data: Data, names: dict[str, str], metric: str) -> Figure:
    """One panel for θ₁ and one for θ₂."""
    figure, axes = panels(1, 2, width=2.8, height=2.0)
    for axis, (theta, name) in zip(axes[0], names.items(), strict=True):
        _panel(axis, data[name], metric)
        if metric == "c_regret":
            bounds(axis, data, name, metric)
        axis.set_title(THETAS[theta], loc="left")
    axes[0, 1].set_ylabel("")
    legend(figure, axes, sample_note(data[names["theta1"]]))
    return figure


def _figure_7(data: Data) -> Figure:
    figure, axes = panels(1, 2, width=2.8, height=2.0)
    for axis, base in zip(axes[0], OWN, strict=True):
        looks = shades(styles(data[UNEVEN["c4"]])[base]["color"], 2)[::-1]
        for name, look in zip(UNEVEN.values(), looks, strict=True):
            own: Look = {"label": place(name), "color": look["color"], "linestyle": look["linestyle"]}
            _panel(axis, data[name], "c_regret", [base], **own)
        axis.set_title(base, loc="left")
        axis.set_ylim(bottom=0)
    axes[0, 1].set_ylabel("")
    legend(figure, axes, f"θ₁, {sample_note(data[UNEVEN['c4']])}", 4)
    return figure


def _figure_8_or_9(data: Data, name: str) -> Figure:
    figure, axes = panels(1, 2, width=2.8, height=2.0)
    for axis, metric in zip(axes[0], ("c_regret", "max_deficit"), strict=True):
        _panel(axis, data[name], metric)
    bounds(axes[0, 0], data, name, "c_regret")
    legend(figure, axes, f"θ₁, {place(name)}, {sample_note(data[name])}")
    return figure


def _growth_caption(base: str) -> str:
    return (
        f"c-regret of {base}: above over the first {FIGURE_ROUNDS:,} rounds, below over more rounds on a logarithmic "
        f"axis: plays paper, Fig. {OWN.index(base) + 1}."
    )


_EVEN, _LARGE, _UNEVEN = (tuple(names.values()) for names in (COMPARED, LARGE, UNEVEN))
_SETTING = ("simulation.horizon", "simulation.seeds", "simulation.ties")
_RIVALS = (*_SETTING, "policies.LFG.eta", "policies.UCB-PLLP.alpha", "policies.UCB-PLLP.eps")
FIGURES = (
    PaperFigure(
        "plays-figure-1", "1", _growth_caption(UCB), (growth_name(UCB),), lambda d: _figure_1_or_2(d, UCB), _SETTING
    ),
    PaperFigure(
        "plays-figure-2", "2", _growth_caption(KL), (growth_name(KL),), lambda d: _figure_1_or_2(d, KL), _SETTING
    ),
    PaperFigure(
        "plays-figure-3",
        "3",
        "c-regret of five policies: plays paper, Fig. 3.",
        _EVEN,
        lambda data: _figure_3_to_5(data, COMPARED, "c_regret"),
        _RIVALS,
    ),
    PaperFigure(
        "plays-figure-4",
        "4",
        "Largest deficit: plays paper, Fig. 4.",
        _EVEN,
        lambda data: _figure_3_to_5(data, COMPARED, "max_deficit"),
        _RIVALS,
    ),
    PaperFigure(
        "plays-figure-5",
        "5",
        "Largest deficit under large fractions, J = 2: plays paper, Fig. 5.",
        _LARGE,
        lambda data: _figure_3_to_5(data, LARGE, "max_deficit"),
        _RIVALS,
    ),
    PaperFigure(
        "plays-figure-7",
        "7",
        "c-regret where arms have different fractions, J = 1: plays paper, Fig. 7.",
        _UNEVEN,
        _figure_7,
        _SETTING,
    ),
    PaperFigure(
        "plays-figure-8",
        "8",
        "c-regret and largest deficit for c4, J = 1: plays paper, Fig. 8.",
        _UNEVEN[:1],
        lambda data: _figure_8_or_9(data, UNEVEN["c4"]),
        _RIVALS,
    ),
    PaperFigure(
        "plays-figure-9",
        "9",
        "c-regret and largest deficit for c5, J = 1: plays paper, Fig. 9.",
        _UNEVEN[1:],
        lambda data: _figure_8_or_9(data, UNEVEN["c5"]),
        _RIVALS,
    ),
)
