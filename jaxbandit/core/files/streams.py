"""The standard streams of a command, which may be closed, lack characters, or be pipes that nobody reads."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from jaxbandit.core.errors import WriteError

_quiet = [False]  # for all threads of a command


@contextlib.contextmanager
def quiet_streams(quiet: bool) -> Iterator[None]:
    """Within this context, if `quiet`, nothing but errors is printed."""
    before, _quiet[0] = _quiet[0], quiet
    try:
        yield
    finally:
        _quiet[0] = before


def shows_progress() -> bool:
    """Whether a command shows progress bars: on a terminal, unless the streams are quiet."""
    return sys.stderr.isatty() and not _quiet[0]


class Notes(logging.Handler):
    """Prints the records of the logger `jaxbandit` as notes to standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        print_note(record.getMessage())


def print_note(message: str) -> None:
    """Print `jaxbandit: note: message` to standard error, unless the streams are quiet."""
    if not _quiet[0]:
        print_error(f"note: {message}")


@contextlib.contextmanager
def usable_streams() -> Iterator[None]:
    """Within this context the standard streams are open and accept any text; unknown characters become `?`."""
    _occupy_closed_descriptors()
    before = sys.stdout, sys.stderr
    with contextlib.ExitStack() as stack:
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # the stream is closed
                setattr(sys, name, stack.enter_context(open(os.devnull, "w", encoding="utf-8")))
        with _replacing_errors(sys.stdout), _replacing_errors(sys.stderr):
            try:
                yield
            finally:
                _flush(sys.stdout)
                sys.stdout, sys.stderr = before


def print_lines(*lines: str) -> None:
    """Print lines to standard output, unless the streams are quiet.

    If the reader has closed the pipe, nothing is printed from then on.

    Raises:
        WriteError: standard output cannot be written to.
    """
    if _quiet[0]:
        return
    try:
        print(*lines, sep="\n", flush=True)
    except OSError as error:
        _mute(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            raise WriteError(Path("standard output"), error) from None


def print_error(message: str) -> None:
    """Print `jaxbandit: message` to standard error, if possible."""
    try:
        print(f"jaxbandit: {message}", file=sys.stderr, flush=True)
    except OSError:
        _mute(sys.stderr)


def _occupy_closed_descriptors() -> None:
    """Open the null device for closed streams; else the next opened file would get what libraries print."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free descriptor


@contextlib.contextmanager
def _replacing_errors(stream: TextIO) -> Iterator[None]:
    """Within this context, characters that the encoding of a stream lacks are printed as `?`."""
    if not isinstance(stream, io.TextIOWrapper):
        yield
        return
    before = stream.errors
    stream.reconfigure(errors="replace")
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):  # closed in the meantime
            stream.reconfigure(errors=before)


def _flush(stream: TextIO) -> None:
    try:
        stream.flush()
    except OSError:
        _mute(stream)


def _mute(stream: TextIO) -> None:
    """Redirect a stream to the null device, so that flushing its buffer at the end of Python does not fail."""
    with contextlib.suppress(OSError, ValueError):  # the stream has no file descriptor
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
