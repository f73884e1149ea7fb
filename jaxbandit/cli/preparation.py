"""Checks before the work of a command: the machine, and the output directory."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from jaxbandit.core.errors import InputError
from jaxbandit.core.xla import compilation_cache
from jaxbandit.engine.batch import memory, sharding
from jaxbandit.engine.host import distributed

_LONGEST_NAME = "n" * 200  # longer than the names of the files that are written


def prepare_machine(parsed: argparse.Namespace) -> None:
    """Check the memory limit, the devices and matplotlib's backend, and join the other processes, if there are any.

    Compiled programs are kept for the next command, except with `--no-cache`.

    Raises:
        InputError: one of these cannot be used, or the arguments about processes are wrong.
        ConnectionError: the other processes were not found.
    """
    memory.check_limit()
    if not parsed.no_cache:
        compilation_cache.keep_programs()
    if "coordinator" in parsed:
        distributed.connect(parsed.coordinator, parsed.processes, parsed.process_id)
    sharding.check()
    with distributed.together():
        _check_backend()


def _check_backend() -> None:
    """Let matplotlib draw to files, without a window or display, unless the environment asks for another backend."""
    backend = os.environ.setdefault("MPLBACKEND", "Agg")
    if backend.lower() == "agg":
        return
    try:
        import matplotlib.pyplot as plt

        plt.close(plt.figure())
    except (ValueError, ImportError) as error:
        reason = str(error).partition(";")[0]
        words = f"a backend of matplotlib that works here, such as Agg ({reason})"
        raise InputError("MPLBACKEND", backend, words) from None


def default_out(config: Path) -> Path:
    """The default output directory, `results/<config name>`."""
    if not config.stem.strip("."):  # "." and ".." are other folders
        raise InputError("--out", None, f"must be given: the config's name, {config.name!r}, does not name a folder")
    return Path("results") / config.stem


def check_writable(out: Path, is_written: Callable[[str], bool]) -> None:
    """Raise an error, before work starts, where an output directory cannot be written to; leave nothing behind.

    Args:
        out: the directory.
        is_written: whether a file of this name may be written to it.

    Raises:
        InputError: it is not a folder, cannot be written to, or holds a folder in the place of a file.
    """
    try:
        if (out.exists() or out.is_symlink()) and not out.is_dir():
            raise InputError("--out", str(out), "a folder, or a name that is not in use")
        for path in sorted(out.iterdir()) if out.is_dir() else []:
            if is_written(path.name) and path.is_dir():
                words = f"must not hold a folder {path.name}, since a file of this name is written"
                raise InputError("--out", str(out), words)
        (out / _LONGEST_NAME).exists()  # raises where names of files would be too long
        parent = out
        while not parent.exists():
            parent = parent.parent
        with tempfile.TemporaryFile(dir=parent):
            pass
    except OSError as error:
        raise InputError("--out", str(out), f"a folder that can be written to ({error.strerror})") from None
