"""Selections of each arm by the horizon."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from jaxbandit.experiments.grids.ranking import ranking_metric, representatives
from jaxbandit.experiments.plots.canvas import new_figure, styled
from jaxbandit.experiments.plots.legends import (
    inner_labels,
    legend,
    problem_values,
    ranking_words,
    representative_looks,
    sample_note,
)
from jaxbandit.experiments.plots.style import Look, styles
from jaxbandit.experiments.statistics import check_last_round, checked_results, t_quantile
from jaxbandit.metrics.optimal_allocations import fair_allocation, penalized_allocation

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKS = ("guaranteed, τT", "optimal")
_FEW_TICKS, _MOST_TICKS = 3, 10


@checked_results
@styled
def pulls(results: xr.Dataset) -> Figure:
    """Draw the selections of each arm by the horizon: means over runs with 95 % confidence bars.

    If the problem has fractions, marks show tau T and the selections that would be optimal for known means; the latter
    are left out where arms sleep. Where a grid varies the problem, marks that differ between its points are left out.
    With several instances the arms of each are sorted by their means, the best first. If a group (a grid, or policies
    of one kind) has more than 24 policies, the figure shows the best, the median and the worst.

    Args:
        results: as `simulate` returns them.

    Raises:
        InputError: `results` is not a dataset of `simulate`, or rounds before T were selected from it.

    Example:
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), ["ucb1", "moss"], horizon=99, seeds=50)
        >>> jb.plots.pulls(results).axes[0].get_ylabel()
        'selections by T = 99'
    """
    check_last_round(results)
    metric = ranking_metric(results)
    shown = representatives(results, metric)
    labelled = representative_looks(results, shown, styles(results))
    part = results.isel(policy=list(shown))
    means = problem_values(part, "means")
    several = results.sizes["instance"] > 1
    order = np.argsort(-means, axis=2, kind="stable") if several else None

    def sort(values: np.ndarray) -> np.ndarray:
        """Values `[policy, instance, arm]` with the arms in the order of the figure."""
        return values if order is None else np.take_along_axis(values, order, axis=2)

    arms, horizon = results.sizes["arm"], float(results["round"][-1])
    average, half = _mean_pulls(part, sort)
    width = max(3.4, min(7.0, 0.13 * len(labelled) * arms + 1.5))
    figure, ((axis,),) = new_figure(figsize=(width, 2.2))
    offsets = (np.arange(len(labelled)) - (len(labelled) - 1) / 2) * 0.8 / max(len(labelled), 2)
    for (label, look), y, e, offset in zip(labelled, average, half, offsets, strict=True):
        kept: Look = {k: look[k] for k in ("color", "marker")}
        axis.errorbar(np.arange(arms) + offset, y, e, label=label, linestyle="", markersize=3, elinewidth=0.8, **kept)
    marks = _draw_marks(axis, part, means, sort, horizon)
    axis.set_yscale("symlog", linthresh=1)  # an arm may never be selected
    axis.set_ylim(least := min(0.7 * min([average.min(), *marks]), horizon), most := horizon * 1.4)
    ticks = _ticks(least, most)
    axis.set_yticks(ticks, [f"{tick:,.0f}" for tick in ticks])
    axis.set_yticks([], minor=True)
    axis.set_xticks(np.arange(arms))
    if several:
        axis.set_xticklabels([_place(place) for place in range(1, arms + 1)] if arms <= 8 else np.arange(1, arms + 1))
    if not several and arms <= 12 and (means == means[0]).all():
        axis.set_xticklabels([f"{k}\n{mu:g}" for k, mu in enumerate(means[0, 0].round(3))])
        axis.set_xlabel("arm, and its mean reward")
    else:
        axis.set_xlabel("arm, from the best to the worst of its instance" if several else "arm")
    axis.set_ylabel(f"selections by T = {horizon:,.0f}")
    note = sample_note(results, "bars", ranking_words(shown, metric))
    legend(figure, axis, note, inner_labels(results), last=_MARKS)
    return figure


def _ticks(least: float, most: float) -> list[float]:
    """Round numbers on a logarithmic axis that begins with 0: at most ten, and at least three where it has so many."""
    powers = [10.0**power for power in range(math.ceil(math.log10(most)) + 1)]
    for steps in ((1,), (1, 3), (1, 2, 5), range(1, 10)):
        ticks = [tick for tick in (0, *(step * power for power in powers for step in steps)) if least <= tick <= most]
        if len(ticks) >= _FEW_TICKS:
            break
    return ticks[:: -(-len(ticks) // _MOST_TICKS)]


def _place(number: int) -> str:
    """A place by the mean reward in words: "best", "2nd", ..."""
    return {1: "best", 2: "2nd", 3: "3rd"}.get(number, f"{number}th")


def _mean_pulls(part: xr.Dataset, sort: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The mean selections of each arm and the half width of their intervals, `[policy, arm]`."""
    per_arm = sort(part.pulls.mean("seed").values)
    spread = sort(part.pulls.std("seed", ddof=1 if part.sizes["seed"] > 1 else 0).values)
    error = spread / math.sqrt(part.sizes["seed"])
    return per_arm.mean(1), t_quantile(part) * np.sqrt((error**2).sum(1)) / part.sizes["instance"]


def _draw_marks(
    axis: Axes, results: xr.Dataset, means: np.ndarray, sort: Callable[[np.ndarray], np.ndarray], horizon: float
) -> list[float]:
    """Draw the guaranteed and the optimal selections of each arm, where they are the same for all policies.

    What is optimal is not drawn where arms sleep.

    Returns:
        The heights of the marks.
    """
    if "fractions" not in results:
        return []
    fractions, plays = problem_values(results, "fractions"), int(results.attrs.get("plays", 1))
    if "penalties" in results and plays == 1:
        rates = problem_values(results, "penalties")
        rows = zip(means, fractions, rates, strict=True)
        optimal = np.stack([penalized_allocation(m.T, tau.T, rate.T).T for m, tau, rate in rows])
    else:
        optimal = np.stack([fair_allocation(m.T, t.T, plays).T for m, t in zip(means, fractions, strict=True)])
    arms = np.arange(means.shape[2])
    looks: tuple[Look, Look] = ({"color": "0.55", "linestyle": "--"}, {"color": "0.25"})
    drawn: list[float] = []
    for shares, label, look in zip((fractions, optimal), _MARKS, looks, strict=True):
        heights = sort(shares).mean(1) * horizon
        unknown = label != _MARKS[0] and _may_sleep(results)
        if not unknown and np.allclose(heights, heights[0]):
            axis.hlines(heights[0], arms - 0.45, arms + 0.45, linewidth=0.8, label=label, **look)
            drawn += heights[0].tolist()
    return drawn


def _may_sleep(results: xr.Dataset) -> bool:
    """Whether arms are not always available, as the config says."""
    config = tomllib.loads(results.attrs.get("config", ""))
    problems = [part.get("problem", {}) for part in (config, *config.get("joined", []))]
    held = [problem.get("availability", 1.0) for problem in problems]
    given = any(
        isinstance(one, dict) or np.any(np.asarray(one) != 1.0) for one in held
    )  # a dict holds a table of rounds
    return given or "problem.availability" in results.coords
