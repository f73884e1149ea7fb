"""Which parameters of a test run with the fast tests, which with the slow ones, and which in full sweeps alone."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

FULL = (pytest.mark.slow, pytest.mark.full)


def partly_fast(values: Iterable[Any], fast: Collection[Any]) -> list[Any]:
    """The values of a parameter: those in `fast` are fast tests, the others slow ones."""
    return [value if value in fast else pytest.param(value, marks=pytest.mark.slow) for value in values]


def first_fast(values: Iterable[Any], count: int = 1) -> list[Any]:
    """The values of a parameter, or tuples of values: the first ones are fast tests, the others slow ones."""
    given = [value if isinstance(value, tuple) else (value,) for value in values]
    return [pytest.param(*value, marks=[pytest.mark.slow] * (place >= count)) for place, value in enumerate(given)]


def swept(values: Iterable[Any], sample: Collection[Any]) -> list[Any]:
    """The values of a parameter: those of the sample are slow tests, the others run with `-m full`."""
    return [pytest.param(value, marks=pytest.mark.slow if value in sample else FULL) for value in values]


def every(values: Iterable[Any], step: int) -> list[Any]:
    """The values of a parameter: every so many are slow tests, the others run with `-m full`."""
    given = [value if isinstance(value, tuple) else (value,) for value in values]
    return [pytest.param(*value, marks=FULL if place % step else pytest.mark.slow) for place, value in enumerate(given)]
