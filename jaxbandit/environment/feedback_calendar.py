"""The calendar of delayed feedback: pending rewards, by the round in which they arrive."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
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


_HALF = 1 << 16  # the lower 16 bits of a word hold a count, the upper 16 bits a sum


@struct
class PackedFeedback:
    """Pending rewards of 0 and 1: one int32 word per arm, with their number plus 2^16 times their sum."""

    word: Array


Calendar = Feedback | PackedFeedback


def empty_calendar(sent: Feedback, length: int, zero_one: bool = False) -> Calendar | None:
    """An empty calendar of `length` rounds, arrays `[length, K, *runs]`; None if no reward is ever pending.

    Args:
        sent: feedback with the shapes and dtypes of the feedback that will be sent.
        length: the length in rounds, a power of 2.
        zero_one: rewards are 0 or 1. Their number and sum then share a word where they fit, which saves one scatter.
    """
    if length == 1:
        return None
    fits = length < _HALF // 2  # of each earlier round in the calendar, at most one reward arrives in one round
    packed = zero_one and fits and sent.squares is sent.rewards is sent.losses is None
    pages: Calendar = PackedFeedback(sent.count) if packed else sent
    return jax.tree.map(lambda x: jnp.zeros((length, *x.shape), x.dtype), pages)


def deliver(pending: Calendar, sent: Feedback, arm: Array, rounds: Array, t: Array) -> tuple[Calendar, Feedback]:
    """Add the feedback that is sent in round t to the calendar, and take out the feedback that arrives at its end.

    Args:
        pending: the calendar, arrays `[length, K, *runs]`.
        sent: the feedback of all arms or of n arms, arrays `[n, *runs]`.
        arm: the indices of these arms, int32 `[n, *runs]`.
        rounds: their delays in rounds, int32 `[n, *runs]`, or an array that broadcasts to it.
        t: the round, an int32 scalar.

    Returns:
        The calendar after the round, and the feedback that arrives, arrays `[K, *runs]`.
    """
    packed = isinstance(pending, PackedFeedback)
    length = len(jax.tree.leaves(pending)[0])
    arrives = rounds < length  # a delay beyond the calendar ends after the horizon
    place = jnp.broadcast_to((t + jnp.where(arrives, rounds, 0)) & (length - 1), arm.shape)

    def post(book: Array, x: Array) -> Array:
        # The page of the last round is cleared now, not when it was read: XLA can then update the array in place.
        book = lax.dynamic_update_index_in_dim(book, jnp.zeros(book.shape[1:], book.dtype), (t - 1) & (length - 1), 0)
        return add_at(book, (place, arm), jnp.where(arrives, x, 0))

    posted = PackedFeedback(sent.count + _HALF * sent.total.astype(jnp.int32)) if packed else sent
    pending = jax.tree.map(post, pending, posted)
    page = jax.tree.map(lambda book: lax.dynamic_index_in_dim(book, t & (length - 1), keepdims=False), pending)
    if isinstance(page, PackedFeedback):
        page = Feedback(page.word & (_HALF - 1), (page.word >> 16).astype(sent.total.dtype))
    return pending, page
