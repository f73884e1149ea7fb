"""Beta and Gamma numbers by rejection: candidates for all at once, then again for the few that were refused."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Protocol

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.prng.normal import normal
from jaxbandit.core.prng.threefry import unit
from jaxbandit.core.xla.fusion import without_fusion


class Source(Protocol):
    """Random words of some runs: a `Stream`."""

    @property
    def key(self) -> tuple[Array, Array]: ...

    def words(self, slots: Array, attempt: Array) -> tuple[Array, Array]: ...


_COLUMN = 24  # slots per column, of which one at a time is redrawn (measured)


# Draws a candidate per slot with parameters that may have been refused before, and whether each is accepted:
# (source, slots, attempt, *parameters) -> (candidates, accepted).
Proposal = Callable[..., tuple[Array, Array]]


def propose_beta(source: Source, slot: Array, attempt: Array, a: Array, b: Array) -> tuple[Array, Array]:
    """A candidate for Beta(a, b), a, b >= 1, and whether it is accepted: 68 to 100 % are, 89 % for large equal a and b.

    Cheng (1978), "Generating beta variates with nonintegral shape parameters", algorithm BB: logit(x) - logit(m), for
    the mean m = a / (a + b), is proposed from a logistic distribution of scale 1 / l. With n = a + b, s = logit(x) -
    logit(m) and the uniform number u that s is made of, a candidate is accepted with probability
    exp(-n (log(1 + y) - m s)) / (4 u (1 - u)), where y = m (e^s - 1). So that no digits cancel, m s is taken out of
    both terms, and of x and 1 - x that of the smaller mean is drawn.
    """
    dtype = a.dtype

    def draws() -> tuple[Array, Array]:
        w0, w1 = source.words(slot, 2 * attempt)
        if dtype == jnp.float32:
            return ((w0 >> np.uint32(9)).astype(jnp.int32).astype(dtype) + 0.5) * 2.0**-23, unit(w1, w0, dtype)
        u = (unit(w0, w1, dtype) + 2.0**-54) * (1.0 - 2.0**-53)
        return u, unit(*source.words(slot, 2 * attempt + 1), dtype)

    u, below = without_fusion(draws, source.key[0])
    low, high, n = jnp.minimum(a, b), jnp.maximum(a, b), a + b
    rest = jnp.maximum(n - 2.0, jnp.finfo(dtype).tiny)  # not 0 / 0
    scale = jnp.sqrt(rest / (rest + 2.0 * (a - 1.0) * (b - 1.0)))  # 1 / l
    s = scale * jnp.log(u / (1.0 - u))
    beyond = expm1_tail(s)
    y = low / n * (beyond + s)
    refused = jnp.log(4.0 * u * (1.0 - u) * (1.0 - below)) > -(n * log1p_tail(y, 2) + low * beyond)
    odds = low * jnp.exp(s)
    x = jnp.where(a > b, high, odds) / (high + odds)
    # Parameters that should be 1 may be rounded to less. NaN is accepted, or the redraws would not end.
    return jnp.where(low < 0.9, jnp.nan, x), ~refused


def propose_gamma(source: Source, slot: Array, attempt: Array, shape: Array) -> tuple[Array, Array]:
    """A candidate for Gamma(shape), shape >= 1, and whether it is accepted; at least 95 % are.

    Marsaglia & Tsang (2000), Fig. 1, with v = (1 + y)^3. Since x^2 / 2 = 9 d y^2 / 2, the bound on log U is
    3 d (log(1 + y) - y + y^2 / 2 - y^3 / 3), a form that loses no digits for large shapes.
    """
    d = shape - 1.0 / 3.0

    def draws() -> tuple[Array, Array]:
        # Numbers, not their words: a loop that makes one array calls Threefry once for both words of each number.
        return normal(*source.words(slot, 2 * attempt)), unit(*source.words(slot, 2 * attempt + 1), shape.dtype)

    x, u = without_fusion(draws, source.key[0])
    y = x / jnp.sqrt(9.0 * d)
    refused = (y <= -1.0) | (jnp.log(1.0 - u) >= 3.0 * d * log1p_tail(jnp.maximum(y, -1.0), 4))
    return d * (1.0 + y) ** 3, ~refused


def log1p_tail(y: Array, first: int) -> Array:
    """The series of log(1 + y) from its power `first` on, continued to all y >= -1.

    In float32 by the series near 0, where the difference from log(1 + y) would lose digits.
    """
    difference = jnp.log1p(y) if y.dtype != jnp.float32 else jnp.log(1.0 + y)
    head: Array | float = 0.0
    for n in range(first - 1, 0, -1):
        head = 1.0 / n - y * head
    difference -= y * head
    if y.dtype != jnp.float32:
        return difference
    series: Array | float = 1.0 / 14.0
    for n in range(13, first - 1, -1):
        series = 1.0 / n - y * series
    return jnp.where(jnp.abs(y) < 0.25, (-1.0) ** (first + 1) * series * y**first, difference)


def expm1_tail(s: Array) -> Array:
    """e^s - 1 - s; near 0 by its series, where the difference would lose digits."""
    series: Array | float = 1.0
    for n in range(9, 2, -1):
        series = 1.0 + s / n * series
    return jnp.where(jnp.abs(s) < 0.5, 0.5 * s * s * series, jnp.exp(s) - 1.0 - s)


def accepted_numbers(source: Source, propose: Proposal, *parameters: Array) -> Array:
    """Numbers by rejection, `[slots, *runs]`: all slots at once, then the few that were refused again.

    The slots form columns of at most `_COLUMN`. Each later pass redraws one refused slot per column, so that it costs a
    fraction of the first pass.

    Args:
        propose: a `Proposal`.
        parameters: its parameters, floats `[slots, *runs]`, which may all be 1.
    """
    runs, slots = source.key[0].shape[1:], len(parameters[0])
    columns = -(-slots // _COLUMN)
    rows = -(-slots // columns)
    table = (rows, columns, *runs)

    def filled(parameter: Array) -> Array:
        padding = jnp.ones((rows * columns - slots, *runs), parameter.dtype)
        return jnp.concatenate([jnp.broadcast_to(parameter, (slots, *runs)), padding])

    full = [filled(parameter) for parameter in parameters]
    slot = jnp.broadcast_to(indices(rows * columns, full[0].ndim), full[0].shape)
    value, accepted = propose(source, slot, jnp.zeros_like(slot), *full)
    tables, row = [x.reshape(table) for x in full], lax.broadcasted_iota(jnp.int32, table, 0)
    column = jnp.broadcast_to(indices(columns, full[0].ndim), table[1:])
    # Bit r of a column: the slot in row r was refused.
    bits = jnp.where((~accepted & (slot < slots)).reshape(table), 1 << row, 0)
    refused = jnp.sum(bits, axis=0, dtype=jnp.int32)

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        return jnp.any(carry[1] != 0)

    def redraw(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        value, refused, attempt = carry
        place = lax.population_count(~refused & (refused - 1))  # the first refused slot of each column; 32 for none
        own = [functools.reduce(lambda x, r: jnp.where(place == r, table[r], x), range(rows), ones) for table in tables]
        candidate, accepted = without_fusion(
            lambda: propose(source, jnp.minimum(place, rows) * columns + column, attempt, *own), own[0]
        )
        done = jnp.where(accepted, place, -1)
        # Attempts stop at 126; more are needed once in 10^62 draws.
        attempt = jnp.where(accepted, 1, jnp.minimum(attempt + 1, 126))
        value = jnp.where(row == done[None], candidate[None], value)
        return value, jnp.where(accepted, refused & (refused - 1), refused), attempt

    first, ones = jnp.ones(table[1:], jnp.int32), jnp.ones(table[1:], value.dtype)
    value = lax.while_loop(unfinished, redraw, (value.reshape(table), refused, first))[0]
    return value.reshape((rows * columns, *runs))[:slots]


def indices(count: int, ndim: int) -> Array:
    """0, ..., count - 1 along the first of `ndim` axes, int32."""
    return jnp.arange(count, dtype=jnp.int32).reshape((count,) + (1,) * (ndim - 1))
