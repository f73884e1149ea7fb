"""`Problem`: means, rewards, delays and availability of arms, and the fairness requirements."""

from __future__ import annotations

import html
import reprlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.core import prng
from jaxbandit.core.component import Component
from jaxbandit.core.errors import InputError, suggest_keywords, unknown_key
from jaxbandit.core.input_values import finite_numbers, is_whole_number, number_or_numbers, per_arm, to_python
from jaxbandit.core.rationals import exact_fractions, shortest_decimals
from jaxbandit.environment import means as mean_rewards
from jaxbandit.environment.delays import Delay
from jaxbandit.environment.merit import Merit
from jaxbandit.environment.opportunities import Opportunity
from jaxbandit.environment.rewards import Reward

Numbers = ArrayLike | Fraction | Decimal | Sequence[Any]
Family = TypeVar("Family", bound=Component)

_REPR = reprlib.Repr()  # for numbers and tables, with long lists cut
_REPR.maxlist, _REPR.maxdict, _REPR.maxstring, _REPR.maxother = 6, 8, 60, 60
_ROWS_SHOWN = 2  # rows of several instances in the `repr`
_ARMS_SHOWN = 30  # rows of the HTML table
_HEADINGS = {"means": "mean", "fractions": "fraction", "penalties": "penalty rate"}  # of the HTML table


class Problem:
    """A bandit problem with fairness requirements: one instance or several instances, checked and ready to simulate.

    An arm's rewards are drawn from a distribution with the arm's mean. Each round, the policy selects `plays` arms and
    receives their rewards after a delay. Fairness requirements are optional; each policy states those that it needs.
    Numbers per arm are given as one number for all arms, K numbers, or (with J instances) one row of K numbers per
    instance.

    Args:
        means: mu, the mean rewards of the arms: K numbers; J rows of K numbers, one row per instance; a table
            `{"random": "uniform", "arms": K, "instances": J, "low": 0, "high": 1}` for means that are drawn with `key`;
            or a table `{"conversions": path, "arms": K}` for means from a conversion log: counts scaled to [0, 1]
            (merit paper, sec. 6).
        plays: L, the number of arms that are selected per round, from 1 to K. Default: 1.
        reward: the distribution of rewards: a name ("bernoulli", "gaussian", "beta", "uniform", "constant"), a table
            `{"kind": name, parameter: value, ...}`, or a `Reward`. Default: "bernoulli".
        delay: the rounds between a selection and the arrival of its reward: a name ("none", "fixed", "geometric",
            "pareto", "packet-loss", "reward-dependent", "empirical"), a table, or a `Delay`. Default: "none".
        availability: the probability that an arm can be selected in a round (guarantees paper, sec. 5), from 0 to 1,
            per arm. Default: 1.
        fractions: tau, the fraction of rounds in which an arm is guaranteed to be selected, from 0 to 1, per arm; they
            sum to at most L. Decimal numbers are used exactly as written. Default: None, no guarantee.
        penalties: A, the penalty rate: the cost of a round that an arm misses, in units of reward, >= 0, per arm. In a
            problem with `opportunity` it is the transfer cost: the cost of each round that arm k is entitled to and
            does not get. Or a table `{"gap_fraction": x}` for x (max mu - min mu) in each instance (penalties paper,
            experiment C). Default: None, no penalty.
        merit: the merit function f, where arms are to be selected in proportion to f(mu) (merit paper): a name
            ("power"), a table, or a `Merit`. The means must lie in [0, 1]. Default: None.
        opportunity: the fairness function f, where arm k is to be selected in a share f(mu)_k of the rounds
            (opportunities paper): a name ("zero", "uniform", "linear", "softmax", "power", "constant",
            "piecewise-linear"), a table, or an `Opportunity`. The means must lie in [0, 1]. Default: None.
        key: the random key with which means are drawn: an integer, or a key of `jax.random`. Default: 0. In a table
            for `simulate` or a config, the default is the key of the simulation; a `key` of the table keeps the means
            the same for other keys of the simulation.

    Attributes:
        arms: K.
        instances: J.
        plays: L.
        means: float64 `[K, J]`.
        fractions: exact ratios (`fractions.Fraction`), object array `[K, J]` or `[K, 1]`; or None.
        penalties: float64 `[K, J]` or `[K, 1]`; or None.
        availability: float64 `[K, J]` or `[K, 1]`; None where every arm is always available.
        reward, delay: the `Reward` and the `Delay`, prepared for the means.
        merit, opportunity: the `Merit` and the `Opportunity`, prepared; or None.

    Raises:
        InputError: an argument is invalid; the error names it, its value and the allowed values.

    Example:
        >>> jb.Problem([0.9, 0.8, 0.7], fractions=0.05, penalties=0.45, delay={"kind": "geometric", "p": 0.1})
        Problem(3 arms, means=[0.9, 0.8, 0.7], delay={'kind': 'geometric', 'p': 0.1}, fractions=0.05, penalties=0.45)
        >>> jb.Problem({"random": "uniform", "arms": 5, "instances": 100}, reward="gaussian").means.shape
        (5, 100)
    """

    KEYS = (
        *("means", "plays", "reward", "delay", "availability", "fractions", "penalties", "merit", "opportunity"),
        "key",
    )

    @suggest_keywords
    def __init__(
        self,
        means: Numbers | Mapping[str, Any],
        plays: int = 1,
        reward: str | Mapping[str, Any] | Reward = "bernoulli",
        delay: str | Mapping[str, Any] | Delay = "none",
        availability: Numbers = 1.0,
        fractions: Numbers | None = None,
        penalties: Numbers | Mapping[str, float] | None = None,
        merit: str | Mapping[str, Any] | Merit | None = None,
        opportunity: str | Mapping[str, Any] | Opportunity | None = None,
        key: object = 0,
    ):
        self.means = mean_rewards.read_means(means, key)
        self._tables: dict[str, Any] = {}  # what is computed from other arguments, as it was given
        if isinstance(means, Mapping):
            self._tables["means"] = dict(means)
            if "random" in means:
                self._tables["key"] = prng.key_as_integer(key)
        if isinstance(penalties, Mapping):
            self._tables["penalties"] = dict(penalties)
        self.arms, self.instances = self.means.shape
        self.plays = _plays(plays, self.arms)
        self.fractions = self._fractions(fractions)
        self.penalties = self._penalties(penalties)
        self.availability = self._availability(availability)
        self._given: dict[str, Component] = {}  # components before they were prepared, as a config describes them
        self.reward: Reward = self._component(Reward, reward, "reward").prepare(self.means)
        self.merit: Merit | None = None
        if merit is not None:
            self.merit = self._function_of_means(Merit, merit, "merit").prepare(self.arms, self.plays)
        self.opportunity: Opportunity | None = None
        if opportunity is not None:
            self.opportunity = self._function_of_means(Opportunity, opportunity, "opportunity").prepare(self.means)
        self.delay: Delay = self._delay(delay)

    @classmethod
    def from_table(cls, table: Mapping[str, Any], key: object) -> Problem:
        """The problem of a config's `[problem]` table.

        Args:
            table: the table.
            key: the random key with which means are drawn, unless the table has a `key` of its own.
        """
        for name in table:
            if name not in cls.KEYS:
                raise unknown_key(f"problem.{name}", table[name], cls.KEYS)
        if "means" not in table:
            raise InputError("problem.means", None, mean_rewards.ALLOWED)
        own = {name: value for name, value in table.items() if name != "key"}
        return cls(**own, key=cls._own_key(table) if "key" in table else key)

    @staticmethod
    def _own_key(table: Mapping[str, Any]) -> int:
        """The `key` of a table, which has to have random means."""
        if not (isinstance(table["means"], Mapping) and "random" in table["means"]):
            words = "must not be given: the means of the problem are not drawn (means = { random = ... } are)"
            raise InputError("problem.key", to_python(table["key"]), words)
        try:
            return prng.key_as_integer(table["key"])
        except InputError as error:
            raise error.with_key("problem.key") from None

    def as_table(self) -> dict[str, Any]:
        """The `[problem]` table of a config that describes the same problem; drawn means are listed as numbers."""
        table: dict[str, Any] = {"means": self.means.T.tolist(), "plays": self.plays}
        table |= {name: component.as_table() for name, component in self._given.items()}
        if self.fractions is not None:
            table["fractions"] = shortest_decimals(_rows(self.fractions), "problem.fractions")
        for name in ("availability", "penalties"):
            if (values := getattr(self, name)) is not None:
                table[name] = _rows(values)
        return table

    def as_given_table(self) -> dict[str, Any]:
        """`as_table`, with what grids need as it was given.

        These are components of classes that no config can name, and means and penalty rates that are computed from
        other arguments.
        """
        unnamed = {
            name: component
            for name, component in self._given.items()
            if type(component).registry.get(component.name) is not type(component)
        }
        return self.as_table() | unnamed | self._tables

    def replace(self, **values: Any) -> Self:
        """A problem with other values of some arguments.

        Args:
            **values: arguments of `Problem`. Means that were drawn or read from a log are kept as numbers.

        Example:
            >>> jb.Problem([0.9, 0.5], fractions=0.1).replace(plays=2).plays
            2
        """
        return type(self)(**(self.as_table() | self._given | values))

    @property
    def gaps(self) -> np.ndarray:
        """The gaps max mu - mu_k, float64 `[K, J]`."""
        return self.means.max(axis=0) - self.means

    def fair_chances(self) -> np.ndarray:
        """p*_k = L f(mu_k) / sum_j f(mu_j), the chances of the optimal fair policy, float64 `[K, J]`.

        f is the problem's `merit` function, which must not be None. Source: merit paper, eq. 4.
        """
        assert self.merit is not None
        merit = self.merit.values_at(self.means)
        return self.plays * merit / merit.sum(axis=0)

    def opportunities(self) -> np.ndarray:
        """f(mu)_k, the share of rounds to which arm k is entitled, float64 `[K, J]`.

        f is the problem's `opportunity` function, which must not be None. Source: opportunities paper, sec. 2.
        """
        assert self.opportunity is not None
        return self.opportunity.values_float64(self.means)

    def reward_support(self) -> tuple[float, float]:
        """The smallest interval that contains every possible reward, as (low, high)."""
        return self.reward.support(self.means)

    def __repr__(self) -> str:
        texts = {name: _numbers_in_words(values, name != "means") for name, values in self._arrays().items()}
        texts |= self._components()
        if self.plays > 1:
            texts["plays"] = str(self.plays)
        parts = [self._size(), *(f"{name}={texts[name]}" for name in self.KEYS if name in texts)]
        line = f"Problem({', '.join(parts)})"
        return line if len(line) <= 120 else "Problem(\n    " + ",\n    ".join(parts) + ",\n)"

    def _repr_html_(self) -> str:
        """For notebooks: a table with one row per arm of the first instance, and a line with the other arguments."""
        columns = self._arrays()
        if self.merit is not None:
            columns["fair chance"] = self.fair_chances()
        if self.opportunity is not None:
            columns["opportunity"] = self.opportunities()
        kinds = {"reward": "'bernoulli'", "delay": "'none'"} | self._components()
        line = [self._size(), f"plays = {self.plays}", *(f"{name} = {text}" for name, text in kinds.items())]
        if self.instances > 1:
            line.append(f"the table shows instance 0 of {self.instances}")
        return _html_table({name: values[:, 0] for name, values in columns.items()}, "; ".join(line))

    def _size(self) -> str:
        arms = f"{self.arms} arm{'s' * (self.arms > 1)}"
        return arms if self.instances == 1 else f"{arms}, {self.instances} instances"

    def _arrays(self) -> dict[str, np.ndarray]:
        """The numbers per arm that differ from their defaults, `[K, J or 1]`."""
        arrays = {name: getattr(self, name) for name in ("means", "availability", "fractions", "penalties")}
        return {name: values for name, values in arrays.items() if values is not None}

    def _components(self) -> dict[str, str]:
        """The reward, delay, merit and opportunity that differ from their defaults, as text."""
        texts = {name: _table_in_words(component.as_table(), component) for name, component in self._given.items()}
        defaults = {"reward": "'bernoulli'", "delay": "'none'"}
        return {name: text for name, text in texts.items() if text != defaults.get(name)}

    def _component(self, family: type[Family], value: Any, name: str) -> Family:
        component = self._given[name] = family.from_spec(value, f"problem.{name}")
        return component

    def _function_of_means(self, family: type[Family], value: Any, name: str) -> Family:
        """A merit or fairness function. It is a function of means in [0, 1].

        Raises:
            InputError: a mean is outside [0, 1].
        """
        if np.any((self.means < 0) | (self.means > 1)):
            allowed = f"numbers from 0 to 1 in a problem with `{name}`"
            raise InputError("problem.means", self.means.T.tolist(), allowed)
        return self._component(family, value, name)

    def _delay(self, value: Any) -> Delay:
        delay = self._component(Delay, value, "delay")
        if delay.needs_zero_one_rewards and not self.reward.zero_one:
            kinds = " or ".join(repr(name) for name, kind in sorted(Reward.registry.items()) if kind.zero_one)
            allowed = f"{kinds}, or a `jb.Reward` with `zero_one = True`"
            reason = f"because the delay {delay.name!r} needs rewards of 0 and 1"
            raise InputError("problem.reward", self.reward.name, f"{allowed}, {reason}")
        return delay.prepare(self.means)

    def _spread(self, numbers: np.ndarray, name: str, held: Any) -> np.ndarray:
        """Numbers per arm as `[K, J or 1]`; `held` is the value as the user wrote it, for errors."""
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
            allowed = f"must sum to at most plays = {self.plays} (they sum to {float(max(sums)):g})"
            raise InputError(key, value, allowed)
        return rows

    def _penalties(self, value: Any) -> np.ndarray | None:
        if value is None:
            return None
        key = "problem.penalties"
        if isinstance(value, Mapping):
            if set(value) != {"gap_fraction"}:
                raise InputError(key, dict(value), "numbers >= 0, or a table { gap_fraction = x }")
            factor = finite_numbers(value["gap_fraction"], f"{key}.gap_fraction", "a number >= 0", low=0)
            if factor.ndim:
                raise InputError(f"{key}.gap_fraction", value["gap_fraction"], "a number >= 0")
            return np.broadcast_to(factor * self.gaps.max(axis=0), self.means.shape).copy()
        numbers = finite_numbers(value, key, number_or_numbers(value, ">= 0"), low=0)
        return self._spread(numbers, "penalties", value)

    def _availability(self, value: Any) -> np.ndarray | None:
        allowed = number_or_numbers(value, "from 0 to 1")
        numbers = finite_numbers(value, "problem.availability", allowed, low=0, high=1)
        return None if np.all(numbers == 1) else self._spread(numbers, "availability", value)


def problem_of(value: Any, key: object = 0) -> Problem:
    """The `Problem` itself, or the problem that the keys of a config's `[problem]` table describe.

    Args:
        value: a `Problem` or a mapping.
        key: the random key with which means are drawn.

    Raises:
        InputError: anything else, or a key is invalid.
    """
    return value if isinstance(value, Problem) else Problem.from_table(problem_table(value), key)


def problem_table(value: Any) -> Mapping[str, Any]:
    """The keys of a config's `[problem]` table.

    Raises:
        InputError: the value is not a mapping.
    """
    if not isinstance(value, Mapping):
        allowed = 'one Problem, such as Problem([0.9, 0.5]), or a table, such as {"means": [0.9, 0.5]}'
        raise InputError("problem", value, allowed)
    return value


def _rows(values: np.ndarray) -> list[Any]:
    """Numbers `[K, J or 1]` as a config holds them: K numbers, or one row per instance."""
    rows: list[Any] = values.T.tolist()
    return rows[0] if len(rows) == 1 else rows


def _plays(value: Any, arms: int) -> int:
    number = to_python(value)
    if not is_whole_number(number) or number > arms:
        raise InputError("problem.plays", value, f"a whole number from 1 to the number of arms, {arms}")
    return int(number)


# Display


def _numbers_in_words(values: np.ndarray, one_for_all: bool) -> str:
    """Numbers `[K, J or 1]` as arguments of `Problem`, with 6 digits each and long lists cut.

    Args:
        one_for_all: show equal numbers as one number.
    """
    rows = values.T[:_ROWS_SHOWN].tolist()
    exact = values.dtype == object
    rows = shortest_decimals(rows, "") if exact else [[float(f"{value:.6g}") for value in row] for row in rows]
    if values.shape[1] == 1:
        return repr(rows[0][0]) if one_for_all and len({*rows[0]}) == 1 else _REPR.repr(rows[0])
    return f"[{', '.join([*map(_REPR.repr, rows), *['...'] * (values.shape[1] > _ROWS_SHOWN)])}]"


def _table_in_words(table: Mapping[str, Any], component: Component) -> str:
    """The table of a component without the parameters that have their defaults; its name where none is left."""
    shown = {}
    for name, value in table.items():
        field = component.parameters().get(name)
        default = None if field is None else field.default
        if value != (default.as_table() if isinstance(default, Component) else default):
            part = getattr(component, name, None)
            shown[name] = _table_in_words(value, part) if isinstance(part, Component) else _REPR.repr(value)
    if len(shown) == 1:
        return repr(component.name)
    return "{" + ", ".join(f"{name!r}: {text}" for name, text in shown.items()) + "}"


def _html_table(columns: Mapping[str, np.ndarray], line: str) -> str:
    """A table with one row per arm and one column per array `[K]`, below a line of text."""
    rows = [[str(k), *(f"{float(values[k]):.6g}" for values in columns.values())] for k in range(len(columns["means"]))]
    if len(rows) > _ARMS_SHOWN:
        rows[_ARMS_SHOWN - 2 : -1] = [["..."] * len(rows[0])]
    headings = ["arm", *(_HEADINGS.get(name, name) for name in columns)]
    head = "".join(f"<th>{html.escape(name)}</th>" for name in headings)
    body = "".join("<tr>" + "".join(f"<td>{text}</td>" for text in row) + "</tr>" for row in rows)
    text = f"<p>Problem: {html.escape(line, quote=False)}</p>"
    return f"<div>{text}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
