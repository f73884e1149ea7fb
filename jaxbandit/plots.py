"""Figures of a results dataset: regret curves with confidence bands, pull counts, and trade-offs of grids."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.mathtext
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from .metrics import METRICS
from .optimum import fair_allocation, penalized_allocation

# Okabe & Ito's colours and four of Tol's, told apart by colour-blind readers; a policy has its own everywhere.
COLOURS = {
    "ucb1": "#000000",
    "hard-threshold-ucb": "#0072B2",
    "lfg": "#E69F00",
    "fair-learn": "#D55E00",
    "fair-learn/thompson": "#CC79A7",
    "eta-fucb": "#009E73",
    "fcucb-d": "#1F4E9E",
    "fcts-d": "#C44E00",
    "op-fcucb-d": "#5AA9E6",
    "op-fcts-d": "#F2A65A",
    "cucb-d": "#444444",
    "fgreedy-d": "#8B5E3C",
    "opse": "#7F8C3A",
    "fair-mmab": "#0F7B6C",
    "fair-mmab/kl-ucb": "#C2185B",
    "ucb-lp": "#8C6D00",
    "ucb-pllp": "#6A51A3",
    "self-regulated": "#A8446A",
    "fairness-aware-etc": "#2E8B8B",
    "constant-opportunity": "#C9A227",
    "t-fucb": "#56B4E9",
    "soft-threshold-ucb": "#332288",
    "naive": "#999933",
    "kl-ucb": "#882255",
    "thompson": "#44AA99",
    "fair-random": "#888888",
    "moss": "#661100",
    "ucb-v": "#117733",
    "epsilon-greedy": "#7A5195",
    "explore-then-commit": "#B5651D",
    "successive-elimination": "#5F7A8A",
    "uniform-random": "#BBBBBB",
}
_SPARE = ("#AA4499", "#6699CC", "#AA4466", "#4477AA")
_DASHES: Any = ("-", "--", ":", "-.", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2, 2, 2)))
_MARKS = ("owed, τT", "optimal")
_MARKERS = "osD^vPX<>*hd"
CONFIDENCE = 1.96  # standard errors on each side: 95 %
STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.3,
    "figure.dpi": 200,
    "pdf.fonttype": 42,
}


def draw_all(results: xr.Dataset, folder: Path) -> list[Path]:
    """Draw every figure that the results have something for, as PNG and PDF, into an existing folder."""
    written = []
    with plt.rc_context(STYLE):
        for name, figure in figures(results):
            for suffix in (".png", ".pdf"):
                path = folder / f"{name}{suffix}"
                figure.savefig(path, bbox_inches="tight")
                written.append(path)
            plt.close(figure)
    return written


def figures(results: xr.Dataset) -> Iterator[tuple[str, Figure]]:
    """The figures by file name: `curves`, `pulls`, `tradeoff` where there is a grid, `phases` where there are any."""
    if recorded(results) and results.sizes["round"] > 1:
        yield "curves", curves(results)
    yield "pulls", pulls(results)
    if "unfairness" in results and "regret" in results and len(grids(results)) > 0:
        yield "tradeoff", tradeoff(results)
    if "phase_rounds" in results:
        yield "phases", phases(results)


def recorded(results: xr.Dataset) -> list[str]:
    """The metrics in the results, in the order of `METRICS`."""
    return [name for name in METRICS if name in results]


def grids(results: xr.Dataset) -> list[str]:
    """The families of at least three policies: grids over a parameter."""
    families = results.family.values.tolist()
    return [family for family in dict.fromkeys(families) if families.count(family) >= 3]


def styles(results: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Colour, line style and marker of each policy by label, for `plot`.

    The colour goes by the policy's kind and is the same in every figure; families of one colour differ in dashes and
    markers, the points of a grid go from light to dark.
    """
    families: dict[str, list[str]] = {}
    colours: dict[str, list[str]] = {}
    for label, family, kind in zip(*(results[c].values.tolist() for c in ("policy", "family", "kind")), strict=True):
        if family not in families:
            colour = COLOURS.get(kind) or _SPARE[zlib.crc32(kind.encode()) % len(_SPARE)]
            colours.setdefault(colour, []).append(family)
        families.setdefault(family, []).append(label)
    made = {}
    numbers = {family: number for number, family in enumerate(families)}
    for colour, members in colours.items():
        for nth, family in enumerate(members):
            labels = families[family]
            for i, label in enumerate(labels):
                shade = 0.65 * (1 - i / (len(labels) - 1)) if len(labels) > 1 else 0.0
                tint = tuple(c + (1 - c) * shade for c in matplotlib.colors.to_rgb(colour))
                marker = _MARKERS[numbers[family] % len(_MARKERS)]
                made[label] = {"color": tint, "linestyle": _DASHES[nth % len(_DASHES)], "marker": marker}
    return made


def mean_over_instances(results: xr.Dataset, metric: str) -> tuple[xr.DataArray, xr.DataArray]:
    """The mean over instances of the mean over seeds, and its standard error given the instances."""
    mean = results[metric].mean("instance")
    squares = (results[f"{metric}_stderr"].fillna(0.0) ** 2).sum("instance")
    error = squares**0.5 / results.sizes["instance"]
    return mean, error


def sample_size(results: xr.Dataset) -> str:
    """What the figure's means are over, in words."""
    n, j = results.sizes["seed"], results.sizes["instance"]
    runs = f"{n} run" + ("s" if n > 1 else "")
    return runs if j == 1 else f"{j} instances × {runs}"


def curves(results: xr.Dataset) -> Figure:
    """Every recorded metric against the round: mean over runs with its 95 % confidence band."""
    names = recorded(results)
    columns = min(3, len(names))
    rows = math.ceil(len(names) / columns)
    figure, axes = plt.subplots(rows, columns, figsize=(2.6 * columns, 1.9 * rows), squeeze=False, layout="constrained")
    looks = styles(results)
    for axis, name in zip(axes.flat, names, strict=False):
        mean, error = mean_over_instances(results, name)
        for label in results.policy.values.tolist():
            look = {k: looks[label][k] for k in ("color", "linestyle")}
            y, half = (a.sel(policy=label).values for a in (mean, CONFIDENCE * error))
            band(axis, results["round"].values, y, half, label=_caption(label), **look)
        axis.set_xlabel("round t")
        axis.set_ylabel(METRICS[name].label)
        axis.set_xlim(0, float(results["round"][-1]))
        axis.ticklabel_format(axis="x", style="sci", scilimits=(-3, 4), useMathText=True)
        axis.axhline(0, color="0.8", linewidth=0.6, zorder=0)
        if name == "max_deficit":  # below it every arm has its floor(tau t) rounds
            axis.axhline(1, color="0.5", linewidth=0.8, linestyle=(0, (2, 2)), zorder=0)
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    _legend(figure, axes.flat[0], _note(results, "band"), _between(results))
    return figure


def band(axis: Any, x: Any, y: Any, half: Any, **look: Any) -> None:
    """A curve, and around it a band of half the width `half` on each side."""
    axis.plot(x, y, **look)
    axis.fill_between(x, y - half, y + half, color=look["color"], alpha=0.2, linewidth=0)


def pulls(results: xr.Dataset) -> Figure:
    """How often each arm was played by the horizon: mean over runs, with what fairness asks and what is optimal.

    With several instances the arms of each are sorted by their means, the best first.
    """
    counts, means = results.pulls, results.means
    several = results.sizes["instance"] > 1
    order = np.argsort(-means.values, axis=1, kind="stable") if several else None

    def sort(values: np.ndarray) -> np.ndarray:
        return values if order is None else np.take_along_axis(values, order, axis=1)

    horizon = float(results["round"][-1])
    per_arm = np.stack([sort(m) for m in counts.mean("seed").values])
    spread = np.stack([sort(s) for s in counts.std("seed", ddof=1 if counts.sizes["seed"] > 1 else 0).values])
    error = spread / math.sqrt(counts.sizes["seed"])
    j = results.sizes["instance"]
    average, half = per_arm.mean(1), CONFIDENCE * np.sqrt((error**2).sum(1)) / j
    policies, arms = results.policy.values.tolist(), results.sizes["arm"]
    figure, axis = plt.subplots(
        figsize=(max(3.4, min(7.0, 0.13 * len(policies) * arms + 1.5)), 2.2), layout="constrained"
    )
    looks = styles(results)
    offsets = (np.arange(len(policies)) - (len(policies) - 1) / 2) * 0.8 / max(len(policies), 2)
    for label, y, e, offset in zip(policies, average, half, offsets, strict=True):
        look = {k: looks[label][k] for k in ("color", "marker")}
        axis.errorbar(
            np.arange(arms) + offset, y, e, label=_caption(label), ls="", markersize=3, elinewidth=0.8, **look
        )
    _targets(axis, results, sort, horizon)
    axis.set_yscale("symlog", linthresh=1)  # an arm may never be played
    axis.set_ylim(min(0.7 * average.min(), horizon), horizon * 1.4)
    axis.set_xticks(np.arange(arms))
    if not several and arms <= 12:
        axis.set_xticklabels([f"{k}\n{mu:g}" for k, mu in enumerate(means.values[0].round(3))])
        axis.set_xlabel("arm, and its mean reward")
    else:
        axis.set_xlabel("arm, from the best to the worst of its instance" if several else "arm")
    axis.set_ylabel(f"selections by T = {horizon:,.0f}")
    _legend(figure, axis, _note(results, "bars"), _between(results))
    return figure


def _targets(axis: Any, results: xr.Dataset, sort: Any, horizon: float) -> None:
    """Marks for what each arm is owed and what a prophet would play."""
    if "fractions" not in results:
        return
    tau, mu, plays = results.fractions.values, results.means.values, int(results.attrs.get("plays", 1))
    best = fair_allocation(mu.T, tau.T, plays)
    if "penalties" in results and plays == 1:
        best = penalized_allocation(mu.T, tau.T, results.penalties.values.T)
    arms = np.arange(mu.shape[1])
    owed, optimal = (sort(x).mean(0) * horizon for x in (tau, best.T))
    axis.hlines(owed, arms - 0.45, arms + 0.45, color="0.55", linewidth=0.8, linestyle="--", label=_MARKS[0])
    axis.hlines(optimal, arms - 0.45, arms + 0.45, color="0.25", linewidth=0.8, label=_MARKS[1])


def tradeoff(results: xr.Dataset) -> Figure:
    """Expected reward against unfairness at the horizon, a line through the points of each grid (000 Fig. 4)."""
    figure, axis = plt.subplots(figsize=(3.4, 2.2), layout="constrained")
    horizon = int(results["round"][-1])
    plays = results.attrs.get("plays", 1)
    ideal = horizon * np.sort(results.means.values, axis=1)[:, -plays:].sum(1).mean()
    regret, regret_error = (a.isel(round=-1) for a in mean_over_instances(results, "regret"))
    unfair, unfair_error = (a.isel(round=-1) for a in mean_over_instances(results, "unfairness"))
    looks = styles(results)
    for family in dict.fromkeys(results.family.values.tolist()):
        members = results.policy.values[results.family.values == family].tolist()
        x, y, dx, dy = (a.sel(policy=members).values for a in (unfair, ideal - regret, unfair_error, regret_error))
        order = np.argsort(x)
        look = {k: looks[members[-1]][k] for k in ("color", "linestyle", "marker")}
        xerr, yerr = CONFIDENCE * dx[order], CONFIDENCE * dy[order]
        axis.errorbar(x[order], y[order], yerr, xerr, markersize=3, elinewidth=0.7, label=_caption(family), **look)
    axis.set_xlabel("unfairness (missed rounds)")
    axis.set_ylabel("expected reward, " + r"$\sum_k \mu_k N_k(T)$")
    axis.set_title(f"T = {horizon:,}", loc="left")
    _legend(figure, axis, _note(results, "bars"))
    return figure


def phases(results: xr.Dataset) -> Figure:
    """The share of the rounds that each policy spends in each of its phases, means over runs (004 Fig. 2)."""
    spent = results.phase_rounds.where(results.phase_rounds >= 0).mean(("instance", "seed")) / float(
        results["round"][-1]
    )
    shown = spent.sel(policy=spent.notnull().any("phase"))
    labels = shown.policy.values.tolist()
    height = 0.8 + 0.42 * len(labels)
    figure, axis = plt.subplots(figsize=(5.2, height), layout="constrained")
    looks = styles(results)
    for row, label in enumerate(labels):
        left, shares = 0.0, shown.sel(policy=label).dropna("phase").values
        for number, share in enumerate(shares):
            shade = 0.75 * (1 - number / max(len(shares) - 1, 1))  # from light, the first, to the policy's own colour
            colour = tuple(c + (1 - c) * shade for c in matplotlib.colors.to_rgb(looks[label]["color"]))
            axis.barh(row, share, left=left, color=colour, edgecolor="white", linewidth=0.6, height=0.7)
            if share > 0.045:
                ink = "white" if sum(colour) < 1.4 else "black"
                name = str(results.phase_name.sel(policy=label).values[number])
                text = f"{share:.0%}\n{name}" if share > 0.018 * len(name) else f"{share:.0%}"
                axis.text(left + share / 2, row, text, ha="center", va="center", color=ink, fontsize=6.5)
            left += share
    axis.set_yticks(range(len(labels)), map(_caption, labels))
    axis.invert_yaxis()
    axis.set_xlim(0, 1)
    axis.set_xlabel(
        f"share of the T = {float(results['round'][-1]):,.0f} rounds, {_note(results, 'bars').split(',')[0]}"
    )
    return figure


def _caption(label: str) -> str:
    """A label as matplotlib takes it: an underscore in front would hide it, and between $ is only good mathematics."""
    text = f" {label}" if label.startswith("_") else label
    try:
        if "$" in text:
            matplotlib.mathtext.MathTextParser("path").parse(text)
    except ValueError:
        return text.replace("$", r"\$")
    return text


def _legend(figure: Figure, axis: Any, note: str, hidden: frozenset[str] = frozenset()) -> None:
    handles, labels = axis.get_legend_handles_labels()
    pairs = [(h, label) for h, label in zip(handles, labels, strict=True) if label not in hidden]
    pairs.sort(key=lambda pair: pair[1] in _MARKS)
    longest = max(len(label) for _, label in pairs)
    columns = max(1, min(len(pairs), int(figure.get_figwidth() / (0.45 + 0.065 * longest))))
    figure.set_figheight(figure.get_figheight() + 0.17 * (2 + math.ceil(len(pairs) / columns)))
    figure.legend(
        *zip(*pairs, strict=True),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        title=note,
        title_fontsize=7,
    )


def _note(results: xr.Dataset, spread: str) -> str:
    shown = f", {spread}: 95 % confidence" if results.sizes["seed"] > 1 else ""
    return f"mean over {sample_size(results)}{shown}"


def _between(results: xr.Dataset) -> frozenset[str]:
    """The labels that a legend leaves out: a grid's points between its first and last, as are their shades."""
    labels, families = results.policy.values, results.family.values
    return frozenset(_caption(label) for grid in grids(results) for label in labels[families == grid][1:-1].tolist())
