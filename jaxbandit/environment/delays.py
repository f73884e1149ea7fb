"""Delay models: the number of rounds between a selection and the arrival of its reward.

A reward of round t with delay D arrives at the end of round t + D, or never if that is after the horizon. Feedback is
per arm: the number of rewards that arrived and their sum (merit paper, eq. 1), with any delay model.

To add a delay model, write a subclass of `jb.Delay` with a method `draw`. Define `longest`, too, if the delays are
bounded, and `cdf` for the bounds of the merit paper. `jb.NEVER` is the delay of a reward that does not arrive.

Pending rewards are kept in a calendar. Its length in rounds is the smallest power of 2 that is above the longest delay,
or, if delays can be longer than the simulation, at least the horizon; so no delay is truncated. Per arm, run and round
of its length the calendar takes 8 bytes: a count and a sum, in float32. It takes 2 bytes if the policy receives rewards
of 0 and 1: then count and sum take one byte each, since a delay model of this package never makes more than 255 rewards
of an arm arrive in one round (with probability above 1e-427). With a delay model of your own, which may do so, it takes
2 bytes if the calendar is shorter than 256 rounds, and 4 if it is shorter than 2^16. A policy that needs further
sums, such as squares or losses weighted by chances, takes 8 bytes and 4 more for each of them. In float64 a sum takes 8
bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.component import Component, derived, parameter
from jaxbandit.core.errors import InputError
from jaxbandit.core.input_values import check_positive, is_masked, number_or_numbers, per_arm, to_python
from jaxbandit.core.prng import Stream
from jaxbandit.core.users_code import contracts
from jaxbandit.core.users_code.failures import told_of
from jaxbandit.environment import conversion_log

NEVER = 1 << 30  # `jb.NEVER`: the delay of a reward that does not arrive, in rounds
_MOST_RECORDED = 10**8  # delays in the tables of all arms, so that they fit into memory


class Delay(Component, required="draw"):
    """The base class of delay models.

    A subclass defines `draw`. It defines `longest` if its delays are bounded, which saves memory, and `cdf` if
    `jb.bounds` should compute the bounds of the merit paper. The fields of a subclass are its parameters: numbers, or
    one number per arm. `class Mine(jb.Delay, name="mine")` makes the model available in configs under this name.

    Attributes:
        name: the name in configs.
        immediate: every reward arrives at the end of its own round, without a call of `draw`. Default: False.
        needs_zero_one_rewards: every reward must be 0 or 1. Default: False.

    Example:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> class UniformDelay(jb.Delay):
        ...     most: int = jb.parameter(10, low=1, doc="delays are uniform on 0, ..., most - 1")
        ...
        ...     def draw(self, reward, random):
        ...         return jnp.floor(self.most * random.uniform(len(reward))).astype(jnp.int32)
        ...
        ...     def longest(self):
        ...         return self.most.max() - 1
        ...
        ...     def cdf(self, rounds, means):
        ...         return np.minimum((rounds[:, None, None] + 1) / self.most, 1.0)
        >>> jb.Problem([0.9, 0.5], delay=UniformDelay(most=20))
        Problem(2 arms, means=[0.9, 0.5], delay={'kind': 'UniformDelay', 'most': 20})
    """

    family: ClassVar[str] = "delay"
    registry: ClassVar[dict[str, Any]] = {}
    immediate: ClassVar[bool] = False
    needs_zero_one_rewards: ClassVar[bool] = False

    def prepare(self, means: np.ndarray, key: str = "problem.delay") -> Delay:
        """The model with checked parameters, each as an array `[]`, `[K, 1]` or `[K, J]`.

        Args:
            means: mu, float64 `[K, J]`.
            key: the config key of the model, for errors.

        Raises:
            InputError: a parameter is invalid, or a model with `immediate = True` has a `draw` of its own.
        """
        self.check(key)
        if self.immediate and contracts.has_users_method(self, "draw"):
            raise InputError(key, self.name, "a delay whose class has `immediate = False`, since it defines `draw`")
        arms, instances = means.shape
        spread = {name: per_arm(value, arms, instances, f"{key}.{name}") for name, value in self.numbers().items()}
        return self.with_numbers(spread, key)

    def device_model(self) -> Delay:
        """The prepared model as the engine uses it, with numbers, arrays `[K or 1, J or 1]` and tables `[n]` only."""
        return self

    def longest(self) -> float:
        """The longest delay in rounds, `jb.NEVER` not counted; infinity, the default, if delays are not bounded.

        Called for a prepared model. A longer delay, other than `jb.NEVER`, can end the simulation with an error.
        """
        return math.inf

    def draw(self, reward: Array, random: Stream) -> Array:
        """Draw one delay per play, in rounds.

        Called while a program is traced; the parameters are numbers or arrays `[n or 1, *runs]` by then.

        Args:
            reward: the rewards of the n plays, float `[n, *runs]`.
            random: the random numbers of these plays, a `jb.Stream`, independent of those of the rewards:
                `random.uniform(n)` returns an array `[n, *runs]`. `random.t` is the number of earlier plays of the arm,
                as in `jb.Reward.draw`. The round is not known, so that a delay cannot depend on it.

        Returns:
            The delays, int32 `[n, *runs]` or an array that broadcasts to it, >= 0; `jb.NEVER` or more for rewards that
            do not arrive.
        """
        raise TypeError(f"{type(self).__name__} has no draw")

    def cdf(self, rounds: np.ndarray, means: np.ndarray) -> np.ndarray:
        """P(D <= d), the probability that a reward arrives within d rounds, for each arm.

        Only the bounds of the merit paper (`jb.bounds`) use it, for the quantiles of the delays; a simulation does not.
        Called on the host, with NumPy arrays, for a prepared model.

        Args:
            rounds: d, integers >= 0, `[n]`.
            means: mu, float64 `[K, J]`; a delay that depends on the reward depends on it.

        Returns:
            The probabilities, float64 `[n, K or 1, J or 1]`.

        Raises:
            InputError: the class does not define the method.

        Source: merit paper, eq. 2.
        """
        raise InputError("problem.delay", self.name, "a delay whose class has a method `cdf`")


class NoDelay(Delay, name="none"):
    """Every reward arrives at the end of its own round."""

    immediate: ClassVar[bool] = True

    def longest(self) -> float:
        return 0

    def draw(self, reward: Array, random: Stream) -> Array:
        return jnp.zeros(reward.shape, jnp.int32)

    def cdf(self, rounds: np.ndarray, means: np.ndarray) -> np.ndarray:
        return np.ones((len(rounds), 1, 1))


class FixedDelay(Delay, name="fixed"):
    """A constant delay: a reward of round t arrives at the end of round t + d."""

    d: Any = parameter(0, low=0, doc="delay in rounds, a whole number or one per arm")

    def prepare(self, means: np.ndarray, key: str = "problem.delay") -> Delay:
        self.check(key)
        rounds = np.asarray(self.d, np.float64)
        if not np.all(rounds == np.floor(rounds)):
            raise InputError(f"{key}.d", self.d, "whole numbers of rounds, >= 0")
        arms, instances = means.shape
        spread = np.minimum(per_arm(self.d, arms, instances, f"{key}.d"), NEVER).astype(np.int32)
        return self.replace(d=np.atleast_2d(spread))

    def longest(self) -> float:
        return int(np.max(self.d))

    def draw(self, reward: Array, random: Stream) -> Array:
        return jnp.asarray(self.d)

    def cdf(self, rounds: np.ndarray, means: np.ndarray) -> np.ndarray:
        return (rounds[:, None, None] >= self.d).astype(np.float64)


class GeometricDelay(Delay, name="geometric"):
    """A geometric delay: P(D = d) = p (1 - p)^d for d = 0, 1, ..., with mean (1 - p) / p.

    Delays are drawn by inversion from 64 random bits.
    """

    p: Any = parameter(
        0.5, low=0, high=1, doc="probability that a pending reward arrives in a round, above 0, a number or one per arm"
    )

    def prepare(self, means: np.ndarray, key: str = "problem.delay") -> Delay:
        check_positive(self.p, f"{key}.p", number_or_numbers(self.p, "above 0 and at most 1"))
        return super().prepare(means, key)

    def longest(self) -> float:
        least = float(np.min(self.p))
        return math.ceil(min(_LARGEST_EXPONENTIAL / -math.log1p(-least), NEVER)) if least < 1 else 0

    def draw(self, reward: Array, random: Stream) -> Array:
        wait = _exponential(random, len(reward))
        return _rounds(jnp.floor(wait / -jnp.log1p(-self.p)))

    def cdf(self, rounds: np.ndarray, means: np.ndarray) -> np.ndarray:
        return 1.0 - (1.0 - self.p) ** (rounds[:, None, None] + 1)


class ParetoDelay(Delay, name="pareto"):
    """A heavy-tailed delay: D = ceil(x) - 1 for x of a Pareto distribution of type I with scale 1.

    P(D >= d) = d^-alpha for d = 1, 2, ..., and the mean is infinite for alpha <= 1. Unless alpha is
    large, the calendar of pending rewards is as long as the horizon, rounded up to a power of 2 ("Memory" on the page
    of delays says how many bytes that takes).
    """

    alpha: Any = parameter(1.0, low=0, doc="tail exponent, above 0, a number or one per arm")

    def prepare(self, means: np.ndarray, key: str = "problem.delay") -> Delay:
        check_positive(self.alpha, f"{key}.alpha", number_or_numbers(self.alpha, "above 0"))
        return super().prepare(means, key)

    def longest(self) -> float:
        return math.exp(min(_LARGEST_EXPONENTIAL / float(np.min(self.alpha)), 700.0))

    def draw(self, reward: Array, random: Stream) -> Array:
        x = jnp.exp(_exponential(random, len(reward)) / self.alpha)
        return _rounds(jnp.maximum(jnp.ceil(x) - 1.0, 1.0))  # x > 1, but may be rounded to 1

    def cdf(self, rounds: np.ndarray, means: np.ndarray) -> np.ndarray:
        return 1.0 - (rounds[:, None, None] + 1.0) ** -self.alpha


class PacketLoss(Delay, name="packet-loss"):
    """A reward arrives at the end of its own round with probability p, and otherwise never."""

    p: Any = parameter(1.0, low=0, high=1, doc="probability that a reward arrives, a number or one per arm")

    def longest(self) -> float:
        return 0

    def draw(self, reward: Array, random: Stream) -> Array:
        return jnp.where(random.uniform(len(reward)) < self.p, 0, NEVER)

    def cdf(self, rounds: np.ndarray, means: np.ndarray) -> np.ndarray:
        return np.zeros((len(rounds), 1, 1)) + self.p


class RewardDependent(Delay, name="reward-dependent"):
    """One delay model for rewards of 1 and another for rewards of 0. Every reward must be 0 or 1.

    Source: merit paper, sec. 6.
    """

    needs_zero_one_rewards: ClassVar[bool] = True

    one: Any = parameter(NoDelay(), doc="delay of a reward of 1, a name, a table or a `Delay`")
    zero: Any = parameter(NoDelay(), doc="delay of a reward of 0, a name, a table or a `Delay`")

    def prepare(self, means: np.ndarray, key: str = "problem.delay") -> Delay:
        parts = {}
        for name in ("one", "zero"):
            part = Delay.from_spec(getattr(self, name), f"{key}.{name}")
            if isinstance(part, RewardDependent):
                raise InputError(f"{key}.{name}", part.name, "a delay kind that does not itself depend on the reward")
            parts[name] = part.prepare(means, f"{key}.{name}")
        return self.replace(**parts)

    def device_model(self) -> Delay:
        return self.replace(one=self.one.device_model(), zero=self.zero.device_model())

    def longest(self) -> float:
        return max(self.one.longest(), self.zero.longest())

    def draw(self, reward: Array, random: Stream) -> Array:
        return jnp.where(reward > 0.5, draw_delays(self.one, reward, random), draw_delays(self.zero, reward, random))

    def cdf(self, rounds: np.ndarray, means: np.ndarray) -> np.ndarray:
        return means * self.one.cdf(rounds, means) + (1 - means) * self.zero.cdf(rounds, means)


def draw_delays(delay: Delay, reward: Array, random: Stream) -> Array:
    """The checked result of `delay.draw`: rounds, int32, that broadcast to the shape of the rewards of all runs."""
    shape = jnp.broadcast_shapes(reward.shape, (1, *random.key[0].shape[1:]))  # rewards may be equal for all runs
    with told_of(delay, "draw"):
        drawn = delay.draw(reward, random)
    return contracts.integers(delay, "draw", drawn, shape, "a delay per reward, in rounds")


class EmpiricalDelay(Delay, name="empirical"):
    """A recorded delay, drawn uniformly from the arm's table, independent of the reward.

    The table holds delays in rounds. If `clicks` is given, it holds delays in seconds instead, which are converted to
    page visits: one visit is one round, and the page of a product that is clicked n times per week is visited
    n / click_rate times per week. A conversion log contains both the delays and the clicks.

    Source: merit paper, sec. 6.
    """

    table: Any = parameter(
        None, doc="recorded delays, one list for all arms or one list per arm, or the path of a conversion log"
    )
    clicks: Any = parameter(
        None, doc="clicks per week for each delay, which is then in seconds; default: delays are in rounds"
    )
    click_rate: Any = parameter(
        0.05,
        doc="share of page visits that end in a click, above 0 and at most 1, for a log or with `clicks`",
        exact=True,
    )
    recorded: Any = derived()  # the tables of all arms, one after the other, and NEVER: int32 [n + 1]
    start: Any = derived()  # the start of each arm's table, int32 [K, 1]
    size: Any = derived()  # the length of each arm's table, int32 [K, 1]

    def prepare(self, means: np.ndarray, key: str = "problem.delay") -> Delay:
        rows = self._rounds(len(means), key)
        size = np.array([len(row) for row in rows], np.int32)
        recorded = np.minimum(np.concatenate([*rows, [NEVER]]), NEVER).astype(np.int32)
        start = (np.cumsum(size) - size).astype(np.int32)
        return self.replace(recorded=recorded, start=start[:, None], size=size[:, None])

    def _rounds(self, arms: int, key: str) -> list[np.ndarray]:
        """The tables in rounds, int64, one per arm."""
        allowed = (
            f"recorded delays, whole numbers from 0 to 2^63 - 1: one list, {arms} lists (one per arm), "
            "or the path of a conversion log"
        )
        if isinstance(self.table, str | PathLike):
            if self.clicks is not None:
                raise InputError(
                    f"{key}.clicks", self.clicks, "must not be given with a conversion log, which contains the clicks"
                )
            log = conversion_log.log_of_arms(self.table, arms, f"{key}.table")
            return list(log.delays(self.click_rate, f"{key}.click_rate"))
        tables = _whole_numbers(self.table, arms, f"{key}.table", allowed)
        if self.clicks is None:
            conversion_log.exact_click_rate(self.click_rate, f"{key}.click_rate")
            return tables
        allowed = "clicks per week, whole numbers >= 0, one for each delay of `table`"
        clicks = _whole_numbers(self.clicks, arms, f"{key}.clicks", allowed)
        if [len(row) for row in tables] != [len(row) for row in clicks]:
            raise InputError(f"{key}.clicks", self.clicks, allowed)
        pairs = zip(tables, clicks, strict=True)
        return [conversion_log.page_visits(*pair, self.click_rate, f"{key}.click_rate") for pair in pairs]

    def device_model(self) -> Delay:
        return self.replace(table=None, clicks=None, click_rate=None)

    def longest(self) -> float:
        return int(self.recorded[:-1].max())

    def draw(self, reward: Array, random: Stream) -> Array:
        size = jnp.asarray(self.size)
        nth = (random.uniform(len(reward)) * size.astype(reward.dtype)).astype(jnp.int32)
        return jnp.asarray(self.recorded)[self.start + jnp.minimum(nth, size - 1)]

    def cdf(self, rounds: np.ndarray, means: np.ndarray) -> np.ndarray:
        tables = np.split(self.recorded[:-1], self.start[1:, 0])
        shares = [np.searchsorted(np.sort(table), rounds, side="right") / len(table) for table in tables]
        return np.stack(shares, axis=1)[..., None]


def _whole_numbers(value: Any, arms: int, key: str, allowed: str) -> list[np.ndarray]:
    """One list for all arms, or one list per arm, as int64 arrays."""
    if is_masked(value):
        raise InputError(key, value, f"{allowed}, without masked entries")
    if not (isinstance(value, np.ndarray) and value.ndim == 1):  # lists of a long table would take much memory
        value = to_python(value)
    shared = not (isinstance(value, Sequence) and value and isinstance(value[0], Sequence))
    rows, times = ([value], arms) if shared else (value, 1)
    if len(rows) * times != arms or not all(map(_is_row, rows)):
        raise InputError(key, value, allowed)
    if sum(map(len, rows)) * times > _MOST_RECORDED:
        raise InputError(key, value, f"at most {_MOST_RECORDED} numbers, over all {arms} arms")
    return [np.asarray(row, np.int64) for row in rows] * times


def _is_row(row: Any) -> bool:  # a list of whole numbers from 0 to 2^63 - 1, at least one
    return isinstance(row, Sequence | np.ndarray) and len(row) > 0 and all(map(_is_whole, row))


def _is_whole(n: Any) -> bool:
    """Whether a value is a whole number from 0 to 2^63 - 1, as an integer or as a float."""
    if not isinstance(n, int | float | np.integer | np.floating) or isinstance(n, bool):
        return False
    return bool(0 <= n < 1 << 63 and n == int(n))


_LARGEST_EXPONENTIAL = 65 * math.log(2)  # the largest number that `_exponential` draws


def _exponential(random: Stream, slots: int) -> Array:
    """Exponential numbers -log U, `[slots, *runs]`, from two words each, so that U can be as small as 2^-65."""
    w0, w1 = random.words(slots)
    dtype = jnp.result_type(float)
    return -jnp.log((w0.astype(dtype) + (w1.astype(dtype) + 0.5) * 2.0**-32) * 2.0**-32)


def _rounds(value: Array) -> Array:
    """A number of rounds as int32, at most `NEVER`."""
    return jnp.minimum(value, float(NEVER)).astype(jnp.int32)
