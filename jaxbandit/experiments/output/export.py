"""The files of a run: results, a page, figures and, for a grid, a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jaxbandit.core.errors import WriteError
from jaxbandit.core.files.output_names import PAGE, RESULTS, TABLE
from jaxbandit.engine.host.checkpoint import staging
from jaxbandit.experiments import dataset, grids
from jaxbandit.experiments.dashboard.page import dashboard
from jaxbandit.experiments.output.previous_run import FILES_ATTRIBUTE, read_previous
from jaxbandit.experiments.plots import figures

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Outputs:
    """The files that a run writes beside `results.nc` and, for a grid, `table.csv`.

    Attributes:
        figures: whether to draw the figures.
        page: whether to make `results.html`.
    """

    figures: bool = True
    page: bool = True


def write_outputs(results: xr.Dataset, out: Path, outputs: Outputs, title: str) -> list[Path]:
    """Write the output directory of a run: `results.nc`, and for a grid `table.csv`; then `results.html` and figures.

    Each file is written atomically: all are made in a staging folder in `unfinished` and then moved, so that a killed
    process leaves no parts of files outside it. `results.nc` is moved first and lists all files in an attribute. Files
    that the previous run in the directory listed and this run does not write are removed.

    Args:
        results: the results of the run.
        out: the directory.
        outputs: which of the other files to write.
        title: the title of the page.

    Returns:
        The files.

    Raises:
        WriteError: a file cannot be written.
    """
    has_table = len(grids.parameters(results)) > 0
    others = [*([TABLE] if has_table else []), *([PAGE] if outputs.page else [])]
    names = [RESULTS, *others, *(figures.file_names(results) if outputs.figures else [])]
    try:
        with staging(out) as folder:
            dataset.write(results.assign_attrs({FILES_ATTRIBUTE: " ".join(names)}), folder / RESULTS)
            previous = read_previous(out)
            for name in () if previous is None else previous.files:
                if name not in names:
                    (out / name).unlink(missing_ok=True)
            written = [_move(folder / RESULTS, out)]
            if has_table:
                grids.table(results).to_csv(folder / TABLE, index=False)
            if outputs.page:
                (folder / PAGE).write_text(dashboard(results, title=title).html, "utf-8")
            drawn = figures.draw_all(results, folder) if outputs.figures else []
            return written + [_move(file, out) for file in [*(folder / name for name in others), *drawn]]
    except OSError as error:
        raise WriteError(out, error) from None


def _move(file: Path, out: Path) -> Path:
    return file.replace(out / file.name)
