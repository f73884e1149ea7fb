"""Programs that were traced and lowered once, kept in a folder: later processes neither trace nor lower them.

JAX's compilation cache finds a program by its lowered form, so that every process traces and lowers it to find it. That
takes ten times as long as to load it. This module finds the lowered form by what decides it: this package's files, the
classes and static values in the arguments, and their shapes. Programs with users' code are traced in every process.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import jax
import jaxlib
from jax import Array, export

from jaxbandit.core.errors import WriteError
from jaxbandit.core.files.atomic_write import write_atomically
from jaxbandit.core.xla import compat, compilation_cache, cpu_kernel, gpu_kernel
from jaxbandit.core.xla.tiling import tile_bytes
from jaxbandit.engine.batch import package_code
from jaxbandit.engine.batch.traced_programs import PROGRAM

Tree = TypeVar("Tree")

_MOST = 1000  # files that are kept; those that were not used for the longest time are removed


@dataclass(frozen=True)
class Kept:
    """A compiled function of arrays whose lowered form is kept in the folder of programs, if there is one.

    Attributes:
        name: the first word of the names of its files.
        compiled: the function, compiled by `jax.jit`; called where there is no folder, and for users' code.
        traced: returns the function to trace.
        result: returns a tree of the structure of the function's result, given its arguments.
        donated: the number of the last arguments whose memory the result reuses.
    """

    name: str
    compiled: Callable[..., Any]
    traced: Callable[[], Callable[..., Any]]
    result: Callable[..., Any]
    donated: int = 0
    _programs: dict[Hashable, _Program] = field(default_factory=dict)

    def __call__(self, *arguments: Any) -> Any:
        folder = compilation_cache.kept_in()
        if folder is None or PROGRAM.value is not None or gpu_kernel.WANTED.value:
            return self.compiled(*arguments)
        leaves, structure = jax.tree.flatten(arguments)
        key = structure, tuple(map(jax.typeof, leaves)), _settings()
        program = self._programs.setdefault(key, _Program())
        with program.lock:  # of several threads, one loads it
            if program.call is None:
                program.call = self._loaded(folder, arguments) or self.compiled
        return program.call(*arguments)

    def _loaded(self, folder: Path, arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
        """The compiled function for arguments like these; None where its lowered form cannot be kept."""
        leaves, structure = jax.tree.flatten(arguments)
        types = list(map(jax.typeof, leaves))
        words = package_code.structure_in_words(structure)
        if words is None or any(one.weak_type for one in types):
            return None
        versions = jax.__version__, jaxlib.__version__, package_code.source_digest()
        decided_by = repr((versions, words, list(map(str, types)), _settings()))
        file = folder / f"{self.name}-{hashlib.sha256(decided_by.encode()).hexdigest()}.bin"
        program = _read(file) or self._lowered(structure, types, file)
        if program is None:
            return None
        result = jax.tree.structure(jax.eval_shape(self.result, *arguments))
        last = len(jax.tree.leaves(arguments[len(arguments) - self.donated :]))
        donated = tuple(range(len(leaves) - last, len(leaves)))
        call = cpu_kernel.compiled(program.call, donate_argnums=donated).lower(*_shapes(types)).compile()
        return lambda *arguments: jax.tree.unflatten(result, call(*jax.tree.leaves(arguments)))

    def _lowered(self, structure: Any, types: list[Any], file: Path) -> export.Exported | None:
        """The lowered function, which is written to a file; None where this JAX cannot, or tracing fails."""
        function = self.traced()

        def flat(*leaves: Array) -> list[Array]:
            return jax.tree.leaves(function(*jax.tree.unflatten(structure, leaves)))

        try:
            made = export.export(cpu_kernel.compiled(flat))(*_shapes(types))
            content = bytes(made.serialize())
        except Exception:  # of any kind: `compiled` works, or raises it
            return None
        with contextlib.suppress(WriteError, OSError):
            write_atomically(file, content)
            _remove_oldest(file.parent)
        return made


class _Program:
    """A function for arguments of some types, once it is loaded."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.call: Callable[..., Any] | None = None


def as_returned(tree: Tree) -> Tree:
    """Arrays placed as those that kept programs return, so that programs are compiled for them."""
    return tree if compilation_cache.kept_in() is None else jax.device_put(tree, jax.local_devices()[0])


def _settings() -> Hashable:
    """What decides a lowered program beside the arguments."""
    config: Any = jax.config
    return (
        jax.default_backend(),
        config.jax_enable_x64,
        config.jax_default_device,
        config.jax_default_matmul_precision,
        compat.kernels_work(),
        tile_bytes(),
    )


def _shapes(types: list[Any]) -> list[jax.ShapeDtypeStruct]:
    return [jax.ShapeDtypeStruct(one.shape, one.dtype) for one in types]


def _read(file: Path) -> export.Exported | None:
    """The lowered function in a file; None where it is not there or cannot be read."""
    try:
        made = export.deserialize(bytearray(file.read_bytes()))
        file.touch()
    except Exception:  # of any kind: the file may be damaged
        return None
    return made


def _remove_oldest(folder: Path) -> None:
    files = sorted(folder.glob("*.bin"), key=lambda file: file.stat().st_mtime)
    for file in files[:-_MOST]:
        file.unlink(missing_ok=True)
