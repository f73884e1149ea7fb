"""Quotients that decide ties: equal quotients are equal numbers on every device."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.xla.fusion import on_cpu


def rounded_quotient(numerator: Array, denominator: Array) -> Array:
    """numerator / denominator of floats, the nearest number to the exact quotient: equal quotients are equal numbers.

    A CPU divides so. A GPU divides float32 numbers with an error of up to two units in the last place (measured), and
    then 2 / 3 and 6 / 9 may differ. There the remainder, divided, is added to the quotient. This is exact for whole
    numbers below 2^20; other quotients may be rounded to the second nearest number, one in a million.
    """
    return numerator / denominator if on_cpu() or numerator.dtype != jnp.float32 else _corrected(numerator, denominator)


@jax.custom_jvp
def _corrected(numerator: Array, denominator: Array) -> Array:
    return with_remainder(numerator / denominator, numerator, denominator)


@_corrected.defjvp
def _corrected_derivative(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    numerator, denominator = primals
    quotient = _corrected(numerator, denominator)
    return quotient, (tangents[0] - quotient * tangents[1]) / denominator


def with_remainder(near: Array, numerator: Array, denominator: Array) -> Array:
    """The float32 quotient, from a number `near` it. Where the remainder is not finite it is that number."""
    (q1, q2), (d1, d2) = _halves(near), _halves(denominator)
    # Each product of halves is exact, whether a compiler fuses it with the difference or not
    remainder = (((numerator - q1 * d1) - q1 * d2) - q2 * d1) - q2 * d2
    return jnp.where(jnp.abs(remainder) < jnp.inf, near + remainder / denominator, near)


def _halves(value: Array) -> tuple[Array, Array]:
    """Two float32 numbers of 12 significant bits each, whose sum is the value."""
    bits = lax.bitcast_convert_type(value, jnp.int32)
    high = lax.bitcast_convert_type(bits & jnp.int32(-(1 << 12)), jnp.float32)
    return high, value - high
