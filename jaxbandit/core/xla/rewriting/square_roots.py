"""Divisions by square roots that give a run the same bits in a block of any shape.

XLA turns x / sqrt(y) into x * rsqrt(y). In float32 its CPU compiler has two versions of rsqrt, whose last bits differ:
a refined estimate for vectors, and 1 / sqrt(y) for single numbers. LLVM unrolls short loops before it vectorises, so a
block of few runs gets one version and a larger block the other. The rule of this module keeps the square root.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.xla.compat import ClosedJaxpr, JaxprEqn
from jaxbandit.core.xla.rewriting.programs import Place, equations

_SHAPING = frozenset(("broadcast_in_dim", "copy", "expand_dims", "reshape", "slice", "squeeze", "transpose"))


class SquareRoots:
    """The rule (`programs.Rule`) that hides from XLA that a divisor is a square root."""

    def __init__(self) -> None:
        self._roots: dict[int, Array] = {}  # by `id`; kept alive, so that no other array gets the same id

    def applies(self, program: ClosedJaxpr) -> bool:
        return any(equation.primitive.name in ("sqrt", "rsqrt") for equation in equations(program))

    def replacement(self, equation: JaxprEqn, operands: list[Any], place: Place) -> Sequence[Any] | None:
        name = equation.primitive.name
        if name == "rsqrt":
            return [1.0 / _hidden(lax.sqrt(operands[0]))]
        if name == "div" and id(operands[1]) in self._roots:
            return [lax.div(operands[0], _hidden(operands[1]))]
        if name == "sqrt" or (name in _SHAPING and id(operands[0]) in self._roots):
            root = equation.primitive.bind(*operands, **equation.params)
            self._roots[id(root)] = root
            return [root]
        return None


def _hidden(root: Array) -> Array:
    """The same numbers, which XLA does not recognise as a square root."""
    return jnp.maximum(root, 0.0)
