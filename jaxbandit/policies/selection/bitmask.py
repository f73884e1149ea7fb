"""Sets of arms as bits of a word."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array

BITS = 32  # arms that fit a word


def word_of(rows: Sequence[Array]) -> Array:
    """Bools of at most `BITS` arms, each `[1, *runs]`, in a word, uint32 `[1, *runs]`."""
    return functools.reduce(jnp.bitwise_or, (row.astype(jnp.uint32) << np.uint32(k) for k, row in enumerate(rows)))
