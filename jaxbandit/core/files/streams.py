"""The standard streams of a command: closed, of an encoding that lacks characters, or a pipe that nobody reads."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from jaxbandit.core.errors import WriteError


@contextlib.contextmanager
def usable_streams() -> Iterator[None]:
    """Within, there are streams, and they take any text: what they cannot show they show as `?`."""
    _occupy()
    before = sys.stdout, sys.stderr
    with contextlib.ExitStack() as stack:
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # it was closed
                setattr(sys, name, stack.enter_context(open(os.devnull, "w", encoding="utf-8")))
        with _replacing(sys.stdout), _replacing(sys.stderr):
            try:
                yield
            finally:
                _flush(sys.stdout)
                sys.stdout, sys.stderr = before


def print_lines(*lines: str) -> None:
    """Print to standard output. Where nobody reads it any more the command goes on without.

    Raises:
        WriteError: it cannot be written.
    """
    try:
        print(*lines, sep="\n", flush=True)
    except OSError as error:
        _mute(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            raise WriteError(Path("standard output"), error) from None


def print_error(words: str) -> None:
    """Print one line to standard error; where that fails nobody can be told."""
    try:
        print(f"jaxbandit: {words}", file=sys.stderr, flush=True)
    except OSError:
        _mute(sys.stderr)


def _occupy() -> None:
    """Give the numbers of closed streams to nothing, or the next file that is opened has what libraries print."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


@contextlib.contextmanager
def _replacing(stream: TextIO) -> Iterator[None]:
    if not isinstance(stream, io.TextIOWrapper):
        yield
        return
    before = stream.errors
    stream.reconfigure(errors="replace")
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):  # closed meanwhile
            stream.reconfigure(errors=before)


def _flush(stream: TextIO) -> None:
    try:
        stream.flush()
    except OSError:
        _mute(stream)


def _mute(stream: TextIO) -> None:
    """Let a stream lead nowhere, so that what is left in it does not fail when Python ends."""
    with contextlib.suppress(OSError, ValueError):  # no stream of the system's
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
