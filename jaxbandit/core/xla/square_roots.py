"""Divisions by square roots, which are to give a run the same bits in a block of any shape.

XLA turns x / sqrt(y) into x * rsqrt(y). Its CPU compiler has two kinds of rsqrt in float32: for a vector an estimate
that is made better, for a number 1 / sqrt(y), and their last bits differ. LLVM writes short loops out before it looks
for vectors, so a block of few runs meets the one kind and a larger block the other. Here the root stays a root.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import Array, lax

_SHAPING = frozenset(("broadcast_in_dim", "copy", "expand_dims", "reshape", "slice", "squeeze", "transpose"))


class SquareRoots:
    """The rule (`rewriting.Rule`) that nothing is divided by what XLA sees to be a square root."""

    def __init__(self) -> None:
        self._roots: dict[int, Array] = {}  # by `id`; held, since another array might get the id of one that is gone

    def matches(self, equation: Any) -> bool:
        return equation.primitive.name in ("sqrt", "rsqrt")

    def replacement(self, equation: Any, operands: list[Any]) -> Sequence[Any] | None:
        name = equation.primitive.name
        if name == "rsqrt":
            return [1.0 / _plain(lax.sqrt(operands[0]))]
        if name == "div" and id(operands[1]) in self._roots:
            return [lax.div(operands[0], _plain(operands[1]))]
        if name == "sqrt" or (name in _SHAPING and id(operands[0]) in self._roots):
            made = equation.primitive.bind(*operands, **equation.params)
            self._roots[id(made)] = made
            return [made]
        return None


def _plain(root: Array) -> Array:
    """The root, as XLA does not see that it is one."""
    return jnp.maximum(root, 0.0)
