"""The arguments that bounds share: checked, and brought to one shape."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.core.errors import InputError
from jaxbandit.core.input_values import finite_numbers

_ROUNDING = 1e-12  # sums and differences of means and penalty rates that differ by no more are equal


def means(value: ArrayLike) -> np.ndarray:
    """mu, float64 `[K, J]`, numbers from 0 to 1."""
    words = "mean rewards from 0 to 1, [K, J]: K arms, J instances"
    numbers = finite_numbers(value, "means", words, low=0, high=1)
    if numbers.ndim != 2:
        raise InputError("means", value, words)
    return numbers


def per_arm(value: ArrayLike, arms: int, key: str, high: float = np.inf) -> np.ndarray:
    """Numbers >= 0 of each arm, float64 `[K, J]` or `[K, 1]`."""
    limit = "" if np.isinf(high) else f" and <= {high:g}"
    words = f"numbers >= 0{limit}, [{arms}, J or 1]: one per arm and instance"
    numbers = finite_numbers(value, key, words, low=0, high=high)
    if numbers.ndim != 2 or len(numbers) != arms:
        raise InputError(key, value, words)
    return numbers


def fractions(value: ArrayLike, arms: int) -> np.ndarray:
    """tau, float64 `[K, J]` or `[K, 1]`, summing to less than 1."""
    tau = per_arm(value, arms, "fractions", high=1.0)
    if np.any(tau.sum(axis=0) >= 1):
        raise InputError("fractions", tau.T.tolist(), "fractions that sum to less than 1")
    return tau


def rounds(value: ArrayLike) -> np.ndarray:
    """t, float64 `[R]`, whole numbers >= 1; a single number gives R = 1."""
    numbers = np.atleast_1d(finite_numbers(value, "rounds", "whole numbers >= 1", low=1))
    if numbers.ndim != 1 or np.any(numbers != np.floor(numbers)):
        raise InputError("rounds", value, "whole numbers >= 1, [R]")
    return numbers


def number(value: ArrayLike, key: str, low: float = 0.0) -> float:
    """One finite number, at least `low`."""
    numbers = finite_numbers(value, key, f"a number >= {low:g}", low=low)
    if numbers.ndim:
        raise InputError(key, value, f"a number >= {low:g}")
    return float(numbers)


def plays(value: int, arms: int) -> int:
    """L, fewer than the arms."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value < arms:
        raise InputError("plays", value, f"a whole number from 1 to {arms - 1}, less than the number of arms")
    return int(value)


def equal_where_near(numbers: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The numbers, replaced by those of `others` from which only rounding tells them, as .9 - .6 from .3."""
    return np.where(np.abs(numbers - others) <= _ROUNDING, others, numbers)


def divide_by_gap(amount: ArrayLike, gap: np.ndarray) -> np.ndarray:
    """amount / gap, infinite where the gap is not above 0: arms with equal means cannot be told apart."""
    positive = gap > 0
    return np.where(positive, amount / np.where(positive, gap, 1.0), np.inf)
