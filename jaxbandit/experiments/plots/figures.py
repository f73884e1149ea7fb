"""Figures of results (`jb.plots`): curves, selections, trade-offs, phases, and sweeps and heat maps of grids.

Each function takes the dataset that `jb.simulate` returns and gives a matplotlib `Figure`. The figures look the same in
scripts and in notebooks: they follow `STYLE`, which holds matplotlib's settings for them, and not
`matplotlib.rcParams`. For figures of your own, `COLOURS` has the colour of each kind of policy, and `styles` gives the
look of each policy in the results.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt

from jaxbandit.core.files.output_names import SUFFIXES
from jaxbandit.experiments.grids.parameters import MOST_SHOWN
from jaxbandit.experiments.grids.ranking import policy_groups
from jaxbandit.experiments.plots.arms import pulls
from jaxbandit.experiments.plots.canvas import save_all
from jaxbandit.experiments.plots.heat_maps import drawable_families, heat_map, heat_maps
from jaxbandit.experiments.plots.legends import grid_families
from jaxbandit.experiments.plots.lines import curves, metrics_with_runs
from jaxbandit.experiments.plots.phase_bars import phases
from jaxbandit.experiments.plots.selection_fractions import has_selection_fractions, selection_fractions
from jaxbandit.experiments.plots.style import COLOURS, STYLE, styles
from jaxbandit.experiments.plots.sweeps import drawable_parameters, sweep
from jaxbandit.experiments.plots.tradeoffs import tradeoff
from jaxbandit.experiments.statistics import (
    check_all_seeds,
    check_last_round,
    checked_results,
    recorded_metrics,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "STYLE",
    "curves",
    "draw_all",
    "figures",
    "heat_map",
    "heat_maps",
    "phases",
    "pulls",
    "selection_fractions",
    "styles",
    "sweep",
    "tradeoff",
]


def __dir__() -> list[str]:
    return list(__all__)


@checked_results
def draw_all(results: xr.Dataset, folder: str | Path) -> list[Path]:
    """Write every figure of the results as PNG and PDF.

    Args:
        results: as `simulate` returns them.
        folder: an existing folder.

    Returns:
        The files: `curves.png`, `curves.pdf`, ..., named as `figures` names the figures.

    Raises:
        InputError: `results` is not a dataset of `simulate`, or seeds or rounds before T were selected from it.
        OSError: a file cannot be written.

    Example:
        >>> import tempfile
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), ["ucb1", "moss"], horizon=99, seeds=50)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in jb.plots.draw_all(results, folder)]
        ['curves.png', 'curves.pdf', 'pulls.png', 'pulls.pdf', 'selection-fractions.png', 'selection-fractions.pdf']
    """
    check_all_seeds(results)  # before a file is written
    check_last_round(results)
    return [path for name, draw in drawings(results) for path in save(name, draw, Path(folder))]


@checked_results
def file_names(results: xr.Dataset) -> list[str]:
    """The names of the files that `draw_all` writes."""
    return [file for name, _ in drawings(results) for file in files(name)]


def save(name: str, draw: Callable[[], Figure], folder: Path) -> list[Path]:
    """Draw a figure, and write its files."""
    figure, paths = draw(), [folder / file for file in files(name)]
    save_all(figure, paths)
    plt.close(figure)
    return paths


def files(name: str) -> list[str]:
    """The names of the files of a figure."""
    return [f"{name}{suffix}" for suffix in SUFFIXES]


@checked_results
def figures(results: xr.Dataset) -> Iterator[tuple[str, Figure]]:
    """Draw every figure of the results.

    Args:
        results: as `simulate` returns them.

    Returns:
        Names and figures, each drawn when the iterator reaches it:
            `curves`, if metrics are recorded in at least two rounds;
            `quantiles`: curves with `band="quantiles"`, if the curves of every run are kept in at least two rounds;
            `pulls`;
            `selection-fractions`, if the results have `pulls_mean` in at least two rounds;
            `tradeoff`, if `regret` and `unfairness` are recorded, and there is a grid of at least three policies or
            a group of more than 24 policies of one kind;
            `phases`, if a policy has phases;
            `sweep`, if metrics are recorded and a family varies one parameter alone, over at least three values; with
            several such parameters, `sweep-<parameter>`;
            `heat-maps`, if metrics are recorded and a family varies exactly two parameters; with several such families,
            `heat-maps-<family>`.

    Raises:
        InputError: `results` is not a dataset of `simulate`.

    Example:
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), ["ucb1", "moss"], horizon=99, seeds=50)
        >>> [name for name, figure in jb.plots.figures(results)]
        ['curves', 'pulls', 'selection-fractions']
    """
    return ((name, draw()) for name, draw in drawings(results))


def drawings(results: xr.Dataset) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """The name and the drawing function of each figure; `core.files.output_names` knows the names."""
    if recorded_metrics(results) and results.sizes["round"] > 1:
        yield "curves", partial(curves, results)
        if metrics_with_runs(results):
            yield "quantiles", partial(curves, results, band="quantiles")
    yield "pulls", partial(pulls, results)
    if has_selection_fractions(results):
        yield "selection-fractions", partial(selection_fractions, results)
    large = any(len(positions) > MOST_SHOWN for positions in policy_groups(results).values())
    if "unfairness" in results and "regret" in results and (grid_families(results) or large):
        yield "tradeoff", partial(tradeoff, results)
    if "phase_rounds" in results:
        yield "phases", partial(phases, results)
    if not recorded_metrics(results):
        return
    swept = drawable_parameters(results)
    for name, x in zip(_distinct_names("sweep", swept), swept, strict=True):
        yield name, partial(sweep, results, x)
    maps = drawable_families(results)
    names = _distinct_names("heat-maps", [family for family, _, _ in maps])
    for name, (family, x, y) in zip(names, maps, strict=True):
        yield name, partial(heat_maps, results, x, y, family)


def _distinct_names(kind: str, labels: list[str]) -> list[str]:
    """Names for figures of one kind: letters, digits, dots and dashes; different ones where upper case is ignored."""
    if len(labels) == 1:
        return [kind]
    made: list[str] = []
    for number, label in enumerate(labels):
        plain = re.sub(r"[^A-Za-z0-9.]+", "-", label).strip("-.")[:60]
        name = f"{kind}-{plain}" if plain else f"{kind}-{number}"
        made.append(f"{name}-{number}" if name.casefold() in map(str.casefold, made) else name)
    return made
