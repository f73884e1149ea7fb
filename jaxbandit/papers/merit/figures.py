"""Paper 002: figures 1 to 9."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from jaxbandit.experiments.plots.style import styles
from jaxbandit.experiments.statistics import CONFIDENCE
from jaxbandit.metrics.bounds.table import bounds_for
from jaxbandit.metrics.definitions import METRICS
from jaxbandit.papers.drawing import curves, legend, note, panels, theory
from jaxbandit.papers.evidence import final, over_runs
from jaxbandit.papers.experiment import Data, Drawn
from jaxbandit.papers.merit.experiments import (
    BOXED,
    DELAYS,
    FAIR,
    FIVE,
    FIXED,
    LOG,
    OPTIMISTIC,
    REGRETS,
    REPEATS,
    SEVEN,
    exponents,
    fixed,
    name,
    timing,
)

_FROM = 10  # the round that curves on logarithmic axes begin at
_LEAST = 0.5  # the least regret that is of interest
_WIDTH = 6.9  # inches: a page's
_HIDING = "MP-TS-D"  # its fairness regret lies on CUCB-D's: drawn last, dashed


def _theory(axis: Any, data: Data, experiment: str, metric: str) -> None:
    """Theorem 7, or 9 where delays depend on rewards: known up to a constant, so drawn below the curve's end."""
    results, problem = data[experiment], data.problem(experiment)
    rounds = results["round"].values[results["round"].values >= _FROM]
    for label in ("FCTS-D", "OP-FCTS-D"):
        for bound in bounds_for(problem, label.lower(), metric):
            value = bound.value(problem, int(rounds[-1]), rounds)[:, 0]
            value = np.minimum.accumulate(value[::-1])[
                ::-1
            ]  # these regrets never fall: what bounds later ones does these
            end = float(final(results, metric, label).mean()) / 2
            theory(axis, rounds, end * value / value[-1], f"growth by {bound.source[4:]} ({label})")
            return


def _grown(
    axis: Any, data: Data, experiment: str, metric: str, labels: Sequence[str], beside: Sequence[str] = ()
) -> None:
    """A regret against the round, both logarithmic: a slope is an exponent.

    Args:
        beside: the experiments in all panels that share the axis of the regret; this one alone by default.
    """
    results = data[experiment]
    curves(axis, results, metric, [label for label in labels if label != _HIDING])
    if _HIDING in labels:
        curves(axis, results, metric, [_HIDING], linestyle=(0, (3, 2)))
    axis.set_ylabel(_titled(metric))
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.minorticks_off()
    axis.set_xlim(_FROM, float(results["round"][-1]))
    every = [data[other][metric] for other in beside or [experiment]]
    shown = [one.sel(policy=list(labels)).where(one["round"] >= _FROM) for one in every]
    least, most = min(float(one.min()) for one in shown), max(float(one.max()) for one in shown)
    axis.set_ylim(max(least / 1.5, _LEAST), most * 1.5)
    _theory(axis, data, experiment, metric)


def _bars(axis: Any, results: xr.Dataset, optimal: np.ndarray) -> None:
    """The fraction of the rounds that each arm is selected in, a bar a policy, and the optimal one."""
    looks = styles(results)
    arms = np.arange(results.sizes["arm"])
    width = 0.84 / (len(FIVE) + 1)
    axis.bar(arms - 2.5 * width, optimal, width, color="white", edgecolor="0.2", linewidth=0.8, label="optimal")
    for place, label in enumerate(FIVE):
        shares = results.pulls.sel(policy=label).values[0] / float(results["round"][-1])
        half = CONFIDENCE * shares.std(0, ddof=1) / np.sqrt(len(shares))
        bars = {"color": looks[label]["color"], "label": label, "error_kw": {"elinewidth": 0.6}}
        axis.bar(arms + (place - 1.5) * width, shares.mean(0), width, yerr=half, **bars)
    axis.set_xticks(arms, [f"{k}\n{mu:g}" for k, mu in enumerate(results.means.values[0].round(3))])
    axis.set_xlabel("arm, and its mean reward")
    axis.set_ylabel("selections a round")


def _figure_1(data: Data) -> Drawn:
    experiment = name("geometric")
    results = data[experiment]
    figure, axes = plt.subplot_mosaic("aa;bc", figsize=(_WIDTH, 3.9), layout="constrained")
    _bars(axes["a"], results, data.problem(experiment).fair_chances()[:, 0])
    axes["a"].set_title("(a) selection fractions", loc="left")
    for place, metric in zip("bc", REGRETS, strict=True):
        _grown(axes[place], data, experiment, metric, FIVE)
        axes[place].set_title(f"({place}) {_named(metric)}", loc="left")
    legend(figure, list(axes.values()), f"T = {int(results['round'][-1]):,}, {note(results, 'bars and bands')}")
    return Drawn("002-figure-1", "Five algorithms under geometric delays, p = 0.05: 002 Fig. 1.", figure)


def _named(metric: str) -> str:
    return METRICS[metric].label.partition(" (")[0]


def _titled(metric: str) -> str:
    """A metric with its unit below, for axes that are not high."""
    return METRICS[metric].label.replace(" (", "\n(")


def _over_delays(axis: Any, data: Data, metric: str) -> None:
    """A regret at T against the fixed delay."""
    looks = styles(data[fixed(0)])
    for label in FAIR:
        ends = [over_runs("", final(data[fixed(rounds)], metric, label)) for rounds in FIXED]
        values, errors = ([getattr(end, part) for end in ends] for part in ("value", "error"))
        look = {k: looks[label][k] for k in ("color", "marker")}
        axis.errorbar(FIXED, values, CONFIDENCE * np.array(errors), markersize=3.5, elinewidth=0.8, **look)
    axis.set_ylim(0, None)
    axis.set_xticks(FIXED)
    axis.set_xlabel("delay d (rounds)")


def _figure_2(data: Data) -> Drawn:
    columns = ("pareto", "packet-loss", "reward-dependent")
    figure, axes = panels(2, 4, wide=_WIDTH / 4)
    for row, metric in zip(axes, REGRETS, strict=True):
        _over_delays(row[0], data, metric)
        row[0].set_ylabel(_titled(metric))
        for axis, delay in zip(row[1:], columns, strict=True):
            _grown(axis, data, name(delay), metric, (*FAIR, *OPTIMISTIC) if delay == columns[-1] else SEVEN)
            axis.set_ylabel("")
    for axis, letter, delay in zip(axes[0], "abcd", ("fixed", *columns), strict=True):
        axis.set_title(f"({letter}) {DELAYS[delay]}", loc="left")
    horizons = [int(data[experiment]["round"][-1]) for experiment in (fixed(0), name("pareto"))]
    when = f"(a): at T = {horizons[0]:,}, (b) to (d): to T = {horizons[1]:,}"
    legend(figure, axes, f"{when}; {note(data[name('pareto')], 'bars and bands')}", columns=4)
    return Drawn("002-figure-2", "Regrets under different delays: 002 Fig. 2.", figure)


def _figure_3(data: Data) -> Drawn:
    figure, axes = panels(1, 2, wide=_WIDTH / 2, high=2.3)
    for axis, metric, letter in zip(axes[0], REGRETS, "ab", strict=True):
        _grown(axis, data, LOG, metric, SEVEN)
        axis.set_title(f"({letter}) {_named(metric)}", loc="left")
    legend(figure, axes, note(data[LOG]))
    return Drawn("002-figure-3", "Ten products of a conversion log: 002 Fig. 3.", figure)


def _figure_steeper(data: Data, number: int, delay: str) -> Drawn:
    """Figures 4 to 8: a delay, a column an exponent of the merit function."""
    steepness = exponents(data, delay)
    figure, axes = panels(2, len(steepness), wide=_WIDTH / max(len(steepness), 2), sharey="row")
    every = [name(delay, c) for c in steepness]
    for column, c, one in zip(axes.T, steepness, every, strict=True):
        for axis, metric in zip(column, REGRETS, strict=True):
            _grown(axis, data, one, metric, SEVEN if delay == "reward-dependent" else FIVE, every)
            axis.set_ylabel(_titled(metric) if c == steepness[0] else "")
        column[0].set_title(f"c = {c}", loc="left")
    legend(figure, axes, note(data[name(delay)]))
    caption = f"Regrets with the merit 1 + 2μ^c, {DELAYS[delay]}: 002 Fig. {number}."
    return Drawn(f"002-figure-{number}", caption, figure)


def _figure_9(data: Data) -> Drawn:
    figure, axes = panels(1, 1, wide=3.5, high=2.1)
    axis = axes[0, 0]
    timed = [(label, False) for label in (*FAIR, *OPTIMISTIC)] + [(label, True) for label in BOXED]
    for place, (label, searched) in enumerate(timed):
        runs = [data[timing(label, repeat, searched)] for repeat in range(REPEATS)]
        each = over_runs("", np.array([[1e9 / one.attrs["rounds_per_second"] for one in runs]]))
        look = {"color": styles(runs[0])[label]["color"], "hatch": "//" if searched else "", "edgecolor": "white"}
        axis.barh(place, each.value, 0.7, xerr=CONFIDENCE * each.error, error_kw={"elinewidth": 0.8}, **look)
    axis.set_yticks(range(len(timed)), [f"{label}, searched" if searched else label for label, searched in timed])
    axis.invert_yaxis()
    axis.set_xlabel("time of a round of a run (ns)")
    axis.set_title(f"{runs[0].sizes['seed']} runs at once, mean over {REPEATS} timings", loc="left")
    caption = (
        f"Running times, bars: 95 % confidence; searched: where the optimum over the box is looked for on a grid. "
        f"On {runs[0].attrs['device']}: 002 Fig. 9."
    )
    return Drawn("002-figure-9", caption, figure)


def figures(data: Data) -> Iterator[Drawn]:
    """All figures that there are results for."""
    yield _figure_1(data)
    yield _figure_2(data)
    if LOG in data:
        yield _figure_3(data)
    for number, delay in enumerate(DELAYS, start=4):
        yield _figure_steeper(data, number, delay)
    yield _figure_9(data)
