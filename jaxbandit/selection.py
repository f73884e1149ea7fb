"""Choosing arms: masks over the arm axis, ties to the lowest arm."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array, lax

from .exact import Quota


def lowest(mask: Array) -> Array:
    """The lowest arm of a mask, as a mask `[K, *runs]`; no arm where the mask is empty."""
    arms = mask.shape[0]
    arm = lax.broadcasted_iota(jnp.int32, mask.shape, 0)
    return arm == jnp.min(jnp.where(mask, arm, arms), axis=0, keepdims=True)


def best(score: Array, candidates: Array) -> Array:
    """The candidate of the highest score, as a mask `[K, *runs]`; no arm where there is no candidate."""
    masked = jnp.where(candidates, score, -jnp.inf)
    return lowest(candidates & (masked == jnp.max(masked, axis=0, keepdims=True)))


def most_behind(quota: Quota, counts: Array, candidates: Array) -> Array:
    """The candidate of the largest deficit tau s - N, compared exactly, as a mask `[K, *runs]`.

    Whole rounds decide, then the exact order of the fractional parts, then the lower arm.
    """
    least = jnp.iinfo(jnp.int32).min
    whole = jnp.where(candidates, quota.whole - counts, least)
    behind = candidates & (whole == jnp.max(whole, axis=0, keepdims=True))
    rank = jnp.where(behind, quota.rank, -1)
    return lowest(behind & (rank == jnp.max(rank, axis=0, keepdims=True)))


def choose(plays: int, pick: Callable[[Array], Array], available: Array) -> Array:
    """`plays` distinct arms, one `pick(candidates)` after the other, as a mask `[K, *runs]`.

    Where fewer arms are available, all of them.
    """
    if plays == 1:
        return pick(available)
    nothing = jnp.zeros(available.shape, bool)
    return lax.fori_loop(0, plays, lambda _, taken: taken | pick(available & ~taken), nothing)


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
    below = jnp.cumsum(weights, axis=0)
    mass = below[-1:]
    # `below >= mass` closes the last interval, should uniform * mass round up to mass.
    return lowest((weights > 0) & ((below > uniform * mass) | (below >= mass)))
