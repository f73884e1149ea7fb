"""Sets of arms as words of bits."""

import jax
import numpy as np
import pytest
from sweeps import partly_fast

from jaxbandit.policies.selection import bitmask


@pytest.mark.parametrize("arms", partly_fast([1, 5, 32, 33, 70], [5, 33]))
def test_words_are_the_sets_of_their_masks(arms):
    rng = np.random.default_rng(arms)
    mask = rng.random((arms, 1, 40)) < np.linspace(0, 1, 40)  # the first set is empty, the last one has nearly all arms
    words = jax.jit(bitmask.as_words)(mask)
    assert words.dtype == np.uint32
    assert words.shape == (-(-arms // 32), 1, 40)
    np.testing.assert_array_equal(bitmask.as_mask(words, arms), mask)
    np.testing.assert_array_equal(bitmask.is_empty(words), ~mask.any(axis=0, keepdims=True))
    np.testing.assert_array_equal(bitmask.set_size(words), mask.sum(axis=0, keepdims=True))
    lowest = np.where(mask.any(axis=0), mask.argmax(axis=0), arms)[None]
    np.testing.assert_array_equal(bitmask.lowest_of(words, arms), lowest)
    for k in {0, arms // 2, arms - 1}:
        for arm in (k, np.int32(k)):
            np.testing.assert_array_equal(bitmask.contains(words, arm)[0], mask[k])
    gone = rng.integers(0, arms + 1, (1, 1, 40)).astype(np.int32)  # the number of arms stands for none
    left = mask & (np.arange(arms)[:, None, None] != gone)
    np.testing.assert_array_equal(bitmask.as_mask(jax.jit(bitmask.without)(words, gone), arms), left)


def test_set_operations_are_those_of_bits():
    a, b = (np.random.default_rng(n).random((40, 1, 9)) < 0.5 for n in (0, 1))
    words_a, words_b = bitmask.as_words(a), bitmask.as_words(b)
    np.testing.assert_array_equal(bitmask.as_mask(words_a & words_b, 40), a & b)
    np.testing.assert_array_equal(bitmask.as_mask(words_a & ~words_b, 40), a & ~b)
    np.testing.assert_array_equal(bitmask.as_mask(words_a | words_b, 40), a | b)
