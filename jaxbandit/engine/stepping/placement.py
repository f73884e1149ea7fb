"""Policies, problems and keys of single runs, and of all runs of a simulator, on the device."""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core import prng
from jaxbandit.core.errors import InputError

Tree = TypeVar("Tree")


def is_traced(tree: object) -> bool:
    """Whether a tree holds a value that JAX traces."""
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(tree))


def on_device(tree: Tree) -> Tree:
    """A prepared policy or world as device arrays: scalars, tables `[n]`, and arrays `[K or 1, J or 1]`."""

    def place(leaf: Any) -> Array:
        array = np.asarray(leaf)
        return jnp.asarray(array.astype(np.int32 if array.dtype.kind in "iu" else jnp.result_type(float)))

    return jax.tree.map(place, tree)


def columns_of(tree: Tree, instance: Array) -> Tree:
    """The columns of an instance: arrays `[K or 1, J]` become `[K or 1, 1]`."""

    def column(leaf: Array) -> Array:
        if leaf.ndim < 2 or leaf.shape[1] == 1:
            return leaf
        return lax.dynamic_slice_in_dim(leaf, instance, 1, axis=1)

    return jax.tree.map(column, tree)


def own_buffers(state: Tree) -> Tree:
    """A state whose arrays share no memory, so that it can be donated."""
    return jax.tree.map(lambda leaf: jnp.array(leaf, copy=True), state)


def run_keys(key: Any, instance: Array, seed: Array) -> tuple[Array, Array]:
    """`prng.traced_run_keys`, whose errors name the argument `key`."""
    try:
        return prng.traced_run_keys(key, instance, seed)
    except InputError as error:
        raise error.with_key("key") from None
