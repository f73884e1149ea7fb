"""The values of a program within a kernel: arrays that are written out, and tables in the device's memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import DTypeLike

from jaxbandit.core.xla import compat

RUNS = 128  # runs per block of threads: one per thread of a warp group
WIDTH = 8191  # the length of the run axis while a program is traced; a prime, which no other axis has
_MOST_ELEMENTS = 4096  # of a table that is read as a whole


class UnsupportedError(Exception):
    """A kernel cannot contain a part of a program; the message names that part."""


# An array that is written out: an object array without the run axis. An element is a constant (a NumPy scalar), a
# number that all runs share (a JAX scalar) or a vector of runs (`[RUNS]`).
Written = np.ndarray


@dataclass(frozen=True)
class Table:
    """An array in the device's memory, of which a kernel reads elements where it needs them.

    Attributes:
        shape: the shape when it is written out.
        at: reads the element at some indices, which are constants or int32 scalars.
        held: the elements, where they were read before any loop.
    """

    shape: tuple[int, ...]
    at: Callable[[tuple[Any, ...]], Any]
    held: Written | None = None

    def written(self) -> Written:
        """All elements."""
        if self.held is not None:
            return self.held
        if np.prod(self.shape) > _MOST_ELEMENTS:
            raise UnsupportedError(f"a table of {np.prod(self.shape)} numbers that is read as a whole")
        return self.part((), self.shape)

    def part(self, first: Sequence[Any], shape: tuple[int, ...]) -> Written:
        """The elements `[*shape]` at the indices `first`, one after the other."""
        made = np.empty(shape, object)
        for index in np.ndindex(*shape):
            made[index] = self.at((*first, *index))
        return made


Value = Written | Table


def has_runs(shape: tuple[int, ...]) -> bool:
    """Whether a traced array has a run axis, which is its last."""
    return len(shape) > 0 and shape[-1] == WIDTH


def written_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a traced array when it is written out."""
    return shape[:-1] if has_runs(shape) else shape


def constants(values: Any, dtype: DTypeLike) -> Written:
    """Known numbers, written out."""
    array = np.asarray(values, dtype)
    made = np.empty(array.shape, object)
    for index in np.ndindex(*array.shape):
        made[index] = array[index]
    return made


def one(element: Any) -> Written:
    """A single element, `[]`."""
    made = np.empty((), object)
    made[()] = element
    return made


def is_constant(element: Any) -> bool:
    """Whether an element is known while the program is traced."""
    return isinstance(element, np.generic)


def is_vector(element: Any) -> bool:
    """Whether an element has one number per run."""
    return np.shape(element) == (RUNS,)


def vector(element: Any) -> Array:
    """An element with one number per run."""
    return element if is_vector(element) else lax.broadcast(element, (RUNS,))


def alike(elements: Sequence[Any]) -> list[Any]:
    """The elements, all of them vectors if any is."""
    return [vector(element) for element in elements] if any(map(is_vector, elements)) else list(elements)


def chosen(here: Any, yes: Any, no: Any) -> Any:
    """One of two elements, by a boolean that is no constant."""
    if is_vector(here):
        return lax.select(here, compat.one_per_thread(vector(yes)), vector(no))
    yes, no = alike([yes, no])
    if is_vector(yes):  # a kernel has no choice between vectors by one boolean
        number = vector(lax.convert_element_type(here, jnp.int32))
        return chosen(lax.ne(number, lax.full_like(number, 0)), yes, no)
    return lax.select(here, jnp.asarray(yes), jnp.asarray(no))


def as_number(element: Any, dtype: DTypeLike, per_run: bool) -> Array:
    """An element as loops carry it and memory holds it: booleans as int32, with one number per run where `per_run`."""
    kept = jnp.dtype(stored(dtype))
    number = kept.type(element) if is_constant(element) else lax.convert_element_type(element, kept)
    return compat.one_per_thread(vector(number)) if per_run else lax.convert_element_type(number, kept)


def as_element(number: Array, dtype: DTypeLike) -> Any:
    """The element that `as_number` stored."""
    return lax.ne(number, lax.full_like(number, 0)) if jnp.issubdtype(dtype, jnp.bool_) else number


def stored(dtype: DTypeLike) -> Any:
    """The dtype in which numbers of `dtype` are carried and stored: a kernel cannot carry, load or store booleans."""
    return jnp.dtype(jnp.int32 if jnp.issubdtype(dtype, jnp.bool_) else dtype)
