"""Exact arithmetic on the fractions of rounds that arms are owed.

The SPEC compares counts with tau t exactly, tau being the decimal number the user wrote, in float32 too. No
float can hold 0.05; so tau is kept as a ratio of integers, and what a round needs of tau t (its floor, its
fractional part, and how the arms' fractional parts are ordered) is tabulated in integers, once per instance and
round. Runs of one instance share a row, so a table is small beside the runs that read it.
"""

from __future__ import annotations

import functools
import math
import numbers
import operator
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit.core.errors import InputError
from jaxbandit.core.python_values import is_masked
from jaxbandit.core.struct import struct

_WORD = 1 << 62  # sums of two residues below this stay inside uint64
_UNROLLED = 32  # arms: a program for more would be long


_WORDS = 'finite numbers, or ratios as "1/3"'
_RATIO = re.compile(r"\s*(-?[0-9]{1,4000})\s*/\s*([0-9]{1,4000})\s*", re.ASCII)


def exact_fraction(value: Any, key: str) -> Fraction:
    """The number that was written, exactly: 0.05 is 1/20, not the nearest binary float.

    Args:
        value: an int, float, NumPy or JAX number, Decimal, Fraction, or a ratio as "1/3"; a float stands for its
            shortest decimal form.
        key: the name to give in an error.

    Raises:
        InputError: not a finite number.
    """
    if isinstance(value, numbers.Rational) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, Decimal) and value.is_finite():
        return Fraction(value)
    if isinstance(value, str) and (parts := _RATIO.fullmatch(value)) and int(parts[2]):
        return Fraction(int(parts[1]), int(parts[2]))
    if isinstance(value, float | np.number) and np.isrealobj(value) and np.isfinite(value):
        return Fraction(str(value))  # str is the shortest decimal that reads back as the same float
    if getattr(value, "ndim", None) == 0 and hasattr(value, "dtype") and not isinstance(value, np.generic):
        return exact_fraction(np.asarray(value)[()], key)  # an array of JAX's or NumPy's that is one number
    raise InputError(key, value, _WORDS)


def exact_fractions(values: Any, key: str) -> np.ndarray:
    """`decimal` of every entry, as an object array of the same shape."""
    if is_masked(values):
        raise InputError(key, values, f"{_WORDS}, none of them masked")
    try:
        array = _object_array(values)
    except (ValueError, RecursionError):
        raise InputError(key, values, f"{_WORDS}, in rows of one length") from None
    return np.asarray(np.frompyfunc(lambda value: exact_fraction(value, key), 1, 1)(array), dtype=object)


def _object_array(values: Any) -> np.ndarray:
    """An object array of the entries as they are: a float32 stays one, whose shortest decimal is another."""
    if isinstance(values, list | tuple):
        alone = all(isinstance(entry, numbers.Number | str) for entry in values)
        rows: list[Any] = list(values) if alone else [_object_array(row) for row in values]
        shapes = set() if alone else {row.shape for row in rows}
        if len(shapes) > 1:
            raise ValueError
        made = np.empty((len(rows), *(shapes.pop() if shapes else ())), object)
        for place, row in enumerate(rows):
            made[place] = row if alone else row[()]
        return made
    held = np.asarray(values) if hasattr(values, "__array__") else None
    made = np.empty(() if held is None else held.shape, object)
    made.reshape(-1)[:] = [values] if held is None else list(held.reshape(-1))
    return made


def shortest_decimals(value: Any, key: str) -> Any:
    """Numbers, or nested lists of them, as a config writes them so that `decimal` reads what they are exactly.

    Returns:
        Floats whose shortest decimal is the number; a ratio as "1/3" where there is none.

    Raises:
        InputError: not finite numbers, or ratios too long to be written.
    """
    exact = exact_fractions(value, key)
    try:
        return np.asarray(np.frompyfunc(_shortest, 1, 1)(exact), object).tolist()
    except ValueError:  # Python writes out no whole number of thousands of digits
        raise InputError(key, value, "ratios of whole numbers of at most 4000 digits") from None


def _shortest(value: Fraction) -> int | float | str:
    if value.denominator == 1 and abs(value) < 1 << 53:
        return value.numerator
    try:
        near = float(value)
    except OverflowError:
        near = math.inf
    return near if math.isfinite(near) and Fraction(repr(near)) == value else f"{value.numerator}/{value.denominator}"


@struct
class Quota:
    """tau_k s for one count of rounds s, split so that integers decide: tau s = floor + fraction.

    Every array is `[K, *runs]`, the run axes broadcasting (1 where runs share them).

    Attributes:
        floor: floor(tau s), int32.
        fraction: tau s - floor in [0, 1), float, rounded down; positive exactly where tau s is no integer.
        fraction_rank: int32, orders the arms of an instance by the exact fractional part, equal where it is equal.
    """

    floor: Any
    fraction: Any
    fraction_rank: Any


class QuotaTable:
    """Tabulates `Quota` for runs of consecutive rounds, exactly for every tau that is a ratio of integers.

    Args:
        fractions: Fractions, `[K, J]` for K arms and J instances (or 1 that all share).
        rounds: the most rows that `rows` is asked for at once.
    """

    def __init__(self, fractions: np.ndarray, rounds: int):
        self._fractions = fractions
        self._common = [math.lcm(*(f.denominator for f in column)) for column in fractions.T]
        word = np.uint64 if max(self._common) < _WORD else object  # beyond 18 decimals: Python's own integers
        self._modulus = np.array(self._common, dtype=word)
        self._equal = all(len(set(column)) == 1 for column in fractions.T)
        one = self._at(1)
        whole, part = (np.zeros((1, *fractions.shape), dtype=dtype) for dtype in (np.int64, word))
        while len(whole) < rounds:  # rows i + n are rows i plus n tau: doubles the table a pass
            step = _add(whole[-1:], part[-1:], *one, self._modulus)
            more = _add(whole, part, *step, self._modulus)
            whole, part = np.concatenate([whole, more[0]]), np.concatenate([part, more[1]])
        self._whole, self._part = whole[:rounds], part[:rounds]

    def _at(self, s: int) -> tuple[np.ndarray, np.ndarray]:
        """floor(tau s) and the numerator of its fractional part over the instance's common denominator."""
        products = [[(f * s * q).numerator for f, q in zip(row, self._common, strict=True)] for row in self._fractions]
        exact = np.array(products, dtype=object).reshape(self._fractions.shape)
        modulus = np.array(self._common, dtype=object)
        return (exact // modulus).astype(np.int64)[None], (exact % modulus).astype(self._modulus.dtype)[None]

    def rows(self, first: int, count: int) -> Quota:
        """The quotas of s = first .. first + count - 1.

        Returns:
            A `Quota` of arrays `[count, K, J]`: whole and rank int32, rest float64.
        """
        whole, part = _add(self._whole[:count], self._part[:count], *self._at(first), self._modulus)
        rest = np.minimum((part / self._modulus).astype(np.float64), np.nextafter(1.0, 0.0))
        return Quota(whole.astype(np.int32), rest, self._rank(part))

    def _rank(self, part: np.ndarray) -> np.ndarray:
        if self._equal:
            return np.zeros(part.shape, np.int32)
        order = np.argsort(part, axis=1, kind="stable")
        ordered = np.take_along_axis(part, order, axis=1)
        dense = np.zeros(part.shape, np.int32)
        dense[:, 1:] = np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=1)
        rank = np.empty_like(dense)
        np.put_along_axis(rank, order, dense, axis=1)
        return rank


def _add(
    whole: np.ndarray, part: np.ndarray, other_whole: np.ndarray, other_part: np.ndarray, modulus: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Add two numbers kept as whole + part / modulus."""
    total = part + other_part
    carry = (total >= modulus).astype(bool)
    return whole + other_whole + carry, np.where(carry, total - modulus, total)


def rounded_down(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Non-negative float64 `values` in `dtype`, none larger than it was: below an integer stays below."""
    near = values.astype(dtype)
    return np.where(near > values, np.nextafter(near, np.asarray(0, dtype)), near)


def rounded_up(value: Any) -> Any:
    """A number >= 0, NumPy's or JAX's, raised by 4 roundings, so that one that stands for an integer is not below it.

    For what no table can hold exactly, as T f(m).
    """
    return value * (1 + 4 * np.finfo(value.dtype).eps)


def sum_in_order(values: Any, axis: int) -> Any:
    """Sum in index order, NumPy's or JAX's: its bits are the same whatever the other axes' lengths."""
    if isinstance(values, np.ndarray):
        return functools.reduce(operator.add, np.moveaxis(values, axis, 0))
    return reduce_in_order(
        jnp.add, lambda k: lax.dynamic_index_in_dim(values, k, axis, keepdims=False), values.shape[axis]
    )


def reduce_in_order(combine: Callable[[Any, Any], Any], term: Callable[[Any], Any], count: int) -> Any:
    """`term(0)`, JAX arrays, combined with `term(1)`, the outcome with `term(2)`, and so on up to `count` of them."""
    if count > _UNROLLED:
        return lax.fori_loop(1, count, lambda k, made: combine(made, term(k)), term(0))
    return functools.reduce(combine, map(term, range(count)))


def rounded_product(weight: Any, value: Any) -> Any:
    """weight * value, rounded before anything is added to it: the same bits in every compilation.

    A compiler may fuse a product with a following sum for some arms and not for others (LLVM does where it packs
    a few arms into one vector); it does not fuse across the choice made here.
    """
    return weight * value if isinstance(value, np.ndarray) else _rounded(weight, value)


@jax.custom_jvp
def _rounded(weight: Any, value: Any) -> Any:
    return jnp.where(value == 0, 0.0, weight * value)


@_rounded.defjvp
def _rounded_slope(primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Any, Any]:
    (weight, value), (of_weight, of_value) = primals, tangents
    return _rounded(weight, value), of_weight * value + weight * of_value


def floor_and_fraction(value: Fraction) -> tuple[int, float]:
    """floor(value) and what remains, the remainder rounded down in float64."""
    whole = math.floor(value)
    rest = value - whole
    near = float(rest)
    return whole, math.nextafter(near, 0.0) if Fraction(near) > rest else near
