"""A complete program as one kernel, on CPU.

XLA's CPU client launches one kernel for each fused part of a round, and splits large kernels over its threads, which
then wait for each other. A loop that XLA considers small is compiled to one function instead: no kernel is launched,
nothing waits, and a block stays on its core. XLA marks the call of such a function with an attribute. This module sets
the attribute itself, so that any program is compiled like this.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.xla import compat
from jaxbandit.core.xla.compat import ClosedJaxpr
from jaxbandit.core.xla.fusion import FOR_GPU_KERNEL, hidden_true
from jaxbandit.core.xla.reductions import RowReductions
from jaxbandit.core.xla.rewriting.programs import as_function, rewrite
from jaxbandit.core.xla.rewriting.square_roots import SquareRoots
from jaxbandit.core.xla.rewriting.stored_selections import StoredSelections

# fmt: off
# The operations that such a kernel can contain. Programs with others (sort, scatter, matrix product) stay as they are.
_EMITTED = frozenset((
    "abs", "add", "and", "argmax", "argmin", "bitcast_convert_type", "broadcast_in_dim", "ceil", "clamp",
    "closed_call", "concatenate", "cond", "convert_element_type", "copy", "copy_p", "cos", "cumsum",
    "custom_jvp_call", "custom_vjp_call", "div", "dynamic_slice", "dynamic_update_slice", "eq", "exp", "exp2",
    "expand_dims", "expm1", "floor", "gather", "ge", "gt", "integer_pow", "iota", "is_finite", "jit", "le", "log",
    "log1p", "logistic", "lt", "max", "min", "mul", "ne", "neg", "nextafter", "not", "or", "pad", "pjit",
    "platform_index", "population_count", "pow", "reduce", "reduce_and", "reduce_max", "reduce_min", "reduce_or",
    "reduce_precision", "reduce_sum", "rem", "reshape", "rev", "round", "rsqrt", "scan", "select_n", "shift_left",
    "shift_right_arithmetic", "shift_right_logical", "sign", "sin", "slice", "split", "sqrt", "square", "squeeze",
    "stack", "stop_gradient", "sub", "tanh", "transpose", "while", "xor",
))
# fmt: on

_ADDED_AT_ONCE = 4  # runs per step of `add_at`: the counter of its loop goes through memory
# Rows of values up to which they are added in one unrolled loop, and rows per loop of more; the time to compile a loop
# grows faster than its rows do
_MOST_ROWS, _ROWS_AT_ONCE = 8, 4

_within: ContextVar[bool] = ContextVar("_within", default=False)


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """`jax.jit(function, **options)`, for a function that calls functions made by `as_one_kernel`."""
    return jax.jit(function, compiler_options=compat.kernel_options(), **options)


def as_one_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, on CPU as one kernel if a kernel can contain all its operations.

    Args:
        function: takes and returns trees of arrays, with at least two arrays in the result.

    Returns:
        A function, to be called in a function that `compiled` compiles.
    """

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        if jax.default_backend() != "cpu":
            return function(*arguments)
        with _inside():
            program, shape = jax.make_jaxpr(function, return_shape=True)(*arguments)
        if unsupported_operations(program) or not compat.kernels_work():
            leaves = as_function(rewrite(program, (SquareRoots,)))(*jax.tree.leaves(arguments))
            return jax.tree.unflatten(jax.tree.structure(shape), leaves)
        run = as_function(rewrite(program, (RowReductions, SquareRoots, StoredSelections)))

        @jax.jit
        def kernel(*leaves: Array) -> list[Array]:
            return [*run(*leaves), hidden_true(*leaves)]

        # XLA fails if an argument is never read, or if a single result is split over its threads. So one more result
        # reads all arguments, and another result depends on it.
        *results, read = (compat.marked(result) for result in kernel(*jax.tree.leaves(arguments)))
        least = min(range(len(results)), key=lambda n: results[n].size)
        results[least] = jnp.where(read, results[least], jnp.zeros_like(results[least]))
        return jax.tree.unflatten(jax.tree.structure(shape), results)

    return call


def add_at(book: Array, where: tuple[Array, ...], values: Array) -> Array:
    """`book` with `values` added at some places, which lie within it.

    Where several places are equal, at most one of their values is not 0.

    Args:
        book: an array `[..., *runs]`.
        where: one array of int32 indices, `[n, *runs]`, per axis before the runs.
        values: `[n, *runs]`.

    Returns:
        An array of the shape and dtype of `book`.
    """
    runs = values.shape[1:]
    if FOR_GPU_KERNEL.value:  # no scatter either, but every place of a small book is in a register
        axes = tuple(range(len(where)))
        for n in range(len(values)):
            *place, value = (jnp.expand_dims(column[n], axes) for column in (*where, values))
            here = (lax.broadcasted_iota(jnp.int32, book.shape, axis) == place[axis] for axis in axes)
            book = jnp.where(functools.reduce(lax.bitwise_and, here), book + value, book)
        return book
    if not _within.get():
        each = jnp.indices(values.shape, jnp.int32, sparse=True)[1:]
        return book.at[(*where, *each)].add(values, mode="promise_in_bounds")
    # A kernel cannot contain a scatter, so the values are added one after the other. Indices are unsigned, or XLA would
    # compare each with 0: with few instructions per value, many accesses to memory are under way at a time.
    size = values[0].size
    places = [axis.astype(jnp.uint32).reshape(len(values), size) for axis in where]
    flat, step = values.reshape(len(values), size), math.gcd(size, _ADDED_AT_ONCE)

    def add(rows: Sequence[Array | np.uint32], i: Array, book: Array) -> Array:
        first = i.astype(jnp.uint32) * np.uint32(step)
        for lane in (first + np.uint32(n) for n in range(step)):
            run = _unravelled(lane, runs)
            for n in rows:
                *place, value = (lax.dynamic_slice(column, (n, lane), (1, 1)) for column in (*places, flat))
                at = (*(number[0, 0] for number in place), *run)
                before = lax.dynamic_slice(book, at, (1,) * book.ndim)
                book = lax.dynamic_update_slice(book, before + value[0, 0], at)
        return book

    def add_rows(book: Array, first: Array | np.uint32, count: int) -> Array:
        rows = [first + np.uint32(n) for n in range(count)]
        return lax.fori_loop(0, size // step, functools.partial(add, rows), book)

    if len(values) <= _MOST_ROWS:
        return add_rows(book, np.uint32(0), len(values))
    sets, left = divmod(len(values), _ROWS_AT_ONCE)
    first = np.uint32(sets * _ROWS_AT_ONCE)
    book = lax.fori_loop(
        0, sets, lambda i, book: add_rows(book, i.astype(jnp.uint32) * np.uint32(_ROWS_AT_ONCE), _ROWS_AT_ONCE), book
    )
    return add_rows(book, first, left) if left else book


def _unravelled(i: Array, shape: tuple[int, ...]) -> tuple[Array, ...]:
    """The indices of the i-th entry of an array of `shape`, uint32 scalars."""
    indices: list[Array] = []
    for size in reversed(shape):
        whole = len(indices) == len(shape) - 1
        indices.insert(0, jnp.zeros_like(i) if size == 1 else i if whole else i % np.uint32(size))
        i = i if size == 1 else i // np.uint32(size)
    return tuple(indices)


def within_kernel() -> bool:
    """Whether a function is traced for one kernel on a CPU."""
    return _within.get() and not FOR_GPU_KERNEL.value


@contextlib.contextmanager
def _inside() -> Iterator[None]:
    """Within, functions are traced for a kernel."""
    token = _within.set(True)
    try:
        yield
    finally:
        _within.reset(token)


def unsupported_operations(program: ClosedJaxpr) -> set[str]:
    """The names of the operations of a program that a kernel cannot contain."""
    return set(_primitives(program.jaxpr)) - _EMITTED


def _primitives(jaxpr: Any) -> Iterator[str]:
    """The names of all operations of a program and of the programs in it."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for value in equation.params.values():
            for part in value if isinstance(value, list | tuple) else (value,):
                inner = getattr(part, "jaxpr", part)
                if hasattr(inner, "eqns"):
                    yield from _primitives(inner)
