"""Rewriting of JAX programs (jaxprs), operation by operation.

A rule replaces some operations by other computations with the same results. It is also applied in the loops, branches
and functions of a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import jax

from jaxbandit.core.xla import compat
from jaxbandit.core.xla.compat import ClosedJaxpr, JaxprEqn, Literal


class Place(NamedTuple):
    """Where an operation stands in a program.

    Attributes:
        inputs: the arguments of the program, which may be that of a loop or a branch.
        stored: whether a result is written to memory: it is a result of the program, or goes to a loop or a branch.
    """

    inputs: Sequence[Any]
    stored: bool


class Rule(Protocol):
    """A replacement of some operations. One object is used for all operations of one trace, in their order."""

    def applies(self, program: ClosedJaxpr) -> bool:
        """Whether the rule may replace an operation of a program, or of a program in it."""

    def replacement(self, equation: JaxprEqn, operands: list[Any], place: Place) -> Sequence[Any] | None:
        """The results of an operation on its operands, or None to apply the operation itself."""


Rules = Sequence[Callable[[], Rule]]


def rewrite(program: ClosedJaxpr, rules: Rules) -> ClosedJaxpr:
    """The program with some rules applied, or the program itself if they match none of its operations."""
    applied = [rule() for rule in rules]
    if not any(rule.applies(program) for rule in applied):
        return program  # to trace it once more takes time

    def run(*arguments: Any) -> list[Any]:
        return _evaluated(program, arguments, rules, applied)

    changed: ClosedJaxpr = jax.make_jaxpr(run)(*program.in_avals)
    return changed


def as_function(program: ClosedJaxpr) -> Callable[..., Any]:
    """The program as a function of its arguments, which returns a list of results."""
    if compat.as_function is not None:
        return compat.as_function(program)
    return lambda *arguments: _evaluated(program, arguments, (), ())


def _evaluated(
    program: ClosedJaxpr,
    arguments: Sequence[Any],
    rules: Rules,
    applied: Sequence[Rule],
    call: Place | None = None,
    stored_results: Sequence[bool] = (),
) -> list[Any]:
    """The results of a program on some arguments, while it is rewritten.

    Args:
        call: where the program is called, if it is inlined there.
        stored_results: which results of an inlined program are stored; all results of another program are.
    """
    values: dict[Any, Any] = dict(zip(program.jaxpr.constvars, program.consts, strict=True))
    values.update(zip(program.jaxpr.invars, arguments, strict=True))
    inputs = arguments if call is None else call.inputs
    stored = stored_variables(program, [True] * len(program.jaxpr.outvars) if call is None else stored_results)

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else values[atom]

    for equation in program.jaxpr.eqns:
        operands = [read(atom) for atom in equation.invars]
        stored_here = [var in stored for var in equation.outvars]
        results = _results(equation, operands, rules, applied, Place(inputs, any(stored_here)), stored_here)
        values.update(zip(equation.outvars, results, strict=True))
    return [read(atom) for atom in program.jaxpr.outvars]


def stored_variables(program: ClosedJaxpr, results: Sequence[bool]) -> set[Any]:
    """The variables of a program that are written to memory, given which of its results are."""
    stored = {var for var, kept in zip(program.jaxpr.outvars, results, strict=True) if kept and _is_variable(var)}
    for equation in reversed(program.jaxpr.eqns):
        if called_program(equation) is None and contains_programs(equation):
            stored.update(var for var in equation.invars if _is_variable(var))
        elif equation.primitive.name == "dynamic_update_slice" and equation.outvars[0] in stored:
            stored.update(filter(_is_variable, equation.invars[1:2]))  # the part of an array that is written
    return stored


def _is_variable(atom: Any) -> bool:
    return not isinstance(atom, Literal)


def _results(
    equation: JaxprEqn,
    operands: list[Any],
    rules: Rules,
    applied: Sequence[Rule],
    place: Place,
    stored_results: Sequence[bool],
) -> Sequence[Any]:
    """The results of an operation: of the first rule that replaces it, else of the operation itself."""
    for rule in applied:
        replaced = rule.replacement(equation, operands, place)
        if replaced is not None:
            return replaced
    params = equation.params
    called = called_program(equation)
    if called is not None:  # inlined; a custom derivative is lost, which compiled programs do not need
        return _evaluated(called, operands, rules, applied, place, stored_results)
    inner = {key: _inner(value, rules) for key, value in params.items()}
    results = equation.primitive.bind(*operands, **inner)
    return results if equation.primitive.multiple_results else [results]


_CALLS = frozenset(("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call"))


def called_program(equation: JaxprEqn) -> ClosedJaxpr | None:
    """The program that an operation calls; None if it is no call."""
    if equation.primitive.name not in _CALLS:
        return None
    called: ClosedJaxpr = equation.params["call_jaxpr" if "call_jaxpr" in equation.params else "jaxpr"]
    return called


def contains_programs(equation: JaxprEqn) -> bool:
    """Whether an operation is a call, a loop or a branch."""
    return any(map(_programs, equation.params.values()))


def programs_in(equation: JaxprEqn) -> list[ClosedJaxpr]:
    """The programs of a call, a loop or a branch."""
    return [program for parameter in equation.params.values() for program in _programs(parameter)]


def _programs(parameter: Any) -> list[ClosedJaxpr]:
    """The programs in a parameter of an operation."""
    parts = parameter if isinstance(parameter, tuple) else (parameter,)
    return [part for part in parts if isinstance(part, ClosedJaxpr)]


def _inner(value: Any, rules: Rules) -> Any:
    """A parameter of an operation, in which programs are rewritten."""
    if isinstance(value, ClosedJaxpr):
        return rewrite(value, rules)
    if isinstance(value, tuple) and value and all(isinstance(part, ClosedJaxpr) for part in value):
        return tuple(rewrite(part, rules) for part in value)
    return value


def equations(program: ClosedJaxpr) -> Iterator[JaxprEqn]:
    """The operations of a program and of the programs in it."""
    for equation in program.jaxpr.eqns:
        yield equation
        for part in programs_in(equation):
            yield from equations(part)
