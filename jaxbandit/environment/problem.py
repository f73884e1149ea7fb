"""`Problem`: means, rewards, delays, availability, and what fairness asks of them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from jaxbandit.core import prng
from jaxbandit.core.component import Component
from jaxbandit.core.errors import InputError, suggest_keywords, unknown_key
from jaxbandit.core.input_values import finite_numbers, is_whole_number, number_or_numbers, per_arm, to_python
from jaxbandit.core.rationals import exact_fractions, shortest_decimals
from jaxbandit.environment import conversion_log
from jaxbandit.environment.delays import Delay
from jaxbandit.environment.merit import Merit
from jaxbandit.environment.opportunities import Opportunity
from jaxbandit.environment.rewards import Reward

_DRAWN = 10**7  # means drawn at random, arms x instances: some seconds and 600 MiB
_MEANS = (
    "K numbers, rows of K numbers (one row per instance), a table { random = ..., arms = K, instances = J }, "
    "or a table { conversions = path of a log, arms = K }"
)


class Problem:
    """One or more instances of a bandit problem, checked and ready to simulate.

    Args:
        means: the arms' mean rewards: K numbers, a list of such lists (instances), or a table
            `{"random": "uniform", "arms": K, "instances": J, "low": 0, "high": 1}` drawn with `key`.
        plays: L, arms selected in a round, 1 <= L <= K.
        reward: a name of `jaxbandit.rewards`, a table `{"kind": ..., parameter: ...}` or a `Reward`.
        delay: the same of `jaxbandit.delays`.
        availability: the chance that an arm can be selected in a round (001 sec. 5), a number or K numbers.
        fractions: tau, the fraction of rounds owed to each arm, a number or K numbers, or one row an instance;
            decimals are taken as written.
        penalties: A, the price of each missed round, shaped as `fractions`; or `{"gap_fraction": x}` for
            x (max mu - min mu) of each instance (000, experiment C).
        merit: f, to which selection is to be proportional: a name of `jaxbandit.merit`, a table, or a `Merit`.
        opportunity: f of paper 004, the shares of rounds that the means entitle arms to: a name of
            `jaxbandit.opportunity`, a table, or an `Opportunity`.
        key: what random means are drawn with.

    Attributes:
        means: float64 `[K, J]`.
        fractions: exact ratios (`fractions.Fraction`), `[K, J]` or `[K, 1]`; None where fairness asks nothing.
        penalties: float64 `[K, J]` or `[K, 1]`; None where nothing is priced.
        availability: float64 `[K, J]` or `[K, 1]`; None where every arm is always there.

    Raises:
        InputError: naming the key, what it holds and what it may hold.

    Example:
        >>> Problem(means=[0.9, 0.8, 0.7], fractions=0.05, penalties=0.45).arms
        3
    """

    KEYS = ("means", "plays", "reward", "delay", "availability", "fractions", "penalties", "merit", "opportunity")

    @suggest_keywords
    def __init__(
        self,
        means: Any,
        plays: int = 1,
        reward: Any = "bernoulli",
        delay: Any = "none",
        availability: Any = 1.0,
        fractions: Any = None,
        penalties: Any = None,
        merit: Any = None,
        opportunity: Any = None,
        key: Any = 0,
    ):
        self.means = _means(means, key)
        self.arms, self.instances = self.means.shape
        self.plays = _plays(plays, self.arms)
        self.fractions = self._fractions(fractions)
        self.penalties = self._penalties(penalties)
        self.availability = self._availability(availability)
        self._given: dict[str, Component] = {}  # components as they were given, which a config has to give again
        self.reward: Reward = self._component(Reward, reward, "reward").prepare(self.means)
        self.merit: Merit | None = None
        if merit is not None:
            self.merit = self._of_means(Merit, merit, "merit").prepare(self.arms, self.plays)
        self.opportunity: Opportunity | None = None
        if opportunity is not None:
            self.opportunity = self._of_means(Opportunity, opportunity, "opportunity").prepare(self.means)
        self.delay: Delay = self._delay(delay)

    @classmethod
    def from_table(cls, table: Mapping[str, Any], key: Any) -> Problem:
        """The problem of a config's `[problem]` table."""
        for name in table:
            if name not in cls.KEYS:
                raise unknown_key(f"problem.{name}", table[name], cls.KEYS)
        if "means" not in table:
            raise InputError("problem.means", None, _MEANS)
        return cls(**table, key=key)

    def as_table(self) -> dict[str, Any]:
        """The table `[problem]` of a config that gives the same problem; means that were drawn are written out."""
        made: dict[str, Any] = {"means": self.means.T.tolist(), "plays": self.plays}
        made |= {name: component.as_table() for name, component in self._given.items()}
        if self.fractions is not None:
            made["fractions"] = shortest_decimals(_rows(self.fractions), "problem.fractions")
        for name in ("availability", "penalties"):
            if (values := getattr(self, name)) is not None:
                made[name] = _rows(values)
        return made

    @property
    def gaps(self) -> np.ndarray:
        """gap_k = max mu - mu_k, float64 `[K, J]`."""
        return self.means.max(axis=0) - self.means

    def fair_chances(self) -> np.ndarray:
        """p*_k = L f(mu_k) / sum f(mu), the one fair policy (002 eq. 4), float64 `[K, J]`."""
        assert self.merit is not None
        merit = self.merit.values_at(self.means)
        return self.plays * merit / merit.sum(axis=0)

    def opportunities(self) -> np.ndarray:
        """f(mu)_k, the share of rounds that each arm is owed (004 sec. 2), float64 `[K, J]`."""
        assert self.opportunity is not None
        return self.opportunity.values_float64(self.means)

    def reward_support(self) -> tuple[float, float]:
        """The least interval that holds every reward."""
        return self.reward.support(self.means)

    def _component(self, family: Any, value: Any, name: str) -> Any:
        made = self._given[name] = family.from_spec(value, f"problem.{name}")
        return made

    def _spread(self, numbers: np.ndarray, name: str, held: Any) -> np.ndarray:
        rows = per_arm(numbers, self.arms, self.instances, f"problem.{name}", held, exact=name == "fractions")
        return np.broadcast_to(rows, (self.arms, 1)) if rows.ndim == 0 else rows

    def _fractions(self, value: Any) -> np.ndarray | None:
        if value is None:
            return None
        key = "problem.fractions"
        rows = self._spread(exact_fractions(value, key), "fractions", value)
        if any(not 0 <= tau <= 1 for tau in rows.flat):
            raise InputError(key, value, number_or_numbers(value, "from 0 to 1"))
        sums = [sum(column, Fraction(0)) for column in rows.T]
        if max(sums) > self.plays:
            bound = f"must sum to at most plays = {self.plays} (they sum to {float(max(sums)):g})"
            raise InputError(key, value, bound)
        return rows

    def _penalties(self, value: Any) -> np.ndarray | None:
        if value is None:
            return None
        key = "problem.penalties"
        if isinstance(value, Mapping):
            if set(value) != {"gap_fraction"}:
                raise InputError(key, dict(value), "numbers >= 0, or a table { gap_fraction = x }")
            share = finite_numbers(value["gap_fraction"], f"{key}.gap_fraction", "a number >= 0", low=0)
            if share.ndim:
                raise InputError(f"{key}.gap_fraction", value["gap_fraction"], "a number >= 0")
            return np.broadcast_to(share * self.gaps.max(axis=0), self.means.shape).copy()
        numbers = finite_numbers(value, key, number_or_numbers(value, ">= 0"), low=0)
        return self._spread(numbers, "penalties", value)

    def _of_means(self, family: Any, value: Any, name: str) -> Any:
        """A function of the means, checked."""
        if np.any((self.means < 0) | (self.means > 1)):
            allowed = f"numbers from 0 to 1, where `{name}` is a function of them"
            raise InputError("problem.means", self.means.T.tolist(), allowed)
        return self._component(family, value, name)

    def _delay(self, value: Any) -> Delay:
        made: Delay = self._component(Delay, value, "delay")
        if made.needs_zero_one_rewards and self.reward.name != "bernoulli":
            allowed = f"'bernoulli' (rewards of 0 and 1) with delay kind {made.name!r}"
            raise InputError("problem.reward", self.reward.name, allowed)
        return made.prepare(self.means)

    def _availability(self, value: Any) -> np.ndarray | None:
        allowed = number_or_numbers(value, "from 0 to 1")
        numbers = finite_numbers(value, "problem.availability", allowed, low=0, high=1)
        return None if np.all(numbers == 1) else self._spread(numbers, "availability", value)


def problem_of(value: Any, key: Any = 0) -> Problem:
    """The problem that a `Problem` is, or the keys of a config's `[problem]` table describe.

    Args:
        key: what random means are drawn with.

    Raises:
        InputError: anything else, or a key at fault.
    """
    return value if isinstance(value, Problem) else Problem.from_table(problem_table(value), key)


def problem_table(value: Any) -> Mapping[str, Any]:
    """The keys of a config's `[problem]` table.

    Raises:
        InputError: no mapping.
    """
    if not isinstance(value, Mapping):
        allowed = 'one Problem, such as Problem([0.9, 0.5]), or a table, such as {"means": [0.9, 0.5]}'
        raise InputError("problem", value, allowed)
    return value


def _rows(values: np.ndarray) -> Any:
    """Numbers, `[K, J or 1]`, as a config writes them: K of them, or one row per instance."""
    rows = values.T.tolist()
    return rows[0] if len(rows) == 1 else rows


def _plays(value: Any, arms: int) -> int:
    number = to_python(value)
    if not is_whole_number(number) or number > arms:
        raise InputError("problem.plays", value, f"a whole number from 1 to the number of arms, {arms}")
    return int(number)


def _means(value: Any, key: Any) -> np.ndarray:
    if isinstance(value, Mapping):
        return _recorded_means(value) if "conversions" in value else _random_means(value, key)
    numbers = finite_numbers(value, "problem.means", _MEANS)
    if numbers.ndim not in (1, 2):
        raise InputError("problem.means", value, _MEANS)
    return np.atleast_2d(numbers).T


def _recorded_means(table: Mapping[str, Any]) -> np.ndarray:
    """Conversion counts scaled to [0, 1] (002 sec. 6)."""
    for name in table:
        if name not in ("conversions", "arms"):
            raise unknown_key(f"problem.means.{name}", table[name], ["conversions", "arms"])
    key = "problem.means.conversions"
    try:
        return conversion_log.read_log(table["conversions"], table.get("arms"), key).means[:, None]
    except InputError as error:
        raise error.with_key(error.key.replace(f"{key}.arms", "problem.means.arms")) from None


def _random_means(table: Mapping[str, Any], key: Any) -> np.ndarray:
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
    if spec["arms"] * spec["instances"] > _DRAWN:
        larger = "arms" if spec["arms"] > spec["instances"] else "instances"
        allowed = f"small enough that arms x instances is at most {_DRAWN}"
        raise InputError(f"problem.means.{larger}", spec[larger], allowed)
    low, high = (finite_numbers(spec[name], f"problem.means.{name}", "a number") for name in ("low", "high"))
    if low.ndim:
        raise InputError("problem.means.low", spec["low"], "a number")
    if high.ndim or high < low:
        raise InputError("problem.means.high", spec["high"], f"a number >= low = {spec['low']}")
    return (low + (high - low) * prng.uniform_table(key, spec["instances"], spec["arms"])).T
