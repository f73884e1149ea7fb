"""Programs computed within a kernel, operation by operation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from jaxbandit.core.xla.compat import ClosedJaxpr, JaxprEqn, Literal
from jaxbandit.core.xla.mosaic import arrangement, elementwise
from jaxbandit.core.xla.mosaic.loops import LOOPS, Store, written
from jaxbandit.core.xla.mosaic.values import UnsupportedError, Value, Written, constants, written_shape

_CALLS = ("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call")
SUPPORTED = frozenset((*elementwise.NAMES, *arrangement.RULES, *LOOPS, *_CALLS))


def evaluate(
    program: ClosedJaxpr, arguments: Sequence[Value], stores: Mapping[int, Store] | None = None
) -> list[Written | None]:
    """The results of a program.

    Args:
        program: traced for runs of number `values.WIDTH`.
        arguments: its arguments.
        stores: by the number of a result, what stores it in memory, if a loop returns it step by step. It is None then.

    Raises:
        UnsupportedError: a kernel cannot contain a part of the program.
    """
    jaxpr: Any = program.jaxpr
    known: Any = zip(jaxpr.constvars, program.consts, strict=True)
    values: dict[Any, Any] = {variable: constants(value, variable.aval.dtype) for variable, value in known}
    values.update(zip(jaxpr.invars, arguments, strict=True))
    places = {variable: (stores or {})[n] for n, variable in enumerate(jaxpr.outvars) if n in (stores or {})}

    def read(atom: Any) -> Any:
        if not isinstance(atom, Literal):
            return values[atom]
        literal: Any = atom
        return constants(literal.val, literal.aval.dtype)

    for equation in jaxpr.eqns:
        operands = [read(atom) for atom in equation.invars]
        own = {n: places[variable] for n, variable in enumerate(equation.outvars) if variable in places}
        values.update(zip(equation.outvars, _results(equation, operands, own), strict=True))
    return [None if read(atom) is None else written(read(atom)) for atom in jaxpr.outvars]


def _results(equation: JaxprEqn, operands: Sequence[Value], stores: Mapping[int, Store]) -> Sequence[Any]:
    """The results of an operation."""
    name, params = equation.primitive.name, equation.params
    if name in _CALLS:
        return evaluate(params["call_jaxpr"] if "call_jaxpr" in params else params["jaxpr"], operands)
    if name in LOOPS:
        return LOOPS[name](equation, operands, evaluate, stores)
    if name == "dynamic_slice":
        return [arrangement.dynamic_slice(equation, operands[0], *map(written, operands[1:]))]
    elements = [written(operand) for operand in operands]
    if name in arrangement.RULES:
        results = arrangement.RULES[name](equation, *elements)
        return results if equation.primitive.multiple_results else [results]
    if name in elementwise.NAMES:
        return [elementwise.apply(equation, elements)]
    raise UnsupportedError(name)


def unsupported_operations(program: ClosedJaxpr) -> set[str]:
    """The names of the operations of a program that a kernel cannot contain, and of dtypes that it cannot have."""
    names = {equation.primitive.name for equation in _equations(program)}
    wide = {
        f"{variable.aval.dtype} numbers"
        for equation in _equations(program)
        for variable in equation.outvars
        if jnp.dtype(variable.aval.dtype).itemsize > 4
    }
    return names - SUPPORTED | wide


def count_operations(program: ClosedJaxpr) -> int:
    """The number of operations on vectors and numbers that a program is in a kernel, about."""
    return sum(
        math.prod(written_shape(variable.aval.shape))
        for equation in _equations(program)
        for variable in equation.outvars
        if equation.primitive.name in elementwise.NAMES
    )


def _equations(program: Any) -> Iterator[Any]:
    """All operations of a program and of the programs in it."""
    for equation in getattr(program, "jaxpr", program).eqns:
        yield equation
        for value in equation.params.values():
            for part in value if isinstance(value, list | tuple) else (value,):
                if hasattr(getattr(part, "jaxpr", part), "eqns"):
                    yield from _equations(part)
