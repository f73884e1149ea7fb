"""The arm of highest keys, as a mask over the arm axis.

A key is a number per arm. Keys order arms lexicographically: larger first, the first key deciding, later keys deciding
its ties, and the lowest arm first where all keys are equal.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.xla.cpu_kernel import within_kernel
from jaxbandit.core.xla.fusion import without_fusion
from jaxbandit.core.xla.reductions import folded_in_groups
from jaxbandit.policies.selection.sortable_integers import sortable_integers

Keys = tuple[Array, ...]

# Arms up to which computations are written out arm by arm; for more, compiling takes longer (measured)
MAX_UNROLLED_ARMS = 64
# Plays up to which picking one arm after the other is faster than a search for all, where arms are unrolled and where
# they are more (measured on CPU)
_MAX_PICKED, _MAX_PICKED_OF_MANY = 16, 4
_LEAST_RUNS = 16  # runs from which a loop over arms, vectorised over runs, is faster than `argmax`


def max_picked(arms: int) -> int:
    """The plays up to which arms are picked one after the other."""
    return _MAX_PICKED if arms <= MAX_UNROLLED_ARMS else _MAX_PICKED_OF_MANY


def top_arm(keys: Keys, candidates: Array) -> Array:
    """The candidate of highest keys, as a mask, bool `[K, *runs]`; no arm where there is no candidate.

    No arm is selected where a key that decides is NaN.

    Args:
        keys: floats, or integers above the least of their type, `[K, *runs]` each.
        candidates: bool `[K, *runs]`.
    """
    return one_hot(top_number(lambda: keys, candidates, keys[0]), candidates)


def has_arm(mask: Array) -> Array:
    """Whether a mask, bool `[K, *runs]`, has an arm; bool `[1, *runs]`."""
    if len(mask) > MAX_UNROLLED_ARMS:
        return jnp.any(mask, axis=0, keepdims=True)
    return functools.reduce(jnp.logical_or, (mask[k : k + 1] for k in range(len(mask))))


def one_hot(found: Array, candidates: Array) -> Array:
    """The arm of a number, int32 `[1, *runs]`, as a mask, bool `[K, *runs]`; no arm where it is no candidate."""
    return (lax.broadcasted_iota(jnp.int32, candidates.shape, 0) == found) & candidates


# The number of the top arm, int32 `[1, *runs]`; K, which is no arm, where there is no candidate, or a deciding key is
# NaN. All ways carry the number along with the keys. To compare keys with their maximum would be wrong unless the keys
# are in memory: a compiler may compute a score twice, once with a fused multiply-add, and then no arm equals it.


def top_number(keys: Callable[[], Keys], candidates: Array, witness: Array) -> Array:
    """The number of the top arm.

    Args:
        keys: a function that returns the keys, as for `top_arm`; it is called where they are compared.
        candidates: bool `[K, *runs]`.
        witness: any array that is not a constant.
    """
    if len(candidates) <= MAX_UNROLLED_ARMS:
        rows = [candidates[k : k + 1] for k in range(len(candidates))]
        return without_fusion(lambda: top_of_rows(keys(), rows, has_arm(candidates)), witness)
    if within_kernel() and math.prod(candidates.shape[1:]) >= _LEAST_RUNS:
        return _top_in_loop(keys, candidates, witness)
    return _top_of_many(keys(), candidates)


def top_of_rows(
    keys: Keys, candidates: Sequence[Array], exists: Array, nan: Sequence[int | None] | None = None
) -> Array:
    """The number of the top arm by comparing arm after arm, vectorised over runs.

    Args:
        keys: as for `top_arm`.
        candidates: whether each arm is a candidate, K arrays of bool `[1, *runs]`.
        exists: whether there is a candidate, bool `[1, *runs]`.
        nan: the integer that stands for NaN in each key, None in keys without one; by default, no key has one.
    """
    nan = nan or (None,) * len(keys)
    keys = tuple(jnp.broadcast_to(key, (len(candidates), *exists.shape[1:])) for key in keys)
    rows = [_keys_of_arm(tuple(key[k : k + 1] for key in keys), own) for k, own in enumerate(candidates)]
    while len(rows[0][0]) > 1 and jnp.issubdtype(rows[0][0][0].dtype, jnp.integer):
        highest = functools.reduce(jnp.maximum, (held[0] for held, _ in rows))  # an integer equals its maximum
        rows = [_keys_of_arm(held[1:], held[0] == highest) for held, _ in rows]
        exists, nan = exists if nan[0] is None else exists & (highest != nan[0]), nan[1:]
    first, bad = rows[0]
    top = _Top(first, bad, jnp.zeros(bad.shape, jnp.int32))
    for k, (own, own_bad) in enumerate(rows[1:], start=1):
        top = top.or_other(own, own_bad, k)
    for key, number in zip(top.keys, nan, strict=True):
        exists = exists if number is None else exists & (key != number)
    return jnp.where(exists & ~top.bad, top.found, len(candidates))


def _top_in_loop(keys: Callable[[], Keys], candidates: Array, witness: Array) -> Array:
    """The number of the top arm by a loop over the arms, vectorised over runs."""
    arms = len(candidates)
    are_floats: list[bool] = []

    def levels() -> Keys:
        wide = [jnp.broadcast_to(key, candidates.shape) for key in keys()]
        are_floats[:] = [jnp.issubdtype(key.dtype, jnp.floating) for key in wide]
        return tuple(jnp.where(candidates, level, _least(level.dtype)) for level in map(sortable_integers, wide))

    written = without_fusion(levels, witness)

    def none(size: int) -> _TopLevels:
        return _TopLevels(
            tuple(jnp.full(size, _least(level.dtype)) for level in written), jnp.full(size, arms, jnp.int32)
        )

    def compared(top: _TopLevels, row: tuple[Array, ...], number: Array | int) -> _TopLevels:
        return top.or_other(row, number, jnp.zeros(row[0].shape, bool))

    def joined(top: _TopLevels, other: _TopLevels, place: int) -> _TopLevels:
        number = other.found + place
        return top.or_other(other.levels, number, number < top.found)

    top = folded_in_groups(written, none, compared, joined)
    found = jnp.minimum(top.found, arms)
    for level, is_float in zip(top.levels, are_floats, strict=True):
        if is_float:
            found = jnp.where(level == jnp.iinfo(level.dtype).max, arms, found)  # NaN
    return found.reshape(1, *candidates.shape[1:])


class _TopLevels(NamedTuple):
    """The top arm of those compared so far: its keys as sortable integers, and its number, of equal shapes."""

    levels: Keys
    found: Array

    def or_other(self, levels: Keys, number: Array | int, ties: Array) -> _TopLevels:
        """This arm, or another one of higher keys, or of equal ones where `ties` holds."""
        wins = _precede(levels, self.levels, ties)
        top = tuple(jnp.where(wins, x, y) for x, y in zip(levels, self.levels, strict=True))
        return _TopLevels(top, jnp.where(wins, number, self.found))


class _Top(NamedTuple):
    """The top arm of those compared so far: its keys, whether a key was NaN, and its number, of equal shapes."""

    keys: Keys
    bad: Array
    found: Array

    def or_other(self, keys: Keys, bad: Array, number: Array | int) -> _Top:
        """This arm, or another one of higher keys."""
        wins = _precede(keys, self.keys, jnp.zeros(bad.shape, bool))
        top = tuple(jnp.where(wins, x, y) for x, y in zip(keys, self.keys, strict=True))
        return _Top(top, self.bad | bad, jnp.where(wins, number, self.found))


def _precede(a: Keys, b: Keys, ties: Array) -> Array:
    """Whether the keys `a` are higher than the keys `b`, or equal to them where `ties` holds."""
    for x, y in zip(reversed(a), reversed(b), strict=True):
        ties = (x > y) | ((x == y) & ties)
    return ties


def _keys_of_arm(keys: Keys, candidate: Array) -> tuple[Keys, Array]:
    """The keys of one arm, rows `[1, *runs]`, below all others where it is no candidate; and whether one is NaN."""
    held, bad = [], jnp.zeros(candidate.shape, bool)
    for key in keys:
        if jnp.issubdtype(key.dtype, jnp.integer):
            held.append(jnp.where(candidate, key, jnp.iinfo(key.dtype).min))
        else:
            bad |= candidate & jnp.isnan(key)
            low = jnp.finfo(key.dtype).min
            held.append(jnp.where(candidate, jnp.where(key < low, low, key), -jnp.inf))
    return tuple(held), bad


def _top_of_many(keys: Keys, candidates: Array) -> Array:
    """The number of the top arm by one pass over all arms per key."""
    for key in keys[:-1]:
        level = _level(key, candidates)
        candidates = candidates & (level == jnp.max(level, axis=0, keepdims=True))
    level = _level(keys[-1], candidates)
    found = lax.argmax(level, 0, jnp.int32)[None]  # the first NaN, where there is one
    top = jnp.take_along_axis(level, found, 0, mode="promise_in_bounds")
    return jnp.where(top > _least(level.dtype), found, len(level))


def _level(key: Array, candidates: Array) -> Array:
    """The key of each candidate, the least number for other arms; in memory, so that all who read it read the same."""

    def compute() -> Array:
        wide = jnp.broadcast_to(key, candidates.shape)
        if jnp.issubdtype(key.dtype, jnp.integer):
            return jnp.where(candidates, wide, _least(key.dtype))
        low = jnp.finfo(key.dtype).min
        return jnp.where(candidates, jnp.where(wide < low, low, wide), -jnp.inf)  # keeps NaN

    return without_fusion(compute, candidates)


def _least(dtype: Any) -> Array:
    """The least number of a type."""
    return jnp.asarray(-jnp.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).min, dtype)
