"""Choosing arms: masks over the arm axis. Arms are ordered by keys, the first key deciding, ties to the lowest arm."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.rationals import Quota
from jaxbandit.core.xla.fusion import without_fusion
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.bitmask import BITS, word_of

Tree = TypeVar("Tree")
Keys = tuple[Array, ...]

UNROLLED = 64  # arms up to which what is done arm by arm is written out; it takes longer to compile (measured)
# Plays up to which one pass a play is faster than a search over all plays at once, among at most `UNROLLED` arms (of as
# many as fit a word looking at the selected arms alone pays, too) and among more; measured on CPU
_FEW, _FEW_OF_MANY = 16, 6


def sortable(value: Array) -> Array:
    """Integers in the order of `value`, of its width: equal where it is equal, and that of infinity for NaN."""
    if not jnp.issubdtype(value.dtype, jnp.floating):
        return value
    word = jnp.int32 if value.dtype == jnp.float32 else jnp.int64
    value = jnp.where(jnp.isnan(value), jnp.inf, jnp.where(value == 0, 0.0, value))  # one zero
    bits = lax.bitcast_convert_type(value, word)
    return jnp.where(bits < 0, bits ^ jnp.iinfo(word).max, bits)


def first_arm(keys: Keys, candidates: Array) -> Array:
    """The candidate that comes first, as a mask `[K, *runs]`; no arm where there is no candidate.

    Args:
        keys: `[K, *runs]` each, larger first, the first key deciding; integers above the least of their type, or, of
            at most `UNROLLED` arms, floats.
        candidates: bool `[K, *runs]`.
    """
    if len(candidates) > UNROLLED:
        found = _reduced(keys, candidates)
    else:
        found = without_fusion(lambda: _chained(keys, candidates), keys[0])
    return _mask(found, candidates)


def _mask(found: Array, candidates: Array) -> Array:
    return (lax.broadcasted_iota(jnp.int32, candidates.shape, 0) == found) & candidates


# The first arm, int32 `[1, *runs]`. Each way carries the arm along: comparing keys with their maximum would be wrong,
# for a compiler may compute a score twice, once with a fused multiply-add, and then no arm equals the maximum.


def _sooner(a: Keys, b: Keys, ties: Array) -> Array:
    """Whether the keys `a` come before the keys `b`, or are equal and `ties` holds."""
    for x, y in zip(reversed(a), reversed(b), strict=True):
        ties = (x > y) | ((x == y) & ties)
    return ties


def _reduced(keys: Keys, candidates: Array) -> Array:
    """By one reduction of keys and arm."""
    arm = lax.broadcasted_iota(jnp.int32, candidates.shape, 0)
    least = [jnp.asarray(jnp.iinfo(key.dtype).min, key.dtype) for key in keys]
    masked = [jnp.where(candidates, key, low) for key, low in zip(keys, least, strict=True)]

    def sooner(a: Any, b: Any) -> list[Array]:
        wins = _sooner(a[:-1], b[:-1], a[-1] < b[-1])
        return [jnp.where(wins, x, y) for x, y in zip(a, b, strict=True)]

    last = jnp.asarray(len(candidates), jnp.int32)
    return lax.reduce([*masked, arm], [*least, last], sooner, (0,))[-1][None]


def _chained(keys: Keys, candidates: Array) -> Array:
    """Arm after arm, vectorised over runs; K, which is no arm, where a key that decides is not a number."""
    keys = tuple(jnp.broadcast_to(key, candidates.shape) for key in keys)
    rows = [_held(tuple(key[k : k + 1] for key in keys), candidates[k : k + 1]) for k in range(len(candidates))]
    while len(rows[0][0]) > 1 and jnp.issubdtype(rows[0][0][0].dtype, jnp.integer):
        most = functools.reduce(jnp.maximum, (held[0] for held, _ in rows))  # a whole number equals its maximum
        rows = [_held(held[1:], held[0] == most) for held, _ in rows]
    best_arm, bad = rows[0]
    found = jnp.zeros(bad.shape, jnp.int32)
    for k, (own, wrong) in enumerate(rows[1:], start=1):
        wins, bad = _sooner(own, best_arm, jnp.zeros(bad.shape, bool)), bad | wrong
        best_arm = tuple(jnp.where(wins, x, y) for x, y in zip(own, best_arm, strict=True))
        found = jnp.where(wins, k, found)
    return jnp.where(bad, len(candidates), found)


def _held(keys: Keys, candidate: Array) -> tuple[Keys, Array]:
    """An arm's keys, below all candidates' where it is none, and whether one is not a number; rows `[1, *runs]`."""
    held, wrong = [], jnp.zeros(candidate.shape, bool)
    for key in keys:
        if jnp.issubdtype(key.dtype, jnp.integer):
            held.append(jnp.where(candidate, key, jnp.iinfo(key.dtype).min))
        else:
            wrong |= candidate & jnp.isnan(key)
            held.append(jnp.where(candidate, jnp.maximum(key, jnp.finfo(key.dtype).min), -jnp.inf))
    return tuple(held), wrong


def top_within_budget(keys: Keys, room: Array, budget: Array, most: int, candidates: Array) -> tuple[Array, Array]:
    """The candidates that come first and whose rooms together stay within a budget.

    Args:
        keys: as for `first_arm`.
        room: what each arm takes, float or int32 `[K or 1, *runs]`, >= 0.
        budget: of the same type, `[1, *runs]`.
        most: a bound on how many candidates of positive room can fit.
        candidates: bool `[K, *runs]`.

    Returns:
        The mask `[K, *runs]`, and what is left of the budget, `[1, *runs]`. Candidates end at the first that does
        not fit.
    """
    few = most <= (_FEW if len(candidates) <= UNROLLED else _FEW_OF_MANY)
    return (_one_by_one if few else _searched)(keys, room, budget, most, candidates)


def _one_by_one(keys: Keys, room: Array, budget: Array, most: int, candidates: Array) -> tuple[Array, Array]:
    def take(_: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        taken, left, open_ = carry
        one = first_arm(keys, candidates & ~taken)
        size = jnp.sum(jnp.where(one, room, 0), axis=0, keepdims=True, dtype=room.dtype)
        fits = open_ & (size <= left)
        return taken | (one & fits), jnp.where(fits, left - size, left), fits

    nothing = jnp.zeros(candidates.shape, bool)
    left = jnp.broadcast_to(budget, (1, *candidates.shape[1:]))
    taken, left, _ = lax.fori_loop(0, most, take, (nothing, left, jnp.ones(left.shape, bool)))
    return taken, left


def _searched(keys: Keys, room: Array, budget: Array, most: int, candidates: Array) -> tuple[Array, Array]:
    """Key by key, a binary search for the value at which the budget runs out; its ties go on to the next key."""
    arm = lax.broadcasted_iota(jnp.int32, candidates.shape, 0)
    taken, tied = jnp.zeros(candidates.shape, bool), candidates
    left = jnp.broadcast_to(budget, (1, *candidates.shape[1:]))
    for key in (*keys, -arm):
        above, tied, left = _split(key, room, left, tied)
        taken |= above
    return taken, left


def _split(key: Array, room: Array, left: Array, tied: Array) -> tuple[Array, Array, Array]:
    """Of the arms `tied`: those above the key value at which the budget runs out, those at it, and what is left."""
    limits = jnp.iinfo(key.dtype)

    def size(mask: Array) -> Array:
        return jnp.sum(jnp.where(mask, room, 0), axis=0, keepdims=True, dtype=room.dtype)

    # The value sought is the largest v with more than the budget at v and above, or one below all keys.
    high = jnp.max(jnp.where(tied, key, limits.min + 1), axis=0, keepdims=True)
    low = jnp.minimum(jnp.min(jnp.where(tied, key, limits.max), axis=0, keepdims=True) - 1, high)

    def halve(low: Array, high: Array, *_: Array) -> tuple[Array, ...]:
        middle = (low | high) - ((low ^ high) >> 1)  # rounded up, and no overflow
        spent = size(tied & (key >= middle))
        exact = (spent == left) & (low < high)  # the arms from here on are those
        more = spent > left
        low, high = jnp.where(more, middle, low), jnp.where(more, high, middle - 1)
        return jnp.where(exact, middle - 1, low), jnp.where(exact, middle - 1, high)

    def go_on(carry: Any) -> Array:
        return ~carry[-1]

    def step(carry: Any) -> Any:
        low, high, above, at, rest, _ = carry

        def narrow() -> tuple[Array, ...]:
            return (*halve(low, high), above, at, rest, jnp.asarray(False))

        def settle() -> tuple[Array, ...]:  # in the loop, where the keys are those that were searched, bit for bit
            above = tied & (key > low)
            return low, high, above, tied & (key == low), left - size(above), jnp.asarray(True)

        return lax.cond(jnp.any(low < high), narrow, settle)

    start = (low, high, jnp.zeros_like(tied), jnp.zeros_like(tied), left, jnp.asarray(False))
    _, _, above, at, left, _ = lax.while_loop(go_on, step, start)
    return above, at, left


def top_available(keys: Callable[[], Keys], now: RoundView) -> Array:
    """The L available arms of highest keys, as a mask `[K, *runs]`.

    Args:
        keys: a function that gives the keys of `top_arms`: with one play they are computed where they are compared.
        now: the round.
    """
    if now.plays > 1 or len(now.pulls) > UNROLLED:
        return top_arms(keys(), now.plays, now.plays, now.available)
    return _mask(without_fusion(lambda: _chained(keys(), now.available), now.t), now.available)


def top_arms(keys: Keys, count: Any, most: int, candidates: Array) -> Array:
    """The `count` candidates of highest keys, as a mask `[K, *runs]`; all of them where they are fewer.

    Args:
        keys: floats or integers `[K, *runs]`, the first deciding, later ones its ties. An arm with a key that is not
            a number, where it decides, takes a place and is left out, so that the run ends with an error.
        count: a number, or integers `[1, *runs]`.
        most: the largest count, a number.
        candidates: bool `[K, *runs]`.
    """
    single = most == 1 and isinstance(count, int)
    if single and len(candidates) <= UNROLLED:
        return first_arm(keys, candidates)
    places = tuple(sortable(key) for key in keys)
    if single:
        taken = first_arm(places, candidates)
    else:
        one = jnp.ones((1,) * candidates.ndim, jnp.int32)
        taken, _ = top_within_budget(places, one, one * count, most, candidates)
    for key in keys:
        if jnp.issubdtype(key.dtype, jnp.floating):
            taken &= ~jnp.isnan(key)
    return taken


def raise_in_order(score: Array, floor: Array, ceiling: Array, budget: Array, most: int) -> Array:
    """Amounts that start at a floor and are raised to a ceiling in order of the score, while a budget lasts.

    So sum_k amount_k score_k is the largest that floors, ceilings and the budget allow (Dantzig 1957).

    Args:
        score, floor, ceiling: float `[K, *runs]`.
        budget: what the amounts are to sum to, float `[1, *runs]`.
        most: a bound on how many arms can reach their ceiling.

    Returns:
        Float `[K, *runs]`.
    """
    keys, room = (sortable(score),), ceiling - floor
    left = budget - jnp.sum(floor, axis=0, keepdims=True)
    full, left = top_within_budget(keys, room, left, most, room > 0)
    partly = first_arm(keys, (room > 0) & ~full)
    return jnp.where(full, ceiling, floor + jnp.where(partly, jnp.clip(left, 0.0, room), 0.0))


def best_arm(score: Array, candidates: Array) -> Array:
    """The candidate of the highest score, as a mask `[K, *runs]`.

    No arm where there is no candidate, or where a candidate's score is not a number.
    """
    return top_arms((score,), 1, 1, candidates)


def behind_first(late: Array, quota: Quota, counts: Array, index: Array) -> Keys:
    """Keys that put late arms first, by their deficit tau s - N, compared exactly, and the others by their index.

    Args:
        late: bool `[K, *runs]`, arms with N < tau s.
        quota: tau s.
        counts: N, int32 `[K, *runs]`.
        index: float `[K, *runs]`.
    """
    # Whole rounds decide, then the exact order of the fractional parts: both in a word (2^31 / K rounds fill it).
    arms = len(counts)
    whole = jnp.minimum(quota.floor - counts, (1 << 31) // arms - 1)
    return jnp.where(late, whole * arms + quota.fraction_rank, -1), jnp.where(late, 0.0, index)


def lowest_arm(mask: Array) -> Array:
    """The lowest arm of a mask, as a mask `[K, *runs]`; no arm where the mask is empty."""
    return first_arm((mask.astype(jnp.int32),), mask)


def arm_index(mask: Array) -> Array:
    """The one arm of a mask `[K, *runs]`, int32 `[1, *runs]`; K where it is empty."""
    arms = len(mask)
    if arms <= UNROLLED:
        numbers = (jnp.where(mask[k : k + 1], np.int32(k), np.int32(arms)) for k in range(arms))
        return functools.reduce(jnp.minimum, numbers)
    return jnp.min(jnp.where(mask, lax.broadcasted_iota(jnp.int32, mask.shape, 0), arms), axis=0, keepdims=True)


def can_list(arms: int, plays: int) -> bool:
    """Whether `arm_indices` can find the selected arms, and they are few."""
    return plays < arms <= BITS and plays <= _FEW


def arm_indices(selected: Array, plays: int) -> Array:
    """The selected arms in order, int32 `[plays, *runs]`; K where fewer are selected. For at most 32 arms."""
    word = word_of([selected[k : k + 1] for k in range(len(selected))])
    found = []
    for _ in range(plays):
        found.append(lax.population_count(~word & (word - jnp.uint32(1))))  # how many bits stand below the lowest
        word = word & (word - jnp.uint32(1))
    return jnp.minimum(jnp.concatenate(found), jnp.uint32(len(selected))).astype(jnp.int32)


def at_arms(tree: Tree, arm: Array, arms: int) -> Tree:
    """What a tree holds of listed arms: arrays `[K, *runs]` become `[n, *runs]`, others stay; 0 for an arm K.

    Args:
        tree: any.
        arm: int32 `[n, *runs]`.
        arms: K.
    """
    leaves, structure = jax.tree.flatten(tree)
    per_arm = [leaf.ndim == arm.ndim and len(leaf) == arms for leaf in leaves]
    if arms <= UNROLLED:  # elementwise: vectorised over runs, and nothing is computed that is not used

        def pick(leaf: Array) -> Array:
            rows = (jnp.where(arm == k, leaf[k : k + 1], 0) for k in range(arms))
            return functools.reduce(jnp.add, rows)

        picked = [pick(leaf) if its else leaf for leaf, its in zip(leaves, per_arm, strict=True)]
        return jax.tree.unflatten(structure, picked)
    selected = lax.broadcasted_iota(jnp.int32, (arms, *arm.shape), 0) == arm[None]
    masked = [jnp.where(selected, leaf[:, None], 0) for leaf, its in zip(leaves, per_arm, strict=True) if its]
    # One reduction of all: XLA computes the mask anew for each of several, at twice the time of a whole round.
    zeros = [jnp.zeros((), leaf.dtype) for leaf in masked]
    sums = iter(lax.reduce(masked, zeros, lambda x, y: [a + b for a, b in zip(x, y, strict=True)], (0,)))
    picked = [next(sums) if its else leaf for leaf, its in zip(leaves, per_arm, strict=True)]
    return jax.tree.unflatten(structure, picked)


def sample(weights: Array, uniform: Array, candidates: Array) -> Array:
    """One candidate with probability proportional to its weight, as a mask `[K, *runs]`.

    Args:
        weights: >= 0, float `[K, *runs]`; where the candidates' weights are all 0, they count as equal.
        uniform: in [0, 1), `[1, *runs]`.
        candidates: bool `[K, *runs]`.
    """
    weights = jnp.where(candidates, weights, 0.0)
    alike = candidates.astype(weights.dtype)
    weights = jnp.where(jnp.any(weights > 0, axis=0, keepdims=True), weights, alike)
    if len(weights) <= UNROLLED:
        return _mask(without_fusion(lambda: _drawn(weights, uniform), weights), candidates)
    below = jnp.cumsum(weights, axis=0)
    arm = lax.broadcasted_iota(jnp.int32, weights.shape, 0)
    last = arm == jnp.max(jnp.where(weights > 0, arm, -1), axis=0, keepdims=True)
    # The last candidate closes the last interval, should uniform * mass round up to mass.
    return lowest_arm((weights > 0) & ((below > uniform * below[-1:]) | last))


def _drawn(weights: Array, uniform: Array) -> Array:
    """The arm whose interval of the sums of weights holds uniform * mass, int32 `[1, *runs]`, arm after arm."""
    rows = [weights[k : k + 1] for k in range(len(weights))]
    below = list(itertools.accumulate(rows))
    point = uniform * below[-1]
    found = jnp.full(point.shape, -1, jnp.int32)
    for k, row in enumerate(rows):  # the last candidate, should uniform * mass round up to mass
        found = jnp.where(row > 0, k, found)
    for k in reversed(range(len(rows))):
        found = jnp.where((rows[k] > 0) & (below[k] > point), k, found)
    return found
