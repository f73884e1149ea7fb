"""A folder of programs for the command line: what was compiled once is loaded the next time.

JAX's persistent compilation cache and `engine.batch.kept_programs` keep compiled programs in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import time
from pathlib import Path
from typing import Any

import jax
import platformdirs

# The most that JAX's cache holds; with `engine.batch.kept_programs`, the folder holds 1 GiB. JAX removes the programs
# that were not used for the longest time.
_BYTES = 3 << 28
_SECONDS = 0.05  # programs that compile faster are not kept
_WRITTEN_SECONDS = 10.0  # a program is written in less
_UNUSED_DAYS = 90.0  # folders of other versions and processors are removed after this time without use

_folder: Path | None = None


def kept_in() -> Path | None:
    """The folder for this package's own programs; None where `keep_programs` has made none."""
    return None if _folder is None else _folder / "programs"


def keep_programs() -> Path | None:
    """Let JAX keep compiled programs in a folder of the user's cache, and load them from it.

    A cache that the user has set up or switched off in JAX stays as it is. A folder that cannot be written to means no
    cache.

    Returns:
        The folder; None where the user's settings hold or the folder cannot be written to.
    """
    global _folder
    settings: Any = jax.config  # its types name no settings
    if settings.jax_compilation_cache_dir is not None or not settings.jax_enable_compilation_cache:
        return None
    folder = Path(platformdirs.user_cache_dir("jaxbandit", appauthor=False)) / _folder_name()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_unused(folder)
        _remove_incomplete(folder)
        (folder / "used").touch()
    except OSError:
        return None
    jax.config.update("jax_compilation_cache_dir", str(folder))
    limits = {
        "jax_compilation_cache_max_size": _BYTES,
        "jax_persistent_cache_min_compile_time_secs": _SECONDS,
    }
    for name, value in limits.items():
        if name.upper() not in os.environ:
            jax.config.update(name, value)
    _folder = folder
    return folder


def _folder_name() -> str:
    """A name of this version of JAX and of this processor: a program of another one may not run here."""
    processor = hashlib.sha256(_processor().encode()).hexdigest()[:12]
    return f"jax-{jax.__version__}-{processor}"


def _processor() -> str:
    """The kind of the processor and the instructions that it has."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        return f"{platform.machine()} {platform.processor()}"
    kept = ("model name", "flags", "Features")
    return " ".join([platform.machine(), *sorted({line for line in lines if line.startswith(kept)})])


def _remove_incomplete(folder: Path) -> None:
    """Remove what is left of programs that were written in part: JAX writes no other program beside one of them.

    JAX keeps a program in one file, and the time of its last use in another one.
    """
    newest = time.time() - _WRITTEN_SECONDS  # another process may be between the two files
    files = {file.name: file for end in ("-cache", "-atime") for file in folder.glob(f"*{end}")}
    for name, file in files.items():
        program, _, end = name.rpartition("-")
        other = f"{program}-{'atime' if end == 'cache' else 'cache'}"
        with contextlib.suppress(FileNotFoundError):  # another process has removed it
            if other not in files and file.stat().st_mtime < newest:
                file.unlink()


def _remove_unused(folder: Path) -> None:
    """Remove the folders beside this one that no process has used for a long time."""
    oldest = time.time() - _UNUSED_DAYS * 24 * 3600
    for other in folder.parent.glob("jax-*"):
        mark = other / "used"
        if other != folder and mark.is_file() and mark.stat().st_mtime < oldest:
            shutil.rmtree(other, ignore_errors=True)
