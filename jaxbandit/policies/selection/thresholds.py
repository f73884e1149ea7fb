"""The arms of highest keys where many are selected: a search for the key of the last one, for all runs at once.

Each step of the search halves an interval of keys by one pass over all arms. The search ends when every run has a
threshold above which as many arms lie as are to be selected, or a threshold at which several arms are equal. Only then
are later keys computed and searched.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.xla.fusion import cond_fused, on_cpu, without_fusion
from jaxbandit.core.xla.reductions import folded
from jaxbandit.policies.selection.top_arm import Keys


def sortable_integers(value: Array) -> Array:
    """Integers of the width of `value` in the order of `value`; that of NaN is the largest of the type.

    Integers stay as they are.
    """
    if not jnp.issubdtype(value.dtype, jnp.floating):
        return value
    word = jnp.int32 if value.dtype == jnp.float32 else jnp.int64
    most = jnp.iinfo(word).max
    bits = lax.bitcast_convert_type(jnp.where(value == 0, 0.0, value), word)  # 0 for -0, too
    return jnp.where(jnp.isnan(value), most, jnp.where(bits < 0, bits ^ most, bits))


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

    Or another number above which all levels cost exactly `budget`.
    """
    high = jnp.max(level, axis=0, keepdims=True)
    low = jnp.min(jnp.where(level == jnp.iinfo(level.dtype).min, high, level), axis=0, keepdims=True)
    spent = _spent_above(level, cost, low)
    all_fit, nothing = spent <= budget, jnp.zeros_like(spent)
    high, low = jnp.where(all_fit, low, high), jnp.where((budget == 0) & ~all_fit, high, low)

    Carry = tuple[Array, Array, Array]

    def unsettled(carry: Carry) -> Array:
        low, high, _ = carry
        return jnp.any(low < high)

    def halve(carry: Carry) -> Carry:
        low, high, spent = carry
        middle = (low & high) + ((low ^ high) >> 1)  # rounded down, without overflow
        more = _spent_above(level, cost, middle)
        fits = more <= budget
        low = jnp.where(fits, low, jnp.minimum(middle + 1, high))
        high, spent = jnp.where(fits, middle, high), jnp.where(fits, more, spent)
        return jnp.where(spent == budget, high, low), high, spent

    _, threshold, spent = lax.while_loop(unsettled, halve, (low, high, jnp.where(all_fit, spent, nothing)))
    return threshold, spent


def _spent_above(level: Array, cost: Array | None, bound: Array) -> Array:
    """What the levels above a bound cost, `[1, *runs]`; int32 where each costs 1."""
    dtype = jnp.int32 if cost is None else cost.dtype
    if not on_cpu():
        each = jnp.asarray(1, dtype) if cost is None else cost
        return jnp.sum(jnp.where(level > bound, each, 0), axis=0, keepdims=True, dtype=dtype)

    def more(spent: tuple[Array, ...], rows: tuple[Array, ...]) -> tuple[Array]:
        above = rows[0] > bound[0]
        return (spent[0] + (above.astype(dtype) if cost is None else jnp.where(above, rows[1], 0)),)

    rows = (level,) if cost is None else (level, cost)
    return folded(rows, (jnp.zeros(bound.shape[1:], dtype),), more)[0][None]
