"""The larger and the smaller of two integers, and negation, in forms that NVIDIA's assembler compiles rightly.

Within a loop, the assembler (ptxas) of CUDA 13 gets the largest of negated numbers wrong: instead of
max(-a, -b, -c, -d) it returned max(a, -b, -c, -d), on an H200 with JAX 0.11; the program that it was given is right.
As unsigned numbers in the same order they are compared rightly. LLVM writes a maximum, too, for a comparison and a
selection, so negation is written as the difference from a zero that no compiler knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.xla.mosaic.values import is_vector, vector

_ZERO: ContextVar[Array] = ContextVar("_ZERO")


@contextmanager
def unknown_zero(zero: Array) -> Iterator[None]:
    """Negations are differences from `zero`, an int32 scalar that is read from memory."""
    token = _ZERO.set(zero)
    try:
        yield
    finally:
        _ZERO.reset(token)


def negated(x: Array) -> Array:
    """-x, of numbers of any type."""
    if jnp.issubdtype(x.dtype, jnp.floating):
        return lax.neg(x)
    own = lax.convert_element_type(_ZERO.get(), x.dtype)
    return lax.sub(vector(own) if is_vector(x) else own, x)


def largest(x: Array, y: Array) -> Array:
    """The larger of two numbers of any type; NaN where one is NaN."""
    return _compared(lax.max, x, y)


def smallest(x: Array, y: Array) -> Array:
    """The smaller of two numbers of any type; NaN where one is NaN."""
    return _compared(lax.min, x, y)


def _compared(choose: Callable[[Array, Array], Array], x: Array, y: Array) -> Array:
    if x.dtype != jnp.int32 or not (is_vector(x) and is_vector(y)):
        return choose(x, y)
    return _changed_sign(lax.convert_element_type(choose(unsigned(x), unsigned(y)), jnp.int32))


def unsigned(x: Array) -> Array:
    """int32 numbers as uint32 numbers in the same order."""
    return lax.convert_element_type(_changed_sign(x), jnp.uint32)


def _changed_sign(x: Array) -> Array:
    return lax.bitwise_xor(x, lax.full_like(x, jnp.iinfo(jnp.int32).min))
