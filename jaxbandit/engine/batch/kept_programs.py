"""Programs that were compiled once, kept in a folder: later processes neither trace nor lower nor compile them.

JAX's compilation cache finds a program by its lowered form, so that every process traces and lowers it to find it. That
takes ten times as long as to load it. This module finds the compiled program by what decides it: this package's files,
the classes and static values in the arguments, and their shapes. Programs with users' code are traced in every process.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import threading
import zlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import jax
import jaxlib
from jax import Array
from jax.experimental import serialize_executable

from jaxbandit.core.errors import WriteError
from jaxbandit.core.files.atomic_write import write_atomically
from jaxbandit.core.xla import compat, compilation_cache, cpu_kernel, gpu_kernel
from jaxbandit.core.xla.tiling import tile_bytes
from jaxbandit.engine.batch import package_code
from jaxbandit.engine.batch.traced_programs import PROGRAM

Tree = TypeVar("Tree")

_BYTES = 1 << 28  # the most that the files hold; those that were not used for the longest time are removed


@dataclass(frozen=True)
class Kept:
    """A compiled function of arrays that is kept in the folder of programs, if there is one.

    Attributes:
        name: the first word of the names of its files.
        compiled: the function, compiled; called where there is no folder, and for users' code.
        traced: returns the function to compile.
        result: returns a tree of the structure of the function's result, given its arguments.
        jit: `jax.jit` with the options of the function.
        donated: the number of the last arguments whose memory the result reuses.
    """

    name: str
    compiled: Callable[..., Any]
    traced: Callable[[], Callable[..., Any]]
    result: Callable[..., Any]
    jit: Callable[..., Any] = cpu_kernel.compiled
    donated: int = 0
    _programs: dict[Hashable, _Program] = field(default_factory=dict)

    def __call__(self, *arguments: Any, **static: Hashable) -> Any:
        """The function's result. `static`: arguments by keyword that are compiled in, of plain values."""
        folder = _folder()
        if folder is None or PROGRAM.value is not None or gpu_kernel.WANTED.value:
            return self.compiled(*arguments, **static)
        leaves, structure = jax.tree.flatten(arguments)
        key = structure, tuple(map(jax.typeof, leaves)), tuple(static.items()), _settings()
        program = self._programs.setdefault(key, _Program())
        with program.lock:  # of several threads, one loads it
            if program.call is None:
                compiled = functools.partial(self.compiled, **static)
                program.call = self._loaded(folder, arguments, static) or compiled
        return program.call(*arguments)

    def _loaded(
        self, folder: Path, arguments: tuple[Any, ...], static: dict[str, Hashable]
    ) -> Callable[..., Any] | None:
        """The compiled function for arguments like these; None where it cannot be kept."""
        leaves, structure = jax.tree.flatten(arguments)
        types = list(map(jax.typeof, leaves))
        words = package_code.structure_in_words(structure)
        if words is None or any(one.weak_type for one in types):
            return None
        versions = jax.__version__, jaxlib.__version__, package_code.source_digest()
        decided_by = repr((versions, words, list(map(str, types)), static, _settings()))
        file = folder / f"{self.name}-{hashlib.sha256(decided_by.encode()).hexdigest()}.bin"
        result: Any = jax.tree.structure(jax.eval_shape(functools.partial(self.result, **static), *arguments))
        call = _read(file, len(leaves), result.num_leaves) or self._compiled(arguments, static, file)
        return (
            None if call is None else lambda *arguments: jax.tree.unflatten(result, call(*jax.tree.leaves(arguments)))
        )

    def _compiled(
        self, arguments: tuple[Any, ...], static: dict[str, Hashable], file: Path
    ) -> Callable[..., Any] | None:
        """The compiled function, which is written to a file; None where this JAX cannot, or tracing fails."""
        function = functools.partial(self.traced(), **static)
        leaves, structure = jax.tree.flatten(arguments)
        types = list(map(jax.typeof, leaves))
        last = len(jax.tree.leaves(arguments[len(arguments) - self.donated :]))
        donated = tuple(range(len(types) - last, len(types)))

        def flat(*leaves: Array) -> list[Array]:
            return jax.tree.leaves(function(*jax.tree.unflatten(structure, leaves)))

        # A name that no other program has: what JAX's cache has loaded cannot be written again and still run.
        flat.__name__ = f"{self.name}_{os.urandom(8).hex()}"
        try:
            made = self.jit(flat, donate_argnums=donated).lower(*_shapes(types)).compile()
            content, *_ = serialize_executable.serialize(made)
        except Exception:  # of any kind: `compiled` works, or raises it
            return None
        _write(file, content)
        return made


def _folder() -> Path | None:
    """The folder of programs; None where there is none. Kept programs are for CPU, where it is the only device."""
    config: Any = jax.config
    devices, chosen = jax.local_devices(), config.jax_default_device
    alone = len(devices) == 1 and devices[0].platform == "cpu" and chosen is None
    return compilation_cache.kept_in() if alone else None


class _Program:
    """A function for arguments of some types, once it is loaded."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.call: Callable[..., Any] | None = None


def as_returned(tree: Tree) -> Tree:
    """Arrays placed as those that kept programs return, so that programs are compiled for them."""
    return tree if _folder() is None else jax.device_put(tree, jax.local_devices()[0])


def _settings() -> Hashable:
    """What decides a program beside the arguments."""
    config: Any = jax.config
    device = jax.local_devices()[0]
    return (
        device.client.platform_version,
        os.environ.get("XLA_FLAGS"),
        config.jax_enable_x64,
        config.jax_default_matmul_precision,
        compat.kernels_work(),
        tile_bytes(),
    )


def _shapes(types: list[Any]) -> list[jax.ShapeDtypeStruct]:
    return [jax.ShapeDtypeStruct(one.shape, one.dtype) for one in types]


def _read(file: Path, arguments: int, results: int) -> Callable[..., Any] | None:
    """The compiled function in a file, of so many arrays; None where it is not there or cannot be read."""
    inputs, outputs = jax.tree.structure(((0,) * arguments, {})), jax.tree.structure([0] * results)
    try:
        digest, packed = _parts(file.read_bytes())
        if hashlib.sha256(packed).digest() != digest:  # machine code that is damaged would not raise an error
            return None
        content = zlib.decompress(packed)
        devices = jax.local_devices()[:1]
        made = serialize_executable.deserialize_and_load(content, inputs, outputs, execution_devices=devices)
        file.touch()
    except Exception:  # of any kind: the file may be of another program
        return None
    return made


def _parts(content: bytes) -> tuple[bytes, bytes]:
    """The digest that a file begins with, and the packed program after it."""
    size = hashlib.sha256().digest_size
    return content[:size], content[size:]


def _write(file: Path, program: bytes) -> None:
    packed = zlib.compress(program, level=1)
    with contextlib.suppress(WriteError, OSError):
        write_atomically(file, hashlib.sha256(packed).digest() + packed)
        _remove_oldest(file.parent)


def _remove_oldest(folder: Path) -> None:
    files = [(file, file.stat()) for file in folder.glob("*.bin")]
    left = _BYTES
    for file, about in sorted(files, key=lambda pair: pair[1].st_mtime, reverse=True):
        left -= about.st_size
        if left < 0:
            file.unlink(missing_ok=True)
