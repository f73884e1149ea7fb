"""Rewriting of JAX programs (jaxprs), operation by operation.

A rule replaces some operations by other computations with the same results. It is also applied in the loops, branches
and functions of a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import jax

from jaxbandit.core.xla import compat
from jaxbandit.core.xla.compat import ClosedJaxpr, JaxprEqn, Literal


class Rule(Protocol):
    """A replacement of some operations. One object is used for all operations of one trace, in their order."""

    def matches(self, equation: JaxprEqn) -> bool:
        """Whether a program with this operation needs to be rewritten."""

    def replacement(self, equation: JaxprEqn, operands: list[Any]) -> Sequence[Any] | None:
        """The results of an operation on its operands, or None to apply the operation itself."""


Rules = Sequence[Callable[[], Rule]]


def rewrite(program: ClosedJaxpr, rules: Rules) -> ClosedJaxpr:
    """The program with some rules applied, or the program itself if they match none of its operations."""
    applied = [rule() for rule in rules]
    if not any(rule.matches(equation) for equation in _equations(program) for rule in applied):
        return program

    def run(*arguments: Any) -> list[Any]:
        return _evaluated(program, arguments, rules, applied)

    changed: ClosedJaxpr = jax.make_jaxpr(run)(*program.in_avals)
    return changed


def as_function(program: ClosedJaxpr) -> Callable[..., Any]:
    """The program as a function of its arguments, which returns a list of results."""
    if compat.as_function is not None:
        return compat.as_function(program)
    return lambda *arguments: _evaluated(program, arguments, (), ())


def _evaluated(program: ClosedJaxpr, arguments: Sequence[Any], rules: Rules, applied: Sequence[Rule]) -> list[Any]:
    """The results of a program on some arguments, while it is rewritten."""
    values: dict[Any, Any] = dict(zip(program.jaxpr.constvars, program.consts, strict=True))
    values.update(zip(program.jaxpr.invars, arguments, strict=True))

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else values[atom]

    for equation in program.jaxpr.eqns:
        operands = [read(atom) for atom in equation.invars]
        values.update(zip(equation.outvars, _results(equation, operands, rules, applied), strict=True))
    return [read(atom) for atom in program.jaxpr.outvars]


def _results(equation: JaxprEqn, operands: list[Any], rules: Rules, applied: Sequence[Rule]) -> Sequence[Any]:
    """The results of an operation: of the first rule that replaces it, else of the operation itself."""
    for rule in applied:
        replaced = rule.replacement(equation, operands)
        if replaced is not None:
            return replaced
    params = equation.params
    if equation.primitive.name in _CALLS:  # inlined; a custom derivative is lost, which compiled programs do not need
        called = params["call_jaxpr"] if "call_jaxpr" in params else params["jaxpr"]
        return _evaluated(called, operands, rules, applied)
    inner = {key: _inner(value, rules) for key, value in params.items()}
    results = equation.primitive.bind(*operands, **inner)
    return results if equation.primitive.multiple_results else [results]


_CALLS = frozenset(("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call"))


def _inner(value: Any, rules: Rules) -> Any:
    """A parameter of an operation, in which programs are rewritten."""
    if isinstance(value, ClosedJaxpr):
        return rewrite(value, rules)
    if isinstance(value, tuple) and value and all(isinstance(part, ClosedJaxpr) for part in value):
        return tuple(rewrite(part, rules) for part in value)
    return value


def _equations(program: ClosedJaxpr) -> Iterator[JaxprEqn]:
    """The operations of a program and of the programs in it."""
    for equation in program.jaxpr.eqns:
        yield equation
        for value in equation.params.values():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, ClosedJaxpr):
                    yield from _equations(part)
