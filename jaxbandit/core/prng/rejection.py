"""Gamma numbers by rejection: candidates for all at once, then exact tests of the few that a bound does not accept."""

from __future__ import annotations

import functools
import math
from typing import Protocol

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.prng.normal import normal
from jaxbandit.core.prng.threefry import unit
from jaxbandit.core.rationals import rounded_product
from jaxbandit.core.xla.fusion import without_fusion


class Source(Protocol):
    """Random words of some runs: a `Stream`."""

    @property
    def key(self) -> tuple[Array, Array]: ...

    def words(self, slots: Array, attempt: Array) -> tuple[Array, Array]: ...


_COLUMN = 24  # slots per column, of which one at a time is looked at; enough for the Beta draws of 12 arms
_LEAST = -0.8  # the bound of `_surely_accepted` holds from here on
# The sum of 4 a^(n - 7) / n for n >= 7 at a = 0.8
_REST = 4 * 0.8**-7 * -(math.log(0.2) + sum(0.8**n / n for n in range(1, 7)))


def _candidate(source: Source, slot: Array, attempt: Array, shape: Array) -> tuple[Array, Array, Array]:
    """A candidate d (1 + y)^3 of Marsaglia & Tsang (2000), Fig. 1, and the first bits of the number that tests it.

    Returns:
        d and y; and the uniform number of the test in 256ths, rounded down. Its eight bits are those of the words that
        the normal number does not use.
    """
    d = shape - 1.0 / 3.0
    w0, w1 = source.words(slot, 2 * attempt)
    y = rounded_product(1.0 / jnp.sqrt(9.0 * d), normal(w0, w1))  # a quotient would be an array of its own
    return d, y, (w1 & np.uint32(255)).astype(jnp.int32).astype(shape.dtype)


def _gamma(d: Array, y: Array) -> Array:
    return d * (1.0 + y) ** 3


def _surely_accepted(d: Array, y: Array, coarse: Array) -> Array:
    """Whether `_accepted`, whatever the finer bits of the uniform number are.

    With z = 3 d (log(1 + y) - y + y^2 / 2 - y^3 / 3), exp(z) >= 1 + z. The series of the logarithm bounds z: its terms
    up to y^6 for y >= 0; for y < 0 all its terms, those from y^7 on with y = `_LEAST`.
    """
    below = jnp.maximum(-y, 0.0)
    series = 1.0 - y * (4.0 / 5.0 - y * (4.0 / 6.0)) + _REST * below**3
    return (y > _LEAST) & (coarse + 1.0 < 256.0 - 192.0 * d * (y * y) ** 2 * series)


def _accepted(d: Array, y: Array, uniform: Array) -> Array:
    """Whether a candidate is accepted, for a uniform number in (0, 1].

    Since x^2 / 2 = 9 d y^2 / 2, the bound on its logarithm is 3 d (log(1 + y) - y + y^2 / 2 - y^3 / 3), a form that
    loses no digits for large shapes.
    """
    return (y > -1.0) & (jnp.log(uniform) < 3.0 * d * _log1p_remainder(jnp.maximum(y, -1.0)))


def _log1p_remainder(y: Array) -> Array:
    """log(1 + y) - y + y^2 / 2 - y^3 / 3; in float32 by its series near 0, where the difference would lose digits."""
    difference = jnp.log1p(y) if y.dtype != jnp.float32 else jnp.log(1.0 + y)
    difference -= y * (1.0 - y * (1.0 / 2.0 - y * (1.0 / 3.0)))
    if y.dtype != jnp.float32:
        return difference
    series: Array | float = 1.0 / 14.0
    for n in range(13, 3, -1):
        series = 1.0 / n - y * series
    return jnp.where(jnp.abs(y) < 0.25, -series * (y * y) ** 2, difference)


def gamma_numbers(source: Source, shape: Array) -> Array:
    """Numbers of Gamma distributions, `[slots, *runs]`.

    The candidates of all slots come first. A bound accepts at least 90 % of them, for one number of Threefry and one
    logarithm each. The other slots are handled in passes. They form columns of at most `_COLUMN` slots; a pass takes
    one slot per column, tests its candidate, and draws the next candidate if this one is refused. So a pass costs a
    fraction of the first step.

    Args:
        shape: the parameters, at least 1, float `[slots, *runs]`; all axes but the first may be 1.
    """
    runs, slots = source.key[0].shape[1:], len(shape)
    columns = -(-slots // _COLUMN)
    rows = -(-slots // columns)
    table = (rows, columns, *runs)
    padding = jnp.ones((rows * columns - slots, *runs), shape.dtype)
    shape = jnp.concatenate([jnp.broadcast_to(shape, (slots, *runs)), padding])
    slot = jnp.broadcast_to(indices(rows * columns, shape.ndim), shape.shape)

    def surely_accepted() -> Array:  # one array with -1 for the others: a second would call Threefry again
        d, y, coarse = _candidate(source, slot, jnp.zeros_like(slot), shape)
        return jnp.where(_surely_accepted(d, y, coarse), _gamma(d, y), -1.0)

    value = without_fusion(surely_accepted, source.key[0])
    shapes, row = shape.reshape(table), lax.broadcasted_iota(jnp.int32, table, 0)
    column = jnp.broadcast_to(indices(columns, shape.ndim), table[1:])
    # Bit r of a column: the slot in row r has no number yet.
    bits = jnp.where(((value < 0) & (slot < slots)).reshape(table), 1 << row, 0)
    open_slots = jnp.sum(bits, axis=0, dtype=jnp.int32)

    def unfinished(carry: tuple[Array, Array, Array, Array]) -> Array:
        return jnp.any(carry[1] != 0)

    def draw(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        value, open_slots, attempt, passes = carry
        place = lax.population_count(~open_slots & (open_slots - 1))  # the first of each column; 32 for none
        own = functools.reduce(lambda x, r: jnp.where(place == r, shapes[r], x), range(rows), ones)
        own = jnp.where(own > 0, own, 1.0)  # arbitrary numbers for arbitrary parameters, but the passes end

        def proposed() -> Array:  # again one array, with -1 for those that are refused
            which = jnp.minimum(place, rows) * columns + column
            d, y, coarse = _candidate(source, which, attempt, own)
            fine = unit(*source.words(which, 2 * attempt + 1), own.dtype)
            return jnp.where(_accepted(d, y, (coarse + (1.0 - fine)) / 256.0), _gamma(d, y), -1.0)

        candidate = without_fusion(proposed, own)
        accepted = candidate >= 0
        done = jnp.where(accepted, place, -1)
        # Attempts stop at 126; more are needed once in 10^164 draws.
        attempt = jnp.where(accepted, 0, jnp.minimum(attempt + 1, 126))
        value = jnp.where(row == done[None], candidate[None], value)
        return value, jnp.where(accepted, open_slots & (open_slots - 1), open_slots), attempt, passes + 1

    first, ones = jnp.zeros(table[1:], jnp.int32), jnp.ones(table[1:], value.dtype)
    passes = jnp.zeros((), jnp.int32)  # which `StoredSelections` needs
    value = lax.while_loop(unfinished, draw, (value.reshape(table), open_slots, first, passes))[0]
    return value.reshape((rows * columns, *runs))[:slots]


def indices(count: int, ndim: int) -> Array:
    """0, ..., count - 1 along the first of `ndim` axes, int32."""
    return jnp.arange(count, dtype=jnp.int32).reshape((count,) + (1,) * (ndim - 1))
