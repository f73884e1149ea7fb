"""The page and the figures of results: which there are, and making them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jaxbandit.core.files.output_names import PAGE

if TYPE_CHECKING:
    import xarray as xr

# matplotlib is imported in functions: a process that lets another one draw does without it.


@dataclass(frozen=True)
class Outputs:
    """The files that a run writes beside `results.nc` and, for a grid, `table.csv`.

    Attributes:
        figures: whether to draw the figures.
        page: whether to make `results.html`.
    """

    figures: bool = True
    page: bool = True


class BegunViews(NamedTuple):
    """The page and the figures of results, which are being made.

    Attributes:
        names: the names of their files.
        finish: returns their names when the files are complete; raises what making them raised.
    """

    names: list[str]
    finish: Callable[[], list[str]]


class View(NamedTuple):
    """A page, or a figure.

    Attributes:
        names: the names of its files.
        make: writes the files to a folder.
    """

    names: list[str]
    make: Callable[[Path], object]


Begin = Callable[["xr.Dataset", Path, str], BegunViews]  # as `begin`, for some outputs


def begin(outputs: Outputs, results: xr.Dataset, folder: Path, title: str) -> BegunViews:
    """The views of results, which this process makes when they are to be finished.

    Args:
        outputs: which views to make.
        results: the results of a run.
        folder: where the files are written.
        title: the title of the page.
    """
    page = [PAGE] if outputs.page else []

    def write_page() -> list[str]:
        if outputs.page:
            _write_page(results, title, folder)
        return page

    if not outputs.figures:
        return BegunViews(page, write_page)
    from jaxbandit.experiments.plots import figures

    def finish() -> list[str]:
        return write_page() + [path.name for path in figures.draw_all(results, folder)]

    return BegunViews(page + figures.file_names(results), finish)


def single_views(outputs: Outputs, results: xr.Dataset, title: str) -> list[View]:
    """The page and each figure, to be made one by one; arguments as for `begin`."""
    made: list[View] = []
    if outputs.page:
        made.append(View([PAGE], partial(_write_page, results, title)))
    if outputs.figures:
        from jaxbandit.experiments.plots import figures

        for name, draw in figures.drawings(results):
            made.append(View(figures.files(name), partial(figures.save, name, draw)))
    return made


def _write_page(results: xr.Dataset, title: str, folder: Path) -> None:
    from jaxbandit.experiments.dashboard.page import dashboard

    (folder / PAGE).write_text(dashboard(results, title=title).html, "utf-8")
