"""Keys of any type as integers in the same order, with NaN as the largest."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax


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


class FloatKey(NamedTuple):
    """A float key and its sortable integers; a program computes only those of the two that it uses.

    Attributes:
        floats: the key, float `[K, *runs]`.
        integers: its `sortable_integers`, int32 or int64 `[K, *runs]`.
    """

    floats: Array
    integers: Array

    def zero_where(self, mask: Array) -> FloatKey:
        """The key with 0 for the arms of a mask, bool `[K, *runs]`."""
        return FloatKey(jnp.where(mask, 0.0, self.floats), jnp.where(mask, 0, self.integers))


def float_key(value: Array) -> FloatKey:
    """A key for several selections, which then compute its sortable integers once.

    Args:
        value: float `[K, *runs]`.
    """
    return FloatKey(value, sortable_integers(value))
