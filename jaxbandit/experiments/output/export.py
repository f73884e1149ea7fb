"""What a run leaves in its folder: results, figures and, of a grid, a table."""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from jaxbandit.core.errors import WriteError
from jaxbandit.core.files.output_names import RESULTS, TABLE
from jaxbandit.engine.host.checkpoint import staging
from jaxbandit.experiments import dataset, tables
from jaxbandit.experiments.output.previous_run import LISTED, earlier
from jaxbandit.experiments.plots import figures


def write(data: xr.Dataset, out: Path) -> list[Path]:
    """Write `results.nc`, `table.csv` where there is a grid, and the figures, each whole or not at all.

    They are made in a folder of the progress and moved from there, so that a kill in the middle leaves nothing behind
    that is not removed with it. `results.nc` comes first and names the others in an attribute: whatever happens
    meanwhile, each file that is there is listed. What an earlier run listed and this one does not write is removed.

    Returns:
        The files.

    Raises:
        WriteError: a file cannot be written; `results.nc` comes first.
    """
    names = [RESULTS, *([TABLE] if tables.parameters(data) else []), *figures.files(data)]
    try:
        with staging(out) as made:
            dataset.write(data.assign_attrs({LISTED: " ".join(names)}), made / RESULTS)
            before = earlier(out)
            for name in () if before is None else before.files:
                if name not in names:
                    (out / name).unlink(missing_ok=True)
            first = _move([made / RESULTS], out)
            return first + _move([*_table(data, made), *figures.draw_all(data, made)], out)
    except OSError as error:
        raise WriteError(out, error) from None


def _move(files: list[Path], out: Path) -> list[Path]:
    return [file.replace(out / file.name) for file in files]


def _table(data: xr.Dataset, out: Path) -> list[Path]:
    if not tables.parameters(data):
        return []
    tables.table(data).to_csv(out / TABLE, index=False)
    return [out / TABLE]
