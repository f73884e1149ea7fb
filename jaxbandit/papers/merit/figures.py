"""The figures 1 to 9 of the merit paper."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxbandit.experiments.plots.style import styles
from jaxbandit.experiments.statistics import CONFIDENCE
from jaxbandit.metrics.bounds.table import bounds_for
from jaxbandit.metrics.definitions import METRICS
from jaxbandit.papers.claim import PaperFigure
from jaxbandit.papers.drawing import Look, curves, legend, panels, sample_note, theory
from jaxbandit.papers.evidence import final_values, mean_over_runs, metric_name
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.merit.experiments import (
    BOXED,
    DELAYS,
    EXPONENTS,
    FAIR,
    FIVE,
    FIXED,
    LOG,
    OPTIMISTIC,
    REGRETS,
    REPEATS,
    SEVEN,
    experiment_name,
    fixed_name,
    simulated_exponents,
    timing_name,
    timings,
)

_FIRST_ROUND = 10  # on logarithmic axes
_LEAST_REGRET = 0.5  # on logarithmic axes
_PAGE_WIDTH = 6.9  # inches
_HIDING = "MP-TS-D"  # its fairness regret lies on that of CUCB-D: it is drawn last and dashed


def _theory(axis: Axes, data: Data, experiment: str, metric: str) -> None:
    """Theorem 7, or 9 with reward-dependent delays. They hold up to a constant, so the line ends below the curve."""
    results, problem = data[experiment], data.problem(experiment)
    rounds = results["round"].values[results["round"].values >= _FIRST_ROUND]
    for label in ("FCTS-D", "OP-FCTS-D"):
        for bound in bounds_for(problem, label.lower(), metric):
            value = bound.value(problem, int(rounds[-1]), rounds)[:, 0]
            value = np.minimum.accumulate(value[::-1])[::-1]  # these regrets never fall: bounds on later ones hold too
            end = float(final_values(results, metric, label).mean()) / 2
            theory(axis, rounds, end * value / value[-1], f"growth by {bound.theorem} ({label})")
            if label.startswith("OP"):  # another dash than that of the plain policies
                axis.lines[-1].set_linestyle((0, (1, 1.2)))
            return


def _growth(
    axis: Axes, data: Data, experiment: str, metric: str, labels: Sequence[str], same_axis: Sequence[str] = ()
) -> None:
    """Draw a regret against the round, both axes logarithmic: a slope is an exponent.

    Args:
        same_axis: the experiments in all panels that share the axis of the regret; default: this one alone.
    """
    results = data[experiment]
    curves(axis, results, metric, [label for label in labels if label != _HIDING])
    if _HIDING in labels:
        curves(axis, results, metric, [_HIDING], linestyle=(0, (3, 2)))
    axis.set_ylabel(_label_in_two_lines(metric))
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.minorticks_off()
    axis.set_xlim(_FIRST_ROUND, float(results["round"][-1]))
    every = [data[other][metric] for other in same_axis or [experiment]]
    shown = [one.sel(policy=list(labels)).where(one["round"] >= _FIRST_ROUND) for one in every]
    least, most = min(float(one.min()) for one in shown), max(float(one.max()) for one in shown)
    axis.set_ylim(max(least / 1.5, _LEAST_REGRET), most * 1.5)
    _theory(axis, data, experiment, metric)


def _bars(axis: Axes, results: xr.Dataset, optimal: np.ndarray) -> None:
    """Draw the fraction of the rounds in which each arm is selected, one bar per policy, and the optimal fraction."""
    looks = styles(results)
    arms = np.arange(results.sizes["arm"])
    width = 0.84 / (len(FIVE) + 1)
    axis.bar(arms - 2.5 * width, optimal, width, color="white", edgecolor="0.2", linewidth=0.8, label="optimal")
    for number, label in enumerate(FIVE):
        fractions = results.pulls.sel(policy=label).values[0] / float(results["round"][-1])
        half = CONFIDENCE * fractions.std(0, ddof=1) / np.sqrt(len(fractions))
        look: Look = {"color": looks[label]["color"], "label": label, "error_kw": {"elinewidth": 0.6}}
        axis.bar(arms + (number - 1.5) * width, fractions.mean(0), width, yerr=half, **look)
    axis.set_xticks(arms, [f"{k}\n{mu:g}" for k, mu in enumerate(results.means.values[0].round(3))])
    axis.set_xlabel("arm, and its mean reward")
    axis.set_ylabel("selections per round")


def _figure_1(data: Data) -> Figure:
    experiment = experiment_name("geometric")
    results = data[experiment]
    figure, axes = plt.subplot_mosaic("aa;bc", figsize=(_PAGE_WIDTH, 3.9), layout="constrained")
    _bars(axes["a"], results, data.problem(experiment).fair_chances()[:, 0])
    axes["a"].set_title("(a) selection fractions", loc="left")
    for letter, metric in zip("bc", REGRETS, strict=True):
        _growth(axes[letter], data, experiment, metric, FIVE)
        axes[letter].set_title(f"({letter}) {metric_name(metric)}", loc="left")
    legend(figure, list(axes.values()), f"T = {int(results['round'][-1]):,}, {sample_note(results, 'bars and bands')}")
    return figure


def _label_in_two_lines(metric: str) -> str:
    """The label of a metric with its unit below, for low panels."""
    return METRICS[metric].label.replace(" (", "\n(")


def _over_fixed_delays(axis: Axes, data: Data, metric: str) -> None:
    """Draw a regret at T against the fixed delay."""
    looks = styles(data[fixed_name(0)])
    for label in FAIR:
        ends = [mean_over_runs("", final_values(data[fixed_name(rounds)], metric, label)) for rounds in FIXED]
        values, errors = [end.value for end in ends], [end.stderr for end in ends]
        look: Look = {key: looks[label][key] for key in ("color", "marker")}
        axis.errorbar(FIXED, values, CONFIDENCE * np.array(errors), markersize=3.5, elinewidth=0.8, **look)
    axis.set_ylim(0, None)
    axis.set_xticks(FIXED)
    axis.set_xlabel("delay d (rounds)")


def _figure_2(data: Data) -> Figure:
    columns = ("pareto", "packet-loss", "reward-dependent")
    figure, axes = panels(2, 4, width=_PAGE_WIDTH / 4)
    for row, metric in zip(axes, REGRETS, strict=True):
        _over_fixed_delays(row[0], data, metric)
        row[0].set_ylabel(_label_in_two_lines(metric))
        for axis, delay in zip(row[1:], columns, strict=True):
            labels = (*FAIR, *OPTIMISTIC) if delay == columns[-1] else SEVEN
            _growth(axis, data, experiment_name(delay), metric, labels)
            axis.set_ylabel("")
    for axis, letter, delay in zip(axes[0], "abcd", ("fixed", *columns), strict=True):
        axis.set_title(f"({letter}) {DELAYS[delay]}", loc="left")
    horizons = [int(data[name]["round"][-1]) for name in (fixed_name(0), experiment_name("pareto"))]
    note = sample_note(data[experiment_name("pareto")], "bars and bands")
    legend(figure, axes, f"(a): at T = {horizons[0]:,}, (b) to (d): up to T = {horizons[1]:,}; {note}", columns=4)
    return figure


def _figure_3(data: Data) -> Figure:
    figure, axes = panels(1, 2, width=_PAGE_WIDTH / 2, height=2.3)
    for axis, metric, letter in zip(axes[0], REGRETS, "ab", strict=True):
        _growth(axis, data, LOG, metric, SEVEN)
        axis.set_title(f"({letter}) {metric_name(metric)}", loc="left")
    legend(figure, axes, sample_note(data[LOG]))
    return figure


def _figure_4_to_8(data: Data, delay: str) -> Figure:
    """One delay, one column per exponent of the merit function."""
    exponents = simulated_exponents(data, delay)
    labels = SEVEN if delay == "reward-dependent" else FIVE
    figure, axes = panels(2, len(exponents), width=_PAGE_WIDTH / max(len(exponents), 2), sharey="row")
    experiments = [experiment_name(delay, c) for c in exponents]
    for column, c, experiment in zip(axes.T, exponents, experiments, strict=True):
        for axis, metric in zip(column, REGRETS, strict=True):
            _growth(axis, data, experiment, metric, labels, experiments)
            axis.set_ylabel(_label_in_two_lines(metric) if c == exponents[0] else "")
        column[0].set_title(f"c = {c}", loc="left")
    legend(figure, axes, sample_note(data[experiment_name(delay)]))
    return figure


def _figure_9(data: Data) -> Figure:
    figure, axes = panels(1, 1, width=3.5, height=2.1)
    axis = axes[0, 0]
    pairs = zip(BOXED, (FAIR[1], OPTIMISTIC[1]), strict=True)
    timed = [one for boxed, fast in pairs for one in ((boxed, True), (fast, False), (boxed, False))]
    for number, (label, searched) in enumerate(timed):
        closed = label in BOXED and not searched
        runs = timings(data, label, searched)
        times = mean_over_runs("", np.array([[1e9 / one.attrs["rounds_per_second"] for one in runs]]))
        look: Look = {"color": styles(runs[0])[label]["color"], "edgecolor": "white", "error_kw": {"elinewidth": 0.8}}
        axis.barh(number, times.value, 0.7, xerr=CONFIDENCE * times.stderr, hatch="//" if closed else "", **look)
    names = [f"{label}, closed form" if label in BOXED and not searched else label for label, searched in timed]
    axis.set_yticks(range(len(timed)), names)
    axis.invert_yaxis()
    axis.set_xlabel("time of one round of one run (ns)")
    axis.set_title(f"{runs[0].sizes['seed']} runs, mean over {len(runs)} timings", loc="right", fontsize=7)
    return figure


_DRAWN_DELAYS = ("simulation.ties", "problem.delay", "policies.*.eps")


def _steeper(number: int, delay: str) -> PaperFigure:
    return PaperFigure(
        f"merit-figure-{number}",
        f"{number}",
        f"Regrets with the merit function 1 + 2μ^c, {DELAYS[delay]}: merit paper, Fig. {number}.",
        tuple(experiment_name(delay, c) for c in EXPONENTS),
        lambda data: _figure_4_to_8(data, delay),
        _DRAWN_DELAYS if delay in ("pareto", "packet-loss") else ("simulation.ties", "policies.*.eps"),
    )


FIGURES = (
    PaperFigure(
        "merit-figure-1",
        "1",
        "Five policies under geometric delays, p = 0.05: merit paper, Fig. 1.",
        (experiment_name("geometric"),),
        _figure_1,
        ("simulation.ties", "policies.*.eps"),
    ),
    PaperFigure(
        "merit-figure-2",
        "2",
        "Regrets under different delays: merit paper, Fig. 2.",
        (*map(fixed_name, FIXED), *map(experiment_name, ("pareto", "packet-loss", "reward-dependent"))),
        _figure_2,
        _DRAWN_DELAYS,
    ),
    PaperFigure(
        "merit-figure-3",
        "3",
        "Ten products of a conversion log: merit paper, Fig. 3.",
        (LOG,),
        _figure_3,
        ("simulation.ties", "policies.*.eps"),
        needs=(LOG,),
    ),
    *(_steeper(number, delay) for number, delay in enumerate(DELAYS, start=4)),
    PaperFigure(
        "merit-figure-9",
        "9",
        "Running times with 95 % confidence intervals. FCUCB-D and OP-FCUCB-D search for the optimum over the box of "
        "means; closed form: for these merit functions the optimum is at a corner: merit paper, Fig. 9.",
        tuple(
            timing_name(label, repeat, searched)
            for searched, labels in ((False, (*FAIR, *OPTIMISTIC)), (True, BOXED))
            for label in labels
            for repeat in range(REPEATS)
        ),
        _figure_9,
    ),
)
