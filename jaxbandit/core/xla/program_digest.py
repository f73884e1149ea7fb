"""Programs of JAX (jaxprs) as digests: alike for programs that compute alike, in any process.

Names of variables, functions and source lines count for nothing; operations, their parameters, shapes, dtypes and the
bytes of constants do.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import itertools
import re
from collections.abc import Mapping
from types import FunctionType
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

_ADDRESS = re.compile(r" at 0x[0-9a-f]+|0x[0-9a-f]{6,}")
_SILENT = frozenset(("name", "debug_info", "ctx_mesh"))  # parameters that say nothing of what is computed


class OpaqueError(Exception):
    """A program calls back to Python, where no one sees what it computes; the message is the operation's name."""


def digest(program: ClosedJaxpr) -> str:
    """A SHA-256 of what a program computes.

    Raises:
        OpaqueError: it calls back to Python.
    """
    writer = _Writer()
    writer.closed(program)
    return writer.made.hexdigest()


def array_bytes(array: Any) -> bytes:
    """Shape, dtype and content of an array, one of Python objects (exact ratios) by what it prints."""
    array = np.asarray(array)
    content = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
    return repr((array.shape, str(array.dtype))).encode() + content


def _hides(params: Mapping[str, Any]) -> bool:
    """Whether an operation is known by a function of Python's alone: one that was traced stands beside as a jaxpr."""
    parts = [part for value in params.values() for part in (value if isinstance(value, tuple) else (value,))]
    functions = any(isinstance(part, FunctionType | functools.partial) for part in parts)
    return functions and not any(isinstance(part, ClosedJaxpr | Jaxpr) for part in parts)


class _Writer:
    def __init__(self) -> None:
        self.made = hashlib.sha256()
        self._numbers = itertools.count()

    def _say(self, *words: Any) -> None:
        self.made.update(repr(words).encode())

    def closed(self, program: ClosedJaxpr) -> None:
        self._say("consts", len(program.consts))
        for const in program.consts:
            self._array(const)
        self._program(program.jaxpr)

    def _array(self, array: Any) -> None:
        if jax.dtypes.issubdtype(getattr(array, "dtype", None), jax.dtypes.extended):  # random keys
            array = jax.random.key_data(array)
        self.made.update(array_bytes(array))

    def _program(self, jaxpr: Jaxpr) -> None:
        names: dict[Any, int] = {}

        def made(var: Any) -> None:
            names[var] = next(self._numbers)
            self._say(names[var], str(var.aval))

        def used(atom: Any) -> None:
            if isinstance(atom, Literal):
                self._say("literal", str(atom.aval))
                self._array(atom.val)
            else:
                self._say(names[atom])

        for var in (*jaxpr.constvars, *jaxpr.invars):
            made(var)
        for equation in jaxpr.eqns:
            name = equation.primitive.name
            if "callback" in name or _hides(equation.params):
                raise OpaqueError(name)
            self._say("do", name)
            for atom in equation.invars:
                used(atom)
            for key in sorted(equation.params.keys() - _SILENT):
                self._say(key)
                self._value(equation.params[key])
            for var in equation.outvars:
                made(var)
        self._say("give")
        for atom in jaxpr.outvars:
            used(atom)

    def _value(self, value: Any) -> None:
        """A parameter of an operation."""
        if isinstance(value, ClosedJaxpr):
            self.closed(value)
        elif isinstance(value, Jaxpr):
            self._program(value)
        elif isinstance(value, np.ndarray | np.generic | jax.Array):
            self._array(value)
        elif value is None or isinstance(value, bool | int | float | complex | str | bytes):
            self._say(value)
        elif isinstance(value, enum.Enum):
            self._say(type(value).__name__, value.name)
        elif isinstance(value, tuple | list):
            self._say(type(value).__name__, len(value))
            for part in value:
                self._value(part)
        elif isinstance(value, set | frozenset):
            self._say(*sorted(map(repr, value)))
        elif isinstance(value, Mapping):
            for key in sorted(value, key=repr):
                self._say(repr(key))
                self._value(value[key])
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            self._say(type(value).__name__)
            for field in dataclasses.fields(value):
                self._value(getattr(value, field.name))
        elif callable(value) and not isinstance(value, type):
            self._say("function")  # of a derivative, or one whose program stands beside
        else:
            self._say(_ADDRESS.sub("", repr(value)))
