"""Random numbers that decide between arms of equal keys."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.prng import TIES, Stream


def tie_breaker(random: Stream, arms: int) -> Array:
    """A number per arm, int32 `[K, *runs]`: in a round and run, all orders of the arms are equally likely.

    Numbers of 31 bits are equal with a chance of K^2 / 2^32; such a tie goes to the lowest arm.
    """
    words = random.for_purpose(TIES).words(arms)[0]
    return (words >> 1).astype(jnp.int32)
