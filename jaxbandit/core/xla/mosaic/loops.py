"""Loops and branches within a kernel, which carry vectors of runs and single numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.xla.compat import ClosedJaxpr, JaxprEqn
from jaxbandit.core.xla.mosaic.values import (
    Table,
    UnsupportedError,
    Value,
    Written,
    as_element,
    as_number,
    has_runs,
    is_constant,
    written_shape,
)

_MOST_NUMBERS = 176  # numbers per run that a loop carries: of the 255 registers of a thread, some are for the round
_UNROLLED = 64  # steps, at most, of a loop that is written out step by step

Evaluate = Callable[[ClosedJaxpr, Sequence[Value]], list[Any]]
Store = Callable[[Any, Written], None]  # stores what a step of a loop returns, by the number of the step


class _Carried:
    """Values of some types as the flat tuple of arrays that a loop carries, and back."""

    def __init__(self, types: Sequence[Any]) -> None:
        self._types = types
        numbers = sum(math.prod(of.shape[:-1]) for of in types if has_runs(of.shape))
        if numbers > _MOST_NUMBERS:
            raise UnsupportedError(f"a loop that carries {numbers} numbers per run")

    def numbers(self, values: Sequence[Value]) -> tuple[Array, ...]:
        """The arrays of some values."""
        return tuple(
            as_number(element, of.dtype, has_runs(of.shape))
            for value, of in zip(values, self._types, strict=True)
            for element in written(value).ravel()
        )

    def values(self, numbers: Sequence[Array]) -> list[Value]:
        """The values of such arrays."""
        made: list[Value] = []
        left = iter(numbers)
        for of in self._types:
            shape = written_shape(of.shape)
            value = np.empty(shape, object)
            for index in np.ndindex(*shape):
                value[index] = as_element(next(left), of.dtype)
            made.append(value)
        return made


def written(value: Value) -> Written:
    """All elements of a value."""
    return value.written() if isinstance(value, Table) else value


def scan(equation: JaxprEqn, operands: Sequence[Value], evaluate: Evaluate, stores: Mapping[int, Store]) -> list[Any]:
    """The results of a loop of a known number of steps.

    Args:
        equation: the `scan`.
        operands: its operands.
        evaluate: computes a program in it.
        stores: by the number of a result, what stores it step by step. Such a result is None.
    """
    params = equation.params
    body, length, reverse = params["jaxpr"], params["length"], params["reverse"]
    held, carries = scan_parts(equation)
    fixed, start, rows = operands[:held], operands[held : held + carries], operands[held + carries :]
    returned = range(carries, len(equation.outvars))
    stored = bool(returned) and all(number in stores for number in returned)
    if (returned and not stored) or not all(isinstance(row, Table) for row in rows):
        return _step_by_step(equation, operands, evaluate)
    carried = _Carried([variable.aval for variable in equation.outvars[:carries]])
    types = [variable.aval for variable in equation.invars[held + carries :]]

    def step(number: Array, numbers: tuple[Array, ...]) -> tuple[Array, ...]:
        place = np.int32(length - 1) - number if reverse else number
        parts = [_row(row, place, of) for row, of in zip(rows, types, strict=True)]
        results = evaluate(body, [*fixed, *carried.values(numbers), *parts])
        for number_of, result in zip(returned, results[carries:], strict=True):
            stores[number_of](place, written(result))
        return carried.numbers(results[:carries])

    done = lax.fori_loop(np.int32(0), np.int32(length), step, carried.numbers(start))
    return [*carried.values(done), *([None] * len(returned))]


def _row(rows: Value, place: Array, of: Any) -> Written:
    assert isinstance(rows, Table)
    return rows.part((place,), written_shape(of.shape[1:]) if not has_runs(of.shape) else of.shape[1:-1])


def _step_by_step(equation: JaxprEqn, operands: Sequence[Value], evaluate: Evaluate) -> list[Any]:
    params = equation.params
    length, (held, carries) = params["length"], scan_parts(equation)
    if length > _UNROLLED:
        raise UnsupportedError(f"a scan of {length} steps over rows")
    fixed, state = operands[:held], list(operands[held : held + carries])
    rows = [written(row) for row in operands[held + carries :]]
    order = range(length - 1, -1, -1) if params["reverse"] else range(length)
    returned: dict[int, list[Written]] = {}
    for number in order:
        results = evaluate(params["jaxpr"], [*fixed, *state, *(row[number, ...] for row in rows)])
        state = results[:carries]
        returned[number] = [written(result) for result in results[carries:]]
    columns = zip(*(returned[number] for number in range(length)), strict=True)
    return [*state, *(np.stack(column) for column in columns)]


def while_loop(
    equation: JaxprEqn, operands: Sequence[Value], evaluate: Evaluate, stores: Mapping[int, Store]
) -> list[Any]:
    """The results of a loop that ends when its condition, on numbers that all runs of a block share, is false."""
    params = equation.params
    tested, used = params["cond_nconsts"], params["body_nconsts"]
    for_test, for_body, start = operands[:tested], operands[tested : tested + used], operands[tested + used :]
    carried = _Carried([variable.aval for variable in equation.outvars])

    def goes_on(numbers: Sequence[Array]) -> Array:
        (answer,) = evaluate(params["cond_jaxpr"], [*for_test, *carried.values(numbers)])
        return jnp.asarray(written(answer)[()], bool)

    def step(numbers: Sequence[Array]) -> Sequence[Array]:
        return carried.numbers(evaluate(params["body_jaxpr"], [*for_body, *carried.values(numbers)]))

    return list(carried.values(lax.while_loop(goes_on, step, carried.numbers(start))))


def cond(equation: JaxprEqn, operands: Sequence[Value], evaluate: Evaluate, stores: Mapping[int, Store]) -> list[Any]:
    """The results of the branch of a number that all runs of a block share."""
    branches: Sequence[ClosedJaxpr] = equation.params["branches"]
    index: Any = written(operands[0])[()]
    if is_constant(index):
        number = min(max(int(index), 0), len(branches) - 1)
        return evaluate(branches[number], operands[1:])
    carried = _Carried([variable.aval for variable in equation.outvars])
    index = as_number(index, jnp.int32, False)
    made = [lambda branch=branch: carried.numbers(evaluate(branch, operands[1:])) for branch in branches]
    return list(carried.values(lax.switch(index, made)))


LOOPS: dict[str, Callable[..., list[Any]]] = {"cond": cond, "scan": scan, "while": while_loop}


def scan_parts(equation: JaxprEqn) -> tuple[int, int]:
    """How many operands of a `scan` are constants, and how many are carried. Versions of JAX store this differently.

    The operands after them, and the results after those that are carried, are rows: the body has one axis less.
    """
    body = equation.params["jaxpr"]
    carries = _without_rows(equation.outvars, body.out_avals)
    return _without_rows(equation.invars, body.in_avals) - carries, carries


def _without_rows(variables: Sequence[Any], within: Sequence[Any]) -> int:
    return sum(len(one.aval.shape) == len(own.shape) for one, own in zip(variables, within, strict=True))
