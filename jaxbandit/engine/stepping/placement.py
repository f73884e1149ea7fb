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


def within_other_program(tree: object) -> bool:
    """Whether JAX traces a value of a tree, or the function that this is called in."""
    return is_traced((tree, jnp.zeros((), jnp.int32)))


def on_device(tree: Tree) -> Tree:
    """A prepared policy or world as device arrays: scalars, tables `[n]`, and arrays `[K or 1, J or 1]`."""

    def place(leaf: Any) -> Array:
        array = np.asarray(leaf)
        return jax.device_put(array.astype(np.int32 if array.dtype.kind in "iu" else jnp.result_type(float)))

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


def key_columns(words: Array) -> tuple[Array, Array]:
    """The two words of a run's key, uint32 `[2]`, as arrays `[1, 1]`."""
    return words[0].reshape(1, 1), words[1].reshape(1, 1)


def key_of_run(key: Any, instance: Any, seed: Any) -> Any:
    """The two words of the key of a run, uint32 `[2]`; on the host if no argument is traced.

    Args:
        key, instance, seed: those of `Simulator.init`, which has checked the last two.

    Raises:
        InputError: about `key`.
    """
    k0, k1 = _keys(key, instance, seed)
    return jnp.concatenate((k0, k1)) if is_traced((k0, k1)) else np.concatenate((k0, k1))


def keys_of_runs(key: Any, instances: int, seeds: int) -> Any:
    """The two words of the keys of all runs, two uint32 arrays `[1, J, seeds]`; on the host unless `key` is traced.

    Raises:
        InputError: about `key`.
    """
    return _keys(key, np.arange(instances, dtype=np.int32)[:, None], np.arange(seeds, dtype=np.int32))


def _keys(key: Any, instances: Any, seeds: Any) -> Any:
    """The two words of the keys of runs, two uint32 arrays `[1, *runs]`.

    Raises:
        InputError: about `key`.
    """
    try:
        if is_traced((key, instances, seeds)):
            words = prng.traced_run_keys(key, *(jnp.asarray(index, jnp.int32) for index in (instances, seeds)))
            return tuple(word[None] for word in words)
        return prng.run_keys(key, np.asarray(instances), np.asarray(seeds))
    except InputError as error:
        raise error.with_key("key") from None
