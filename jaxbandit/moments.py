"""Means and standard errors over runs that do not depend on the order in which the runs come.

Floating-point sums depend on how runs are cut into blocks; integer sums do not. A value is split into digits of
40 bits, whose sums over 2^13 runs are exact in float64 and over 2^20 times as many in int64.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

_DIGIT = 40
LARGEST = 2.0**_DIGIT  # values are below
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


class Moments:
    """Mean and standard error over runs, exact to 2^-40 and the same in any order of arrival.

    Args:
        shape: of the means.
    """

    def __init__(self, shape: tuple[int, ...]):
        self._shape = shape
        self._sums: dict[int, np.ndarray] = {}  # by the exponent of the digit; absent where every digit is 0
        self._squares: dict[int, np.ndarray] = {}

    def add(self, where: tuple[slice, ...], values: np.ndarray) -> None:
        """Take in values `[*shape[where], runs]`, float64 of magnitude below 2^40."""
        values = np.floor(values * 2.0**_DIGIT) * 2.0**-_DIGIT
        high, low = _square(values)
        squares = _digits(high, _HIGH_EXPONENTS) + _digits(low, _HIGH_EXPONENTS)
        self._take(self._sums, dict(zip(_SUM_EXPONENTS, _digits(values, _SUM_EXPONENTS), strict=True)), where)
        self._take(self._squares, dict(zip(_HIGH_EXPONENTS, squares, strict=True)), where)

    def merge(self, where: tuple[slice, ...], other: Moments) -> None:
        """Take in the values that another one of shape `shape[where]` has taken in."""
        self._take(self._sums, other._sums, where)
        self._take(self._squares, other._squares, where)

    def _take(self, kept: dict[int, np.ndarray], digits: dict[int, np.ndarray], where: tuple[slice, ...]) -> None:
        for exponent, digit in digits.items():
            if exponent not in kept:
                if not digit.any():
                    continue
                kept[exponent] = np.zeros(self._shape, np.int64)
            kept[exponent][where] += digit

    def mean(self, runs: int) -> np.ndarray:
        """The mean over so many runs, float64, of `shape`."""
        total = self._value(self._sums, _SUM_EXPONENTS)
        return (total / (runs << _DIGIT)).astype(np.float64)

    def stderr(self, runs: int) -> np.ndarray:
        """The standard error of the mean over so many runs, float64, of `shape`; NaN for a single run."""
        if runs == 1:
            return np.full(self._shape, np.nan)
        total, squares = self._value(self._sums, _SUM_EXPONENTS), self._value(self._squares, _HIGH_EXPONENTS)
        spread = runs * squares - total * total  # runs^2 times the variance, in units of 2^-80
        variance = (spread / (runs * runs * (runs - 1) << (2 * _DIGIT))).astype(np.float64)
        return np.sqrt(np.maximum(variance, 0.0))

    def _value(self, kept: dict[int, np.ndarray], exponents: tuple[int, ...]) -> np.ndarray:
        """The sum of the digits as Python integers, in units of 2^(last exponent)."""
        total = np.zeros(self._shape, object)
        for exponent, digit in kept.items():
            total = total + (digit.astype(object) << (exponent - exponents[-1]))
        return total

    def arrays(self, full: bool = False) -> dict[str, np.ndarray]:
        """What it holds, by name, int64 of `shape`; digits that are 0 throughout only where `full`."""
        parts = (("sum", self._sums, _SUM_EXPONENTS), ("squares", self._squares, _HIGH_EXPONENTS))
        zeros = np.zeros(self._shape, np.int64)
        return {
            f"{name}{exponent}": kept.get(exponent, zeros)
            for name, kept, exponents in parts
            for exponent in exponents
            if full or exponent in kept
        }

    @classmethod
    def of(cls, shape: tuple[int, ...], arrays: Mapping[str, np.ndarray]) -> Moments:
        """The one that `arrays` came from."""
        made = cls(shape)
        for exponents, name, kept in (
            (_SUM_EXPONENTS, "sum", made._sums),
            (_HIGH_EXPONENTS, "squares", made._squares),
        ):
            kept.update({e: arrays[f"{name}{e}"] for e in exponents if f"{name}{e}" in arrays})
        return made
