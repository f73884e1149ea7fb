"""What the files of a run are called, and how they are removed: by name, and never through a symbolic link."""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Callable
from pathlib import Path

RESULTS, TABLE = "results.nc", "table.csv"
FIGURES = ("curves", "pulls", "tradeoff", "phases", "sweep", "heat-maps")  # the last two may go on: sweep-eta
SUFFIXES = (".png", ".pdf")
HEX = "[0-9a-f]{32}"  # of `unique`

_FIGURE = rf"(?:{'|'.join(FIGURES)})(?:-[A-Za-z0-9.-]+)?(?:{'|'.join(map(re.escape, SUFFIXES))})"
_OUTPUT = re.compile(rf"{re.escape(RESULTS)}|{re.escape(TABLE)}|{_FIGURE}")
_PARTIAL = re.compile(rf"\.{re.escape(RESULTS)}\.\d+")  # of `results.write`


def is_output(name: str) -> bool:
    """Whether a run may write a file of this name into its folder."""
    return _OUTPUT.fullmatch(name) is not None


def is_staged(name: str) -> bool:
    """Whether a run may write a file of this name where it makes its files, before they are moved."""
    return is_output(name) or _PARTIAL.fullmatch(name) is not None


def unique_name(name: str) -> str:
    """A name of its own for each call: several processes may share a folder."""
    return f"{name}{uuid.uuid4().hex}"


def is_folder(path: Path) -> bool:
    """Whether this is a folder itself, not a symbolic link to one."""
    return path.is_dir() and not path.is_symlink()


def remove_files(folder: Path, ours: Callable[[str], bool]) -> None:
    """Remove the files of a folder whose names are ours, and the folder if nothing else is in it."""
    if not is_folder(folder):
        return
    for path in list(folder.iterdir()):
        if ours(path.name):
            with contextlib.suppress(OSError):  # it is gone, or a folder
                path.unlink()
    with contextlib.suppress(OSError):  # another's file is in it
        folder.rmdir()
