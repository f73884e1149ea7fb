"""Reductions over the first axis, and cumulative sums along it, row by row.

XLA's CPU compiler reduces the first axis of `[K, *runs]` for one run after the other, one number at a time. Row by row
the reduction is arithmetic on vectors of runs. Policies write `jnp.sum(x, axis=0)`; the whole program is rewritten
(`rewriting`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.xla.compat import ClosedJaxpr, JaxprEqn
from jaxbandit.core.xla.fusion import without_fusion
from jaxbandit.core.xla.rewriting.programs import Place, as_function, equations

_ROWS_PER_STEP = 4  # rows that one step of a loop over the rows combines (measured)
_UNROLLED = 32  # rows up to which the reduction is unrolled; a loop combines more rows

_FEW = 16  # numbers that are combined one by one (measured)
_SHORT = 64  # loops over fewer numbers may be unrolled instead of vectorised (measured)

_EXACT = ("reduce_max", "reduce_min", "reduce_and", "reduce_or")  # the same result in any order

Tree = TypeVar("Tree")
Row = tuple[Array, ...]  # row k of each of several arrays
Combine = Callable[[Row, Row], Row]


class RowReductions:
    """The rule (`programs.Rule`) for reductions over the first of several axes, and cumulative sums along it."""

    def applies(self, program: ClosedJaxpr) -> bool:
        return any(map(self.matches, equations(program)))

    def matches(self, equation: JaxprEqn) -> bool:
        """Whether an operation is such a reduction."""
        name, params = equation.primitive.name, equation.params
        operand: Any = equation.invars[0].aval if equation.invars else None
        if name == "cumsum":
            return operand.ndim > 1 and params["axis"] == 0
        if name not in _COMBINED and name not in ("argmax", "reduce"):
            return False
        axes = params["dimensions" if name == "reduce" else "axes"]
        several = name in _COMBINED  # may reduce other axes, too
        return operand.ndim > 1 and (axes[:1] == (0,) if several else axes == (0,))

    def replacement(self, equation: JaxprEqn, operands: list[Any], place: Place) -> Sequence[Any] | None:
        if not self.matches(equation):
            return None
        return _row_by_row(equation.primitive.name, equation.params, operands)


def _row_by_row(name: str, params: dict[str, Any], operands: list[Any]) -> Sequence[Any]:
    """The results of a reduction, by name and parameters, on its operands."""
    if name == "argmax":
        return [_row_of_largest(operands[0], params["index_dtype"])]
    if name == "reduce":
        rows, starts = operands[: len(operands) // 2], operands[len(operands) // 2 :]
        combine = _elementwise(params["jaxpr"], rows[0].ndim - 1)
        reduced = _reduced(rows, combine)
        return combine(tuple(jnp.full_like(x, start) for x, start in zip(reduced, starts, strict=True)), reduced)
    if name == "cumsum":
        return [_cumulative_sum(operands[0], params["reverse"])]
    combine_two, reduce_axes = _COMBINED[name]
    (row,) = _reduced(operands, lambda a, b: (combine_two(a[0], b[0]),))
    axes = tuple(axis - 1 for axis in params["axes"][1:])
    if not axes:
        return [row]
    if len(axes) == row.ndim and name in _EXACT:
        if row.dtype == bool and row.size % 2 == 0:
            return [_combined_bools(row, combine_two)]
        row, axes = _folded(row, combine_two), (0,)
    return [reduce_axes(row, axes)]


def _combined_bools(row: Array, combine: Callable[[Array, Array], Array]) -> Array:
    """The combination of all entries of `row`, bools.

    XLA cuts the reduction of many entries to one into windows, and LLVM does not vectorise their code. It does not cut
    a reduction of two arrays at once. So the two halves are reduced together, in a third of the time.
    """
    halves = row.ravel().astype(jnp.uint8).reshape(2, -1)
    start = np.uint8(combine in (lax.bitwise_and, lax.min))  # changes nothing it is combined with
    two = lax.reduce(tuple(halves), (start, start), lambda a, b: tuple(map(combine, a, b)), (0,))
    return combine(*two) != 0


def _folded(row: Array, combine: Callable[[Array, Array], Array]) -> Array:
    """A row of few entries, `[n]`, whose combination is that of all entries of `row`.

    XLA combines entries one by one, and the halves of a row as vectors.
    """
    row = row.ravel()
    while row.size % 2 == 0 and row.size > _FEW:
        row = combine(row[: row.size // 2], row[row.size // 2 :])
    return row


# By the name of a reduction: the combination of two rows, and the reduction of other axes than the first.
_COMBINED: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "reduce_sum": (lax.add, lax.reduce_sum),
    "reduce_max": (lax.max, lax.reduce_max),
    "reduce_min": (lax.min, lax.reduce_min),
    "reduce_and": (lax.bitwise_and, lax.reduce_and),
    "reduce_or": (lax.bitwise_or, lax.reduce_or),
}


def _reduced(rows: Sequence[Array], combine: Combine) -> Row:
    """The combination of all rows of some arrays `[K, *runs]`, from the first to the last."""
    count = len(rows[0])
    if count <= _UNROLLED:  # not fused into computations per arm, which would repeat the reduction K times
        return without_fusion(
            lambda: functools.reduce(combine, (tuple(x[k] for x in rows) for k in range(count))), rows[0]
        )

    return _folded_from(rows, tuple(x[0] for x in rows), lambda combined, row, _: combine(combined, row), begin=1)


def _row_of_largest(values: Array, dtype: Any) -> Array:
    """The number of the row of the largest value, the first one among equals, `[*runs]`; that of the first NaN."""

    def take(largest: Row, row: Row, number: Array | int) -> Row:
        return later_larger(largest, (row[0], jnp.full(row[0].shape, number, dtype)))

    return _folded_from((values,), (values[0], jnp.zeros(values[0].shape, dtype)), take, begin=1)[1]


def folded(rows: Sequence[Array], start: Row, combine: Combine) -> Row:
    """`start` combined with all rows of some arrays `[K, *runs]`, from the first to the last, on CPU."""
    return _folded_from(rows, start, lambda combined, row, _: combine(combined, row))


def _folded_from(
    rows: Sequence[Array], start: Row, take: Callable[[Row, Row, Array | int], Row], begin: int = 0
) -> Row:
    """As `folded`, from row number `begin` on; the third argument of `take` is the number of the row."""
    whole = begin + (len(rows[0]) - begin) % _ROWS_PER_STEP  # from here on, steps are complete

    def more(i: Array, combined: Row) -> Row:
        first = whole + i * _ROWS_PER_STEP
        parts = [lax.dynamic_slice_in_dim(x, first, _ROWS_PER_STEP) for x in rows]
        for k in range(_ROWS_PER_STEP):
            combined = take(combined, tuple(x[k] for x in parts), first + k)
        return combined

    combined = start
    for k in range(begin, whole):
        combined = take(combined, tuple(x[k] for x in rows), k)
    steps = (len(rows[0]) - whole) // _ROWS_PER_STEP
    return lax.fori_loop(0, steps, more, combined) if steps else combined


def folded_in_groups(
    rows: Sequence[Array],
    start: Callable[[int], Tree],
    take: Callable[[Tree, Row, Array | int], Tree],
    join: Callable[[Tree, Tree, int], Tree],
) -> Tree:
    """All rows of some arrays `[K, *runs]` combined in an order that depends on the number of runs, on CPU.

    Where runs are few, the rows of several arms are one vector, because LLVM does not vectorise loops over few numbers.
    What the first rows of all groups give is combined with what their second rows give, and so on, in the end.

    Args:
        rows: the arrays.
        start: a function of a length that returns what there is before the first row, arrays of this length.
        take: combines that with a row of each array; its last argument is the number of the row, or of the first row of
            a group.
        join: combines what the first rows of groups give with what later ones give; its last argument is the place of
            these in their groups.

    Returns:
        Arrays of one axis, the runs.
    """
    count, runs = len(rows[0]), math.prod(rows[0].shape[1:])
    group = -(-_SHORT // runs)
    steps = count // (group * _ROWS_PER_STEP)
    flat = [x.ravel() for x in rows]

    def cut(first: Array | int, height: int) -> Row:
        return tuple(lax.dynamic_slice_in_dim(x, first * runs, height * runs) for x in flat)

    def step(i: Array, so_far: Tree) -> Tree:
        for k in range(_ROWS_PER_STEP):
            first = (i * _ROWS_PER_STEP + k).astype(jnp.int32) * group
            so_far = take(so_far, cut(first, group), first)
        return so_far

    in_groups = lax.fori_loop(0, steps, step, start(group * runs))

    def joined() -> Tree:
        first, *others = (jax.tree.map(lambda x, n=n: x.reshape(group, runs)[n], in_groups) for n in range(group))
        for n, other in enumerate(others, start=1):
            first = join(first, other, n)
        for k in range(steps * group * _ROWS_PER_STEP, count):
            first = take(first, cut(k, 1), k)
        return first

    return without_fusion(joined, jax.tree.leaves(in_groups)[0])


def _cumulative_sum(rows: Array, reverse: bool) -> Array:
    """For each row the sum of the rows from the first to it, or with `reverse` from the last to it."""

    def one_more(n: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
        k = len(rows) - 1 - n if reverse else n
        total = sums[0] + lax.dynamic_index_in_dim(rows, k, keepdims=False)
        return total, lax.dynamic_update_index_in_dim(sums[1], total, k, 0)

    return lax.fori_loop(0, len(rows), one_more, (jnp.zeros_like(rows[0]), jnp.zeros_like(rows)))[1]


def later_larger(a: Row, b: Row) -> Row:
    """The pair (value, row) that `argmax` prefers, where `a` is from an earlier row than `b`."""
    later = (b[0] > a[0]) | ((b[0] != b[0]) & (a[0] == a[0]))
    return jnp.where(later, b[0], a[0]), jnp.where(later, b[1], a[1])


def larger(a: Array, b: Array) -> Array:
    """The larger of two numbers that are not NaN: one instruction, where `jnp.maximum`, which keeps NaN, takes four."""
    return jnp.where(a > b, a, b)


def _elementwise(combine: ClosedJaxpr, axes: int) -> Combine:
    """A combination of scalars as a combination of arrays with `axes` axes."""
    function: Any = as_function(combine)
    for _ in range(axes):
        function = jax.vmap(function)
    return lambda a, b: tuple(function(*a, *b))
