"""SHA-256 checksums beside files, in the format of `sha256sum`: damaged and altered files are noticed when read."""

from __future__ import annotations

import errno
import hashlib
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

from jaxbandit.core.errors import WriteError
from jaxbandit.core.files.atomic_write import write_atomically

if TYPE_CHECKING:
    import xarray as xr


class DamagedError(ValueError):
    """The content of a file does not match its checksum, or the checksum is missing."""


def remove_checksum(path: Path) -> None:
    """Remove the checksum of a file that is about to be replaced; without one the file counts as damaged.

    Raises:
        WriteError: the checksum cannot be removed.
    """
    try:
        _checksum_path(path).unlink(missing_ok=True)
    except OSError as error:
        raise WriteError(_checksum_path(path), error) from None


def write_checksum(path: Path, digest: str) -> None:
    """Write the SHA-256 of a file beside it, atomically.

    Args:
        path: the file that the checksum is of.
        digest: its SHA-256, in hexadecimal.

    Raises:
        WriteError: the checksum cannot be written.
    """
    write_atomically(_checksum_path(path), f"{digest}  {path.name}\n".encode())


def load_checked(path: Path) -> xr.Dataset:
    """Load a dataset whose file matches its checksum.

    Raises:
        FileNotFoundError: there is no such file.
        OSError: the file cannot be read.
        DamagedError: the file does not match its checksum, has none, or is not netCDF.
    """
    if not path.is_file():  # reading a pipe would block
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    content = path.read_bytes()
    if not _checksum_path(path).is_file():
        raise DamagedError(f"{path} has no digest beside it")
    if _checksum_path(path).read_bytes().split()[:1] != [hashlib.sha256(content).hexdigest().encode()]:
        raise DamagedError(f"{path} is damaged or was altered")
    import xarray as xr  # late: the command line reads arguments without it

    try:
        with xr.open_dataset(io.BytesIO(content), engine="h5netcdf") as found:
            return found.load()
    except Exception:  # netCDF, HDF5 and xarray raise many kinds of errors for files that are not netCDF
        raise DamagedError(f"{path} cannot be read as netCDF") from None


def _checksum_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")
