"""Files with their digest beside them, as `sha256sum` writes it: what was damaged or altered since is noticed."""

from __future__ import annotations

import errno
import hashlib
import io
import os
from pathlib import Path

import xarray as xr

from jaxbandit.core.errors import WriteError
from jaxbandit.core.files.output_names import unique_name


class DamagedError(ValueError):
    """A file is not as it was sealed."""


def remove_checksum(path: Path) -> None:
    """Remove the digest of a file that is about to be replaced: it is not whole again until it is sealed.

    Raises:
        WriteError: it cannot be removed.
    """
    try:
        _beside(path).unlink(missing_ok=True)
    except OSError as error:
        raise WriteError(_beside(path), error) from None


def write_checksum(path: Path, digest: str) -> None:
    """Write the SHA-256 of a file beside it, whole or not at all.

    Raises:
        WriteError: it cannot be written.
    """
    partial = path.with_name(unique_name(f".{path.name}."))
    try:
        try:
            partial.write_text(f"{digest}  {path.name}\n")
            partial.replace(_beside(path))
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise WriteError(_beside(path), error) from None


def load_checked(path: Path) -> xr.Dataset:
    """A sealed dataset, whole.

    Raises:
        FileNotFoundError: there is none.
        OSError: it cannot be read.
        DamagedError: it is not as it was sealed, or was not sealed.
    """
    if not path.is_file():  # a pipe would be waited for
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    content = path.read_bytes()
    if not _beside(path).is_file():
        raise DamagedError(f"{path} has no digest beside it")
    if _beside(path).read_bytes().split()[:1] != [hashlib.sha256(content).hexdigest().encode()]:
        raise DamagedError(f"{path} is damaged or was altered")
    try:
        with xr.open_dataset(io.BytesIO(content), engine="h5netcdf") as found:
            return found.load()
    except Exception:  # whatever the libraries say of a file that is none of ours
        raise DamagedError(f"{path} cannot be read as netCDF") from None


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")
