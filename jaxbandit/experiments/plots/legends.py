"""Panels, legends and their notes, shared by all figures."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxbandit.experiments.grids.ranking import Representative, policy_groups
from jaxbandit.experiments.plots.canvas import new_figure
from jaxbandit.experiments.plots.style import Colour, Look, caption, lighter
from jaxbandit.experiments.statistics import metric_words, sample_size

if TYPE_CHECKING:
    import xarray as xr


_PANEL = 1.9  # the height of a panel, in inches


def panels(count: int) -> tuple[Figure, list[Axes]]:
    """A figure with a number of panels, three in a row, and their axes."""
    columns = min(3, count)
    rows = math.ceil(count / columns)
    figure, axes = new_figure(rows, columns, figsize=(2.6 * columns, _PANEL * rows))
    for axis in axes.flat[count:]:
        axis.set_visible(False)
    return figure, list(axes.flat[:count])


def legend(figure: Figure, axis: Axes, note: str, hidden: Collection[str] = (), last: Collection[str] = ()) -> None:
    """Draw the legend of a panel below all panels, and make the figure higher by its height.

    Args:
        note: the title of the legend, broken into lines where it is wider than the figure.
        hidden: labels that are left out.
        last: labels that come after the others.
    """
    handles, labels = axis.get_legend_handles_labels()
    pairs = [(h, label) for h, label in zip(handles, labels, strict=True) if label not in hidden]
    pairs.sort(key=lambda pair: pair[1] in last)
    texts = [wrapped(label, int((figure.get_figwidth() - 0.6) / 0.065)) for _, label in pairs]
    longest = max((len(line) for text in texts for line in text.splitlines()), default=0)
    columns = max(1, min(len(pairs), int(figure.get_figwidth() / (0.45 + 0.065 * longest))))
    lines = textwrap.wrap(note, int(figure.get_figwidth() / 0.05))
    per_column = math.ceil(len(pairs) / columns)
    tallest = max(
        (
            sum(text.count("\n") + 1 for text in texts[first : first + per_column])
            for first in range(0, len(texts), per_column)
        ),
        default=0,
    )
    figure.set_figheight(figure.get_figheight() + 0.17 * (1 + len(lines) + tallest))
    figure.legend(
        [handle for handle, _ in pairs],
        texts,
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        title="\n".join(lines),
        title_fontsize=7,
    )


def wrapped(label: str, width: int) -> str:
    """A label in lines of at most so many characters; one with mathematics stays as it is."""
    return label if "$" in label or len(label) <= width else textwrap.fill(label, width)


def axis_label(label: str, length: float = _PANEL) -> str:
    """The label of an axis in lines that fit a length in inches."""
    return wrapped(label, int(length / 0.067))


def sample_note(results: xr.Dataset, spread: str, ranking: str = "", line: str = "mean", more: str = "") -> str:
    """The note of a legend: what the means are over, what their bars or bands are, what ranks large groups.

    Args:
        spread: "bars", "band" or "bands"; empty for none.
        ranking: the metric that ranks the policies of a large group, in words; empty without such groups.
        line: the statistic of the runs that lines or points show.
        more: further words, before the ranking.
    """
    confidence = f", {spread}: 95 % confidence" if spread and results.sizes["seed"] > 1 else ""
    ranked = f"; ranked by {ranking} at T" if ranking else ""
    return f"{line} over {sample_size(results)}{confidence}{more}{ranked}"


def ranking_words(shown: Mapping[int, Representative], metric: str | None) -> str:
    """The metric that ranks large groups, in words; empty where there are none."""
    return metric_words(metric) if metric and any(policy.role for policy in shown.values()) else ""


def representative_looks(
    results: xr.Dataset, shown: Mapping[int, Representative], looks: Mapping[str, Look]
) -> list[tuple[str, Look]]:
    """The label and the look of each shown policy; of a large group, the best is darkest."""
    labels, groups = results.policy.values.tolist(), policy_groups(results)
    made: list[tuple[str, Look]] = []
    shades = dict.fromkeys(groups, 0.0)
    for position, (name, role) in shown.items():
        if not role:
            made.append((caption(name), looks[labels[position]]))
            continue
        first, last = (looks[labels[groups[name][end]]] for end in (0, -1))
        made.append((caption(f"{name}: {role}"), {**first, "color": lighter(last["color"], shades[name])}))
        shades[name] += 0.33
    return made


def group_colour(results: xr.Dataset, looks: Mapping[str, Look], group: str) -> Colour:
    """The colour of a group's darkest policy."""
    colour: Colour = looks[results.policy.values[policy_groups(results)[group][-1]]]["color"]
    return colour


def grid_families(results: xr.Dataset) -> list[str]:
    """The families with at least three policies."""
    return [family for family, size in Counter(results.family.values.tolist()).items() if size >= 3]


def inner_labels(results: xr.Dataset) -> frozenset[str]:
    """The labels that legends leave out: those of a grid between its first and its last, shades between theirs."""
    labels, families = results.policy.values, results.family.values
    inner = [label for family in grid_families(results) for label in labels[families == family][1:-1].tolist()]
    return frozenset(map(caption, inner))


def problem_values(results: xr.Dataset, name: str) -> np.ndarray:
    """A variable of the problem, `[policy, instance, arm]`, repeated where no grid varies it."""
    values = results[name]
    if "policy" not in values.dims:
        values = values.expand_dims(policy=results.sizes["policy"])
    return values.transpose("policy", "instance", "arm").values
