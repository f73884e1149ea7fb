"""The plots of section 6 of the guarantees paper, which it does not number."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxbandit.experiments.plots.style import styles
from jaxbandit.experiments.statistics import CONFIDENCE, mean_over_instances
from jaxbandit.papers.claim import PaperFigure
from jaxbandit.papers.drawing import Look, bounds, curves, legend, panels, sample_note
from jaxbandit.papers.evidence import parameter_in_label
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.guarantees.experiments import ETA, FIGURE_ROUNDS, R_REGRET, REGRET

_HIDDEN = "UCB1"  # FUCB lies on it where no arm is behind: it is drawn last, dashed


def _over_rounds(axis: Axes, data: Data, name: str, metric: str) -> None:
    """Draw a metric over the rounds of the figure."""
    results = data[name].sel(round=slice(None, FIGURE_ROUNDS))
    labels = results.policy.values.tolist()
    curves(axis, results, metric, [label for label in labels if label != _HIDDEN])
    curves(axis, results, metric, [_HIDDEN], linestyle=(0, (3, 3)))


def _over_eta(axis: Axes, data: Data) -> None:
    """Draw regret, r-regret and unfairness per round against eta, at the horizon of the figure."""
    results = data[ETA].sel(round=[FIGURE_ROUNDS])
    etas = [parameter_in_label(label) for label in results.policy.values.tolist()]
    colour = styles(data[R_REGRET])["η-FUCB"]["color"]
    looks = {"regret": ("--", "s"), "r_regret": ("-", "o"), "unfairness": (":", "^")}
    for metric, (dash, marker) in looks.items():
        mean, error = (part.values[:, 0] / FIGURE_ROUNDS for part in mean_over_instances(results, metric))
        look: Look = {"color": colour, "linestyle": dash, "marker": marker, "markersize": 2.5, "elinewidth": 0.7}
        name = metric.replace("r_regret", "r-regret")
        axis.errorbar(etas, mean, CONFIDENCE * error, label=f"η-FUCB, {name} per round", **look)
    axis.set_xscale("log")
    axis.set_xlabel("η")
    axis.set_ylabel("rewards or rounds\nper round")


def _three_plots(data: Data) -> Figure:
    figure, axes = panels(1, 3, height=2.0)
    titles = ("first plot: r = 0", "second plot: r = 0.05", "third plot: r = 0.05")
    for axis, name, metric in zip(axes[0], (REGRET, R_REGRET), ("regret", "r_regret"), strict=False):
        _over_rounds(axis, data, name, metric)
        bounds(axis, data, name, metric)
        axis.set_xlim(0, FIGURE_ROUNDS)
    _over_eta(axes[0, 2], data)
    for axis, title in zip(axes[0], titles, strict=True):
        axis.set_title(title, loc="left")
    legend(figure, axes, f"T = {FIGURE_ROUNDS:,}, {sample_note(data[ETA])}")
    return figure


FIGURES = (
    PaperFigure(
        "guarantees-section-6",
        "section-6",
        "The three plots of section 6 of the guarantees paper, which have no number: regret without fairness, r-regret "
        "with fairness, and regret, r-regret and unfairness of η-FUCB per round against η. Shown are the first 20,000 "
        "rounds; the claims are decided at more. UCB1 is dashed. At r = 0 FUCB selects the arms that UCB1 selects, so "
        "both curves coincide. In the second plot the curve of UCB1 is its r-regret, too.",
        (REGRET, R_REGRET, ETA),
        _three_plots,
        assumed=(
            "simulation.horizon",
            "simulation.ties",
            "problem.fractions",
            "policies.η-FUCB.eta",
            "policies.LFG.exploration",
        ),
    ),
)
