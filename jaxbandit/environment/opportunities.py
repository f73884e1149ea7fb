"""Fairness functions (004 sec. 2.2): the share of the rounds that an arm is owed, as a function of the mean rewards."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core import contracts, prng
from jaxbandit.core.component import Component, evaluate, parameter
from jaxbandit.core.errors import InputError
from jaxbandit.core.rationals import exact_fraction

_POINTS = 4096  # of the cube of means at which a function of the user's is checked, beside the corners of few arms
_NUMBERS = 1 << 18  # that those points have at most
_CORNERS = 12  # arms up to which all corners are checked


class Opportunity(Component):
    """A fairness function f: [0, 1]^K -> [0, 1]^K whose values sum to at most 1. A subclass writes `value`.

    To be used where f must be known to some accuracy (self-regulated), it also writes `bounds`, the range of f over a
    box, or `lipschitz`, from which a safe one follows. Its fields are its parameters, numbers.

    Example:
        >>> class Half(Opportunity, name="half"):
        ...     def value(self, mu):
        ...         return 0.5 * mu / len(mu)
        ...
        ...     def lipschitz(self, arms):
        ...         return 0.5 / arms
    """

    family: ClassVar[str] = "opportunity"
    registry: ClassVar[dict[str, Any]] = {}

    def value(self, mu: Array) -> Array:
        """f(mu), float `[K, *runs]`, of means in [0, 1] of that shape."""
        raise TypeError(f"{type(self).__name__} has no value")

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """The least and the largest f_k over the box of means from `low` to `high`; all float `[K, *runs]`."""
        raise TypeError(f"{type(self).__name__} has no bounds")

    def lipschitz(self, arms: int) -> float:
        """L_f, the least known L with |f(x) - f(y)|_1 <= L |x - y|_1 for that many arms; infinity where unknown."""
        return math.inf

    def constant_shares(self, arms: int) -> list[Fraction] | None:
        """f where it is the same for all means, exactly; else None."""
        return None

    @property
    def has_bounds(self) -> bool:
        """Whether it tells its range over a box."""
        return type(self).bounds is not Opportunity.bounds

    def prepare(self, means: np.ndarray) -> Opportunity:
        """Check the parameters, and that values lie in [0, 1] and sum to at most 1 at many points of the cube.

        Raises:
            InputError: they do not.
        """
        made = self.with_scalars("problem.opportunity")
        arms = len(means)
        points = [means, prng.uniform_table(0, max(1, min(_POINTS, _NUMBERS // arms)), arms).T]
        if arms <= _CORNERS:
            points.append(np.indices((2,) * arms).reshape(arms, -1))
        mu = np.concatenate(points, axis=1)
        values = made.values_float64(mu)
        if values.shape != mu.shape:
            allowed = f"a function from means of shape {mu.shape} to shares of that shape, not of shape {values.shape}"
            raise InputError("problem.opportunity", self.name, allowed)
        outside = np.where(np.isnan(values), np.inf, np.abs(values - 0.5)).max(axis=0)
        over = values.sum(axis=0)
        for measure, most, words in (
            (outside, 0.5, "a function whose values lie in [0, 1]"),
            (over, 1 + 1e-9, "a function whose values sum to at most 1"),
        ):
            worst = int(np.argmax(measure))
            if not measure[worst] <= most:
                allowed = f"{words}; at the means {_short(mu[:, worst])} they are {_short(values[:, worst])}"
                raise InputError("problem.opportunity", self.name, allowed)
        return made

    def values_float64(self, mu: np.ndarray) -> np.ndarray:
        """f(mu) in float64 whatever the dtype simulated in, `[K, J]`."""
        shares = self.constant_shares(len(mu))
        if shares is not None:
            return np.broadcast_to(np.array([[float(share)] for share in shares]), mu.shape)
        with jax.enable_x64(True):
            return np.asarray(evaluate(self, jnp.asarray(mu, jnp.float64)), np.float64)


def share_bounds(f: Opportunity, slope: Any, low: Array, high: Array) -> tuple[Array, Array]:
    """The range of f_k over a box: f's own, or one that holds it for sure, from its Lipschitz constant.

    Args:
        f: the function.
        slope: L_f, for a function that has no bounds.
        low, high: float `[K, *runs]`, in [0, 1].
    """
    if f.has_bounds:
        ends = contracts.pair(f, "bounds", f.bounds(low, high), "the least and the largest share per arm")
        least, most = (contracts.broadcast_floats(f, "bounds", end, low.shape, "a share per arm") for end in ends)
        return least, most
    middle = contracts.floats(f, "value", f.value(0.5 * (low + high)), low.shape, "a share per arm")
    reach = slope * 0.5 * jnp.sum(high - low, axis=0, keepdims=True)
    return jnp.maximum(middle - reach, 0.0), jnp.minimum(middle + reach, 1.0)


class _Sound(Opportunity):
    """A function that is known to be one for all its parameters."""

    def prepare(self, means: np.ndarray) -> Opportunity:
        return self.with_scalars("problem.opportunity")


class _Constant(_Sound):
    """f_k is a number of its own, whatever the means."""

    def value(self, mu: Array) -> Array:
        shares = self.constant_shares(len(mu))
        assert shares is not None
        column = jnp.asarray([float(share) for share in shares], mu.dtype)
        return jnp.broadcast_to(column.reshape(-1, *[1] * (mu.ndim - 1)), mu.shape)

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        value = self.value(low)
        return value, value

    def lipschitz(self, arms: int) -> float:
        return 0.0


class Zero(_Constant, name="zero"):
    """No arm is owed anything: the bandit without fairness."""

    def constant_shares(self, arms: int) -> list[Fraction]:
        return [Fraction(0)] * arms


class Uniform(_Constant, name="uniform"):
    """1 / K."""

    def constant_shares(self, arms: int) -> list[Fraction]:
        return [Fraction(1, arms)] * arms


class Constant(_Constant, name="constant"):
    """gamma for every arm (004 App. B)."""

    gamma: float = parameter(
        0.0, low=0, high=1, doc="share of the rounds that each arm is owed, at most 1/K", static=True, exact=True
    )

    def prepare(self, means: np.ndarray) -> Opportunity:
        self.check_scalars("problem.opportunity")
        if exact_fraction(self.gamma, "problem.opportunity.gamma") * len(means) > 1:
            allowed = f"a number from 0 to 1/K = 1/{len(means)}, so that the shares sum to at most 1"
            raise InputError("problem.opportunity.gamma", self.gamma, allowed)
        return self.with_scalars("problem.opportunity")

    def constant_shares(self, arms: int) -> list[Fraction]:
        return [exact_fraction(self.gamma, "problem.opportunity.gamma")] * arms


class _Rising(_Sound):
    """f_k rises with mu_k and depends on no other mean, so that it is extreme at the ends of the box."""

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        return self.value(low), self.value(high)


class Linear(_Rising, name="linear"):
    """mu_k / K."""

    def value(self, mu: Array) -> Array:
        return mu / len(mu)

    def lipschitz(self, arms: int) -> float:
        return 1.0 / arms


class PowerOpportunity(_Rising, name="power"):
    """mu_k^c / K."""

    c: float = parameter(2.0, low=0, doc="exponent; below 1 (and above 0) no Lipschitz constant holds")

    def value(self, mu: Array) -> Array:
        return mu**self.c / len(mu)

    def lipschitz(self, arms: int) -> float:
        return self.c / arms if self.c >= 1 or self.c == 0 else math.inf


class PiecewiseLinear(_Rising, name="piecewise-linear"):
    """0 up to 1/2, then L (mu_k - 1/2) / K up to 1/2 + eps, then L eps / K (004 App. A.3)."""

    scale: float = parameter(1.0, low=0, doc="L of App. A.3; L eps is at most 1")
    eps: float = parameter(0.1, low=0, high=0.5, doc="length of the slope")

    def prepare(self, means: np.ndarray) -> Opportunity:
        made = self.with_scalars("problem.opportunity")
        if self.scale * self.eps > 1:
            allowed = f"at most 1/eps = {1 / self.eps:g}, so that the shares sum to at most 1"
            raise InputError("problem.opportunity.scale", self.scale, allowed)
        return made

    def value(self, mu: Array) -> Array:
        return self.scale * jnp.clip(mu - 0.5, 0.0, self.eps) / len(mu)

    def lipschitz(self, arms: int) -> float:
        return self.scale / arms


class Softmax(_Sound, name="softmax"):
    """exp(c mu_k) / sum_j exp(c mu_j)."""

    c: float = parameter(1.0, doc="how much a better arm is owed more")

    def value(self, mu: Array) -> Array:
        best = jnp.where(self.c < 0, jnp.min(mu, axis=0, keepdims=True), jnp.max(mu, axis=0, keepdims=True))
        weight = jnp.exp(self.c * (mu - best))  # differences first: of two large products rounding would be left
        return weight / jnp.sum(weight, axis=0, keepdims=True)

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        ends = self._share(high, low), self._share(low, high)  # 004 Prop. 1; c < 0 turns them around
        return jnp.minimum(*ends), jnp.maximum(*ends)

    def _share(self, own: Array, others: Array) -> Array:
        """f_k where mu_k is `own` and the other means are `others`."""
        arms = len(own)
        other = ~jnp.eye(arms, dtype=bool).reshape(arms, arms, *[1] * (own.ndim - 1))
        more = jax.vmap(lambda one: self.c * (others - one))(own[:, None])  # c may differ from run to run
        odds = jnp.where(other, jnp.exp(more), 0.0)  # no sum to subtract from
        return 1.0 / (1.0 + jnp.sum(odds, axis=1))

    def lipschitz(self, arms: int) -> float:
        """The supremum of the derivative's column sums, 2 |c| p (1 - p), over the shares p that an arm can have."""
        c = abs(self.c)
        most = 1.0 / (1.0 + (arms - 1) * math.exp(-c))
        p = min(most, 0.5)  # 1/2 is among them, or the largest is nearest to it
        return 2.0 * c * p * (1.0 - p) if arms > 1 else 0.0


def _short(values: np.ndarray) -> str:
    return "[" + ", ".join(f"{value:.4g}" for value in values) + "]"
