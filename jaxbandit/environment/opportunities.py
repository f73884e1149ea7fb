"""Fairness functions: the share of the rounds to which each arm is entitled, as a function of the mean rewards.

Source: opportunities paper, sec. 2.2.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core import prng
from jaxbandit.core.component import Component, parameter
from jaxbandit.core.errors import InputError
from jaxbandit.core.rationals import exact_fraction
from jaxbandit.core.users_code import contracts
from jaxbandit.core.users_code.evaluation import evaluate
from jaxbandit.core.users_code.failures import told_of

# A user's function is checked at random means: this many, or fewer for many arms, so that arms x points is limited.
_CHECKED_POINTS, _CHECKED_NUMBERS = 4096, 1 << 18
_CORNER_ARMS = 12  # up to this number of arms it is also checked at all corners of the cube [0, 1]^K
_STEP = 1 / 64  # between neighbouring points for which `lipschitz` and `bounds` are checked
_ROUNDING = 1e-6  # users' functions may compute in float32
_CHECKED_ALONE = 5  # points at which the values alone are compared with those beside other points


class Opportunity(Component, required="value"):
    """The base class of fairness functions f: [0, 1]^K -> [0, 1]^K, whose values sum to at most 1.

    Arm k is entitled to a share f(mu)_k of the rounds. A subclass defines `value`. The policy "self-regulated" needs
    the range of f over a box of means: define `bounds` for it, or `lipschitz`, from which a wider range follows. The
    defaults of its `alpha`, and of `rounds_per_arm` of "fairness-aware-etc", need `lipschitz`. `jb.Problem` checks at
    some thousand points that the methods agree.

    The fields of a subclass are its parameters, which are numbers. `class Mine(jb.Opportunity, name="mine")` makes the
    function available in configs under this name.

    Attributes:
        name: the name in configs.

    Source: opportunities paper, sec. 2.2.

    Example:
        >>> class Half(jb.Opportunity):
        ...     def value(self, mu):
        ...         return 0.5 * mu / len(mu)
        ...
        ...     def lipschitz(self, arms):
        ...         return 0.5 / arms
        >>> jb.Problem([0.8, 0.4], opportunity=Half()).opportunities().ravel().tolist()
        [0.2, 0.1]
    """

    family: ClassVar[str] = "opportunity"
    registry: ClassVar[dict[str, Any]] = {}

    def value(self, mu: Array) -> Array:
        """The shares f(mu).

        Args:
            mu: means in [0, 1], float `[K, *runs]`.

        Returns:
            A float array of that shape, >= 0, with sums over the arms of at most 1.
        """
        raise TypeError(f"{type(self).__name__} has no value")

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """The smallest and the largest share of each arm over a box of means.

        Args:
            low, high: the ends of the box, float `[K, *runs]`, in [0, 1].

        Returns:
            min f_k and max f_k, float `[K, *runs]` each.
        """
        raise TypeError(f"{type(self).__name__} has no bounds")

    def lipschitz(self, arms: int) -> float:
        """The Lipschitz constant L_f for K arms: |f(x) - f(y)|_1 <= L_f |x - y|_1; infinity if none is known."""
        return math.inf

    def constant_shares(self, arms: int) -> list[Fraction] | None:
        """The shares as exact ratios, if they are the same for all means; else None."""
        return None

    @property
    def has_bounds(self) -> bool:
        """Whether the class defines `bounds`."""
        return type(self).bounds is not Opportunity.bounds

    def prepare(self, means: np.ndarray) -> Opportunity:
        """The function with checked parameters, each a float; its methods are checked at many points of [0, 1]^K.

        Args:
            means: mu, float64 `[K, J]`, where they are checked, too.

        Raises:
            InputError: a parameter is invalid, values are outside [0, 1] or sum to more than 1, those at a point depend
                on other points, or `bounds`, `lipschitz` or `constant_shares` contradict the values.
        """
        made = self.with_scalars("problem.opportunity")
        x = _checked_points(means)
        values = made._checked_values(x)
        made._check_runs_apart(x, values)
        step = np.zeros_like(x)  # of one arm per point, to a neighbour inside
        arm, point = np.arange(x.shape[1]) % len(x), np.arange(x.shape[1])
        step[arm, point] = np.where(x[arm, point] < 0.5, _STEP, -_STEP)
        for y in (x + step, np.roll(x, 1, axis=1)):
            made._check_lipschitz(x, values, y)
            made._check_bounds(x, y)
        return made

    def _checked_values(self, mu: np.ndarray) -> np.ndarray:
        """f(mu) in float64, `[K, J]`.

        Raises:
            InputError: values have another shape, are outside [0, 1], sum to more than 1, or are not `constant_shares`.
        """
        values = self._evaluated(mu)
        if values.shape != mu.shape:
            allowed = f"a function from means of shape {mu.shape} to shares of that shape, not of shape {values.shape}"
            raise InputError("problem.opportunity", self.name, allowed)
        constant = self.constant_shares(len(mu))
        shares = values if constant is None else np.array([[float(share)] for share in constant])
        distance = np.where(np.isnan(values), np.inf, np.abs(values - 0.5)).max(axis=0)  # from the centre of [0, 1]
        for measure, most, rule in (
            (distance, 0.5, "a function whose values lie in [0, 1]"),
            (values.sum(axis=0), 1 + 1e-9, "a function whose values sum to at most 1"),
            (np.abs(values - shares).max(axis=0), _ROUNDING, "a function whose values are its `constant_shares`"),
        ):
            worst = int(np.argmax(measure))
            if not measure[worst] <= most:
                allowed = f"{rule}; at the means {_short(mu[:, worst])} they are {_short(values[:, worst])}"
                raise InputError("problem.opportunity", self.name, allowed)
        return values

    def _check_runs_apart(self, mu: np.ndarray, values: np.ndarray) -> None:
        """Refuse a function whose value at a point depends on other points, which are of other runs."""
        for place in np.linspace(0, mu.shape[1] - 1, _CHECKED_ALONE).astype(int).tolist():
            point, beside = mu[:, place], values[:, place]
            alone = self._evaluated(point[:, None])
            if alone.shape != (len(mu), 1) or not np.allclose(alone[:, 0], beside, rtol=0, atol=_ROUNDING):
                allowed = (
                    f"a function of one run's means: reduce over axis 0, the arms, only; at the means {_short(point)} "
                    f"its values are {_short(alone.ravel())} alone and {_short(beside)} beside other points"
                )
                raise InputError("problem.opportunity", self.name, allowed)

    def _check_lipschitz(self, x: np.ndarray, values: np.ndarray, y: np.ndarray) -> None:
        """Refuse a Lipschitz constant that is not one, or that f exceeds between points x and y; `values` are f(x)."""
        slope = self.lipschitz(len(x))
        if np.ndim(slope) or not isinstance(slope, int | float | np.number | np.ndarray | Array) or not slope >= 0:
            allowed = f"a function whose `lipschitz` returns a number >= 0, or infinity, not {slope!r}"
            raise InputError("problem.opportunity", self.name, allowed)
        change, distance = np.abs(self._evaluated(y) - values).sum(axis=0), np.abs(y - x).sum(axis=0)
        excess = change - float(slope) * distance if math.isfinite(slope) else np.zeros_like(change)
        worst = int(np.argmax(excess))
        if excess[worst] > _ROUNDING:
            allowed = (
                f"a function whose `lipschitz`, {float(slope):.4g}, is at least |f(x) - f(y)|_1 / |x - y|_1, which is "
                f"{change[worst] / distance[worst]:.4g} for x = {_short(x[:, worst])} and y = {_short(y[:, worst])}"
            )
            raise InputError("problem.opportunity", self.name, allowed)

    def _check_bounds(self, x: np.ndarray, y: np.ndarray) -> None:
        """Refuse bounds over the boxes between points x and y that do not contain the values there."""
        if not self.has_bounds:
            return
        few = max(1, _CHECKED_NUMBERS // len(x) ** 2)  # `bounds` may compute with all pairs of arms
        x, y = x[:, -few:], y[:, -few:]  # the corners are last
        low, high = np.minimum(x, y), np.maximum(x, y)
        with jax.enable_x64(True):
            least, most = map(np.asarray, share_bounds(self, None, jnp.asarray(low), jnp.asarray(high)))
        for mu in (x, y, 0.5 * (x + y)):
            values = self._evaluated(mu)
            inside = (least - _ROUNDING <= values) & (values <= most + _ROUNDING)
            if not inside.all():
                worst = int(np.argmin(inside.all(axis=0)))
                ends, shares = [[_short(part[:, worst]) for part in parts] for parts in ((low, high), (least, most))]
                allowed = (
                    f"a function whose `bounds` contain its values: for means from {ends[0]} to {ends[1]} they are "
                    f"{shares[0]} and {shares[1]}, and at {_short(mu[:, worst])} the values are "
                    f"{_short(values[:, worst])}"
                )
                raise InputError("problem.opportunity", self.name, allowed)

    def values_float64(self, mu: np.ndarray) -> np.ndarray:
        """f(mu) on the host, computed in float64 also where simulations use float32; `mu` is `[K, J]`."""
        shares = self.constant_shares(len(mu))
        if shares is not None:
            return np.broadcast_to(np.array([[float(share)] for share in shares]), mu.shape)
        return self._evaluated(mu)

    def _evaluated(self, mu: np.ndarray) -> np.ndarray:
        """What `value` returns for means `[K, J]`, in float64."""
        with jax.enable_x64(True):
            return np.asarray(evaluate(self, mu.astype(np.float64)), np.float64)


def share_bounds(f: Opportunity, slope: Any, low: Array, high: Array) -> tuple[Array, Array]:
    """A range that contains the shares f_k of all means in a box.

    It is the exact range if f defines `bounds`, else one that follows from the Lipschitz constant.

    Args:
        f: the fairness function.
        slope: L_f, for a function without `bounds`: a number, or an array that broadcasts to `[K, *runs]`.
        low, high: the ends of the box, float `[K, *runs]`, in [0, 1].

    Returns:
        The lower and the upper end, float `[K, *runs]` each.
    """
    if f.has_bounds:
        with told_of(f, "bounds"):
            ends = f.bounds(low, high)
        ends = contracts.pair(f, "bounds", ends, "the least and the largest share per arm")
        least, most = (contracts.broadcast_floats(f, "bounds", end, low.shape, "a share per arm") for end in ends)
        return least, most
    with told_of(f, "value"):
        value = f.value(0.5 * (low + high))
    middle = contracts.floats(f, "value", value, low.shape, "a share per arm")
    reach = slope * 0.5 * jnp.sum(high - low, axis=0, keepdims=True)
    return jnp.maximum(middle - reach, 0.0), jnp.minimum(middle + reach, 1.0)


class _Checked(Opportunity):
    """A function that needs no check: its values lie in [0, 1] and sum to at most 1 for all its parameters."""

    def prepare(self, means: np.ndarray) -> Opportunity:
        users = contracts.is_users_class(type(self))  # a subclass, which may have replaced one method of several
        return super().prepare(means) if users else self.with_scalars("problem.opportunity")


class _Constant(_Checked):
    """A function that does not depend on the means."""

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
    """f_k = 0: no arm is entitled to rounds, as in a bandit problem without fairness."""

    def constant_shares(self, arms: int) -> list[Fraction]:
        return [Fraction(0)] * arms


class Uniform(_Constant, name="uniform"):
    """f_k = 1 / K: all arms are entitled to equal shares of all rounds."""

    def constant_shares(self, arms: int) -> list[Fraction]:
        return [Fraction(1, arms)] * arms


class Constant(_Constant, name="constant"):
    """f_k = gamma: every arm is entitled to a share gamma of the rounds.

    Source: opportunities paper, App. B.
    """

    gamma: float = parameter(
        0.0, low=0, high=1, doc="share of the rounds per arm, at most 1/K", static=True, exact=True
    )

    def prepare(self, means: np.ndarray) -> Opportunity:
        self.check_scalars("problem.opportunity")
        if exact_fraction(self.gamma, "problem.opportunity.gamma") * len(means) > 1:
            allowed = f"a number from 0 to 1/K = 1/{len(means)}, so that the shares sum to at most 1"
            raise InputError("problem.opportunity.gamma", self.gamma, allowed)
        return super().prepare(means)

    def constant_shares(self, arms: int) -> list[Fraction]:
        return [exact_fraction(self.gamma, "problem.opportunity.gamma")] * arms


class _Increasing(_Checked):
    """f_k increases with mu_k and depends on no other mean, so that its extremes are at the ends of the box."""

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        return self.value(low), self.value(high)


class Linear(_Increasing, name="linear"):
    """f_k = mu_k / K."""

    def value(self, mu: Array) -> Array:
        return mu / len(mu)

    def lipschitz(self, arms: int) -> float:
        return 1.0 / arms


class PowerOpportunity(_Increasing, name="power"):
    """f_k = mu_k^c / K."""

    c: float = parameter(2.0, low=0, doc="exponent; for 0 < c < 1 there is no Lipschitz constant")

    def value(self, mu: Array) -> Array:
        return mu**self.c / len(mu)

    def lipschitz(self, arms: int) -> float:
        return self.c / arms if self.c >= 1 or self.c == 0 else math.inf


class PiecewiseLinear(_Increasing, name="piecewise-linear"):
    """f_k = L (mu_k - 1/2) / K for mu_k between 1/2 and 1/2 + eps; 0 below, L eps / K above.

    Source: opportunities paper, App. A.3.
    """

    scale: float = parameter(1.0, low=0, doc="L, the slope times K; L eps must be at most 1")
    eps: float = parameter(0.1, low=0, high=0.5, doc="length of the interval in which f_k increases")

    def prepare(self, means: np.ndarray) -> Opportunity:
        self.check_scalars("problem.opportunity")
        if self.scale * self.eps > 1:
            allowed = f"at most 1/eps = {1 / self.eps:g}, so that the shares sum to at most 1"
            raise InputError("problem.opportunity.scale", self.scale, allowed)
        return super().prepare(means)

    def value(self, mu: Array) -> Array:
        return self.scale * jnp.clip(mu - 0.5, 0.0, self.eps) / len(mu)

    def lipschitz(self, arms: int) -> float:
        return self.scale / arms


class Softmax(_Checked, name="softmax"):
    """f_k = exp(c mu_k) / sum_j exp(c mu_j): arms with larger means are entitled to larger shares, if c > 0."""

    c: float = parameter(1.0, doc="how strongly shares depend on the means; for c = 0 they are equal")

    def value(self, mu: Array) -> Array:
        best = jnp.where(self.c < 0, jnp.min(mu, axis=0, keepdims=True), jnp.max(mu, axis=0, keepdims=True))
        weight = jnp.exp(self.c * (mu - best))  # a difference of two large products would lose digits
        return weight / jnp.sum(weight, axis=0, keepdims=True)

    def bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        ends = (
            self._share(high, low),
            self._share(low, high),
        )  # opportunities paper, Prop. 1; for c < 0 the ends are swapped
        return jnp.minimum(*ends), jnp.maximum(*ends)

    def _share(self, own: Array, others: Array) -> Array:
        """f_k at the mean `own` of arm k and the means `others` of the other arms."""
        arms = len(own)
        other = ~jnp.eye(arms, dtype=bool).reshape(arms, arms, *[1] * (own.ndim - 1))
        exponents = jax.vmap(lambda one: self.c * (others - one))(own[:, None])  # c may differ from run to run
        odds = jnp.where(other, jnp.exp(exponents), 0.0)  # subtracting arm k from the sum of all would lose digits
        return 1.0 / (1.0 + jnp.sum(odds, axis=1))

    def lipschitz(self, arms: int) -> float:
        """The supremum of 2 |c| p (1 - p), a column sum of the derivative, over the shares p that an arm can have."""
        c = abs(self.c)
        most = 1.0 / (1.0 + (arms - 1) * math.exp(-c))
        p = min(most, 0.5)  # 1/2, or the largest share if all shares are smaller
        return 2.0 * c * p * (1.0 - p) if arms > 1 else 0.0


def _checked_points(means: np.ndarray) -> np.ndarray:
    """The points of the cube [0, 1]^K at which a function is checked, float64 `[K, points]`, its corners last."""
    arms = len(means)
    count = max(1, min(_CHECKED_POINTS, _CHECKED_NUMBERS // arms))
    points = [means, prng.uniform_table(0, count, arms).T]
    if arms <= _CORNER_ARMS:
        points.append(np.indices((2,) * arms).reshape(arms, -1))
    return np.concatenate(points, axis=1)


def _short(values: np.ndarray) -> str:
    return "[" + ", ".join(f"{value:.4g}" for value in values) + "]"
