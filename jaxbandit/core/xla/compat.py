"""What jaxbandit takes from JAX beyond what JAX promises. Without it everything works, but slower.

A newer JAX may move or remove these names, or refuse the compiler options. Then programs are not compiled as one kernel
(`cpu_kernel`), and a run may differ in its last bits between blocks of different sizes.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import Array

LOG = logging.getLogger("jaxbandit")
_TRIED = ("0.10.", "0.11.", "0.12.")  # versions of JAX with which the tests have passed

if TYPE_CHECKING:
    from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
else:
    try:
        from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
    except ImportError:
        _program = jax.make_jaxpr(lambda x: x + 1.0)(0.0)
        _equation = _program.jaxpr.eqns[0]
        ClosedJaxpr, Jaxpr = type(_program), type(_program.jaxpr)
        JaxprEqn, Literal = type(_equation), type(_equation.invars[1])

as_function: Callable[[ClosedJaxpr], Callable[..., Any]] | None
try:
    from jax.extend.core import jaxpr_as_fun as as_function
except ImportError:
    as_function = None

_frames: Any
try:
    from jax._src.config import traceback_in_locations_limit as _frames
except ImportError:
    _frames = None

_mark: Callable[..., Any] | None
try:
    from jax.experimental.xla_metadata import set_xla_metadata as _mark
except ImportError:
    _mark = None

__all__ = [
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "as_function",
    "devices_started",
    "kernel_options",
    "kernels_work",
    "marked",
    "mosaic_kernel",
    "one_per_thread",
    "places_of",
    "quick_options",
    "small_options",
    "why_no_mosaic",
    "without_lines",
]

# Vectors of 512 bits where the processor has them; and no library calls for sums, which a kernel cannot make
_OPTIONS = {"xla_cpu_prefer_vector_width": 512, "xla_cpu_experimental_ynn_fusion_type": ""}
# Loops as CUDA graphs: the host does not launch the kernels of each round (2 to 3 times as fast for few runs, measured)
_GRAPHS = {"xla_gpu_enable_command_buffer": "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION,WHILE"}
# For programs of many small loops: the emitters make a module of MLIR per loop, and its code is no faster (measured)
_SMALL = {"xla_cpu_use_fusion_emitters": False}
_KNOW_SMALL = "0.10."  # the versions of JAX that are known to have these options; others are asked (0.12 has none)
_FRAMES = 100  # lines of Python per operation that JAX writes into a program, unless the user chooses another number
# With them a program compiles in a third of the time, and runs slower
_QUICK = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
    "xla_llvm_disable_expensive_passes": True,
}


def devices_started() -> bool:
    """Whether JAX has started the threads of its devices; after that, a process must not be forked."""
    try:
        from jax._src.xla_bridge import backends_are_initialized
    except ImportError:
        return True
    return bool(backends_are_initialized())


def kernel_options() -> dict[str, Any] | None:
    """The options with which the rounds are compiled; None where there are none."""
    if jax.default_backend() == "cpu":
        return dict(_OPTIONS) if kernels_work() else None
    return _graph_options() if jax.default_backend() == "gpu" else None


@functools.cache
def _graph_options() -> dict[str, Any] | None:
    """The options with which a GPU repeats its kernels by itself; None if JAX lacks them, or the user chose others."""
    (name,) = _GRAPHS
    chosen = name in os.environ.get("XLA_FLAGS", "")
    return dict(_GRAPHS) if not chosen and all(_is_known(*one) for one in _GRAPHS.items()) else None


@functools.cache
def quick_options() -> dict[str, Any]:
    """The options for programs that run once, on CPU: those that this JAX knows. Empty on other devices."""
    if jax.default_backend() != "cpu":
        return {}
    return {name: value for name, value in _QUICK.items() if _is_known(name, value)}


@functools.cache
def small_options() -> dict[str, Any]:
    """The options for programs of many small loops, on CPU; empty on other devices, or where this JAX has none."""
    if jax.default_backend() != "cpu":
        return {}
    known = jax.__version__.startswith(_KNOW_SMALL)
    return {name: value for name, value in _SMALL.items() if known or _is_known(name, value)}


def without_lines() -> contextlib.AbstractContextManager[object]:
    """A context in which programs do not say which lines of Python they come from: they are lowered in .7 of the time.

    Where the user has chosen how many lines a program names, it names them.
    """
    return contextlib.nullcontext() if _frames is None or _frames.value != _FRAMES else _frames(0)


def _is_known(option: str, value: Any) -> bool:
    try:
        jax.jit(lambda x: x + 1.0, compiler_options={option: value}).lower(0.0).compile()
    except Exception:  # of any kind: the option is an extra
        return False
    return True


def marked(result: Array) -> Array:
    """The result of a call with the attributes that make XLA compile the call as one function."""
    assert _mark is not None
    made: Array = _mark(result, inlineable="false", xla_cpu_small_call="true")
    return made


@functools.cache
def kernels_work() -> bool:
    """Whether this JAX compiles a call as one kernel, on CPU. A version that was not tried is tried here."""
    if _mark is None:
        why = "jax.experimental.xla_metadata is missing"
    elif jax.__version__.startswith(_TRIED):
        return True
    else:
        try:
            made = jax.jit(_small_program, compiler_options=_OPTIONS)(jnp.arange(8.0))
            if float(made) == 57.0:
                return True
            why = "a program gave a wrong result"
        except Exception as error:  # of any kind: this JAX is not known
            why = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    LOG.warning(
        "programs are not compiled as one kernel with JAX %s (%s): simulations are slower", jax.__version__, why
    )
    return False


def _small_program(values: Array) -> Array:
    """Two results of a marked call, added: 28 + 29 for 0, ..., 7."""

    @jax.jit
    def sums(values: Array) -> tuple[Array, Array]:
        total = jnp.sum(values)
        return total, total + 1.0

    one, other = (marked(result) for result in sums(values))
    return one + other


@functools.cache
def _pallas() -> SimpleNamespace | str:
    """What jaxbandit uses of Pallas for GPUs, imported at the first call; or the reason why this JAX lacks it."""
    if tuple(map(int, jax.__version__.split(".")[:2])) < (0, 11):
        return f"JAX {jax.__version__} is older than 0.11"
    try:
        from jax.experimental import pallas
        from jax.experimental.pallas import mosaic_gpu

        gpu: Any = mosaic_gpu  # its types are those of one version

        return SimpleNamespace(
            ds=pallas.ds,
            multiple_of=pallas.multiple_of,
            kernel=gpu.kernel,
            interpreted=gpu.InterpretGPUParams,
            layout_cast=gpu.layout_cast,
            strided=gpu.Layout.WG_STRIDED,
            params=gpu.CompilerParams(lowering_semantics=gpu.LoweringSemantics.Lane),
        )
    except (ImportError, AttributeError) as error:
        return f"JAX {jax.__version__} has no Pallas for GPUs as jaxbandit uses it ({error})"


def why_no_mosaic() -> str | None:
    """The reason why this JAX cannot make kernels of Mosaic GPU; None where it can."""
    found = _pallas()
    return found if isinstance(found, str) else None


def mosaic_kernel(
    body: Callable[..., None],
    *,
    out_type: tuple[jax.ShapeDtypeStruct, ...],
    grid: tuple[int, ...],
    grid_names: tuple[str, ...],
    interpret: bool,
) -> Callable[..., Any]:
    """A kernel of Mosaic GPU, one warp group per point of the grid.

    Args:
        body: takes the memory of the arguments and of the results, and writes the latter.
        out_type: the shapes and dtypes of the results.
        grid, grid_names: the lengths and names of the axes of the grid.
        interpret: whether the kernel is interpreted, on any device.
    """
    found = _pallas()
    assert not isinstance(found, str)
    # One thread at a time: the layout of each vector is stated. By default, Mosaic searches for layouts, which takes a
    # time that grows with the square of the program (24 s instead of 0.7 s for thompson with ten arms).
    how = {"interpret": found.interpreted()} if interpret else {"compiler_params": found.params}
    made: Callable[..., Any] = found.kernel(body, out_type=out_type, grid=grid, grid_names=grid_names, **how)
    return made


def places_of(tile: Array, width: int) -> Any:
    """The places of a tile along an axis that is cut into tiles of `width`."""
    found = _pallas()
    assert not isinstance(found, str)
    return found.ds(found.multiple_of(tile * width, width), width)


def one_per_thread(numbers: Array) -> Array:
    """The same vector, told to lie in one register per thread. Otherwise the compiler tries layouts, for minutes."""
    found = _pallas()
    assert not isinstance(found, str)
    cast: Array = found.layout_cast(numbers, found.strided(numbers.shape, vec_size=1))
    return cast
