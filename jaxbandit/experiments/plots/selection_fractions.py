"""Selection fractions of each arm over time."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import matplotlib
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.ticker import LogLocator

from jaxbandit.core.errors import InputError
from jaxbandit.experiments.grids.parameters import MOST_SHOWN
from jaxbandit.experiments.grids.ranking import Representative, ranking_metric, representatives
from jaxbandit.experiments.plots.canvas import new_figure, styled
from jaxbandit.experiments.plots.legends import legend, problem_values, ranking_words, sample_note
from jaxbandit.experiments.plots.style import Look, caption
from jaxbandit.experiments.statistics import check_all_seeds, checked_results, t_quantile

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_IN_LEGEND = 12  # arms that the legend lists one by one; for more there is a colour bar
_MOST_ROUNDS = 400  # points of a line
_MOST_IN_GROUP = 3  # policies of a group that are shown one by one where there would be too many panels
_REQUIRED = "required, τ"
_LOGARITHMIC = 30  # times the first drawn round: the T from which the axis of rounds is logarithmic
_SHORT = 0.94  # where the short lines of required fractions begin, as a share of the axis
_COLOURS = matplotlib.colormaps["viridis"]
_LIGHTEST = 0.88  # the colour of the worst arm: the end of the map is too light on white


@dataclass(frozen=True)
class _Panel:
    """A panel: a policy on one instance, or on all instances with the arms of each sorted by their means.

    Attributes:
        policy: the label of the policy.
        instance: the instance, in words; empty if the panel shows all of them or the results have one.
        means: the mean rewards, `[arm]`.
        fractions, half: N_k(t) / t and half the width of its confidence interval, `[arm, round]`.
        required: the required fractions, `[arm]`; None for a problem without fractions.
    """

    policy: str
    instance: str
    means: np.ndarray
    fractions: np.ndarray
    half: np.ndarray
    required: np.ndarray | None

    @property
    def best_first(self) -> np.ndarray:
        """The arms, from the largest mean reward to the smallest."""
        return np.argsort(-self.means, kind="stable")


@checked_results
@styled
def selection_fractions(results: xr.Dataset) -> Figure:
    """Draw the selection fraction N_k(t) / t of each arm against the round: means over runs, 95 % confidence bands.

    There is one panel per policy and instance, and one line per arm, which is the darker, the larger the arm's mean
    reward is. Dashed lines show the required fractions tau_k of the rounds; if there are more than 12 arms with
    different tau_k, they are short lines at the right. With several plays, the fractions of the arms sum to the number
    of plays. Lines begin at round K, the number of arms: in the rounds before, fractions leap. The axis of rounds is
    logarithmic if T is at least 30 times the first round on it. If more than 400 rounds are recorded, lines pass
    through at most 400 of them, log-spaced.

    If there are more than 24 policies, each group (a grid, or policies of one kind) of more than three is shown by its
    best, its median and its worst. If the policies and the instances make more than 24 panels, there is one panel per
    policy: the arms of each instance are sorted by their means, and the lines are means over instances.

    Args:
        results: as `simulate` returns them, with `pulls_mean` in at least two rounds.

    Raises:
        InputError: `results` is not a dataset of `simulate`, lacks `pulls_mean`, or has a single recorded round; or
            seeds were selected from it.

    Example:
        >>> problem = jb.Problem([0.9, 0.5, 0.4], fractions=0.1)
        >>> results = jb.simulate(problem, ["ucb1", "fucb"], horizon=500, seeds=20)
        >>> [axis.get_title(loc="left") for axis in jb.plots.selection_fractions(results).axes]
        ['ucb1', 'fucb']
    """
    if "pulls_mean" not in results:
        words = "must have pulls_mean, the mean selections by round; `simulate(..., pulls_mean=True)` keeps it"
        raise InputError("results", list(map(str, results.data_vars)), words)
    if results.sizes["round"] < 2:
        words = "must have at least two recorded rounds, as with `simulate(..., record=200)`"
        raise InputError("results", results["round"].values.tolist(), words)
    check_all_seeds(results)
    metric = ranking_metric(results)
    shown = _shown_policies(results, metric)
    instances = results.sizes["instance"]
    by_instance = instances * len(shown) <= MOST_SHOWN
    rounds, drawn = _panels(results, shown, by_instance)
    same_arms = by_instance and all(np.array_equal(panel.means, drawn[0].means) for panel in drawn)
    names = _arm_names(results["arm"].values.tolist(), drawn[0] if same_arms else None)
    figure, axes = _axes(len(drawn), instances if by_instance else 1)
    for axis, panel in zip(axes, drawn, strict=True):
        _draw_panel(axis, rounds, panel, names, same_arms)
    if rounds[-1] >= _LOGARITHMIC * rounds[0]:
        axes[0].set_xscale("log")
        axes[0].xaxis.set_minor_locator(LogLocator(subs=(2, 5)))  # the layout of eight per decade would take longest
    axes[0].set_xlim(rounds[0], rounds[-1])
    axes[0].set_ylim(bottom=0)
    many = len(names) > _MOST_IN_LEGEND
    if many:
        _draw_colour_bar(figure, axes, len(names))
    note = sample_note(
        results if not by_instance else results.isel(instance=[0]), "bands", ranking_words(shown, metric)
    )
    legend(figure, axes[0], note, names if many else ())
    return figure


def has_selection_fractions(results: xr.Dataset) -> bool:
    """Whether `selection_fractions` can draw the results."""
    return "pulls_mean" in results and results.sizes["round"] > 1


def _shown_policies(results: xr.Dataset, metric: str | None) -> dict[int, Representative]:
    """The policies to show, by position."""
    shown = representatives(results, metric)
    return shown if len(shown) <= MOST_SHOWN else representatives(results, metric, _MOST_IN_GROUP)


def _panels(
    results: xr.Dataset, shown: Mapping[int, Representative], by_instance: bool
) -> tuple[np.ndarray, list[_Panel]]:
    """The drawn rounds, and the panels: policy by policy, and of each policy instance by instance or all as one."""
    kept = _drawn_rounds(results["round"].values, results.sizes["arm"])
    part = results.isel(policy=list(shown), round=kept)
    rounds, order = part["round"].values, ("policy", "instance", "arm", "round")
    fractions = part.pulls_mean.transpose(*order).values / rounds
    errors = part.pulls_mean_stderr.fillna(0.0).transpose(*order).values / rounds  # NaN for one seed
    means = problem_values(part, "means")
    required = problem_values(part, "fractions") if "fractions" in part else None
    made = []
    for i, policy in enumerate(_policy_titles(part, list(shown.values()))):
        tau = None if required is None else required[i]
        if by_instance:
            for j, instance in enumerate(part.instance.values.tolist()):
                words = "" if part.sizes["instance"] == 1 else f"instance {instance}"
                own_tau, half = None if tau is None else tau[j], t_quantile(part.isel(instance=[j])) * errors[i, j]
                made.append(_Panel(policy, words, means[i, j], fractions[i, j], half, own_tau))
            continue
        best_first = np.argsort(-means[i], axis=1, kind="stable")

        def sort(values: np.ndarray, arms: np.ndarray = best_first) -> np.ndarray:
            """Values `[instance, arm, ...]` with the arms of each instance sorted by their means."""
            return np.take_along_axis(values, arms.reshape(*arms.shape, *(1,) * (values.ndim - 2)), axis=1)

        half = t_quantile(part) * np.sqrt((sort(errors[i]) ** 2).sum(axis=0)) / len(best_first)
        mu, fraction = (sort(values).mean(axis=0) for values in (means[i], fractions[i]))
        made.append(_Panel(policy, "", mu, fraction, half, None if tau is None else sort(tau).mean(axis=0)))
    return rounds, made


def _drawn_rounds(rounds: np.ndarray, arms: int) -> np.ndarray:
    """The positions of the recorded rounds through which lines pass, the last among them."""
    late = np.flatnonzero(rounds >= arms)
    positions = late if len(late) > 1 else np.arange(len(rounds))
    if len(positions) <= _MOST_ROUNDS:
        return positions
    spaced = np.geomspace(rounds[positions[0]], rounds[-1], _MOST_ROUNDS)[:-1]
    return np.unique(np.append(np.searchsorted(rounds, spaced), len(rounds) - 1))


def _policy_titles(part: xr.Dataset, shown: Sequence[Representative]) -> list[str]:
    """The titles of the policies: the label; in a large group the policy's place and its point of the grid."""
    titles = []
    for label, (name, role) in zip(part.policy.values.tolist(), shown, strict=True):
        point = label.removeprefix(name).strip(" ()")
        titles.append(f"{name}: {role} ({point})" if role else name)
    return titles


def _arm_names(arms: Sequence[int], panel: _Panel | None) -> list[str]:
    """The names of the lines: of the arms of a panel; without a panel, of the places by mean reward."""
    if panel is not None:
        return [f"arm {arm}, μ = {mu:.3g}" for arm, mu in zip(arms, panel.means, strict=True)]
    places = ["best arm", "2nd best", "3rd best", *(f"{place}th best" for place in range(4, len(arms) + 1))]
    return places[: len(arms)]


def _axes(count: int, instances: int) -> tuple[Figure, list[Axes]]:
    """A figure with panels that share their axes: a column per instance, or three or four columns."""
    fitting = 3 if math.ceil(count / 3) == math.ceil(count / 4) else 4  # four where they save a row
    columns = instances if 1 < instances <= 4 else min(count, fitting)
    rows = math.ceil(count / columns)
    wide, tall = (3.4, 2.2) if count == 1 else (2.1, 1.6)
    size = (max(3.4, wide * columns), tall * rows)
    figure, axes = new_figure(rows, columns, figsize=size, sharex=True, sharey=True)
    figure.set_layout_engine("constrained", w_pad=0.08)  # inches; labels of two lines need more room than usual
    for axis in axes.flat[count:]:
        axis.set_visible(False)
    for axis in axes.flat[max(0, count - columns) : count]:  # the lowest visible panel of each column
        axis.tick_params(labelbottom=True)
        axis.set_xlabel("round t")
    for row in axes:
        row[0].set_ylabel("selection fraction\n$N_k(t)\\,/\\,t$")
    return figure, list(axes.flat[:count])


def _draw_panel(axis: Axes, rounds: np.ndarray, panel: _Panel, names: Sequence[str], same_arms: bool) -> None:
    """Draw the lines of one panel; `names` are those of the arms if all panels have the same, else of their places."""
    arms, many = len(names), len(names) > _MOST_IN_LEGEND
    colours = _COLOURS(np.linspace(0, _LIGHTEST, arms))
    place = np.argsort(panel.best_first)
    for arm in range(arms) if same_arms else panel.best_first.tolist():
        y, half, colour = panel.fractions[arm], panel.half[arm], colours[place[arm]]
        label = names[arm] if same_arms else names[place[arm]]
        axis.plot(rounds, y, color=colour, linewidth=0.6 if many else 1.0, label=label)
        axis.fill_between(rounds, y - half, y + half, color=colour, alpha=0.2, linewidth=0)
    if panel.required is not None:
        look: Look = {"linestyle": (0, (4, 2)), "linewidth": 0.6 if many else 0.8}
        if np.ptp(panel.required) == 0:
            axis.axhline(panel.required[0], color="0.35", label=_REQUIRED, **look)
        else:
            for arm, fraction in enumerate(panel.required):
                axis.axhline(fraction, _SHORT if many else 0.0, color=colours[place[arm]], **look)
            axis.plot([], [], color="0.35", label=_REQUIRED, **look)
    axis.set_title(_title(panel), loc="left", fontsize=7)


def _title(panel: _Panel, width: int = 34) -> str:
    """The title of a panel: the policy in at most two lines, unless it holds mathematics, and the instance."""
    lines = textwrap.wrap(panel.policy, width, max_lines=2, placeholder=" …")
    if "$" in panel.policy or not lines:
        lines = [panel.policy]
    if panel.instance and len(lines[-1]) + len(panel.instance) <= width:
        lines[-1] += f", {panel.instance}"
    elif panel.instance:
        lines.append(panel.instance)
    return caption("\n".join(lines))


def _draw_colour_bar(figure: Figure, axes: Sequence[Axes], arms: int) -> None:
    """Draw the colours of the arms, by their places from the best to the worst."""
    colours = _COLOURS(np.linspace(0, _LIGHTEST, arms))
    scale = ScalarMappable(Normalize(0.5, arms + 0.5), matplotlib.colors.ListedColormap(colours))
    bar = figure.colorbar(scale, ax=list(axes), aspect=30, label="place of the arm by mean reward")
    bar.set_ticks(sorted({1, *(tick for tick in range(0, arms + 1, max(1, round(arms / 50) * 10)) if tick), arms}))
    bar.ax.invert_yaxis()
    bar.outline.set_visible(False)
    figure.set_figwidth(figure.get_figwidth() + 0.7)
