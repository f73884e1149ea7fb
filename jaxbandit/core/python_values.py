"""Values that users give, in Python's own types: what NumPy, JAX, pandas and xarray hold among them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def to_python(value: Any) -> Any:
    """The value with numbers as int or float, and arrays, series, ranges and tuples as lists.

    Keys of `jax.random` stay as they are, and so does everything that holds no numbers. A masked entry becomes None.
    """
    if isinstance(value, str | bool | int | float) or value is None or isinstance(value, type):
        return value
    if isinstance(value, Mapping):
        return {name: to_python(part) for name, part in value.items()}
    if isinstance(value, list | tuple | range):
        return [to_python(part) for part in value]
    if is_key(value) or not hasattr(value, "__array__"):
        return value
    array = value if isinstance(value, np.ma.MaskedArray) else np.asarray(value)
    held = array.tolist()
    if isinstance(held, np.floating):  # a long double is no type of Python's
        return float(held)
    return to_python(held) if isinstance(held, list) and array.dtype == object else held


def is_key(value: Any) -> bool:
    """Whether it is a key, or an array of keys, of `jax.random.key`."""
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def is_masked(value: Any) -> bool:
    """Whether it is a masked array, or holds one, with an entry that is masked."""
    if isinstance(value, list | tuple):
        return any(is_masked(part) for part in value if not isinstance(part, int | float | str))
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def is_whole_number(value: Any, least: int = 1) -> bool:
    """Whether a plain value is a whole number, from `least` on; booleans are none."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
