"""Lists over keys of a problem: a `[problem]` table and a `[grid]` over it to the tables of its points."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from jaxbandit.core.errors import InputError, short_repr, unknown_key

MOST = 10**6  # configurations

# Keys of a problem where a list can mean nothing else; elsewhere one is a number an arm, and [grid] is asked for.
_IN_PLACE = ("plays", "penalties.gap_fraction", "merit.", "opportunity.")


def expanded(problem: Mapping[str, Any], grid: Any = None) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The points of a grid over a problem: by key, the value there; and the table of the problem there.

    Args:
        problem: the table `[problem]`; a list under `plays`, `penalties.gap_fraction` or a number of `merit` or
            `opportunity` is one of the grid.
        grid: the table `[grid]`: the same keys as the config (`problem.penalties`), a list of values under each.

    Raises:
        InputError: a key of the grid that is no list, or no problem's.
    """
    axes = {name: values for name, values in _leaves(problem) if _in_place(name) and isinstance(values, list)}
    asked = _asked(grid)
    keys = {name: f"problem.{name}" for name in axes} | {name: f"grid.problem.{name}" for name in asked}
    axes |= asked
    for name, values in axes.items():
        if not isinstance(values, list) or not values or any(value is None for value in values):
            raise InputError(keys[name], values, "a list of values, one a configuration")
    count = math.prod(map(len, axes.values()))
    if count > MOST:
        raise InputError("grid", {name: len(values) for name, values in axes.items()}, f"at most {MOST} combinations")
    for chosen in itertools.product(*axes.values()):
        table = copy.deepcopy(dict(problem)) if axes else dict(problem)
        for name, value in zip(axes, chosen, strict=True):
            _put(table, name, value)
        point = zip(axes.items(), chosen, strict=True)
        yield {f"problem.{name}": value for (name, values), value in point if len(values) > 1}, table


def _asked(grid: Any) -> dict[str, Any]:
    if grid is None:
        return {}
    if not isinstance(grid, Mapping):
        raise InputError("grid", grid, "a table [grid], as problem.penalties = [0.1, 0.2]")
    axes = {}
    for name, values in _leaves(grid):
        section, _, key = name.partition(".")
        if section == "policies":
            raise InputError(f"grid.{name}", values, "nothing: a list in the policy's own table makes a grid")
        if section == "simulation":
            raise InputError(f"grid.{name}", values, "nothing: one simulation has one horizon and one number of seeds")
        if section != "problem" or not key:
            raise unknown_key(f"grid.{name}", values, ["problem"])
        axes[key] = values
    return axes


def _in_place(name: str) -> bool:
    return any(name == key or (key.endswith(".") and name.startswith(key)) for key in _IN_PLACE)


def _leaves(table: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, Any]]:
    """The values of nested tables that are no tables, by dotted key."""
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{start}{key}.")
        else:
            yield f"{start}{key}", value


def _put(table: dict[str, Any], name: str, value: Any) -> None:
    *path, last = name.split(".")
    for part in path:
        held = table.get(part)
        if isinstance(held, str):  # reward = "gaussian" grows into a table when a parameter is set
            held = {"kind": held}
        if held is not None and not isinstance(held, dict):
            raise InputError(
                f"grid.problem.{name}", value, f"a key of a table; problem.{part} holds {short_repr(held)}"
            )
        inner: dict[str, Any] = {} if held is None else held
        table[part] = inner
        table = inner
    table[last] = value
