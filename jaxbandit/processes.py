"""Several processes on one simulation, by `jax.distributed`: who plays which block, and how all learn the results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from .errors import InputError
from .tallies import Tally

_PIECE = 1 << 24  # bytes that a process sends at a time


def connect(coordinator: str | None, processes: int | None, number: int | None) -> None:
    """Join the processes of a simulation; nothing where no argument is given.

    Args:
        coordinator: HOST:PORT, of the process of number 0.
        processes: how many there are.
        number: of this one, from 0.

    Raises:
        InputError: what cannot be, named by its option.
        ConnectionError: the others were not found.
    """
    if coordinator is None and processes is None and number is None:
        return
    if coordinator is None or not re.fullmatch(r"[^\s:]+:\d{1,5}|\[[0-9a-fA-F:]+\]:\d{1,5}", coordinator):
        raise InputError("--coordinator", coordinator, "HOST:PORT of the process of number 0, the same for all")
    if processes is None or processes < 1:
        raise InputError("--processes", processes, "a whole number >= 1: how many processes there are")
    if number is None or not 0 <= number < processes:
        raise InputError("--process-id", number, f"this process's number, from 0 to {processes - 1}")
    if processes == 1:
        return
    try:
        jax.distributed.initialize(coordinator, processes, number)
    except (RuntimeError, ValueError) as error:
        raise ConnectionError(f"process {number} did not reach {coordinator}: {str(error).splitlines()[0]}") from None


def count() -> int:
    """How many processes there are."""
    return jax.process_count()


def number() -> int:
    """This process's number, from 0."""
    return jax.process_index()


def wait(what: str) -> None:
    """Go on when all processes are here."""
    if count() > 1:
        multihost_utils.sync_global_devices(what)


def agreed(values: Any) -> np.ndarray:
    """Integers that are to be the same in all processes: those of process 0, int64."""
    mine = np.asarray(values, np.int64)
    return mine if count() == 1 else _all(mine)[0]


def mine(done: Sequence[bool]) -> tuple[list[int], list[int]]:
    """Which jobs this process is to take from disk, and which it is to do.

    Args:
        done: whether this process finds each job done.

    Returns:
        Numbers of jobs; each is one process's alone.
    """
    found = np.asarray(done, np.int64)[None] if count() == 1 else _all(np.asarray(done, np.int64))
    owner = np.where(found.any(axis=0), found.argmax(axis=0), -1)
    left = np.flatnonzero(owner < 0)
    return np.flatnonzero(owner == number()).tolist(), left[number() :: count()].tolist()


def pooled(tally: Tally) -> Tally:
    """The tally of all processes' runs, of this one's and zeros for the others'; the same, bit for bit, in each."""
    if count() == 1:
        return tally
    return tally.like({name: _sum(array) for name, array in tally.arrays(full=True).items()})


def _sum(array: np.ndarray) -> np.ndarray:
    """The sum over processes; of floats, of which all but one process have 0, that one's bits."""
    words = array if array.dtype.kind == "i" else array.view(np.int64)
    flat, made = np.ascontiguousarray(words).reshape(-1), np.empty(words.size, words.dtype)
    step = _PIECE // words.dtype.itemsize
    for first in range(0, flat.size, step):
        made[first : first + step] = _all(flat[first : first + step]).sum(axis=0, dtype=words.dtype)
    return made.view(array.dtype).reshape(array.shape)


def _all(values: np.ndarray) -> np.ndarray:
    """Every process's integers, `[process, *shape]`; on the way as words of 32 bits, the most JAX has by default."""
    words = np.ascontiguousarray(values).reshape(-1).view(np.uint32)
    gathered = np.asarray(multihost_utils.process_allgather(words)).reshape(count(), -1)
    return np.ascontiguousarray(gathered).view(values.dtype).reshape(count(), *values.shape)
