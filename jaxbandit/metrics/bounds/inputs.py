"""The arguments that bounds share, checked and in one shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.core.input_values import finite_numbers


def means(value: Any) -> np.ndarray:
    """mu, float64 `[K, J]`, numbers from 0 to 1."""
    words = "mean rewards from 0 to 1, [K, J]: K arms, J instances"
    numbers = finite_numbers(value, "means", words, low=0, high=1)
    if numbers.ndim != 2:
        raise InputError("means", value, words)
    return numbers


def per_arm(value: Any, arms: int, key: str, high: float = np.inf) -> np.ndarray:
    """Numbers >= 0 of each arm, float64 `[K, J]` or `[K, 1]`."""
    words = f"numbers >= 0{'' if np.isinf(high) else f' and <= {high:g}'}, [{arms}, J or 1]: one an arm and instance"
    numbers = finite_numbers(value, key, words, low=0, high=high)
    if numbers.ndim != 2 or len(numbers) != arms:
        raise InputError(key, value, words)
    return numbers


def fractions(value: Any, arms: int, most: float = 1.0) -> np.ndarray:
    """tau, float64 `[K, J]` or `[K, 1]`, summing to less than `most`."""
    tau = per_arm(value, arms, "fractions", high=1.0)
    if np.any(tau.sum(axis=0) >= most):
        raise InputError("fractions", tau.T.tolist(), f"fractions that sum to less than {most:g}")
    return tau


def rounds(value: Any) -> np.ndarray:
    """t, float64 `[R]`, whole numbers >= 1; one number is one round."""
    numbers = np.atleast_1d(finite_numbers(value, "rounds", "whole numbers >= 1", low=1))
    if numbers.ndim != 1 or np.any(numbers != np.floor(numbers)):
        raise InputError("rounds", value, "whole numbers >= 1, [R]")
    return numbers


def number(value: Any, key: str, low: float = 0.0) -> float:
    """One finite number, at least `low`."""
    numbers = finite_numbers(value, key, f"a number >= {low:g}", low=low)
    if numbers.ndim:
        raise InputError(key, value, f"a number >= {low:g}")
    return float(numbers)


def plays(value: Any, arms: int) -> int:
    """L, fewer than the arms."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value < arms:
        raise InputError("plays", value, f"a whole number from 1 to {arms - 1}, below the number of arms")
    return int(value)


def over(amount: Any, gap: Any) -> np.ndarray:
    """amount / gap, infinite where the gap is not above 0: what it takes to tell arms apart that differ by nothing."""
    apart = np.asarray(gap) > 0
    return np.where(apart, amount / np.where(apart, gap, 1.0), np.inf)
