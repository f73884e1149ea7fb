"""Means and standard errors over runs that do not depend on the order in which the runs come.

Floating-point sums depend on how runs are cut into blocks; integer sums do not. So each value is rounded to a multiple
of 2^-40 and written as integer parts of 40 bits each, and these are summed: int64 holds the sums over 2^23 runs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from types import EllipsisType
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

_BITS = 40  # of an integer part
MOST_RUNS = 2**23  # of which int64 holds the sums
LARGEST = 2.0**_BITS  # every value must be below, in magnitude
STEP = 2.0**-_BITS  # values are rounded to its multiples
_SUM_EXPONENTS = (0, -40)  # the weights of the integer parts of a value, as powers of 2
_SQUARE_EXPONENTS = (40, 0, -40, -80)  # the weights of those of its square


def integer_parts(
    values: Sequence[Array], counted: Array | np.ndarray, segments: int = 1, below: float = LARGEST
) -> Array:
    """The integer parts of values and of their squares, summed over runs: what `Moments.add` takes. Traceable.

    Args:
        values: the values of each of n metrics, float64 `[..., runs]`; 64-bit types must be enabled.
        counted: whether a run counts (others are padding), bool `[runs]`.
        segments: how many equal segments of the runs to sum separately.
        below: `LARGEST`, `NARROW` or `SHORT`: values must be smaller in magnitude. Code for `NARROW` is twice as fast
            as that for `LARGEST`, and code for `SHORT` is faster again.

    Returns:
        int64 `[7, n, ..., segments]`: the two parts of the sum, the four parts of the sum of squares, and the number of
        values that are not finite or not below `below`. The sums mean nothing where this number is not 0.
    """
    count = values[0].shape[-1] // segments
    bits: int | None
    of_values, bits = _wide_parts, None
    if below < LARGEST:
        of_values, bits = _narrow_parts, _NARROW_HALF
    if below <= SHORT and count <= _MOST_SHORT:
        of_values, bits = _short_parts, _SHORT_HALF
    summed = [_sums(of_values, of_one, counted, segments, below) for of_one in values]
    *sums, outside = map(jnp.stack, zip(*summed, strict=True))  # the code from here on is there once for all metrics
    if bits is not None:
        sums = _sums_of_wide_parts(sums, count, bits)
    return jnp.stack([*sums, outside])


def _sums(
    of_values: Callable[[Array], tuple[Array, ...]],
    values: Array,
    counted: Array | np.ndarray,
    segments: int,
    below: float,
) -> Sequence[Array]:
    """The sums of the parts of values over runs, and the number of values out of range, int64 `[..., segments]`."""
    values = jnp.where(counted[(None,) * (values.ndim - 1)], values, 0.0)
    values = values.reshape(*values.shape[:-1], segments, -1)
    outside = ~(jnp.abs(values) < below)  # True for NaN
    if of_values is _wide_parts:
        values = jnp.where(outside, 0.0, values)
    # One pass over the values for all sums, which a compiler can vectorise because they are integers (9 times faster)
    terms = (*of_values(values), outside.astype(jnp.int64))
    zeros = (jnp.zeros((), jnp.int64),) * len(terms)
    summed: Sequence[Array] = lax.reduce(terms, zeros, lambda a, b: tuple(map(jnp.add, a, b)), (values.ndim - 1,))
    return summed


def _wide_parts(values: Array) -> tuple[Array, ...]:
    """The parts of values below `LARGEST`: two of a value, and four of its square."""
    values = jnp.round(values * 2.0**_BITS) * 2.0**-_BITS
    upper = jnp.trunc(values)  # toward 0, so the lower part has the same sign
    lower = (values - upper) * 2.0**_BITS
    high, low = upper.astype(jnp.int64), lower.astype(jnp.int64)
    return high, low, *_square_parts(jnp.abs(high), jnp.abs(low))


_WORD = 32  # bits of a factor of a fast product
_WORD_MASK = (1 << _WORD) - 1
_NARROW_HALF = 31  # bits of the lower half of a narrow value
NARROW = 2.0 ** (2 * _NARROW_HALF - _BITS)  # 2^22: values below have 62 bits, in units of 2^-40


def _narrow_parts(values: Array) -> tuple[Array, ...]:
    """The halves of values below `NARROW`, and the halves of the three products of their square."""
    whole = jnp.round(values * 2.0**_BITS)
    upper = jnp.trunc(whole * 2.0**-_NARROW_HALF)  # toward 0, so that both halves are below 2^31
    high, low, *products = _halves_and_products(upper, whole - upper * 2.0**_NARROW_HALF)
    return high, low, *(half for product in products for half in (product >> _WORD, product & _WORD_MASK))


_SHORT_HALF = 27  # bits of the lower half of a short value
SHORT = 2.0 ** (2 * _SHORT_HALF - 1 - _BITS)  # 2^13: a float64 holds the number of units of 2^-40 of any value below
_MOST_SHORT = 1 << 64 - 2 * _SHORT_HALF  # 2^10 values of which int64 holds the sums of products


def _short_parts(values: Array) -> tuple[Array, ...]:
    """The halves of values below `SHORT`, and the three products of their square."""
    whole = jnp.round(values * 2.0**_BITS)
    upper = jnp.round(whole * 2.0**-_SHORT_HALF)  # to the nearest, so that both halves are up to 2^26
    return _halves_and_products(upper, whole - upper * 2.0**_SHORT_HALF)


_SHIFTED = 1.5 * 2.0**52  # added to a whole number below 2^51, it leaves the number in the lower bits of the float64
_SHIFTED_BITS = int(np.float64(_SHIFTED).view(np.int64))


def _halves_and_products(upper: Array, lower: Array) -> tuple[Array, ...]:
    """Two whole numbers below 2^31 as integers that are `_SHIFTED_BITS` too large, and the products of their square.

    A number becomes an integer by adding `_SHIFTED` and taking the bits, because XLA's conversion, which is defined for
    all numbers, is slow. Products of two numbers of 32 bits are one fast instruction, unlike those of longer ones.
    """
    halves = [lax.bitcast_convert_type(half + _SHIFTED, jnp.int64) for half in (upper, lower)]
    high, low = ((half << _WORD) >> _WORD for half in halves)
    return *halves, high * high, high * low, low * low


def _sums_of_wide_parts(sums: Sequence[Array], count: int, bits: int) -> list[Array]:
    """The sums of the parts of `_wide_parts` from those of halves, of which the lower has that many bits.

    Args:
        sums: over `count` values, of their halves and of their products, or of the halves of these.
    """
    upper, lower, *products = sums
    with np.errstate(over="ignore"):  # sums of int64 wrap around, and differences wrap back
        shifted = jnp.asarray(np.int64(count) * np.int64(_SHIFTED_BITS))
    value, square = [jnp.zeros_like(upper)] * 2, [jnp.zeros_like(upper)] * 4
    _add_shifted(value, upper - shifted, bits)
    _add_shifted(value, lower - shifted, 0)
    # (high 2^b + low)^2 = high^2 2^2b + high low 2^(b + 1) + low^2
    shifts = [2 * bits, bits + 1, 0]
    if len(products) > len(shifts):  # a product is its upper half times 2^32 plus its lower half
        shifts = [shift + more for shift in shifts for more in (_WORD, 0)]
    for product, shift in zip(products, shifts, strict=True):
        _add_shifted(square, product, shift)
    return [*value[::-1], *square[::-1]]


def _add_shifted(limbs: list[Array], number: Array, shift: int) -> None:
    """Add number 2^shift to the limbs of 40 bits, the lowest first; limbs may exceed 40 bits."""
    place, bits = divmod(shift, _BITS)
    limbs[place] = limbs[place] + ((number & (_MASK >> bits)) << bits)
    limbs[place + 1] = limbs[place + 1] + (number >> (_BITS - bits))


def count_parts(counts: Array, counted: Array | np.ndarray, segments: int = 1, bits: int = 31) -> Array:
    """The integer parts of whole numbers and of their squares, summed over runs: what `Moments.add_counts` takes.

    Args:
        counts: int32 `[..., runs]`, >= 0 and below 2^bits; 64-bit types must be enabled.
        counted, segments: as for `integer_parts`.
        bits: of a number; a few classes of numbers have faster code (`count_bits`).

    Returns:
        int64 `[3, ..., segments]`: the sum, and two parts of the sum of squares.
    """
    counts = jnp.where(counted[(None,) * (counts.ndim - 1)], counts, 0).reshape(*counts.shape[:-1], segments, -1)
    in_int32, squares_in_int32 = (counts.shape[-1] << power * bits < 1 << 31 for power in (1, 2))
    wide = counts.astype(jnp.int64)
    squares = counts * counts if bits <= 15 else wide * wide
    if not squares_in_int32:
        squares = squares.astype(jnp.int64)
    parts = (counts if in_int32 else wide, *((squares,) if bits <= 22 else (squares >> _BITS, squares & _MASK)))
    zeros = tuple(jnp.zeros((), part.dtype) for part in parts)
    made = lax.reduce(parts, zeros, lambda a, b: tuple(map(jnp.add, a, b)), (counts.ndim - 1,))
    total, *sums = (part.astype(jnp.int64) for part in made)
    if len(sums) == 1:  # below 2^44 times the number of runs
        sums = [sums[0] >> _BITS, sums[0] & _MASK]
    return jnp.stack([total, *sums])


def count_bits(most: int) -> int:
    """The bits of whole numbers up to `most`, rounded up to those of the next class with code of its own."""
    return next(bits for bits in (11, 15, 22, 31) if most < 1 << bits)


def _square_parts(high: Array, low: Array) -> tuple[Array, Array, Array, Array]:
    """The integer parts of (high + 2^-40 low)^2, from halves of 20 bits whose products fit int64 with room to add."""
    d, c = high >> _HALF_BITS, high & _HALF_MASK
    b, a = low >> _HALF_BITS, low & _HALF_MASK
    odd = 2 * a * b, 2 * (a * d + b * c), 2 * c * d  # times 2^-60, 2^-20, 2^20
    fourth = a * a + ((odd[0] & _HALF_MASK) << _HALF_BITS)
    third = 2 * a * c + b * b + (odd[0] >> _HALF_BITS) + ((odd[1] & _HALF_MASK) << _HALF_BITS) + (fourth >> _BITS)
    second = 2 * b * d + c * c + (odd[1] >> _HALF_BITS) + ((odd[2] & _HALF_MASK) << _HALF_BITS) + (third >> _BITS)
    first = d * d + (odd[2] >> _HALF_BITS) + (second >> _BITS)
    return first, second & _MASK, third & _MASK, fourth & _MASK


_HALF_BITS = _BITS // 2
_HALF_MASK, _MASK = (1 << _HALF_BITS) - 1, (1 << _BITS) - 1


# Double-double arithmetic (Dekker 1971): a number as the sum of two float64, the rounded value and the remainder; 106
# bits in all.
_Real = float | np.ndarray
_DoubleDouble = tuple[_Real, _Real]


def _exact_product(a: _Real, b: _Real) -> _DoubleDouble:
    """a * b as a rounded float64 and the exact remainder."""
    high = a * b
    (a_upper, a_lower), (b_upper, b_lower) = _split(a), _split(b)
    return high, ((a_upper * b_upper - high) + a_upper * b_lower + a_lower * b_upper) + a_lower * b_lower


def _split(value: _Real) -> tuple[_Real, _Real]:
    """The upper 26 bits of a float64, and the lower ones."""
    big = value * 134217729.0  # 2^27 + 1
    upper = big - (big - value)
    return upper, value - upper


def _add(a: _DoubleDouble, b: _DoubleDouble) -> _DoubleDouble:
    high = a[0] + b[0]
    part = high - a[0]
    remainder = (a[0] - (high - part)) + (b[0] - part) + (a[1] + b[1])
    rounded = high + remainder
    return rounded, remainder - (rounded - high)


def _multiply(a: _DoubleDouble, b: _DoubleDouble) -> _DoubleDouble:
    high, remainder = _exact_product(a[0], b[0])
    remainder = remainder + (a[0] * b[1] + a[1] * b[0])
    rounded = high + remainder
    return rounded, remainder - (rounded - high)


def _from_parts(parts: _Parts, shape: tuple[int, ...]) -> _DoubleDouble:
    """The sum of integer parts, each times 2 to its exponent."""
    result: _DoubleDouble = np.zeros(shape), np.zeros(shape)
    for exponent, part in sorted(parts.items(), reverse=True):
        small = part.size > 0 and part.min() >= -_EXACT and part.max() <= _EXACT  # a float64 holds it
        for bits, half in [(0, part)] if small else [(32, part >> 32), (0, part & 0xFFFFFFFF)]:
            result = _add(result, (half * 2.0 ** (exponent + bits), 0.0))
    return result


_Parts = Mapping[int, np.ndarray]  # by exponent
_EXACT = 1 << 53  # float64 holds all whole numbers up to this one


def _stderr(runs: int, sums: _Parts, squares: _Parts, shape: tuple[int, ...]) -> np.ndarray:
    """The standard errors of means over that many runs."""
    whole = _whole_scaled_variance(runs, sums, squares)
    if whole is not None:
        return _root(whole.astype(np.float64), runs)
    squared = _multiply((float(runs), 0.0), _from_parts(squares, shape))
    total = _from_parts(sums, shape)
    high, low = _multiply(total, total)
    scaled_variance = np.asarray(_add(squared, (-high, -low))[0])  # runs^2 times the variance
    # Where runs agree so closely that the difference has hardly a correct bit
    cancelled = np.abs(scaled_variance) < squared[0] * 2.0**-50
    if cancelled.any():
        exact = (_exact(parts, cancelled) for parts in ((sums, _SUM_EXPONENTS), (squares, _SQUARE_EXPONENTS)))
        whole, whole_squares = exact
        scaled_variance[cancelled] = np.asarray((runs * whole_squares - whole * whole) / (1 << (2 * _BITS)), np.float64)
    return _root(scaled_variance, runs)


def _root(scaled_variance: np.ndarray, runs: int) -> np.ndarray:
    """The standard errors of means, from runs^2 times the variances."""
    return np.asarray(np.sqrt(np.maximum(scaled_variance, 0.0) / (float(runs) ** 2 * (runs - 1.0))))


def _whole_scaled_variance(runs: int, sums: _Parts, squares: _Parts) -> np.ndarray | None:
    """runs^2 times the variances where all sums are whole numbers and int64 holds each step; else None."""
    if sums.keys() != {0} or squares.keys() != {0}:
        return None
    total, squared = sums[0], squares[0]
    most = 1 << 63
    if max(-int(total.min()), int(total.max())) ** 2 >= most or runs * int(squared.max()) >= most:
        return None
    return np.asarray(runs * squared - total * total)


def _exact(parts: tuple[_Parts, tuple[int, ...]], where: np.ndarray) -> Any:
    """The sum of integer parts at some places, in units of the smallest exponent, in Python's integers."""
    by_exponent, exponents = parts
    return sum((part[where].astype(object) << (e - exponents[-1]) for e, part in by_exponent.items()), 0)


_PIECE = 1 << 13  # entries that are computed together
_Where = tuple[slice | EllipsisType, ...]


class Moments:
    """Means and standard errors over runs, exact to 2^-40 and the same in any order of arrival.

    Args:
        shape: the shape of the means.

    Example:
        >>> import jax
        >>> with jax.enable_x64(True):
        ...     parts = integer_parts([jnp.array([1.0, 2.0, 6.0])], jnp.ones(3, bool))
        >>> moments = Moments((1,))
        >>> moments.add((slice(None),), np.asarray(parts)[..., 0])
        >>> moments.mean(3).item(), round(moments.stderr(3).item(), 3)
        (3.0, 1.528)
    """

    def __init__(self, shape: tuple[int, ...]):
        self.shape = shape
        self._sums: dict[int, np.ndarray] = {}  # the sums of integer parts by exponent; absent where all are 0
        self._squares: dict[int, np.ndarray] = {}

    def add(self, where: _Where, parts: np.ndarray) -> None:
        """Add the `integer_parts` of some runs, int64 `[7, *shape[where]]`.

        Raises:
            FloatingPointError: a value was not finite or too large.
        """
        *sums, out_of_range = parts
        if out_of_range.any():
            raise FloatingPointError("a value is not finite, or beyond the range in which means are exact")
        count = len(_SUM_EXPONENTS)
        self._accumulate(self._sums, dict(zip(_SUM_EXPONENTS, sums[:count], strict=True)), where)
        self._accumulate(self._squares, dict(zip(_SQUARE_EXPONENTS, sums[count:], strict=True)), where)

    def add_counts(self, where: _Where, parts: np.ndarray) -> None:
        """Add the `count_parts` of some runs, int64 `[3, *shape[where]]`."""
        total, high, low = parts
        self._accumulate(self._sums, {0: total}, where)
        self._accumulate(self._squares, {40: high, 0: low}, where)

    def merge(self, where: _Where, other: Moments) -> None:
        """Add all runs of another `Moments`, whose shape is that of `shape[where]`."""
        self._accumulate(self._sums, other._sums, where)
        self._accumulate(self._squares, other._squares, where)

    def _accumulate(self, sums: dict[int, np.ndarray], parts: Mapping[int, np.ndarray], where: _Where) -> None:
        for exponent, part in parts.items():
            if exponent not in sums:
                if not part.any():
                    continue
                sums[exponent] = np.zeros(self.shape, np.int64)
            sums[exponent][where] += part

    def mean(self, runs: int) -> np.ndarray:
        """The mean over that many runs, float64, of `shape`."""
        return self._in_pieces(lambda sums, squares, shape: np.asarray(_from_parts(sums, shape)[0] / runs))

    def stderr(self, runs: int) -> np.ndarray:
        """The standard error of the mean over that many runs, float64, of `shape`; NaN for a single run."""
        if runs == 1:
            return np.full(self.shape, np.nan)
        return self._in_pieces(functools.partial(_stderr, runs))

    def _in_pieces(self, compute: Callable[[_Parts, _Parts, tuple[int, ...]], np.ndarray]) -> np.ndarray:
        """`compute(sums, squares, shape)`, for some entries after others, whose steps stay in the cache of a core."""
        count = math.prod(self.shape)
        flat = [{e: part.reshape(-1) for e, part in parts.items()} for parts in (self._sums, self._squares)]
        made = np.empty(count)
        for start in range(0, count, _PIECE):
            piece = slice(start, min(start + _PIECE, count))
            sums, squares = ({e: part[piece] for e, part in parts.items()} for parts in flat)
            made[piece] = compute(sums, squares, (piece.stop - piece.start,))
        return made.reshape(self.shape)

    def arrays(self, full: bool = False) -> dict[str, np.ndarray]:
        """The integer sums by name, int64 of `shape`; those that are 0 everywhere only with `full`."""
        zeros = np.zeros(self.shape, np.int64)
        return {
            f"{name}{exponent}": sums.get(exponent, zeros)
            for name, sums, exponents in self._named_sums()
            for exponent in exponents
            if full or exponent in sums
        }

    @classmethod
    def from_arrays(cls, shape: tuple[int, ...], arrays: Mapping[str, np.ndarray]) -> Moments:
        """The `Moments` whose `arrays` are given."""
        moments = cls(shape)
        for name, sums, exponents in moments._named_sums():
            sums.update({e: arrays[f"{name}{e}"] for e in exponents if f"{name}{e}" in arrays})
        return moments

    def _named_sums(self) -> tuple[tuple[str, dict[int, np.ndarray], tuple[int, ...]], ...]:
        return ("sum", self._sums, _SUM_EXPONENTS), ("squares", self._squares, _SQUARE_EXPONENTS)
