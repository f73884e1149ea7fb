"""Failures in users' code: which method raised an error, in which line, and what to do about it."""

from __future__ import annotations

import contextlib
import linecache
import os
import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path

import jax
import jaxlib
import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.core.users_code.contracts import Named, is_users_class, owner_name

_LIBRARIES = tuple(f"{Path(module.__file__ or '').parent}{os.sep}" for module in (jax, jaxlib, np))
_STANDARD = f"{sysconfig.get_path('stdlib')}{os.sep}"
_PACKAGE = f"{Path(__file__).parents[2]}{os.sep}"
_INSTALLED = ("site-packages", "dist-packages")

_NOTE = "This was raised in `"  # how the note begins that names a method
_SHAPE = "a parameter that sets a shape is declared with `jb.parameter(..., static=True)`"
_CONDITION = (
    "arrays have no values while a program is compiled: use `jnp.where` or `lax.cond` instead of Python's `if`, "
    "`and`, `or`, `not`, `while`, `min` and `max`; a parameter that decides an `if` is declared with "
    "`jb.parameter(..., static=True)`"
)
_ADVICE: list[tuple[type[Exception], str]] = [
    (jax.errors.TracerBoolConversionError, _CONDITION),
    (jax.errors.TracerIntegerConversionError, f"arrays have no values while a program is compiled; {_SHAPE}"),
    (jax.errors.TracerArrayConversionError, "use the functions of `jax.numpy` instead of those of NumPy"),
    (jax.errors.NonConcreteBooleanIndexError, "use `jnp.where(mask, x, y)` instead of `x[mask]`"),
    (
        jax.errors.ConcretizationTypeError,
        f"arrays have no values while a program is compiled: do not use `int`, `float`, `bool` or `.item()`; {_SHAPE}",
    ),
    (
        jax.errors.UnexpectedTracerError,
        "a method kept an array of an earlier call in an attribute, a global variable or a cache: keep it in the state",
    ),
]
_ADVICE_ON_WORDS = {
    "truth value of an array": _CONDITION,
    "concrete values": _SHAPE,
    "Only integer scalar arrays can be converted": f"arrays have no values while a program is compiled; {_SHAPE}",
    "Incompatible types for broadcasting": "",
    "ncompatible shapes for broadcasting": "",
}
_AXES = (
    "arrays have the arms on the first axis and the runs on the axes behind it, [K, *runs], where the numbers of runs "
    "are examples; states are made with the argument `shape` of `init`, or `shape[1:]`, last"
)


def advice_on(error: BaseException) -> str:
    """What to do about an error of JAX that users' code raised while it was traced, a clause; "" without advice."""
    for kind, advice in _ADVICE:
        if isinstance(error, kind):
            return advice
    text = str(error).split("\n\n", maxsplit=1)[0]
    return next((advice or _AXES for words, advice in _ADVICE_ON_WORDS.items() if words in text), "")


@contextlib.contextmanager
def told_of(owner: Named, method: str) -> Iterator[None]:
    """Within this context an error gets notes on the user's method that is called: its line, and what to do.

    Args:
        owner: the component whose method is called. Without code of a user's, errors stay as they are.
        method: the name of the method.
    """
    try:
        yield
    except InputError:  # says all itself
        raise
    except Exception as error:
        told = any(note.startswith(_NOTE) for note in getattr(error, "__notes__", ()))
        if not told and is_users_class(type(owner)):
            where, advice = line_of(error), advice_on(error)
            error.add_note(f"{_NOTE}{method}` of {owner_name(owner)}{where and f' ({where})'}.")
            if advice:
                error.add_note(f"{advice[0].upper()}{advice[1:]}.")
            if owner.family == "policy":
                error.add_note("`jb.check_policy` checks a policy's class and explains what it finds.")
        raise


def line_of(error: BaseException) -> str:
    """The last line of the user's code in the traceback, as `line 7 of mine.py, in select: `...``; "" without one."""
    frames = traceback.extract_tb(error.__traceback__)
    others = [frame for frame in frames if not is_library(frame.filename)]
    users = [frame for frame in others if not is_installed(frame.filename)] or others
    if not users:
        return ""
    frame = users[-1]
    text = (linecache.getline(frame.filename, frame.lineno or 0) or frame.line or "").strip()
    name = frame.filename if frame.filename.startswith("<") else Path(frame.filename).name
    return f"line {frame.lineno} of {name}, in {frame.name}" + (f": `{text}`" if text else "")


def is_library(file: str) -> bool:
    """Whether a source file is of Python's standard library, of JAX or NumPy, or of this package."""
    in_standard_library = file.startswith(_STANDARD) and not is_installed(file)
    return in_standard_library or is_ours(file) or file.startswith((*_LIBRARIES, "<frozen", "<string>"))


def is_ours(file: str) -> bool:
    """Whether a source file is of this package."""
    return file.startswith(_PACKAGE)


def is_installed(file: str) -> bool:
    """Whether a source file is of an installed package: seldom the user's own code."""
    return any(part in _INSTALLED for part in Path(file).parts)
