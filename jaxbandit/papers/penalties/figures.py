"""The figures 1 to 4 of the penalties paper."""

from __future__ import annotations

import matplotlib
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter

from jaxbandit.experiments.plots.style import styles
from jaxbandit.experiments.statistics import CONFIDENCE
from jaxbandit.metrics.bounds.table import hard_threshold_pulls
from jaxbandit.papers.claim import PaperFigure
from jaxbandit.papers.drawing import Look, bounds, legend, panels, sample_note
from jaxbandit.papers.evidence import at_round
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.penalties.claims import counts_of_arms, deficits, lfg_at, off_quota, tradeoff, tradeoff_line
from jaxbandit.papers.penalties.experiments import OWN, PANELS_C, PANELS_E, RIVALS, SETTINGS, name_a_b, name_d


def _theorem_2(results: xr.Dataset, case: int, critical: bool) -> np.ndarray:
    """The leading term of the bound of Theorem 2 on N_k(T), for the critical or non-critical arms of a case."""
    one = results.isel(instance=[case])
    means, fractions, penalties = (one[name].values.T for name in ("means", "fractions", "penalties"))
    gap = means.max() - means[:, 0]
    selected = (gap > 0) & ((gap <= penalties[:, 0]) == critical)
    return hard_threshold_pulls(means, fractions, penalties, one["round"].values[-1:], constant=0.0)[0, selected, 0]


def _panel_1(axis: Axes, results: xr.Dataset, case: int, critical: bool) -> None:
    look = {key: styles(results)[OWN][key] for key in ("color", "marker")}
    inverse, mean, error, quota = counts_of_arms(results, case, critical)
    axis.errorbar(inverse, mean, CONFIDENCE * error, linestyle="", markersize=4, label="mean $N_k(T)$", **look)
    bound = _theorem_2(results, case, critical)
    axis.plot(inverse, bound, "_", color="0.35", label="upper bound: Theorem 2, leading term")
    off = off_quota(mean, quota, critical)
    if off.any():
        constant = np.exp(np.mean(np.log(mean[off] / inverse[off])))
        span = np.array([inverse.min() / 1.5, inverse.max() * 1.5])
        line: Look = {"color": "0.35", "linestyle": (0, (4, 2)), "linewidth": 0.9}
        axis.plot(span, constant * span, label="proportional", **line)
    axis.axhline(quota[0], color="0.6", linewidth=0.9, label="guaranteed, τT")
    for side, scale in ((axis.xaxis, axis.set_xscale), (axis.yaxis, axis.set_yscale)):
        scale("log")
        side.set_major_locator(LogLocator(subs=(1, 3)))
        side.set_major_formatter(LogFormatterSciNotation(minor_thresholds=(9, 9)))
        side.set_minor_formatter(NullFormatter())
    axis.set_ylim(mean.min() / 2, max(mean.max(), quota[0]) * 3)
    axis.set_title(f"{'B' if critical else 'A'}, case {case + 1}", loc="left")
    axis.set_xlabel(r"$1/\Delta_k^2$" if critical else r"$1/(\Delta_k - A_k)^2$")


def _figure_1(data: Data) -> Figure:
    figure, axes = panels(2, 3)
    for row, critical in zip(axes, (False, True), strict=True):
        for case, axis in enumerate(row):
            _panel_1(axis, data[name_a_b(critical)], case, critical)
        row[0].set_ylabel("selections by T")
    results = data[name_a_b(critical=False)]
    legend(figure, axes, f"T = {int(results['round'][-1]):,}, {sample_note(results.isel(instance=[0]), 'bars')}")
    return figure


def _figure_2(data: Data) -> Figure:
    figure, axes = panels(2, 3)
    for axis, name in zip(axes.flat, PANELS_C, strict=True):
        results = data[name]
        times = results["round"].values
        looks = styles(results)
        for policy in (OWN, *RIVALS):
            labels = [lfg_at(results, t) if policy == "lfg" else policy for t in times.tolist()]
            pairs = zip(labels, times, strict=True)
            regret = np.stack([at_round(results, "penalized_regret", label, t)[0] for label, t in pairs])
            error = regret.std(axis=1, ddof=1) / np.sqrt(regret.shape[1])
            look = {key: looks[labels[-1]][key] for key in ("color", "marker")}
            axis.errorbar(times, regret.mean(1), CONFIDENCE * error, label=policy, markersize=3, elinewidth=0.7, **look)
        arms, tau = results.sizes["arm"], float(results.fractions[0].sum())
        bounds(axis, data, name, "penalized_regret", [OWN])
        axis.set_title(f"K = {arms}, τ = {tau:.1f}", loc="left")
        axis.set_xlabel("horizon T")
        axis.set_xscale("log")
    for row in axes:
        row[0].set_ylabel("penalized regret (rewards)")
    note = sample_note(data[next(iter(PANELS_C))], "bars")
    legend(figure, axes, f"{note} over instances")
    return figure


def _figure_3(data: Data) -> Figure:
    figure, axes = panels(2, 3, sharex=True)
    for row, setting in zip(axes, SETTINGS, strict=True):
        results = data[name_d(setting)]
        quota = results.fractions.values[0] * float(results["round"][-1])
        colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.92, results.sizes["arm"]))
        for axis, family in zip(row, (OWN, *RIVALS), strict=True):
            scales, lack = deficits(results, family)
            for arm, colour in enumerate(colours):
                axis.plot(scales, lack.mean(1)[:, arm] * quota[arm], color=colour, label=f"arm {arm + 1}")
            axis.set_title(f"{family}, setting {setting}", loc="left")
            axis.set_xlabel("scale s")
        row[0].set_ylabel("missed rounds, $(τ_kT - N_k)_+$")
    results = data[name_d(1)]
    legend(figure, axes, f"mean over {results.sizes['seed']} runs, T = {int(results['round'][-1]):,}", 8)
    return figure


def _figure_4(data: Data) -> Figure:
    figure, axes = panels(4, 3, height=1.6)
    for axis, (name, panel) in zip(axes.flat, PANELS_E.items(), strict=True):
        results = data[name]
        looks = styles(results)
        for family in (OWN, *RIVALS):
            label = results.policy.values[results.family.values == family][-1]
            look: Look = {key: looks[label][key] for key in ("color", "marker")}
            axis.plot(*tradeoff_line(*tradeoff(results, family)), label=family, markersize=3, **look)
        axis.set_title(panel, loc="left")
        axis.set_xlabel("unfairness (missed rounds)")
    for row in axes:
        row[0].set_ylabel("expected reward")
    results = data[next(iter(PANELS_E))]
    instances, seeds = results.sizes["instance"], results.sizes["seed"]
    legend(figure, axes, f"mean over {instances} instances × {seeds} runs, T = {int(results['round'][-1]):,}")
    return figure


FIGURES = (
    PaperFigure(
        "penalties-figure-1",
        "1",
        "Selections of arms that are not worth their penalty (A) and that are (B): penalties paper, Fig. 1.",
        (name_a_b(critical=False), name_a_b(critical=True)),
        _figure_1,
        assumed=("simulation.seeds", "simulation.ties"),
    ),
    PaperFigure(
        "penalties-figure-2",
        "2",
        "Penalized regret against the horizon (experiment C): penalties paper, Fig. 2.",
        tuple(PANELS_C),
        _figure_2,
        assumed=("simulation.ties",),
    ),
    PaperFigure(
        "penalties-figure-3",
        "3",
        "Missed rounds of each arm, the best arm first, over the scale (experiment D): penalties paper, Fig. 3.",
        tuple(map(name_d, SETTINGS)),
        _figure_3,
        assumed=("simulation.ties",),
    ),
    PaperFigure(
        "penalties-figure-4",
        "4",
        "Expected reward against unfairness over the scales (experiment E): penalties paper, Fig. 4.",
        tuple(PANELS_E),
        _figure_4,
        assumed=("simulation.horizon", "simulation.ties"),
    ),
)
