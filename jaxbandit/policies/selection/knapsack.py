"""Arms of highest scores whose costs fit a budget: the fractional knapsack problem, for all runs at once."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.policies.selection.sortable_integers import sortable_integers
from jaxbandit.policies.selection.thresholds import within_budget
from jaxbandit.policies.selection.top_arm import Keys, max_picked, top_arm


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
    keys: Keys = (sortable_integers(score),)
    room = ceiling - floor
    if tie_breaker is not None:
        keys = (*keys, tie_breaker)
    left = budget - jnp.sum(floor, axis=0, keepdims=True)
    if max_full <= max_picked(len(score)):
        full, left = _picked(keys, room, left, max_full, room > 0)
    else:
        full, left = within_budget(keys, room, left, room > 0)
    partly = top_arm(keys, (room > 0) & ~full)
    return jnp.where(full, ceiling, floor + jnp.where(partly, jnp.clip(left, 0.0, room), 0.0))


def _picked(keys: Keys, cost: Array, budget: Array, max_count: int, candidates: Array) -> tuple[Array, Array]:
    """`within_budget`, one candidate after the other; `max_count` of positive cost can fit at most."""

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
