"""`--import`: Python files of users, which are run so that configs can name the classes that they define."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from jaxbandit.core.errors import InputError, UnreadableError

_LONGEST = 300  # characters of a user's error in a message


def import_files(paths: Sequence[Path]) -> list[Path]:
    """Run Python files as modules; each file once. Their folders are appended to the places that Python imports from.

    Returns:
        The absolute paths of the files, in order.

    Raises:
        InputError: a file cannot be read, or running it raised an error; the message has this error and its line.
    """
    files = list(dict.fromkeys(path.absolute() for path in paths))
    for path, file in zip(dict.fromkeys(paths), files, strict=False):
        _import_file(path, file)
    return files


def _import_file(path: Path, file: Path) -> None:
    """Run a file as a module; `path` is its name in messages."""
    try:
        source = file.read_bytes()
    except OSError as error:
        raise UnreadableError("--import", str(path), (error.strerror or "no such file").lower()) from None
    except ValueError:  # a NUL
        raise UnreadableError("--import", str(path), "no file can have this name") from None
    name = _module_name(file)
    module = ModuleType(name)
    module.__file__ = str(file)
    sys.modules[name] = module  # dataclasses and helpers of the user look it up there
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    try:
        exec(compile(source, str(file), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        words = f"must be a file that Python runs without an error; {_in_words(error, str(file))}"
        raise InputError("--import", str(path), words) from None


def _module_name(file: Path) -> str:
    """The name of the file, unless another module has it."""
    name = file.stem
    loaded = sys.modules.get(name)
    if loaded is not None:
        free = getattr(loaded, "__file__", None) == str(file)
    else:
        free = name.isidentifier() and _is_free(name, file)
    return name if free else f"{name}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"


def _is_free(name: str, file: Path) -> bool:
    """Whether an import of this name would find no other file."""
    found = importlib.util.find_spec(name)
    return found is None or found.origin == str(file)


def _in_words(error: BaseException, file: str) -> str:
    """An error of a user's file, with the line of the file that raised it."""
    text = str(error)
    line, code = None, None
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == file:
            line, code = frame.lineno, frame.line
    if isinstance(error, SyntaxError) and error.filename == file:
        line, code, text = error.lineno, error.text, error.msg
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    where = "" if line is None else f"line {line}" + (f" ({code.strip()})" if code and code.strip() else "")
    return f"{where or 'it'} raised {type(error).__name__}: {text}".removesuffix(": ")


def imports_of_run(recorded: object, given: Sequence[Path]) -> list[Path]:
    """The files that an interrupted run imports: those that it recorded, and those that are given now.

    A given file takes the place of a recorded file of the same name.

    Args:
        recorded: the absolute paths that the run recorded.
        given: the files that are given now.

    Raises:
        InputError: a recorded file is neither there nor given.
    """
    names = {path.name: path for path in given}
    before = [Path(path) for path in recorded] if isinstance(recorded, list) else []
    for path in before:
        if path.name not in names and not path.is_file():
            words = (
                f"must be given as --import {path.name}: the run imported it from {path.parent}, where it is no more"
            )
            raise InputError("--import", None, words)
    kept = [names.get(path.name, path) for path in before]
    return [*kept, *(path for path in given if path not in kept)]
