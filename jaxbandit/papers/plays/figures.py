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
    DRAWN,
    KL,
    LARGE,
    ORDERS,
    OWN,
    RIVALS,
    THETAS,
    UCB,
    UNEVEN,
    growth_name,
    place,
    reordered,
)

_UNDER: Look = {"linewidth": 2.4}  # the deficits of Fair-MMAB with both indices: one line over the other
_OVER: Look = {"linestyle": (0, (2, 1.2)), "linewidth": 1.1}


def _panel(axis: Axes, results: xr.Dataset, metric: str, labels: Sequence[str] = (), **look: Any) -> None:
    """Draw curves over rounds in plain numbers; beside deficits the level below which every arm has its guarantee."""
    if metric == "max_deficit":
        axis.axhline(1, label="y = 1", zorder=3, **THEORY)
        for label, own in ((UCB, _UNDER), (KL, _OVER)):
            curves(axis, results, metric, [label], **own)
        labels = RIVALS
    curves(axis, results, metric, labels, **look)
    axis.ticklabel_format(axis="x", style="plain")


def _whole_quotas(results: xr.Dataset) -> xr.Dataset:
    """The results in those recorded rounds in which every c_i t is a whole number."""
    rounds = results["round"].values
    return results.sel(round=rounds[rounds % 100 == 0])


def _beginning(results: xr.Dataset) -> xr.Dataset:
    return results.sel(round=slice(None, DRAWN))


def _logarithmic(axes: Sequence[Axes], results: xr.Dataset) -> None:
    """Logarithmic axes over all rounds."""
    for axis in axes:
        axis.set_xscale("log")
        axis.set_xlim(*(float(results["round"][end]) for end in (0, -1)))


def _figure_1_or_2(data: Data, base: str) -> Figure:
    """Above the first rounds, below all rounds on a logarithmic axis."""
    figure, axes = panels(2, 2, width=2.8)
    results = data[growth_name(base)]
    looks = shades(styles(results)[base]["color"], len(CS))
    for number, (theta, c) in enumerate(CASES):
        above, below = axes[:, list(THETAS).index(theta)]
        one, own = results.isel(instance=[number]), looks[CS.index(c)]
        look: Look = {"label": f"c = {c}", "color": own["color"], "linestyle": own["linestyle"]}
        _panel(above, _beginning(one), "c_regret", **look)
        _panel(below, one, "c_regret", **look)
        above.set_title(THETAS[theta], loc="left")
    _logarithmic(axes[1], results)
    for axis in axes.flat:
        axis.set_ylim(bottom=0)
    for axis in axes[:, 1]:
        axis.set_ylabel("")
    legend(figure, axes, f"{base}, {sample_note(results.isel(instance=[0]))}")
    return figure


def _figure_3_to_5(data: Data, names: dict[str, str], metric: str) -> Figure:
    """One column for θ₁ and one for θ₂; above the first rounds, below all rounds on a logarithmic axis."""
    figure, axes = panels(2, 2, width=2.8)
    for (above, below), (theta, name) in zip(axes.T, names.items(), strict=True):
        results = _whole_quotas(data[name])
        _panel(above, _beginning(results), metric)
        _panel(below, results, metric)
        if metric == "c_regret":
            bounds(above, data, name, metric)
        above.set_title(THETAS[theta], loc="left")
        _logarithmic([below], results)
    for axis in axes[:, 1]:
        axis.set_ylabel("")
    legend(figure, axes, sample_note(data[names["theta1"]]))
    return figure


def _figure_7(data: Data) -> Figure:
    figure, axes = panels(1, 2, width=2.8, height=2.0)
    for axis, base in zip(axes[0], OWN, strict=True):
        looks = shades(styles(data[UNEVEN["c4"]])[base]["color"], 2)[::-1]
        for name, look in zip(UNEVEN.values(), looks, strict=True):
            own: Look = {"label": _SUBSCRIPTS[place(name)], "color": look["color"], "linestyle": look["linestyle"]}
            _panel(axis, _beginning(_whole_quotas(data[name])), "c_regret", [base], **own)
        axis.set_title(f"{base} (Algorithm 1)", loc="left")
        axis.set_ylim(bottom=0)
    axes[0, 1].set_ylabel("")
    legend(figure, axes, f"θ₁, {sample_note(data[UNEVEN['c4']])}", 4)
    return figure


def _figure_8_or_9(data: Data, name: str) -> Figure:
    """c-regret and largest deficit; above the first rounds, below all rounds on a logarithmic axis."""
    figure, axes = panels(2, 2, width=2.8)
    results = _whole_quotas(data[name])
    for (above, below), metric in zip(axes.T, ("c_regret", "max_deficit"), strict=True):
        _panel(above, _beginning(results), metric)
        _panel(below, results, metric)
        _logarithmic([below], results)
    note = f"θ₁, {_SUBSCRIPTS[place(name)]}, Fair-MMAB: Algorithm 1, {sample_note(results)}"
    legend(figure, axes, note)
    return figure


def _figure_orders(data: Data) -> Figure:
    """c-regret of the other policies under both ways to break ties."""
    figure, axes = panels(2, 2, width=2.8)
    titles = {**THETAS, **{c: f"θ₁, {words}" for c, words in _SUBSCRIPTS.items()}}
    for axis, (setting, name) in zip(axes.flat, {**COMPARED, **UNEVEN}.items(), strict=True):
        for rival in RIVALS:
            look: Look = {"label": f"{rival}, random ties", "linestyle": "-"}
            _panel(axis, _beginning(_whole_quotas(data[name])), "c_regret", [rival], **look)
            look = {"label": f"{rival}, random orders", "linestyle": (0, (3, 1.5))}
            _panel(axis, _beginning(_whole_quotas(data[reordered(name)])), "c_regret", [rival], **look)
        axis.set_title(titles[setting], loc="left")
    for axis in axes[:, 1]:
        axis.set_ylabel("")
    notes = [
        sample_note(data[one]).partition(", bands")[0] for one in (COMPARED["theta1"], reordered(COMPARED["theta1"]))
    ]
    legend(figure, axes, f"{notes[0]}; random orders: {notes[1]}; bands: 95 % confidence", 3)
    return figure


_SUBSCRIPTS = {"c4": "c₄", "c5": "c₅"}
_EVEN, _LARGE, _UNEVEN = (tuple(names.values()) for names in (COMPARED, LARGE, UNEVEN))
_SETTING = ("simulation.horizon", "simulation.seeds", "simulation.ties")
_RIVALS = (
    *_SETTING,
    "policies.LFG.eta",
    "policies.LFG.exploration",
    "policies.UCB-PLLP.alpha",
    "policies.UCB-PLLP.eps",
)
_ROWS = f"Above the first {DRAWN:,} rounds, below all rounds on a logarithmic axis"
_WHOLE = "Drawn in rounds in which all c_i t are whole, so the sawtooth between them does not show"
_NAMES = "UCB-PLLP is the paper's UCB-PLL"
_THETA1 = f"{_NAMES}. The paper states η, α and ε for θ₁; for θ₂ they are assumed"
_NO_FIGURE = f"{_NAMES}. The paper states η, α and ε for θ₁ without a figure"


def _growth(base: str) -> PaperFigure:
    number = OWN.index(base) + 1
    caption = f"c-regret (R_c) of {base}: plays paper, Fig. {number}. {_ROWS}."
    name = growth_name(base)
    return PaperFigure(name, f"{number}", caption, (name,), lambda data: _figure_1_or_2(data, base), _SETTING)


FIGURES = (
    _growth(UCB),
    _growth(KL),
    PaperFigure(
        "plays-figure-3",
        "3",
        f"c-regret of five policies: plays paper, Fig. 3. {_ROWS}. {_WHOLE}. {_THETA1}.",
        _EVEN,
        lambda data: _figure_3_to_5(data, COMPARED, "c_regret"),
        _RIVALS,
    ),
    PaperFigure(
        "plays-figure-4",
        "4",
        f"Largest deficit: plays paper, Fig. 4; there one run, here the mean. {_ROWS}. {_WHOLE}. {_THETA1}. The two "
        "lines of Fair-MMAB lie on each other.",
        _EVEN,
        lambda data: _figure_3_to_5(data, COMPARED, "max_deficit"),
        _RIVALS,
    ),
    PaperFigure(
        "plays-figure-5",
        "5",
        "Largest deficit under large fractions, Fair-MMAB(K)-MF with L = 2: plays paper, Fig. 5; there one run, here "
        f"the mean. {_ROWS}. {_WHOLE}. {_NO_FIGURE}; for θ₂ they are assumed.",
        _LARGE,
        lambda data: _figure_3_to_5(data, LARGE, "max_deficit"),
        _RIVALS,
    ),
    PaperFigure(
        "plays-figure-7",
        "7",
        "c-regret where arms have different fractions, c₄ (the first list) and c₅, under Algorithm 1 (J = 1): plays "
        f"paper, Fig. 7. {_WHOLE}.",
        _UNEVEN,
        _figure_7,
        _RIVALS,
    ),
    PaperFigure(
        "plays-figure-8",
        "8",
        f"c-regret and largest deficit for c₄, Fair-MMAB by Algorithm 1 (J = 1): plays paper, Fig. 8. {_ROWS}. "
        f"{_WHOLE}. {_NO_FIGURE}.",
        _UNEVEN[:1],
        lambda data: _figure_8_or_9(data, UNEVEN["c4"]),
        _RIVALS,
    ),
    PaperFigure(
        "plays-figure-9",
        "9",
        f"c-regret and largest deficit for c₅, Fair-MMAB by Algorithm 1 (J = 1): plays paper, Fig. 9. {_ROWS}. "
        f"{_WHOLE}. {_NO_FIGURE}.",
        _UNEVEN[1:],
        lambda data: _figure_8_or_9(data, UNEVEN["c5"]),
        _RIVALS,
    ),
    PaperFigure(
        "plays-figure-orders",
        "orders",
        "Not in the plays paper: c-regret of the other policies with random ties and the arms as the paper lists them, "
        f"best first (solid), and with ties to the lowest arm over {ORDERS} random orders of the arms (dashed).",
        tuple(one for name in (*_EVEN, *_UNEVEN) for one in (name, reordered(name))),
        _figure_orders,
        _RIVALS,
    ),
)
