"""Operations that arrange the elements of an array, and reductions over them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit.core.xla.compat import JaxprEqn
from jaxbandit.core.xla.mosaic import integers
from jaxbandit.core.xla.mosaic.values import (
    UnsupportedError,
    Value,
    Written,
    alike,
    as_element,
    as_number,
    chosen,
    constants,
    has_runs,
    is_constant,
    is_vector,
    written_shape,
)
from jaxbandit.core.xla.reductions import later_larger

_SEARCHED = 64  # elements along an axis, at most, of which one is chosen by a computed index


def _shapes(equation: JaxprEqn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shapes of the first operand and of the result, as traced."""
    before: Any = equation.invars[0].aval
    after: Any = equation.outvars[0].aval
    return before.shape, after.shape


def _same(equation: JaxprEqn, x: Written, *_: Written) -> Written:
    return x


def _broadcast(equation: JaxprEqn, x: Written, *_: Written) -> Written:
    before, after = _shapes(equation)
    shape = [1] * len(after)
    for size, place in zip(before, equation.params["broadcast_dimensions"], strict=True):
        shape[place] = size
    if has_runs(before):
        return np.broadcast_to(x.reshape(shape[:-1]), written_shape(after))
    spread = x.reshape(shape)
    return np.broadcast_to(spread[..., 0] if has_runs(after) else spread, written_shape(after))


def _reshape(equation: JaxprEqn, x: Written, *_: Written) -> Written:
    before, after = _shapes(equation)
    if has_runs(before) != has_runs(after):
        raise UnsupportedError(f"{equation.primitive.name} of the run axis")
    return x.reshape(written_shape(after))


def _transpose(equation: JaxprEqn, x: Written) -> Written:
    order = equation.params["permutation"]
    if has_runs(_shapes(equation)[0]):
        if order[-1] != len(order) - 1:
            raise UnsupportedError("transpose of the run axis")
        order = order[:-1]
    return x.transpose(order)


def _slice(equation: JaxprEqn, x: Written) -> Written:
    params = equation.params
    steps = params["strides"] or [1] * len(params["start_indices"])
    parts = zip(params["start_indices"], params["limit_indices"], steps, strict=True)
    places = tuple(slice(*part) for part in parts)
    before, after = _shapes(equation)
    if has_runs(before) != has_runs(after):
        raise UnsupportedError("slice of the run axis")
    return x[places[:-1] if has_runs(before) else places]


def _concatenate(equation: JaxprEqn, *parts: Written) -> Written:
    return np.concatenate(parts, equation.params["dimension"])


def _stack(equation: JaxprEqn, *parts: Written) -> Written:
    return np.stack(parts, equation.params["axis"])


def _pad(equation: JaxprEqn, x: Written, filling: Written) -> Written:
    config = equation.params["padding_config"]
    if has_runs(_shapes(equation)[0]):
        if any(config[-1]):
            raise UnsupportedError("pad of the run axis")
        config = config[:-1]
    if any(low < 0 or high < 0 or within for low, high, within in config):
        raise UnsupportedError("pad that removes or spreads elements")
    after = np.empty([low + size + high for size, (low, high, _) in zip(x.shape, config, strict=True)], object)
    after[...] = filling
    after[tuple(slice(low, low + size) for size, (low, *_) in zip(x.shape, config, strict=True))] = x
    return after


def _reverse(equation: JaxprEqn, x: Written) -> Written:
    return np.flip(x, equation.params["dimensions"])


def _iota(equation: JaxprEqn, *_: Written) -> Written:
    params, shape = equation.params, written_shape(_shapes_of_result(equation))
    if params["dimension"] >= len(shape):
        raise UnsupportedError("iota along the run axis")
    along = [-1 if axis == params["dimension"] else 1 for axis in range(len(shape))]
    return np.broadcast_to(constants(np.arange(shape[params["dimension"]]), params["dtype"]).reshape(along), shape)


def _shapes_of_result(equation: JaxprEqn) -> tuple[int, ...]:
    after: Any = equation.outvars[0].aval
    return after.shape


def _cumulative(equation: JaxprEqn, x: Written) -> Written:
    axis, combine = equation.params["axis"], _CUMULATIVE[equation.primitive.name]
    rows = np.moveaxis(x, axis, 0)
    if len(rows.shape) > 1 and equation.params["axis"] >= x.ndim:
        raise UnsupportedError(f"{equation.primitive.name} along the run axis")
    order = range(len(rows) - 1, -1, -1) if equation.params["reverse"] else range(len(rows))
    made, total = np.empty(rows.shape, object), None
    for number in order:
        total = rows[number, ...] if total is None else combined(combine, total, rows[number, ...])
        made[number, ...] = total
    return np.moveaxis(made, 0, axis)


def combined(combine: Callable[..., Any], *operands: Written) -> Written:
    """The combination of the elements of arrays of one shape."""
    made = np.empty(operands[0].shape, object)
    for index in np.ndindex(*made.shape):
        made[index] = combine(*alike([operand[index] for operand in operands]))
    return made


def _reduce(equation: JaxprEqn, x: Written) -> Written:
    """A reduction: element by element in their order, then over the runs."""
    name, combine = equation.primitive.name, _REDUCED[equation.primitive.name]
    shape, axes = _shapes(equation)[0], list(equation.params["axes"])
    over_runs = has_runs(shape) and len(shape) - 1 in axes
    if over_runs:
        if name == "reduce_sum":
            raise UnsupportedError("reduce_sum over the runs")
        axes.remove(len(shape) - 1)
    for axis in sorted(axes, reverse=True):
        rows = np.moveaxis(x, axis, 0)
        x = functools.reduce(functools.partial(combined, combine), [rows[n, ...] for n in range(len(rows))])
    if not over_runs:
        return x
    made = np.empty(x.shape, object)
    for index in np.ndindex(*made.shape):
        made[index] = _over_runs(name, x[index])
    return made


def _over_runs(name: str, element: Any) -> Any:
    """The reduction of a vector, which is that of the runs of one block; of booleans as integers."""
    if not is_vector(element):
        return element
    if element.dtype == bool:
        most = name in ("reduce_or", "reduce_max")
        return as_element(_over_runs("reduce_max" if most else "reduce_min", as_number(element, bool, True)), bool)
    if name == "reduce_max":
        return jnp.max(element)
    if name == "reduce_min":
        return jnp.min(element)
    raise UnsupportedError(f"{name} of integers over the runs")


def _best(equation: JaxprEqn, x: Written) -> Written:
    """`argmax` or `argmin`: the index of the first of the best elements."""
    (axis,) = equation.params["axes"]
    rows, dtype = np.moveaxis(x, axis, 0), equation.params["index_dtype"]
    if len(x.shape) <= axis:
        raise UnsupportedError(f"{equation.primitive.name} over the runs")
    least = equation.primitive.name == "argmin"
    made = np.empty(rows.shape[1:], object)
    for index in np.ndindex(*made.shape):
        column = [_comparable(row, least) for row in alike([rows[(n, *index)] for n in range(len(rows))])]
        pairs = [tuple(alike([value, jnp.dtype(dtype).type(k)])) for k, value in enumerate(column)]
        made[index] = functools.reduce(later_larger, pairs)[1]
    return made


def _comparable(element: Any, least: bool) -> Any:
    """An element as a number, the larger the better."""
    number = as_number(element, bool, is_vector(element)) if element.dtype == bool else element
    if jnp.issubdtype(number.dtype, jnp.floating):
        return -number if least else number
    if is_vector(number) and number.dtype == jnp.int32:
        number = integers.unsigned(number)
    return ~number if least else number


def dynamic_slice(equation: JaxprEqn, x: Value, *starts: Written) -> Written:
    """The elements from some indices on, which may be computed; of a table they are read."""
    shape, sizes = _shapes(equation)[0], equation.params["slice_sizes"]
    firsts = [_within(start[()], size - part) for start, size, part in zip(starts, shape, sizes, strict=True)]
    if has_runs(shape):
        if sizes[-1] != shape[-1]:
            raise UnsupportedError("dynamic_slice of the run axis")
        firsts, sizes = firsts[:-1], sizes[:-1]
    if not isinstance(x, np.ndarray):
        made = np.empty(sizes, object)
        for index in np.ndindex(*sizes):
            made[index] = x.at(tuple(first + step for first, step in zip(firsts, index, strict=True)))
        return made
    for axis, (first, size) in enumerate(zip(firsts, sizes, strict=True)):
        x = _from(x, axis, first, size)
    return x


def _gather(equation: JaxprEqn, x: Written, places: Written) -> Written:
    """Rows of an array, by indices that all runs share."""
    numbers, sizes = equation.params["dimension_numbers"], equation.params["slice_sizes"]
    shape, first = _shapes(equation)[0], places.ndim - 1
    rows = numbers.collapsed_slice_dims == numbers.start_index_map == (0,) and sizes == (1, *shape[1:])
    if not rows or numbers.offset_dims != tuple(range(first, first + len(shape) - 1)) or places.shape[-1:] != (1,):
        raise UnsupportedError("gather of other than rows")
    made = np.empty((*places.shape[:-1], *x.shape[1:]), object)
    for index in np.ndindex(*places.shape[:-1]):
        place = places[(*index, 0)]
        if is_vector(place):
            raise UnsupportedError("gather by an index of each run")
        made[index] = _from(x, 0, _within(place, len(x) - 1), 1)[0]
    return made


def _from(x: Written, axis: int, first: Any, size: int) -> Written:
    """`size` elements along an axis from `first` on."""
    rows = np.moveaxis(x, axis, 0)
    if is_constant(first):
        return np.moveaxis(rows[int(first) : int(first) + size], 0, axis)
    _check_searched(len(rows))
    made = rows[:size]
    for start in range(1, len(rows) - size + 1):
        here = lax.eq(first, lax.full_like(first, start))
        made = combined(functools.partial(chosen, here), rows[start : start + size], made)
    return np.moveaxis(made, 0, axis)


def dynamic_update_slice(equation: JaxprEqn, x: Written, new: Written, *starts: Written) -> Written:
    """The array with the elements from some indices on replaced."""
    before: Any = equation.invars[0].aval
    part: Any = equation.invars[1].aval
    if has_runs(before.shape) != has_runs(part.shape):
        raise UnsupportedError("dynamic_update_slice of the run axis")
    firsts = [_within(s[()], size - own) for s, size, own in zip(starts, before.shape, part.shape, strict=True)]
    firsts = firsts[: x.ndim]
    _check_searched(
        max([size for size, first in zip(x.shape, firsts, strict=True) if not is_constant(first)], default=0)
    )
    made = np.empty(x.shape, object)
    made[...] = x
    spaces = [
        [int(first)] if is_constant(first) else range(size - own + 1)
        for first, size, own in zip(firsts, x.shape, new.shape, strict=True)
    ]
    for start in np.ndindex(*map(len, spaces)):
        place = [space[number] for space, number in zip(spaces, start, strict=True)]
        tests = [
            lax.eq(first, lax.full_like(first, at))
            for first, at in zip(firsts, place, strict=True)
            if not is_constant(first)
        ]
        here = functools.reduce(lax.bitwise_and, tests) if tests else None
        for index in np.ndindex(*new.shape):
            where = tuple(at + step for at, step in zip(place, index, strict=True))
            made[where] = new[index] if here is None else chosen(here, new[index], made[where])
    return made


def _check_searched(elements: int) -> None:
    if elements > _SEARCHED:
        raise UnsupportedError(f"a computed index into {elements} numbers per run")


def _within(first: Any, most: int) -> Any:
    """An index, between 0 and `most` as XLA has it, int32."""
    if most == 0:
        return np.int32(0)
    if is_constant(first):
        return np.int32(min(max(int(first), 0), most))
    first = lax.convert_element_type(first, jnp.int32)
    return lax.min(lax.max(first, np.int32(0)), np.int32(most))


_REDUCED: dict[str, Callable[..., Any]] = {
    "reduce_sum": lax.add,
    "reduce_prod": lax.mul,
    "reduce_max": integers.largest,
    "reduce_min": integers.smallest,
    "reduce_and": lax.bitwise_and,
    "reduce_or": lax.bitwise_or,
    "reduce_xor": lax.bitwise_xor,
}
_CUMULATIVE: dict[str, Callable[..., Any]] = {
    "cumsum": lax.add,
    "cumprod": lax.mul,
    "cummax": integers.largest,
    "cummin": integers.smallest,
}


def _split(equation: JaxprEqn, x: Written) -> Sequence[Written]:
    return np.split(x, np.cumsum(equation.params["sizes"])[:-1], equation.params["axis"])


# By the name of an operation: its result, of the operation and its operands
RULES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("copy", "copy_p", "stop_gradient"), _same),
    **dict.fromkeys(("reshape", "squeeze", "expand_dims"), _reshape),
    **dict.fromkeys(_CUMULATIVE, _cumulative),
    **dict.fromkeys(_REDUCED, _reduce),
    **dict.fromkeys(("argmax", "argmin"), _best),
    "broadcast_in_dim": _broadcast,
    "concatenate": _concatenate,
    "dynamic_slice": dynamic_slice,
    "dynamic_update_slice": dynamic_update_slice,
    "gather": _gather,
    "iota": _iota,
    "pad": _pad,
    "rev": _reverse,
    "slice": _slice,
    "split": _split,
    "stack": _stack,
    "transpose": _transpose,
}
