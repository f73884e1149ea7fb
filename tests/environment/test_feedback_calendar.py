"""The calendar of delayed feedback: what is sent arrives once, in its round, or never."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbandit.environment.delays import NEVER
from jaxbandit.environment.feedback_calendar import Feedback, PackedFeedback, calendar_length, deliver, empty_calendar

K, RUNS, T = 3, 5, 40


@functools.partial(jax.jit, static_argnums=(2, 3))
def deliveries(sent, rounds, zero_one, length=64):
    """The feedback that arrives at the end of each round, `[T, K, runs]`, of feedback `sent` with delays `rounds`."""
    shapes = Feedback(jnp.zeros((K, RUNS), jnp.int32), jnp.zeros((K, RUNS)))
    pending = empty_calendar(shapes, length, zero_one)
    assert isinstance(pending, PackedFeedback if zero_one else Feedback)
    arm = jnp.broadcast_to(jnp.arange(K, dtype=jnp.int32)[:, None], (K, RUNS))

    def step(pending, now):
        t, count, total, delay = now
        return deliver(pending, Feedback(count, total), arm, delay, t, K)

    return jax.lax.scan(step, pending, (jnp.arange(1, T + 1, dtype=jnp.int32), *sent, rounds))[1]


@pytest.mark.parametrize("zero_one", [False, True])
@given(number=st.integers(0, 2**32 - 1), reach=st.sampled_from([2, T // 2, T, 10 * T]))
@settings(deadline=None, max_examples=60)
def test_feedback_arrives_once_in_its_round_or_never(number, reach, zero_one):
    rng = np.random.default_rng(number)
    count = rng.integers(0, 2, (T, K, RUNS)).astype(np.int32)
    low, high = (0, 2) if zero_one else (-3, 4)
    total = (count * rng.integers(low, high, count.shape)).astype(np.float32)
    delay = rng.integers(0, reach, count.shape).astype(np.int32)
    delay[rng.random(count.shape) < 0.2] = NEVER
    arrived = deliveries((count, total), delay, zero_one)
    expected = np.zeros((T, K, RUNS), int), np.zeros((T, K, RUNS))
    for place in np.argwhere(count):
        t, k, i = place
        if t + delay[t, k, i] < T:
            for book, x in zip(expected, (count, total), strict=True):
                book[t + delay[t, k, i], k, i] += x[t, k, i]
    np.testing.assert_array_equal(arrived.count, expected[0])
    np.testing.assert_array_equal(arrived.total, expected[1])


@pytest.mark.parametrize("length", [64, 256])
def test_all_rewards_of_an_arm_may_arrive_in_one_round(length):
    """In words of 16 and of 32 bits."""
    ones = np.ones((T, K, RUNS), np.int32)
    last = np.broadcast_to(np.arange(T - 1, -1, -1, dtype=np.int32)[:, None, None], ones.shape)
    arrived = deliveries((ones, ones.astype(np.float32)), last, True, length)
    np.testing.assert_array_equal(arrived.count, np.where(last == 0, T, 0))
    np.testing.assert_array_equal(arrived.total, np.where(last == 0, T, 0))


def test_words_hold_all_rewards_that_can_arrive_in_one_round():
    shapes = Feedback(jnp.zeros((1, 1), jnp.int32), jnp.zeros((1, 1)))
    words = {n: empty_calendar(shapes, n, zero_one=True) for n in (128, 256, 1 << 15, 1 << 16)}
    assert [words[n].word.dtype for n in (128, 256, 1 << 15)] == [jnp.uint16, jnp.uint32, jnp.uint32]
    assert isinstance(words[1 << 16], Feedback)
    assert empty_calendar(shapes, 1 << 20, zero_one=True, alike=True).word.dtype == jnp.uint16


def test_the_calendar_is_as_long_as_it_must_be():
    lengths = [calendar_length(longest, 1000) for longest in (0, 1, 2, 3, 4, 63, 64, 10**9)]
    assert lengths == [1, 2, 4, 4, 8, 64, 128, 1024]
    assert [calendar_length(float("inf"), T) for T in (1, 2, 1024, 1025)] == [1, 2, 1024, 2048]
