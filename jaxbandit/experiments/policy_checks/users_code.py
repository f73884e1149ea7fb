"""Users' code in reports: the line at fault, errors in plain words, and the Python objects that methods can change."""

from __future__ import annotations

import random
import re
from collections import deque
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType

import jax
import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.core.users_code.contracts import is_user_defined
from jaxbandit.core.users_code.failures import advice_on, line_of
from jaxbandit.policies.base import Policy


def error_in_words(error: BaseException) -> str:
    """An error as a sentence: what it says, what to do about it, and the line of the user's code that raised it."""
    where = line_of(error)
    at = f" (at {where})" if where else ""
    if isinstance(error, InputError):
        return f"{error}{at}"
    advice = advice_on(error)
    ambiguous = "truth value of an array" in str(error)  # NumPy's advice there is another
    if advice and (ambiguous or isinstance(error, jax.errors.JAXTypeError | jax.errors.JAXIndexError)):
        return f"{type(error).__name__}{at}: {advice}"
    text = " ".join(str(error).split("\n\n", maxsplit=1)[0].split())
    return f"{type(error).__name__}{at}: {text[:300]}{advice and '; '}{advice}"


def python_state(policy: Policy) -> dict[str, str]:
    """What Python objects that a policy's methods can reach contain, by name, to see afterwards which have changed.

    These are the attributes of the policy and of its classes, and the variables, globals and defaults of its methods,
    as far as they are the user's; and the random generators of Python and NumPy.
    """
    found = {"the generator of `random`": repr(random.getstate()), "the generator of `np.random`": _numpy_generator()}
    for part in policy.nested_policies():
        for name, value in _reachable(part):
            try:
                content = _content(value)
            except Exception:  # an object that cannot be printed
                continue
            if content is not None:
                found[name] = content
    return found


def _numpy_generator() -> str:
    kind, words, *others = np.random.get_state(legacy=True)  # noqa: NPY002  users may draw from it
    return repr((kind, np.asarray(words).tolist(), others))


def _reachable(policy: Policy) -> Iterator[tuple[str, object]]:
    for name, value in vars(policy).items():
        yield f"self.{name}", value
    for cls in type(policy).__mro__:
        if cls.__module__ == "builtins" or not is_user_defined(cls):
            continue
        for name, value in vars(cls).items():
            function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            if isinstance(function, FunctionType):
                yield from _variables(function)
            elif not name.startswith("__"):
                yield f"{cls.__name__}.{name}", value


def _variables(function: FunctionType) -> Iterator[tuple[str, object]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for value in function.__defaults__ or ():
        yield f"a default of {function.__name__}", value


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _names(const)


def _content(value: object, depth: int = 2) -> str | None:
    """The content of an object that can change, without addresses; None for modules, functions and the like."""
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if isinstance(value, np.ndarray):
        array = np.asarray(value)
        return repr((array.shape, array.tobytes() if array.size < 1 << 20 else array.size))
    if isinstance(value, ModuleType | type | Policy):
        return None
    if isinstance(value, list | tuple | set | frozenset | dict | deque | bytearray | str | int | float | None):
        return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
    if depth and is_user_defined(type(value)) and hasattr(value, "__dict__") and not callable(value):
        parts = {name: _content(part, depth - 1) for name, part in vars(value).items()}
        return repr({name: part for name, part in parts.items() if part is not None})
    return None
