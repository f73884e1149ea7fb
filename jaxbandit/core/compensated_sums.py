"""Compensated sums: a million float32 terms without the drift of a plain sum."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.struct import struct


@struct
class CompensatedSum:
    """A running sum and what rounding has taken from it; float arrays of one shape."""

    value: Any
    compensation: Any


def zeros(shape: tuple[int, ...]) -> CompensatedSum:
    """Zeros."""
    zero = jnp.zeros(shape, jnp.result_type(float))
    return CompensatedSum(zero, zero)


def add(total: CompensatedSum, term: Array) -> CompensatedSum:
    """The sum with one term more (Kahan 1965)."""
    term = term - total.compensation
    larger = total.value + term
    return CompensatedSum(larger, (larger - total.value) - term)
