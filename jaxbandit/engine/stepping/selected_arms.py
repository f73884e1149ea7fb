"""The selected arms of a round as a list."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array


def selected_arms(selected: Array, plays: int) -> Array:
    """The numbers of the selected arms in increasing order, int32 `[plays, *runs]`; -1 where fewer are selected.

    Args:
        selected: bool `[K, *runs]`.
        plays: L.
    """
    order = jnp.argsort(~selected, axis=0, stable=True)[:plays]
    here = jnp.take_along_axis(selected, order, axis=0)
    return jnp.where(here, order, -1).astype(jnp.int32)
