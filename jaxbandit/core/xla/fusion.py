"""What XLA is to compute once, or only where it is needed.

XLA's CPU compiler fuses what a round computes for a run, `[1, *runs]`, into what follows for every arm, `[K, *runs]`,
and computes it K times. Only control flow stands between computations, so such a value is computed in a branch.

Elsewhere a branch on a computed truth has the host wait for the device, round after round, which costs more than what
is spared: there what may not be needed is computed, and selected.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

Tree = TypeVar("Tree")


def without_fusion(compute: Callable[[], Tree], witness: Array) -> Tree:
    """What `compute` returns, on CPU not fused with what uses it; elsewhere just that.

    Args:
        compute: of no arguments.
        witness: any array that is not a constant: from it comes a truth that XLA cannot see.
    """
    if jax.default_backend() != "cpu":
        return compute()
    made: list[Tree] = []

    def branch() -> Tree:
        made.append(compute())
        return made[-1]

    def never() -> Tree:  # traced second
        return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), made[-1])

    return lax.switch((~hidden_true(witness)).astype(jnp.int32), (branch, never))


def cond_fused(needed: Array, yes: Callable[[], Tree], no: Callable[[], Tree]) -> Tree:
    """`yes()` where `needed`, a scalar, else `no()`: on CPU only that; elsewhere both, of which one is selected."""
    if jax.default_backend() == "cpu":
        return lax.cond(needed, yes, no)
    return jax.tree.map(functools.partial(jnp.where, needed), yes(), no())


def cond_update(needed: Array, change: Callable[[Tree], Tree], tree: Tree) -> Tree:
    """`change(tree)` where `needed`, a scalar, else `tree`: on CPU by a loop, whose arrays stay where they are.

    A branch that returns what it was given copies it. Elsewhere `change` is computed all the same.
    """
    if jax.default_backend() != "cpu":
        return cond_fused(needed, lambda: change(tree), lambda: tree)
    return lax.fori_loop(0, needed.astype(jnp.int32), lambda _, tree: change(tree), tree)


def hidden_true(*witnesses: Array) -> Array:
    """True, a scalar, in a way that XLA does not see: it depends on the first entry of each of some arrays."""
    words = [_word(array.ravel()[0]) for array in witnesses]
    return lax.population_count(functools.reduce(lax.bitwise_xor, words)) <= 64


def _word(value: Array) -> Array:
    """The bits of a number, or half of them, int32."""
    if value.dtype.itemsize == 8:
        return lax.bitcast_convert_type(value, jnp.int32)[0]
    if value.dtype.itemsize == 4:
        return lax.bitcast_convert_type(value, jnp.int32)
    return value.astype(jnp.int32)
