"""The figures 1 and 2 of the opportunities paper, and four of this package for its example, theorems and App. B."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxbandit.experiments.plots.style import styles
from jaxbandit.experiments.statistics import CONFIDENCE
from jaxbandit.metrics.bounds.opportunities import utility_regret_lower_bound
from jaxbandit.metrics.optimal_allocations import optimal_utility
from jaxbandit.papers.claim import PaperFigure
from jaxbandit.papers.drawing import THEORY, Look, legend, panels, sample_note
from jaxbandit.papers.evidence import ERROR, mean_over_runs
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.opportunities.experiments import (
    APPENDIX_B_HORIZONS,
    CONSTANT,
    ETC_HORIZONS,
    FAIR_ETC,
    FAMILIES,
    FAMILY_HORIZONS,
    FUNCTIONS,
    HORIZONS,
    OWN,
    THEOREM_1_FUNCTIONS,
    THEOREM_1_HORIZONS,
    TRANSFER_COSTS,
    UCB1,
    appendix_b_name,
    average_utility,
    etc_name,
    family_in_words,
    family_name,
    final_regrets,
    horizons,
    phase_shares,
    proposition_4_name,
    results_at,
    run_name,
    theorem_1_name,
    worst_regret,
)
from jaxbandit.papers.opportunities.theory import ARMS, printed_rate_of_theorem_1

# By fairness function: colours of Okabe & Ito, which colour-blind readers can tell apart.
LOOKS: dict[str, Look] = {
    "uniform": {"color": "#0072B2", "linestyle": "-", "marker": "o", "markersize": 5},
    "linear": {"color": "#D55E00", "linestyle": (0, (5, 1.5)), "marker": "s", "markersize": 3.5},
    "softmax": {"color": "#009E73", "linestyle": (0, (1.5, 1)), "marker": "^", "markersize": 2.5},
}


def _panel_of_figure_1(axis: Axes, data: Data, cost: str) -> None:
    """Draw average utility against T at one λ, and the utility of the optimum of Lemma 1."""
    times = horizons(data)
    for f, look in LOOKS.items():
        points = [mean_over_runs(f, average_utility(data, f, cost, horizon)) for horizon in times]
        y, half = [point.value for point in points], [point.half_width(ERROR) for point in points]
        axis.plot(times, y, label=f"f {f}", **look)
        axis.errorbar(times, y, half, linestyle="", elinewidth=0.8, color=look["color"])
        results = results_at(data, f, cost, times[0])
        means, shares, costs = (results[name].values[0][:, None] for name in ("means", "opportunities", "penalties"))
        optimum = optimal_utility(means, shares, costs, times)[:, 0] / times
        axis.plot(times, optimum, color=look["color"], linewidth=1.0, linestyle=":", label=f"f {f}, optimum")
    if cost == "0":
        axis.text(0.97, 0.05, "all f coincide", transform=axis.transAxes, ha="right", fontsize=7, color="0.35")
    axis.set_xscale("log")
    axis.set_xlabel("horizon T")
    axis.set_title(f"λ = {cost}", loc="left")


def _figure_1(data: Data) -> Figure:
    figure, axes = panels(1, 3, height=2.1, sharey=True)
    for axis, cost in zip(axes[0], TRANSFER_COSTS, strict=True):
        _panel_of_figure_1(axis, data, cost)
    axes[0, 0].set_ylabel("average utility\n(reward per round)")
    legend(figure, axes, sample_note(results_at(data, "softmax", "0", horizons(data)[0]), "bars"), 3)
    return figure


def _figure_2(data: Data) -> Figure:
    figure, axes = panels(1, 3, height=2.0, sharey=True)
    times = horizons(data)
    results = results_at(data, "softmax", "0", times[0])
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


def _regrets(axis: Axes, data: Data, label: str, names: dict[int, str], policy: str, look: Look) -> None:
    """Draw the regret of a policy against T with its intervals."""
    points = [mean_over_runs(label, final_regrets(data, name, policy)) for name in names.values()]
    y = np.array([point.value for point in points])
    half = [point.half_width(ERROR) for point in points]
    axis.errorbar(list(names), y, half, label=label, elinewidth=0.8, **{"markersize": 3.5, **look})


def _logarithmic(axis: Axes) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("horizon T")
    axis.set_ylabel("utility regret (reward)")


def _simulated(data: Data, name: Callable[[int], str], times: Sequence[int]) -> dict[int, str]:
    """The experiments that the data have, by horizon."""
    return {horizon: name(horizon) for horizon in times if name(horizon) in data}


def _lower_bound_figure(data: Data) -> Figure:
    figure, axes = panels(1, 1, width=3.5, height=2.4)
    axis = axes[0, 0]
    results = data[family_name("a", FAMILY_HORIZONS[0])]
    for family, look in zip(FAMILIES, LOOKS.values(), strict=False):
        times, regret, error = worst_regret(data, family)
        axis.errorbar(times, regret, CONFIDENCE * error, label=family_in_words(family), elinewidth=0.8, **look)
        axis.plot(times, regret[-1] * (times / times[-1]) ** (2 / 3), label="slope 2/3", zorder=3, **THEORY)
        c, scale = FAMILIES[family]
        bound = utility_regret_lower_bound(3, times, scale, c)
        dotted: Look = {"color": look["color"], "linewidth": 0.9, "linestyle": ":"}
        axis.plot(times, bound, label=f"Theorem 3, {family_in_words(family)}", **dotted)
    _logarithmic(axis)
    instances, seeds = results.sizes["instance"], results.sizes["seed"]
    note = f"instance with the most regret of {instances},\nmean over {seeds} runs, bars: 95 % confidence"
    legend(figure, axes, note, 2)
    return figure


def _etc_figure(data: Data) -> Figure:
    figure, axes = panels(1, 1, width=3.8, height=2.4)
    axis = axes[0, 0]
    names = _simulated(data, etc_name, ETC_HORIZONS)
    results = data[etc_name(ETC_HORIZONS[0])]
    looks = styles(results)
    for shift, label in zip((0.94, 0.98, 1.02, 1.06), results.policy.values.tolist(), strict=True):
        points = [mean_over_runs(label, final_regrets(data, name, label) / horizon) for horizon, name in names.items()]
        y, half = [0.75 - point.value for point in points], [point.half_width(ERROR) for point in points]
        look = {key: looks[label][key] for key in ("color", "marker")}
        axis.errorbar(shift * np.array(list(names)), y, half, label=label, markersize=3.5, elinewidth=0.8, **look)
    for value, words in ((0.75, "optimum, 0.75"), (0.7, "T - λ T/2, 0.7")):
        axis.axhline(value, **{**THEORY, "linestyle": ":" if value == 0.75 else THEORY["linestyle"]}, label=words)
    axis.set_xscale("log")
    axis.set_xlabel("horizon T (points shifted)")
    axis.set_ylabel("average expected utility\n(reward per round)")
    legend(figure, axes, sample_note(results, "bars"), 2)
    return figure


def _theorem_1_figure(data: Data) -> Figure:
    figure, axes = panels(1, 1, width=3.5, height=2.4)
    axis = axes[0, 0]
    for f in THEOREM_1_FUNCTIONS:
        names = _simulated(data, partial(theorem_1_name, f), THEOREM_1_HORIZONS)
        _regrets(axis, data, f"f {f}", names, FAIR_ETC, LOOKS[f])
        rates = [printed_rate_of_theorem_1(f, horizon) for horizon in names]
        axis.plot(list(names), rates, color=LOOKS[f]["color"], linewidth=0.9, linestyle=":", label=f"rate, f {f}")
    _logarithmic(axis)
    legend(figure, axes, sample_note(data[theorem_1_name("linear", THEOREM_1_HORIZONS[0])], "bars"), 2)
    return figure


def _appendix_b_figure(data: Data) -> Figure:
    figure, axes = panels(1, 2, width=2.9, height=2.2)
    names = _simulated(data, appendix_b_name, APPENDIX_B_HORIZONS)
    results = data[appendix_b_name(APPENDIX_B_HORIZONS[0])]
    looks = styles(results)
    for label in (OWN, UCB1, CONSTANT):
        look = {key: looks[label][key] for key in ("color", "marker")}
        if label == CONSTANT:  # over the line of the black box, which it nearly equals
            look |= {"linestyle": "--"}
        _regrets(axes[0, 0], data, label, names, label, look)
    times = np.array(list(names))
    axes[0, 0].plot(times, times ** (2 / 3), label="$T^{2/3}$", **THEORY)
    axes[0, 0].set_title("example of App. B", loc="left")
    names = _simulated(data, proposition_4_name, APPENDIX_B_HORIZONS)
    look = {key: looks[CONSTANT][key] for key in ("color", "marker")}
    _regrets(axes[0, 1], data, CONSTANT, names, CONSTANT, look)
    rate = np.sqrt(ARMS * times * np.log(times))
    axes[0, 1].plot(times, rate, label=r"$\sqrt{K T\,\log T}$", **{**THEORY, "linestyle": ":"})
    axes[0, 1].set_title("arms of sec. 5, f = 0.1, λ = 0.4", loc="left")
    for axis in axes[0]:
        _logarithmic(axis)
    legend(figure, axes, sample_note(results, "bars"), 3)
    return figure


_RUNS = tuple(run_name(f, horizon) for horizon in HORIZONS for f in FUNCTIONS)
_ASSUMED = ("simulation.horizon", "simulation.ties")  # the paper states 200 runs
_ASSUMED_TOO = (*_ASSUMED, "simulation.seeds")  # where the paper has no experiment
_ACCURACY = "α and β are those of Theorem 2, and c = 1 in f softmax (both assumed)."
_NOT_IN_PAPER = "The paper has no such figure."
FIGURES = (
    PaperFigure(
        "opportunities-figure-1",
        "1",
        "Average utility of Self-regulated against the horizon; each horizon is a simulation of its own: opportunities "
        f"paper, Fig. 1. {_ACCURACY} Dotted: the optimum of Lemma 1 (not in the paper's figure).",
        _RUNS,
        _figure_1,
        _ASSUMED,
    ),
    PaperFigure(
        "opportunities-figure-2",
        "2",
        "Share of the rounds that Self-regulated spends in each of its phases, f softmax: opportunities paper, Fig. 2. "
        + _ACCURACY,
        tuple(name for name in _RUNS if "softmax" in name),
        _figure_2,
        _ASSUMED,
    ),
    PaperFigure(
        "opportunities-example-of-etc",
        "etc",
        "Average expected utility in the example of explore-then-commit, with (T/2)^(2/3) log(T)^(1/3) exploration "
        f"rounds per arm, and of other policies (assumed): opportunities paper, sec. 3. {_NOT_IN_PAPER}",
        tuple(etc_name(horizon) for horizon in ETC_HORIZONS),
        _etc_figure,
        _ASSUMED_TOO,
    ),
    PaperFigure(
        "opportunities-theorem-1",
        "theorem-1",
        "Utility regret of fairness-aware-etc with N of Theorem 1, at most T/K, and the rate of the theorem with "
        f"constant 1: opportunities paper, Theorem 1. {_NOT_IN_PAPER}",
        tuple(theorem_1_name(f, horizon) for f in THEOREM_1_FUNCTIONS for horizon in THEOREM_1_HORIZONS),
        _theorem_1_figure,
        (*_ASSUMED_TOO, "problem.means", "problem.penalties", "problem.opportunity"),
    ),
    PaperFigure(
        "opportunities-lower-bound",
        "lower-bound",
        "Utility regret of Self-regulated on the instance of the lower-bound family with the most regret, K = 3; one "
        "instance for each number of arms with mean 1/2, since the others differ in the order of the arms alone. "
        f"Dotted: the bound with the constants of App. A.3: opportunities paper, App. A.3. {_NOT_IN_PAPER}",
        tuple(family_name(family, horizon) for family in FAMILIES for horizon in FAMILY_HORIZONS),
        _lower_bound_figure,
        _ASSUMED_TOO,
    ),
    PaperFigure(
        "opportunities-appendix-b",
        "appendix-b",
        "Left: utility regret in the example of App. B, K = 2. Right: utility regret of constant-opportunity with a "
        f"constant f: opportunities paper, App. B, Proposition 4. {_NOT_IN_PAPER}",
        tuple(name(horizon) for horizon in APPENDIX_B_HORIZONS for name in (appendix_b_name, proposition_4_name)),
        _appendix_b_figure,
        _ASSUMED_TOO,
    ),
)
