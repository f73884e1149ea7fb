"""Atomic writes: under its name a file is always complete, either the old one or the new one."""

from __future__ import annotations

import os
from pathlib import Path

from jaxbandit.core.errors import WriteError
from jaxbandit.core.files.output_names import temporary_name


def write_atomically(path: Path, content: bytes | memoryview, sync: bool = False) -> None:
    """Write a file under a temporary name in the same folder, then rename it.

    Args:
        path: the file; its folder is created if it does not exist.
        content: all of the file.
        sync: wait until the content is on the disk before the file is renamed. Needed where files that the content was
            made from are removed afterwards.

    Raises:
        WriteError: the file cannot be written. The file that was there before is unchanged.
    """
    temporary = path.with_name(temporary_name(path.name))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb") as file:
                file.write(content)
                if sync:
                    file.flush()
                    os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise WriteError(path, error) from None
