"""The arms of highest keys where many are selected: a search for the key of the last one, for all runs at once.

Each step of the search narrows an interval of keys by one pass over all arms: by interpolation, and every third step by
half. The search ends when every run has a threshold above which as many arms lie as are to be selected, or a threshold
at which several arms are equal. Only then are later keys computed and searched.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.xla.fusion import cond_fused, on_cpu, without_fusion
from jaxbandit.core.xla.reductions import folded
from jaxbandit.policies.selection.sortable_integers import sortable_integers
from jaxbandit.policies.selection.top_arm import Keys


def highest(keys: Keys, count: Array, candidates: Array) -> Array:
    """The `count` candidates of highest keys, as a mask, bool `[K, *runs]`; all candidates where they are fewer.

    Args:
        keys: floats, or integers above the least of their type, `[K, *runs]` each. An arm whose deciding key is NaN
            comes first, but is not selected.
        count: int32 `[1, *runs]`.
        candidates: bool `[K, *runs]`.
    """
    return within_budget(keys, None, count, candidates)[0]


def within_budget(keys: Keys, cost: Array | None, budget: Array, candidates: Array) -> tuple[Array, Array]:
    """The candidates of highest keys whose costs together stay within a budget.

    Candidates are taken in order up to the first one whose cost exceeds what is left.

    Args:
        keys: as for `highest`.
        cost: float `[K, *runs]`, >= 0; None where each candidate costs 1.
        budget: `[1, *runs]`, float, or int32 where `cost` is None.
        candidates: bool `[K, *runs]`.

    Returns:
        The mask, bool `[K, *runs]`, and what is left of the budget, `[1, *runs]`.
    """
    if not keys:  # the lowest arms first
        spent = jnp.cumsum(jnp.where(candidates, 1 if cost is None else cost, 0), axis=0, dtype=budget.dtype)
        taken = candidates & (spent <= budget)
        return taken, budget - jnp.max(jnp.where(taken, spent, 0), axis=0, keepdims=True)
    key, *later = keys
    least = jnp.iinfo(sortable_integers(key).dtype).min
    # In memory: all passes read the same bits, and compute nothing anew.
    level = without_fusion(lambda: jnp.where(candidates, sortable_integers(key), least), candidates)
    threshold, spent = _threshold(level, cost, budget)
    above, left = level > threshold, budget - spent

    def at_threshold() -> tuple[Array, Array]:
        return within_budget(tuple(later), cost, left, candidates & (level == threshold))

    found, left = cond_fused(jnp.any(left > 0), at_threshold, lambda: (jnp.zeros(above.shape, bool), left))
    taken = above | found
    return (taken & (level < jnp.iinfo(level.dtype).max) if jnp.issubdtype(key.dtype, jnp.floating) else taken), left


def _threshold(level: Array, cost: Array | None, budget: Array) -> tuple[Array, Array]:
    """The least level above which all levels cost at most `budget`, and what those above it cost, `[1, *runs]` each.

    Or another level above which all levels cost exactly `budget`.
    """
    high = jnp.max(level, axis=0, keepdims=True)
    low = jnp.min(jnp.where(level == jnp.iinfo(level.dtype).min, high, level), axis=0, keepdims=True)
    spent, _, _ = _around(level, cost, low)
    fits, nothing = spent <= budget, jnp.zeros_like(spent)
    high, spent_high = jnp.where(fits, low, high), jnp.where(fits, spent, nothing)
    low = jnp.where(spent_high == budget, high, low)

    Carry = tuple[Array, Array, Array, Array, Array]

    def unsettled(carry: Carry) -> Array:
        _, low, high, _, _ = carry
        return jnp.any(low < high)

    def narrow(carry: Carry) -> Carry:
        step, low, high, spent_low, spent_high = carry
        middle = jnp.where(
            step % 3 == 2, _middle(low, high), _interpolated(low, high, spent_low, spent_high, budget)
        )  # of three steps one halves: costs above a level need not be near a straight line
        spent, below, above = _around(level, cost, middle)
        fits = spent <= budget
        # Between two neighbouring levels all bounds are equal: the interval ends at levels that there are.
        low, high = jnp.where(fits, low, jnp.minimum(above, high)), jnp.where(fits, jnp.maximum(below, low), high)
        spent_low, spent_high = jnp.where(fits, spent_low, spent), jnp.where(fits, spent, spent_high)
        return step + 1, jnp.where(spent_high == budget, high, low), high, spent_low, spent_high

    carry = lax.while_loop(unsettled, narrow, (jnp.int32(0), low, high, spent, spent_high))
    return carry[2], carry[4]


def _middle(low: Array, high: Array) -> Array:
    """Half way between two integers, rounded down, without overflow."""
    return (low & high) + ((low ^ high) >> 1)


def _interpolated(low: Array, high: Array, spent_low: Array, spent_high: Array, budget: Array) -> Array:
    """The bound, `low` or more and below `high`, at which the budget is spent if costs are linear in between."""
    real, word = jnp.result_type(float), jnp.dtype(f"u{low.dtype}")
    half = 0.5 if jnp.issubdtype(budget.dtype, jnp.integer) else 0.0  # between two numbers of arms
    share = ((spent_low - budget).astype(real) - half) / jnp.maximum((spent_low - spent_high).astype(real), 1e-6)
    width = (high - low).astype(word)  # of the whole range of the type, too: modulo 2^32 or 2^64
    step = (jnp.clip(share, 0.0, 0.999) * width.astype(real)).astype(word)
    return low + jnp.minimum(step, jnp.maximum(width, 1) - 1).astype(low.dtype)


def _around(level: Array, cost: Array | None, bound: Array) -> tuple[Array, Array, Array]:
    """What the levels above a bound cost, the highest level up to it, and the lowest above it, `[1, *runs]` each.

    A cost is a float, or int32 where each level costs 1. Where no level is on one side, the least or the largest number
    of the type stands for it.
    """
    dtype, limits = jnp.int32 if cost is None else cost.dtype, jnp.iinfo(level.dtype)

    def each(level: Array, cost: Array | None, bound: Array) -> tuple[Array, Array, Array]:
        above = level > bound
        spent = above.astype(dtype) if cost is None else jnp.where(above, cost, 0)
        return spent, jnp.where(above, limits.min, level), jnp.where(above, level, limits.max)

    if not on_cpu():
        spent, below, above = each(level, cost, bound)
        return (
            jnp.sum(spent, axis=0, keepdims=True, dtype=dtype),
            jnp.max(below, axis=0, keepdims=True),
            jnp.min(above, axis=0, keepdims=True),
        )

    def more(found: tuple[Array, ...], rows: tuple[Array, ...]) -> tuple[Array, ...]:
        spent, below, above = each(rows[0], None if cost is None else rows[1], bound[0])
        return found[0] + spent, jnp.maximum(found[1], below), jnp.minimum(found[2], above)

    runs, rows = bound.shape[1:], (level,) if cost is None else (level, cost)
    start = jnp.zeros(runs, dtype), jnp.full(runs, limits.min, level.dtype), jnp.full(runs, limits.max, level.dtype)
    spent, below, above = folded(rows, start, more)
    return spent[None], below[None], above[None]
