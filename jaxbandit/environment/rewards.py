"""Reward distributions. Each is a pure draw for one selection, given the arm's mean and the round's randomness.

Inside the engine a sum of rewards is kept as the sum of deviations from the distribution's `centre`: near 0 a
float32 sum stays exact where a sum that grows with T would drift (0.3 added a million times is off by 4 %).
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.component import Component, derived, parameter
from jaxbandit.core.errors import InputError
from jaxbandit.core.input_values import per_arm
from jaxbandit.core.prng import NORMAL_TAIL, Stream


class Reward(Component):
    """A reward distribution.

    A subclass writes `draw`, and `support` where rewards are bounded; its fields are its parameters, numbers or
    one an arm.
    """

    family: ClassVar[str] = "reward"
    registry: ClassVar[dict[str, Any]] = {}
    centred: ClassVar[bool] = True  # sums are kept as deviations from the mean
    zero_one: ClassVar[bool] = False  # every reward is 0 or 1

    def draw(self, mean: Array, random: Stream) -> Array:
        """One reward a slot.

        Args:
            mean: true means of the selected arms, `[n, *runs]` (or broadcasting), float.
            random: the round's randomness.

        Returns:
            Rewards `[n, *runs]`, float.
        """
        raise TypeError(f"{type(self).__name__} has no draw")

    def support(self, means: np.ndarray) -> tuple[float, float]:
        """The least interval that holds every reward of arms with these means, `[K, J]`."""
        return -np.inf, np.inf

    def largest_magnitude(self, means: np.ndarray) -> tuple[str, float, float]:
        """The largest magnitude of a reward, of arms with these means `[K, J]`, and what it comes from.

        Returns:
            The parameter that decides it and that one's largest value, or "" and the magnitude; and the magnitude,
            infinity where none is known.
        """
        most = float(np.max(np.abs(self.support(means))))
        return "", most, most

    def prepare(self, means: np.ndarray) -> Reward:
        """Check the parameters and spread them over arms, `[K, J]`; `means` is mu, of this shape."""
        self.check("problem.reward")
        values = {name: getattr(self, name) for name in self.parameters()}
        arms, instances = means.shape
        spread = {
            name: per_arm(value, arms, instances, f"problem.reward.{name}")
            for name, value in values.items()
            if value is not None
        }
        return self.replace(**spread)


def _in_unit(reward: Reward, means: np.ndarray) -> None:
    if np.any((means < 0) | (means > 1)):
        raise InputError("problem.means", means.T.tolist(), f"numbers from 0 to 1 for rewards of kind {reward.name!r}")


class Bernoulli(Reward, name="bernoulli"):
    """1 with probability mu, else 0."""

    centred: ClassVar[bool] = False  # sums of 0 and 1 are integers: exact as they are
    zero_one: ClassVar[bool] = True
    threshold: Any = derived()  # mu 2^30, a whole number: in float32 and float64 the same draws

    def draw(self, mean: Array, random: Stream) -> Array:
        word, _ = random.words(mean.shape[0])
        return ((word >> np.uint32(2)).astype(jnp.int32) < self.threshold).astype(mean.dtype)

    def support(self, means: np.ndarray) -> tuple[float, float]:
        return 0.0, 1.0

    def prepare(self, means: np.ndarray) -> Reward:
        _in_unit(self, means)
        return self.replace(threshold=np.rint(means * 2**30).astype(np.int32))


class Gaussian(Reward, name="gaussian"):
    """Normal(mu, sd^2), not clipped."""

    sd: float = parameter(1.0, low=0, doc="standard deviation")

    def draw(self, mean: Array, random: Stream) -> Array:
        return mean + self.sd * random.normal(mean.shape[0])

    def largest_magnitude(self, means: np.ndarray) -> tuple[str, float, float]:
        sd = float(np.max(self.sd))
        return "sd", sd, float(np.max(np.abs(means))) + NORMAL_TAIL * sd


class Beta(Reward, name="beta"):
    """Beta(c mu, c (1 - mu)) of concentration c; a point mass where mu is 0 or 1."""

    concentration: float = parameter(1.0, low=1e-3, doc="c: the larger, the closer rewards lie to mu")

    def draw(self, mean: Array, random: Stream) -> Array:
        inside = (mean > 0) & (mean < 1)
        safe = jnp.where(inside, mean, 0.5)
        drawn = random.small_beta(self.concentration * safe, self.concentration * (1.0 - safe))
        return jnp.where(inside, drawn, mean)

    def support(self, means: np.ndarray) -> tuple[float, float]:
        return 0.0, 1.0

    def prepare(self, means: np.ndarray) -> Reward:
        _in_unit(self, means)
        return super().prepare(means)


class Uniform(Reward, name="uniform"):
    """Uniform on an interval centred at mu; by default the widest that [0, 1] holds."""

    width: Any = parameter(None, low=0, doc="length of the interval; default 2 min(mu, 1 - mu)")

    def draw(self, mean: Array, random: Stream) -> Array:
        return mean + self.width * (random.uniform(mean.shape[0]) - 0.5)

    def prepare(self, means: np.ndarray) -> Reward:
        if self.width is not None:
            return super().prepare(means)
        _in_unit(self, means)
        return self.replace(width=2 * np.minimum(means, 1 - means))

    def largest_magnitude(self, means: np.ndarray) -> tuple[str, float, float]:
        _, _, most = super().largest_magnitude(means)
        return "width", float(np.max(self.width)), most

    def support(self, means: np.ndarray) -> tuple[float, float]:
        half = np.asarray(self.width if self.width is not None else 2 * np.minimum(means, 1 - means)) / 2
        return float(np.min(means - half)), float(np.max(means + half))


class Constant(Reward, name="constant"):
    """Always mu: whole runs become predictable."""

    def draw(self, mean: Array, random: Stream) -> Array:
        return mean

    def support(self, means: np.ndarray) -> tuple[float, float]:
        return float(means.min()), float(means.max())
