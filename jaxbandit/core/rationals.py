"""Exact arithmetic on tau, the fractions of rounds that arms are guaranteed.

Counts are compared with tau t exactly, where tau is the decimal number that the user wrote, in float32 as in float64.
No binary float equals 0.05, so tau is kept as a ratio of integers. A table holds, for each instance and round, what
the comparisons need: the floor of tau t, its fractional part, and the order of the arms' fractional parts. Runs of one
instance share a row, so the table is small compared with the runs that read it.
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
from typing import Any, TypeVar

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import DTypeLike

from jaxbandit.core.errors import InputError
from jaxbandit.core.input_values import is_masked
from jaxbandit.core.struct import struct

AnyArray = TypeVar("AnyArray", Array, np.ndarray)
Tree = TypeVar("Tree")

_LARGEST_MODULUS = 1 << 62  # the sum of two residues of a smaller modulus fits into uint64
_UNROLLED = 12  # arms up to which a loop over them is unrolled: more take longer to compile and gain little (measured)

_ALLOWED = 'finite numbers, or ratios such as "1/3"'
_RATIO = re.compile(r"\s*(-?[0-9]{1,4000})\s*/\s*([0-9]{1,4000})\s*", re.ASCII)


def exact_fraction(value: Any, key: str) -> Fraction:
    """The number as it was written, exactly: 0.05 is 1/20, not the nearest binary float.

    Args:
        value: an int, float, NumPy or JAX number, Decimal, Fraction, or a ratio as "1/3". A float means the shortest
            decimal number that rounds to it.
        key: the config key or argument, for errors.

    Raises:
        InputError: the value is not a finite number.

    Example:
        >>> exact_fraction(0.05, "problem.fractions")
        Fraction(1, 20)
    """
    if type(value) is float and math.isfinite(value):
        return _of_float(value)
    if isinstance(value, numbers.Rational) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, Decimal) and value.is_finite():
        return Fraction(value)
    if isinstance(value, str) and (parts := _RATIO.fullmatch(value)) and int(parts[2]):
        return Fraction(int(parts[1]), int(parts[2]))
    if isinstance(value, float | np.number) and np.isrealobj(value) and np.isfinite(value):
        return Fraction(str(value))
    if getattr(value, "ndim", None) == 0 and hasattr(value, "dtype") and not isinstance(value, np.generic):
        return exact_fraction(np.asarray(value)[()], key)  # an array of one number
    raise InputError(key, value, _ALLOWED)


@functools.lru_cache(maxsize=1 << 12)  # grids repeat their values
def _of_float(value: float) -> Fraction:
    return Fraction(str(value))  # `str` gives the shortest decimal that reads back as the same float


def exact_fractions(values: Any, key: str) -> np.ndarray:
    """`exact_fraction` of every entry, as an object array of the same shape."""
    if is_masked(values):
        raise InputError(key, values, f"{_ALLOWED}, without masked entries")
    try:
        array = _object_array(values)
    except (ValueError, RecursionError):
        raise InputError(key, values, f"{_ALLOWED}, in rows of one length") from None
    return np.asarray(np.frompyfunc(lambda value: exact_fraction(value, key), 1, 1)(array), dtype=object)


def _object_array(values: Any) -> np.ndarray:
    """An object array of the entries, whose types are kept: the shortest decimal of a float32 is not a float64's.

    Raises:
        ValueError: rows of different lengths.
    """
    if isinstance(values, list | tuple):
        is_row = all(isinstance(entry, numbers.Number | str) for entry in values)
        parts: list[Any] = list(values) if is_row else [_object_array(row) for row in values]
        shapes = set() if is_row else {part.shape for part in parts}
        if len(shapes) > 1:
            raise ValueError("rows of different lengths")
        stacked = np.empty((len(parts), *(shapes.pop() if shapes else ())), object)
        for place, part in enumerate(parts):
            stacked[place] = part if is_row else part[()]
        return stacked
    array = np.asarray(values) if hasattr(values, "__array__") else None
    entries = np.empty(() if array is None else array.shape, object)
    entries.reshape(-1)[:] = [values] if array is None else list(array.reshape(-1))
    return entries


def shortest_decimals(value: Any, key: str) -> Any:
    """Numbers, or nested lists of numbers, as a config holds them so that `exact_fraction` reads the same numbers.

    Returns:
        Integers, floats whose shortest decimal is the number, or a ratio as "1/3" where no float has that decimal.

    Raises:
        InputError: the values are not finite numbers, or a ratio is too long to be printed.
    """
    exact = exact_fractions(value, key)
    try:
        return np.asarray(np.frompyfunc(_shortest, 1, 1)(exact), object).tolist()
    except ValueError:  # Python refuses to print integers of more than 4300 digits
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
    """The guaranteed rounds tau_k s after s rounds, split so that integers decide comparisons: floor + fraction.

    Every array is `[K, *runs]`, where run axes broadcast (length 1 where runs share the entries).

    Attributes:
        floor: floor(tau s), int32.
        fraction: tau s - floor in [0, 1), float, rounded down; positive exactly where tau s is not an integer.
        fraction_rank: int32; the rank of the arm's exact fractional part among the arms of the instance. Equal parts
            have equal ranks. None where the order is not used.
        ceiling: the smallest integer that is not below tau s, int32; None where it is not at hand.
    """

    floor: Any  # NumPy arrays on the host, JAX arrays in programs
    fraction: Any
    fraction_rank: Any
    ceiling: Any = None


class QuotaTable:
    """A table of `Quota` for consecutive rounds, exact for every tau that is a ratio of integers.

    Args:
        fractions: tau as `Fraction` objects, `[K, J]` for K arms and J instances (J = 1 where instances share them).
        rounds: the largest number of rows that one call of `rows` asks for.
    """

    def __init__(self, fractions: np.ndarray, rounds: int):
        self._arms = len(fractions)
        self._equal = all(len(set(column)) == 1 for column in fractions.T)
        self._fractions = fractions = fractions[:1] if self._equal else fractions  # arms with equal ones share a row
        self._common = [math.lcm(*(f.denominator for f in column)) for column in fractions.T]
        # Beyond 18 decimals: Python's integers, which do not overflow.
        dtype = np.uint64 if max(self._common) < _LARGEST_MODULUS else object
        self._modulus = np.array(self._common, dtype=dtype)
        one = self._at(1)
        floor, numerator = np.zeros((1, *fractions.shape), np.int64), np.zeros((1, *fractions.shape), dtype)
        while len(floor) < rounds:  # each pass doubles the table: row i + n is row i plus n tau
            step = _add(floor[-1:], numerator[-1:], *one, self._modulus)
            more = _add(floor, numerator, *step, self._modulus)
            floor, numerator = np.concatenate([floor, more[0]]), np.concatenate([numerator, more[1]])
        self._floor, self._numerator = floor[:rounds], numerator[:rounds]

    def _at(self, s: int) -> tuple[np.ndarray, np.ndarray]:
        """floor(tau s), and the numerator of its fractional part over the common denominator of the instance."""
        products = [[(f * s * q).numerator for f, q in zip(row, self._common, strict=True)] for row in self._fractions]
        exact = np.array(products, dtype=object).reshape(self._fractions.shape)
        modulus = np.array(self._common, dtype=object)
        return (exact // modulus).astype(np.int64)[None], (exact % modulus).astype(self._modulus.dtype)[None]

    def rows(self, first: int, count: int) -> Quota:
        """The quotas of s = first, ..., first + count - 1.

        Returns:
            A `Quota` of NumPy arrays `[count, K, J]`: floor and fraction_rank int32, fraction float64.
        """
        floor, numerator = _add(self._floor[:count], self._numerator[:count], *self._at(first), self._modulus)
        fraction = np.minimum((numerator / self._modulus).astype(np.float64), np.nextafter(1.0, 0.0))
        parts = floor.astype(np.int32), fraction, self._rank(numerator)
        if self._equal:
            return Quota(*(np.broadcast_to(part, (len(part), self._arms, part.shape[2])) for part in parts))
        return Quota(*parts)

    def _rank(self, numerator: np.ndarray) -> np.ndarray:
        """The rank of each numerator among those of the arms, from 0; equal numerators have equal ranks."""
        if self._equal:
            return np.zeros(numerator.shape, np.int32)
        order = np.argsort(numerator, axis=1, kind="stable")
        ordered = np.take_along_axis(numerator, order, axis=1)
        dense = np.zeros(numerator.shape, np.int32)
        dense[:, 1:] = np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=1)
        rank = np.empty_like(dense)
        np.put_along_axis(rank, order, dense, axis=1)
        return rank


def _add(
    floor: np.ndarray, numerator: np.ndarray, other_floor: np.ndarray, other_numerator: np.ndarray, modulus: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The sum of two numbers that are kept as floor + numerator / modulus."""
    total = numerator + other_numerator
    carry = (total >= modulus).astype(bool)
    return floor + other_floor + carry, np.where(carry, total - modulus, total)


def rounded_down(values: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """Float64 `values` >= 0 converted to `dtype` without rounding up: values below an integer stay below it."""
    near = values.astype(dtype)
    return np.where(near > values, np.nextafter(near, np.asarray(0, dtype)), near)


def rounded_up(value: Any) -> Any:
    """A NumPy or JAX number >= 0, increased by 4 times the relative rounding error.

    For numbers that no table holds exactly, such as T f(mu): a result that should be an integer is not below it.
    """
    return value * (1 + 4 * np.finfo(value.dtype).eps)


def sum_in_order(values: AnyArray, axis: int) -> AnyArray:
    """The sum along an axis in the order of the index: the same bits for any lengths of the other axes."""
    if isinstance(values, np.ndarray):
        return functools.reduce(operator.add, np.moveaxis(values, axis, 0))
    return reduce_in_order(
        jnp.add, lambda k: lax.dynamic_index_in_dim(values, k, axis, keepdims=False), values.shape[axis]
    )


def reduce_in_order(combine: Callable[[Tree, Tree], Tree], term: Callable[[Any], Tree], count: int) -> Tree:
    """`combine(... combine(combine(term(0), term(1)), term(2)) ..., term(count - 1))`.

    Args:
        combine: a function of two terms, JAX arrays or trees of them.
        term: a function of the index, an int or an integer scalar of JAX.
        count: the number of terms, at least 1.
    """
    if count > _UNROLLED:
        return lax.fori_loop(1, count, lambda k, combined: combine(combined, term(k)), term(0))
    return functools.reduce(combine, map(term, range(count)))


def rounded_product(weight: Any, value: Any) -> Any:
    """weight * value of NumPy or JAX arrays, rounded before anything is added: the same bits in every compilation.

    A compiler may fuse a product and a following sum into one operation without rounding, for some arms and not for
    others (LLVM does so where it packs a few arms into one vector). Fused with a 0 that the compiler does not know, a
    product is rounded all the same. Across `jnp.where`, LLVM may fuse.

    Args:
        weight: finite floats; arguments of the program, since a compiler knows the 0 of a constant.
        value: numbers, also infinite ones.
    """
    return weight * value + (weight - weight)


@functools.lru_cache(maxsize=1 << 12)
def floor_and_fraction(value: Fraction) -> tuple[int, float]:
    """floor(value), and value - floor(value) in float64, rounded down."""
    floor = math.floor(value)
    fraction = value - floor
    near = float(fraction)
    return floor, math.nextafter(near, 0.0) if Fraction(near) > fraction else near
