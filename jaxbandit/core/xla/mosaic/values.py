"""The values of a program within a kernel: arrays that are written out, and tables in the device's memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import DTypeLike

RUNS = 128  # runs per block of threads: one per thread of a warp group
WIDTH = 8191  # the length of the run axis while a program is traced; a prime, which no other axis has
_MOST_ENTRIES = 4096  # of a table that is read as a whole


class UnsupportedError(Exception):
    """A kernel cannot contain a part of a program; the message names that part."""


# An array that is written out: an object array with one entry per element, without the run axis. An entry is a constant
# (a NumPy scalar), a number that all runs share (a JAX scalar) or a vector of runs (`[RUNS]`).
Written = np.ndarray


@dataclass(frozen=True)
class Table:
    """An array in the device's memory, of which a kernel reads entries where it needs them.

    Attributes:
        shape: the shape when it is written out.
        at: reads the entry at some indices, which are constants or int32 scalars.
        held: the entries, where they were read before any loop.
    """

    shape: tuple[int, ...]
    at: Callable[[tuple[Any, ...]], Any]
    held: Written | None = None

    def written(self) -> Written:
        """All entries."""
        if self.held is not None:
            return self.held
        if np.prod(self.shape) > _MOST_ENTRIES:
            raise UnsupportedError(f"a table of {np.prod(self.shape)} numbers that is read as a whole")
        return self.part((), self.shape)

    def part(self, first: Sequence[Any], shape: tuple[int, ...]) -> Written:
        """The entries `[*shape]` at the indices `first`, one after the other."""
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


def one(entry: Any) -> Written:
    """A single entry, `[]`."""
    made = np.empty((), object)
    made[()] = entry
    return made


def is_constant(entry: Any) -> bool:
    """Whether an entry is known while the program is traced."""
    return isinstance(entry, np.generic)


def is_vector(entry: Any) -> bool:
    """Whether an entry has one number per run."""
    return np.shape(entry) == (RUNS,)


def vector(entry: Any) -> Array:
    """An entry with one number per run."""
    return entry if is_vector(entry) else lax.broadcast(entry, (RUNS,))


def alike(entries: Sequence[Any]) -> list[Any]:
    """The entries, all of them vectors if any is."""
    return [vector(entry) for entry in entries] if any(map(is_vector, entries)) else list(entries)


def as_number(entry: Any, dtype: DTypeLike, per_run: bool) -> Array:
    """An entry as loops carry it and memory holds it: booleans as int32, with one number per run where `per_run`."""
    kept = jnp.dtype(stored(dtype))
    number = kept.type(entry) if is_constant(entry) else lax.convert_element_type(entry, kept)
    return vector(number) if per_run else lax.convert_element_type(number, kept)


def as_entry(number: Array, dtype: DTypeLike) -> Any:
    """The entry that `as_number` stored."""
    return lax.ne(number, lax.full_like(number, 0)) if jnp.dtype(dtype) == bool else number


def stored(dtype: DTypeLike) -> Any:
    """The dtype in which numbers of `dtype` are carried and stored: a kernel cannot carry, load or store booleans."""
    return jnp.int32 if jnp.dtype(dtype) == bool else jnp.dtype(dtype)
