"""Sets of arms as the bits of one word per run."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array

MAX_ARMS = 32  # the bits of a word


def pack_bits(rows: Sequence[Array]) -> Array:
    """A set of at most `MAX_ARMS` arms, given as one bool `[1, *runs]` per arm, as words, uint32 `[1, *runs]`."""
    return functools.reduce(jnp.bitwise_or, (row.astype(jnp.uint32) << np.uint32(k) for k, row in enumerate(rows)))
