"""Digests of JAX programs (jaxprs): equal for programs that compute the same, in any process.

A digest depends on the operations, their parameters, the shapes and dtypes, and the bytes of constants. It does not
depend on names of variables and functions or on source lines.
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
from jax.typing import ArrayLike

from jaxbandit.core.xla.compat import ClosedJaxpr, Jaxpr, Literal

_ADDRESS = re.compile(r" at 0x[0-9a-f]+|0x[0-9a-f]{6,}")
_IGNORED = frozenset(("name", "debug_info", "ctx_mesh"))  # parameters that do not affect the results


class OpaqueError(Exception):
    """A program calls back to Python, so its digest cannot depend on all it computes; the message is the operation."""


def digest(program: ClosedJaxpr) -> str:
    """The SHA-256 digest of a program, in hexadecimal.

    Raises:
        OpaqueError: the program calls back to Python.
    """
    writer = _Writer()
    writer.closed(program)
    return writer.hash.hexdigest()


def array_bytes(array: ArrayLike) -> bytes:
    """Shape, dtype and content of an array as bytes; Python objects (exact ratios) by their `repr`."""
    array = np.asarray(array)
    content = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
    return repr((array.shape, str(array.dtype))).encode() + content


def _hides(params: Mapping[str, Any]) -> bool:
    """Whether an operation has a Python function among its parameters, and no jaxpr of that function."""
    parts = [part for value in params.values() for part in (value if isinstance(value, tuple) else (value,))]
    functions = any(isinstance(part, FunctionType | functools.partial) for part in parts)
    return functions and not any(isinstance(part, ClosedJaxpr | Jaxpr) for part in parts)


class _Writer:
    """Adds the parts of a program to a SHA-256 hash."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self._numbers = itertools.count()

    def _say(self, *words: object) -> None:
        self.hash.update(repr(words).encode())

    def closed(self, program: ClosedJaxpr) -> None:
        self._say("consts", len(program.consts))
        for const in program.consts:
            self._array(const)
        self._program(program.jaxpr)

    def _array(self, array: Any) -> None:
        if jax.dtypes.issubdtype(getattr(array, "dtype", None), jax.dtypes.extended):  # random keys
            array = jax.random.key_data(array)
        self.hash.update(array_bytes(array))

    def _program(self, jaxpr: Jaxpr) -> None:
        names: dict[Any, int] = {}

        def define(var: Any) -> None:
            names[var] = next(self._numbers)
            self._say(names[var], str(var.aval))

        def use(atom: Any) -> None:
            if isinstance(atom, Literal):
                self._say("literal", str(atom.aval))
                self._array(atom.val)
            else:
                self._say(names[atom])

        for var in (*jaxpr.constvars, *jaxpr.invars):
            define(var)
        for equation in jaxpr.eqns:
            name = equation.primitive.name
            if "callback" in name or _hides(equation.params):
                raise OpaqueError(name)
            self._say("do", name)
            for atom in equation.invars:
                use(atom)
            for key in sorted(equation.params.keys() - _IGNORED):
                self._say(key)
                self._value(equation.params[key])
            for var in equation.outvars:
                define(var)
        self._say("give")
        for atom in jaxpr.outvars:
            use(atom)

    def _value(self, value: Any) -> None:
        """Add a parameter of an operation."""
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
            self._say("function")  # of a derivative, or one whose jaxpr is another parameter
        else:
            self._say(_ADDRESS.sub("", repr(value)))
