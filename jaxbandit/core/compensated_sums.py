"""Compensated sums: a million float32 terms are added without the drift of a plain sum."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.struct import struct


@struct
class CompensatedSum:
    """A running sum.

    Attributes:
        value: the sum so far, float, of any shape.
        compensation: what rounding has added to `value` in error, of the same shape; the next term is reduced by it.
    """

    value: Array
    compensation: Array


def zeros(shape: tuple[int, ...]) -> CompensatedSum:
    """Sums of no terms, in the default float dtype."""
    zero = jnp.zeros(shape, jnp.result_type(float))
    return CompensatedSum(zero, zero)


def add(total: CompensatedSum, term: Array) -> CompensatedSum:
    """The sum with one more term (Kahan 1965)."""
    term = term - total.compensation
    larger = total.value + term
    return CompensatedSum(larger, (larger - total.value) - term)
