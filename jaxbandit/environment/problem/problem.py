"""`Problem`: means, rewards, delays and availability of arms, and the fairness requirements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.core import prng
from jaxbandit.core.component import Component
from jaxbandit.core.errors import InputError, suggest_keywords, unknown_key
from jaxbandit.core.input_values import is_whole_number, to_python, without_fraction
from jaxbandit.core.rationals import shortest_decimals
from jaxbandit.environment.delays import Delay
from jaxbandit.environment.means import changing, constant
from jaxbandit.environment.merit import Merit
from jaxbandit.environment.opportunities import Opportunity
from jaxbandit.environment.problem import availability as awake
from jaxbandit.environment.problem.display import ProblemDisplay
from jaxbandit.environment.problem.groups import Groups, check_together, read_groups
from jaxbandit.environment.problem.requirements import read_fractions, read_penalties
from jaxbandit.environment.rewards import Reward, support_of

Numbers = ArrayLike | Fraction | Decimal | Sequence[Any]
Family = TypeVar("Family", bound=Component)


class Problem(ProblemDisplay):
    """A bandit problem with fairness requirements: one instance or several instances, checked and ready to simulate.

    An arm's rewards are drawn from a distribution with the arm's mean. Each round, the policy selects `plays` arms and
    receives their rewards after a delay. Fairness requirements are optional; each policy states those that it needs.
    Numbers per arm are given as one number for all arms, K numbers, or (with J instances) one row of K numbers per
    instance.

    Args:
        means: mu, the mean rewards of the arms: K numbers; J rows of K numbers, one row per instance (not per round);
            a table `{"random": "uniform", "arms": K, "instances": J, "low": 0, "high": 1}` for means that are drawn
            with `key`; or a table `{"conversions": path, "arms": K}` for means from a conversion log: counts scaled to
            [0, 1] (merit paper, sec. 6). Means that change are a table, too: `{"changes": [[1, [...]], [t, [...]],
            ...]}`, where each row holds from its round until the next; `{"by_round": rows}`, T rows of K numbers, one
            row per round; or `{"walk": {"start": [...], "sd": 0.02, "every": 100, "low": 0, "high": 1, "instances":
            1}}`, a Gaussian step per arm every 100 rounds, reflected at the ends of [0, 1], drawn with `key`.
        plays: L, the number of arms that are selected per round, from 1 to K. Default: 1.
        reward: the distribution of rewards: a name ("bernoulli", "gaussian", "beta", "uniform", "constant"), a table
            `{"kind": name, parameter: value, ...}`, or a `Reward`. Default: "bernoulli".
        delay: the rounds between a selection and the arrival of its reward: a name ("none", "fixed", "geometric",
            "pareto", "packet-loss", "reward-dependent", "empirical"), a table, or a `Delay`. Default: "none".
        availability: the probability that an arm can be selected in a round (guarantees paper, sec. 5), from 0 to 1,
            per arm. Default: 1. Or a table `{"table": [[1, 0, 1], ...]}` of n rows of K entries 0 or 1: in round t, the
            arms with a 1 in row (t - 1) mod n can be selected.
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
        groups: lists of arms, one list per group; an arm is in one group at most. Default: None.
        group_fractions: phi, the fraction of the plays that each group is guaranteed, from 0 to 1: a number, or one
            number per group; they sum to at most 1. Group g is owed phi_g L t plays in t rounds. Decimal numbers are
            used exactly as written. Default: None, no guarantee.
        group_penalties: the penalty rate of each group, >= 0: the cost of a play that a group misses, in units of
            reward; a number, or one number per group. Default: None.
        key: the random key with which means are drawn: an integer, or a key of `jax.random`. Default: 0. In a table
            for `simulate` or a config, the default is the key of the simulation; a `key` of the table keeps the means
            the same for other keys of the simulation.

    Attributes:
        arms: K.
        instances: J.
        plays: L.
        means: float64 `[K, J]`; where means change, those of round 1.
        changing: the means that change, or None; `means_at` returns the means of any round.
        fractions: exact ratios (`fractions.Fraction`), object array `[K, J]` or `[K, 1]`; or None.
        penalties: float64 `[K, J]` or `[K, 1]`; or None.
        availability: float64 `[K, J]` or `[K, 1]`; None where every arm is always available, or with a table.
        availability_table: bool `[n, K]`; None without a table.
        groups: the `Groups`, with `members`, `fractions` and `penalties`; or None.
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
        *("groups", "group_fractions", "group_penalties", "key"),
    )

    @suggest_keywords
    def __init__(
        self,
        means: Numbers | Mapping[str, Any],
        plays: int = 1,
        reward: str | Mapping[str, Any] | Reward = "bernoulli",
        delay: str | Mapping[str, Any] | Delay = "none",
        availability: Numbers | Mapping[str, Any] = 1.0,
        fractions: Numbers | None = None,
        penalties: Numbers | Mapping[str, float] | None = None,
        merit: str | Mapping[str, Any] | Merit | None = None,
        opportunity: str | Mapping[str, Any] | Opportunity | None = None,
        groups: Sequence[Sequence[int]] | None = None,
        group_fractions: Numbers | None = None,
        group_penalties: Numbers | None = None,
        key: object = 0,
    ):
        number = constant.read_key(key)
        self.changing = changing.read_changing(means, number) if isinstance(means, Mapping) else None
        self.means = constant.read_means(means, number) if self.changing is None else self.changing.start()
        self._tables: dict[str, Any] = {}  # what is computed from other arguments, as it was given
        if isinstance(means, Mapping):
            self._tables["means"] = dict(means)
            if changing.is_drawn(means):
                self._tables["key"] = number
        if isinstance(penalties, Mapping):
            self._tables["penalties"] = dict(penalties)
        self.arms, self.instances = self.means.shape
        self.plays = _plays(plays, self.arms)
        self.fractions = read_fractions(fractions, self.arms, self.instances, self.plays)
        self.penalties = read_penalties(penalties, self.means, self.changing is not None)
        self.availability: np.ndarray | None = None
        self.availability_table: np.ndarray | None = None
        if isinstance(availability, Mapping):
            self.availability_table = awake.read_table(availability, self.arms)
        else:
            self.availability = awake.read_probabilities(availability, self.arms, self.instances)
        self.groups: Groups | None = read_groups(
            groups, group_fractions, group_penalties, self.arms, self.instances, self.plays
        )
        if self.groups is not None and self.fractions is not None:
            check_together(self.groups, self.fractions, self.plays)
        self._given: dict[str, Component] = {}  # components before they were prepared, as a config describes them
        given: Reward = self._component(Reward, reward, "reward")
        if self.changing is not None:
            for extreme in self.changing.extremes():
                given.prepare(extreme)  # which refuses means that do not suit the rewards
        self.reward: Reward = given.prepare(self.means)
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
            raise InputError("problem.means", None, constant.ALLOWED)
        own = {name: value for name, value in table.items() if name != "key"}
        return cls(**own, key=cls._own_key(table) if "key" in table else prng.key_as_integer(key))

    @staticmethod
    def _own_key(table: Mapping[str, Any]) -> int:
        """The `key` of a table, which has to have random means."""
        if not changing.is_drawn(table["means"]):
            words = "must not be given: the means of the problem are not drawn (means = { random = ... } are)"
            raise InputError("problem.key", to_python(table["key"]), words)
        return constant.read_key(table["key"])

    def as_table(self) -> dict[str, Any]:
        """The `[problem]` table of a config that describes the same problem; drawn means are listed as numbers."""
        table: dict[str, Any] = {"means": self.means.T.tolist(), "plays": self.plays}
        table |= {name: component.as_table() for name, component in self._given.items()}
        if self.fractions is not None:
            table["fractions"] = shortest_decimals(_rows(self.fractions), "problem.fractions")
        for name in ("availability", "penalties"):
            if (values := getattr(self, name)) is not None:
                table[name] = _rows(values)
        table |= self.tables()
        if self.changing is not None and "key" in self._tables:
            table["key"] = self._tables["key"]
        return table

    def tables(self) -> dict[str, Any]:
        """The arguments that are neither numbers per arm nor components, as they were given: by name."""
        given: dict[str, Any] = {}
        if self.changing is not None:
            given["means"] = to_python(self._tables["means"])
        if self.availability_table is not None:
            given["availability"] = {"table": self.availability_table.astype(int).tolist()}
        if self.groups is not None:
            given["groups"] = [list(members) for members in self.groups.members]
            if self.groups.fractions is not None:
                given["group_fractions"] = shortest_decimals(_rows(self.groups.fractions), "problem.group_fractions")
            if self.groups.penalties is not None:
                given["group_penalties"] = _rows(self.groups.penalties)
        return given

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
            **values: arguments of `Problem`. Means that were drawn or read from a log are kept as numbers. Penalty
                rates that were given as `gap_fraction` follow new means.

        Example:
            >>> jb.Problem([0.9, 0.5], fractions=0.1).replace(plays=2).plays
            2
        """
        of_gaps = {name: given for name, given in self._tables.items() if name == "penalties"}
        return type(self)(**(self.as_table() | of_gaps | self._given | values))

    @property
    def gaps(self) -> np.ndarray:
        """The gaps max mu - mu_k, float64 `[K, J]`."""
        return self.means.max(axis=0) - self.means

    def means_at(self, rounds: ArrayLike) -> np.ndarray:
        """The means in some rounds, float64 `[n, K, J]`.

        Args:
            rounds: the rounds, whole numbers >= 1, `[n]`.

        Example:
            >>> jb.Problem({"changes": [[1, [0.9, 0.1]], [5, [0.2, 0.8]]]}).means_at([4, 5])[:, :, 0].tolist()
            [[0.9, 0.1], [0.2, 0.8]]
        """
        which = np.atleast_1d(np.asarray(rounds))
        if which.ndim > 1 or which.dtype.kind not in "iu" or not len(which) or which.min() < 1:
            raise InputError("rounds", rounds, "a list of rounds, whole numbers >= 1")
        if self.changing is None:
            return np.repeat(self.means[None], len(which), axis=0)
        return self.changing.until(self.changing.length or max(int(which.max()), self.changing.last)).at(which)

    def fair_chances(self, means: np.ndarray | None = None) -> np.ndarray:
        """p*_k = L f(mu_k) / sum_j f(mu_j), the chances of the optimal fair policy, float64 `[K, J]`.

        f is the problem's `merit` function, which must not be None. Source: merit paper, eq. 4.

        Args:
            means: mu, float64 `[K, J]`. Default: those of the problem.

        Example:
            >>> jb.Problem([0.5, 1.0], merit="power").fair_chances().ravel().round(3).tolist()
            [0.273, 0.727]
        """
        if self.merit is None:
            raise InputError("problem.merit", None, "given: the chances are proportional to it")
        merit = self.merit.values_at(self.means if means is None else means)
        return self.plays * merit / merit.sum(axis=0)

    def opportunities(self) -> np.ndarray:
        """f(mu)_k, the share of rounds to which arm k is entitled, float64 `[K, J]`.

        f is the problem's `opportunity` function, which must not be None. Source: opportunities paper, sec. 2.
        """
        if self.opportunity is None:
            raise InputError("problem.opportunity", None, "given: it is the fairness function f")
        return self.opportunity.values_float64(self.means)

    def reward_support(self) -> tuple[float, float]:
        """The smallest interval that contains every possible reward, as (low, high)."""
        ends = [support_of(self.reward.at_means(means), means) for means in self.extreme_means()]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def reward_with(self, means: np.ndarray, spans: int) -> Reward:
        """The rewards prepared for the means of several spans of rounds side by side, float64 `[K, spans J]`."""
        given = self._given["reward"]
        rows = {name: np.tile(value, (spans, 1)) for name, value in given.numbers().items() if np.ndim(value) == 2}
        made: Reward = given.replace(**rows).prepare(means)  # type: ignore[attr-defined]
        return made

    def extreme_means(self) -> tuple[np.ndarray, ...]:
        """The means, float64 `[K, J]`; where they change, the smallest and the largest mean of each arm."""
        return (self.means,) if self.changing is None else self.changing.extremes()

    def guarantees(self) -> np.ndarray | None:
        """The plays per round that arms, then groups, are guaranteed: tau_k, then phi_g L, exact, `[n, J or 1]`.

        None where nothing is guaranteed.
        """
        shares = None if self.groups is None or self.groups.fractions is None else self.groups.fractions * self.plays
        parts = [part for part in (self.fractions, shares) if part is not None]
        if len(parts) < 2:
            return parts[0] if parts else None
        columns = max(part.shape[1] for part in parts)
        return np.concatenate([np.broadcast_to(part, (len(part), columns)) for part in parts])

    def has(self, key: str) -> bool:
        """Whether an argument that can be left out was given."""
        if key == "availability":
            return self.sleeping
        if key.startswith("group_"):
            return self.groups is not None and getattr(self.groups, key.removeprefix("group_")) is not None
        return getattr(self, key) is not None

    @property
    def sleeping(self) -> bool:
        """Whether some arms cannot be selected in some rounds."""
        return self.availability is not None or self.availability_table is not None

    def components(self) -> Mapping[str, Component]:
        """The reward, delay, merit and opportunity as they were given, before they were prepared, by name."""
        return self._given

    def _component(self, family: type[Family], value: Any, name: str) -> Family:
        component = self._given[name] = family.from_spec(value, f"problem.{name}")
        return component

    def _function_of_means(self, family: type[Family], value: Any, name: str) -> Family:
        """A merit or fairness function. It is a function of means in [0, 1].

        Raises:
            InputError: a mean is outside [0, 1].
        """
        for means in self.extreme_means():
            if np.any((means < 0) | (means > 1)):
                allowed = f"numbers from 0 to 1 in a problem with `{name}`"
                raise InputError("problem.means", means.T.tolist(), allowed)
        return self._component(family, value, name)

    def _delay(self, value: Any) -> Delay:
        delay = self._component(Delay, value, "delay")
        if delay.needs_zero_one_rewards and not self.reward.zero_one:
            kinds = " or ".join(repr(name) for name, kind in sorted(Reward.registry.items()) if kind.zero_one)
            allowed = f"{kinds}, or a `jb.Reward` with `zero_one = True`"
            reason = f"because the delay {delay.name!r} needs rewards of 0 and 1"
            raise InputError("problem.reward", self.reward.name, f"{allowed}, {reason}")
        return delay.prepare(self.means)


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
    number = without_fraction(to_python(value))
    if not is_whole_number(number) or number > arms:
        raise InputError("problem.plays", value, f"a whole number from 1 to the number of arms, {arms}")
    return int(number)
