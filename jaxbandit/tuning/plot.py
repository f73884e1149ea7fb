"""The figure of a tuning: the objective, the parameters and the gradient's length over the steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from jaxbandit.experiments.plots.style import STYLE
from jaxbandit.experiments.statistics import CONFIDENCE

_SOFT, _HARD = "#0072B2", "#D55E00"


def draw(trajectory: xr.Dataset, folder: Path, name: str = "tuning") -> None:
    """Draw the figure as PNG and PDF into an existing folder."""
    with plt.rc_context(STYLE):
        made = loss(trajectory)
        for suffix in (".png", ".pdf"):
            made.savefig(folder / f"{name}{suffix}", bbox_inches="tight")
        plt.close(made)


def loss(trajectory: xr.Dataset) -> Figure:
    """The objective of the soft policy (95 % band) and of the policy itself, what it is made of, and the rest.

    Args:
        trajectory: of `Tuned`.
    """
    parts = [str(name).removeprefix("hard_") for name in trajectory if str(name).startswith("hard_")]
    several = [part for part in parts if part != "objective"] if len(parts) > 2 else []
    known = {"objective", "objective_stderr", "gradient_norm", "price", *parts, *(f"hard_{part}" for part in parts)}
    parameters = [str(name) for name in trajectory if name not in known]
    figure, axes = plt.subplots(1, 3 + len(several), figsize=(2.4 * (3 + len(several)), 2.1), layout="constrained")
    step = trajectory.step.values
    for axis, part in zip(axes, ["objective", *several], strict=False):
        _both(axis, trajectory, part)
    axes[0].legend(frameon=False)
    for name in parameters:
        values = trajectory[name].values.reshape(len(step), -1)
        for k, column in enumerate(values.T):
            label = f"{name}, arm {k}" if values.shape[1] > 1 else name
            axes[-2].plot(step, column, label=label)
    if sum(trajectory[name].size // len(step) for name in parameters) <= 8:
        axes[-2].legend(frameon=False, fontsize=5)
    axes[-2].set_ylabel("parameters")
    axes[-1].semilogy(step, np.maximum(trajectory.gradient_norm.values, 1e-12), color=_SOFT)
    axes[-1].set_ylabel("length of the gradient")
    for axis in axes:
        axis.set_xlabel("step")
    return figure


def _both(axis: Any, trajectory: xr.Dataset, part: str) -> None:
    step, soft, hard = trajectory.step.values, trajectory[part].values, trajectory[f"hard_{part}"].values
    axis.plot(step, soft, color=_SOFT, label="soft policy")
    if part == "objective":
        half = CONFIDENCE * trajectory.objective_stderr.values
        axis.fill_between(step, soft - half, soft + half, color=_SOFT, alpha=0.2, linewidth=0)
    there = np.isfinite(hard)
    axis.plot(step[there], hard[there], color=_HARD, marker="o", markersize=2.5, label="the policy itself")
    axis.set_ylabel(trajectory[part].attrs.get("long_name", part.replace("_", " ")))
