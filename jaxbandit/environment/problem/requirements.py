"""What each arm is guaranteed, and what it costs to miss it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.core.input_values import finite_numbers, number_or_numbers, row_per_arm
from jaxbandit.core.rationals import exact_fractions


def read_fractions(value: Any, arms: int, instances: int, plays: int) -> np.ndarray | None:
    """The argument `fractions` of `Problem` as exact ratios `[K, J or 1]`; None where there are none.

    Raises:
        InputError: they are not numbers from 0 to 1, or their sum is above L.
    """
    if value is None:
        return None
    key = "problem.fractions"
    rows = row_per_arm(exact_fractions(value, key), arms, instances, key, value, exact=True)
    if any(not 0 <= tau <= 1 for tau in rows.flat):
        raise InputError(key, value, number_or_numbers(value, "from 0 to 1"))
    sums = [sum(column, Fraction(0)) for column in rows.T]
    if max(sums) > plays:
        raise InputError(
            key, value, f"must sum to at most plays = {plays} (they sum to {sum_in_words(max(sums), plays)})"
        )
    return rows


def read_penalties(value: Any, means: np.ndarray, changing: bool) -> np.ndarray | None:
    """The argument `penalties` of `Problem`, float64 `[K, J or 1]`; None where there are none.

    Args:
        value: the argument.
        means: mu, float64 `[K, J]`.
        changing: whether means change.

    Raises:
        InputError: they are not numbers >= 0.
    """
    if value is None:
        return None
    key = "problem.penalties"
    if isinstance(value, Mapping):
        if set(value) != {"gap_fraction"}:
            raise InputError(key, dict(value), "numbers >= 0, or a table { gap_fraction = x }")
        if changing:
            raise InputError(key, dict(value), "numbers >= 0 where means change, because gaps change with them")
        factor = finite_numbers(value["gap_fraction"], f"{key}.gap_fraction", "a number >= 0", low=0)
        if factor.ndim:
            raise InputError(f"{key}.gap_fraction", value["gap_fraction"], "a number >= 0")
        return np.broadcast_to(factor * (means.max(axis=0) - means.min(axis=0)), means.shape).copy()
    numbers = finite_numbers(value, key, number_or_numbers(value, ">= 0"), low=0)
    return row_per_arm(numbers, means.shape[0], means.shape[1], key, value)


def sum_in_words(total: Fraction, most: int) -> str:
    """A sum above `most`, so that it does not look like `most`."""
    near = f"{float(total):g}"
    return near if near != str(most) else f"{most} + {float(total - most):.2g}"
