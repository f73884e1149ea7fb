"""The calendar of delayed feedback: rewards that are under way, by the round in which they arrive."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.struct import struct
from jaxbandit.core.xla.cpu_kernel import add_at


@struct
class Feedback:
    """Rewards under way or arrived, per arm; arrays `[K, *runs]`.

    Attributes:
        count: how many, int32.
        total: their sum, as deviations from the reward's centre, float.
        squares: the sum of the squared deviations, float; None unless the policy asks for it.
    """

    count: Any
    total: Any
    squares: Any = None


def calendar_length(longest: float, horizon: int) -> int:
    """Rounds that the calendar holds: a power of 2 above every delay that ends by the horizon; 1 for none under way."""
    reach = int(min(longest, horizon - 1))
    return 1 << reach.bit_length()


_HALF = 1 << 16  # of a word that holds a count below and a sum above


@struct
class PackedFeedback:
    """Rewards of 0 and 1 under way, in one word an arm: how many, and 2^16 times how many of them are 1; int32."""

    word: Any


Calendar = Feedback | PackedFeedback


def empty_calendar(sent: Feedback, length: int, bits: bool = False) -> Calendar | None:
    """An empty calendar of `length` rounds, arrays `[length, K, *runs]`; None where nothing is ever under way.

    Args:
        sent: the shapes and dtypes of what will be sent.
        length: a power of 2.
        bits: rewards are 0 and 1, and may share a word with their number: a scatter instead of two.
    """
    if length == 1:
        return None
    small = length < _HALF // 2  # at most one reward of each round of the calendar comes in one round
    pages: Calendar = PackedFeedback(sent.count) if bits and small and sent.squares is None else sent
    return jax.tree.map(lambda x: jnp.zeros((length, *x.shape), x.dtype), pages)


def deliver(under_way: Calendar, sent: Feedback, arm: Array, rounds: Array, t: Array) -> tuple[Calendar, Feedback]:
    """What arrives at the end of round t, when `sent` was sent in it.

    Args:
        under_way: the calendar, `[length, K, *runs]`.
        sent: arrays `[n, *runs]`: of all arms, or of n of them.
        arm: whose they are, int32 `[n, *runs]`.
        rounds: the delay of each, int32 `[n, *runs]` or broadcasting.
        t: the round, int32 scalar.

    Returns:
        The calendar after, and the feedback `[K, *runs]`.
    """
    tallied = isinstance(under_way, PackedFeedback)
    length = len(jax.tree.leaves(under_way)[0])
    comes = rounds < length  # a delay beyond the calendar ends past the horizon
    place = jnp.broadcast_to((t + jnp.where(comes, rounds, 0)) & (length - 1), arm.shape)

    def post(book: Array, x: Array) -> Array:
        # The last round's page is torn out now, not when it was read: XLA then writes in place.
        book = lax.dynamic_update_index_in_dim(book, jnp.zeros(book.shape[1:], book.dtype), (t - 1) & (length - 1), 0)
        return add_at(book, (place, arm), jnp.where(comes, x, 0))

    posted = PackedFeedback(sent.count + _HALF * sent.total.astype(jnp.int32)) if tallied else sent
    under_way = jax.tree.map(post, under_way, posted)
    page = jax.tree.map(lambda book: lax.dynamic_index_in_dim(book, t & (length - 1), keepdims=False), under_way)
    if isinstance(page, PackedFeedback):
        page = Feedback(page.word & (_HALF - 1), (page.word >> 16).astype(sent.total.dtype))
    return under_way, page
