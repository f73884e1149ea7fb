"""The arms of highest keys, as masks over the arm axis.

A key is a number per arm. Keys order arms lexicographically: larger first, the first key deciding, later keys deciding
its ties, and the lowest arm first where all keys are equal. Where ties are broken at random, the last key is the tie
breaker of the round, `RoundView.tie_breaker`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Protocol

import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.rationals import Quota
from jaxbandit.core.xla.fusion import without_fusion

Keys = tuple[Array, ...]


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


# Arms up to which computations are written out arm by arm; for more, compiling takes longer (measured)
MAX_UNROLLED_ARMS = 64
# Arms up to which picking one arm after the other is faster than a search for all at once, for problems of at most
# `MAX_UNROLLED_ARMS` arms and of more (measured on CPU)
MAX_PICKED, MAX_PICKED_OF_MANY = 16, 6


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
    if now.plays > 1 or len(now.pulls) > MAX_UNROLLED_ARMS:
        return top_arms(keys(), now.plays, now.plays, now.available, tie_breaker)
    return one_hot(
        without_fusion(lambda: _top_unrolled(_with_ties(keys(), tie_breaker), now.available), now.t), now.available
    )


def _with_ties(keys: Keys, tie_breaker: Array | None) -> Keys:
    return keys if tie_breaker is None else (*keys, tie_breaker)


def top_arms(
    keys: Keys, count: Array | int, max_count: int, candidates: Array, tie_breaker: Array | None = None
) -> Array:
    """The `count` candidates of highest keys, as a mask, bool `[K, *runs]`; all candidates where they are fewer.

    Args:
        keys: floats or integers `[K, *runs]`. An arm whose deciding key is NaN uses up a place but is not selected: the
            engine notices the missing play and ends the simulation with an error.
        count: int, or int32 `[1, *runs]`.
        max_count: the largest count, int.
        candidates: bool `[K, *runs]`.
        tie_breaker: the last key, int32 `[K, *runs]`; without it, ties go to the lowest arm.
    """
    keys = _with_ties(keys, tie_breaker)
    single = max_count == 1 and isinstance(count, int)
    if single and len(candidates) <= MAX_UNROLLED_ARMS:
        return top_arm(keys, candidates)
    places = tuple(sortable_integers(key) for key in keys)
    if single:
        selected = top_arm(places, candidates)
    else:
        one = jnp.ones((1,) * candidates.ndim, jnp.int32)
        selected, _ = top_within_budget(places, one, one * count, max_count, candidates)
    for key in keys:
        if jnp.issubdtype(key.dtype, jnp.floating):
            selected &= ~jnp.isnan(key)
    return selected


def lowest_arm(mask: Array) -> Array:
    """The arm of lowest number in a mask, as a mask, bool `[K, *runs]`; no arm where the mask is empty."""
    return top_arm((mask.astype(jnp.int32),), mask)


def top_arm(keys: Keys, candidates: Array) -> Array:
    """The candidate of highest keys, as a mask, bool `[K, *runs]`; no arm where there is no candidate.

    Args:
        keys: `[K, *runs]` each; integers above the least of their type, or, for at most `MAX_UNROLLED_ARMS` arms,
            floats.
        candidates: bool `[K, *runs]`.
    """
    if len(candidates) > MAX_UNROLLED_ARMS:
        found = _top_by_reduction(keys, candidates)
    else:
        found = without_fusion(lambda: _top_unrolled(keys, candidates), keys[0])
    return one_hot(found, candidates)


def one_hot(found: Array, candidates: Array) -> Array:
    """The arm of a number, int32 `[1, *runs]`, as a mask, bool `[K, *runs]`; no arm where it is no candidate."""
    return (lax.broadcasted_iota(jnp.int32, candidates.shape, 0) == found) & candidates


# The number of the top arm, int32 `[1, *runs]`. Both ways carry the number along with the keys. To compare keys with
# their maximum would be wrong: a compiler may compute a score twice, once with a fused multiply-add, and then no arm
# equals the maximum.


def _precede(a: Keys, b: Keys, ties: Array) -> Array:
    """Whether the keys `a` are higher than the keys `b`, or equal to them where `ties` holds."""
    for x, y in zip(reversed(a), reversed(b), strict=True):
        ties = (x > y) | ((x == y) & ties)
    return ties


def _top_by_reduction(keys: Keys, candidates: Array) -> Array:
    """The top arm by one reduction over keys and arm numbers."""
    arm = lax.broadcasted_iota(jnp.int32, candidates.shape, 0)
    least = [jnp.asarray(jnp.iinfo(key.dtype).min, key.dtype) for key in keys]
    masked = [jnp.where(candidates, key, low) for key, low in zip(keys, least, strict=True)]

    def higher(a: Sequence[Array], b: Sequence[Array]) -> list[Array]:
        wins = _precede(tuple(a[:-1]), tuple(b[:-1]), a[-1] < b[-1])
        return [jnp.where(wins, x, y) for x, y in zip(a, b, strict=True)]

    last = jnp.asarray(len(candidates), jnp.int32)
    return lax.reduce([*masked, arm], [*least, last], higher, (0,))[-1][None]


def _top_unrolled(keys: Keys, candidates: Array) -> Array:
    """The top arm by comparing arm after arm, vectorised over runs; K, which is no arm, where a deciding key is NaN."""
    keys = tuple(jnp.broadcast_to(key, candidates.shape) for key in keys)
    rows = [_keys_of_arm(tuple(key[k : k + 1] for key in keys), candidates[k : k + 1]) for k in range(len(candidates))]
    while len(rows[0][0]) > 1 and jnp.issubdtype(rows[0][0][0].dtype, jnp.integer):
        highest = functools.reduce(jnp.maximum, (held[0] for held, _ in rows))  # an integer equals its maximum
        rows = [_keys_of_arm(held[1:], held[0] == highest) for held, _ in rows]
    top_keys, bad = rows[0]
    found = jnp.zeros(bad.shape, jnp.int32)
    for k, (own, own_bad) in enumerate(rows[1:], start=1):
        wins, bad = _precede(own, top_keys, jnp.zeros(bad.shape, bool)), bad | own_bad
        top_keys = tuple(jnp.where(wins, x, y) for x, y in zip(own, top_keys, strict=True))
        found = jnp.where(wins, k, found)
    return jnp.where(bad, len(candidates), found)


def _keys_of_arm(keys: Keys, candidate: Array) -> tuple[Keys, Array]:
    """The keys of one arm, rows `[1, *runs]`, below all others where it is no candidate; and whether one is NaN."""
    held, bad = [], jnp.zeros(candidate.shape, bool)
    for key in keys:
        if jnp.issubdtype(key.dtype, jnp.integer):
            held.append(jnp.where(candidate, key, jnp.iinfo(key.dtype).min))
        else:
            bad |= candidate & jnp.isnan(key)
            held.append(jnp.where(candidate, jnp.maximum(key, jnp.finfo(key.dtype).min), -jnp.inf))
    return tuple(held), bad


def sortable_integers(value: Array) -> Array:
    """Integers of the width of `value` in the order of `value`; NaN becomes what infinity becomes."""
    if not jnp.issubdtype(value.dtype, jnp.floating):
        return value
    word = jnp.int32 if value.dtype == jnp.float32 else jnp.int64
    value = jnp.where(jnp.isnan(value), jnp.inf, jnp.where(value == 0, 0.0, value))  # 0 for -0, too
    bits = lax.bitcast_convert_type(value, word)
    return jnp.where(bits < 0, bits ^ jnp.iinfo(word).max, bits)


def deficit_first_keys(behind: Array, quota: Quota, counts: Array, index: Array) -> Keys:
    """Keys that put arms which are behind first, by their deficits tau s - N, and the other arms after, by their index.

    Deficits are compared exactly.

    Args:
        behind: arms with N < tau s, bool `[K, *runs]`.
        quota: tau s.
        counts: N, int32 `[K, *runs]`.
        index: float `[K, *runs]`.
    """
    # Whole rounds decide, then the exact order of the fractional parts: both in one word (2^31 / K rounds fill it).
    arms = len(counts)
    rounds = jnp.minimum(quota.floor - counts, (1 << 31) // arms - 1)
    return jnp.where(behind, rounds * arms + quota.fraction_rank, -1), jnp.where(behind, 0.0, index)


def fractional_knapsack(
    score: Array, floor: Array, ceiling: Array, budget: Array, max_full: int, tie_breaker: Array | None = None
) -> Array:
    """The amounts x_k that maximise sum_k x_k score_k with floor_k <= x_k <= ceiling_k and sum_k x_k = budget.

    Amounts start at their floors and are raised to their ceilings in order of the score, while the budget lasts
    (Dantzig 1957).

    Args:
        score, floor, ceiling: float `[K, *runs]`.
        budget: float `[1, *runs]`.
        max_full: an upper bound of the number of arms that can reach their ceiling.
        tie_breaker: decides between arms of equal scores, int32 `[K, *runs]`; without it, the lowest arm goes first.

    Returns:
        The amounts, float `[K, *runs]`.
    """
    keys, room = _with_ties((sortable_integers(score),), tie_breaker), ceiling - floor
    left = budget - jnp.sum(floor, axis=0, keepdims=True)
    full, left = top_within_budget(keys, room, left, max_full, room > 0)
    partly = top_arm(keys, (room > 0) & ~full)
    return jnp.where(full, ceiling, floor + jnp.where(partly, jnp.clip(left, 0.0, room), 0.0))


def top_within_budget(keys: Keys, cost: Array, budget: Array, max_count: int, candidates: Array) -> tuple[Array, Array]:
    """The candidates of highest keys whose costs together stay within a budget.

    Candidates are taken in order up to the first one whose cost exceeds what is left.

    Args:
        keys: as for `top_arm`.
        cost: float or int32 `[K or 1, *runs]`, >= 0.
        budget: of the same type, `[1, *runs]`.
        max_count: an upper bound of the number of candidates of positive cost that can fit.
        candidates: bool `[K, *runs]`.

    Returns:
        The mask, bool `[K, *runs]`, and what is left of the budget, `[1, *runs]`.
    """
    few = max_count <= (MAX_PICKED if len(candidates) <= MAX_UNROLLED_ARMS else MAX_PICKED_OF_MANY)
    return (_picked_one_by_one if few else _found_by_search)(keys, cost, budget, max_count, candidates)


def _picked_one_by_one(
    keys: Keys, cost: Array, budget: Array, max_count: int, candidates: Array
) -> tuple[Array, Array]:
    def pick(_: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        taken, left, open_ = carry
        one = top_arm(keys, candidates & ~taken)
        size = jnp.sum(jnp.where(one, cost, 0), axis=0, keepdims=True, dtype=cost.dtype)
        fits = open_ & (size <= left)
        return taken | (one & fits), jnp.where(fits, left - size, left), fits

    nothing = jnp.zeros(candidates.shape, bool)
    left = jnp.broadcast_to(budget, (1, *candidates.shape[1:]))
    taken, left, _ = lax.fori_loop(0, max_count, pick, (nothing, left, jnp.ones(left.shape, bool)))
    return taken, left


def _found_by_search(keys: Keys, cost: Array, budget: Array, max_count: int, candidates: Array) -> tuple[Array, Array]:
    """A binary search, key by key, for the value at which the budget runs out; its ties are left to the next key."""
    arm = lax.broadcasted_iota(jnp.int32, candidates.shape, 0)
    taken, tied = jnp.zeros(candidates.shape, bool), candidates
    left = jnp.broadcast_to(budget, (1, *candidates.shape[1:]))
    for key in (*keys, -arm):
        above, tied, left = _split_at_budget(key, cost, left, tied)
        taken |= above
    return taken, left


def _split_at_budget(key: Array, cost: Array, left: Array, tied: Array) -> tuple[Array, Array, Array]:
    """Split the arms `tied` at the value of the key at which the budget runs out.

    Returns:
        The arms above that value, bool `[K, *runs]`; those at it, bool `[K, *runs]`; what is left, `[1, *runs]`.
    """
    limits = jnp.iinfo(key.dtype)

    def spent_on(mask: Array) -> Array:
        return jnp.sum(jnp.where(mask, cost, 0), axis=0, keepdims=True, dtype=cost.dtype)

    # The value sought is the largest v at and above which arms cost more than the budget, or one below all keys.
    high = jnp.max(jnp.where(tied, key, limits.min + 1), axis=0, keepdims=True)
    low = jnp.minimum(jnp.min(jnp.where(tied, key, limits.max), axis=0, keepdims=True) - 1, high)

    def halve(low: Array, high: Array) -> tuple[Array, Array]:
        middle = (low | high) - ((low ^ high) >> 1)  # rounded up, without overflow
        spent = spent_on(tied & (key >= middle))
        exact = (spent == left) & (low < high)  # the arms at and above `middle` use up the budget
        more = spent > left
        low, high = jnp.where(more, middle, low), jnp.where(more, high, middle - 1)
        return jnp.where(exact, middle - 1, low), jnp.where(exact, middle - 1, high)

    Carry = tuple[Array, Array, Array, Array, Array, Array]

    def unsettled(carry: Carry) -> Array:
        return ~carry[-1]

    def step(carry: Carry) -> Carry:
        low, high, above, at, remainder, _ = carry

        def narrow() -> Carry:
            return (*halve(low, high), above, at, remainder, jnp.asarray(False))

        def settle() -> Carry:  # in the loop, where the keys are bit for bit those that were searched
            above = tied & (key > low)
            return low, high, above, tied & (key == low), left - spent_on(above), jnp.asarray(True)

        return lax.cond(jnp.any(low < high), narrow, settle)

    start = (low, high, jnp.zeros_like(tied), jnp.zeros_like(tied), left, jnp.asarray(False))
    _, _, above, at, left, _ = lax.while_loop(unsettled, step, start)
    return above, at, left
