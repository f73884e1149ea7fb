"""Several processes on one simulation, by `jax.distributed`: who plays which block, and how all learn the results.

Process 0 has to last: JAX ends the others ("another task died") as soon as it is gone. Where another one ends early,
the rest play what is theirs, keep it and then say so.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import ipaddress
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

from jaxbandit.core.errors import InputError
from jaxbandit.core.files.streams import print_error
from jaxbandit.engine.batch import sharding
from jaxbandit.metrics.block_statistics import BlockStatistics

_MOST = 1 << 16  # processes
_PIECE = 1 << 24  # bytes that a process sends at a time
_PATIENCE = 300  # seconds that a process waits for the others to come,
_SILENCE = 5.0  # how long it says nothing of it,
_PARTING = 2.0  # and how long process 0 waits for them to go


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
    found = None if coordinator is None else re.fullmatch(r"(?:[^\s:]+|\[[0-9a-fA-F:]+\]):(\d{1,5})", coordinator)
    if coordinator is None or found is None or not 0 < int(found[1]) < 1 << 16:
        raise InputError("--coordinator", coordinator, "HOST:PORT of the process of number 0, the same for all")
    if processes is None or not 0 < processes <= _MOST:
        raise InputError("--processes", processes, f"how many processes there are, a whole number from 1 to {_MOST}")
    if number is None or not 0 <= number < processes:
        raise InputError("--process-id", number, f"this process's number, from 0 to {processes - 1}")
    if processes == 1:
        return
    listens = _address(coordinator, number)
    config: Any = jax.config
    config.update("jax_enable_recoverability", True)  # or JAX ends every process where one dies
    config.update("jax_enable_preemption_service", False)  # or a process that is told to end goes on
    words = f"process {number} of {processes} waits for the others at {coordinator}, {_PATIENCE} s at most"
    waiting = threading.Timer(_SILENCE, functools.partial(print_error, words))
    waiting.daemon = True
    waiting.start()
    try:
        # Where the others do not come JAX ends the process, with words of its own; it raises nothing then.
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
    """Where process 0 is to listen; refuses at once what JAX would wait for in vain.

    Process 0 listens on the given address only, since anyone who can connect may take part. It listens on all
    addresses if the name resolves to loopback only, as a machine's own name often does, or if the address is not this
    machine's, as where addresses are translated. The variable JAX_COORDINATOR_BIND_ADDRESS, if set, decides.

    Returns:
        HOST:PORT; None for all addresses of this machine, which is said.

    Raises:
        ConnectionError: a host without an address, or a port that is taken.
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
    print_error(f"note: {bare} is not a network address of this machine: process 0 listens on all its addresses")
    return None


def _loops(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _listens(address: str, port: str, family: int) -> bool:
    """Whether this machine has the address.

    Raises:
        OSError: its port is taken.
    """
    try:
        socket.create_server((address, int(port)), family=family).close()
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            return False
        raise
    return True


def _part() -> None:
    """Leave in order, process 0 last."""
    if number() == 0:
        time.sleep(_PARTING)
    jax.distributed.shutdown()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what the libraries underneath write to the terminal as they connect."""
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
    """How many processes there are."""
    return jax.process_count()


def number() -> int:
    """This process's number, from 0."""
    return jax.process_index()


@contextlib.contextmanager
def together() -> Iterator[None]:
    """Do something as all processes do, and go on when all have; where one fails, all stop there.

    Raises:
        ConnectionError: another process has stopped.
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
                raise ConnectionError(f"process {failed[0]} stopped with an error, which it says")
    if error is not None:
        raise error


def agreed(values: Any) -> np.ndarray:
    """Integers that are to be the same in all processes: those of process 0, int64."""
    mine = np.asarray(values, np.int64)
    return mine if count() == 1 else _all(mine)[0]


def any_of(here: bool) -> bool:
    """Whether something is so in any process."""
    return here if count() == 1 else bool(_all(np.asarray([here], np.int64)).any())


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


def pooled(statistics: list[BlockStatistics]) -> list[BlockStatistics]:
    """The tallies of all processes' runs, of this one's and zeros for the others'; the same, bit for bit, in each."""
    if count() == 1:
        return statistics
    held = [statistics.arrays(full=True) for statistics in statistics]
    places = [(number, name) for number, arrays in enumerate(held) for name in arrays]
    words = {place: _words(held[place[0]][place[1]]) for place in places}
    for dtype in (np.int32, np.int64):  # all of a kind at once: to send has a price of its own
        own = [place for place in places if words[place].dtype == dtype]
        if not own:
            continue
        flat = _sum(np.concatenate([words[place].reshape(-1) for place in own]))
        ends = np.cumsum([words[place].size for place in own])
        for (number, name), part in zip(own, np.split(flat, ends[:-1]), strict=True):
            array = held[number][name]
            held[number][name] = part.view(array.dtype).reshape(array.shape)
    return [statistics.restore(arrays) for statistics, arrays in zip(statistics, held, strict=True)]


def _words(array: np.ndarray) -> np.ndarray:
    """As integers: the sum over processes is, of floats of which all but one process have 0, that one's bits."""
    return np.ascontiguousarray(array if array.dtype.kind == "i" else array.view(np.int64))


def _sum(words: np.ndarray) -> np.ndarray:
    """The sum over processes, a piece at a time."""
    made = np.empty(words.size, words.dtype)
    step = _PIECE // words.dtype.itemsize
    for first in range(0, words.size, step):
        made[first : first + step] = _all(words[first : first + step]).sum(axis=0, dtype=words.dtype)
    return made


def _all(values: np.ndarray) -> np.ndarray:
    """Every process's integers, `[process, *shape]`; on the way as words of 32 bits, the most JAX has by default."""
    words = np.ascontiguousarray(values).reshape(-1).view(np.uint32)
    try:
        gathered = _gathered(words)
    except (RuntimeError, ValueError) as error:
        raise ConnectionError(f"another process has ended: {str(error).splitlines()[0]}") from None
    return np.ascontiguousarray(gathered).view(values.dtype).reshape(count(), *values.shape)


def _gathered(words: np.ndarray) -> np.ndarray:
    """Every process's words, `[process, word]`, by way of one device of each."""
    everyone, own = _everyone(), jax.local_devices()[0]
    apart = NamedSharding(everyone, Spec("processes"))
    mine = [jax.device_put(words[None], own)]
    whole = jax.make_array_from_single_device_arrays((count(), len(words)), apart, mine)
    return np.asarray(_copied(whole, everyone).addressable_data(0))


@functools.cache
def _everyone() -> Mesh:
    first = {device.process_index: device for device in reversed(jax.devices())}
    return Mesh(np.array([first[number] for number in range(count())]), ("processes",))


@functools.partial(jax.jit, static_argnames="over")
def _copied(words: jax.Array, over: Mesh) -> jax.Array:
    return jax.lax.with_sharding_constraint(words, NamedSharding(over, Spec()))
