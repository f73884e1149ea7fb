"""Many rounds of a block as one kernel, on NVIDIA GPUs from Hopper on.

XLA launches several kernels per round on a GPU, and each of them reads the state of all runs from memory and writes it
back. Here a block is played by one kernel of Mosaic GPU (Pallas): a thread plays one run, whose state stays in its
registers from the first round to the last. The kernel is made from the program of the rounds itself (`mosaic`), so
policies, rewards and metrics need no code of their own for it.

Programs that a kernel cannot contain are compiled by XLA as they are, which is logged.

Measured on an H200: a kernel plays 2 to 9 times as many rounds per second as XLA's kernels, and takes one or two
seconds longer to compile.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.xla import compat
from jaxbandit.core.xla.compat import ClosedJaxpr
from jaxbandit.core.xla.fusion import FOR_GPU_KERNEL
from jaxbandit.core.xla.mosaic.evaluation import count_operations, evaluate, unsupported_operations
from jaxbandit.core.xla.mosaic.integers import unknown_zero
from jaxbandit.core.xla.mosaic.loops import Store, scan_parts
from jaxbandit.core.xla.mosaic.values import (
    RUNS,
    WIDTH,
    Table,
    UnsupportedError,
    as_element,
    as_number,
    has_runs,
    stored,
    written_shape,
)

LOG = logging.getLogger("jaxbandit")

Tree = TypeVar("Tree")

_LEAST_CAPABILITY = 9.0  # Hopper
_HELD = 64  # elements of an array, up to which a kernel reads them before its loops
_MOST_OPERATIONS = 40_000  # in a kernel: such a program takes some 5 s to lower (measured)
_PADDED = 1.25  # the most threads per run, up to which the cells of a block are padded to whole groups of threads


# Whether programs are made one kernel. A program that was compiled so is kept apart from one that was not.
WANTED = jax.make_user_context(False)


def obstacle() -> str | None:
    """The reason why programs cannot be one kernel on the devices that JAX uses; None where they can."""
    config: Any = jax.config
    chosen = config.jax_default_device  # None, a device or the name of a platform
    device = chosen if isinstance(chosen, jax.Device) else jax.local_devices(backend=chosen)[0]
    if device.platform != "gpu":
        return f"{device.device_kind} is no GPU"
    capability = getattr(device, "compute_capability", None)
    try:
        enough = float(capability) >= _LEAST_CAPABILITY  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return f"{device.device_kind} is no GPU by NVIDIA"
    if not enough:
        return f"{device.device_kind} is older than Hopper (its compute capability is {capability})"
    return compat.why_no_mosaic()  # last, since it imports Pallas


def works(wanted: bool | None) -> bool:
    """Whether programs are made one kernel.

    Args:
        wanted: whether that is wanted; None where it is the default. An obstacle to what is wanted is logged once.
    """
    if wanted is False:
        return False
    if (why := obstacle()) is not None and wanted:
        _log_once(f"gpu_kernel has no effect: {why}", logging.WARNING)
    return why is None


def played(advance: Callable[[], Tree], wanted: bool | None, policy: Any, state: Any) -> Tree:
    """What `advance()` returns, which plays rounds: as one kernel, if that works and Mosaic can compile it.

    Args:
        advance: calls the compiled program.
        wanted: as for `works`; that a kernel cannot contain a policy is a warning where it is True, an error always.
        policy: of the program.
        state: the argument of the program whose memory it takes.
    """
    if not works(wanted):
        return advance()
    which = jax.tree.structure((policy, state)), tuple(map(np.shape, jax.tree.leaves(state)))
    if which in _NOT_COMPILED:
        return advance()
    token = _LEVEL.set(logging.WARNING if wanted else logging.INFO)
    try:
        with WANTED(True):
            return advance()
    except Exception as error:  # of any kind; what fails without a kernel as well is raised there
        if any(leaf.is_deleted() for leaf in jax.tree.leaves(state) if isinstance(leaf, jax.Array)):
            raise
        result = advance()
        _NOT_COMPILED.add(which)
        reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        words = f"gpu_kernel: {_name_of(policy)} is simulated without, because of an error: {reason}"
        _log_once(words, logging.WARNING)  # also where the kernel is the default: nobody expects it
        return result
    finally:
        _LEVEL.reset(token)


_NOT_COMPILED: set[Any] = set()  # policies and states whose kernels failed, for the next blocks
_LEVEL: ContextVar[int] = ContextVar("_LEVEL", default=logging.WARNING)  # of what is logged about a policy


def _name_of(policy: Any) -> str:
    return getattr(policy, "name", "a policy")


@functools.cache
def _log_once(words: str, level: int) -> None:
    LOG.log(level, "%s", words)


def where_wanted(play_on: Callable[..., Any]) -> Callable[..., Any]:
    """`as_gpu_kernel(play_on)` where `WANTED` is true, else `play_on`."""
    kernel = as_gpu_kernel(play_on)

    @functools.wraps(play_on)
    def call(*arguments: Any) -> Any:
        return (kernel if WANTED.value else play_on)(*arguments)

    return call


def as_gpu_kernel(play_on: Callable[..., Any], interpret: bool = False) -> Callable[..., Any]:
    """`rollout.play_on` as one kernel, if a kernel can contain all its operations; else that function.

    Results without an axis of runs are the largest of any run.

    Args:
        play_on: that function.
        interpret: whether the kernel is interpreted, on any device, as tests do.

    Returns:
        A function of the same arguments and results, to be called in a function that `jax.jit` compiles.
    """

    @functools.wraps(play_on)
    def call(policy: Any, world: Any, key: Any, quotas: Any, *rounds: Any) -> Any:
        arguments = (policy, world, key, quotas, *rounds)
        leaves, structure = jax.tree.flatten(arguments)
        try:
            cells, lanes = key[0].shape[-2:]
            layout = _layout(cells, lanes, quotas)
            traced = [layout.traced(leaf) for leaf in leaves]
            with FOR_GPU_KERNEL(True):
                program, shape = jax.make_jaxpr(play_on, return_shape=True)(*jax.tree.unflatten(structure, traced))
            results = _kernel_results(program, layout, leaves, traced, interpret)
        except UnsupportedError as error:
            words = f"{_name_of(policy)} is simulated without, because a kernel cannot contain {error}"
            _log_once(f"gpu_kernel: {words}", _LEVEL.get())
            return play_on(*arguments)
        return jax.tree.unflatten(jax.tree.structure(shape), results)

    return call


@dataclass(frozen=True)
class _Layout:
    """How the threads of a kernel share the runs of a block.

    Attributes:
        cells, lanes: the size of the block.
        flat: whether each run has its own copy of everything that differs between cells. Otherwise the runs of a group
            of threads are lanes of one cell, and lanes are padded to whole groups.
    """

    cells: int
    lanes: int
    flat: bool

    @property
    def rows(self) -> int:
        """The number of rows of runs."""
        return 1 if self.flat else self.cells

    @property
    def columns(self) -> int:
        """The number of runs per row, with the padding."""
        runs = self.cells * self.lanes if self.flat else self.lanes
        return runs + -runs % RUNS

    @property
    def tiles(self) -> int:
        """The number of groups of threads per row."""
        return self.columns // RUNS

    def differs(self, shape: tuple[int, ...]) -> tuple[bool, bool]:
        """Whether an array has one element per row, and one per column."""
        if len(shape) < 3:
            return False, False
        own = (self.cells > 1 and shape[-2] == self.cells, self.lanes > 1 and shape[-1] == self.lanes)
        return (False, any(own)) if self.flat else own

    def traced(self, leaf: Array) -> jax.ShapeDtypeStruct:
        """An argument as the program of one group of threads is traced with it."""
        shape = jnp.shape(leaf)
        if len(shape) >= 3:
            shape = (*shape[:-2], 1, WIDTH if self.differs(shape)[1] else 1)
        return jax.ShapeDtypeStruct(shape, jnp.result_type(leaf))

    def spread(self, leaf: Array) -> Array:
        """An argument `[..., rows or 1, columns or 1]`, or without these axes."""
        kept = jnp.asarray(leaf, stored(leaf.dtype))
        if kept.ndim < 3:
            return kept.reshape(kept.shape or (1,))
        if not self.differs(kept.shape)[1]:
            return kept
        if self.flat:
            kept = jnp.broadcast_to(kept, (*kept.shape[:-2], self.cells, self.lanes))
            kept = kept.reshape((*kept.shape[:-2], 1, self.cells * self.lanes))
        more = [(0, 0)] * (kept.ndim - 1) + [(0, self.columns - kept.shape[-1])]
        return jnp.pad(kept, more, mode="edge")

    def gathered(self, result: Array, dtype: Any) -> Array:
        """The runs of the block of a result `[..., rows, columns]`."""
        shape = (*result.shape[:-2], self.cells, self.lanes)
        runs = self.cells * self.lanes if self.flat else self.lanes
        return result[..., :runs].reshape(shape).astype(dtype)


def _layout(cells: int, lanes: int, quotas: Any) -> _Layout:
    """The layout with fewer threads that have nothing to do. Large tables are not copied for each run."""
    by_cell = _Layout(cells, lanes, False)
    own = any(by_cell.differs(leaf.shape)[0] for leaf in jax.tree.leaves(quotas))
    wasteful = by_cell.columns > _PADDED * lanes and not own
    return _Layout(cells, lanes, lanes == 1 or wasteful)


def _kernel_results(
    program: ClosedJaxpr, layout: _Layout, leaves: Sequence[Array], traced: Sequence[Any], interpret: bool
) -> list[Array]:
    """The results of a program that was traced for one group of threads, for all of a block.

    Raises:
        UnsupportedError: a kernel cannot contain the program.
    """
    if missing := unsupported_operations(program):
        raise UnsupportedError(", ".join(sorted(missing)))
    if (count := count_operations(program)) > _MOST_OPERATIONS:
        raise UnsupportedError(f"{count} operations")
    own = [layout.differs(jnp.shape(leaf)) for leaf in leaves]
    types = [variable.aval for variable in program.jaxpr.outvars]

    def body(zero: Any, *memory: Any) -> None:
        row, tile = lax.axis_index("row"), lax.axis_index("tile")
        arguments = [
            _table(ref, one.shape, one.dtype, row if differs[0] else 0, tile)
            for ref, one, differs in zip(memory, traced, own, strict=False)
        ]
        puts = [_put(ref, of, row, tile, layout) for ref, of in zip(memory[len(traced) :], types, strict=True)]
        with unknown_zero(zero[0]):
            results = evaluate(program, arguments, _steps(program, puts))
        for put, result in zip(puts, results, strict=True):
            if result is not None:
                put((), result)

    made = compat.mosaic_kernel(
        body,
        out_type=tuple(_memory(of, layout) for of in types),
        grid=(layout.rows, layout.tiles),
        grid_names=("row", "tile"),
        interpret=interpret,
    )
    results = made(jnp.zeros(1, jnp.int32), *(layout.spread(leaf) for leaf in leaves))
    return [_result(result, of, layout) for result, of in zip(results, types, strict=True)]


def _table(ref: Any, shape: tuple[int, ...], dtype: Any, row: Any, tile: Any) -> Table:
    """An argument in the memory of the device; small ones and those of each run are read at once."""
    per_run, wide = has_runs(shape), len(shape) >= 3

    def at(indices: tuple[Any, ...]) -> Any:
        places = [*indices[: len(shape) - 2], row] if wide else list(indices)
        places += [compat.places_of(tile, RUNS) if per_run else 0] if wide else []
        number = ref[tuple(places or [0])]
        return as_element(compat.one_per_thread(number) if per_run else number, dtype)

    table = Table(written_shape(shape), at)
    held = np.prod(table.shape) <= _HELD
    return Table(table.shape, at, table.part((), table.shape)) if held else table


def _memory(of: Any, layout: _Layout) -> jax.ShapeDtypeStruct:
    """The memory of a result: of all runs, or one element per group of threads."""
    own = (
        (*of.shape[:-2], layout.rows, layout.columns) if has_runs(of.shape) else (layout.rows * layout.tiles, *of.shape)
    )
    return jax.ShapeDtypeStruct(own, stored(of.dtype))


def _put(ref: Any, of: Any, row: Any, tile: Any, layout: _Layout) -> Callable[[tuple[Any, ...], Any], None]:
    """A function that stores a result, or the part of it that stands at some indices."""
    per_run = has_runs(of.shape)

    def put(first: tuple[Any, ...], part: Any) -> None:
        for index in np.ndindex(*part.shape):
            number = as_number(part[index], of.dtype, per_run)
            if per_run:
                ref[(*first, *index[:-1], row, compat.places_of(tile, RUNS))] = number
            else:
                ref[(row * layout.tiles + tile, *first, *index)] = number

    return put


def _steps(program: ClosedJaxpr, puts: Sequence[Callable[[tuple[Any, ...], Any], None]]) -> dict[int, Store]:
    """By number, what stores the results that the outermost loop returns step by step."""
    last = {
        variable: number
        for equation in program.jaxpr.eqns
        if equation.primitive.name == "scan"
        for number, variable in enumerate(equation.outvars)
        if number >= scan_parts(equation)[1]
    }
    read = {atom for equation in program.jaxpr.eqns for atom in equation.invars if not hasattr(atom, "val")}

    def store(put: Callable[[tuple[Any, ...], Any], None]) -> Store:
        return lambda step, part: put((step,), part)

    return {
        number: store(puts[number])
        for number, variable in enumerate(program.jaxpr.outvars)
        if not hasattr(variable, "val") and variable in last and variable not in read
    }


def _result(result: Array, of: Any, layout: _Layout) -> Array:
    if has_runs(of.shape):
        return layout.gathered(result, of.dtype)
    return jnp.max(result, axis=0).astype(of.dtype)
