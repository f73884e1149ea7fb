"""From masks over the arm axis to arm numbers, and values of arms by their numbers."""

from __future__ import annotations

import functools
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.xla.fusion import on_cpu, without_fusion
from jaxbandit.policies.selection.bitmask import (
    MAX_ARMS,
    as_mask,
    as_words,
    lowest_bit,
    lowest_of,
    numbers_as_words,
    pack_bits,
    without,
)
from jaxbandit.policies.selection.top_arm import MAX_UNROLLED_ARMS, max_picked

Tree = TypeVar("Tree")


def arm_index(mask: Array) -> Array:
    """The number of the lowest arm in a mask, int32 `[1, *runs]`; K where the mask is empty."""
    arms = len(mask)
    if arms <= MAX_UNROLLED_ARMS:
        numbers = (jnp.where(mask[k : k + 1], np.int32(k), np.int32(arms)) for k in range(arms))
        return functools.reduce(jnp.minimum, numbers)
    first = lax.argmax(mask.astype(jnp.int8), 0, jnp.int32)[None]
    return jnp.where(jnp.take_along_axis(mask, first, 0), first, arms)


def can_list_arms(arms: int, plays: int) -> bool:
    """Whether `arm_indices` lists few arms. On a GPU all arms must fit one word: several words were not tried there."""
    few = plays < arms if plays <= max_picked(arms) else 8 * plays <= arms  # measured
    return few and (on_cpu() or arms <= MAX_ARMS)


def arm_indices(selected: Array, plays: int) -> Array:
    """The numbers of the selected arms in increasing order, int32 `[plays, *runs]`; K where fewer are selected.

    Args:
        selected: bool `[K, *runs]`.
        plays: L.
    """
    arms = len(selected)
    if arms > MAX_ARMS:
        return _listed(as_words(selected), plays, arms)
    found = []
    word = pack_bits([selected[k : k + 1] for k in range(arms)])
    for _ in range(plays):
        found.append(lowest_bit(word))
        word = word & (word - jnp.uint32(1))
    return jnp.minimum(jnp.concatenate(found), jnp.uint32(arms)).astype(jnp.int32)


def _listed(words: Array, plays: int, arms: int) -> Array:
    """`arm_indices` of a set of several words."""

    def next_arm(n: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        left, found = carry
        arm = without_fusion(lambda: lowest_of(left, arms), left)
        return without(left, arm), lax.dynamic_update_slice_in_dim(found, arm, n, 0)

    none = jnp.full((plays, *words.shape[1:]), arms, jnp.int32)
    return lax.fori_loop(0, plays, next_arm, (words, none))[1]


def arms_as_mask(arm: Array, arms: int) -> Array:
    """The mask of arms of given numbers, bool `[K, *runs]`; the inverse of `arm_indices`.

    Args:
        arm: int32 `[n, *runs]`; K stands for none.
        arms: K.
    """
    if len(arm) == 1:
        return lax.broadcasted_iota(jnp.int32, (arms, *arm.shape[1:]), 0) == arm

    # The words in memory: each arm reads one bit, instead of comparing its number with n others
    return as_mask(without_fusion(lambda: numbers_as_words(arm, arms), arm), arms)


def selected_arms(selected: Array, plays: int) -> Array:
    """The numbers of the selected arms in increasing order, int32 `[plays, *runs]`; -1 where fewer are selected.

    Args:
        selected: bool `[K, *runs]`, of any number of arms.
        plays: L.
    """
    arms = len(selected)
    if can_list_arms(arms, plays):
        arm = arm_indices(selected, plays)
        return jnp.where(arm < arms, arm, -1)
    order = jnp.argsort(~selected, axis=0, stable=True)[:plays]
    here = jnp.take_along_axis(selected, order, axis=0)
    return jnp.where(here, order, -1).astype(jnp.int32)


def take_arms(tree: Tree, arm: Array, arms: int) -> Tree:
    """The values of some arms: arrays `[K, *runs]` of a tree become `[n, *runs]`, the others stay as they are.

    Args:
        tree: any pytree of arrays.
        arm: the arms, int32 `[n, *runs]`; the values of an arm K, which does not exist, are 0.
        arms: K.
    """
    leaves, structure = jax.tree.flatten(tree)
    are_per_arm = [leaf.ndim == arm.ndim and len(leaf) == arms for leaf in leaves]
    if arms <= MAX_UNROLLED_ARMS:  # elementwise: vectorised over runs, and nothing is computed that is not used

        def pick(leaf: Array) -> Array:
            rows = (jnp.where(arm == k, leaf[k : k + 1], 0) for k in range(arms))
            return functools.reduce(jnp.add, rows)

        picked = [pick(leaf) if per_arm else leaf for leaf, per_arm in zip(leaves, are_per_arm, strict=True)]
        return jax.tree.unflatten(structure, picked)
    place, here = jnp.minimum(arm, arms - 1), arm < arms
    picked = [
        jnp.where(here, jnp.take_along_axis(leaf, place, 0, mode="promise_in_bounds"), 0) if per_arm else leaf
        for leaf, per_arm in zip(leaves, are_per_arm, strict=True)
    ]
    return jax.tree.unflatten(structure, picked)


def take_arm(tree: Tree, arm: Array, shape: tuple[int, ...]) -> Tree:
    """The values of one arm: arrays `[K, *runs]` of a tree become `[1, *runs]`, the others stay as they are.

    Args:
        tree: any pytree of arrays.
        arm: the arm, int32 scalar, less than K.
        shape: (K, *runs).
    """

    def pick(leaf: Array) -> Array:
        per_arm = leaf.ndim == len(shape) and len(leaf) == shape[0]
        return lax.dynamic_slice_in_dim(leaf, arm, 1, 0) if per_arm else leaf

    return jax.tree.map(pick, tree)
