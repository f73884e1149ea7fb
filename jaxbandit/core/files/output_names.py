"""The names of the files that a run writes, and the removal of such files: by name, never through a symbolic link."""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Callable
from pathlib import Path

RESULTS, TABLE, PAGE = "results.nc", "table.csv", "results.html"
# Names of figures; the last two may have an ending: sweep-eta.
FIGURES = ("curves", "quantiles", "pulls", "selection-fractions", "tradeoff", "phases", "sweep", "heat-maps")
SUFFIXES = (".png", ".pdf")
HEX = "[0-9a-f]{32}"  # the random part of `unique_name`, as a regular expression

_FIGURE = rf"(?:{'|'.join(FIGURES)})(?:-[A-Za-z0-9.-]+)?(?:{'|'.join(map(re.escape, SUFFIXES))})"
_OUTPUT = re.compile(rf"{re.escape(RESULTS)}|{re.escape(TABLE)}|{re.escape(PAGE)}|{_FIGURE}")
_TEMPORARY = re.compile(rf"\.(.+)\.(?:{HEX}|\d+)")  # digits: a process number, as in earlier versions


def is_output(name: str) -> bool:
    """Whether a run may write a file of this name into its output directory."""
    return _OUTPUT.fullmatch(name) is not None


def is_staged(name: str) -> bool:
    """Whether a run may write a file of this name into its staging folder, from which outputs are moved."""
    return is_output(name) or is_temporary(name, lambda target: target == RESULTS)


def unique_name(prefix: str) -> str:
    """The prefix and 32 random hexadecimal digits: several processes may write into one folder."""
    return f"{prefix}{uuid.uuid4().hex}"


def temporary_name(name: str) -> str:
    """A unique name for a file while it is written, before it is renamed to `name`."""
    return unique_name(f".{name}.")


def is_temporary(name: str, is_target: Callable[[str], bool]) -> bool:
    """Whether this is a `temporary_name` of a file whose final name `is_target` accepts."""
    match = _TEMPORARY.fullmatch(name)
    return match is not None and is_target(match[1])


def is_folder(path: Path) -> bool:
    """Whether the path is a folder, and not a symbolic link to one."""
    return path.is_dir() and not path.is_symlink()


def remove_files(folder: Path, is_ours: Callable[[str], bool]) -> None:
    """Remove the files of a folder whose names `is_ours` accepts, then the folder if it is empty."""
    if not is_folder(folder):
        return
    for path in list(folder.iterdir()):
        if is_ours(path.name):
            with contextlib.suppress(OSError):  # already removed, or a folder
                path.unlink()
    with contextlib.suppress(OSError):  # the folder holds other files
        folder.rmdir()
