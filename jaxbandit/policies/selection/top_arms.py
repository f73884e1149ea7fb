"""The arms of highest keys, as masks over the arm axis.

A key is a number per arm. Keys order arms lexicographically: larger first, the first key deciding, later keys deciding
its ties, and the lowest arm first where all keys are equal. Where ties are broken at random, the last key is the tie
breaker of the round, `RoundView.tie_breaker`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.rationals import Quota
from jaxbandit.core.xla.fusion import on_cpu, without_fusion
from jaxbandit.policies.selection.bitmask import MAX_ARMS, as_mask, as_words, contains, is_empty, without
from jaxbandit.policies.selection.sortable_integers import FloatKey, float_key
from jaxbandit.policies.selection.thresholds import highest
from jaxbandit.policies.selection.top_arm import (
    Keys,
    has_arm,
    max_picked,
    one_hot,
    top_arm,
    top_number,
    top_of_rows,
)

SelectionKey = Array | FloatKey
Key = TypeVar("Key")


class SelectionRound(Protocol):
    """The attributes of a `RoundView` that selections use."""

    @property
    def t(self) -> Array: ...
    @property
    def pulls(self) -> Array: ...
    @property
    def available(self) -> Array: ...
    @property
    def plays(self) -> int: ...


def best_arm(score: Array, candidates: Array, tie_breaker: Array | None = None) -> Array:
    """The candidate of highest score, as a mask, bool `[K, *runs]`; ties go to the lowest arm without a tie breaker.

    No arm is selected where there is no candidate, or where the score of a candidate is NaN.

    Args:
        score: float `[K, *runs]`.
        candidates: bool `[K, *runs]`.
        tie_breaker: int32 `[K, *runs]`.
    """
    return top_arms((score,), 1, 1, candidates, tie_breaker)


def top_available(keys: Callable[[], Keys], now: SelectionRound, tie_breaker: Array | None) -> Array:
    """The L available arms of highest keys, as a mask, bool `[K, *runs]`; all available arms where they are fewer.

    Args:
        keys: a function that returns the keys, as for `top_arms`; with one play it is called where they are compared.
        now: the view of the round.
        tie_breaker: as for `top_arms`.
    """
    if now.plays > 1:
        return top_arms(keys(), now.plays, now.plays, now.available, tie_breaker)
    return one_hot(top_available_number(keys, now, tie_breaker), now.available)


def top_available_number(keys: Callable[[], Keys], now: SelectionRound, tie_breaker: Array | None) -> Array:
    """The number of the arm that `top_available` selects for one play, int32 `[1, *runs]`; K for none."""
    return top_number(lambda: _with_ties(keys(), tie_breaker), now.available, now.t)


def _with_ties(keys: Sequence[Key], tie_breaker: Array | None) -> tuple[Key | Array, ...]:
    return tuple(keys) if tie_breaker is None else (*keys, tie_breaker)


def top_arms(
    keys: Sequence[SelectionKey],
    count: Array | int,
    max_count: int,
    candidates: Array,
    tie_breaker: Array | None = None,
) -> Array:
    """The `count` candidates of highest keys, as a mask, bool `[K, *runs]`; all candidates where they are fewer.

    Args:
        keys: floats, or integers above the two least of their type, `[K, *runs]` each. An arm whose deciding key is
            NaN is not selected, and no other arm in its place; further arms of the run may be left out, too. The engine
            notices the missing plays and ends the simulation with an error.
        count: int, or int32 `[1, *runs]`.
        max_count: the largest count, int.
        candidates: bool `[K, *runs]`.
        tie_breaker: the last key, int32 `[K, *runs]`; without it, ties go to the lowest arm.
    """
    if max_count == 0:
        return jnp.zeros(candidates.shape, bool)
    keys = _with_ties(keys, tie_breaker)
    counts = jnp.broadcast_to(jnp.asarray(count, jnp.int32), (1, *candidates.shape[1:]))
    if max_count == 1:
        one = top_arm(_plain(keys), candidates)
        return one if isinstance(count, int) else one & (counts > 0)
    if max_count <= max_picked(len(candidates)):
        often_fewer = not isinstance(count, int) and on_cpu()
        return _picked(keys, counts, jnp.max(counts) if often_fewer else max_count, candidates)
    return highest(_plain(keys), counts, candidates)


def _picked(keys: Sequence[SelectionKey], counts: Array, most: Array | int, candidates: Array) -> Array:
    """The `counts` candidates of highest keys, one after the other; `most` is the largest count.

    Arms that are not picked yet are the bits of a word per run, where they fit one. A pick then changes no key.
    """
    levels, nan = zip(*map(_levels, keys), strict=True)  # in memory, as all that a loop reads
    arms = len(candidates)
    if arms > MAX_ARMS:
        return _marked(levels, nan, counts, most, candidates)
    every = as_words(candidates)

    def pick(number: Array, left: Array) -> Array:
        found = top_of_rows(levels, [contains(left, k) for k in range(arms)], ~is_empty(left), nan)
        return jnp.where(number < counts, without(left, found), left)

    return as_mask(every ^ lax.fori_loop(0, most, pick, every), arms)


def _marked(levels: Keys, nan: Sequence[int | None], counts: Array, most: Array | int, candidates: Array) -> Array:
    """`_picked` for more arms than a word has bits: the first key of a picked arm becomes a mark below all other keys.

    Args:
        levels: the keys as integers.
        nan: as for `top_of_rows`.
    """
    first, *later = levels
    limits = jnp.iinfo(first.dtype)
    none, taken = limits.min, limits.min + 1
    level, mark = jnp.where(candidates, first, none), jnp.full_like(counts, taken, dtype=first.dtype)
    if (number_of_nan := nan[0]) is not None:
        mark = jnp.where(without_fusion(lambda: has_arm(jnp.equal(level, number_of_nan)), level), none, mark)
    counts = jnp.where(has_arm(candidates), counts, 0)

    def pick(number: Array, level: Array) -> Array:
        found = top_number(lambda: (level, *later), jnp.ones(level.shape, bool), level)
        arm = lax.broadcasted_iota(jnp.int32, level.shape, 0)
        return jnp.where((arm == found) & (number < counts), mark, level)  # it is not found again

    selected = lax.fori_loop(0, most, pick, level) == taken
    for key, number in zip(later, nan[1:], strict=True):
        selected = selected if number is None else selected & jnp.not_equal(key, number)
    return selected


def _levels(key: SelectionKey) -> tuple[Array, int | None]:
    """The sortable integers of a key, and the one that stands for NaN; None in a key of integers."""
    if isinstance(key, FloatKey):
        return key.integers, jnp.iinfo(key.integers.dtype).max
    return (key, None) if jnp.issubdtype(key.dtype, jnp.integer) else _levels(float_key(key))


def _plain(keys: Sequence[SelectionKey]) -> Keys:
    return tuple(key.floats if isinstance(key, FloatKey) else key for key in keys)


def deficit_key(behind: Array, quota: Quota, counts: Array) -> Array:
    """A key that puts arms which are behind first, by their deficits tau s - N, compared exactly; -1 for other arms.

    Args:
        behind: arms with N < tau s, bool `[K, *runs]`.
        quota: tau s.
        counts: N, int32 `[K, *runs]`.
    """
    # Whole rounds decide, then the exact order of the fractional parts: both in one word (2^31 / K rounds fill it).
    arms = len(counts)
    rounds = jnp.minimum(quota.floor - counts, (1 << 31) // arms - 1)
    return jnp.where(behind, rounds * arms + quota.fraction_rank, -1)
