"""The config that results hold."""

from __future__ import annotations

import tomllib
from pathlib import Path

from jaxbandit.core.errors import InputError


def recorded_config(path: Path) -> bytes:
    """The config in the attribute `config` of a file of results (netCDF-4), TOML in UTF-8.

    Raises:
        InputError: not a file of results, or one of results that were joined from several simulations.
        OSError: there is no such file, or it cannot be read.
    """
    with path.open("rb"):  # its error says why a file cannot be read; that of HDF5 does not
        pass
    import h5py

    try:
        with h5py.File(path, "r") as file:
            text = str(file.attrs["config"])
        config = tomllib.loads(text)
    except (OSError, KeyError, ValueError):
        words = "a config in TOML, or a file of results (netCDF-4) with its config; this file is neither"
        raise InputError("CONFIG", str(path), words) from None
    if "joined" in config:
        words = "results of one simulation; these were joined from several, which have no config in common"
        raise InputError("CONFIG", str(path), words)
    return text.encode()
