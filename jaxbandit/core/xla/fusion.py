"""Values that XLA shall compute once, or only where they are needed.

XLA's CPU compiler fuses the computation of a value per run, `[1, *runs]`, into a later computation per arm,
`[K, *runs]`, and then computes the value K times. Only control flow prevents such a fusion, so the value is computed in
a branch.

On other devices a branch on a computed condition makes the host wait for the device in every round, which costs more
than it saves. There both results are computed, and one is selected.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

Tree = TypeVar("Tree")

# Whether functions are traced for one kernel on a GPU, on whatever device this is. Traces of both kinds are kept apart.
FOR_GPU_KERNEL = jax.make_user_context(False)


def on_cpu() -> bool:
    """Whether functions are traced for a CPU."""
    return jax.default_backend() == "cpu" and not FOR_GPU_KERNEL.value


def without_fusion(compute: Callable[[], Tree], witness: Array) -> Tree:
    """`compute()`, on CPU not fused with the computations that use the result.

    Args:
        compute: a function without arguments that returns a tree of arrays.
        witness: any array that is not a constant; `hidden_true` needs it.
    """
    if not on_cpu():
        return compute()
    results: list[Tree] = []

    def branch() -> Tree:
        results.append(compute())
        return results[-1]

    def never() -> Tree:  # is traced after `branch`
        return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), results[-1])

    return lax.cond(hidden_true(witness), branch, never)


def cond_fused(needed: Array, yes: Callable[[], Tree], no: Callable[[], Tree]) -> Tree:
    """`yes()` if `needed`, a bool scalar, else `no()`. On CPU only one is computed, on other devices both."""
    if on_cpu():
        return lax.cond(needed, yes, no)
    return jax.tree.map(functools.partial(jnp.where, needed), yes(), no())


def cond_update(needed: Array, change: Callable[[Tree], Tree], tree: Tree) -> Tree:
    """`change(tree)` if `needed`, a bool scalar, else `tree`. On other devices than CPUs, `change` is always computed.

    On CPU this is a loop of one or no round, which updates the arrays in place; a branch that returns its argument
    would copy it.
    """
    if not on_cpu():
        return cond_fused(needed, lambda: change(tree), lambda: tree)
    return lax.fori_loop(0, needed.astype(jnp.int32), lambda _, tree: change(tree), tree)


def hidden_true(*witnesses: Array) -> Array:
    """True, a bool scalar, computed from the first entry of each array, so that XLA cannot replace it by a constant."""
    words = [_word(lax.squeeze(array[(slice(1),) * array.ndim], range(array.ndim))) for array in witnesses]
    return lax.population_count(functools.reduce(lax.bitwise_xor, words)) <= 64


def _word(value: Array) -> Array:
    """The bits of a number, or half of the bits of a 64-bit number, int32."""
    if value.dtype.itemsize == 8:
        return lax.bitcast_convert_type(value, jnp.int32)[0]
    if value.dtype.itemsize == 4:
        return lax.bitcast_convert_type(value, jnp.int32)
    return value.astype(jnp.int32)
