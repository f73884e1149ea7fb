"""Values that users give: conversion to Python's own types, and checks of numbers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, TypeAlias, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.core.errors import InputError

# Types of parameters, as users give them and as methods get them.
Number: TypeAlias = jax.Array | float
PerArm: TypeAlias = Any  # a number, or one per arm: also a list, with which a type checker allows no arithmetic

LARGEST = 1e30  # the largest magnitude of any number that a user may give


def to_python(value: Any) -> Any:
    """The value with numbers as int or float, and arrays, series, ranges and tuples as lists.

    Keys of `jax.random` and objects that hold no numbers stay as they are. A masked entry becomes None.
    """
    if isinstance(value, str | bool | int | float) or value is None or isinstance(value, type):
        return value
    if isinstance(value, Mapping):
        return {name: to_python(part) for name, part in value.items()}
    if isinstance(value, list | tuple | range):
        return [to_python(part) for part in value]
    if is_key(value) or not hasattr(value, "__array__"):
        return value
    try:
        array = value if isinstance(value, np.ma.MaskedArray) else np.asarray(value)
    except jax.errors.TracerArrayConversionError as error:
        error.add_note(
            "Numbers of problems, policies and settings must be known when a function of jaxbandit is called. Some are "
            "traced by `jax.jit`, `jax.vmap` or `jax.grad`. Give many values as a list, which makes a grid, and take "
            "gradients with `jb.tuning.value_and_gradient`."
        )
        raise
    converted = array.tolist()
    if isinstance(converted, np.floating):  # `tolist` leaves a long double as it is
        return float(converted)
    return to_python(converted) if isinstance(converted, list) and array.dtype == object else converted


def is_key(value: object) -> TypeGuard[jax.Array]:
    """Whether the value is a key of `jax.random.key`, or an array of such keys."""
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def is_masked(value: object) -> bool:
    """Whether the value is or contains a masked array with an entry that is masked."""
    if isinstance(value, list | tuple):
        return any(is_masked(part) for part in value if not isinstance(part, int | float | str))
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def is_whole_number(value: object, least: int = 1) -> TypeGuard[int]:
    """Whether the value is an int (not a boolean) of at least `least`."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def finite_numbers(value: Any, key: str, allowed: str, low: float = -math.inf, high: float = math.inf) -> np.ndarray:
    """A number, or nested lists of numbers, as float64.

    Args:
        value: the number or numbers.
        key: the config key or argument, for errors.
        allowed: the allowed values in words, for errors.
        low, high: the allowed range, ends included.

    Raises:
        InputError: the value is not made of real numbers (strings and booleans are not numbers), or a number is
            masked, out of range or above 1e30 in magnitude.
    """
    try:
        masked, parts = is_masked(value), np.asarray(value, dtype=object)
        numbers = parts.astype(np.float64)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise InputError(key, value, allowed) from None
    if masked:
        raise InputError(key, value, f"{allowed}, without masked entries")
    if np.any(np.abs(numbers) > LARGEST) and np.all(np.isfinite(numbers)):
        raise InputError(key, value, f"{allowed}, at most {LARGEST:g} in magnitude")
    not_numbers = any(isinstance(part, str | bool | np.bool_) for part in parts.flat) or parts.size == 0
    in_range, finite = (low <= numbers) & (numbers <= high), np.isfinite(numbers)
    if not_numbers or not np.all(in_range & finite):
        only_finite = not not_numbers and "finite" not in allowed and np.all(in_range | ~finite)
        raise InputError(key, value, f"finite, and {allowed}" if only_finite else allowed)
    return numbers


def number_or_numbers(value: object, condition: str) -> str:
    """The words of an error about a value: "a number >= 0", or "numbers >= 0" for a list or an array."""
    several = isinstance(value, list | tuple) or getattr(value, "ndim", 0) > 0
    return f"{'numbers' if several else 'a number'} {condition}"


def static_value(value: Any, key: str, default: object, whole: bool = False) -> Any:
    """A constant of a program as a Python value that can be hashed: a string, a boolean, a number, or a tuple of these.

    Args:
        value: such a value, of Python, NumPy or JAX. Lists and arrays become tuples.
        key: the config key or argument, for errors.
        default: a value of the type that is allowed, where this is a string, a boolean or a number.
        whole: whether a number must be whole; it is then an int.

    Raises:
        InputError: anything else, or a number that is not finite, or not whole where it must be.
    """
    converted = to_python(value)
    if isinstance(converted, list) and not isinstance(default, str | int | float):
        return tuple(static_value(part, key, None, whole) for part in converted)
    if isinstance(default, bool):
        return boolean(converted, key)
    if isinstance(default, str) and not isinstance(converted, str):
        raise InputError(key, value, "a string")
    if isinstance(default, int | float) or not isinstance(converted, str | bool):
        allowed = "a finite number" if isinstance(default, int | float) else "a finite number, a string or a boolean"
        if finite_numbers(converted, key, allowed).ndim:
            raise InputError(key, value, allowed)
    if whole and not (isinstance(converted, int | float) and converted == int(converted)):
        raise InputError(key, value, "a whole number")
    if whole:
        return int(converted)
    return float(converted) if isinstance(converted, float) else converted  # NumPy's float64 is a float, too


def boolean(value: Any, key: str) -> bool:
    """True or false, of Python, NumPy or JAX.

    Raises:
        InputError: anything else.
    """
    converted = to_python(value)
    if not isinstance(converted, bool):
        raise InputError(key, value, "true or false")
    return converted


def without_fraction(value: Any) -> Any:
    """A float that is a whole number, such as 1e4, as an int; other values as they are."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def whole_number(value: Any, key: str, least: int = 1, most: int | None = None) -> int:
    """A whole number, of Python, NumPy or JAX; floats such as 1e4 are among them.

    Raises:
        InputError: anything else, or a number below `least` or above `most`.
    """
    converted = without_fraction(to_python(value))
    if not is_whole_number(converted, least) or (most is not None and converted > most):
        raise InputError(
            key, value, f"a whole number >= {least}" if most is None else f"a whole number from {least} to {most}"
        )
    return int(converted)


def check_positive(value: Any, key: str, allowed: str) -> None:
    """Refuse numbers that are 0 or less, for parameters whose range excludes its lower end.

    Raises:
        InputError: a number is 0 or less; `allowed` are the allowed values in words.
    """
    try:
        least = float(np.min(np.asarray(value, dtype=float)))
    except (TypeError, ValueError, OverflowError):
        return  # the check of the range, which follows, has the better message
    if least <= 0:
        raise InputError(key, value, allowed)


def per_arm(value: Any, arms: int, instances: int, key: str, held: Any = None, exact: bool = False) -> np.ndarray:
    """A number, K numbers, or one row of K numbers per instance, as an array `[]`, `[K, 1]` or `[K, J]`.

    Args:
        value: the number or numbers.
        arms, instances: K and J.
        key: the config key or argument, for errors.
        held: the value that an error shows, where `value` is no longer as the user wrote it.
        exact: keep the entries of an object array, which are exact ratios; else the result is float64.

    Raises:
        InputError: any other shape.
    """
    array = np.asarray(value) if exact else np.asarray(value).astype(np.float64)
    if array.ndim == 0:
        return array
    if array.shape == (arms,):
        return array[:, None]
    if array.shape == (instances, arms):
        return array.T
    rows = f", or {instances} rows of {arms} numbers, one row per instance" if instances > 1 else ""
    allowed = f"a number or {arms} numbers, one per arm{rows}"
    raise InputError(key, value if held is None else held, allowed)


def row_per_arm(value: Any, arms: int, instances: int, key: str, held: Any = None, exact: bool = False) -> np.ndarray:
    """`per_arm`, with a number spread over all arms: an array `[K, 1]` or `[K, J]`."""
    rows = per_arm(value, arms, instances, key, held, exact)
    return np.broadcast_to(rows, (arms, 1)) if rows.ndim == 0 else rows


# Ranges of parameters, which are fields of a component


def range_ends(field: dataclasses.Field[Any], most: float) -> tuple[float, float]:
    """The ends of the range of a parameter, -most and most where it has none."""
    low, high = field.metadata.get("low"), field.metadata.get("high")
    return -most if low is None else max(low, -most), most if high is None else min(high, most)


def is_any(field: dataclasses.Field[Any]) -> bool:
    """Whether a parameter is any Python value: a static one without a range that is not annotated as `int`."""
    return bool(field.metadata.get("static")) and range_in_words(field) == "" and not is_whole(field)


def is_whole(field: dataclasses.Field[Any]) -> bool:
    """Whether a parameter must be a whole number: one annotated as `int`."""
    return field.type in (int, "int")


def check_range(value: Any, field: dataclasses.Field[Any], key: str) -> None:
    """Refuse the value of a parameter that is not finite numbers, not whole where it must be, or out of range.

    Raises:
        InputError: naming the key, the value and the allowed values.
    """
    if is_any(field):
        static_value(value, key, field.default)
    else:
        numbers = finite_numbers(value, key, allowed(value, field), *range_ends(field, math.inf))
        if is_whole(field) and (numbers != np.floor(numbers)).any():
            raise InputError(key, value, allowed(value, field))


def allowed(value: object, field: dataclasses.Field[Any]) -> str:
    """The allowed values of a parameter, in the words of an error about `value`."""
    condition = range_in_words(field)
    words = number_or_numbers(value, condition).strip()
    if is_whole(field):
        return words.replace("number", "whole number", 1)
    return words if condition else words.replace("number", "finite number", 1)


def values_in_words(field: dataclasses.Field[Any]) -> str:
    """The values that a parameter may have: "whole numbers >= 1", "from 0 to 1", or "" where any number may be."""
    return f"{'whole numbers' if is_whole(field) else ''} {range_in_words(field)}".strip()


def range_in_words(field: dataclasses.Field[Any]) -> str:
    """The range of a parameter in words: "from 0 to 1", ">= 0", or "" without limits."""
    low, high = field.metadata.get("low"), field.metadata.get("high")
    if low is not None and high is not None:
        return f"from {low:g} to {high:g}"
    if low is not None:
        return f">= {low:g}"
    return "" if high is None else f"<= {high:g}"
