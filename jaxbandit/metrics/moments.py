"""Means and standard errors over runs that do not depend on the order in which the runs come.

Floating-point sums depend on how runs are cut into blocks; integer sums do not. A value is split into digits of
40 bits, whose sums over 2^23 runs fit int64.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

_DIGIT = 40
MOST_RUNS = 2**23  # that sums of digits hold
LARGEST = 2.0**_DIGIT  # values are below
_SUM_EXPONENTS = (0, -40)  # weights of the digits of a value, as powers of 2
_SQUARE_EXPONENTS = (40, 0, -40, -80)  # of its square


def integer_parts(values: Any, counted: Any, parts: int = 1) -> Array:
    """What `Moments` takes in of some values: the digits of each and of its square, summed over runs. Traceable.

    Args:
        values: float64 `[..., runs]`; 64-bit types have to be enabled.
        counted: which runs there are, the others being padding, bool `[runs]`.
        parts: sum over so many equal parts of the runs, each for itself.

    Returns:
        int64 `[7, ..., parts]`: two digits of the sum, four of the sum of squares, and how many values have none: those
        that are not a number, or of magnitude `LARGEST` or more.
    """
    values = jnp.where(counted[(None,) * (values.ndim - 1)], values, 0.0)
    within = jnp.abs(values) < LARGEST  # not so for NaN
    values = jnp.where(within, values, 0.0)
    values, within = (part.reshape(*part.shape[:-1], parts, -1) for part in (values, within))
    values = jnp.floor(values * 2.0**_DIGIT) * 2.0**-_DIGIT
    upper = jnp.trunc(values)  # toward 0, and so is the rest
    lower = (values - upper) * 2.0**_DIGIT
    whole, rest = upper.astype(jnp.int64), lower.astype(jnp.int64)
    own = (whole, rest, *_square(jnp.abs(whole), jnp.abs(rest)), (~within).astype(jnp.int64))
    zeros = (jnp.zeros((), jnp.int64),) * len(own)
    # One pass over the values for all sums, which an integer sum lets a compiler do in vectors (9 times faster)
    return jnp.stack(lax.reduce(own, zeros, lambda a, b: tuple(map(jnp.add, a, b)), (values.ndim - 1,)))


def _square(whole: Any, rest: Any) -> tuple[Any, ...]:
    """The digits of (whole + 2^-40 rest)^2, from halves of 20 bits, whose products fit a word with room to add."""
    d, c = whole >> _HALF, whole & _LOW
    b, a = rest >> _HALF, rest & _LOW
    odd = 2 * a * b, 2 * (a * d + b * c), 2 * c * d  # times 2^-60, 2^-20, 2^20
    last = a * a + ((odd[0] & _LOW) << _HALF)
    third = 2 * a * c + b * b + (odd[0] >> _HALF) + ((odd[1] & _LOW) << _HALF) + (last >> _DIGIT)
    second = 2 * b * d + c * c + (odd[1] >> _HALF) + ((odd[2] & _LOW) << _HALF) + (third >> _DIGIT)
    first = d * d + (odd[2] >> _HALF) + (second >> _DIGIT)
    return first, second & _ALL, third & _ALL, last & _ALL


_HALF = _DIGIT // 2
_LOW, _ALL = (1 << _HALF) - 1, (1 << _DIGIT) - 1


def _product(a: Any, b: Any) -> tuple[Any, Any]:
    """a * b as a rounded float64 and the exact remainder (Dekker 1971)."""
    high = a * b
    (a_upper, a_lower), (b_upper, b_lower) = _halves(a), _halves(b)
    return high, ((a_upper * b_upper - high) + a_upper * b_lower + a_lower * b_upper) + a_lower * b_lower


def _halves(value: Any) -> tuple[Any, Any]:
    """The upper 26 bits of a float64, and the rest."""
    big = value * 134217729.0  # 2^27 + 1
    upper = big - (big - value)
    return upper, value - upper


_Doubles = tuple[np.ndarray, np.ndarray]  # a number as a rounded float64 and the rest (Dekker 1971): 106 bits


def _plus(a: Any, b: Any) -> _Doubles:
    high = a[0] + b[0]
    part = high - a[0]
    rest = (a[0] - (high - part)) + (b[0] - part) + (a[1] + b[1])
    whole = high + rest
    return whole, rest - (whole - high)


def _times(a: Any, b: Any) -> _Doubles:
    high, rest = _product(a[0], b[0])
    rest = rest + (a[0] * b[1] + a[1] * b[0])
    whole = high + rest
    return whole, rest - (whole - high)


def _doubles(kept: Mapping[int, np.ndarray], shape: tuple[int, ...]) -> _Doubles:
    """The sum of digits, each times 2 to its exponent."""
    total: _Doubles = np.zeros(shape), np.zeros(shape)
    for exponent, digit in sorted(kept.items(), reverse=True):
        for bits, half in ((32, digit >> 32), (0, digit & 0xFFFFFFFF)):
            total = _plus(total, (half * 2.0 ** (exponent + bits), 0.0))
    return total


class Moments:
    """Mean and standard error over runs, exact to 2^-40 and the same in any order of arrival.

    Args:
        shape: of the means.
    """

    def __init__(self, shape: tuple[int, ...]):
        self._shape = shape
        self._sums: dict[int, np.ndarray] = {}  # by the exponent of the digit; absent where every digit is 0
        self._squares: dict[int, np.ndarray] = {}

    def add(self, where: tuple[slice, ...], sums: np.ndarray) -> None:
        """Take in the `integer_parts` of values, int64 `[7, *shape[where]]`.

        Raises:
            FloatingPointError: some values have no digits.
        """
        *integer_parts, outside = sums
        if outside.any():
            raise FloatingPointError("a value is not finite, or beyond the range in which means are exact")
        count = len(_SUM_EXPONENTS)
        self._take(self._sums, dict(zip(_SUM_EXPONENTS, integer_parts[:count], strict=True)), where)
        self._take(self._squares, dict(zip(_SQUARE_EXPONENTS, integer_parts[count:], strict=True)), where)

    def merge(self, where: tuple[slice, ...], other: Moments) -> None:
        """Take in the values that another one of shape `shape[where]` has taken in."""
        self._take(self._sums, other._sums, where)
        self._take(self._squares, other._squares, where)

    def _take(
        self, kept: dict[int, np.ndarray], integer_parts: dict[int, np.ndarray], where: tuple[slice, ...]
    ) -> None:
        for exponent, digit in integer_parts.items():
            if exponent not in kept:
                if not digit.any():
                    continue
                kept[exponent] = np.zeros(self._shape, np.int64)
            kept[exponent][where] += digit

    def mean(self, runs: int) -> np.ndarray:
        """The mean over so many runs, float64, of `shape`."""
        return _doubles(self._sums, self._shape)[0] / runs

    def stderr(self, runs: int) -> np.ndarray:
        """The standard error of the mean over so many runs, float64, of `shape`; NaN for a single run."""
        if runs == 1:
            return np.full(self._shape, np.nan)
        squares = _times((float(runs), 0.0), _doubles(self._squares, self._shape))
        total = _doubles(self._sums, self._shape)
        spread = _plus(squares, tuple(-part for part in _times(total, total)))[0]  # runs^2 times the variance
        unsure = np.abs(spread) < squares[0] * 2.0**-50  # where hardly a digit is left: runs that all but agree
        if unsure.any():
            spread[unsure] = self._spread(unsure, runs)
        return np.sqrt(np.maximum(spread, 0.0) / (float(runs) ** 2 * (runs - 1.0)))

    def _spread(self, where: np.ndarray, runs: int) -> np.ndarray:
        """runs^2 times the variance at some places, by Python's own integers."""
        total, squares = (
            sum((digit[where].astype(object) << (exponent - exponents[-1]) for exponent, digit in kept.items()), 0)
            for kept, exponents in ((self._sums, _SUM_EXPONENTS), (self._squares, _SQUARE_EXPONENTS))
        )
        return np.asarray((runs * squares - total * total) / (1 << (2 * _DIGIT)), np.float64)

    def arrays(self, full: bool = False) -> dict[str, np.ndarray]:
        """What it holds, by name, int64 of `shape`; digits that are 0 throughout only where `full`."""
        parts = (("sum", self._sums, _SUM_EXPONENTS), ("squares", self._squares, _SQUARE_EXPONENTS))
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
            (_SQUARE_EXPONENTS, "squares", made._squares),
        ):
            kept.update({e: arrays[f"{name}{e}"] for e in exponents if f"{name}{e}" in arrays})
        return made
