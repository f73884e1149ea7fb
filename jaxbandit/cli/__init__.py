"""The command line: `jaxbandit run`, `resume`, `tune`, `reproduce`, `policies` and `list`."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Sequence

from jaxbandit.core.errors import DeviceError, InputError, WriteError
from jaxbandit.core.files import streams
from jaxbandit.core.files.streams import Notes, print_error, print_note
from jaxbandit.core.provenance import version
from jaxbandit.engine.host import garbage_collection, interruptions


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: the words after `jaxbandit`; default: those of the process.

    Returns:
        The exit status: 0; 2 for bad input, with one message on standard error; 1 for a failed or incomplete run; 130
        after an interruption.
    """
    if arguments is None:
        garbage_collection.left_out_at_exit()
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more threads keep a core busy while they wait
    with streams.usable_streams(), interruptions.repeated():
        try:
            return _main(arguments)
        except KeyboardInterrupt:
            print_error("interrupted")
            return 130


def _main(arguments: Sequence[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given == ["--version"]:  # before the parser, which imports JAX for its lists of names
        print(f"jaxbandit {version()}")
        return 0
    with _views_beside(given) if arguments is None else contextlib.nullcontext():
        return _carried_out(given)


def _carried_out(given: list[str]) -> int:
    """The exit status of a command, after it is carried out."""
    try:
        with garbage_collection.paused(), interruptions.postponed():  # modules stay
            from jaxbandit.cli.parser import parse
    except ValueError as error:  # of JAX, about a variable of the environment
        if "environment" not in str(error):
            raise
        print_error(str(error))
        return 2

    parsed = parse(given)
    try:
        with streams.quiet_streams(parsed.quiet), _notes():
            return int(parsed.command(parsed))
    except InputError as error:
        print_error(f"{error}{_import_hint(error, parsed)}")
        return 2
    except (FloatingPointError, DeviceError, WriteError, ConnectionError) as error:
        print_error(str(error))
        return 1


@contextlib.contextmanager
def _views_beside(given: Sequence[str]) -> Iterator[None]:
    """Within this context, another process imports matplotlib, beside this one and JAX, if the command may draw.

    Args:
        given: the words of the command, which are not parsed yet: the parser imports JAX.
    """
    alone = any(word.startswith(("-h", "--help", "--import", "--coordinator")) for word in given)
    if given[:1] not in (["run"], ["resume"]) or alone:
        yield
        return
    from jaxbandit.experiments.output import view_process
    from jaxbandit.experiments.output.views import Outputs

    with contextlib.ExitStack() as stack:
        with streams.quiet_streams("--quiet" in given), _notes():  # the other process prints notes as this one does
            outputs = Outputs(figures="--no-figures" not in given, page="--no-html" not in given)
            stack.enter_context(view_process.begun_early(outputs))
        yield


def _import_hint(error: InputError, parsed: object) -> str:
    """The way to a class of the user's, for an unknown kind that is not like a known one."""
    unknown = error.key.endswith(".kind") and isinstance(error.held, str) and "did you mean" not in error.allowed
    words = "; --import FILE.py makes classes of your own known"
    return words if unknown and not getattr(parsed, "imports", True) else ""


@contextlib.contextmanager
def _notes() -> Iterator[None]:
    """Within this context, warnings and the log of the package are printed as notes."""
    logger, handler = logging.getLogger("jaxbandit"), Notes(logging.WARNING)
    passed_on, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = passed_on


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print_note(str(message))
