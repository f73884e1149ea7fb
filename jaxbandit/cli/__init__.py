"""The command line: `jaxbandit run`, `resume`, `tune`, `reproduce` and `policies`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from jaxbandit.cli.parser import make_parser
from jaxbandit.core.errors import InputError, WriteError
from jaxbandit.core.files import streams
from jaxbandit.core.files.streams import print_error


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: the words after `jaxbandit`; default: those of the process.

    Returns:
        The exit status: 0; 2 for bad input, with one message on standard error; 1 for a failed or incomplete run; 130
        after an interruption.
    """
    with streams.usable_streams():
        return _main(arguments)


def _main(arguments: Sequence[str] | None) -> int:
    parsed = make_parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            return int(parsed.command(parsed))
    except InputError as error:
        print_error(str(error))
        return 2
    except (FloatingPointError, WriteError, ConnectionError) as error:
        print_error(str(error))
        return 1
    except KeyboardInterrupt:
        print_error("interrupted")
        return 130


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print_error(f"note: {message}")
