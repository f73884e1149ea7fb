"""Expected reward against unfairness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from jaxbandit.experiments.grids.parameters import MOST_SHOWN, parameters, unknown_parameter, varying
from jaxbandit.experiments.grids.ranking import policy_groups
from jaxbandit.experiments.plots.canvas import new_figure, styled
from jaxbandit.experiments.plots.heat_maps import colour_scale
from jaxbandit.experiments.plots.legends import legend, problem_values, sample_note
from jaxbandit.experiments.plots.style import Look, caption, lighter, styles
from jaxbandit.experiments.statistics import CONFIDENCE, check_metric, checked_results, mean_over_instances

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


@checked_results
@styled
def tradeoff(results: xr.Dataset, colour: str | None = None) -> Figure:
    """Draw expected reward against unfairness at T, with a line through the points of each grid.

    If a group (a grid, or policies of one kind) has more than 24 policies, it is drawn as a cloud that a parameter
    colours, with a line through its front: the points for which no other point has both more reward and less
    unfairness.

    Args:
        results: as `simulate` returns them, with the metrics `regret` and `unfairness`.
        colour: the parameter that colours clouds, of `jb.grids.parameters(results)`; default: the first number that
            varies.

    Raises:
        InputError: a parameter or a metric that the results do not hold, or seeds were selected from the results.

    Source:
        Penalties paper, Figure 4.

    Example:
        >>> lfg = {"kind": "lfg", "eta": [1, 10, 100]}
        >>> results = jb.simulate(jb.Problem([0.9, 0.5], fractions=0.1), lfg, horizon=99, seeds=50)
        >>> jb.plots.tradeoff(results).axes[0].get_xlabel()
        'unfairness (missed rounds)'
    """
    for metric in ("regret", "unfairness"):
        check_metric(results, metric, "results")
    if colour is not None and colour not in parameters(results):
        raise unknown_parameter("colour", colour, parameters(results))
    figure, ((axis,),) = new_figure(figsize=(3.4, 2.2))
    last = results.isel(round=-1)
    regret, regret_error = (a.values for a in mean_over_instances(last, "regret"))
    unfair, unfair_error = (a.values for a in mean_over_instances(last, "unfairness"))
    reward = _largest_reward(results) - regret
    labels, families, looks = results.policy.values, results.family.values, styles(results)
    in_cloud = np.zeros(len(labels), bool)
    for name, positions in policy_groups(results).items():
        if len(positions) > MOST_SHOWN:
            in_cloud[positions] = True
            look = looks[labels[positions[-1]]]
            _draw_cloud(axis, results.isel(policy=positions), unfair[positions], reward[positions], name, look, colour)
    for family in dict.fromkeys(families[~in_cloud].tolist()):
        positions = np.flatnonzero((families == family) & ~in_cloud)
        positions = positions[np.argsort(unfair[positions])]
        look = {k: looks[labels[families == family][-1]][k] for k in ("color", "linestyle", "marker")}
        xerr, yerr = CONFIDENCE * unfair_error[positions], CONFIDENCE * regret_error[positions]
        x, y = unfair[positions], reward[positions]
        axis.errorbar(x, y, yerr, xerr, markersize=3, elinewidth=0.7, label=caption(family), **look)
    axis.set_xlabel("unfairness (missed rounds)")
    axis.set_ylabel("expected reward, " + r"$\sum_k \mu_k N_k(T)$")
    axis.set_title(f"T = {int(results['round'][-1]):,}", loc="left")
    legend(figure, axis, sample_note(results, "" if in_cloud.all() else "bars"))
    return figure


def _largest_reward(results: xr.Dataset) -> np.ndarray:
    """The largest expected reward by T: the best arms in every round. Mean over instances, `[policy]`."""
    plays = results.attrs.get("plays", 1)
    best = np.sort(problem_values(results, "means"), axis=2)[..., -plays:]
    mean: np.ndarray = int(results["round"][-1]) * best.sum(2).mean(1)
    return mean


def _draw_cloud(
    axis: Axes, part: xr.Dataset, x: np.ndarray, y: np.ndarray, name: str, look: Look, colour: str | None
) -> None:
    """Draw the points of a large group, light to dark by a parameter, and the front of little x and much y."""
    numbers = [p for p in varying(part).get(name, []) if np.issubdtype(part[p].dtype, np.number)]
    parameter = colour if colour in numbers else next(iter(numbers), None)
    tints: dict[str, Any] = {"color": [lighter(look["color"], 0.4)]}
    if parameter is not None:
        values = part[parameter].values
        shades = LinearSegmentedColormap.from_list(name, [lighter(look["color"], 0.85), look["color"]])
        tints = {"c": values, "cmap": shades, "norm": colour_scale(values[np.isfinite(values)])}
    small = len(x) > 1000
    size, marker = (3 if small else 8), look["marker"]
    points = axis.scatter(x, y, s=size, marker=marker, linewidths=0, rasterized=small, zorder=1, **tints)
    figure = axis.figure
    if parameter is not None and isinstance(figure, Figure):
        bar = figure.colorbar(points, ax=axis, label=caption(f"{parameter}, {name}"))
        bar.outline.set_visible(False)
        figure.set_figwidth(figure.get_figwidth() + 0.7)
    order = np.lexsort((-y, x))
    front = order[np.flatnonzero(np.diff(np.maximum.accumulate(y[order]), prepend=-np.inf) > 0)]
    label = caption(f"{name}: front of {len(x):,}")
    axis.plot(x[front], y[front], color=look["color"], linewidth=0.8, label=label, zorder=2)
