"""Virtual queues of missed rounds, in integers, so that queues which are equal tie."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.struct import struct


@struct
class Queue:
    """whole + part / unit rounds, part in [0, unit); int32 `[K, *runs]`, `whole` float where plays are shared."""

    whole: Any
    part: Any


@struct
class Pace:
    """tau = step / unit: what a queue grows by in a round; int32 `[K, J or 1]`, `[K, *runs]` on the device."""

    step: Any
    unit: Any


def pace(tau: np.ndarray) -> Pace:
    """The pace of exact fractions `[K, J or 1]`.

    int32 holds the ratio of every decimal of 9 places; longer ones are met to within 2^-60.
    """
    ratios = [[value.limit_denominator(10**9) for value in row] for row in tau]
    step = np.array([[value.numerator for value in row] for row in ratios], np.int32)
    return Pace(step, np.array([[value.denominator for value in row] for row in ratios], np.int32))


def empty(shape: tuple[int, ...]) -> Queue:
    """A queue of nothing, `[K, *runs]`."""
    return Queue(jnp.zeros(shape, jnp.int32), jnp.zeros(shape, jnp.int32))


def grown(queue: Queue, by: Pace, selected: Array) -> Queue:
    """Q + tau - [k selected]; below 0 it is for the caller to cut off."""
    room = by.unit - by.step  # part + step >= unit, without the sum that could overflow
    carry = queue.part >= room
    whole = queue.whole + carry.astype(queue.whole.dtype) - selected.astype(queue.whole.dtype)
    return Queue(whole, jnp.where(carry, queue.part - room, queue.part + by.step))


def real(queue: Queue, dtype: Any) -> Queue:
    """The queue, ready for shares of plays instead of plays."""
    return Queue(queue.whole.astype(dtype), queue.part)


def negative(queue: Queue, by: Pace) -> Array:
    """Q < 0, bool `[K, *runs]`; exactly where plays are whole."""
    if jnp.issubdtype(queue.whole.dtype, jnp.integer):
        return queue.whole < 0  # part / unit is in [0, 1)
    return length(queue, by, queue.whole.dtype) < 0


def cleared(queue: Queue, where: Array) -> Queue:
    """The queue, 0 where `where`."""
    return Queue(jnp.where(where, 0, queue.whole), jnp.where(where, 0, queue.part))


def length(queue: Queue, by: Pace, dtype: Any) -> Array:
    """The queue as a float `[K, *runs]`."""
    return queue.whole.astype(dtype) + queue.part.astype(dtype) / by.unit.astype(dtype)
