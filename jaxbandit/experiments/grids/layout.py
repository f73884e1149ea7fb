"""Where the policies of a grid stand over two of its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.experiments.grids.parameters import (
    Value,
    family_positions,
    is_missing,
    parameter_values,
    parameters,
    unknown_label,
    unknown_parameter,
    varying,
)

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class GridLayout:
    """A family of policies laid out over two of its parameters.

    Attributes:
        family: its label.
        x, y: the parameters.
        columns, rows: the values of x and y: numbers sorted, words in order of appearance.
        positions: the position of each cell's policy, int `[row, column]`; -1 where there is none.
        fixed: the values of the other parameters.
    """

    family: str
    x: str
    y: str
    columns: list[Value]
    rows: list[Value]
    positions: np.ndarray
    fixed: dict[str, Value]


def layout(results: xr.Dataset, x: str, y: str, family: str | None = None) -> GridLayout:
    """The layout of a family over two parameters; arguments and errors are those of `heat_map`."""
    known = parameters(results)
    for key, name in (("x", x), ("y", y)):
        if name not in known:
            raise unknown_parameter(key, name, known)
    if x == y:
        left = ", ".join(name for name in known if name != x)
        which = f"one of {left}" if left else "and the grids vary no other; `jb.plots.sweep` draws one parameter"
        raise InputError("y", y, f"a parameter other than x, {which}")
    family = _only_family(results, x, y) if family is None else family
    positions = family_positions(results, family)
    columns_of = {name: results[name].values[positions] for name in known}
    values_of = {name: parameter_values(column) for name, column in columns_of.items()}
    for key, name in (("x", x), ("y", y)):
        if not values_of[name]:
            own = ", ".join(other for other, values in values_of.items() if values)
            words = f"a parameter of {family}'s grid: {own}" if own else f"must not be given: {family} has no grid"
            raise InputError(key, name, words)
    others = {name: values for name, values in values_of.items() if name not in (x, y) and values}
    _check_fixed(family, {name: values for name, values in others.items() if len(values) > 1})
    columns, rows = values_of[x], values_of[y]
    cells = np.full((len(rows), len(columns)), -1)
    column_of, row_of = ({value: i for i, value in enumerate(values)} for values in (columns, rows))
    for position, at_x, at_y in zip(positions.tolist(), columns_of[x].tolist(), columns_of[y].tolist(), strict=True):
        if not (is_missing(at_x) or is_missing(at_y)):
            cells[row_of[at_y], column_of[at_x]] = position
    return GridLayout(family, x, y, columns, rows, cells, {name: values[0] for name, values in others.items()})


def _only_family(results: xr.Dataset, x: str, y: str) -> str:
    """The only family that varies both parameters.

    Raises:
        InputError: there are several, or none.
    """
    varied = varying(results)
    able = [family for family, names in varied.items() if {x, y} <= set(names)]
    if len(able) > 1:
        raise unknown_label("family", None, able)
    if not able:
        held = "; ".join(f"{family}: {', '.join(names)}" for family, names in varied.items())
        raise InputError("x and y", (x, y), f"two parameters that one family varies ({held})")
    return able[0]


def _check_fixed(family: str, varied: dict[str, list[Value]]) -> None:
    """Raise an error where further parameters vary: a map shows two, of the others one value has to be selected."""
    if not varied:
        return
    name, value = next((name, values[0]) for name, values in varied.items())
    held = ", ".join(f"{n} ({len(values)} values)" for n, values in varied.items())
    select = f'results.isel(policy=results["{name}"] == {value!r})'
    words = f"must have one value of each parameter besides x and y; select it first: {select}"
    raise InputError("results", f"{family}, which varies {held}", words)
