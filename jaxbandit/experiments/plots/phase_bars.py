"""Rounds that policies spend in their phases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxbandit.core.errors import InputError
from jaxbandit.experiments.grids.ranking import ranking_metric, representatives
from jaxbandit.experiments.plots.canvas import new_figure, styled
from jaxbandit.experiments.plots.legends import ranking_words, representative_looks, sample_note, wrapped
from jaxbandit.experiments.plots.style import Look, lighter, styles
from jaxbandit.experiments.statistics import check_last_round, checked_results

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@checked_results
@styled
def phases(results: xr.Dataset) -> Figure:
    """Draw the share of the rounds that each policy spends in each of its phases: one bar per policy, means over runs.

    If a group (a grid, or policies of one kind) has more than 24 policies, the figure shows the best, the median and
    the worst.

    Args:
        results: as `simulate` returns them, with a policy that has phases.

    Raises:
        InputError: no policy has phases, or rounds before T were selected from the results.

    Source:
        Opportunities paper, Figure 2.

    Example:
        >>> problem = jb.Problem([0.8, 0.3], penalties=0.5, opportunity="uniform")
        >>> results = jb.simulate(problem, "self-regulated", horizon=200, seeds=4)
        >>> jb.plots.phases(results).axes[0].get_xlabel()
        'share of the T = 200 rounds, mean over 4 runs'
    """
    if "phase_rounds" not in results:
        kinds = results.kind.values.tolist()
        raise InputError("results", kinds, "must have a policy with phases, such as self-regulated")
    check_last_round(results)
    results = results.isel(policy=(results.phase_rounds >= 0).any(("instance", "seed", "phase")).values)
    metric = ranking_metric(results)
    shown = representatives(results, metric)
    labelled = representative_looks(results, shown, styles(results))
    part, horizon = results.isel(policy=list(shown)), float(results["round"][-1])
    rounds = part.phase_rounds
    shares = rounds.where(rounds >= 0).mean(("instance", "seed")) / horizon
    names = [wrapped(label, 36) for label, _ in labelled]
    longest = max(len(line) for name in names for line in name.splitlines())
    figure, ((axis,),) = new_figure(figsize=(max(5.2, 4.2 + 0.065 * longest), 0.8 + 0.42 * len(labelled)))
    for row, (_, look) in enumerate(labelled):
        phase_names = [str(name) for name in part.phase_name.values[row]]
        _draw_bar(axis, row, shares[row].dropna("phase").values.tolist(), phase_names, look)
    axis.set_yticks(range(len(labelled)), names)
    axis.invert_yaxis()
    axis.set_xlim(0, 1)
    note = sample_note(results, "", ranking_words(shown, metric))
    axis.set_xlabel(f"share of the T = {horizon:,.0f} rounds, {note}")
    return figure


def _draw_bar(axis: Axes, row: int, shares: list[float], names: list[str], look: Look) -> None:
    """Draw the shares of a policy's phases side by side, from light, the first, to the policy's own colour."""
    left = 0.0
    for number, share in enumerate(shares):
        colour = lighter(look["color"], 0.75 * (1 - number / max(len(shares) - 1, 1)))
        axis.barh(row, share, left=left, color=colour, edgecolor="white", linewidth=0.6, height=0.7)
        if share > 0.045:
            ink = "white" if sum(colour) < 1.4 else "black"
            text = f"{share:.0%}\n{names[number]}" if share > 0.018 * len(names[number]) else f"{share:.0%}"
            axis.text(left + share / 2, row, text, ha="center", va="center", color=ink, fontsize=6.5)
        left += share
