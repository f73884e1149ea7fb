"""Compensated sums: a million float32 terms without the drift of a plain sum."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.struct import struct


@struct
class Sum:
    """A running sum and what rounding has taken from it; float arrays of one shape."""

    value: Any
    lost: Any


def nothing(shape: tuple[int, ...]) -> Sum:
    """Zeros."""
    zeros = jnp.zeros(shape, jnp.result_type(float))
    return Sum(zeros, zeros)


def plus(total: Sum, term: Array) -> Sum:
    """The sum with one term more (Kahan 1965)."""
    term = term - total.lost
    larger = total.value + term
    return Sum(larger, (larger - total.value) - term)
