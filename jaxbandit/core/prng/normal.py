"""Normal numbers from words."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.prng.threefry import unit

NORMAL_TAIL = math.sqrt(2 * 33 * math.log(2))  # 6.76 = sqrt(-2 log u) for the least uniform number, u = 2^-33


def normal(w0: Array, w1: Array) -> Array:
    """A standard normal number from two words, of the default float dtype."""
    dtype = jnp.result_type(float)
    radius = jnp.sqrt(-2.0 * jnp.log((w0.astype(dtype) + 0.5) * 2.0**-32))
    return radius * _cosine(unit(w1, w0, dtype))


def _cosine(turn: Array) -> Array:
    """cos(2 pi turn) for turn in [0, 1).

    In float32 by a polynomial, with an error below 2e-7: XLA's CPU compiler does not vectorise its own cosine.
    """
    if turn.dtype != jnp.float32:
        return jnp.cos(2.0 * np.pi * turn)
    x = 2.0 * np.pi * (0.25 - jnp.abs(turn - 0.5))  # cos(2 pi turn) = -sin(x), |x| <= pi / 2
    y = x * x
    series: Array | float = 1.0
    for n in (10, 8, 6, 4, 2):  # the Taylor series of sin(x) / x, to x^10
        series = 1.0 - y / (n * (n + 1.0)) * series
    return -x * series
