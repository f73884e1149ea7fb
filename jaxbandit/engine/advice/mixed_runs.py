"""Lines of users' code that combine the numbers of several runs, which are independent of one another."""

from __future__ import annotations

import linecache
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from jaxbandit.core.users_code.failures import is_installed, is_library, is_ours
from jaxbandit.core.xla.compat import ClosedJaxpr, Jaxpr, JaxprEqn, Literal

# The parameters that name the axes along which an operation combines numbers
_AXES = ("axes", "axis", "dimension", "dimensions")
_COMBINING = ("reduce_", "argmax", "argmin", "cum", "sort", "rev", "top_k", "approx_top_k")
_SAFE = ("reduce_precision",)


def lines_of(program: ClosedJaxpr, sizes: Collection[int]) -> list[str]:
    """Where users' code combines numbers along an axis of the runs, such as "line 7 of mine.py: `now.mean.max()`".

    A program that was traced for runs of these sizes is searched, not run: an operation along such an axis may have no
    effect on any result.

    Args:
        program: traced; operations know the lines that they come from.
        sizes: the lengths of the axes of the runs, and of axes into which they are flattened. Any axis of such a length
            is taken for one of the runs.
    """
    return list(dict.fromkeys(_lines(program.jaxpr, frozenset(sizes), "")))


def in_words(lines: list[str]) -> str:
    """A warning about such lines, a clause."""
    shown = ", ".join(lines[:3]) + (f" and {len(lines) - 3} more" if len(lines) > 3 else "")
    return (
        f"combines numbers of several runs ({shown}), so that a run may depend on the others; reduce over axis 0, the "
        "arms, only, as in `x.sum(axis=0, keepdims=True)`; `jb.check_policy` tells whether runs depend on one another"
    )


def _lines(program: Jaxpr, sizes: frozenset[int], outside: str) -> Iterator[str]:
    for equation in _with_effect(program):
        found = _users_line(equation)
        line = outside if found is None else found
        if line and _combines(equation, sizes):
            yield line
        within = line if "jaxpr" in equation.params else outside  # a function of `jax.numpy` is called in this line
        for part in equation.params.values():
            for one in part if isinstance(part, tuple | list) else (part,):
                if isinstance(one, ClosedJaxpr):
                    yield from _lines(one.jaxpr, sizes, within)
                elif isinstance(one, Jaxpr):
                    yield from _lines(one, sizes, within)


def _with_effect(program: Jaxpr) -> list[JaxprEqn]:
    """The operations that results depend on; the value of a function that is only differentiated is not among them."""
    needed, kept = set(filter(_is_variable, program.outvars)), []
    for equation in reversed(program.eqns):
        if equation.effects or not needed.isdisjoint(equation.outvars):
            needed.update(filter(_is_variable, equation.invars))
            kept.append(equation)
    return kept[::-1]


def _is_variable(atom: object) -> bool:
    return not isinstance(atom, Literal)


def _combines(equation: JaxprEqn, sizes: frozenset[int]) -> bool:
    """Whether an operation combines numbers along an axis with one of the sizes."""
    name, params = equation.primitive.name, equation.params
    shapes: list[tuple[int, ...]] = [getattr(atom.aval, "shape", ()) for atom in equation.invars]
    if name == "dot_general":
        return any(shapes[0][axis] in sizes for axis in params["dimension_numbers"][0][0])
    if name == "slice":
        starts, ends = params["start_indices"], params["limit_indices"]
        return any(n in sizes and e - b < n for n, b, e in zip(shapes[0], starts, ends, strict=True))
    if name == "scan":
        rows = len(shapes) - params["num_consts"] - params["num_carry"]  # arrays whose first axis is that of the loop
        return params["length"] in sizes and params["num_carry"] > 0 and rows > 0
    if name.startswith("scatter"):
        return _scatters(params["dimension_numbers"], shapes[0], shapes[2], sizes)
    if name.startswith("reduce_window"):
        windows = params.get("window_dimensions", ())
        return any(n in sizes and window > 1 for n, window in zip(shapes[0], windows, strict=False))
    if name == "conv_general_dilated":
        return any(shapes[0][axis] in sizes for axis in params["dimension_numbers"].lhs_spec[2:])
    if name in ("reduce_or", "reduce_and") and not getattr(equation.outvars[0].aval, "shape", ()):
        return False  # the condition of a loop, or whether work can be skipped in all runs
    if not (name == "reduce" or name.startswith(_COMBINING)) or name in _SAFE:
        return False
    given: Any = next((params[key] for key in _AXES if key in params), -1 if name.endswith("top_k") else ())
    axes = given if isinstance(given, tuple | list) else (given,)
    return bool(shapes[0]) and any(shapes[0][axis] in sizes for axis in axes)


def _scatters(numbers: Any, operand: tuple[int, ...], updates: tuple[int, ...], sizes: frozenset[int]) -> bool:
    """Whether updates of several runs meet: more axes of runs have updates than the indices address in the operand."""
    written = [n for axis, n in enumerate(updates) if axis not in numbers.update_window_dims and n in sizes]
    addressed = {*numbers.scatter_dims_to_operand_dims, *numbers.operand_batching_dims}
    return len(written) > sum(operand[axis] in sizes for axis in addressed)


def _users_line(equation: JaxprEqn) -> str | None:
    """The line of the user's code that calls an operation; "" if this package calls it, None if that is not known."""
    info: Any = getattr(equation, "source_info", None)
    for frame in getattr(getattr(info, "traceback", None), "frames", ()):
        file, number = frame.file_name, getattr(frame, "line_num", 0)
        if is_ours(file):
            return ""
        if is_library(file) or is_installed(file):
            continue
        text = linecache.getline(file, number).strip()
        return f"line {number} of {Path(file).name}" + (f": `{text}`" if text else "")
    return None
