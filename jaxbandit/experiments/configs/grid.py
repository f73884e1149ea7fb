"""Grids over a problem: a table `[problem]` and a table `[grid]`, expanded to a table `[problem]` per point."""

from __future__ import annotations

import copy
import inspect
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from jaxbandit.core.errors import InputError, short_repr, unknown_key
from jaxbandit.environment.problem import Problem

MOST = 10**6  # configurations

Table = dict[str, Any]  # of TOML, or the same from Python: any value that a key may take
Point = dict[str, Any]  # a point of a grid: the value of each varied config key

# Keys of a problem where a list can only be a grid. Elsewhere a list has one number per arm, and [grid] makes grids.
_IN_PLACE = ("plays", "penalties.gap_fraction", "merit.", "opportunity.")


def expanded(problem: Mapping[str, object], grid: object = None) -> Iterator[tuple[Point, Table]]:
    """The points of a grid over a problem, each with its table `[problem]`. The values of the last list change fastest.

    Args:
        problem: the table `[problem]`. A list under `plays`, `penalties.gap_fraction` or a parameter of `merit` or
            `opportunity` is a list of the grid.
        grid: the table `[grid]`: a list of values under each of some config keys, such as `problem.penalties`.

    Raises:
        InputError: a key of the grid holds no list or is not a key of the problem.
    """
    axes = problem_axes(problem, grid)
    varied_in_grid = _grid_axes(grid)
    for name, values in axes.items():
        if not isinstance(values, list) or not values or any(value is None for value in values):
            key = f"grid.problem.{name}" if name in varied_in_grid else f"problem.{name}"
            raise InputError(key, values, "a list of values, one per configuration")
    count = math.prod(map(len, axes.values()))
    if count > MOST:
        lengths = {name: len(values) for name, values in axes.items()}
        words = f"must make at most {MOST} configurations; lists of these lengths make {count}"
        raise InputError("grid", lengths, words)
    for chosen in itertools.product(*axes.values()):
        table = copy.deepcopy(dict(problem)) if axes else dict(problem)
        for name, value in zip(axes, chosen, strict=True):
            _set_value(table, name, value)
        point = zip(axes.items(), chosen, strict=True)
        yield {f"problem.{name}": value for (name, several), value in point if len(several) > 1}, table


def problem_axes(problem: Mapping[str, object], grid: object = None) -> dict[str, Any]:
    """The values under each varied key of a problem, unchecked; arguments are as for `expanded`."""
    in_place = {name: values for name, values in _leaves(problem) if _is_grid_key(name) and isinstance(values, list)}
    return in_place | _grid_axes(grid)


def _grid_axes(grid: object) -> dict[str, Any]:
    """The values under each key of a problem in the table `[grid]`; they are not checked yet."""
    if grid is None:
        return {}
    if not isinstance(grid, Mapping):
        raise InputError("grid", grid, "a table [grid], such as problem.penalties = [0.1, 0.2]")
    axes = {}
    for name, values in _leaves(grid):
        section, _, key = name.partition(".")
        if section == "policies":
            words = "cannot be in [grid], which varies keys of [problem]; give the list in the table of the policy"
            raise InputError(f"grid.{name}", values, words)
        if section == "simulation":
            words = "cannot be in [grid], which varies keys of [problem]; give one value in [simulation]"
            raise InputError(f"grid.{name}", values, words)
        if name == "problem":
            raise InputError("grid.problem", values, "a table of lists, such as { penalties = [0.1, 0.2] }")
        if section != "problem":
            raise unknown_key(f"grid.{name}", values, ["problem"])
        head, keys = key.partition(".")[0], inspect.signature(Problem).parameters
        if head not in keys:
            raise unknown_key(f"grid.problem.{head}", values, keys)
        axes[key] = values
    return axes


def _is_grid_key(name: str) -> bool:
    """Whether a list under this key of a problem makes a grid."""
    return any(name == key or (key.endswith(".") and name.startswith(key)) for key in _IN_PLACE)


def _leaves(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of nested tables that are not tables themselves, by dotted key."""
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _set_value(table: Table, name: str, value: object) -> None:
    """Set a dotted key of a problem's table."""
    *path, last = name.split(".")
    for part in path:
        held = table.get(part)
        if isinstance(held, str):  # reward = "gaussian" becomes a table when a parameter is set
            held = {"kind": held}
        if held is not None and not isinstance(held, dict):
            words = f"cannot be set: problem.{part} is {short_repr(held)}, not a table"
            raise InputError(f"grid.problem.{name}", value, words)
        inner: Table = {} if held is None else held
        table[part] = inner
        table = inner
    table[last] = value
