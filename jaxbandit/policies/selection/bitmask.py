"""Sets of arms as the bits of words: a word per run for up to `MAX_ARMS` arms, several for more."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

MAX_ARMS = 32  # the bits of a word


def pack_bits(rows: Sequence[Array]) -> Array:
    """Sets of at most `MAX_ARMS` members, given as one bool array per member, as words, uint32 of the same shape."""
    return functools.reduce(jnp.bitwise_or, (row.astype(jnp.uint32) << np.uint32(k) for k, row in enumerate(rows)))


def lowest_bit(words: Array) -> Array:
    """The number of the lowest bit that is set, uint32 of the shape of the words; 32 where none is."""
    below: Array = lax.population_count(~words & (words - np.uint32(1)))
    return below


# Arm k is bit k div W of word k mod W, for W words.


def as_words(mask: Array) -> Array:
    """A set of arms as words, uint32 `[W, *runs]`.

    Args:
        mask: bool `[K, *runs]`.
    """
    words, bits = _sizes(len(mask))
    if words == 1:
        return pack_bits([mask[k : k + 1] for k in range(bits)])
    padding = jnp.zeros((words * bits - len(mask), *mask.shape[1:]), bool)
    return pack_bits(list(jnp.concatenate([mask, padding]).reshape(bits, words, *mask.shape[1:])))


def numbers_as_words(arm: Array, arms: int) -> Array:
    """The set of n of K arms, given by their numbers, as words, uint32 `[W, *runs]`.

    Args:
        arm: int32 `[n, *runs]`; K stands for none.
        arms: K.
    """
    count, _ = _sizes(arms)
    bits = jnp.uint32(1) << (arm // count).astype(jnp.uint32)  # bit 32 is none
    if count == 1:
        return functools.reduce(jnp.bitwise_or, (bits[i : i + 1] for i in range(len(arm))))
    bits = jnp.where(arm < arms, bits, 0)
    place = lax.broadcasted_iota(jnp.int32, (count, *arm.shape[1:]), 0)

    def with_arm(i: Array, words: Array) -> Array:
        own, bit = (lax.dynamic_slice_in_dim(part, i, 1) for part in (arm, bits))
        return words | jnp.where(own % count == place, bit, 0)

    return lax.fori_loop(0, len(arm), with_arm, jnp.zeros(place.shape, jnp.uint32))


def as_mask(words: Array, arms: int) -> Array:
    """The mask of a set of K arms, bool `[K, *runs]`; the inverse of `as_words`."""
    count, bits = _sizes(arms)
    if count == 1:
        number = lax.broadcasted_iota(jnp.uint32, (arms, *words.shape[1:]), 0)
        return (words >> number) & np.uint32(1) != 0
    number = lax.broadcasted_iota(jnp.uint32, (bits, *words.shape), 0)
    every = (words[None] >> number) & np.uint32(1) != 0
    return every.reshape(bits * count, *words.shape[1:])[:arms]


def contains(words: Array, arm: int | Array) -> Array:
    """Whether a set has an arm, an integer or an integer scalar; bool `[1, *runs]`."""
    word = lax.dynamic_index_in_dim(words, arm % len(words))
    return (word >> jnp.uint32(arm // len(words))) & np.uint32(1) != 0


def without(words: Array, arm: Array) -> Array:
    """A set without one arm, as words; the same set if it does not have the arm.

    Args:
        words: the set.
        arm: the arm, int32 `[1, *runs]`; K stands for none.
    """
    place = lax.broadcasted_iota(jnp.int32, words.shape, 0)
    bit = jnp.uint32(1) << (arm // len(words)).astype(jnp.uint32)
    return jnp.where(arm % len(words) == place, words & ~bit, words)


def lowest_of(words: Array, arms: int) -> Array:
    """The lowest of K arms in a set, int32 `[1, *runs]`; K where the set is empty."""
    place = lax.broadcasted_iota(jnp.int32, words.shape, 0)
    number = lowest_bit(words).astype(jnp.int32) * np.int32(len(words)) + place
    number = jnp.where(words == 0, np.int32(arms), number)
    return jnp.min(number, axis=0, keepdims=True)


def is_empty(words: Array) -> Array:
    """Whether a set has no arm, bool `[1, *runs]`."""
    return jnp.all(words == 0, axis=0, keepdims=True)


def set_size(words: Array) -> Array:
    """The number of arms in a set, int32 `[1, *runs]`."""
    return jnp.sum(lax.population_count(words).astype(jnp.int32), axis=0, keepdims=True, dtype=jnp.int32)


def _sizes(arms: int) -> tuple[int, int]:
    """The number of words for K arms, and the bits of each."""
    words = -(-arms // MAX_ARMS)
    return words, -(-arms // words)
