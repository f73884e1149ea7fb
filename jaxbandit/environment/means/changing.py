"""Mean rewards that change: at given rounds, in every round, or in a random walk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from jaxbandit.core import prng
from jaxbandit.core.errors import InputError, unknown_key
from jaxbandit.core.input_values import finite_numbers, is_whole_number, to_python

_MOST_NUMBERS = 10**7  # rows x instances x arms
_ROW = "K numbers (or J rows of K numbers, one row per instance)"
CHANGES = f"a list of pairs [round, means] that starts with round 1; each `means` is {_ROW}"
BY_ROUND = f"T rows, one per round, each of {_ROW}"


@dataclass(frozen=True)
class MeanPath:
    """Means of T rounds.

    Attributes:
        rounds: the rounds from which means hold, increasing, from 1; int64 `[S]`.
        means: the means from each of these rounds on, float64 `[S, K, J]`.
    """

    rounds: np.ndarray
    means: np.ndarray

    def at(self, rounds: np.ndarray) -> np.ndarray:
        """The means in some rounds, integers `[n]` from 1; float64 `[n, K, J]`."""
        return self.means[np.searchsorted(self.rounds, rounds, side="right") - 1]

    def starts(self, rounds: np.ndarray) -> np.ndarray:
        """The last round before the means of some rounds began to hold, integers `[n]`; 0 for those of round 1."""
        before = self.rounds - 1
        started: np.ndarray = before[np.maximum(np.searchsorted(before, rounds) - 1, 0)]
        return started

    def average(self, horizon: int) -> np.ndarray:
        """The average over the rounds 1 to `horizon`, float64 `[K, J]`."""
        lengths = np.diff(self.rounds, append=horizon + 1)
        average: np.ndarray = np.tensordot(lengths / horizon, self.means, 1)
        return average


class ChangingMeans(Protocol):
    """Means that change.

    Attributes:
        last: the last round of a change that was given; 1 for a walk.
        length: the number of rounds that were given, where all were; else None.
    """

    @property
    def last(self) -> int: ...

    @property
    def length(self) -> int | None: ...

    def until(self, horizon: int) -> MeanPath:
        """The means of the rounds 1 to T.

        Raises:
            InputError: the means were given for other rounds.
        """
        ...

    def extremes(self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and the largest mean that each arm can have, float64 `[K, J]`."""
        ...

    def start(self) -> np.ndarray:
        """The means in round 1, float64 `[K, J]`."""
        ...


@dataclass(frozen=True)
class GivenMeans:
    """Means that are given for some rounds, each until the next.

    Attributes:
        path: the means.
        last: the last round that was given.
        length: the number of rounds that were given, where all were; else None.
    """

    path: MeanPath
    last: int
    length: int | None = None

    def until(self, horizon: int) -> MeanPath:
        if self.length is not None and self.length != horizon:
            words = f"T = {horizon} rows, one per round"
            raise InputError("problem.means.by_round", f"{self.length} rows", words)
        if self.last > horizon:
            raise InputError(
                "problem.means.changes", f"a change in round {self.last}", f"changes up to round T = {horizon}"
            )
        return self.path

    def extremes(self) -> tuple[np.ndarray, np.ndarray]:
        return self.path.means.min(axis=0), self.path.means.max(axis=0)

    def start(self) -> np.ndarray:
        first: np.ndarray = self.path.means[0]
        return first


@dataclass(frozen=True)
class Walk:
    """A Gaussian random walk per arm and instance, folded back into an interval.

    Attributes:
        first: the means in round 1, float64 `[K, J]`.
        sd: the standard deviation of a step.
        every: the number of rounds between two steps; the first step is in round 1 + every.
        low, high: the ends of the interval.
        key: the key with which steps are drawn.
        last, length: as in `ChangingMeans`.
        paths: the path that was drawn last, by T.
    """

    first: np.ndarray
    sd: float
    every: int
    low: float
    high: float
    key: Any
    last: int = 1
    length: None = None
    paths: dict[int, MeanPath] = field(default_factory=dict, compare=False, repr=False)  # drawn before, by T

    def until(self, horizon: int) -> MeanPath:
        if horizon not in self.paths:
            self.paths.clear()
            self.paths[horizon] = self._drawn(horizon)
        return self.paths[horizon]

    def _drawn(self, horizon: int) -> MeanPath:
        from scipy.special import ndtri  # late: `import jaxbandit` does not need it

        arms, instances = self.first.shape
        rounds = np.arange(1, horizon + 1, self.every, dtype=np.int64)
        if len(rounds) * arms * instances > _MOST_NUMBERS:
            words = f"long enough that there are at most {_MOST_NUMBERS} means (steps x arms x instances)"
            raise InputError("problem.means.walk.every", self.every, words)
        uniform = prng.uniform_table(self.key, instances, arms * (len(rounds) - 1))
        # Column n arms + k: step n of arm k, whatever T is. Half of the spacing of the numbers keeps 0 away.
        steps = self.sd * ndtri(uniform + 2.0**-54).reshape(instances, -1, arms).transpose(1, 2, 0)
        means = np.empty((len(rounds), arms, instances))
        means[0] = self.first
        for number, step in enumerate(steps):
            means[number + 1] = _folded(means[number] + step, self.low, self.high)
        return MeanPath(rounds, means)

    def extremes(self) -> tuple[np.ndarray, np.ndarray]:
        return np.full_like(self.first, self.low), np.full_like(self.first, self.high)

    def start(self) -> np.ndarray:
        return self.first


def _folded(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """The values, reflected at the ends of an interval until they lie in it."""
    width = high - low
    if width == 0:
        return np.full_like(values, low)
    beyond = np.mod(values - low, 2 * width)
    return np.clip(low + np.minimum(beyond, 2 * width - beyond), low, high)


def read_changing(table: Mapping[str, Any], key: object) -> ChangingMeans | None:
    """The means that a table `{ changes = ... }`, `{ by_round = ... }` or `{ walk = ... }` describes.

    Args:
        table: the table.
        key: the random key of a walk.

    Returns:
        The means; None for another table.

    Raises:
        InputError: the table is not valid.
    """
    kind = next((name for name in _READERS if name in table), None)
    if kind is None:
        return None
    for name in table:
        if name != kind:
            raise unknown_key(f"problem.means.{name}", table[name], [kind])
    return _READERS[kind](table[kind], key)


def _read_changes(given: Any, key: object) -> ChangingMeans:
    name = "problem.means.changes"
    if not isinstance(given, list | tuple) or not given:
        raise InputError(name, given, CHANGES)
    if any(not isinstance(pair, list | tuple) or len(pair) != 2 for pair in given):
        raise InputError(name, given, CHANGES)
    rounds = [to_python(pair[0]) for pair in given]
    for number, t in enumerate(rounds):
        if not is_whole_number(t):
            raise InputError(f"{name}[{number}]", to_python(given[number][0]), "a round, a whole number >= 1")
    if rounds[0] != 1:
        raise InputError(f"{name}[0]", f"round {rounds[0]}", "round 1: the first means hold from round 1 on")
    for number in range(1, len(rounds)):
        if rounds[number] <= rounds[number - 1]:
            words = f"a round after round {rounds[number - 1]}, that of the change before"
            raise InputError(f"{name}[{number}]", f"round {rounds[number]}", words)
    rows = [_row(pair[1], f"{name}[{number}]") for number, pair in enumerate(given)]
    return _given(np.array(rounds, np.int64), rows, name, None)


def _read_by_round(given: Any, key: object) -> ChangingMeans:
    name = "problem.means.by_round"
    try:
        count = len(given)
    except TypeError:
        raise InputError(name, given, BY_ROUND) from None
    if isinstance(given, str | Mapping) or not count:
        raise InputError(name, given, BY_ROUND)
    if isinstance(given, np.ndarray) and given.ndim in (2, 3):
        values = finite_numbers(given, name, BY_ROUND)
        rows = list(values if values.ndim == 3 else values[:, None])
    else:
        rows = [_row(row, f"{name}[{number}]") for number, row in enumerate(given)]
    return _given(np.arange(1, count + 1, dtype=np.int64), rows, name, count)


def _row(value: Any, name: str) -> np.ndarray:
    """The means from one round on, `[J, K]`."""
    numbers = finite_numbers(value, name, _ROW)
    if numbers.ndim not in (1, 2):
        raise InputError(name, value, _ROW)
    return np.atleast_2d(numbers)


def _given(rounds: np.ndarray, rows: list[np.ndarray], name: str, length: int | None) -> GivenMeans:
    for number, row in enumerate(rows):
        if row.shape != rows[0].shape:
            held = f"{row.shape[1]} numbers" if len(row) == 1 else f"{row.shape[0]} rows of {row.shape[1]} numbers"
            first = rows[0].shape
            words = f"{first[1]} numbers" if first[0] == 1 else f"{first[0]} rows of {first[1]} numbers"
            raise InputError(f"{name}[{number}]", held, f"{words}, as the first means")
    means = np.stack(rows).transpose(0, 2, 1)  # [S, K, J]
    if means.size > _MOST_NUMBERS:
        raise InputError(name, f"{means.size} numbers", f"at most {_MOST_NUMBERS} numbers")
    kept = np.append(True, np.any(means[1:] != means[:-1], axis=(1, 2)))  # rows that change nothing cost time
    return GivenMeans(MeanPath(rounds[kept], np.ascontiguousarray(means[kept])), int(rounds[-1]), length)


_WALK = {"start": None, "sd": 0.02, "every": 100, "low": 0.0, "high": 1.0, "instances": 1}


def _read_walk(given: Any, key: object) -> ChangingMeans:
    name = "problem.means.walk"
    if not isinstance(given, Mapping):
        raise InputError(name, given, f"a table {{ start = [...], ... }} with the keys {', '.join(_WALK)}")
    for entry in given:
        if entry not in _WALK:
            raise unknown_key(f"{name}.{entry}", given[entry], _WALK)
    spec = {**_WALK, **{entry: to_python(value) for entry, value in given.items()}}
    numbers = {entry: finite_numbers(spec[entry], f"{name}.{entry}", "a number") for entry in ("sd", "low", "high")}
    for entry, number in numbers.items():
        if number.ndim or (entry == "sd" and number < 0):
            raise InputError(f"{name}.{entry}", spec[entry], "a number >= 0" if entry == "sd" else "a number")
    low, high = float(numbers["low"]), float(numbers["high"])
    if high < low:
        raise InputError(f"{name}.high", spec["high"], f"a number >= low = {spec['low']}")
    for entry in ("every", "instances"):
        if not is_whole_number(spec[entry]):
            raise InputError(f"{name}.{entry}", spec[entry], "a whole number >= 1")
    allowed = f"K numbers from {low:g} to {high:g}, the means in round 1"
    start = finite_numbers(spec["start"], f"{name}.start", allowed, low, high)
    if start.ndim != 1:
        raise InputError(f"{name}.start", spec["start"], allowed)
    first = np.repeat(start[:, None], spec["instances"], axis=1)
    return Walk(first, float(numbers["sd"]), spec["every"], low, high, key)


_READERS = {"changes": _read_changes, "by_round": _read_by_round, "walk": _read_walk}


def is_drawn(means: object) -> bool:
    """Whether an argument `means` is a table of means that are drawn with a key."""
    return isinstance(means, Mapping) and ("random" in means or "walk" in means)
