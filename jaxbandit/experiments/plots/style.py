"""How figures look: the colour, line and marker of each policy, panels and legends, and what matplotlib is set to."""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection
from typing import Any

import matplotlib
import matplotlib.mathtext
import matplotlib.pyplot as plt
import xarray as xr
from matplotlib.figure import Figure

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
_MARKERS = "osD^vPX<>*hd"
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
                marker = _MARKERS[numbers[family] % len(_MARKERS)]
                made[label] = {"color": tint(colour, shade), "linestyle": _DASHES[nth % len(_DASHES)], "marker": marker}
    return made


def tint(colour: Any, shade: float) -> tuple[float, ...]:
    """A colour, lighter: white where the shade is 1."""
    return tuple(c + (1 - c) * shade for c in matplotlib.colors.to_rgb(colour))


def caption(label: str) -> str:
    """A label as matplotlib takes it: an underscore in front would hide it, and between $ is only good mathematics."""
    text = f" {label}" if label.startswith("_") else label
    try:
        if "$" in text:
            matplotlib.mathtext.MathTextParser("path").parse(text)
    except ValueError:
        return text.replace("$", r"\$")
    return text


def panels(count: int) -> tuple[Figure, list[Any]]:
    """A figure of so many panels, three in a row, and their axes."""
    columns = min(3, count)
    rows = math.ceil(count / columns)
    figure, axes = plt.subplots(rows, columns, figsize=(2.6 * columns, 1.9 * rows), squeeze=False, layout="constrained")
    for axis in axes.flat[count:]:
        axis.set_visible(False)
    return figure, list(axes.flat[:count])


def legend(figure: Figure, axis: Any, note: str, hidden: Collection[str] = (), last: Collection[str] = ()) -> None:
    """The legend of a panel below all of them, the figure that much higher; `note` stands above it.

    Args:
        hidden: labels that are left out.
        last: labels that come after the others.
    """
    handles, labels = axis.get_legend_handles_labels()
    pairs = [(h, label) for h, label in zip(handles, labels, strict=True) if label not in hidden]
    pairs.sort(key=lambda pair: pair[1] in last)
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
