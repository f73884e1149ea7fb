"""Operations on single elements: vectors of runs, and numbers that all runs share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.xla.compat import JaxprEqn
from jaxbandit.core.xla.mosaic import integers
from jaxbandit.core.xla.mosaic.values import (
    UnsupportedError,
    Written,
    alike,
    chosen,
    has_runs,
    is_constant,
    is_vector,
)

# fmt: off
# The operations that kernels have
_OWN = frozenset((
    "abs", "add", "and", "bitcast_convert_type", "convert_element_type", "cos", "div", "eq", "exp", "exp2", "ge",
    "gt", "le", "log", "logistic", "lt", "mul", "ne", "not", "or", "rem", "round", "rsqrt", "select_n", "shift_left",
    "shift_right_arithmetic", "shift_right_logical", "sign", "sin", "sqrt", "square", "sub", "tanh", "xor",
))
# fmt: on


def apply(equation: JaxprEqn, operands: Sequence[Written]) -> Written:
    """The result of an operation that is applied to each element. Equal operands give one result.

    Axes of length 1 are broadcast: newer versions of JAX leave this to the operation.
    """
    result: Any = equation.outvars[0].aval
    if has_runs(result.shape):
        types: list[Any] = [variable.aval for variable in equation.invars]
        operands = [
            x[..., 0] if of.shape and not has_runs(of.shape) else x for x, of in zip(operands, types, strict=True)
        ]
    spread = np.broadcast_arrays(*operands, subok=False)
    made = np.empty(spread[0].shape, object)
    done: dict[tuple[int, ...], Any] = {}
    for index in np.ndindex(*made.shape):
        elements = [operand[index] for operand in spread]
        which = tuple(map(id, elements))  # the operands keep the elements alive
        if which not in done:
            done[which] = _applied(equation, elements)
        made[index] = done[which]
    return made


def _applied(equation: JaxprEqn, elements: Sequence[Any]) -> Any:
    """The result of an operation on one element of each operand."""
    if all(map(is_constant, elements)):
        with jax.ensure_compile_time_eval():
            known = equation.primitive.bind(*map(jnp.asarray, elements), **equation.params)
            return np.asarray(known)[()]
    name, params = equation.primitive.name, equation.params
    if name == "select_n":
        return _selected(elements[0], elements[1:])
    if name in ("and", "or") and elements[0].dtype == bool:
        return _both_or_any(equation, elements)
    limited = name in ("max", "min") and any(map(is_constant, elements))  # as max(n, 1), which compilers get right
    elements = alike(elements)
    if name in REWRITTEN and not limited:
        return REWRITTEN[name](params, *elements)
    if name == "not" and elements[0].dtype == bool:
        return lax.bitwise_xor(elements[0], lax.full_like(elements[0], True))
    if name == "round" and params["rounding_method"] != lax.RoundingMethod.TO_NEAREST_EVEN:
        raise UnsupportedError("round (away from 0)")
    if name == "bitcast_convert_type" and _are_whole(elements[0].dtype, params["new_dtype"]):
        return lax.convert_element_type(elements[0], params["new_dtype"])  # which keeps the bits, and knows the sign
    if name == "bitcast_convert_type" and not is_vector(elements[0]):
        raise UnsupportedError("bitcast_convert_type of a number that runs share")
    if name == "rem" and jnp.issubdtype(elements[0].dtype, jnp.floating):
        raise UnsupportedError("rem of floats")
    return equation.primitive.bind(*elements, **params)


def _are_whole(*dtypes: Any) -> bool:
    return all(jnp.issubdtype(dtype, jnp.integer) for dtype in dtypes)


def _selected(which: Any, cases: Sequence[Any]) -> Any:
    """`select_n`: the case of a number, from 0 on."""
    if is_constant(which):
        return cases[int(which)]
    if all(case is cases[0] for case in cases):
        return cases[0]
    if which.dtype == bool:
        return chosen(which, cases[1], cases[0])
    made = cases[0]
    for number, case in enumerate(cases[1:], 1):
        made = chosen(lax.eq(which, lax.full_like(which, number)), case, made)
    return made


def _both_or_any(equation: JaxprEqn, elements: Sequence[Any]) -> Any:
    """`and` or `or` of two booleans, of which a known one decides the result or leaves it to the other."""
    a, b = elements
    decides = equation.primitive.name == "or"
    for known, other in ((a, b), (b, a)):
        if is_constant(known):
            return known if bool(known) == decides else other
    return equation.primitive.bind(*alike(elements), **equation.params)


def _floor(params: Mapping[str, Any], x: Array) -> Array:
    nearest = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    return lax.select(lax.gt(nearest, x), lax.sub(nearest, lax.full_like(x, 1)), nearest)


def _ceil(params: Mapping[str, Any], x: Array) -> Array:
    return lax.neg(_floor(params, lax.neg(x)))


def _series(x: Array, terms: Sequence[float]) -> Array:
    """1 + x t_1 (1 + x t_2 (1 + ...))."""
    total = lax.full_like(x, 1)
    for term in reversed(terms):
        total = lax.add(lax.mul(lax.mul(x, total), lax.full_like(x, term)), lax.full_like(x, 1))
    return total


def _log1p(params: Mapping[str, Any], x: Array) -> Array:
    """log(1 + x); near 0, where 1 + x loses digits, as 2 artanh(x / (2 + x)) by its series."""
    s = lax.div(x, lax.add(x, lax.full_like(x, 2)))
    series = _series(lax.mul(s, s), [(2 * n - 1) / (2 * n + 1) for n in range(1, 9)])
    near = lax.mul(lax.mul(s, lax.full_like(x, 2)), series)
    return lax.select(_is_below(x, 0.4), near, lax.log(lax.add(x, lax.full_like(x, 1))))


def _expm1(params: Mapping[str, Any], x: Array) -> Array:
    """exp(x) - 1; near 0, where the difference loses digits, by its series."""
    near = lax.mul(x, _series(x, [1 / n for n in range(2, 10)]))
    return lax.select(_is_below(x, 0.5), near, lax.sub(lax.exp(x), lax.full_like(x, 1)))


def _is_below(x: Array, most: float) -> Array:
    return lax.lt(lax.abs(x), lax.full_like(x, most))


def _pow(params: Mapping[str, Any], x: Array, y: Array) -> Array:
    """exp(y log |x|), with the sign of an odd power, and NaN for other powers of negative numbers but infinity."""
    y = lax.convert_element_type(y, x.dtype)
    size = lax.exp(lax.mul(y, lax.log(lax.abs(x))))
    half = lax.mul(y, lax.full_like(y, 0.5))
    whole, even = lax.eq(_floor(params, y), y), lax.eq(_floor(params, half), half)
    none_or_all = lax.select(_is_finite(params, x), lax.full_like(x, np.nan), size)
    signed = lax.select(even, size, lax.select(whole, lax.neg(size), none_or_all))
    powered = lax.select(lax.lt(x, lax.full_like(x, 0)), signed, size)
    return lax.select(lax.eq(y, lax.full_like(y, 0)), lax.full_like(x, 1), powered)


def _is_finite(params: Mapping[str, Any], x: Array) -> Array:
    return lax.lt(lax.abs(x), lax.full_like(x, np.inf))


def _clamp(params: Mapping[str, Any], least: Array, x: Array, most: Array) -> Array:
    return lax.min(lax.max(x, least), most)


def _population_count(params: Mapping[str, Any], x: Array) -> Array:
    """The number of bits that are 1, of a word of 32 bits: sums of 2, 4 and 8 bits, then of the four bytes."""
    word = lax.convert_element_type(x, jnp.uint32)

    def masked(word: Array, shift: int, mask: int) -> Array:
        moved = lax.shift_right_logical(word, lax.full_like(word, shift))
        return lax.bitwise_and(moved, lax.full_like(word, mask))

    word = lax.sub(word, masked(word, 1, 0x55555555))
    word = lax.add(masked(word, 0, 0x33333333), masked(word, 2, 0x33333333))
    word = masked(lax.add(word, lax.shift_right_logical(word, lax.full_like(word, 4))), 0, 0x0F0F0F0F)
    total = lax.shift_right_logical(lax.mul(word, lax.full_like(word, 0x01010101)), lax.full_like(word, 24))
    return lax.convert_element_type(total, x.dtype)


def _integer_pow(params: Mapping[str, Any], x: Array) -> Array:
    """By repeated squares."""
    exponent = abs(int(params["y"]))
    square, powered = x, lax.full_like(x, 1)
    while exponent:
        if exponent % 2:
            powered = lax.mul(powered, square)
        exponent //= 2
        square = lax.mul(square, square) if exponent else square
    return lax.div(lax.full_like(x, 1), powered) if params["y"] < 0 else powered


# Operations that kernels lack or that compilers get wrong, by their parameters and their operands
REWRITTEN: dict[str, Callable[..., Any]] = {
    "ceil": _ceil,
    "clamp": _clamp,
    "expm1": _expm1,
    "floor": _floor,
    "integer_pow": _integer_pow,
    "is_finite": _is_finite,
    "log1p": _log1p,
    "max": lambda params, x, y: integers.largest(x, y),
    "min": lambda params, x, y: integers.smallest(x, y),
    "neg": lambda params, x: integers.negated(x),
    "population_count": _population_count,
    "pow": _pow,
}
NAMES = _OWN | REWRITTEN.keys()  # of all operations that `apply` applies
