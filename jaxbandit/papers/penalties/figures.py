"""The figures 1 to 4 of the penalties paper."""

from __future__ import annotations

import matplotlib
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxbandit.experiments.plots.lines import curve_with_bands
from jaxbandit.experiments.plots.style import styles
from jaxbandit.experiments.statistics import CONFIDENCE
from jaxbandit.metrics.bounds.table import hard_threshold_pulls
from jaxbandit.papers.claim import PaperFigure
from jaxbandit.papers.drawing import Look, bounds, legend, panels, sample_note
from jaxbandit.papers.evidence import at_round
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.penalties.decisions import counts_of_arms, deficits, lfg_at, off_quota, tradeoff
from jaxbandit.papers.penalties.experiments import (
    OWN,
    PANELS_C,
    PANELS_E,
    RIVALS,
    SETTINGS,
    name_a_b,
    name_d,
    own_scales,
)


def _mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means over instances of `[configuration, instance]`, and their standard errors."""
    return values.mean(1), values.std(1, ddof=1) / np.sqrt(values.shape[1])


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
    points: Look = {"linestyle": "", "markersize": 3.5, "capsize": 2.5, "elinewidth": 0.9}
    axis.errorbar(inverse, mean, CONFIDENCE * error, label="mean $N_k(T)$", **points, **look)
    off = off_quota(mean, quota, critical)
    if off.sum() > 1:
        x = inverse[off]
        span = np.array([0, inverse.max() * 1.05])
        line: Look = {"color": "0.35", "linestyle": (0, (4, 2)), "linewidth": 0.9}
        axis.plot(span, span * (x @ mean[off]) / (x @ x), label="proportional, fitted to arms off τT", **line)
    axis.axhline(quota[0], color="tab:blue", linewidth=0.9, label="fairness level τT")
    top = 1.3 * max(mean.max(), quota[0])
    bound = _theorem_2(results, case, critical)
    shown = bound <= top
    axis.plot(inverse[shown], bound[shown], "_", color="0.35", label="upper bound: Theorem 2, leading term")
    if not shown.all():
        words = f"Theorem 2 above the axis:\n{', '.join(f'{one:,.0f}' for one in np.sort(bound[~shown]))}"
        axis.text(0.97, 0.03, words, transform=axis.transAxes, ha="right", va="bottom", fontsize=5.5, color="0.35")
    axis.set_xlim(0, inverse.max() * 1.1)
    axis.set_ylim(0, top)
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
    figure, axes = panels(2, 3)
    for row, setting in zip(axes, SETTINGS, strict=True):
        results = data[name_d(setting)]
        quota = results.fractions.values[0] * float(results["round"][-1])
        colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.92, results.sizes["arm"]))
        for axis, family in zip(row, (OWN, *RIVALS), strict=True):
            scales, lack = deficits(results, family)
            missed = lack * quota
            for arm, colour in enumerate(colours):
                mean, error = missed[..., arm].mean(1), missed[..., arm].std(1, ddof=1) / np.sqrt(missed.shape[1])
                band = (mean - CONFIDENCE * error, mean + CONFIDENCE * error)
                curve_with_bands(axis, scales, mean, [band], color=colour, label=f"arm {arm + 1}")
            axis.set_title(f"{family}, setting {setting}", loc="left")
            axis.set_xlabel("scale s")
        row[0].set_ylabel("missed rounds, $(τ_kT - N_k)_+$")
    results = data[name_d(1)]
    legend(figure, axes, f"{sample_note(results)}, T = {int(results['round'][-1]):,}", 8)
    return figure


def _figure_4(data: Data) -> Figure:
    shown = {name: panel for name, panel in PANELS_E.items() if name in data}
    figure, axes = panels(len(shown) // 3, 3, height=1.6)
    for axis, (name, panel) in zip(axes.flat, shown.items(), strict=True):
        results = data[name]
        looks = styles(results)
        for family in (OWN, *RIVALS):
            label = results.policy.values[results.family.values == family][-1]
            look: Look = {key: looks[label][key] for key in ("color", "marker")}
            unfair, reward = tradeoff(results, family)
            lost = reward - float(results["round"][-1]) * results.means.max("arm").values  # paired within instances
            (x, x_error), (y, y_error) = (_mean_and_error(values) for values in (unfair, lost))
            bars: Look = {"markersize": 2.5, "elinewidth": 0.6, "linewidth": 0.8}
            axis.errorbar(x, y, CONFIDENCE * y_error, CONFIDENCE * x_error, label=family, **bars, **look)
            if family == OWN:
                for number in (0, -1):
                    beside: Look = {"color": look["color"], "xytext": (4, -7), "textcoords": "offset points"}
                    words = f"s = {own_scales(data.config(name))[number]:g}"
                    axis.annotate(words, (x[number], y[number]), fontsize=5.5, **beside)
        axis.margins(y=0.12)
        axis.set_title(panel, loc="left")
        axis.set_xlabel("unfairness (missed rounds)")
    for row in axes:
        row[0].set_ylabel("reward minus that\nof the best arm")
    results = data[next(iter(shown))]
    legend(figure, axes, f"{sample_note(results, 'bars')} over instances, T = {int(results['round'][-1]):,}")
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
        "Expected reward, minus that of the best arm in every round, against unfairness over the scales s (experiment "
        "E); LFG has s = 0.99 in place of 1: penalties paper, Fig. 4.",
        tuple(PANELS_E),
        _figure_4,
        assumed=("simulation.horizon", "simulation.ties"),
    ),
)
