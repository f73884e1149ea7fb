"""Checkpoints: each finished block of a run is kept in a folder until the results are written.

The file of a block begins with a line of text: the format, the fingerprint of the run, the name of the block, the
number of bytes that follow, and their SHA-256. The arrays follow in NumPy's format, which is read without unpickling.
Files are written atomically. A damaged file is detected, and its block is simulated again.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import logging
import math
import os
import re
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import tomli_w

from jaxbandit.core.errors import InputError
from jaxbandit.core.files.atomic_write import write_atomically
from jaxbandit.core.files.output_names import HEX, is_folder, is_staged, remove_files, unique_name

LOG = logging.getLogger("jaxbandit")
Made = TypeVar("Made")

FOLDER = "unfinished"
_GONE = ".unfinished"  # the name of the folder while it is removed
_STAGING = "files-"  # in the folder, one folder per process for the results, until they are moved to their place
_ABOUT = "run.toml"
_FORMAT = "jaxbandit-block-1"
_ABOUT_FORMAT = ("#", "jaxbandit-run-1")  # a comment to TOML
_HEAD = 400  # bytes; the first line is shorter
# The file of a block (`BlockTask.name`), or of an evaluation in a search (`tuning.search.evaluation`).
_BLOCK = re.compile(r"(?:stack\d+-rows\d+-\d+-seeds\d+-\d+|evaluation\d+)\.block")
_FILE = re.compile(rf"{_ABOUT}|{_BLOCK.pattern}|\.(?:{_ABOUT}|{_BLOCK.pattern})\.{HEX}")  # all files of the folder
_STAGED = re.compile(_STAGING + HEX)


def checkpoint_folder(keep: object) -> Path | None:
    """The folder that `keep` names; None for None.

    Raises:
        InputError: not the name of a folder, or one that the system does not accept.
    """
    if keep is None:
        return None
    if not isinstance(keep, str | os.PathLike):
        raise InputError("keep", keep, "the path of a folder")
    path = Path(keep)
    try:
        os.lstat(path)
    except ValueError as error:  # a NUL
        raise InputError("keep", keep, f"the path of a folder ({error})") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError("keep", keep, f"the path of a folder ({error.strerror})") from None
    return path


class Checkpoint:
    """The folder `unfinished` in a folder of results, as a context manager around the run.

    After an exception the folder stays as it is. If no block was finished, it is removed.

    Args:
        out: the folder of results.
        run: the fingerprint of the run; blocks of another run are not used.
        about: a TOML table with what is needed to resume the run.
        parts: digests of parts of the run, by what they cover in words, for errors about another run.

    Attributes:
        about: the table; if an earlier call began this run, the table of that call.
        seconds: the time that earlier calls spent on the blocks that they finished.
        since: the time of `time.perf_counter` at which this call began to simulate.

    Raises:
        InputError: the folder holds another run, or jaxbandit did not make it.
    """

    def __init__(self, out: Path, run: str, about: Mapping[str, Any], parts: Mapping[str, str] | None = None):
        self.path, self.run, self.about = out / FOLDER, run, {**about, "parts": dict(parts or {})}
        self.seconds, self.since = 0.0, time.perf_counter()
        self._begun, self._new = False, not out.exists()
        self._use: int | None = None  # the open folder, whose lock tells other processes that it is in use
        _check_ours(out)
        try:
            found = _about(self.path / _ABOUT)
        except InputError:  # missing or damaged: the files of the blocks name their run
            runs = self._runs()
        else:
            runs = [found.get("run")]
            self.about, self._begun = found, True
        if runs and run not in runs:
            words = "must not hold the unfinished run of another config, conversion log, code, version or device"
            ways = "resume it with the code, version and device that began it (by the same call or command; `jaxbandit "
            ways += f"resume` is for `jaxbandit run`), or, if no process is running it, remove {self.path}"
            raise InputError("--out", str(out), f"{words}{self._differing(parts or {})}; {ways}")

    def _differing(self, parts: Mapping[str, str]) -> str:
        """What differs from the unfinished run, as far as its table tells, to end a clause."""
        before = self.about.get("parts")
        if not isinstance(before, dict) or before.keys() != parts.keys() or not parts:
            return ""
        names = [name for name, digest in parts.items() if before[name] != digest]
        return f" (what differs: {'; '.join(names) or 'code of policies, rewards or delays'})"

    def _runs(self) -> Sequence[object]:
        """The fingerprints in the first lines of the blocks' files."""
        runs = []
        for path in filter(Path.is_file, _blocks(self.path)):
            with contextlib.suppress(OSError), path.open("rb") as file:
                head = file.readline(_HEAD).decode("ascii", "replace").split()
                if len(head) == 5 and head[0] == _FORMAT:
                    runs.append(head[1])
        return runs

    def __enter__(self) -> Checkpoint:
        """Write the table, unless an earlier call did.

        Raises:
            WriteError: it cannot be written.
        """
        if not self._begun:
            self._write_about()
        with contextlib.suppress(OSError):  # a folder that was removed, or a system without such locks
            self._use = os.open(self.path, os.O_RDONLY)
            _lock(self._use, alone=False)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None or kept(self.path.parent) or self._in_use_by_others():
                return
        finally:
            if self._use is not None:
                os.close(self._use)
        forget(self.path.parent)
        if self._new:
            with contextlib.suppress(OSError):  # not empty, or not there
                self.path.parent.rmdir()

    def _in_use_by_others(self) -> bool:
        """Whether another process simulates the same run, as far as the system tells."""
        try:
            if self._use is not None:
                _lock(self._use, alone=True)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def note(self, sizes: list[list[int]]) -> None:
        """Write the block sizes to the table, under `sizes`, for those who resume the run.

        Raises:
            WriteError: they cannot be written.
        """
        if self.about.get("sizes") != sizes:
            self.about["sizes"] = sizes
            self._write_about()

    def _write_about(self) -> None:
        text = tomli_w.dumps({**self.about, "run": self.run})
        write_atomically(self.path / _ABOUT, _headed(text.encode(), *_ABOUT_FORMAT))

    def load(self, name: str, made: Callable[[dict[str, np.ndarray]], Made]) -> Made | None:
        """The value that `made` makes of a block's arrays; None where the block is not finished.

        A file that cannot be read or is damaged gives a warning, and None.
        """
        path = self._block(name)
        try:
            block, seconds = _arrays(_read(path, _FORMAT, self.run, name))
            part = made(block)
        except FileNotFoundError:
            return None
        except OSError as error:
            LOG.warning("%s cannot be read (%s); its runs are simulated again", path, error.strerror)
            return None
        except Exception:  # NumPy raises several kinds for damaged arrays
            LOG.warning("%s is damaged or of another run; its runs are simulated again", path)
            return None
        self.seconds = max(self.seconds, seconds)
        return part

    def has(self, name: str) -> bool:
        """Whether the file of a block exists."""
        return self._block(name).is_file()

    def _block(self, name: str) -> Path:
        return self.path / f"{name}.block"

    def save(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Write the arrays of a block.

        Raises:
            WriteError: they cannot be written; an earlier file is unchanged.
        """
        body = io.BytesIO()
        seconds = self.seconds + time.perf_counter() - self.since
        np.savez(body, **{**arrays, "seconds": np.asarray(seconds)})  # type: ignore[arg-type]
        write_atomically(self._block(name), _headed(body.getvalue(), _FORMAT, self.run, name))


def _lock(folder: int, alone: bool) -> None:
    """Lock an open folder, alone or together with other processes that use it, until it is closed.

    Raises:
        BlockingIOError: another process uses it.
        OSError: the system has no such locks.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP)) from None
    fcntl.flock(folder, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)


def _blocks(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.block") if _BLOCK.fullmatch(path.name)]


def _check_ours(out: Path) -> None:
    """Refuse a checkpoint folder that jaxbandit did not make, because the checkpoint folder is emptied at the end.

    Raises:
        InputError: the folder contains something that jaxbandit did not make; the error names it.
    """
    for name in (FOLDER, _GONE):
        try:
            strange = _strange(out / name)
        except OSError as error:
            strange = f"cannot be read ({error.strerror})"
        if strange is not None:
            raise InputError("--out", str(out), f"must be another folder: {out / name} {strange}")


def _strange(folder: Path) -> str | None:
    """The reason why jaxbandit cannot have made a checkpoint folder; None where it can."""
    if folder.is_symlink():
        return "is a symbolic link, which jaxbandit did not make"
    if not folder.is_dir():
        return "is a file, which jaxbandit did not make" if folder.exists() else None
    for path in sorted(folder.iterdir()):
        if not (_STAGED if is_folder(path) else _FILE).fullmatch(path.name):
            return f"holds {path.name!r}, which jaxbandit did not make"
    about = folder / _ABOUT
    if about.is_file() and not _blocks(folder) and not _begins(about):  # a common name
        return f"holds a file {_ABOUT!r}, which jaxbandit did not write"
    return None


def _begins(about: Path) -> bool:
    """Whether a file begins as a table of this module does."""
    with about.open("rb") as file:
        return file.readline(_HEAD).startswith(" ".join(_ABOUT_FORMAT).encode())


def _arrays(content: bytes) -> tuple[dict[str, np.ndarray], float]:
    """The arrays of a block, and the run's time in seconds when it was finished."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        made = {key: arrays[key] for key in arrays.files}
    seconds = float(made.pop("seconds"))
    if not 0 <= seconds < math.inf:
        raise ValueError("its running time is missing")
    return made, seconds


def kept(out: Path) -> int:
    """The number of finished blocks in a folder of results."""
    return len(_blocks(out / FOLDER))


def kept_in_words(out: Path | None, again: str = "call") -> str:
    """What an interrupted call or command (`again`) keeps in its folder, None for no folder, and how to go on."""
    if out is None:
        return "nothing is kept; with keep=FOLDER the same call goes on where it was interrupted"
    number = kept(out)
    if not number:
        return f"nothing was finished yet in {out / FOLDER}"
    blocks = "blocks are" if number > 1 else "block is"
    return f"{number:,} finished {blocks} kept in {out / FOLDER}; the same {again} goes on from there"


def begun(out: Path) -> bool:
    """Whether a folder of results holds an unfinished run."""
    return (out / FOLDER / _ABOUT).exists()


@contextlib.contextmanager
def staging(out: Path) -> Iterator[Path]:
    """A new folder in the checkpoint folder, for files that are moved to their places when they are complete.

    If the process is killed, the folder stays until the checkpoint folder is removed.

    Raises:
        OSError: it cannot be made.
    """
    folder = out / FOLDER / unique_name(_STAGING)
    try:
        folder.mkdir(parents=True)
        yield folder
    finally:
        remove_files(folder, is_staged)


def forget(out: Path) -> None:
    """Remove the checkpoint folder, once the results are written. It is renamed first, so that it goes at once."""
    path, gone = out / FOLDER, out / _GONE
    _empty(gone)  # left by a call that was killed
    with contextlib.suppress(OSError):  # another process was faster, or it cannot be renamed
        if is_folder(path) and _strange(path) is None:
            path.replace(gone)
    _empty(path)  # where it could not be renamed
    _empty(gone)


def _empty(folder: Path) -> None:
    """Remove a checkpoint folder, except for what jaxbandit did not make."""
    if not is_folder(folder):
        return
    with contextlib.suppress(OSError):  # another process removes it too
        for path in list(folder.iterdir()):
            if _STAGED.fullmatch(path.name):
                remove_files(path, is_staged)
        remove_files(folder, lambda name: _FILE.fullmatch(name) is not None)


def unfinished(out: Path) -> dict[str, Any]:
    """The table that `Checkpoint` was given for the unfinished run in a folder of results.

    Raises:
        InputError: there is no unfinished run, or the table is damaged.
    """
    if not (out / FOLDER / _ABOUT).is_file():
        raise InputError("DIR", str(out), "a folder with an unfinished run (`jaxbandit run CONFIG.toml` starts one)")
    return _about(out / FOLDER / _ABOUT)


def _about(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_read(path, *_ABOUT_FORMAT).decode())
    except (OSError, ValueError, RecursionError) as error:
        words = f"an undamaged file of jaxbandit ({error}); `jaxbandit run` with the same config resumes the run"
        raise InputError("DIR", str(path), words) from None


def _headed(content: bytes, *words: str) -> bytes:
    """The content of a file behind a first line of these words, its length and its digest."""
    return " ".join([*words, str(len(content)), hashlib.sha256(content).hexdigest()]).encode() + b"\n" + content


def _read(path: Path, *words: str) -> bytes:
    """The content of a file whose first line has these words; of another file only the first line is read.

    Raises:
        OSError: there is no file, or it cannot be read.
        ValueError: the file is damaged, or its first line has other words.
    """
    if not path.is_file():  # reading a pipe would wait
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    with path.open("rb") as file:
        head = file.readline(_HEAD).decode("ascii", "replace").split()
        length = os.fstat(file.fileno()).st_size - file.tell()
        if head[:-1] != [*words, str(length)]:
            raise ValueError("its first line is not the expected one")
        content = file.read()
    if head[-1] != hashlib.sha256(content).hexdigest():
        raise ValueError("its content does not match its checksum")
    return content
