"""Reward distributions: a reward is a function of the arm's mean and of random numbers.

To add a distribution, write a subclass of `jb.Reward` with a method `draw`, and with `support` if the rewards are
bounded.

The engine does not sum the rewards themselves but their deviations from a `centre`, by default the arm's mean. Such a
sum stays near 0 and therefore accurate in float32. A sum that grows with T would drift: 0.3 added a million times is
off by 4 %. Where means change, the centre is the arm's mean in round 1, and sums are compensated (Kahan 1965).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.component import Component, derived, parameter
from jaxbandit.core.errors import InputError, warn
from jaxbandit.core.input_values import PerArm, per_arm
from jaxbandit.core.prng import NORMAL_TAIL, REWARD, Stream
from jaxbandit.core.users_code import contracts

_CHECKED_DRAWS, _CHECKED_NUMBERS = 256, 1 << 16  # draws per arm of a user's distribution, or fewer for many arms
_FEWEST_DRAWS, _FAR = 64, 10.0  # draws from which a mean is checked, and its distance in standard errors
_OTHER_BITS = 0x9E3779B9  # any bits, of which keys of other seeds are made
_ROUNDING = 1e-6  # of rewards, which may be float32
_FROM_RANDOM = "a distribution whose `draw` takes its random numbers from its argument `random`"


class Reward(Component, required="draw"):
    """The base class of reward distributions. A subclass defines `draw`, and `support` if its rewards are bounded.

    The fields of a subclass are its parameters: numbers, or one number per arm. `class Mine(jb.Reward, name="mine")`
    makes the distribution available in configs under this name.

    Attributes:
        name: the name in configs.
        centred: the engine sums the deviations of the rewards from the arms' means, not the rewards. Set it to False
            for rewards whose sums are exact, such as whole numbers. Default: True.
        zero_one: every reward is 0 or 1, as delays that depend on the reward require. Default: False.

    Example:
        >>> class Triangular(jb.Reward):
        ...     width: float = jb.parameter(0.2, low=0, doc="half of the length of the interval")
        ...
        ...     def draw(self, mean, random):
        ...         u = random.uniform(2 * len(mean))
        ...         return mean + self.width * (u[: len(mean)] - u[len(mean) :])
        ...
        ...     def support(self, means):
        ...         return means.min() - self.width, means.max() + self.width
        >>> jb.Problem([0.9, 0.5], reward=Triangular(width=0.1))
        Problem(2 arms, means=[0.9, 0.5], reward={'kind': 'Triangular', 'width': 0.1})
    """

    family: ClassVar[str] = "reward"
    registry: ClassVar[dict[str, Any]] = {}
    centred: ClassVar[bool] = True
    zero_one: ClassVar[bool] = False

    def draw(self, mean: Array, random: Stream) -> Array:
        """Draw one reward per play.

        Called while a program is traced; the parameters are numbers or arrays `[n or 1, *runs]` by then.

        Args:
            mean: the true means of the n arms that are played, float `[n, *runs]`, or an array that broadcasts to it.
            random: the random numbers of these plays, a `jb.Stream`: `random.uniform(n)`, `random.normal(n)` and
                `random.small_beta(a, b)` return arrays `[n, *runs]`. They depend on `random.t`, the number of earlier
                plays of the arm, uint32 `[n, *runs]`, not on the round, so that the first, second, ... reward of an
                arm is the same under every policy.

        Returns:
            The rewards, float `[n, *runs]`, or an array that broadcasts to it.
        """
        raise TypeError(f"{type(self).__name__} has no draw")

    def support(self, means: np.ndarray) -> tuple[float, float]:
        """The smallest interval that contains every reward, over all arms and instances.

        Policies that need rewards in [0, 1] ask for it.

        Args:
            means: mu, float64 `[K, J]`.

        Returns:
            The ends of the interval, (low, high), or arrays of ends per arm; by default 0 and 1 with `zero_one`, else
            minus and plus infinity. `jb.Problem` checks some draws of every arm.
        """
        return (0.0, 1.0) if self.zero_one else (-np.inf, np.inf)

    def at_means(self, means: Any) -> Reward:
        """A prepared distribution for other means, `[K, J or 1]`, which JAX may trace; they are not checked."""
        return self

    def largest_magnitude(self, means: np.ndarray) -> tuple[str, float, float]:
        """The largest magnitude of a reward, and the parameter that determines it.

        Args:
            means: mu, float64 `[K, J]`.

        Returns:
            Three values: the name of the parameter, its largest value, and the magnitude. Without a parameter: "", the
            magnitude, the magnitude. The magnitude is infinite where no bound is known.
        """
        most = max(map(abs, support_of(self, means)))
        return "", most, most

    def prepare(self, means: np.ndarray) -> Reward:
        """The distribution with checked parameters, each as an array `[]`, `[K, 1]` or `[K, J]`.

        Args:
            means: mu, float64 `[K, J]`.

        Raises:
            InputError: a parameter is invalid, the means do not suit the distribution, or rewards leave `support`.
        """
        self.check("problem.reward")
        arms, instances = means.shape
        spread = {
            name: per_arm(value, arms, instances, f"problem.reward.{name}") for name, value in self.numbers().items()
        }
        made = self.with_numbers(spread, "problem.reward")
        if contracts.is_users_class(type(self)):
            _check_draws(made, means)
        return made


def support_of(reward: Reward, means: np.ndarray) -> tuple[float, float]:
    """The smallest interval that contains every reward, as `reward.support` returns it for means `[K, J]`.

    Raises:
        InputError: it returns something else.
    """
    found = reward.support(means)
    try:
        low, high = (np.asarray(end, np.float64) for end in found)
        ends = float(np.min(low)), float(np.max(high))
    except (TypeError, ValueError):
        ends = math.nan, math.nan
    if not ends[0] <= ends[1]:
        words = f"a distribution whose `support` returns the smallest and the largest reward, not {found!r}"
        raise InputError("problem.reward", reward.name, words)
    return ends


def always_from_0_to_1(reward: Reward, arms: int) -> bool:
    """Whether the support is [0, 1] for unequal means, and so does not depend on them."""
    return all(support_of(reward, np.full((arms, 1), mean)) == (0.0, 1.0) for mean in (0.25, 0.75))


def _check_draws(reward: Reward, means: np.ndarray) -> None:
    """Refuse a prepared distribution that draws what it says it does not, or the same for all seeds; check its means.

    Its rewards have to lie in its support, and with `zero_one` to be 0 or 1. Means that differ from those that the
    problem states are told in a warning, since a mean of some draws is never exact.
    """
    low, high = support_of(reward, means)
    shape = (*means.shape, max(1, min(_CHECKED_DRAWS, _CHECKED_NUMBERS // means.size)))
    rows = {name: value[..., None] for name, value in reward.numbers().items() if np.ndim(value) == 2}
    run = jnp.arange(math.prod(shape[1:]), dtype=jnp.uint32).reshape(1, *shape[1:])
    mean = jnp.broadcast_to(jnp.asarray(means, jnp.result_type(float))[..., None], shape)
    arguments = [
        (reward.replace(**rows), mean, Stream((own, run ^ own), jnp.zeros(shape, jnp.uint32), REWARD, len(means)))
        for own in (jnp.zeros_like(run), jnp.full_like(run, _OTHER_BITS))
    ]
    refusal, warning = "", ""
    for draw in (_compiled_draw, _draw):  # helpers of user code may have been edited since it was compiled
        try:
            drawn, again, others = (
                np.broadcast_to(np.asarray(draw(*arguments[seeds]), np.float64), shape) for seeds in (0, 0, 1)
            )
            keyed = "random_bits" in str(jax.make_jaxpr(_draw)(*arguments[0]))  # by JAX, with a key of its own if equal
        except Exception:  # of any kind: the rounds raise it, with words on where
            return
        reach = _ROUNDING * np.maximum(1.0, np.abs(drawn))
        wrong = np.isfinite(drawn) & ((drawn < low - reach) | (drawn > high + reach))
        rule = f"a distribution whose rewards lie in its `support`, [{low:g}, {high:g}]"
        if reward.zero_one and not wrong.any():
            wrong, rule = (drawn != 0) & (drawn != 1), "a distribution whose rewards are 0 or 1, as `zero_one` says"
        place = np.unravel_index(int(np.argmax(wrong)), shape)
        if wrong.any():
            refusal = f"{rule}; for the mean {means[place[:2]]:g} it drew {drawn[place]:g}"
        elif not np.array_equal(drawn, again, equal_nan=True):
            refusal = f"{_FROM_RANDOM}; it drew other rewards in a second call, and would draw one set for all rounds"
        elif np.array_equal(drawn, others) and (
            np.any(drawn != drawn[..., :1]) or (keyed and not np.allclose(drawn, means[..., None]))
        ):
            refusal = f"{_FROM_RANDOM}; its draws are the same for all seeds"
        else:
            refusal, warning = "", _far_means(reward, means, drawn)
            if not warning:
                return
    if refusal:
        raise InputError("problem.reward", reward.name, refusal)
    warn(warning)


def _far_means(reward: Reward, means: np.ndarray, drawn: np.ndarray) -> str:
    """Where the mean of the draws, `[K, J, n]`, is far from the mean of an arm, in words; else empty."""
    count = drawn.shape[-1]
    if count < _FEWEST_DRAWS or not np.isfinite(drawn).all():
        return ""
    error = drawn.std(axis=-1, ddof=1) / math.sqrt(count)
    found = drawn.mean(axis=-1)
    apart = np.abs(found - means) / np.where(error > 0, error, np.inf)
    worst = np.unravel_index(int(np.argmax(apart)), apart.shape)
    if apart[worst] <= _FAR:
        return ""
    return (
        f"{count} rewards of {reward.name!r} for the mean {means[worst]:g} have the mean {found[worst]:.4g} with a "
        f"standard error of {error[worst]:.2g}; regret and other metrics are computed from the means of the problem"
    )


def _draw(reward: Reward, mean: Array, random: Stream) -> Array:
    return reward.draw(mean, random)


_compiled_draw = jax.jit(_draw)


def _check_unit_interval(reward: Reward, means: np.ndarray) -> None:
    if np.any((means < 0) | (means > 1)):
        allowed = f"numbers from 0 to 1 for rewards of kind {reward.name!r}"
        raise InputError("problem.means", means.T.tolist(), allowed)


class Bernoulli(Reward, name="bernoulli"):
    """Rewards of 1 with probability mu, and of 0 otherwise. The means must lie in [0, 1]."""

    centred: ClassVar[bool] = False  # sums of 0 and 1 are exact
    zero_one: ClassVar[bool] = True
    threshold: Any = derived()  # mu 2^30 as a whole number: the same draws in float32 and float64

    def draw(self, mean: Array, random: Stream) -> Array:
        word, _ = random.words(mean.shape[0])
        return ((word >> np.uint32(2)).astype(jnp.int32) < self.threshold).astype(mean.dtype)

    def support(self, means: np.ndarray) -> tuple[float, float]:
        return 0.0, 1.0

    def prepare(self, means: np.ndarray) -> Reward:
        _check_unit_interval(self, means)
        return self.at_means(means)

    def at_means(self, means: Any) -> Reward:
        return self.replace(threshold=(means * 2**30).round().astype(np.int32))


class Gaussian(Reward, name="gaussian"):
    """Normal rewards with mean mu and standard deviation sd, not clipped."""

    sd: PerArm = parameter(1.0, low=0, doc="standard deviation, a number or one per arm")

    def draw(self, mean: Array, random: Stream) -> Array:
        return mean + self.sd * random.normal(mean.shape[0])

    def largest_magnitude(self, means: np.ndarray) -> tuple[str, float, float]:
        sd = float(np.max(self.sd))
        return "sd", sd, float(np.max(np.abs(means))) + NORMAL_TAIL * sd


class Beta(Reward, name="beta"):
    """Rewards with the distribution Beta(c mu, c (1 - mu)), where c is the concentration.

    The means must lie in [0, 1]; where mu is 0 or 1 every reward is mu.
    """

    concentration: PerArm = parameter(
        1.0, low=1e-3, doc="c, a number or one per arm; the larger c, the closer rewards are to mu"
    )

    def draw(self, mean: Array, random: Stream) -> Array:
        inside = (mean > 0) & (mean < 1)
        safe = jnp.where(inside, mean, 0.5)
        drawn = random.small_beta(self.concentration * safe, self.concentration * (1.0 - safe))
        return jnp.where(inside, drawn, mean)

    def support(self, means: np.ndarray) -> tuple[float, float]:
        return 0.0, 1.0

    def prepare(self, means: np.ndarray) -> Reward:
        _check_unit_interval(self, means)
        return super().prepare(means)


class Uniform(Reward, name="uniform"):
    """Uniform rewards on an interval centred at mu; by default the longest such interval within [0, 1]."""

    width: Any = parameter(
        None, low=0, doc="length of the interval, a number or one per arm; default: 2 min(mu, 1 - mu)"
    )

    length: Any = derived()  # of the interval

    def draw(self, mean: Array, random: Stream) -> Array:
        return mean + self.length * (random.uniform(mean.shape[0]) - 0.5)

    def prepare(self, means: np.ndarray) -> Reward:
        if self.width is None:
            _check_unit_interval(self, means)
        return super().prepare(means).at_means(means)

    def at_means(self, means: Any) -> Reward:
        minimum = jnp.minimum if isinstance(means, Array) else np.minimum
        return self.replace(length=2 * minimum(means, 1 - means) if self.width is None else self.width)

    def largest_magnitude(self, means: np.ndarray) -> tuple[str, float, float]:
        _, _, most = super().largest_magnitude(means)
        return "width", float(np.max(self.length)), most

    def support(self, means: np.ndarray) -> tuple[float, float]:
        half = np.asarray(self.width if self.width is not None else 2 * np.minimum(means, 1 - means)) / 2
        return float(np.min(means - half)), float(np.max(means + half))


class Constant(Reward, name="constant"):
    """Every reward is mu, which makes the runs of deterministic policies predictable."""

    def draw(self, mean: Array, random: Stream) -> Array:
        return mean

    def support(self, means: np.ndarray) -> tuple[float, float]:
        return float(means.min()), float(means.max())
