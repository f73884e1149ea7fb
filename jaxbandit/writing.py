"""What a run leaves in its folder: results, figures and, of a grid, a table."""

from __future__ import annotations

import shutil
from pathlib import Path

import xarray as xr

from . import grids, plots, results
from .errors import WriteError
from .progress_folder import FILES, FOLDER


def write(data: xr.Dataset, out: Path) -> list[Path]:
    """Write `results.nc`, `table.csv` where there is a grid, and the figures, each whole or not at all.

    They are made in a folder of the progress and moved from there, so that a kill in the middle leaves nothing behind
    that is not removed with it.

    Returns:
        The files.

    Raises:
        WriteError: a file cannot be written; `results.nc` comes first.
    """
    made = out / FOLDER / FILES
    try:
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        results.write(data, made / "results.nc")
        first = _move([made / "results.nc"], out)
        return first + _move([*_table(data, made), *plots.draw_all(data, made)], out)
    except OSError as error:
        raise WriteError(out, error) from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _move(files: list[Path], out: Path) -> list[Path]:
    return [file.replace(out / file.name) for file in files]


def _table(data: xr.Dataset, out: Path) -> list[Path]:
    if not grids.parameters(data):
        return []
    grids.table(data).to_csv(out / "table.csv", index=False)
    return [out / "table.csv"]
