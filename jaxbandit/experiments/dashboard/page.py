"""The page of results: `dashboard`, and the file `results.html`."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxbandit.core.errors import InputError, WriteError
from jaxbandit.core.files.atomic_write import write_atomically
from jaxbandit.core.input_values import is_whole_number, to_python
from jaxbandit.experiments.dashboard.contents import contents
from jaxbandit.experiments.statistics import checked_results

if TYPE_CHECKING:
    import xarray as xr

_ASSETS = Path(__file__).parent / "assets"
_SCRIPTS = (
    *("uplot/uplot.min.js", "data.js", "numbers.js", "view_state.js", "elements.js", "axes.js", "points.js"),
    *("line_charts.js", "views/curves.js", "views/arms.js", "views/clouds.js", "views/grids.js", "views/table.js"),
    "main.js",
)
_HEIGHT = 760  # pixels of the frame in a notebook
# What the page may load: nothing from elsewhere.
_POLICY = (
    "connect-src 'none'; img-src data: blob:; font-src 'none'; object-src 'none'; frame-src 'none'; base-uri 'none'"
)


class Dashboard:
    """A page of results; `dashboard` makes it. As the last expression of a notebook cell it is shown in a frame.

    Attributes:
        html: the page, one text without references to other files.
        height: the height of the frame in a notebook, in pixels.

    Example:
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), ["ucb1", "moss"], horizon=99, seeds=50)
        >>> jb.dashboard(results)
        <dashboard of 2 policies: save(path) writes the page>
    """

    def __init__(self, page: str, policies: int, height: int):
        self.html, self.height = page, height
        self._policies = policies

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, atomically.

        Args:
            path: the file, such as "results.html".

        Returns:
            The path.

        Raises:
            WriteError: the file cannot be written.
        """
        file = Path(path)
        try:
            write_atomically(file, self.html.encode())
        except OSError as error:
            raise WriteError(file, error) from None
        return file

    def __repr__(self) -> str:
        number = f"{self._policies:,} {'policy' if self._policies == 1 else 'policies'}"
        return f"<dashboard of {number}: save(path) writes the page>"

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that several pages and the notebook do not disturb each other."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="Results of bandit simulations" '
            'sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {self.height}px; border: 1px solid #8888; border-radius: 6px"></iframe>'
        )


@checked_results
def dashboard(
    results: xr.Dataset, curves: Sequence[str] = (), *, title: str = "Results", height: int = _HEIGHT
) -> Dashboard:
    """Make a page of results to walk around in: curves, arms, trade-offs, grids and a table.

    The page is one text that works without a server and without a network. It holds every metric at T of all policies,
    and the curves of those that figures show: all policies of a small group, and the best, the median and the worst of
    a group (a grid, or policies of one kind) of more than 24. At first all curves are shown, or, of more than 24, those
    of the best, the median and the worst of each group. The table begins with the best policy by the metric that needs
    most of the problem, and marks the policies that may be the best at 95 % confidence. Every point names the command
    that simulates it alone.

    Args:
        results: as `simulate` returns them.
        curves: labels of further policies whose curves the page holds, at most 50.
        title: the title of the page.
        height: the height of the frame in a notebook, in pixels, at least 200; default: 760.

    Returns:
        The page. In a notebook it is shown in a frame; `save(path)` writes it to a file.

    Raises:
        InputError: `results` is not a dataset of `simulate`, seeds or rounds before T were selected from it, or an
            argument is invalid.

    Example:
        >>> import tempfile
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), ["ucb1", "moss"], horizon=99, seeds=50)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     jb.dashboard(results, title="Two policies").save(f"{folder}/results.html").name
        'results.html'
    """
    height = to_python(height)
    if not is_whole_number(height, least=200):
        raise InputError("height", height, "a whole number of pixels, at least 200")
    if not isinstance(title, str):
        raise InputError("title", title, "a string")
    title = title.encode("utf-8", "replace").decode()  # of a folder whose name is not UTF-8
    return Dashboard(page(contents(results, curves, title), title), results.sizes["policy"], height)


def page(data: str, title: str) -> str:
    """The page with the numbers and their description, `data`, as `contents` returns them."""
    style = "".join((_ASSETS / name).read_text("utf-8") for name in ("uplot/uplot.min.css", "page.css"))
    library, *own = ((_ASSETS / name).read_text("utf-8") for name in _SCRIPTS)
    licence = (_ASSETS / "uplot/LICENSE.txt").read_text("utf-8")
    script = f'/*! uPlot\n{licence}*/\n{library}\n(() => {{\n"use strict";\n{"".join(own)}\n}})();'
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{style}</style></head>\n<body>"
        "<noscript>This page needs JavaScript.</noscript>"
        f'<script type="text/plain" id="data">{data}</script>\n<script>{script}</script></body></html>\n'
    )
