"""Expected reward against unfairness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from jaxbandit.experiments.grids.parameters import (
    MOST_SHOWN,
    parameter_values,
    parameters,
    short_name,
    unknown_parameter,
    varying,
)
from jaxbandit.experiments.grids.ranking import policy_groups
from jaxbandit.experiments.plots.canvas import new_figure, styled
from jaxbandit.experiments.plots.heat_maps import colour_scale
from jaxbandit.experiments.plots.legends import legend, problem_values, sample_note
from jaxbandit.experiments.plots.style import Look, caption, lighter, styles
from jaxbandit.experiments.statistics import check_metric, checked_results, mean_over_instances, t_quantile

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


_LIGHTEST = 0.75  # the shade of the smallest value in a cloud


class _Points(NamedTuple):
    """Points of policies, with the half widths of their confidence intervals.

    Attributes:
        x, y: unfairness and reward, float `[policy]`.
        x_half, y_half: half widths, float `[policy]`.
    """

    x: np.ndarray
    y: np.ndarray
    x_half: np.ndarray
    y_half: np.ndarray

    def at(self, positions: np.ndarray) -> _Points:
        """The points of some policies."""
        return _Points(*(values[positions] for values in self))


@checked_results
@styled
def tradeoff(results: xr.Dataset, colour: str | None = None) -> Figure:
    """Draw expected reward against unfairness at T, with a line through the points of a grid over one parameter.

    The line goes from the parameter's first value to its last, and names both. A grid over several parameters, and a
    group (a grid, or policies of one kind) of more than 24 policies, is drawn as a cloud that a parameter colours, with
    a line through its front: the points for which no other point has both more reward and less unfairness.

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
    points = _Points(unfair, reward, t_quantile(last) * unfair_error, t_quantile(last) * regret_error)
    looks, varied = styles(results), varying(results)
    large = [(name, positions) for name, positions in policy_groups(results).items() if len(positions) > MOST_SHOWN]
    in_large = np.isin(np.arange(results.sizes["policy"]), np.concatenate([[], *(own for _, own in large)]))
    for name, positions in large:
        _draw_cloud(axis, results.isel(policy=positions), points.at(positions), name, looks, colour)
    for family in dict.fromkeys(results.family.values[~in_large].tolist()):
        positions = np.flatnonzero((results.family.values == family) & ~in_large)
        if len(varied.get(family, [])) > 1:
            part = results.isel(policy=positions)
            _draw_bars(axis, points.at(positions), looks[part.policy.values[-1]])
            _draw_cloud(axis, part, points.at(positions), family, looks, colour)
        else:
            _draw_line(axis, results, positions, points, family, varied.get(family, []), looks)
    axis.set_xlabel("unfairness (missed rounds)")
    axis.set_ylabel("expected reward, " + r"$\sum_k \mu_k N_k(T)$")
    axis.set_title(f"T = {int(results['round'][-1]):,}", loc="left")
    legend(figure, axis, sample_note(results, "" if in_large.all() else "bars"))
    return figure


def _largest_reward(results: xr.Dataset) -> np.ndarray:
    """The largest expected reward by T: the best arms in every round. Mean over instances, `[policy]`."""
    plays = results.attrs.get("plays", 1)
    best = np.sort(problem_values(results, "means"), axis=2)[..., -plays:]
    mean: np.ndarray = int(results["round"][-1]) * best.sum(2).mean(1)
    return mean


def _draw_line(
    axis: Axes,
    results: xr.Dataset,
    positions: np.ndarray,
    points: _Points,
    family: str,
    varied: Sequence[str],
    looks: Mapping[str, Look],
) -> None:
    """Draw the points of a family, joined in the order of the one parameter that it varies, and name its ends."""
    look = {k: looks[results.policy.values[positions[-1]]][k] for k in ("color", "linestyle", "marker")}
    if varied:
        places = {value: place for place, value in enumerate(parameter_values(results[varied[0]].values[positions]))}
        values = results[varied[0]].values[positions].tolist()
        positions = positions[np.argsort([places.get(value, -1) for value in values], kind="stable")]
    x, y, x_half, y_half = points.at(positions)
    axis.errorbar(x, y, y_half, x_half, markersize=3, elinewidth=0.7, label=caption(family), **look)
    if varied:
        values = results[varied[0]].values[positions[[0, -1]]].tolist()
        for place, value in ((0, values[0]), (-1, values[1])):
            text = f"{value:.4g}" if isinstance(value, float) else str(value)
            axis.annotate(
                caption(f"{short_name(varied[0])}={text}"),
                (x[place], y[place]),
                fontsize=6,
                color=look["color"],
                xytext=(4, -7 if place == 0 else 4),
                textcoords="offset points",
            )


def _draw_bars(axis: Axes, points: _Points, look: Look) -> None:
    """Draw the confidence intervals of a cloud's points."""
    x, y, x_half, y_half = points
    axis.errorbar(x, y, y_half, x_half, fmt="none", ecolor=lighter(look["color"], 0.4), elinewidth=0.5, zorder=0.9)


def _draw_cloud(
    axis: Axes, part: xr.Dataset, points: _Points, name: str, looks: Mapping[str, Look], colour: str | None
) -> None:
    """Draw the points of a group, light to dark by a parameter, and the front of little x and much y."""
    x, y, look = points.x, points.y, looks[part.policy.values[-1]]
    numbers = [p for p in varying(part).get(name, []) if np.issubdtype(part[p].dtype, np.number)]
    parameter = colour if colour in numbers else next(iter(numbers), None)
    tints: dict[str, Any] = {"color": [lighter(look["color"], 0.4)]}
    if parameter is not None:
        values = part[parameter].values
        shades = LinearSegmentedColormap.from_list(name, [lighter(look["color"], _LIGHTEST), look["color"]])
        tints = {"c": values, "cmap": shades, "norm": colour_scale(values[np.isfinite(values)])}
    small = len(x) > 1000
    size, marker = (3 if small else 8), look["marker"]
    drawn = axis.scatter(x, y, s=size, marker=marker, linewidths=0, rasterized=small, zorder=1, **tints)
    figure = axis.figure
    if parameter is not None and isinstance(figure, Figure):
        bar = figure.colorbar(drawn, ax=axis, label=caption(f"{short_name(parameter)}, {name}"))
        bar.outline.set_visible(False)
        figure.set_figwidth(figure.get_figwidth() + 0.7)
    order = np.lexsort((-y, x))
    front = order[np.flatnonzero(np.diff(np.maximum.accumulate(y[order]), prepend=-np.inf) > 0)]
    label = caption(f"{name}: front of {len(x):,}")
    axis.plot(x[front], y[front], color=look["color"], linewidth=0.8, label=label, zorder=2)
