"""Virtual queues of missed rounds, computed in integers, so that equal queues tie."""

from __future__ import annotations

import functools
import math

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import DTypeLike

from jaxbandit.core.rationals import rounded_product
from jaxbandit.core.struct import struct
from jaxbandit.policies.selection.quotients import rounded_quotient


@struct
class Queue:
    """A queue per arm: rounds + numerator / denominator, with the denominator of its `Growth`.

    Attributes:
        rounds: int32 `[K, *runs]`; float where plays are shared, as in `jb.tuning`.
        numerator: from 0 to denominator - 1, int32 `[K, *runs]`.
    """

    rounds: Array
    numerator: Array


@struct
class Growth:
    """tau_k = whole + numerator / denominator, by which a queue grows per round; arrays `[K, J or 1]`.

    On the device they are `[K, *runs]`. Where the denominators of all arms have a common multiple that int32 holds, it
    is the denominator of all arms, `[1, J or 1]`.

    Attributes:
        numerator, denominator: int32.
        whole: int32; None where all are 0.
        unit: 1 / denominator, float; None where each arm has a denominator of its own.
    """

    numerator: Array | np.ndarray
    denominator: Array | np.ndarray
    whole: Array | np.ndarray | None = None
    unit: Array | np.ndarray | None = None


class _SameArray:
    """An array as a key of a cache: equal to itself alone."""

    def __init__(self, array: np.ndarray):
        self.array = array

    def __hash__(self) -> int:
        return id(self.array)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameArray) and self.array is other.array


def growth(tau: np.ndarray) -> Growth:
    """The growth of queues for exact fractions `[K, J or 1]`; computed once for the policies of one problem.

    int32 holds the ratio of every decimal number of up to 9 places; longer ones are approximated to within 2^-60.
    """
    return _growth(_SameArray(tau))


@functools.lru_cache(maxsize=4)  # which keeps the arrays, so that no other has their identity
def _growth(same: _SameArray) -> Growth:
    ratios = np.array([[value.limit_denominator(10**9) for value in row] for row in same.array], object)
    denominators = np.array([[value.denominator for value in row] for row in ratios], object)
    common = np.array([[math.lcm(*column) for column in denominators.T]], object)
    unit = None
    if common.max() < 1 << 31:
        denominators, unit = common, 1 / common.astype(float)
    whole = np.zeros(ratios.shape, np.int32)
    if ratios.max() > 1:  # a fraction of 1 is a numerator that equals its denominator
        whole = (ratios // 1).astype(np.int32)
    numerator = ((ratios - whole.astype(object)) * denominators).astype(np.int32)
    return Growth(numerator, denominators.astype(np.int32), whole if whole.any() else None, unit)


def empty(shape: tuple[int, ...]) -> Queue:
    """Queues of length 0, `[K, *runs]`."""
    return Queue(jnp.zeros(shape, jnp.int32), jnp.zeros(shape, jnp.int32))


def grown(queue: Queue, by: Growth, selected: Array) -> Queue:
    """Q + tau, less 1 for selected arms, or less the number of selections of a group; it may be below 0."""
    room = by.denominator - by.numerator  # a carry without a sum that could overflow
    carry = queue.numerator >= room
    rounds = queue.rounds + carry.astype(queue.rounds.dtype) - selected.astype(queue.rounds.dtype)
    if by.whole is not None:
        rounds = rounds + by.whole.astype(rounds.dtype)
    return Queue(rounds, jnp.where(carry, queue.numerator - room, queue.numerator + by.numerator))


def with_real_rounds(queue: Queue, dtype: DTypeLike) -> Queue:
    """The queue with floats for its rounds, for plays that are shared."""
    return Queue(queue.rounds.astype(dtype), queue.numerator)


def is_negative(queue: Queue, by: Growth) -> Array:
    """Q < 0, bool `[K, *runs]`; exact where rounds are integers."""
    if jnp.issubdtype(queue.rounds.dtype, jnp.integer):
        return queue.rounds < 0  # numerator / denominator is in [0, 1)
    return length(queue, by, queue.rounds.dtype) < 0


def emptied(queue: Queue, where: Array) -> Queue:
    """The queue, 0 where `where` holds."""
    return Queue(jnp.where(where, 0, queue.rounds), jnp.where(where, 0, queue.numerator))


def length(queue: Queue, by: Growth, dtype: DTypeLike) -> Array:
    """The length of the queue, float `[K, *runs]`; the same number for equal queues."""
    rounds, numerator = queue.rounds.astype(dtype), queue.numerator.astype(dtype)
    if by.unit is not None:
        return rounds + rounded_product(by.unit, numerator)
    # Of unequal denominators only quotients are equal. XLA would multiply by 1 / d if it knew d to be the same in runs.
    denominator = jnp.where(queue.numerator == 0, 1, by.denominator)
    return rounds + rounded_quotient(numerator, denominator.astype(dtype))
