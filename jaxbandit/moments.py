"""Means and standard errors over runs that do not depend on the order in which the runs come.

Floating-point sums depend on how runs are cut into blocks; integer sums do not. A value is split into digits of
40 bits, whose sums over 2^13 runs are exact in float64 and over 2^20 times as many in int64.
"""

from __future__ import annotations

import numpy as np

_DIGIT = 40
_SUM_EXPONENTS = (40, 0, -40)  # weights of the digits of a value, as powers of 2
_HIGH_EXPONENTS = (40, 0, -40, -80)  # of its square
_CHUNK = 1 << 13


def _digits(values: np.ndarray, exponents: tuple[int, ...]) -> np.ndarray:
    """Sums over the last axis of the digits of `values`, int64 `[len(exponents), ...]`."""
    sums = np.zeros((len(exponents), *values.shape[:-1]), np.int64)
    for begin in range(0, values.shape[-1], _CHUNK):
        rest = values[..., begin : begin + _CHUNK]
        for i, exponent in enumerate(exponents):
            digit = np.trunc(rest * 2.0**-exponent)  # toward 0: what remains is exact
            rest = rest - digit * 2.0**exponent
            sums[i] += digit.sum(axis=-1).astype(np.int64)
    return sums


def _square(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """values^2 as a rounded float64 and the exact remainder (Dekker 1971)."""
    high = values * values
    big = values * 134217729.0  # 2^27 + 1
    upper = big - (big - values)
    lower = values - upper
    return high, ((upper * upper - high) + 2 * upper * lower) + lower * lower


def _value(sums: np.ndarray, exponents: tuple[int, ...]) -> np.ndarray:
    """The digit sums as Python integers, in units of 2^(last exponent)."""
    total = np.zeros(sums.shape[1:], object)
    for digit, exponent in zip(sums, exponents, strict=True):
        total = total + (digit.astype(object) << (exponent - exponents[-1]))
    return total


class Moments:
    """Running mean and standard error over runs, exact to 2^-40 and the same in any order of arrival.

    Args:
        shape: of the means.
    """

    def __init__(self, shape: tuple[int, ...]):
        self._count = np.zeros(shape, np.int64)
        self._sum = np.zeros((len(_SUM_EXPONENTS), *shape), np.int64)
        self._squares = np.zeros((len(_HIGH_EXPONENTS), *shape), np.int64)

    def add(self, where: tuple[slice, ...], values: np.ndarray) -> None:
        """Take in values `[*shape[where], runs]`, float64 of magnitude below 2^40."""
        values = np.floor(values * 2.0**_DIGIT) * 2.0**-_DIGIT
        high, low = _square(values)
        self._count[where] += values.shape[-1]
        self._sum[(slice(None), *where)] += _digits(values, _SUM_EXPONENTS)
        self._squares[(slice(None), *where)] += _digits(high, _HIGH_EXPONENTS) + _digits(low, _HIGH_EXPONENTS)

    def mean(self) -> np.ndarray:
        """float64, of `shape`."""
        total = _value(self._sum, _SUM_EXPONENTS)
        return (total / (self._count.astype(object) << _DIGIT)).astype(np.float64)

    def stderr(self) -> np.ndarray:
        """The standard error of the mean, float64, of `shape`; NaN for a single run."""
        n = self._count.astype(object)
        total, squares = _value(self._sum, _SUM_EXPONENTS), _value(self._squares, _HIGH_EXPONENTS)
        spread = n * squares - total * total  # n^2 times the variance, in units of 2^-80
        denominator = np.where(self._count > 1, n * n * (n - 1), 1) << (2 * _DIGIT)
        variance = np.where(self._count > 1, (spread / denominator).astype(np.float64), np.nan)
        return np.sqrt(np.maximum(variance, 0.0))
