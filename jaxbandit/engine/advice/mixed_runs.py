"""Lines of users' code that combine the numbers of several runs, which are independent of one another."""

from __future__ import annotations

import linecache
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from jaxbandit.core.users_code.failures import is_library
from jaxbandit.core.xla.compat import ClosedJaxpr, Jaxpr, JaxprEqn

# The parameters that name the axes along which an operation combines numbers
_AXES = ("axes", "axis", "dimension", "dimensions")
_COMBINING = ("reduce_", "argmax", "argmin", "cum", "sort", "rev", "top_k", "approx_top_k")
_SAFE = ("reduce_precision",)
_PACKAGE = str(Path(__file__).parents[2])


def lines_of(program: ClosedJaxpr, sizes: Collection[int]) -> list[str]:
    """Where users' code combines numbers along an axis of the runs, such as "line 7 of mine.py: `now.mean.max()`".

    A program that was traced for runs of these sizes is searched, not run: an operation along such an axis may have no
    effect on any result.

    Args:
        program: traced; operations know the lines that they come from.
        sizes: the lengths of the axes of the runs, and of axes into which they are flattened; no other axis has them.
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
    for equation in program.eqns:
        line = _users_line(equation) or outside
        if line and _combines(equation, sizes):
            yield line
        within = line if "jaxpr" in equation.params else outside  # a function of `jax.numpy` is called in this line
        for part in equation.params.values():
            for one in part if isinstance(part, tuple | list) else (part,):
                if isinstance(one, ClosedJaxpr):
                    yield from _lines(one.jaxpr, sizes, within)
                elif isinstance(one, Jaxpr):
                    yield from _lines(one, sizes, within)


def _combines(equation: JaxprEqn, sizes: frozenset[int]) -> bool:
    """Whether an operation combines numbers along an axis with one of the sizes."""
    name = equation.primitive.name
    shapes: list[tuple[int, ...]] = [getattr(atom.aval, "shape", ()) for atom in equation.invars]
    if name == "dot_general":
        contracted = equation.params["dimension_numbers"][0][0]
        return any(shapes[0][axis] in sizes for axis in contracted)
    if not name.startswith(_COMBINING) or name in _SAFE:
        return False
    if name.endswith("top_k"):
        return bool(shapes[0]) and shapes[0][-1] in sizes
    given: Any = next((equation.params[key] for key in _AXES if key in equation.params), ())
    axes = given if isinstance(given, tuple | list) else (given,)
    return any(shapes[0][axis] in sizes for axis in axes)


def _users_line(equation: JaxprEqn) -> str:
    """The line of the user's code that calls an operation; "" if this package calls it."""
    info: Any = getattr(equation, "source_info", None)
    for frame in getattr(getattr(info, "traceback", None), "frames", ()):
        file, number = frame.file_name, getattr(frame, "line_num", 0)
        if file.startswith(_PACKAGE):
            return ""
        if is_library(file):
            continue
        text = linecache.getline(file, number).strip()
        return f"line {number} of {Path(file).name}" + (f": `{text}`" if text else "")
    return ""
