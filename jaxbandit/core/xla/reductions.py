"""Reductions over the first axis, and sums along it, row by row.

XLA's CPU compiler reduces the first axis of `[K, *runs]` run by run, a number at a time; row by row it is arithmetic
on whole vectors of runs. Policies say `jnp.sum(x, axis=0)`, and their program is rewritten as a whole (`rewriting`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from jaxbandit.core.xla.fusion import without_fusion

_AT_ONCE = 4  # rows that a loop over more of them takes at a time (measured)
_WRITTEN = 32  # rows up to which they are written out; more are gone through in a loop

_EXACT = ("reduce_max", "reduce_min", "reduce_and", "reduce_or")  # the same in any order

Row = tuple[Array, ...]  # of several arrays, one entry each
Combine = Callable[[Row, Row], Row]


class RowReductions:
    """The rule (`rewriting.Rule`) that reductions over the first axis of several, and sums along it, go row by row."""

    def matches(self, equation: Any) -> bool:
        name, params = equation.primitive.name, equation.params
        if name == "cumsum":
            return equation.invars[0].aval.ndim > 1 and params["axis"] == 0
        if name not in _COMBINED and name not in ("argmax", "reduce"):
            return False
        axes = params["dimensions" if name == "reduce" else "axes"]
        several = name in _COMBINED  # the first axis, then what is left
        return equation.invars[0].aval.ndim > 1 and (axes[:1] == (0,) if several else axes == (0,))

    def replacement(self, equation: Any, operands: list[Any]) -> Sequence[Any] | None:
        if not self.matches(equation):
            return None
        return _row_by_row(equation.primitive.name, equation.params, operands)


def _row_by_row(name: str, params: dict[str, Any], operands: list[Any]) -> Sequence[Any]:
    if name == "argmax":
        row = lax.broadcasted_iota(params["index_dtype"], operands[0].shape, 0)
        return _reduced([operands[0], row], _later_larger)[1:]
    if name == "reduce":
        rows, starts = operands[: len(operands) // 2], operands[len(operands) // 2 :]
        combine = _elementwise(params["jaxpr"], rows[0].ndim - 1)
        found = _reduced(rows, combine)
        return combine(tuple(jnp.full_like(x, start) for x, start in zip(found, starts, strict=True)), found)
    if name == "cumsum":
        return [_summed_up(operands[0], params["reverse"])]
    two, others = _COMBINED[name]
    (whole,) = _reduced(operands, lambda a, b: (two(a[0], b[0]),))
    left = tuple(axis - 1 for axis in params["axes"][1:])
    if not left:
        return [whole]
    if len(left) == whole.ndim and name in _EXACT:
        whole, left = _folded(whole, two), (0,)
    return [others(whole, left)]


def _folded(row: Array, combine: Callable[[Array, Array], Array]) -> Array:
    """A row of many entries as one of few that combine to the same, `[n]`: a number at a time those take no time."""
    parts = math.gcd(row.size, _WRITTEN)
    if parts == 1:
        return row.ravel()
    return _reduced([row.reshape(parts, -1)], lambda a, b: (combine(a[0], b[0]),))[0]


# How two rows are combined, and what is left of several axes after the first
_COMBINED: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "reduce_sum": (lax.add, lax.reduce_sum),
    "reduce_max": (lax.max, lax.reduce_max),
    "reduce_min": (lax.min, lax.reduce_min),
    "reduce_and": (lax.bitwise_and, lax.reduce_and),
    "reduce_or": (lax.bitwise_or, lax.reduce_or),
}


def _reduced(rows: Sequence[Array], combine: Combine) -> Row:
    """The rows of some arrays `[K, *runs]` combined, from the first to the last."""
    count = len(rows[0])
    if count <= _WRITTEN:  # apart from what uses it, which may have K rows and would compute it for each
        return without_fusion(
            lambda: functools.reduce(combine, (tuple(x[k] for x in rows) for k in range(count))), rows[0]
        )

    step = _AT_ONCE
    head = count % step or step

    def more(i: Array, found: Row) -> Row:
        parts = [lax.dynamic_slice_in_dim(x, head + i * step, step) for x in rows]
        return functools.reduce(combine, (tuple(x[k] for x in parts) for k in range(step)), found)

    start = functools.reduce(combine, (tuple(x[k] for x in rows) for k in range(head)))
    return lax.fori_loop(0, count // step - (head == step), more, start)


def _summed_up(rows: Array, backwards: bool) -> Array:
    """The sums of the rows up to each, or from the last row down to it."""

    def one_more(n: Array, made: tuple[Array, Array]) -> tuple[Array, Array]:
        k = len(rows) - 1 - n if backwards else n
        total = made[0] + lax.dynamic_index_in_dim(rows, k, keepdims=False)
        return total, lax.dynamic_update_index_in_dim(made[1], total, k, 0)

    return lax.fori_loop(0, len(rows), one_more, (jnp.zeros_like(rows[0]), jnp.zeros_like(rows)))[1]


def _later_larger(a: Row, b: Row) -> Row:
    """The pair of a value and its row that `argmax` prefers, `a` being that of an earlier row."""
    later = (b[0] > a[0]) | ((b[0] != b[0]) & (a[0] == a[0]))
    return jnp.where(later, b[0], a[0]), jnp.where(later, b[1], a[1])


def _elementwise(combine: ClosedJaxpr, axes: int) -> Combine:
    """A combination of scalars as one of arrays with so many axes."""
    function: Any = jaxpr_as_fun(combine)
    for _ in range(axes):
        function = jax.vmap(function)
    return lambda a, b: tuple(function(*a, *b))
