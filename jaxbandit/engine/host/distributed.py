"""Several processes on one simulation, by `jax.distributed`: who plays which block, and how all get the results.

JAX ends all processes ("another task died") as soon as process 0 has gone. If another process ends early, the rest
finish and keep their blocks, and then report it.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import ipaddress
import itertools
import logging
import os
import re
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as Spec
from numpy.typing import ArrayLike

from jaxbandit.core.errors import InputError
from jaxbandit.core.files.streams import print_error
from jaxbandit.engine.batch import sharding
from jaxbandit.metrics.block_statistics import BlockStatistics

LOG = logging.getLogger("jaxbandit")
_MOST = 1 << 16  # processes
_PIECE = 1 << 24  # bytes that a process sends at a time
_PATIENCE = 300  # seconds that a process waits for the others to connect
_SILENCE = 5.0  # seconds after which it says that it waits
_PARTING = 2.0  # seconds that process 0 waits at the end, so that the others end first


def connect(coordinator: str | None, processes: int | None, number: int | None) -> None:
    """Connect the processes of a simulation. Without arguments it does nothing.

    Args:
        coordinator: HOST:PORT of process 0. The environment variable JAX_COORDINATOR_BIND_ADDRESS, if set, is the
            address that process 0 listens on.
        processes: the number of processes.
        number: the number of this process, from 0.

    Raises:
        InputError: an impossible value, named by its option.
        ConnectionError: the other processes were not found.
    """
    if coordinator is None and processes is None and number is None:
        return
    found = None if coordinator is None else re.fullmatch(r"(?:[^\s:]+|\[[0-9a-fA-F:]+\]):(\d{1,5})", coordinator)
    if coordinator is None or found is None or not 0 < int(found[1]) < 1 << 16:
        raise InputError("--coordinator", coordinator, "HOST:PORT of process 0, the same for all processes")
    if processes is None or not 0 < processes <= _MOST:
        raise InputError("--processes", processes, f"the number of processes, from 1 to {_MOST}")
    if number is None or not 0 <= number < processes:
        raise InputError("--process-id", number, f"the number of this process, from 0 to {processes - 1}")
    if processes == 1:
        return
    listens = _address(coordinator, number)
    config: Any = jax.config
    config.update("jax_enable_recoverability", True)  # otherwise JAX ends every process when one dies
    config.update("jax_enable_preemption_service", False)  # otherwise a process that receives SIGTERM goes on
    words = f"process {number} of {processes} waits for the others at {coordinator}, at most {_PATIENCE} s"
    waiting = threading.Timer(_SILENCE, functools.partial(print_error, words))
    waiting.daemon = True
    waiting.start()
    try:
        # If the others do not connect, JAX ends this process with a message of its own and raises nothing.
        jax.distributed.initialize(
            coordinator, processes, number, initialization_timeout=_PATIENCE, coordinator_bind_address=listens
        )
        sharding.check()
        with _quiet():
            any_of(False)
    except InputError:
        raise
    except (RuntimeError, ValueError) as error:
        raise ConnectionError(f"process {number} lost the others: {str(error).splitlines()[0]}") from None
    finally:
        waiting.cancel()
    atexit.register(_part)


def _address(coordinator: str, number: int) -> str | None:
    """The address that process 0 listens on. Addresses that JAX would wait for in vain are refused at once.

    Process 0 listens only on the given address, since anyone who can connect may take part. It listens on all
    addresses if the name resolves only to loopback addresses, as the name of a machine often does, or if the address
    is not one of this machine, as behind address translation.

    Returns:
        HOST:PORT; None for all addresses of this machine, of which a note tells.

    Raises:
        ConnectionError: the host has no address, or the port is taken.
    """
    host, _, port = coordinator.rpartition(":")
    bare = host.strip("[]")
    try:
        found = socket.getaddrinfo(bare, int(port), type=socket.SOCK_STREAM)
        if number > 0:
            return None
        addresses = {str(info[4][0]): info[0] for info in found}
        elsewhere = bare not in {"localhost", *addresses} and all(map(_loops, addresses))
        if not elsewhere and all(_listens(address, port, family) for address, family in addresses.items()):
            return os.environ.get("JAX_COORDINATOR_BIND_ADDRESS", coordinator)
        socket.create_server(("", int(port)), family=found[0][0]).close()
    except OSError as error:
        raise ConnectionError(f"process {number} cannot use {coordinator}: {error.strerror or error}") from None
    LOG.warning("%s is not a network address of this machine: process 0 listens on all its addresses", bare)
    return None


def _loops(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _listens(address: str, port: str, family: int) -> bool:
    """Whether this machine has the address.

    Raises:
        OSError: the port is taken.
    """
    try:
        socket.create_server((address, int(port)), family=family).close()
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            return False
        raise
    return True


def _part() -> None:
    """End the connection, process 0 last."""
    if number() == 0:
        time.sleep(_PARTING)
    jax.distributed.shutdown()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Discard what the libraries underneath write to the terminal as they connect."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as aside:
        try:
            os.dup2(aside.fileno(), 1)
            os.dup2(aside.fileno(), 2)
            yield
        finally:
            for stream, own in enumerate(kept, 1):
                os.dup2(own, stream)
                os.close(own)


def count() -> int:
    """The number of processes."""
    return jax.process_count()


def number() -> int:
    """The number of this process, from 0."""
    return jax.process_index()


@contextlib.contextmanager
def together() -> Iterator[None]:
    """A step that all processes take: each waits for the others at its end, and all stop where one fails.

    Raises:
        ConnectionError: another process stopped.
    """
    error = None
    try:
        yield
    except Exception as raised:
        error = raised
    if count() > 1:
        try:
            failed = np.flatnonzero(_all(np.asarray([error is not None], np.int64)))
        except ConnectionError:
            if error is None:
                raise
        else:
            if error is None and failed.size:
                raise ConnectionError(f"process {failed[0]} stopped with an error; see its messages")
    if error is not None:
        raise error


def agreed(values: ArrayLike) -> np.ndarray:
    """The integers of process 0, in all processes, int64."""
    mine = np.asarray(values, np.int64)
    return mine if count() == 1 else _all(mine)[0]


def any_of(here: bool) -> bool:
    """Whether `here` is true in any process."""
    return here if count() == 1 else bool(_all(np.asarray([here], np.int64)).any())


def mine(done: Sequence[bool]) -> tuple[list[int], list[int]]:
    """The tasks that this process reads from disk, and those that it simulates.

    Args:
        done: whether this process finds the result of each task on disk.

    Returns:
        Two lists of task numbers. Each task belongs to one process only.
    """
    found = np.asarray(done, np.int64)[None] if count() == 1 else _all(np.asarray(done, np.int64))
    owner = np.where(found.any(axis=0), found.argmax(axis=0), -1)
    left = np.flatnonzero(owner < 0)
    return np.flatnonzero(owner == number()).tolist(), left[number() :: count()].tolist()


def pooled(statistics: list[BlockStatistics]) -> list[BlockStatistics]:
    """The statistics of the runs of all processes, the same bits in each process.

    Args:
        statistics: of this process's runs, with zeros for all other runs. Real numbers that several processes have
            computed, such as `BlockStatistics.shifts`, are the same in all of them.
    """
    if count() == 1:
        return statistics
    held = [one.arrays(full=True) for one in statistics]
    places = [(number, name) for number, arrays in enumerate(held) for name in arrays]
    words = {place: _words(held[place[0]][place[1]]) for place in places}
    # All arrays of a dtype at once, since each transfer has a fixed cost
    for dtype, kind in itertools.product((np.int32, np.int64), "if"):
        own = [place for place in places if words[place].dtype == dtype and held[place[0]][place[1]].dtype.kind == kind]
        if not own:
            continue
        combine = np.add if kind == "i" else np.bitwise_or
        flat = _combined(np.concatenate([words[place].reshape(-1) for place in own]), combine)
        ends = np.cumsum([words[place].size for place in own])
        for (number, name), part in zip(own, np.split(flat, ends[:-1]), strict=True):
            array = held[number][name]
            held[number][name] = part.view(array.dtype).reshape(array.shape)
    return [one.restore(arrays) for one, arrays in zip(statistics, held, strict=True)]


def _words(array: np.ndarray) -> np.ndarray:
    """An array as integers, with the same bits."""
    return np.ascontiguousarray(array if array.dtype.kind == "i" else array.view(f"i{array.dtype.itemsize}"))


def _combined(words: np.ndarray, combine: np.ufunc) -> np.ndarray:
    """The words of all processes, combined piece by piece."""
    made = np.empty(words.size, words.dtype)
    step = _PIECE // words.dtype.itemsize
    for first in range(0, words.size, step):
        made[first : first + step] = combine.reduce(_all(words[first : first + step]), axis=0, dtype=words.dtype)
    return made


def _all(values: np.ndarray) -> np.ndarray:
    """The integers of every process, `[process, *shape]`; sent as 32-bit words, the widest that JAX has by default."""
    words = np.ascontiguousarray(values).reshape(-1).view(np.uint32)
    try:
        gathered = _gathered(words)
    except (RuntimeError, ValueError) as error:
        shares = ", or shares its GPU with this one (CUDA_VISIBLE_DEVICES gives each its own)"
        what = f"another process has ended{shares if 'NCCL' in str(error) else ''}"
        raise ConnectionError(f"{what}: {str(error).splitlines()[0]}") from None
    return np.ascontiguousarray(gathered).view(values.dtype).reshape(count(), *values.shape)


def _gathered(words: np.ndarray) -> np.ndarray:
    """The words of every process, `[process, word]`, sent between one device of each."""
    everyone, own = _everyone(), jax.local_devices()[0]
    split = NamedSharding(everyone, Spec("processes"))
    mine = [jax.device_put(words[None], own)]
    joined = jax.make_array_from_single_device_arrays((count(), len(words)), split, mine)
    return np.asarray(_copied(joined, everyone).addressable_data(0))


@functools.cache
def _everyone() -> Mesh:
    first = {device.process_index: device for device in reversed(jax.devices())}
    return Mesh(np.array([first[number] for number in range(count())]), ("processes",))


@functools.partial(jax.jit, static_argnames="over")
def _copied(words: jax.Array, over: Mesh) -> jax.Array:
    return jax.lax.with_sharding_constraint(words, NamedSharding(over, Spec()))
