"""Figures that look the same everywhere: in scripts, in notebooks, and whatever matplotlib's settings are."""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from jaxbandit.experiments.plots.style import STYLE

P = ParamSpec("P")
R = TypeVar("R")

# Settings that are not about looks
_OF_THE_SESSION = ("backend", "interactive", "toolbar", "webagg", "tk.", "keymap", "date.", "figure.hooks")
# Tables of fonts that choose and place glyphs, as ligatures and kerning do; readers of PDF files do not use them
_PLACING = ("BASE", "GDEF", "GPOS", "GSUB", "MATH", "kern")


@contextlib.contextmanager
def house_style() -> Iterator[None]:
    """Within this context matplotlib has its own defaults with `STYLE` over them, whatever the user has set."""
    plt.get_backend()  # chooses a backend where none is named
    defaults = {
        name: value for name, value in matplotlib.rcParamsDefault.items() if not name.startswith(_OF_THE_SESSION)
    }
    interactive = matplotlib.is_interactive()
    try:
        with matplotlib.rc_context({**defaults, **STYLE}):
            try:
                yield
            finally:
                interactive = matplotlib.is_interactive()  # a backend that the environment names is loaded here
    finally:
        matplotlib.interactive(interactive)


def styled(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that draws a figure: it runs in `house_style`."""

    @functools.wraps(function)
    def drawn(*arguments: P.args, **keywords: P.kwargs) -> R:
        with house_style():
            return function(*arguments, **keywords)

    return drawn


class StyledFigure(Figure):
    """A figure that is drawn and saved in `house_style`, too, and that a notebook shows once."""

    def draw(self, renderer: Any) -> None:
        """Draw the figure with a renderer of matplotlib."""
        with house_style():
            super().draw(renderer)

    def savefig(self, *arguments: Any, **keywords: Any) -> None:
        """Save the figure, as `matplotlib.figure.Figure.savefig` does."""
        with house_style():
            super().savefig(*arguments, **keywords)

    def _repr_png_(self) -> bytes:
        """The figure as a notebook shows it where matplotlib does not draw into notebooks."""
        content = io.BytesIO()
        self.savefig(content, format="png", bbox_inches="tight")
        return content.getvalue()

    def _ipython_display_(self) -> None:
        """Show the figure as the value of a cell, and close it: at the end of the cell it would be shown again."""
        if "inline" not in plt.get_backend():
            raise NotImplementedError  # IPython's sign for: show it as other objects
        from IPython import get_ipython
        from IPython.display import publish_display_data

        shown: dict[str, Any] = {}
        for kind, formatter in get_ipython().display_formatter.formatters.items():
            made = formatter(self)
            if made is not None:
                shown[kind] = made[0] if isinstance(made, tuple) else made
        publish_display_data(shown)
        plt.close(self)


def new_figure(rows: int = 1, columns: int = 1, **keywords: Any) -> tuple[StyledFigure, np.ndarray]:
    """A figure with panels.

    Args:
        rows, columns: the number of panels.
        keywords: further arguments of `matplotlib.pyplot.subplots`.

    Returns:
        The figure, and its axes `[rows, columns]`.
    """
    layout = {"layout": "constrained", "squeeze": False, **keywords}
    figure, axes = plt.subplots(rows, columns, FigureClass=StyledFigure, **layout)
    return figure, axes


def save_all(figure: Figure, paths: Iterable[Path]) -> None:
    """Save a figure to several files, cut to what is drawn. Its layout is computed once, and stays as it is."""
    with house_style():
        layout = figure.get_layout_engine()
        if layout is not None:
            layout.execute(figure)
        figure.set_layout_engine(None)  # with any other layout, even "none", each file is laid out anew
        cut = figure.get_tightbbox().padded(matplotlib.rcParams["savefig.pad_inches"])
        with _small_fonts():
            for path in paths:
                figure.savefig(path, bbox_inches=cut)


@contextlib.contextmanager
def _small_fonts() -> Iterator[None]:
    """Within this context, the fonts in PDF files lack the tables that place glyphs: matplotlib has placed all of them.

    Reading these tables and reducing them to the glyphs of a figure takes more than half of the time of its fonts, and
    as much time as all else of a small PDF file. matplotlib has no setting for it.
    """
    from fontTools import subset  # late: figures that are not saved do not need it

    load = subset.load_font

    @functools.wraps(load)
    def load_small(*arguments: Any, **keywords: Any) -> Any:
        font = load(*arguments, **keywords)
        for table in _PLACING:
            if table in font:
                del font[table]
        return font

    subset.load_font = load_small
    try:
        yield
    finally:
        subset.load_font = load
