"""Gamma numbers by rejection: candidates for all at once, then again for the few that were refused."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Protocol

import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.prng.normal import normal
from jaxbandit.core.prng.threefry import unit
from jaxbandit.core.xla.fusion import without_fusion


class Source(Protocol):
    """Random words of some runs: a `Stream`."""

    @property
    def key(self) -> tuple[Array, Array]: ...

    def words(self, slots: Array, attempt: Array) -> tuple[Array, Array]: ...


_COLUMN = 24  # slots per column, of which one at a time is redrawn; enough for the Beta draws of 12 arms


# Draws a candidate per slot with parameters that may have been refused before, and whether each is accepted:
# (source, slots, attempt, *parameters) -> (candidates, accepted).
Proposal = Callable[..., tuple[Array, Array]]


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
    return d * (1.0 + y) ** 3, (y > -1.0) & (jnp.log(1.0 - u) < 3.0 * d * _log1p_remainder(jnp.maximum(y, -1.0)))


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
        own = [jnp.where(x > 0, x, 1.0) for x in own]  # arbitrary draws for arbitrary parameters, but the redraws end
        candidate, accepted = without_fusion(
            lambda: propose(source, jnp.minimum(place, rows) * columns + column, attempt, *own), own[0]
        )
        done = jnp.where(accepted, place, -1)
        # Attempts stop at 126; more are needed once in 10^164 draws.
        attempt = jnp.where(accepted, 1, jnp.minimum(attempt + 1, 126))
        value = jnp.where(row == done[None], candidate[None], value)
        return value, jnp.where(accepted, refused & (refused - 1), refused), attempt

    first, ones = jnp.ones(table[1:], jnp.int32), jnp.ones(table[1:], value.dtype)
    value = lax.while_loop(unfinished, redraw, (value.reshape(table), refused, first))[0]
    return value.reshape((rows * columns, *runs))[:slots]


def indices(count: int, ndim: int) -> Array:
    """0, ..., count - 1 along the first of `ndim` axes, int32."""
    return jnp.arange(count, dtype=jnp.int32).reshape((count,) + (1,) * (ndim - 1))
