"""The calendar of delayed feedback: pending rewards, by the round in which they arrive."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.struct import struct
from jaxbandit.core.xla.cpu_kernel import add_at


@struct
class Feedback:
    """Sent or received rewards per arm: arrays `[K, *runs]`.

    Attributes:
        count: the number of rewards, int32.
        total: the sum of the rewards, each less the centre of the reward distribution, float.
        squares: the sum of the squares of these differences, float; None unless the policy needs it.
        rewards: the sum of the rewards themselves, float; None where `total` is that sum, or where no policy reads it.
        losses: the sum of the importance-weighted losses (1 - r) / p, float; None unless the policy needs it.
    """

    count: Array
    total: Array
    squares: Any = None  # an array, or None
    rewards: Any = None  # an array, or None
    losses: Any = None  # an array, or None


def calendar_length(longest: float, horizon: int) -> int:
    """The length of the calendar in rounds: a power of 2 above every delay that ends by the horizon.

    Args:
        longest: the longest delay, in rounds.
        horizon: T.

    Returns:
        The length; 1 if no reward is ever pending.
    """
    longest_by_horizon = int(min(longest, horizon - 1))
    return 1 << longest_by_horizon.bit_length()


@struct
class PackedFeedback:
    """Pending rewards of 0 and 1: one word per arm, whose lower half holds their number and whose upper half their sum.

    Attributes:
        word: uint16 or uint32.
    """

    word: Array

    @property
    def half(self) -> int:
        """The bits of half a word."""
        return 4 * self.word.dtype.itemsize


Calendar = Feedback | PackedFeedback


def empty_calendar(sent: Feedback, length: int, zero_one: bool = False, alike: bool = False) -> Calendar | None:
    """An empty calendar of `length` rounds, arrays `[length K, *runs]`; None if no reward is ever pending.

    Its pages, one per round, lie one after the other along the first axis: a place in it is one number, which takes a
    tenth less time than a page and an arm (measured).

    Args:
        sent: feedback with the shapes and dtypes of the feedback that will be sent.
        length: the length in rounds, a power of 2.
        zero_one: rewards are 0 or 1. Their number and sum then share a word where they fit, which saves one scatter.
        alike: the delays of an arm's plays are independent, and those of equal rewards have one distribution.
    """
    if length == 1:
        return None
    pages: Calendar = sent
    if zero_one and sent.squares is sent.rewards is sent.losses is None:
        # Of each earlier round in the calendar, at most one reward of an arm arrives in one round. If delays are alike,
        # at most 2 rewards are expected there, so that more than 255 arrive with probability (2e / 256)^256 < 1e-427.
        most = 255 if alike else length
        word = next((dtype for dtype in (jnp.uint16, jnp.uint32) if most >> 4 * dtype.dtype.itemsize == 0), None)
        pages = sent if word is None else PackedFeedback(sent.count.astype(word))
    return jax.tree.map(lambda x: jnp.zeros((length * len(x), *x.shape[1:]), x.dtype), pages)


def deliver(
    pending: Calendar, sent: Feedback, arm: Array, rounds: Array, t: Array, arms: int
) -> tuple[Calendar, Feedback]:
    """Add the feedback that is sent in round t to the calendar, and take out the feedback that arrives at its end.

    Args:
        pending: the calendar, arrays `[length K, *runs]`.
        sent: the feedback of all arms or of n arms, arrays `[n, *runs]`.
        arm: the indices of these arms, int32 `[n, *runs]`.
        rounds: their delays in rounds, int32 `[n, *runs]`, or an array that broadcasts to it.
        t: the round, an int32 scalar.
        arms: K.

    Returns:
        The calendar after the round, and the feedback that arrives, arrays `[K, *runs]`.
    """
    length = len(jax.tree.leaves(pending)[0]) // arms
    arrives = rounds < length  # a delay beyond the calendar ends after the horizon

    def page_of(t: Array) -> Array:
        return (t & (length - 1)) * arms

    def post(book: Array, x: Array) -> Array:
        # The page of the last round is cleared now, not when it was read: XLA can then update the array in place.
        blank = jnp.zeros((arms, *book.shape[1:]), book.dtype)
        book = lax.dynamic_update_slice_in_dim(book, blank, page_of(t - 1), 0)
        return add_at(book, (page_of(t + jnp.where(arrives, rounds, 0)) + arm,), jnp.where(arrives, x, 0))

    posted: Calendar = sent
    if isinstance(pending, PackedFeedback):
        word = pending.word.dtype
        posted = PackedFeedback(sent.count.astype(word) + (sent.total.astype(word) << pending.half))
    pending = jax.tree.map(post, pending, posted)
    page = jax.tree.map(lambda book: lax.dynamic_slice_in_dim(book, page_of(t), arms), pending)
    if isinstance(page, PackedFeedback):
        half = np.array(page.half, page.word.dtype)
        low, high = page.word & ~(~np.zeros_like(half) << half), page.word >> half
        page = Feedback(low.astype(jnp.int32), high.astype(sent.total.dtype))
    return pending, page
