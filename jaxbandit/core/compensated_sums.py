"""Compensated sums: a million float32 terms are added without the drift of a plain sum."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

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


def add_in_turn(totals: CompensatedSum, rows: Array, values: Array) -> CompensatedSum:
    """The sums after values were added one after the other: no value is too small to count beside the others.

    Args:
        totals: sums of rows, `[K, *runs]`.
        rows: the row of each value, int32 `[n]`; K or more for none.
        values: float `[n]`.
    """

    def add_one(totals: CompensatedSum, pair: tuple[Array, Array]) -> tuple[CompensatedSum, None]:
        row, value = pair
        more = add(jax.tree.map(lambda part: part[row], totals), value)
        return jax.tree.map(lambda part, new: part.at[row].set(new, mode="drop"), totals, more), None

    return lax.scan(add_one, totals, (rows, values))[0]
