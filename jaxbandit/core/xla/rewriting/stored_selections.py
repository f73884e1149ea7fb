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

from jaxbandit.core.xla.compat import JaxprEqn
from jaxbandit.core.xla.rewriting.programs import Place, contains_programs


class StoredSelections:
    """The rule (`programs.Rule`) for selections of which one number may lie where the result is stored.

    Such a number is an argument of the program, or the result of a loop or a branch, or a `dynamic_slice` of one. This
    rule comes last: it applies all other operations itself, to know their results.
    """

    def __init__(self) -> None:
        self._computed: dict[int, Any] = {}  # results of operations, by `id`; kept alive, so that no other gets the id

    def matches(self, equation: JaxprEqn) -> bool:
        if equation.primitive.name != "select_n":
            return False
        result: Any = equation.outvars[0].aval
        return result.ndim > 0 and result.dtype.itemsize >= 4

    def replacement(self, equation: JaxprEqn, operands: list[Any], place: Place) -> Sequence[Any] | None:
        if contains_programs(equation):
            return None
        made = equation.primitive.bind(*operands, **equation.params)
        results = list(made) if equation.primitive.multiple_results else [made]
        if self.matches(equation) and place.stored and any(map(self._in_memory, operands[1:])):
            counter = next((x for x in place.inputs if x.shape == () and x.dtype in (jnp.int32, jnp.int64)), None)
            if counter is not None:
                results = [_combined_with_zero(results[0], counter)]
        if equation.primitive.name != "dynamic_slice" or not self._in_memory(operands[0]):
            self._computed.update((id(result), result) for result in results)
        return results

    def _in_memory(self, value: Any) -> bool:
        return isinstance(value, jax.core.Tracer) and id(value) not in self._computed


def _combined_with_zero(selected: Array, counter: Array) -> Array:
    """The same numbers, combined with n (n + 1) mod 2, which is 0 for every integer n."""
    with jax.enable_x64(True):  # there may be numbers of 64 bits where JAX makes none
        whole = jnp.int32 if selected.dtype.itemsize == 4 else jnp.int64
        zero = (counter * (counter + 1) & 1).astype(whole)
        return lax.bitcast_convert_type(lax.bitcast_convert_type(selected, whole) ^ zero, selected.dtype)
