"""Progress on disk: what is simulated of a run lies block by block in a folder, until the results are written.

A file is data behind its own digest: a line of text (format, the run it belongs to, the SHA-256 of the rest) and
arrays in NumPy's format, which are read without unpickling. It is written under another name and renamed, so
that it is there whole or not at all; one that is damaged all the same is noticed and its block simulated again.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import time
import tomllib
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from .errors import InputError, WriteError

FOLDER = "unfinished"
_ABOUT = "run.toml"
_FORMAT = "jaxbandit-block-1"


class ProgressFolder:
    """The folder `unfinished` in a folder of results.

    Args:
        out: the folder of results.
        run: the digest of all that decides the results; blocks of another run are not taken for this one's.
        about: what it takes to go on with the run, a TOML table.

    Attributes:
        about: likewise; that of the run that began here, where one did.
        kept: blocks that are done.
        seconds: that earlier calls have taken, as far as blocks came of it.

    Raises:
        InputError: the folder holds another run.
    """

    def __init__(self, out: Path, run: str, about: Mapping[str, Any]):
        self.path, self.run, self.about = out / FOLDER, run, dict(about)
        self.kept, self.seconds = 0, 0.0
        self._begun, self._since = False, time.perf_counter()
        if self._held() - {run}:
            words = "a folder without the unfinished run of another config or version"
            ways = f"`jaxbandit resume {out}` ends that one, and without {self.path} it is forgotten"
            raise InputError("--out", str(out), f"{words}; {ways}")
        if (self.path / _ABOUT).is_file():
            with contextlib.suppress(InputError):  # damaged: written anew, and its blocks go on being this run's
                self.about, self._begun = _about(self.path / _ABOUT), True

    def _held(self) -> set[str]:
        """The runs that the folder holds something of."""
        runs = set()
        with contextlib.suppress(InputError):
            runs.add(_about(self.path / _ABOUT)["run"])
        for path in self.path.glob("*.block"):
            with contextlib.suppress(OSError, IndexError), path.open("rb") as file:
                runs.add(file.readline(200).decode("ascii", "replace").split()[1])
        return runs

    def begin(self) -> None:
        """Write what it takes to go on, where it is not there yet.

        Raises:
            WriteError: it cannot be written.
        """
        if not self._begun:
            self._write_about()

    def sizes(self, mine: list[list[int]]) -> list[list[int]]:
        """The sizes of blocks: those that the run began with, or `mine`, which are noted."""
        if "sizes" not in self.about:
            self.about["sizes"] = mine
            self._write_about()
        return list(self.about["sizes"])

    def _write_about(self) -> None:
        text = tomli_w.dumps({**self.about, "run": self.run})
        self._write(_ABOUT, f"# {_sha(text.encode())}\n{text}".encode())

    def load(self, name: str) -> dict[str, np.ndarray] | None:
        """The arrays of a block; None where it is not done, or its file is damaged, which is said."""
        path = self._block(name)
        try:
            head, _, rest = path.read_bytes().partition(b"\n")
        except FileNotFoundError:
            return None
        except OSError as error:
            warnings.warn(f"{path} cannot be read ({error.strerror}): simulating it again", stacklevel=2)
            return None
        if head.decode("ascii", "replace").split() != [_FORMAT, self.run, _sha(rest)]:
            warnings.warn(f"{path} is damaged or of another run: simulating it again", stacklevel=2)
            return None
        with np.load(io.BytesIO(rest), allow_pickle=False) as arrays:
            made = {key: arrays[key] for key in arrays.files}
        self.kept += 1
        self.seconds = max(self.seconds, float(made.pop("seconds")))
        return made

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
        seconds = self.seconds + time.perf_counter() - self._since
        np.savez(body, **{**arrays, "seconds": np.asarray(seconds)})  # type: ignore[arg-type]
        rest = body.getvalue()
        self._write(f"{name}.block", f"{_FORMAT} {self.run} {_sha(rest)}\n".encode() + rest)
        self.kept += 1

    def _write(self, name: str, content: bytes) -> None:
        partial = self.path / f".{name}.{os.getpid()}"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            try:
                partial.write_bytes(content)
                partial.replace(self.path / name)
            finally:
                partial.unlink(missing_ok=True)
        except OSError as error:
            raise WriteError(self.path / name, error) from None


def kept(out: Path) -> int:
    """How many blocks are done and kept in a folder of results; where none is, nothing of the run is left there."""
    blocks = sum(1 for _ in (out / FOLDER).glob("*.block"))
    if not blocks:
        forget(out)
        with contextlib.suppress(OSError):  # not empty
            out.rmdir()
    return blocks


def forget(out: Path) -> None:
    """Remove the progress in a folder of results, once they are written."""
    shutil.rmtree(out / FOLDER, ignore_errors=True)


def unfinished(out: Path) -> dict[str, Any]:
    """What it takes to go on with the run in a folder of results: the table that `ProgressFolder` was given.

    Raises:
        InputError: there is none, or it is damaged.
    """
    if not (out / FOLDER / _ABOUT).is_file():
        raise InputError("DIR", str(out), "a folder with an unfinished run; `jaxbandit run CONFIG.toml` starts one")
    return _about(out / FOLDER / _ABOUT)


def _about(path: Path) -> dict[str, Any]:
    try:
        head, _, rest = path.read_bytes().partition(b"\n")
        if head != f"# {_sha(rest)}".encode():
            raise ValueError("its digest is that of another text")
        return tomllib.loads(rest.decode())
    except (OSError, ValueError) as error:
        words = f"a file as it was written ({error}); started again with its config, the run goes on all the same"
        raise InputError("DIR", str(path), words) from None


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
