"""Which arms can be selected: with a probability per round, or by a table of rounds (sleeping arms)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxbandit.core.errors import InputError, unknown_key
from jaxbandit.core.input_values import finite_numbers, number_or_numbers, row_per_arm, to_python

KEY = "problem.availability"


def read_probabilities(value: Any, arms: int, instances: int) -> np.ndarray | None:
    """The probability that each arm can be selected, float64 `[K, J or 1]`; None where all are 1.

    Raises:
        InputError: the values are not numbers from 0 to 1.
    """
    numbers = finite_numbers(value, KEY, number_or_numbers(value, "from 0 to 1"), low=0, high=1)
    return None if np.all(numbers == 1) else row_per_arm(numbers, arms, instances, KEY, value)


def read_table(value: Mapping[str, Any], arms: int) -> np.ndarray:
    """The rows of a table `{ table = [[1, 0, 1], ...] }`, bool `[n, K]`.

    Arm k can be selected in round t if entry k of row (t - 1) mod n is 1.

    Raises:
        InputError: anything else.
    """
    for name in value:
        if name != "table":
            raise unknown_key(f"{KEY}.{name}", value[name], ["table"])
    key = f"{KEY}.table"
    rows, allowed = to_python(value.get("table")), f"rows of {arms} entries 0 or 1, one entry per arm"
    if not isinstance(rows, list | tuple) or not rows:
        raise InputError(key, rows, allowed)
    for number, row in enumerate(rows):
        if not isinstance(row, list | tuple) or len(row) != arms or any(entry not in (0, 1) for entry in row):
            raise InputError(f"{key}[{number}]", row, f"{arms} entries 0 or 1, one per arm")
    return np.array(rows, bool)
