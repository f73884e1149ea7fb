"""Programs of JAX rewritten, operation by operation.

A rule gives the results of some operations in place of the operations themselves. Loops, branches and functions within
a program are rewritten, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import jax
from jax.extend.core import ClosedJaxpr, Literal


class Rule(Protocol):
    """What is computed in place of some operations; one object serves the operations of one trace, in their order."""

    def matches(self, equation: Any) -> bool:
        """Whether a program with this operation needs the rule."""

    def replacement(self, equation: Any, operands: list[Any]) -> Sequence[Any] | None:
        """The results of an operation on some operands; None to leave it to the operation itself."""


Rules = Sequence[Callable[[], Rule]]


def rewrite(program: ClosedJaxpr, rules: Rules) -> ClosedJaxpr:
    """The program under some rules; the program itself where they concern none of its operations."""
    fresh = [rule() for rule in rules]
    if not any(rule.matches(equation) for equation in _equations(program) for rule in fresh):
        return program

    def run(*arguments: Any) -> list[Any]:
        return _evaluated(program, arguments, rules, fresh)

    made: ClosedJaxpr = jax.make_jaxpr(run)(*program.in_avals)
    return made


def _evaluated(program: ClosedJaxpr, arguments: Sequence[Any], rules: Rules, fresh: Sequence[Rule]) -> list[Any]:
    values: dict[Any, Any] = dict(zip(program.jaxpr.constvars, program.consts, strict=True))
    values.update(zip(program.jaxpr.invars, arguments, strict=True))

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else values[atom]

    for equation in program.jaxpr.eqns:
        operands = [read(atom) for atom in equation.invars]
        values.update(zip(equation.outvars, _applied(equation, operands, rules, fresh), strict=True))
    return [read(atom) for atom in program.jaxpr.outvars]


def _applied(equation: Any, operands: list[Any], rules: Rules, fresh: Sequence[Rule]) -> Sequence[Any]:
    """What an operation gives: by the first rule that has results for it, else by itself."""
    for rule in fresh:
        made = rule.replacement(equation, operands)
        if made is not None:
            return made
    params = equation.params
    if equation.primitive.name in _CALLS:  # as it stands: a derivative of its own, which no one asks for here, is lost
        called = params["call_jaxpr"] if "call_jaxpr" in params else params["jaxpr"]
        return _evaluated(called, operands, rules, fresh)
    inner = {key: _inner(value, rules) for key, value in params.items()}
    made = equation.primitive.bind(*operands, **inner)
    return made if equation.primitive.multiple_results else [made]


_CALLS = frozenset(("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call"))


def _inner(value: Any, rules: Rules) -> Any:
    """A parameter of an operation, the programs in it rewritten."""
    if isinstance(value, ClosedJaxpr):
        return rewrite(value, rules)
    if isinstance(value, tuple) and value and all(isinstance(part, ClosedJaxpr) for part in value):
        return tuple(rewrite(part, rules) for part in value)
    return value


def _equations(program: ClosedJaxpr) -> Iterator[Any]:
    """The operations of a program, and of the programs in it."""
    for equation in program.jaxpr.eqns:
        yield equation
        for value in equation.params.values():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, ClosedJaxpr):
                    yield from _equations(part)
