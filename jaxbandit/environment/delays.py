"""Delay models: what stands between a reward that was drawn and the policy that waits for it.

Feedback is always per arm: how many rewards arrived and their sum (002 eq. 1), so no policy knows whether a delay
model stands in front of it. A reward of round t with delay D arrives at the end of round t + D, and never where that
is past the horizon. Nothing is truncated: the calendar of what is under way reaches as far as the delays do, or to the
horizon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core import contracts
from jaxbandit.core.component import Component, derived, parameter
from jaxbandit.core.errors import InputError
from jaxbandit.core.input_values import check_positive, is_masked, number_or_numbers, per_arm, to_python
from jaxbandit.core.prng import Stream
from jaxbandit.environment import conversion_log

NEVER = 1 << 30  # rounds; no horizon is as long
_RECORDED = 10**8  # delays in the tables of all arms: what a machine has room for


class Delay(Component):
    """A delay model. A subclass writes `draw`, and `longest` where delays are bounded.

    Its fields are its parameters, numbers or one an arm.
    """

    family: ClassVar[str] = "delay"
    registry: ClassVar[dict[str, Any]] = {}
    immediate: ClassVar[bool] = False  # received counts are the selections themselves
    needs_zero_one_rewards: ClassVar[bool] = False  # asks for rewards of 0 and 1

    def prepare(self, means: np.ndarray, key: str = "problem.delay") -> Delay:
        """Check the parameters and spread them over arms, `[K, J]`.

        Args:
            means: mu, `[K, J]`.
            key: the config key the model stands under, for errors.
        """
        self.check(key)
        arms, instances = means.shape
        spread = {name: per_arm(getattr(self, name), arms, instances, f"{key}.{name}") for name in self.parameters()}
        return self.replace(**spread)

    def device_model(self) -> Delay:
        """What the engine takes of a prepared delay: arrays `[K or 1, J or 1]`, numbers, and tables `[n]`."""
        return self

    def longest(self) -> float:
        """The largest delay that can be drawn and is not infinite; infinity where there is none."""
        return math.inf

    def draw(self, reward: Array, random: Stream) -> Array:
        """One delay a slot, in rounds.

        Args:
            reward: the rewards that wait, `[n, *runs]`, float.
            random: the plays' randomness, for this purpose alone.

        Returns:
            int32 `[n, *runs]` (or broadcasting), >= 0; `NEVER` or more for those that do not arrive.
        """
        raise TypeError(f"{type(self).__name__} has no draw")

    def cdf(self, rounds: np.ndarray, means: np.ndarray) -> np.ndarray:
        """P(D <= d) of each arm, on the host, of a prepared delay: what quantiles follow from (002 eq. 2).

        Args:
            rounds: d, integers >= 0, `[n]`.
            means: mu, `[K, J]`, which a delay may depend on through the reward.

        Returns:
            float64 `[n, K or 1, J or 1]`.
        """
        raise TypeError(f"{type(self).__name__} has no cdf")


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
    """A reward of round t arrives at the end of round t + d."""

    d: Any = parameter(0, low=0, doc="rounds, a number or one an arm")

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
    """P(D = d) = p (1 - p)^d for d = 0, 1, ...; drawn by inversion, from 64 random bits."""

    p: Any = parameter(0.5, low=0, high=1, doc="probability of arriving in a round, above 0; a number or one an arm")

    def prepare(self, means: np.ndarray, key: str = "problem.delay") -> Delay:
        check_positive(self.p, f"{key}.p", number_or_numbers(self.p, "above 0 and at most 1"))
        return super().prepare(means, key)

    def longest(self) -> float:
        least = float(np.min(self.p))
        return math.ceil(min(_DEEPEST / -math.log1p(-least), NEVER)) if least < 1 else 0

    def draw(self, reward: Array, random: Stream) -> Array:
        wait = _exponential(random, len(reward))
        return _rounds(jnp.floor(wait / -jnp.log1p(-self.p)))

    def cdf(self, rounds: np.ndarray, means: np.ndarray) -> np.ndarray:
        return 1.0 - (1.0 - self.p) ** (rounds[:, None, None] + 1)


class ParetoDelay(Delay, name="pareto"):
    """D = ceil(x) - 1 for x of Pareto's type I with scale 1: P(D >= d) = d^-alpha for d = 1, 2, ...

    The mean is infinite for alpha <= 1. The calendar reaches to the horizon: it takes 8 to 12 bytes an arm, run and
    round of it.
    """

    alpha: Any = parameter(1.0, low=0, doc="tail exponent, above 0; a number or one an arm")

    def prepare(self, means: np.ndarray, key: str = "problem.delay") -> Delay:
        check_positive(self.alpha, f"{key}.alpha", number_or_numbers(self.alpha, "above 0"))
        return super().prepare(means, key)

    def longest(self) -> float:
        return math.exp(min(_DEEPEST / float(np.min(self.alpha)), 700.0))

    def draw(self, reward: Array, random: Stream) -> Array:
        x = jnp.exp(_exponential(random, len(reward)) / self.alpha)
        return _rounds(jnp.maximum(jnp.ceil(x) - 1.0, 1.0))  # x > 1, which rounding may hide

    def cdf(self, rounds: np.ndarray, means: np.ndarray) -> np.ndarray:
        return 1.0 - (rounds[:, None, None] + 1.0) ** -self.alpha


class PacketLoss(Delay, name="packet-loss"):
    """A reward arrives at once with probability p, else never."""

    p: Any = parameter(1.0, low=0, high=1, doc="probability of arriving; a number or one an arm")

    def longest(self) -> float:
        return 0

    def draw(self, reward: Array, random: Stream) -> Array:
        return jnp.where(random.uniform(len(reward)) < self.p, 0, NEVER)

    def cdf(self, rounds: np.ndarray, means: np.ndarray) -> np.ndarray:
        return np.zeros((len(rounds), 1, 1)) + self.p


class RewardDependent(Delay, name="reward-dependent"):
    """One delay model for rewards of 1, another for rewards of 0 (002 sec. 6)."""

    needs_zero_one_rewards: ClassVar[bool] = True

    one: Any = parameter(NoDelay(), doc="the delay of a reward of 1: a name or a table")
    zero: Any = parameter(NoDelay(), doc="the delay of a reward of 0: a name or a table")

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
    """`delay.draw`, what it returns checked: rounds, int32, broadcasting to the shape of the rewards of all runs."""
    shape = jnp.broadcast_shapes(reward.shape, (1, *random.key[0].shape[1:]))  # rewards may be alike for all runs
    return contracts.integers(delay, "draw", delay.draw(reward, random), shape, "a delay per reward, in rounds")


class EmpiricalDelay(Delay, name="empirical"):
    """A recorded delay, drawn evenly from the arm's table, whatever the reward (002 sec. 6).

    The table holds rounds; with `clicks` it holds seconds, which become page visits by `click_rate`: a product
    clicked n times a week is visited n / click_rate times (`jaxbandit.conversions.visits`). A conversion log has both.
    """

    table: Any = parameter(None, doc="recorded delays, a list for all arms or one list an arm; or the path of a log")
    clicks: Any = parameter(None, doc="clicks in a week beside each delay in seconds; default: delays are in rounds")
    click_rate: Any = parameter(
        0.05, doc="share of page visits that end in a click, for a log or with clicks", exact=True
    )
    recorded: Any = derived()  # all tables, one after the other, and an end mark: int32 [n + 1]
    start: Any = derived()  # where an arm's table begins, int32 [K, 1]
    size: Any = derived()  # how long it is, int32 [K, 1]

    def prepare(self, means: np.ndarray, key: str = "problem.delay") -> Delay:
        rows = self._rounds(len(means), key)
        size = np.array([len(row) for row in rows], np.int32)
        recorded = np.minimum(np.concatenate([*rows, [NEVER]]), NEVER).astype(np.int32)
        start = (np.cumsum(size) - size).astype(np.int32)
        return self.replace(recorded=recorded, start=start[:, None], size=size[:, None])

    def _rounds(self, arms: int, key: str) -> list[np.ndarray]:
        """The tables in rounds, int64, one an arm."""
        words = (
            f"recorded delays, whole numbers from 0 to 2^63 - 1: one list, {arms} lists (one per arm), "
            "or the path of a conversion log"
        )
        if isinstance(self.table, str | PathLike):
            if self.clicks is not None:
                raise InputError(
                    f"{key}.clicks", self.clicks, "must not be given with a conversion log, which contains the clicks"
                )
            return list(
                conversion_log.read_log(self.table, arms, f"{key}.table").delays(self.click_rate, f"{key}.click_rate")
            )
        tables = _whole_numbers(self.table, arms, f"{key}.table", words)
        if self.clicks is None:
            conversion_log.exact_click_rate(self.click_rate, f"{key}.click_rate")
            return tables
        words = "clicks per week, whole numbers >= 0, one for each delay of `table`"
        clicks = _whole_numbers(self.clicks, arms, f"{key}.clicks", words)
        if [len(row) for row in tables] != [len(row) for row in clicks]:
            raise InputError(f"{key}.clicks", self.clicks, words)
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


def _whole_numbers(value: Any, arms: int, key: str, words: str) -> list[np.ndarray]:
    """One list for all arms, or one list per arm, as int64 arrays."""
    if is_masked(value):
        raise InputError(key, value, f"{words}, without masked entries")
    value = (
        value if isinstance(value, np.ndarray) and value.ndim == 1 else to_python(value)
    )  # a long table stays an array
    shared = not (isinstance(value, Sequence) and value and isinstance(value[0], Sequence))
    rows, times = ([value], arms) if shared else (value, 1)
    if len(rows) * times != arms or not all(map(_is_row, rows)):
        raise InputError(key, value, words)
    if sum(map(len, rows)) * times > _RECORDED:
        raise InputError(key, value, f"at most {_RECORDED} numbers, over all {arms} arms")
    return [np.asarray(row, np.int64) for row in rows] * times


def _is_row(row: Any) -> bool:
    whole = isinstance(row, Sequence | np.ndarray) and len(row) > 0
    return whole and all(isinstance(n, int | np.integer) and not isinstance(n, bool) and 0 <= n < 1 << 63 for n in row)


_DEEPEST = 65 * math.log(2)  # no exponential draw is larger


def _exponential(random: Stream, slots: int) -> Array:
    """-log U, `[slots, *runs]`, from two words, so that tails reach to 2^-65."""
    w0, w1 = random.words(slots)
    dtype = jnp.result_type(float)
    return -jnp.log((w0.astype(dtype) + (w1.astype(dtype) + 0.5) * 2.0**-32) * 2.0**-32)


def _rounds(value: Array) -> Array:
    return jnp.minimum(value, float(NEVER)).astype(jnp.int32)
