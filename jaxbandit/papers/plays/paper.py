"""Paper 003: several plays, Fair-MMAB. Figures 1 to 5 and 7 to 9."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import xarray as xr

from jaxbandit.experiments.plots.style import styles
from jaxbandit.papers.drawing import THEORY, bounds, curves, legend, note, panels, shades
from jaxbandit.papers.experiment import Data, Drawn, Paper
from jaxbandit.papers.plays.claims import CLAIMS
from jaxbandit.papers.plays.experiments import (
    CAPPED,
    CASES,
    COMPARED,
    CS,
    KL,
    MANY,
    OWN,
    PAPERS,
    THETAS,
    UCB,
    UNEVEN,
    experiments,
    grown,
    place,
)


def _figure_growth(data: Data, base: str) -> Drawn:
    """Figure 1 or 2: as in the paper above, further and against log t below."""
    figure, axes = panels(2, 2, wide=2.8)
    results = data[grown(base)]
    looks = shades(styles(results)[base]["color"], len(CS))
    for number, (theta, c) in enumerate(CASES):
        above, below = axes[:, list(THETAS).index(theta)]
        one, own = results.isel(instance=[number]), looks[CS.index(c)]
        look = {"label": f"c = {c}", "color": own["color"], "linestyle": own["linestyle"]}
        _panel(above, one.sel(round=slice(None, PAPERS)), "c_regret", **look)
        _panel(below, one, "c_regret", **look)
        above.set_title(THETAS[theta], loc="left")
    for axis in axes[1]:
        axis.set_xscale("log")
        axis.set_xlim(*(float(results["round"][end]) for end in (0, -1)))
    for axis in axes.flat:
        axis.set_ylim(bottom=0)
    for axis in axes[:, 1]:
        axis.set_ylabel("")
    number = OWN.index(base) + 1
    legend(figure, axes, f"{base}, {note(results.isel(instance=[0]))}")
    caption = f"c-regret of {base}, over the paper's rounds and beyond, on a logarithmic axis: 003 Fig. {number}."
    return Drawn(f"003-figure-{number}", caption, figure)


def _panel(axis: Any, results: xr.Dataset, metric: str, labels: Sequence[str] = (), **look: Any) -> None:
    """Curves over rounds in plain numbers, with the level of uniform fairness where they are deficits."""
    curves(axis, results, metric, labels, **look)
    axis.ticklabel_format(axis="x", style="plain")
    if metric == "max_deficit":
        axis.axhline(1, label="y = 1", zorder=0, **THEORY)


def _figure_both(data: Data, number: int, names: dict[str, str], metric: str, caption: str) -> Drawn:
    """A panel for θ₁ and one for θ₂."""
    figure, axes = panels(1, 2, wide=2.8, high=2.0)
    for axis, (theta, name) in zip(axes[0], names.items(), strict=True):
        _panel(axis, data[name], metric)
        if metric == "c_regret":
            bounds(axis, data, name, metric)
        axis.set_title(THETAS[theta], loc="left")
    axes[0, 1].set_ylabel("")
    legend(figure, axes, note(data[names["theta1"]]))
    return Drawn(f"003-figure-{number}", caption, figure)


def _figure_7(data: Data) -> Drawn:
    figure, axes = panels(1, 2, wide=2.8, high=2.0)
    for axis, base in zip(axes[0], OWN, strict=True):
        looks = shades(styles(data[UNEVEN["c4"]])[base]["color"], 2)[::-1]
        for names, dashes in ((UNEVEN, "-"), (CAPPED, "--")):
            for name, look in zip(names.values(), looks, strict=True):
                own = {"label": place(name), "color": look["color"], "linestyle": dashes}
                _panel(axis, data[name], "c_regret", [base], **own)
        axis.set_title(base, loc="left")
        axis.set_ylim(bottom=0)
    axes[0, 1].set_ylabel("")
    legend(figure, axes, f"θ₁, {note(data[UNEVEN['c4']])}", 4)
    caption = "c-regret where arms are owed different fractions, and where none is owed 1/6 or more: 003 Fig. 7."
    return Drawn("003-figure-7", caption, figure)


def _figure_uneven(data: Data, number: int, name: str) -> Drawn:
    figure, axes = panels(1, 2, wide=2.8, high=2.0)
    for axis, metric in zip(axes[0], ("c_regret", "max_deficit"), strict=True):
        _panel(axis, data[name], metric)
    bounds(axes[0, 0], data, name, "c_regret")
    legend(figure, axes, f"θ₁, {place(name)}, {note(data[name])}")
    caption = f"c-regret and largest deficit for {place(name)}: 003 Fig. {number}."
    return Drawn(f"003-figure-{number}", caption, figure)


def _figures(data: Data) -> Iterator[Drawn]:
    yield _figure_growth(data, UCB)
    yield _figure_growth(data, KL)
    yield _figure_both(data, 3, COMPARED, "c_regret", "c-regret beside other policies, c = 0.1: 003 Fig. 3.")
    yield _figure_both(data, 4, COMPARED, "max_deficit", "Largest deficit, c = 0.1: 003 Fig. 4.")
    yield _figure_both(data, 5, MANY, "max_deficit", "Largest deficit where much is owed, J = 2: 003 Fig. 5.")
    yield _figure_7(data)
    yield _figure_uneven(data, 8, UNEVEN["c4"])
    yield _figure_uneven(data, 9, UNEVEN["c5"])


PAPER = Paper(
    "003", "Fairness of exposure in stochastic multiple-play multi-armed bandits", experiments, _figures, CLAIMS
)
