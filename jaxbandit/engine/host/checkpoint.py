"""Progress on disk: what is simulated of a run lies block by block in a folder, until the results are written.

A file is data behind its own digest: a line of text (format, the run and the block it is, how many bytes follow and
their SHA-256) and arrays in NumPy's format, which are read without unpickling. It is written under another name and
renamed, so that it is there whole or not at all; one that is damaged all the same is noticed and its block simulated
again.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import math
import os
import re
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import tomli_w

from jaxbandit.core.errors import InputError, WriteError
from jaxbandit.core.files.output_names import HEX, is_folder, is_staged, remove_files, unique_name

Made = TypeVar("Made")

FOLDER = "unfinished"
_GONE = ".unfinished"  # what the folder is called while it is removed
_STAGING = "files-"  # in it, a folder for each process: what is written last, until it is moved to its place
_ABOUT = "run.toml"
_FORMAT = "jaxbandit-block-1"
_ABOUT_FORMAT = ("#", "jaxbandit-run-1")  # a comment to TOML
_HEAD = 400  # bytes; a head is shorter
_BLOCK = re.compile(r"stack\d+-rows\d+-\d+-seeds\d+-\d+\.block")  # the file of a block, as `BlockTask` names it
_FILE = re.compile(rf"{_ABOUT}|{_BLOCK.pattern}|\.(?:{_ABOUT}|{_BLOCK.pattern})\.{HEX}")  # and all that is made
_STAGED = re.compile(_STAGING + HEX)


class Checkpoint:
    """The folder `unfinished` in a folder of results; a context, in which the run is at work.

    Left by an exception it stays as it is, but for a run of which no block is done: of that nothing is left.

    Args:
        out: the folder of results.
        run: the digest of all that decides the results; blocks of another run are not taken for this one's.
        about: what it takes to go on with the run, a TOML table.

    Attributes:
        about: likewise; that of the run that began here, where one did.
        seconds: that earlier calls have simulated, as far as blocks came of it.
        since: when this call began to simulate, of `time.perf_counter`.

    Raises:
        InputError: the folder holds another run, or is another's folder of this name.
    """

    def __init__(self, out: Path, run: str, about: Mapping[str, Any]):
        self.path, self.run, self.about = out / FOLDER, run, dict(about)
        self.seconds, self.since = 0.0, time.perf_counter()
        self._begun, self._new = False, not out.exists()
        _check_ours(out)
        try:
            found = _about(self.path / _ABOUT)
        except InputError:  # none, or damaged and written anew: blocks say whose they are
            runs = self._runs()
        else:
            runs = [found.get("run")]
            self.about, self._begun = found, True
        if runs and run not in runs:
            words = "a folder without the unfinished run of another config, code, version or device"
            ways = f"that one goes on as it began (`jaxbandit resume {out}`), and without {self.path} it is forgotten"
            raise InputError("--out", str(out), f"{words}; {ways}")

    def _runs(self) -> list[Any]:
        """The runs that the heads of blocks name."""
        runs = []
        for path in filter(Path.is_file, _blocks(self.path)):
            with contextlib.suppress(OSError), path.open("rb") as file:
                head = file.readline(_HEAD).decode("ascii", "replace").split()
                if len(head) == 5 and head[0] == _FORMAT:
                    runs.append(head[1])
        return runs

    def __enter__(self) -> Checkpoint:
        """Write what it takes to go on, where it is not there yet.

        Raises:
            WriteError: it cannot be written.
        """
        if not self._begun:
            self._write_about()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or kept(self.path.parent):
            return
        forget(self.path.parent)
        if self._new:
            with contextlib.suppress(OSError):  # not empty, or not there
                self.path.parent.rmdir()

    def note(self, sizes: list[list[int]]) -> None:
        """Note the sizes of blocks, `about["sizes"]`, for those who go on.

        Raises:
            WriteError: they cannot be written.
        """
        if self.about.get("sizes") != sizes:
            self.about["sizes"] = sizes
            self._write_about()

    def _write_about(self) -> None:
        text = tomli_w.dumps({**self.about, "run": self.run})
        self._write(_ABOUT, _headed(text.encode(), *_ABOUT_FORMAT))

    def load(self, name: str, made: Callable[[dict[str, np.ndarray]], Made]) -> Made | None:
        """What is made of the arrays of a block; None where it is not done, or its file is damaged, which is said."""
        path = self._block(name)
        try:
            block, seconds = _arrays(_read(path, _FORMAT, self.run, name))
            part = made(block)
        except FileNotFoundError:
            return None
        except OSError as error:
            warnings.warn(f"{path} cannot be read ({error.strerror}): simulating it again", stacklevel=2)
            return None
        except Exception:  # whatever NumPy says of arrays that are none
            warnings.warn(f"{path} is damaged or of another run: simulating it again", stacklevel=2)
            return None
        self.seconds = max(self.seconds, seconds)
        return part

    def has(self, name: str) -> bool:
        """Whether there is a file of a block."""
        return self._block(name).is_file()

    def _block(self, name: str) -> Path:
        return self.path / f"{name}.block"

    def save(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Keep the arrays of a block.

        Raises:
            WriteError: they cannot be written; what was there before still is.
        """
        body = io.BytesIO()
        seconds = self.seconds + time.perf_counter() - self.since
        np.savez(body, **{**arrays, "seconds": np.asarray(seconds)})  # type: ignore[arg-type]
        self._write(f"{name}.block", _headed(body.getvalue(), _FORMAT, self.run, name))

    def _write(self, name: str, content: bytes) -> None:
        partial = self.path / unique_name(f".{name}.")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            try:
                partial.write_bytes(content)
                partial.replace(self.path / name)
            finally:
                partial.unlink(missing_ok=True)
        except OSError as error:
            raise WriteError(self.path / name, error) from None


def _blocks(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.block") if _BLOCK.fullmatch(path.name)]


def _check_ours(out: Path) -> None:
    """Refuse to work in a folder of this name that jaxbandit did not make: it is emptied in the end.

    Raises:
        InputError: naming what is not of its making.
    """
    for name in (FOLDER, _GONE):
        try:
            strange = _strange(out / name)
        except OSError as error:
            strange = f"cannot be read ({error.strerror})"
        if strange is not None:
            words = f"a folder whose {name}, if any, was made by jaxbandit; this one {strange}"
            raise InputError("--out", str(out), words)


def _strange(folder: Path) -> str | None:
    """Why a folder of progress cannot be of jaxbandit's making; None where it can."""
    if folder.is_symlink():
        return "is a symbolic link"
    if not folder.is_dir():
        return "is a file" if folder.exists() else None
    for path in sorted(folder.iterdir()):
        if not (_STAGED if is_folder(path) else _FILE).fullmatch(path.name):
            return f"holds {path.name!r}"
    about = folder / _ABOUT
    if about.is_file() and not _blocks(folder) and not _begins(about):  # anyone may call a file so
        return f"holds a {_ABOUT!r} of another kind"
    return None


def _begins(about: Path) -> bool:
    """Whether a file begins as the table of a run does."""
    with about.open("rb") as file:
        return file.readline(_HEAD).startswith(" ".join(_ABOUT_FORMAT).encode())


def _arrays(content: bytes) -> tuple[dict[str, np.ndarray], float]:
    """The arrays of a block, and the seconds when it was done."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        made = {key: arrays[key] for key in arrays.files}
    seconds = float(made.pop("seconds"))
    if not 0 <= seconds < math.inf:
        raise ValueError("no time")
    return made, seconds


def kept(out: Path) -> int:
    """How many blocks are done and kept in a folder of results."""
    return len(_blocks(out / FOLDER))


def begun(out: Path) -> bool:
    """Whether a folder of results holds a run that is unfinished."""
    return (out / FOLDER / _ABOUT).exists()


@contextlib.contextmanager
def staging(out: Path) -> Iterator[Path]:
    """A folder of this process's own in the progress, for files that are moved to their places when they are whole.

    A kill leaves nothing that is not removed with the progress.

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
    """Remove the progress in a folder of results, once they are written: at one stroke, as far as readers see."""
    path, gone = out / FOLDER, out / _GONE
    _empty(gone)  # of a call that was killed here
    with contextlib.suppress(OSError):  # another process was faster; or it stays
        if is_folder(path) and _strange(path) is None:
            path.replace(gone)
    _empty(path)  # where it stayed: what others have put there is left
    _empty(gone)


def _empty(folder: Path) -> None:
    """Remove a folder of progress, but for what is not of jaxbandit's making."""
    if not is_folder(folder):
        return
    with contextlib.suppress(OSError):  # another process removes it too
        for path in list(folder.iterdir()):
            if _STAGED.fullmatch(path.name):
                remove_files(path, is_staged)
        remove_files(folder, lambda name: _FILE.fullmatch(name) is not None)


def unfinished(out: Path) -> dict[str, Any]:
    """What it takes to go on with the run in a folder of results: the table that `Checkpoint` was given.

    Raises:
        InputError: there is none, or it is damaged.
    """
    if not (out / FOLDER / _ABOUT).is_file():
        raise InputError("DIR", str(out), "a folder with an unfinished run; `jaxbandit run CONFIG.toml` starts one")
    return _about(out / FOLDER / _ABOUT)


def _about(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_read(path, *_ABOUT_FORMAT).decode())
    except (OSError, ValueError, RecursionError) as error:
        words = f"a file as it was written ({error}); started again with its config, the run goes on all the same"
        raise InputError("DIR", str(path), words) from None


def _headed(content: bytes, *words: str) -> bytes:
    """A file's content behind a head of these words, its length and its digest."""
    return " ".join([*words, str(len(content)), hashlib.sha256(content).hexdigest()]).encode() + b"\n" + content


def _read(path: Path, *words: str) -> bytes:
    """The content behind a head of these words; of another file no more than the head is read.

    Raises:
        OSError: there is no file, or it cannot be read.
        ValueError: it is not as it was written, or of other words.
    """
    if not path.is_file():  # a pipe would be waited for
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    with path.open("rb") as file:
        head = file.readline(_HEAD).decode("ascii", "replace").split()
        length = os.fstat(file.fileno()).st_size - file.tell()
        if head[:-1] != [*words, str(length)]:
            raise ValueError("it begins as another file")
        content = file.read()
    if head[-1] != hashlib.sha256(content).hexdigest():
        raise ValueError("its digest is that of another text")
    return content
