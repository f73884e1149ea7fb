"""Values that XLA is to compute once.

XLA's CPU compiler fuses what a round computes for a run, `[1, *runs]`, into what follows for every arm, `[K, *runs]`,
and computes it K times. Only control flow stands between computations, so such a value is computed in a branch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

Tree = TypeVar("Tree")


def apart(compute: Callable[[], Tree], witness: Array) -> Tree:
    """What `compute` returns, on CPU not fused with what uses it; elsewhere just that.

    Args:
        compute: of no arguments.
        witness: any array of 32- or 64-bit words that is not a constant: from it comes a truth that XLA cannot see.
    """

    def branch() -> Tree:
        shapes = jax.eval_shape(compute)
        word = witness.ravel()[0]
        bits = word if jnp.issubdtype(word.dtype, jnp.integer) else lax.bitcast_convert_type(word, _word(word))
        always = lax.population_count(bits) <= 64
        return lax.cond(always, compute, lambda: jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes))

    return lax.platform_dependent(cpu=branch, default=compute)


def _word(value: Array) -> type:
    return jnp.int32 if value.dtype.itemsize == 4 else jnp.int64
