"""Choosing arms: masks over the arm axis, ties to the lowest arm."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

from .exact import Quota

Tree = TypeVar("Tree")


def lowest(mask: Array) -> Array:
    """The lowest arm of a mask, as a mask `[K, *runs]`; no arm where the mask is empty."""
    arms = mask.shape[0]
    arm = lax.broadcasted_iota(jnp.int32, mask.shape, 0)
    return arm == jnp.min(jnp.where(mask, arm, arms), axis=0, keepdims=True)


def best(score: Array, candidates: Array) -> Array:
    """The candidate of the highest score, as a mask `[K, *runs]`.

    No arm where there is no candidate, or where a candidate's score is not a number.
    """
    # One reduction that carries the arm along. Comparing scores with their maximum would be wrong: a compiler may
    # compute a score twice, once with a fused multiply-add, and then no arm equals the maximum.
    score = jnp.where(candidates, score, -jnp.inf)
    arm = lax.expand_dims(lax.argmax(score, 0, jnp.int32), (0,))
    return (lax.broadcasted_iota(jnp.int32, score.shape, 0) == arm) & candidates & ~jnp.isnan(score)


def most_behind(quota: Quota, counts: Array, candidates: Array) -> Array:
    """The candidate of the largest deficit tau s - N, compared exactly, as a mask `[K, *runs]`.

    Whole rounds decide, then the exact order of the fractional parts, then the lower arm.
    """
    least = jnp.iinfo(jnp.int32).min
    whole = jnp.where(candidates, quota.whole - counts, least)
    behind = candidates & (whole == jnp.max(whole, axis=0, keepdims=True))
    rank = jnp.where(behind, quota.rank, -1)
    return lowest(behind & (rank == jnp.max(rank, axis=0, keepdims=True)))


def of_selected(tree: Tree, selected: Array) -> Tree:
    """What a tree holds of the one selected arm: arrays `[K, *runs]` become `[1, *runs]`, others stay.

    Zeros where no arm is selected.
    """
    leaves, structure = jax.tree.flatten(tree)
    per_arm = [leaf.ndim == selected.ndim and len(leaf) == len(selected) for leaf in leaves]
    masked = [jnp.where(selected, leaf, 0) for leaf, its in zip(leaves, per_arm, strict=True) if its]
    # One reduction of all: XLA computes the mask anew for each of several, at twice the time of a whole round.
    zeros = [jnp.zeros((), leaf.dtype) for leaf in masked]
    sums = iter(lax.reduce(masked, zeros, lambda x, y: [a + b for a, b in zip(x, y, strict=True)], (0,)))
    picked = [next(sums)[None] if its else leaf for leaf, its in zip(leaves, per_arm, strict=True)]
    return jax.tree.unflatten(structure, picked)


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
    arm = lax.broadcasted_iota(jnp.int32, weights.shape, 0)
    last = arm == jnp.max(jnp.where(weights > 0, arm, -1), axis=0, keepdims=True)
    # The last candidate closes the last interval, should uniform * mass round up to mass.
    return lowest((weights > 0) & ((below > uniform * below[-1:]) | last))
