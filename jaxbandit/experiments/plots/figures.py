"""Figures of a results dataset: regret curves with confidence bands, pull counts, trade-offs and heat maps of grids.

Of a group of more than `grids.MANY` policies (a grid, or policies of one kind) curves, pulls and phases show three: the
best, the median and the worst.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from jaxbandit.core.errors import InputError, unknown_name
from jaxbandit.core.files.output_names import SUFFIXES
from jaxbandit.experiments.plots.heat_maps import drawable, heat_maps, scale
from jaxbandit.experiments.plots.heat_maps import heat_map as heat_map
from jaxbandit.experiments.plots.style import COLOURS as COLOURS
from jaxbandit.experiments.plots.style import STYLE, caption, legend, panels, styles, tint
from jaxbandit.experiments.plots.sweeps import sweep, swept_alone
from jaxbandit.experiments.statistics import (
    CONFIDENCE,
    chosen,
    mean_over_instances,
    of_results,
    recorded,
    sample_size,
)
from jaxbandit.experiments.tables import MANY, few, groups, leading, parameters, varying
from jaxbandit.metrics.definitions import METRICS
from jaxbandit.metrics.optimal_allocations import fair_allocation, penalized_allocation

_MARKS = ("owed, τT", "optimal")


@of_results
def draw_all(results: xr.Dataset, folder: Path) -> list[Path]:
    """Draw every figure that the results have something for, as PNG and PDF, into an existing folder."""
    written = []
    with plt.rc_context(STYLE):
        for name, figure in figures(results):
            for suffix in SUFFIXES:
                path = folder / f"{name}{suffix}"
                figure.savefig(path, bbox_inches="tight")
                written.append(path)
            plt.close(figure)
    return written


def files(results: xr.Dataset) -> list[str]:
    """The names of the files that `draw_all` writes."""
    return [f"{name}{suffix}" for name, _ in _drawings(results) for suffix in SUFFIXES]


def figures(results: xr.Dataset) -> Iterator[tuple[str, Figure]]:
    """The figures that the results have something for, by file name.

    `curves`; `pulls`; `tradeoff` where there is a grid; `phases` where there are any; `sweep` where a family varies one
    parameter alone, or `sweep-<parameter>` where there are several such; `heat-maps` where a family varies two, or
    `heat-maps-<family>` where several do.
    """
    return ((name, draw()) for name, draw in _drawings(results))


def _drawings(results: xr.Dataset) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """What `figures` gives, not drawn yet; names as `outputs` knows them."""
    if recorded(results) and results.sizes["round"] > 1:
        yield "curves", partial(curves, results)
    yield "pulls", partial(pulls, results)
    swept_any = len(swept(results)) > 0 or any(len(places) > MANY for places in groups(results).values())
    if "unfairness" in results and "regret" in results and swept_any:
        yield "tradeoff", partial(tradeoff, results)
    if "phase_rounds" in results:
        yield "phases", partial(phases, results)
    if not recorded(results):
        return
    alone = swept_alone(results)
    for name, x in zip(_file_names("sweep", alone), alone, strict=True):
        yield name, partial(sweep, results, x)
    maps = list(drawable(results))
    for name, (family, x, y) in zip(_file_names("heat-maps", [family for family, _, _ in maps]), maps, strict=True):
        yield name, partial(heat_maps, results, x, y, family)


def _file_names(kind: str, labels: list[str]) -> list[str]:
    """Names of files for figures of one kind: letters, digits, dots and dashes, no two alike on any system."""
    if len(labels) == 1:
        return [kind]
    made: list[str] = []
    for number, label in enumerate(labels):
        plain = re.sub(r"[^A-Za-z0-9.]+", "-", label).strip("-.")[:60]
        name = f"{kind}-{plain}" if plain else f"{kind}-{number}"
        made.append(f"{name}-{number}" if name.casefold() in map(str.casefold, made) else name)
    return made


def swept(results: xr.Dataset) -> list[str]:
    """The families of at least three policies: grids over a parameter."""
    families = results.family.values.tolist()
    return [family for family, size in Counter(families).items() if size >= 3]


@of_results
def curves(results: xr.Dataset, metrics: Sequence[str] | None = None) -> Figure:
    """Metrics against the round: mean over runs with its 95 % confidence band.

    Of a large group each panel shows the best, the median and the worst by its own metric at T, and names the best.

    Args:
        results: as `simulate` returns them.
        metrics: names of metrics in the results; default: all.

    Raises:
        InputError: a metric that the results do not hold.
    """
    names = chosen(results, metrics)
    if not names:
        raise InputError("metrics", names, "at least one metric")
    figure, axes = panels(len(names))
    looks = styles(results)
    for axis, name in zip(axes, names, strict=True):
        shown = few(results, name)
        part = results[[name, f"{name}_stderr"]].isel(policy=list(shown))
        mean, error = (a.transpose("policy", "round").values for a in mean_over_instances(part, name))
        drawn = _looks(results, shown, looks)
        for (label, look), y, half in zip(drawn, mean, CONFIDENCE * error, strict=True):
            kept = {k: look[k] for k in ("color", "linestyle")}
            band(axis, results["round"].values, y, half, label=label, **kept)
        _name_best(axis, results, shown, drawn)
        axis.set_xlabel("round t")
        axis.set_ylabel(METRICS[name].label)
        axis.set_xlim(0, float(results["round"][-1]))
        axis.ticklabel_format(axis="x", style="sci", scilimits=(-3, 4), useMathText=True)
        axis.axhline(0, color="0.8", linewidth=0.6, zorder=0)
        if name == "max_deficit":  # below it every arm has its floor(tau t) rounds
            axis.axhline(1, color="0.5", linewidth=0.8, linestyle=(0, (2, 2)), zorder=0)
    by = "each panel's metric" if any(place for _, place in few(results, names[0]).values()) else ""
    legend(figure, axes[0], _note(results, "band", by), _between(results))
    return figure


def _looks(results: xr.Dataset, shown: dict[int, tuple[str, str]], looks: Any) -> list[tuple[str, dict[str, Any]]]:
    """The legend's word and the look of each policy that `grids.few` chose; of a large group the best is darkest."""
    labels, held = results.policy.values.tolist(), groups(results)
    made, lighter = [], dict.fromkeys(held, 0.0)
    for place, (name, role) in shown.items():
        if not role:
            made.append((caption(name), looks[labels[place]]))
            continue
        first, last = (looks[labels[held[name][end]]] for end in (0, -1))
        made.append((caption(f"{name}: {role}"), {**first, "color": tint(last["color"], lighter[name])}))
        lighter[name] += 0.33
    return made


def _name_best(axis: Any, results: xr.Dataset, shown: dict[int, tuple[str, str]], drawn: Any) -> None:
    """Above a panel the point of each large group that is best in it, in the group's colour, where these are few."""
    firsts = [
        (caption(str(results.policy.values[place]).removeprefix(name).strip(" ()")), look["color"])
        for (place, (name, role)), (_, look) in zip(shown.items(), drawn, strict=True)
        if role.startswith("best")
    ]
    if len(firsts) > 3:
        return
    for line, (point, colour) in enumerate(reversed(firsts)):
        text = f"best: {point}" if len(point) <= 44 else f"best: {point[:43]}…"
        place: Any = {"xycoords": "axes fraction", "xytext": (0, 3 + 7 * line), "textcoords": "offset points"}
        axis.annotate(text, (0, 1), fontsize=6, color=colour, **place)


def band(axis: Any, x: Any, y: Any, half: Any, **look: Any) -> None:
    """A curve, and around it a band of half the width `half` on each side."""
    axis.plot(x, y, **look)
    axis.fill_between(x, y - half, y + half, color=look["color"], alpha=0.2, linewidth=0)


@of_results
def pulls(results: xr.Dataset) -> Figure:
    """How often each arm was played by the horizon: mean over runs, with what fairness asks and what is optimal.

    With several instances the arms of each are sorted by their means, the best first. Where a grid varies the problem,
    what fairness asks and what is optimal are left out if they differ.
    """
    metric = leading(results)
    shown = few(results, metric)
    drawn = _looks(results, shown, styles(results))
    part = results.isel(policy=list(shown))
    means = _of_each(part, "means")
    several = results.sizes["instance"] > 1
    order = np.argsort(-means, axis=2, kind="stable") if several else None

    def sort(values: np.ndarray) -> np.ndarray:
        return values if order is None else np.take_along_axis(values, order, axis=2)

    horizon = float(results["round"][-1])
    per_arm = sort(part.pulls.mean("seed").values)
    spread = sort(part.pulls.std("seed", ddof=1 if part.sizes["seed"] > 1 else 0).values)
    error = spread / math.sqrt(part.sizes["seed"])
    average, half = per_arm.mean(1), CONFIDENCE * np.sqrt((error**2).sum(1)) / part.sizes["instance"]
    arms = results.sizes["arm"]
    figure, axis = plt.subplots(figsize=(max(3.4, min(7.0, 0.13 * len(drawn) * arms + 1.5)), 2.2), layout="constrained")
    offsets = (np.arange(len(drawn)) - (len(drawn) - 1) / 2) * 0.8 / max(len(drawn), 2)
    for (label, look), y, e, offset in zip(drawn, average, half, offsets, strict=True):
        kept = {k: look[k] for k in ("color", "marker")}
        axis.errorbar(np.arange(arms) + offset, y, e, label=label, linestyle="", markersize=3, elinewidth=0.8, **kept)
    _targets(axis, part, means, sort, horizon)
    axis.set_yscale("symlog", linthresh=1)  # an arm may never be played
    axis.set_ylim(min(0.7 * average.min(), horizon), horizon * 1.4)
    axis.set_xticks(np.arange(arms))
    if not several and arms <= 12 and (means == means[0]).all():
        axis.set_xticklabels([f"{k}\n{mu:g}" for k, mu in enumerate(means[0, 0].round(3))])
        axis.set_xlabel("arm, and its mean reward")
    else:
        axis.set_xlabel("arm, from the best to the worst of its instance" if several else "arm")
    axis.set_ylabel(f"selections by T = {horizon:,.0f}")
    legend(figure, axis, _note(results, "bars", _ranking(shown, metric)), _between(results), last=_MARKS)
    return figure


def _of_each(results: xr.Dataset, name: str) -> np.ndarray:
    """What the problem is to each policy, `[policy, instance, arm]`: it varies among them where a grid varies it."""
    held = results[name]
    if "policy" not in held.dims:
        held = held.expand_dims(policy=results.sizes["policy"])
    return held.transpose("policy", "instance", "arm").values


def _targets(axis: Any, results: xr.Dataset, mu: np.ndarray, sort: Any, horizon: float) -> None:
    """Marks for what each arm is owed and what a prophet would play, where these are the same to all policies."""
    if "fractions" not in results:
        return
    tau, plays = _of_each(results, "fractions"), int(results.attrs.get("plays", 1))
    if "penalties" in results and plays == 1:
        penalty_rates = _of_each(results, "penalties")
        best = np.stack([penalized_allocation(m.T, t.T, p.T).T for m, t, p in zip(mu, tau, penalty_rates, strict=True)])
    else:
        best = np.stack([fair_allocation(m.T, t.T, plays).T for m, t in zip(mu, tau, strict=True)])
    arms = np.arange(mu.shape[2])
    looks: Any = ({"color": "0.55", "linestyle": "--"}, {"color": "0.25"})
    for shares, label, look in zip((tau, best), _MARKS, looks, strict=True):
        heights = sort(shares).mean(1) * horizon
        if np.allclose(heights, heights[0]):
            axis.hlines(heights[0], arms - 0.45, arms + 0.45, linewidth=0.8, label=label, **look)


@of_results
def tradeoff(results: xr.Dataset, colour: str | None = None) -> Figure:
    """Expected reward against unfairness at the horizon, a line through the points of each grid (000 Fig. 4).

    A grid of many points is a cloud, its colour a parameter, with a line through those that no other one beats in both.

    Args:
        results: as `simulate` returns them.
        colour: the parameter that a cloud's colour tells, of `grids.parameters(results)`; default: the first number
            that varies.

    Raises:
        InputError: a parameter that is not in the results.
    """
    if colour is not None and colour not in parameters(results):
        raise unknown_name("colour", colour, parameters(results))
    figure, axis = plt.subplots(figsize=(3.4, 2.2), layout="constrained")
    horizon = int(results["round"][-1])
    plays = results.attrs.get("plays", 1)
    ideal = horizon * np.sort(_of_each(results, "means"), axis=2)[..., -plays:].sum(2).mean(1)
    last = results.isel(round=-1)
    regret, regret_error = (a.values for a in mean_over_instances(last, "regret"))
    unfair, unfair_error = (a.values for a in mean_over_instances(last, "unfairness"))
    reward = ideal - regret
    labels, families, looks = results.policy.values, results.family.values, styles(results)
    clouded = np.zeros(len(labels), bool)
    for name, places in groups(results).items():
        if len(places) > MANY:
            clouded[places] = True
            look = looks[labels[places[-1]]]
            cloud(axis, results.isel(policy=places), unfair[places], reward[places], name, look, colour)
    for family in dict.fromkeys(families[~clouded].tolist()):
        places = np.flatnonzero((families == family) & ~clouded)
        places = places[np.argsort(unfair[places])]
        look = {k: looks[labels[families == family][-1]][k] for k in ("color", "linestyle", "marker")}
        xerr, yerr = CONFIDENCE * unfair_error[places], CONFIDENCE * regret_error[places]
        axis.errorbar(
            unfair[places], reward[places], yerr, xerr, markersize=3, elinewidth=0.7, label=caption(family), **look
        )
    axis.set_xlabel("unfairness (missed rounds)")
    axis.set_ylabel("expected reward, " + r"$\sum_k \mu_k N_k(T)$")
    axis.set_title(f"T = {horizon:,}", loc="left")
    legend(figure, axis, _note(results, "" if clouded.all() else "bars"))
    return figure


def cloud(axis: Any, part: xr.Dataset, x: Any, y: Any, name: str, look: dict[str, Any], colour: str | None) -> None:
    """The points of a grid, light to dark by a parameter, with a line through those of little x and much y."""
    numbers = [p for p in varying(part).get(name, []) if np.issubdtype(part[p].dtype, np.number)]
    told = colour if colour in numbers else next(iter(numbers), None)
    tints: Any = {"color": [tint(look["color"], 0.4)]}
    if told is not None:
        values = part[told].values
        shades = LinearSegmentedColormap.from_list(name, [tint(look["color"], 0.85), look["color"]])
        tints = {"c": values, "cmap": shades, "norm": scale(values[np.isfinite(values)])}
    small = len(x) > 1000
    size, marker = (3 if small else 8), look["marker"]
    points = axis.scatter(x, y, s=size, marker=marker, linewidths=0, rasterized=small, zorder=1, **tints)
    if told is not None:
        bar = axis.figure.colorbar(points, ax=axis, label=caption(f"{told}, {name}"))
        bar.outline.set_visible(False)
        axis.figure.set_figwidth(axis.figure.get_figwidth() + 0.7)
    order = np.lexsort((-y, x))
    front = order[np.flatnonzero(np.diff(np.maximum.accumulate(y[order]), prepend=-np.inf) > 0)]
    axis.plot(
        x[front], y[front], color=look["color"], linewidth=0.8, label=caption(f"{name}: front of {len(x):,}"), zorder=2
    )


@of_results
def phases(results: xr.Dataset) -> Figure:
    """The share of the rounds that each policy spends in each of its phases, means over runs (004 Fig. 2)."""
    if "phase_rounds" not in results:
        raise InputError("results", results.kind.values.tolist(), "a policy that plays in phases, as self-regulated")
    having = (results.phase_rounds >= 0).any(("instance", "seed", "phase")).values
    results = results.isel(policy=having)
    metric = leading(results)
    shown = few(results, metric)
    drawn = _looks(results, shown, styles(results))
    part = results.isel(policy=list(shown))
    rounds = part.phase_rounds
    spent = rounds.where(rounds >= 0).mean(("instance", "seed")) / float(results["round"][-1])
    height = 0.8 + 0.42 * len(drawn)
    figure, axis = plt.subplots(figsize=(5.2, height), layout="constrained")
    for row, (_, look) in enumerate(drawn):
        left, shares = 0.0, spent[row].dropna("phase").values
        for number, share in enumerate(shares):
            # from light, the first, to the policy's own colour
            colour = tint(look["color"], 0.75 * (1 - number / max(len(shares) - 1, 1)))
            axis.barh(row, share, left=left, color=colour, edgecolor="white", linewidth=0.6, height=0.7)
            if share > 0.045:
                ink = "white" if sum(colour) < 1.4 else "black"
                name = str(part.phase_name.values[row, number])
                text = f"{share:.0%}\n{name}" if share > 0.018 * len(name) else f"{share:.0%}"
                axis.text(left + share / 2, row, text, ha="center", va="center", color=ink, fontsize=6.5)
            left += share
    axis.set_yticks(range(len(drawn)), [label for label, _ in drawn])
    axis.invert_yaxis()
    axis.set_xlim(0, 1)
    axis.set_xlabel(
        f"share of the T = {float(results['round'][-1]):,.0f} rounds, {_note(results, '', _ranking(shown, metric))}"
    )
    return figure


def _note(results: xr.Dataset, spread: str, by: str = "") -> str:
    """What is shown: means over what, what their bars or bands are, and what ranks the policies of a large group."""
    confidence = f", {spread}: 95 % confidence" if spread and results.sizes["seed"] > 1 else ""
    ranking = f"; ranked by {by} at T" if by else ""
    return f"mean over {sample_size(results)}{confidence}{ranking}"


def _ranking(shown: dict[int, tuple[str, str]], metric: str | None) -> str:
    """The metric that ranks a large group's policies, in words, where there is one."""
    return metric.replace("_", " ") if metric and any(role for _, role in shown.values()) else ""


def _between(results: xr.Dataset) -> frozenset[str]:
    """The labels that a legend leaves out: a grid's points between its first and last, as are their shades."""
    labels, families = results.policy.values, results.family.values
    return frozenset(caption(label) for grid in swept(results) for label in labels[families == grid][1:-1].tolist())
