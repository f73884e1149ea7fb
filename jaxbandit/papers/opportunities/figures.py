"""The figures 1 and 2 of the opportunities paper, and one for the lower-bound families of its appendix A.3."""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxbandit.experiments.plots.style import styles
from jaxbandit.experiments.statistics import CONFIDENCE
from jaxbandit.metrics.optimal_allocations import optimal_utility
from jaxbandit.papers.claim import PaperFigure
from jaxbandit.papers.drawing import THEORY, Look, legend, panels, sample_note, shades
from jaxbandit.papers.evidence import mean_over_runs
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.opportunities.experiments import (
    FAMILIES,
    FAMILY_HORIZON,
    FUNCTIONS,
    HORIZONS,
    OWN,
    TRANSFER_COSTS,
    average_utility,
    exponent,
    family_in_words,
    family_name,
    horizons,
    phase_shares,
    run_name,
    worst_regret,
)


def _panel_of_figure_1(axis: Axes, data: Data, cost: str) -> None:
    """Draw average utility against T at one λ, and the utility of the optimum of Lemma 1."""
    times = horizons(data)
    colour = styles(data[run_name("softmax", cost, times[0])])[OWN]["color"]
    for f, look in zip(FUNCTIONS, shades(colour, len(FUNCTIONS)), strict=True):
        points = [mean_over_runs(f, average_utility(data, f, cost, horizon)) for horizon in times]
        y, half = [point.value for point in points], [CONFIDENCE * point.stderr for point in points]
        axis.plot(times, y, label=f, markersize=3.5, **look)
        axis.errorbar(times, y, half, linestyle="", elinewidth=0.8, color=look["color"])
        results = data[run_name(f, cost, times[0])]
        means, shares, costs = (results[name].values[0][:, None] for name in ("means", "opportunities", "penalties"))
        optimum = optimal_utility(means, shares, costs, times)[:, 0] / times
        axis.plot(times, optimum, color=look["color"], linewidth=0.9, linestyle=":", label=f"{f}, optimum")
    axis.set_xscale("log")
    axis.set_xlabel("horizon T")
    axis.set_title(f"λ = {cost}", loc="left")


def _figure_1(data: Data) -> Figure:
    figure, axes = panels(1, 3, height=2.1, sharey=True)
    for axis, cost in zip(axes[0], TRANSFER_COSTS, strict=True):
        _panel_of_figure_1(axis, data, cost)
    axes[0, 0].set_ylabel("average utility (reward per round)")
    legend(figure, axes, sample_note(data[run_name("softmax", "0", horizons(data)[0])], "bars"), 3)
    return figure


def _figure_2(data: Data) -> Figure:
    figure, axes = panels(1, 3, height=2.0, sharey=True)
    times = horizons(data)
    results = data[run_name("softmax", "0", times[0])]
    names = results.phase_name.sel(policy=OWN).values.tolist()
    colour = matplotlib.colors.to_rgb(styles(results)[OWN]["color"])
    for axis, cost in zip(axes[0], TRANSFER_COSTS, strict=True):
        shares = np.array([phase_shares(data, "softmax", cost, horizon).mean(axis=(0, 1)) for horizon in times])
        below = np.zeros(len(times))
        for number, name in enumerate(names):
            lightness = 0.8 * (1 - number / (len(names) - 1))
            shade = tuple(c + (1 - c) * lightness for c in colour)
            look: Look = {"color": shade, "edgecolor": "white", "linewidth": 0.4, "width": 0.85}
            axis.bar(range(len(times)), shares[:, number], bottom=below, label=f"{number + 1}: {name}", **look)
            below = below + shares[:, number]
        axis.set_xticks(range(len(times)), [_in_powers_of_10(horizon) for horizon in times], fontsize=6.5)
        axis.set_xlabel("horizon T")
        axis.set_title(f"λ = {cost}", loc="left")
    axes[0, 0].set_ylabel("share of the rounds")
    axes[0, 0].set_ylim(0, 1)
    legend(figure, axes, f"f softmax, mean over {results.sizes['seed']} runs", 4)
    return figure


def _in_powers_of_10(horizon: int) -> str:
    power = len(str(horizon)) - 1
    factor = horizon // 10**power
    return f"$10^{power}$" if factor == 1 else rf"${factor}{{\cdot}}10^{power}$"


def _lower_bound_figure(data: Data) -> Figure:
    figure, axes = panels(1, 1, width=3.5, height=2.4)
    axis = axes[0, 0]
    results = data[family_name("a", FAMILY_HORIZON)]
    looks = shades(styles(results)[OWN]["color"], len(FAMILIES))[::-1]
    for family, look in zip(FAMILIES, looks, strict=True):
        times, regret, error = worst_regret(data, family)
        slope, spread = exponent(times, regret, error)
        label = f"{family_in_words(family)}: slope {slope:.3f} ± {CONFIDENCE * spread:.3f}"
        axis.errorbar(times, regret, CONFIDENCE * error, label=label, markersize=3.5, elinewidth=0.8, **look)
        axis.plot(times, regret[-1] * (times / times[-1]) ** (2 / 3), label="slope 2/3", **THEORY)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("horizon T")
    axis.set_ylabel("utility regret (reward)")
    instances, seeds = results.sizes["instance"], results.sizes["seed"]
    legend(figure, axes, f"instance with the most regret of {instances}, mean over {seeds} runs", 1)
    return figure


_RUNS = tuple(run_name(f, cost, horizon) for horizon in HORIZONS for f in FUNCTIONS for cost in TRANSFER_COSTS)
_ASSUMED = ("simulation.horizon", "simulation.seeds", "simulation.ties")
FIGURES = (
    PaperFigure(
        "opportunities-figure-1",
        "1",
        "Average utility of Self-regulated against the horizon; each horizon is a simulation of its own: opportunities "
        "paper, Fig. 1.",
        _RUNS,
        _figure_1,
        _ASSUMED,
    ),
    PaperFigure(
        "opportunities-figure-2",
        "2",
        "Share of the rounds that Self-regulated spends in each of its phases: opportunities paper, Fig. 2.",
        tuple(name for name in _RUNS if "softmax" in name),
        _figure_2,
        _ASSUMED,
    ),
    PaperFigure(
        "opportunities-lower-bound",
        "lower-bound",
        "Utility regret of Self-regulated on the instance of the lower-bound family with the most regret, K = 3: "
        "opportunities paper, App. A.3. The paper has no such figure.",
        tuple(family_name(family, horizon) for family in FAMILIES for horizon in HORIZONS),
        _lower_bound_figure,
        _ASSUMED,
    ),
)
