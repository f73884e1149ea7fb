"""Operations on float32 numbers whose results decide ties, compiled by XLA and within a kernel."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.xla import compat
from jaxbandit.core.xla.mosaic.values import RUNS
from jaxbandit.policies.selection.quotients import with_remainder


def _corrected(a: Array, b: Array) -> Array:
    """a / b with the remainder added, which is exact where a product and a difference are one operation."""
    q = lax.div(a, b)
    return q + lax.div(a - q * b, b)


# By name: an operation, and its exact result in float64
OPERATIONS: dict[str, tuple[Callable[..., Array], Callable[..., np.ndarray]]] = {
    "a / b": (lax.div, np.divide),
    "a / b, corrected": (_corrected, np.divide),
    "a / b, corrected in parts": (lambda a, b: with_remainder(lax.div(a, b), a, b), np.divide),
    "sqrt(a / b)": (lambda a, b: lax.sqrt(lax.div(a, b)), lambda a, b: np.sqrt(a / b)),
    "sqrt(a)": (lambda a, b: lax.sqrt(a), lambda a, b: np.sqrt(a)),
    "rsqrt(a)": (lambda a, b: lax.rsqrt(a), lambda a, b: 1 / np.sqrt(a)),
    "log(a)": (lambda a, b: lax.log(a), lambda a, b: np.log(a)),
    "exp(-a / b)": (lambda a, b: lax.exp(-lax.div(a, b)), lambda a, b: np.exp(-(a / b).astype(np.float32))),
}


def in_kernel(operation: Callable[..., Array]) -> Callable[..., Array]:
    """An operation on vectors, within a kernel."""

    def body(a, b, result) -> None:
        places = compat.places_of(lax.axis_index("tile"), RUNS)
        x, y = (compat.one_per_thread(ref[places]) for ref in (a, b))
        result[places] = operation(x, y)

    def call(a: Array, b: Array) -> Array:
        out = (jax.ShapeDtypeStruct(a.shape, jnp.float32),)
        made = compat.mosaic_kernel(body, out_type=out, grid=(len(a) // RUNS,), grid_names=("tile",), interpret=False)
        return made(jnp.asarray(a), jnp.asarray(b))[0]

    return jax.jit(call)
