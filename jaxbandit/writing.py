"""What a run leaves in its folder: results, figures and, of a grid, a table."""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from . import grids, plots, results
from .errors import WriteError


def write(data: xr.Dataset, out: Path) -> list[Path]:
    """Write `results.nc`, `table.csv` where there is a grid, and the figures.

    Returns:
        The files.

    Raises:
        WriteError: a file cannot be written; `results.nc` comes first, whole or not at all.
    """
    path = out / "results.nc"
    results.write(data, path)
    try:
        return [path, *_table(data, out), *plots.draw_all(data, out)]
    except OSError as error:
        raise WriteError(out, error) from None


def _table(data: xr.Dataset, out: Path) -> list[Path]:
    if not grids.parameters(data):
        return []
    grids.table(data).to_csv(out / "table.csv", index=False)
    return [out / "table.csv"]
