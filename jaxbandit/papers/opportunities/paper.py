"""Paper 004: opportunities and the cost of withholding them, Self-regulated. Figures 1 and 2, App. A.3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib
import numpy as np

from jaxbandit.experiments.plots.style import styles
from jaxbandit.experiments.statistics import CONFIDENCE
from jaxbandit.metrics.optimal_allocations import optimal_utility
from jaxbandit.papers.drawing import THEORY, legend, note, panels, shades
from jaxbandit.papers.evidence import over_runs
from jaxbandit.papers.experiment import Data, Drawn, Paper
from jaxbandit.papers.opportunities.claims import CLAIMS
from jaxbandit.papers.opportunities.experiments import (
    FAMILIES,
    FUNCTIONS,
    OWN,
    PRICES,
    SHORT,
    average_utility,
    edge_name,
    experiments,
    exponent,
    horizons,
    phase_shares,
    run_name,
    setting,
    worst_regret,
)


def _panel_average(axis: Any, data: Data, penalty_rate: str) -> None:
    """Average utility against T at one λ, and what the optimum of Lemma 1 earns."""
    times = horizons(data)
    colour = styles(data[run_name("softmax", penalty_rate, times[0])])[OWN]["color"]
    for f, look in zip(FUNCTIONS, shades(colour, len(FUNCTIONS)), strict=True):
        points = [over_runs(f, average_utility(data, f, penalty_rate, horizon)) for horizon in times]
        y, half = [p.value for p in points], [CONFIDENCE * p.error for p in points]
        axis.plot(times, y, label=f, markersize=3.5, **look)
        axis.errorbar(times, y, half, linestyle="", elinewidth=0.8, color=look["color"])
        one = data[run_name(f, penalty_rate, times[0])]
        mu, shares, penalty_rates = (
            values.values[0][:, None] for values in (one.means, one.opportunities, one.penalties)
        )
        best = optimal_utility(mu, shares, penalty_rates, times)[:, 0] / times
        axis.plot(times, best, color=look["color"], linewidth=0.9, linestyle=":", label=f"{f}, optimum")
    axis.set_xscale("log")
    axis.set_xlabel("horizon T")
    axis.set_title(f"λ = {penalty_rate}", loc="left")


def _figure_1(data: Data) -> Drawn:
    figure, axes = panels(1, 3, high=2.1, sharey=True)
    for axis, penalty_rate in zip(axes[0], PRICES, strict=True):
        _panel_average(axis, data, penalty_rate)
    axes[0, 0].set_ylabel("average utility (reward a round)")
    legend(figure, axes, note(data[run_name("softmax", "0", horizons(data)[0])], "bars"), 3)
    caption = "Average utility of Self-regulated against the horizon, each a simulation of its own: 004 Fig. 1."
    return Drawn("004-figure-1", caption, figure)


def _figure_2(data: Data) -> Drawn:
    figure, axes = panels(1, 3, high=2.0, sharey=True)
    times = horizons(data)
    one = data[run_name("softmax", "0", times[0])]
    names = one.phase_name.sel(policy=OWN).values.tolist()
    colour = matplotlib.colors.to_rgb(styles(one)[OWN]["color"])
    for axis, penalty_rate in zip(axes[0], PRICES, strict=True):
        shares = np.array([phase_shares(data, "softmax", penalty_rate, horizon).mean(axis=(0, 1)) for horizon in times])
        below = np.zeros(len(times))
        for number, name in enumerate(names):
            part = 0.8 * (1 - number / (len(names) - 1))
            tint = tuple(c + (1 - c) * part for c in colour)
            look: Any = {"color": tint, "edgecolor": "white", "linewidth": 0.4, "width": 0.85}
            axis.bar(range(len(times)), shares[:, number], bottom=below, label=f"{number + 1}: {name}", **look)
            below = below + shares[:, number]
        axis.set_xticks(range(len(times)), [_power(horizon) for horizon in times], fontsize=6.5)
        axis.set_xlabel("horizon T")
        axis.set_title(f"λ = {penalty_rate}", loc="left")
    axes[0, 0].set_ylabel("share of the rounds")
    axes[0, 0].set_ylim(0, 1)
    legend(figure, axes, f"f softmax, mean over {one.sizes['seed']} runs", 4)
    return Drawn("004-figure-2", "Rounds that Self-regulated spends in each of its phases: 004 Fig. 2.", figure)


def _power(horizon: int) -> str:
    digits = len(str(horizon)) - 1
    lead = horizon // 10**digits
    return f"$10^{digits}$" if lead == 1 else rf"${lead}{{\cdot}}10^{digits}$"


def _figure_3(data: Data) -> Drawn:
    figure, axes = panels(1, 1, wide=3.5, high=2.4)
    axis = axes[0, 0]
    one = data[edge_name("a", SHORT)]
    looks = shades(styles(one)[OWN]["color"], len(FAMILIES))[::-1]
    for family, look in zip(FAMILIES, looks, strict=True):
        times, regret, error = worst_regret(data, family)
        slope, spread = exponent(times, regret, error)
        label = f"{setting(family)}: slope {slope:.3f} ± {CONFIDENCE * spread:.3f}"
        axis.errorbar(times, regret, CONFIDENCE * error, label=label, markersize=3.5, elinewidth=0.8, **look)
        axis.plot(times, regret[-1] * (times / times[-1]) ** (2 / 3), label="slope 2/3", **THEORY)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("horizon T")
    axis.set_ylabel("utility regret (reward)")
    legend(figure, axes, f"worst of {one.sizes['instance']} instances, mean over {one.sizes['seed']} runs", 1)
    caption = "Utility regret of Self-regulated on the worst instance of the lower-bound family, K = 3: 004 App. A.3."
    return Drawn("004-figure-3", caption, figure)


def _figures(data: Data) -> Iterator[Drawn]:
    yield _figure_1(data)
    yield _figure_2(data)
    yield _figure_3(data)


PAPER = Paper("004", "Corporate social responsibility via multi-armed bandits", experiments, _figures, CLAIMS)
