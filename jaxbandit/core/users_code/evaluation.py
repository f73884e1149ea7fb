"""Evaluating merit functions and fairness functions on the host, this package's and users'."""

from __future__ import annotations

from typing import Any, Protocol

import jax
import numpy as np
from jax import Array

from jaxbandit.core.users_code.contracts import has_user_code
from jaxbandit.core.users_code.failures import told_of
from jaxbandit.core.xla.small_programs import SmallProgram


class HasValue(Protocol):
    """A component with a method `value`: a merit function or a fairness function."""

    def value(self, mu: Array) -> Array: ...


def evaluate(function: Any, at: np.ndarray) -> Array:
    """`function.value(at)`, compiled where JAX can trace it: functions of one class share one program.

    Where a function is traced, the value is a constant of it.
    """
    with jax.core.eval_context():
        if has_user_code(function):  # not compiled: helpers of user code may have been edited since
            with told_of(function, "value"):
                value: Array = function.value(jax.device_put(at))
            return value
        try:
            return _compiled(function, at)
        except jax.errors.JAXTypeError:  # the function branches on its parameters
            untraced: Array = function.value(jax.device_put(at))
            return untraced


def _value(function: HasValue, at: Array) -> Array:
    return function.value(at)


_compiled = SmallProgram(_value)
