"""The look of figures: colours, lines and markers of policies, and matplotlib's settings."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import matplotlib.colors
import matplotlib.mathtext

from jaxbandit.experiments.statistics import checked_results

if TYPE_CHECKING:
    import xarray as xr

Look = dict[str, Any]  # keyword arguments of matplotlib: color, linestyle, marker
Colour = str | tuple[float, float, float]

# By kind, the same in every figure: colours of Okabe & Ito and of Tol, which colour-blind readers can tell apart.
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
# Of classes that are not in `COLOURS`; far from each other and from the colours that are used most.
_SPARE = ("#AA4499", "#00A5CF", "#6B8E23", "#FF7F6E", "#5C4033", "#9C89D9", "#00695C", "#E0559A")
_DASHES: list[Any] = ["-", "--", ":", "-.", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2, 2, 2))]
_MARKERS = "osD^vPX<>*hd"
_MATHEMATICS = re.compile(r"\$(?!\s)[^$]+(?<!\s)\$(?!\d)")
# matplotlib's settings for the figures of runs; `plt.rcParams.update(jb.plots.STYLE)` takes them for your own.
STYLE: Any = {  # its keys are literals to matplotlib's types
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


@checked_results
def styles(results: xr.Dataset) -> dict[str, Look]:
    """Colour, line style and marker of each policy, by label: keyword arguments of matplotlib's `plot`.

    The colour depends on the policy's kind. Classes of your own have colours that follow from their names; where two in
    the results would have the same one, the second takes the next. Families of one kind differ in dashes and markers;
    the points of a grid go from light to dark.

    Args:
        results: as `simulate` returns them.

    Returns:
        A dict from labels to dicts with `color`, `linestyle` and `marker`.

    Raises:
        InputError: `results` is not a dataset of `simulate`.

    Example:
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), ["ucb1", "moss"], horizon=99, seeds=50)
        >>> jb.plots.styles(results)["ucb1"]["marker"]
        'o'
    """
    kinds = _colours_of_kinds(results.kind.values.tolist())
    families: dict[str, list[str]] = {}
    colours: dict[str, list[str]] = {}
    for label, family, kind in zip(*(results[c].values.tolist() for c in ("policy", "family", "kind")), strict=True):
        if family not in families:
            colours.setdefault(kinds[kind], []).append(family)
        families.setdefault(family, []).append(label)
    numbers = {family: number for number, family in enumerate(families)}
    looks: dict[str, Look] = {}
    for colour, members in colours.items():
        for nth, family in enumerate(members):
            labels = families[family]
            for i, label in enumerate(labels):
                shade = 0.65 * (1 - i / (len(labels) - 1)) if len(labels) > 1 else 0.0
                looks[label] = {
                    "color": lighter(colour, shade),
                    "linestyle": _DASHES[nth % len(_DASHES)],
                    "marker": _MARKERS[numbers[family] % len(_MARKERS)],
                }
    return looks


def _colours_of_kinds(kinds: Iterable[str]) -> dict[str, str]:
    """The colour of each kind."""
    found: dict[str, str] = {}
    for kind in kinds:
        if kind not in found:
            first = zlib.crc32(kind.encode())
            spare = [_SPARE[(first + step) % len(_SPARE)] for step in range(len(_SPARE))]
            free = [colour for colour in spare if colour not in found.values()]
            found[kind] = COLOURS.get(kind) or (free or spare)[0]
    return found


def lighter(colour: Colour, shade: float) -> tuple[float, float, float]:
    """A lighter colour: the same for a shade of 0, white for 1."""
    red, green, blue = (c + (1 - c) * shade for c in matplotlib.colors.to_rgb(colour))
    return red, green, blue


def caption(label: str) -> str:
    """A label as matplotlib shows it.

    A label that begins with an underscore gets a space, or legends would leave it out. Dollar signs around text that is
    not mathematics are escaped: mathematics has no space after the first dollar sign and before the last, and no digit
    after it.
    """
    text = f" {label}" if label.startswith("_") else label
    if "$" not in text:
        return text
    try:
        matplotlib.mathtext.MathTextParser("path").parse(text)
        mathematics = "$" not in _MATHEMATICS.sub("", text)
    except ValueError:
        mathematics = False
    return text if mathematics else text.replace("$", r"\$")
