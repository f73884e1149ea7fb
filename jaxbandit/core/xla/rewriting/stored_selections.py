"""Selections that LLVM does not write as masked stores.

Where a number replaces another one in its place in memory, `x = where(condition, new, x)`, LLVM makes a masked store
instead of a selection and an ordinary store. An AMD processor without AVX-512 (Zen 3) takes some 70 cycles for a masked
store, 16 times as many as for an ordinary one. The rule of this module combines a selection that is stored with a zero
that LLVM does not know. The stored value is then the result of an exclusive or, not of a selection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.xla.compat import ClosedJaxpr, JaxprEqn, Literal
from jaxbandit.core.xla.rewriting.programs import (
    Place,
    called_program,
    contains_programs,
    programs_in,
    stored_variables,
)


class StoredSelections:
    """The rule (`programs.Rule`) for selections of which one number may lie where the result is stored.

    Such a number is an argument of the program, or the result of a loop or a branch, or a `dynamic_slice` of one. This
    rule comes last: it applies all other operations itself, to know their results.
    """

    def __init__(self) -> None:
        self._computed: dict[int, Any] = {}  # results of operations, by `id`; kept alive, so that no other gets the id

    def applies(self, program: ClosedJaxpr) -> bool:
        return _selects_what_lies_there(program, set(program.jaxpr.invars), [True] * len(program.jaxpr.outvars))

    def replacement(self, equation: JaxprEqn, operands: list[Any], place: Place) -> Sequence[Any] | None:
        if contains_programs(equation):
            return None
        made = equation.primitive.bind(*operands, **equation.params)
        results = list(made) if equation.primitive.multiple_results else [made]
        if _selects_arrays(equation) and place.stored and any(map(self._in_memory, operands[1:])):
            counter = next((x for x in place.inputs if x.shape == () and x.dtype in (jnp.int32, jnp.int64)), None)
            if counter is not None:
                results = [_combined_with_zero(results[0], counter)]
        if equation.primitive.name != "dynamic_slice" or not self._in_memory(operands[0]):
            self._computed.update((id(result), result) for result in results)
        return results

    def _in_memory(self, value: Any) -> bool:
        return isinstance(value, jax.core.Tracer) and id(value) not in self._computed


def _selects_arrays(equation: JaxprEqn) -> bool:
    """Whether an operation selects between arrays of numbers that are not short."""
    if equation.primitive.name != "select_n":
        return False
    result: Any = equation.outvars[0].aval
    return result.ndim > 0 and result.dtype.itemsize >= 4


def _selects_what_lies_there(program: ClosedJaxpr, in_memory: set[Any], results: Sequence[bool]) -> bool:
    """Whether a program, or a program in it, stores a selection of which one number may lie where it is stored.

    Args:
        in_memory: the variables of the program that lie in memory; those that it computes are added.
        results: which results of the program are stored.
    """
    stored = stored_variables(program, results)
    for equation in program.jaxpr.eqns:
        given = [not isinstance(atom, Literal) and atom in in_memory for atom in equation.invars]
        called = called_program(equation)
        if called is not None:
            inside = {var for var, lies in zip(called.jaxpr.invars, given, strict=True) if lies}
            if _selects_what_lies_there(called, inside, [var in stored for var in equation.outvars]):
                return True
            results_inside = zip(equation.outvars, called.jaxpr.outvars, strict=True)
            in_memory.update(var for var, inner in results_inside if not isinstance(inner, Literal) and inner in inside)
        elif contains_programs(equation):
            for part in programs_in(equation):
                if _selects_what_lies_there(part, set(part.jaxpr.invars), [True] * len(part.jaxpr.outvars)):
                    return True
            in_memory.update(equation.outvars)
        elif _selects_arrays(equation) and equation.outvars[0] in stored and any(given[1:]):
            return True
        elif equation.primitive.name == "dynamic_slice" and given[0]:
            in_memory.update(equation.outvars)
    return False


def _combined_with_zero(selected: Array, counter: Array) -> Array:
    """The same numbers, combined with n (n + 1) mod 2, which is 0 for every integer n."""
    with jax.enable_x64(True):  # there may be numbers of 64 bits where JAX makes none
        whole = jnp.int32 if selected.dtype.itemsize == 4 else jnp.int64
        zero = (counter * (counter + 1) & 1).astype(whole)
        return lax.bitcast_convert_type(lax.bitcast_convert_type(selected, whole) ^ zero, selected.dtype)
