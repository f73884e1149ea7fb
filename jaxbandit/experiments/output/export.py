"""The files of a run: results, a page, figures and, for a grid, a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jaxbandit.core.errors import WriteError
from jaxbandit.core.files.output_names import RESULTS, TABLE
from jaxbandit.engine.host.checkpoint import staging
from jaxbandit.experiments import dataset, grids
from jaxbandit.experiments.output.previous_run import FILES_ATTRIBUTE, read_previous
from jaxbandit.experiments.output.views import Begin

if TYPE_CHECKING:
    import xarray as xr


def write_outputs(results: xr.Dataset, out: Path, title: str, begin: Begin) -> list[Path]:
    """Write the output directory of a run: `results.nc`, and for a grid `table.csv`; then `results.html` and figures.

    Each file is written atomically: all are made in a staging folder in `unfinished` and then moved, so that a killed
    process leaves no parts of files outside it. `results.nc` is moved first and lists all files in an attribute. Files
    that the previous run in the directory listed and this run does not write are removed.

    Args:
        results: the results of the run.
        out: the directory.
        title: the title of the page.
        begin: begins to make the page and the figures.

    Returns:
        The files.

    Raises:
        WriteError: a file cannot be written.
    """
    has_table = [TABLE] if grids.parameters(results) else []
    try:
        with staging(out) as folder:
            begun = begin(results, folder, title)
            names = [RESULTS, *has_table, *begun.names]
            dataset.write(results.assign_attrs({FILES_ATTRIBUTE: " ".join(names)}), folder / RESULTS)
            previous = read_previous(out)
            for name in () if previous is None else previous.files:
                if name not in names:
                    (out / name).unlink(missing_ok=True)
            written = [_move(folder / RESULTS, out)]
            if has_table:
                grids.table(results).to_csv(folder / TABLE, index=False)
            return written + [_move(folder / name, out) for name in [*has_table, *begun.finish()]]
    except OSError as error:
        raise WriteError(out, error) from None


def _move(file: Path, out: Path) -> Path:
    return file.replace(out / file.name)
