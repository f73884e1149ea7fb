"""How a `Problem` is shown: as text, and as HTML in notebooks."""

from __future__ import annotations

import html
import reprlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit.core.component import Component
from jaxbandit.core.rationals import shortest_decimals

if TYPE_CHECKING:
    from jaxbandit.environment.means.changing import ChangingMeans
    from jaxbandit.environment.merit import Merit
    from jaxbandit.environment.opportunities import Opportunity

_REPR = reprlib.Repr()  # for numbers and tables, with long lists cut
_REPR.maxlist, _REPR.maxdict, _REPR.maxstring, _REPR.maxother = 6, 8, 60, 60
_ROWS_SHOWN = 2  # rows of several instances in the text
_ARMS_SHOWN = 30  # rows of the HTML table
_HEADINGS = {"means": "mean", "fractions": "fraction", "penalties": "penalty rate"}  # of the HTML table


class ProblemDisplay:
    """The display of a `Problem`, which inherits it."""

    if TYPE_CHECKING:
        KEYS: tuple[str, ...]
        arms: int
        instances: int
        plays: int
        changing: ChangingMeans | None
        merit: Merit | None
        opportunity: Opportunity | None

        def components(self) -> Mapping[str, Component]: ...
        def tables(self) -> dict[str, Any]: ...
        def fair_chances(self) -> np.ndarray: ...
        def opportunities(self) -> np.ndarray: ...

    def __repr__(self) -> str:
        texts = {name: _numbers_in_words(values, name != "means") for name, values in self._arrays().items()}
        texts |= self._words()
        if self.plays > 1:
            texts["plays"] = str(self.plays)
        parts = [self._size(), *(f"{name}={texts[name]}" for name in self.KEYS if name in texts)]
        line = f"Problem({', '.join(parts)})"
        return line if len(line) <= 120 else "Problem(\n    " + ",\n    ".join(parts) + ",\n)"

    def _repr_html_(self) -> str:
        """For notebooks: a table with one row per arm of the first instance, and a line with the other arguments."""
        columns = self._arrays()
        if self.merit is not None:
            columns["fair chance"] = self.fair_chances()
        if self.opportunity is not None:
            columns["opportunity"] = self.opportunities()
        kinds = {"reward": "'bernoulli'", "delay": "'none'"} | self._words()
        line = [self._size(), f"plays = {self.plays}", *(f"{name} = {text}" for name, text in kinds.items())]
        if self.instances > 1:
            line.append(f"the table shows instance 0 of {self.instances}")
        if self.changing is not None:
            line.append("the means change: the table shows those of round 1")
        return _html_table({name: values[:, 0] for name, values in columns.items()}, "; ".join(line))

    def _size(self) -> str:
        arms = f"{self.arms} arm{'s' * (self.arms > 1)}"
        return arms if self.instances == 1 else f"{arms}, {self.instances} instances"

    def _arrays(self) -> dict[str, np.ndarray]:
        """The numbers per arm that differ from their defaults, `[K, J or 1]`."""
        arrays = {name: getattr(self, name) for name in ("means", "availability", "fractions", "penalties")}
        return {name: values for name, values in arrays.items() if values is not None}

    def _words(self) -> dict[str, str]:
        """The components and tables that differ from their defaults, as text."""
        given = self.components().items()
        texts = {name: _table_in_words(component.as_table(), component) for name, component in given}
        defaults = {"reward": "'bernoulli'", "delay": "'none'"}
        shown = {name: text for name, text in texts.items() if text != defaults.get(name)}
        return shown | {name: _REPR.repr(value) for name, value in self.tables().items()}


def _numbers_in_words(values: np.ndarray, one_for_all: bool) -> str:
    """Numbers `[K, J or 1]` as arguments of `Problem`, with 6 digits each and long lists cut.

    Args:
        one_for_all: show equal numbers as one number.
    """
    rows = values.T[:_ROWS_SHOWN].tolist()
    exact = values.dtype == object
    rows = shortest_decimals(rows, "") if exact else [[float(f"{value:.6g}") for value in row] for row in rows]
    if values.shape[1] == 1:
        return repr(rows[0][0]) if one_for_all and len({*rows[0]}) == 1 else _REPR.repr(rows[0])
    return f"[{', '.join([*map(_REPR.repr, rows), *['...'] * (values.shape[1] > _ROWS_SHOWN)])}]"


def _table_in_words(table: Mapping[str, Any], component: Component) -> str:
    """The table of a component without the parameters that have their defaults; its name where none is left."""
    shown = {}
    for name, value in table.items():
        field = component.parameters().get(name)
        default = None if field is None else field.default
        if value != (default.as_table() if isinstance(default, Component) else default):
            part = getattr(component, name, None)
            shown[name] = _table_in_words(value, part) if isinstance(part, Component) else _REPR.repr(value)
    if len(shown) == 1:
        return repr(component.name)
    return "{" + ", ".join(f"{name!r}: {text}" for name, text in shown.items()) + "}"


def _html_table(columns: Mapping[str, np.ndarray], line: str) -> str:
    """A table with one row per arm and one column per array `[K]`, below a line of text."""
    rows = [[str(k), *(f"{float(values[k]):.6g}" for values in columns.values())] for k in range(len(columns["means"]))]
    if len(rows) > _ARMS_SHOWN:
        rows[_ARMS_SHOWN - 2 : -1] = [["..."] * len(rows[0])]
    headings = ["arm", *(_HEADINGS.get(name, name) for name in columns)]
    head = "".join(f"<th>{html.escape(name)}</th>" for name in headings)
    body = "".join("<tr>" + "".join(f"<td>{text}</td>" for text in row) + "</tr>" for row in rows)
    text = f"<p>Problem: {html.escape(line, quote=False)}</p>"
    return f"<div>{text}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
