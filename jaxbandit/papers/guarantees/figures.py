"""The figure of the guarantees paper: the three plots of section 6."""

from __future__ import annotations

from matplotlib.figure import Figure

from jaxbandit.experiments.plots.style import styles
from jaxbandit.experiments.statistics import CONFIDENCE, mean_over_instances
from jaxbandit.papers.claim import PaperFigure
from jaxbandit.papers.drawing import Look, bounds, curves, legend, panels, sample_note
from jaxbandit.papers.evidence import parameter_in_label
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.guarantees.experiments import ETA, R_REGRET, REGRET


def _three_plots(data: Data) -> Figure:
    figure, axes = panels(1, 3, height=2.0)
    for axis, name, metric, title in zip(
        axes[0], (REGRET, R_REGRET), ("regret", "r_regret"), ("τ = 0", "τ = 0.05"), strict=False
    ):
        curves(axis, data[name], metric)
        bounds(axis, data, name, metric)
        axis.set_title(title, loc="left")
    axis, results = axes[0, 2], data[ETA]
    etas = [parameter_in_label(label) for label in results.policy.values.tolist()]
    horizon, colour = float(results["round"][-1]), styles(data[R_REGRET])["eta-FUCB"]["color"]
    for metric, dash, name in (("r_regret", "-", "r-regret"), ("unfairness", ":", "unfairness")):
        mean, error = (part.isel(round=-1).values / horizon for part in mean_over_instances(results, metric))
        look: Look = {"color": colour, "linestyle": dash, "marker": "o", "markersize": 2.5, "elinewidth": 0.7}
        axis.errorbar(etas, mean, CONFIDENCE * error, label=f"eta-FUCB, {name}", **look)
    axis.set_xscale("log")
    axis.set_xlabel("η")
    axis.set_ylabel("rewards or rounds\nper round")
    axis.set_title("τ = 0.05", loc="left")
    legend(figure, axes, f"T = {horizon:,.0f}, {sample_note(results)}")
    return figure


FIGURES = (
    PaperFigure(
        "guarantees-section-6",
        "section-6",
        "Regret without fairness, r-regret with fairness, and the trade-off in η: guarantees paper, sec. 6.",
        (REGRET, R_REGRET, ETA),
        _three_plots,
        assumed=("simulation.horizon", "simulation.ties", "problem.fractions", "policies.*.eta"),
    ),
)
