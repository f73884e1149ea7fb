"""Constant mean rewards: given as numbers, drawn at random, or counted in a conversion log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxbandit.core import prng
from jaxbandit.core.errors import InputError, unknown_key
from jaxbandit.core.input_values import finite_numbers, is_whole_number, to_python
from jaxbandit.environment import conversion_log

ALLOWED = (
    "K numbers, rows of K numbers (one row per instance, not per round), a table { random = ..., arms = K, "
    "instances = J }, a table { conversions = path of a log, arms = K }, or for means that change "
    "{ changes = [[1, [...]], [t, [...]], ...] }, { walk = { start = [...], ... } } or { by_round = T rows }"
)
_MOST_DRAWN = 10**7  # arms x instances; more take over some seconds and 600 MiB


def read_key(key: object) -> int:
    """The argument `key` of a problem, with which means are drawn, as an integer from 0 to 2^64 - 1.

    Raises:
        InputError: `key` is neither such an integer nor one key of `jax.random`.
    """
    try:
        return prng.key_as_integer(key)
    except InputError as error:
        raise error.with_key("problem.key") from None


def read_means(value: Any, key: object) -> np.ndarray:
    """The means as float64 `[K, J]`, from the argument `means` of `Problem`.

    Args:
        value: K numbers, rows of K numbers, or a table.
        key: the random key for means that are drawn.

    Raises:
        InputError: anything else.
    """
    if isinstance(value, Mapping):
        return _from_log(value) if "conversions" in value else _drawn(value, key)
    numbers = finite_numbers(value, "problem.means", ALLOWED)
    if numbers.ndim not in (1, 2):
        raise InputError("problem.means", value, ALLOWED)
    return np.atleast_2d(numbers).T


def _from_log(table: Mapping[str, Any]) -> np.ndarray:
    """The counts of conversions, scaled to [0, 1] (merit paper, sec. 6)."""
    for name in table:
        if name not in ("conversions", "arms"):
            raise unknown_key(f"problem.means.{name}", table[name], ["conversions", "arms"])
    key = "problem.means.conversions"
    try:
        return conversion_log.read_log(table["conversions"], table.get("arms"), key).means[:, None]
    except InputError as error:
        if error.key == "problem.means":  # of the counts, which the user has not written
            words = f"a log with {error.allowed}; they are {error.held}"
            raise InputError(key, str(table["conversions"]), words) from None
        raise error.with_key(error.key.replace(f"{key}.arms", "problem.means.arms")) from None


def _drawn(table: Mapping[str, Any], key: object) -> np.ndarray:
    """Means drawn uniformly from [low, high)."""
    defaults = {"random": None, "arms": None, "instances": 1, "low": 0.0, "high": 1.0}
    for name in table:
        if name not in defaults:
            raise unknown_key(f"problem.means.{name}", table[name], defaults)
    spec = {**defaults, **{name: to_python(value) for name, value in table.items()}}
    if spec["random"] != "uniform":
        raise InputError("problem.means.random", spec["random"], "'uniform'")
    for name in ("arms", "instances"):
        if not is_whole_number(spec[name]):
            raise InputError(f"problem.means.{name}", spec[name], "a whole number >= 1")
    if spec["arms"] * spec["instances"] > _MOST_DRAWN:
        larger = "arms" if spec["arms"] > spec["instances"] else "instances"
        allowed = f"small enough that arms x instances is at most {_MOST_DRAWN}"
        raise InputError(f"problem.means.{larger}", spec[larger], allowed)
    low, high = (finite_numbers(spec[name], f"problem.means.{name}", "a number") for name in ("low", "high"))
    if low.ndim:
        raise InputError("problem.means.low", spec["low"], "a number")
    if high.ndim or high < low:
        raise InputError("problem.means.high", spec["high"], f"a number >= low = {spec['low']}")
    return (low + (high - low) * prng.uniform_table(key, spec["instances"], spec["arms"])).T
