"""How soft relaxed runs are: the temperature of the choice between arms, and the width of thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.errors import InputError, unknown_key
from jaxbandit.core.input_values import finite_numbers
from jaxbandit.engine.stepping.placement import is_traced

_DEFAULTS: dict[str, float | None] = {"temperature": None, "width": 0.5}  # None: must be given
_ALLOWED = "a number >= 1e-6"


class Softness(NamedTuple):
    """The softness of relaxed runs, float scalars.

    Attributes:
        temperature: of the soft choice, in the unit of the scores.
        width: of the soft threshold, in rounds.
    """

    temperature: Array
    width: Array


def softness_of(table: object) -> Softness:
    """The softness that a table `{"temperature": 0.05, "width": 0.5}` describes, on the device.

    Raises:
        InputError: naming `relaxed` or `relaxed.temperature`. Numbers that are traced have no range check.
    """
    if not isinstance(table, Mapping):
        raise InputError("relaxed", table, "None, or a table such as {'temperature': 0.05}")
    for name, value in table.items():
        if name not in _DEFAULTS:
            raise unknown_key(f"relaxed.{name}", value, _DEFAULTS)
    return Softness(**{name: _on_device(table.get(name, default), name) for name, default in _DEFAULTS.items()})


def softness_number(number: Any, key: str) -> float:
    """A temperature or a width as a float.

    Raises:
        InputError: not a number, or below 1e-6.
    """
    if number is None or finite_numbers(number, key, _ALLOWED, 1e-6).ndim:
        raise InputError(key, number, _ALLOWED)
    return float(number)


def _on_device(number: Any, name: str) -> Array:
    key = f"relaxed.{name}"
    if not is_traced(number):
        number = softness_number(number, key)
    elif jnp.ndim(number):
        raise InputError(key, f"an array of shape {jnp.shape(number)}", "a number")
    return jnp.asarray(number, jnp.result_type(float))
