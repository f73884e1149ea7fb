"""The figure of a tuning: the objective, its metrics, the parameters and the gradient's norm over the steps."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxbandit.experiments.plots.style import STYLE
from jaxbandit.experiments.statistics import CONFIDENCE

_SOFT, _HARD = "#0072B2", "#D55E00"
_MOST_LABELS = 8  # curves of parameters in a panel with a legend


def draw(trajectory: xr.Dataset, folder: Path, name: str = "tuning") -> None:
    """Draw the figure as PNG and PDF into an existing folder."""
    with plt.rc_context(STYLE):
        figure = tuning_figure(trajectory)
        for suffix in (".png", ".pdf"):
            figure.savefig(folder / f"{name}{suffix}", bbox_inches="tight")
        plt.close(figure)


def tuning_figure(trajectory: xr.Dataset) -> Figure:
    """The objective of the soft policy (with a 95 % band) and of the policy itself, and the rest of the trajectory.

    Args:
        trajectory: that of a `Tuned`.
    """
    measured = [str(name).removeprefix("hard_") for name in trajectory if str(name).startswith("hard_")]
    several = [name for name in measured if name != "objective"] if len(measured) > 2 else []
    figure, axes = plt.subplots(1, 3 + len(several), figsize=(2.4 * (3 + len(several)), 2.1), layout="constrained")
    for axis, name in zip(axes, ["objective", *several], strict=False):
        _soft_and_hard(axis, trajectory, name)
    axes[0].legend(frameon=False)
    known = {"objective_stderr", "gradient_norm", "multiplier", *measured, *(f"hard_{name}" for name in measured)}
    _parameters(axes[-2], trajectory, [str(name) for name in trajectory if name not in known])
    axes[-1].semilogy(trajectory.step.values, np.maximum(trajectory.gradient_norm.values, 1e-12), color=_SOFT)
    axes[-1].set_ylabel("norm of the gradient")
    for axis in axes:
        axis.set_xlabel("step")
    return figure


def _parameters(axis: Axes, trajectory: xr.Dataset, names: list[str]) -> None:
    step = trajectory.step.values
    for name in names:
        values = trajectory[name].values.reshape(len(step), -1)
        for k, column in enumerate(values.T):
            label = f"{name}, arm {k}" if values.shape[1] > 1 else name
            axis.plot(step, column, label=label)
    if sum(trajectory[name].size // len(step) for name in names) <= _MOST_LABELS:
        axis.legend(frameon=False, fontsize=5)
    axis.set_ylabel("parameters")


def _soft_and_hard(axis: Axes, trajectory: xr.Dataset, name: str) -> None:
    step, soft, hard = trajectory.step.values, trajectory[name].values, trajectory[f"hard_{name}"].values
    axis.plot(step, soft, color=_SOFT, label="soft policy")
    if name == "objective":
        half = CONFIDENCE * trajectory.objective_stderr.values
        axis.fill_between(step, soft - half, soft + half, color=_SOFT, alpha=0.2, linewidth=0)
    checked = np.isfinite(hard)
    axis.plot(step[checked], hard[checked], color=_HARD, marker="o", markersize=2.5, label="policy itself")
    axis.set_ylabel(trajectory[name].attrs.get("long_name", name.replace("_", " ")))
