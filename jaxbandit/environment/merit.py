"""Merit functions (merit paper, sec. 3): arms are to be selected in proportion to f(mu), the merit of the mean."""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.component import Component, parameter
from jaxbandit.core.errors import InputError
from jaxbandit.core.users_code import contracts
from jaxbandit.core.users_code.evaluation import evaluate
from jaxbandit.core.users_code.failures import told_of

_GRID_POINTS = 129  # points of an interval at which a function is maximised
_CHECKED_POINTS = 4097  # points of [0, 1] at which a merit function is checked
_CHECKED_ALONE = 5  # of them that are also evaluated alone
_ROUNDING = 1e-5  # relative, of values that are computed in float32 in two ways


class Merit(Component, required="value"):
    """The base class of merit functions f > 0 on [0, 1]. A subclass defines `value`.

    The fields of a subclass are its parameters, which are numbers. `class Mine(jb.Merit, name="mine")` makes the
    function available in configs under this name.

    Attributes:
        name: the name in configs.

    Source: merit paper, sec. 3.

    Example:
        >>> class Bump(jb.Merit):
        ...     height: float = jb.parameter(1.0, low=0, doc="h in the merit 1 + h mu (1 - mu)")
        ...
        ...     def value(self, mu):
        ...         return 1.0 + self.height * mu * (1.0 - mu)
        >>> jb.Problem([0.5, 1.0], merit=Bump(height=4.0)).fair_chances().ravel().round(3).tolist()
        [0.667, 0.333]
    """

    family: ClassVar[str] = "merit"
    registry: ClassVar[dict[str, Any]] = {}

    def value(self, mu: Array) -> Array:
        """The merit f(mu) of mean rewards.

        Args:
            mu: means in [0, 1], a float array of any shape.

        Returns:
            A float array of that shape, positive.
        """
        raise TypeError(f"{type(self).__name__} has no value")

    def values_at(self, mu: np.ndarray) -> np.ndarray:
        """f(mu) on the host, in the precision of the simulation, as float64 of the shape of `mu`."""
        merit = evaluate(self, mu.astype(jnp.result_type(float)))
        return np.asarray(contracts.broadcast_floats(self, "value", merit, mu.shape, "a merit per mean"), np.float64)

    def peak(self, low: Array, high: Array, ratio: Array) -> Array:
        """The x in [low, high] that maximises f(x) (x - ratio).

        A step of the search for the best means in a confidence region (`box_optimum`). This method works for any f: it
        takes the best point of a grid, then the maximum of the parabola through it and its neighbours. A subclass may
        override it with an exact solution, which is not used for subclasses with another `value`.

        Args:
            low, high: the ends of the intervals, float `[K, *runs]`.
            ratio: the best mean reward per play so far, float, broadcasts to that shape.

        Returns:
            x, float `[K, *runs]`.
        """
        step = (high - low) / (_GRID_POINTS - 1)

        def gain(x: Array) -> Array:
            return self.value(x) * (x - ratio)

        def better(i: Array, best: tuple[Array, Array]) -> tuple[Array, Array]:
            x = jnp.minimum(low + i.astype(low.dtype) * step, high)
            g = gain(x)
            return jnp.where(g > best[1], x, best[0]), jnp.maximum(g, best[1])

        x, g = lax.fori_loop(1, _GRID_POINTS, better, (low, gain(low)))
        for width in (step, step / 8):  # the second parabola is through points closer to the maximum
            middle = jnp.clip(x, low + width, high - width)  # so that its neighbours are in the interval, too
            left, right = middle - width, jnp.minimum(middle + width, high)
            a, b = gain(left), gain(right)
            bend = a + b - 2 * gain(middle)
            shift = jnp.where(bend < 0, 0.5 * (a - b) / jnp.where(bend < 0, bend, 1.0), 0.0) * width
            top = jnp.clip(middle + shift, left, right)
            best = gain(top)
            x, g = jnp.where(best > g, top, x), jnp.maximum(best, g)
        return x

    def prepare(self, arms: int, plays: int) -> Merit:
        """The function with checked parameters, each a float; and a check of Assumption 1 of the merit paper.

        Args:
            arms, plays: K and L.

        Raises:
            InputError: a parameter is invalid, f is not positive and finite on [0, 1], its value for a mean depends on
                other means, or max f / min f is above (K-1)/(L-1).
        """
        made = self.with_scalars("problem.merit")
        means = np.linspace(0.0, 1.0, _CHECKED_POINTS)
        values = made.values_at(means)
        some = np.linspace(0, _CHECKED_POINTS - 1, _CHECKED_ALONE).astype(int).tolist()
        for place in some if contracts.has_user_code(made) else ():  # this package's functions are of one mean
            alone = float(made.values_at(means[[place]])[0])
            if not np.isclose(alone, values[place], rtol=_ROUNDING, atol=0, equal_nan=True):
                words = f"a merit function of the arm's own mean; for {means[place]:g} it is {alone:.6g} alone and "
                raise InputError("problem.merit", self.name, f"{words}{values[place]:.6g} beside other means")
        if not np.all(np.isfinite(values) & (values > 0)):
            raise InputError("problem.merit", self.name, "a merit function that is positive and finite on [0, 1]")
        spread = values.max() / values.min()
        if plays > 1 and spread > (arms - 1) / (plays - 1) * (1 + 1e-6):  # equality is allowed; float32 rounds
            bound = (
                f"a merit function whose largest value on [0, 1] is at most (K-1)/(L-1) = {arms - 1}/{plays - 1} times "
                f"its smallest (merit paper, Assumption 1), not {spread:.6g} times"
            )
            raise InputError("problem.merit", self.name, bound)
        return made


class Power(Merit, name="power"):
    """f(mu) = 1 + scale mu^exponent.

    Source: merit paper, sec. 6.
    """

    scale: float = parameter(
        2.0, low=0, doc="s; the merit paper uses 2 for synthetic and 3.5 for real data", smooth=True
    )
    exponent: float = parameter(4.0, low=1, doc="c; the merit paper uses 2, 4, 6 and 8", static=True)

    @property
    def _c(self) -> float:
        """The exponent; an int where it is a small whole number, so that powers are computed by a few products."""
        small = self.exponent <= 64 and self.exponent == int(self.exponent)
        return int(self.exponent) if small else float(self.exponent)

    def value(self, mu: Array) -> Array:
        return 1.0 + self.scale * mu**self._c

    def peak(self, low: Array, high: Array, ratio: Array) -> Array:
        """The exact solution: a local maximum r, or `high`.

        f(x) (x - ratio) either increases everywhere, or increases to r, decreases and increases again. Its derivative
        1 + s (c+1) x^c - s c ratio x^(c-1) has its minimum at x = ratio (c-1)/(c+1).
        """
        c, s = self._c, self.scale

        def slope(x: Array) -> Array:
            return 1.0 + s * x ** (c - 1) * ((c + 1.0) * x - c * ratio)

        steepest_descent = jnp.maximum(ratio, 0.0) * (c - 1.0) / (c + 1.0)

        def with_local_maximum() -> Array:
            def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
                middle = 0.5 * (ends[0] + ends[1])
                rising = slope(middle) > 0
                return jnp.where(rising, middle, ends[0]), jnp.where(rising, ends[1], middle)

            start = (jnp.zeros_like(steepest_descent), steepest_descent)
            root = lax.fori_loop(0, 26, halve, start)[0]  # float32 has 24 bits
            top = jnp.clip(root, low, high)
            better = self.value(top) * (top - ratio) > self.value(high) * (high - ratio)
            return jnp.where((slope(steepest_descent) < 0) & better, top, high)

        return lax.cond(jnp.any(slope(steepest_descent) < 0), with_local_maximum, lambda: high)


@jax.custom_jvp
def proportional_chances(merit: Array, plays: Array, candidates: Array) -> Array:
    """The chances p_k = L f_k / sum_j f_j of the candidates, float `[K, *runs]`; 0 for other arms.

    Where a chance would exceed 1, because few candidates are available, it is 1, and the remaining plays are divided
    among the other candidates.

    Args:
        merit: f_k, positive, float `[K, *runs]`.
        plays: L, the number of candidates that are selected, float `[1, *runs]`.
        candidates: the arms that may be selected, bool `[K, *runs]`.

    Source: merit paper, eq. 4.
    """
    return _capped(merit, plays, candidates)[1]


@proportional_chances.defjvp
def _in_proportion_slope(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    """The derivative in f for fixed arms of chance 1; L has none."""
    merit, plays, candidates = primals
    sure, made = _capped(merit, plays, candidates)
    return made, jax.jvp(lambda f: _shares(f, plays, candidates, sure), (merit,), (tangents[0],))[1]


def _shares(merit: Array, plays: Array, candidates: Array, sure: Array) -> Array:
    """The chances if the arms `sure` have chance 1; those of other candidates may exceed 1."""
    free = jnp.where(candidates & ~sure, merit, 0.0)
    total = jnp.sum(free, axis=0, keepdims=True)
    left = plays - jnp.sum(sure, axis=0, keepdims=True, dtype=merit.dtype)
    return jnp.where(sure, 1.0, left * free / jnp.where(total > 0, total, 1.0))


def _capped(merit: Array, plays: Array, candidates: Array) -> tuple[Array, Array]:
    """The arms of chance 1, and the chances of all arms."""

    def over(carry: tuple[Array, Array]) -> Array:
        return jnp.any(carry[1] > 1.0)

    def cap(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        sure = carry[0] | (carry[1] > 1.0)
        return sure, _shares(merit, plays, candidates, sure)

    none = jnp.zeros(merit.shape, bool)
    return lax.while_loop(over, cap, (none, _shares(merit, plays, candidates, none)))


def box_optimum(merit: Merit, low: Array, high: Array) -> Array:
    """The x in the box [low, high] that maximises sum_k f(x_k) x_k / sum_k f(x_k).

    By the algorithm of Dinkelbach (1967): for a fixed ratio there is one problem per arm (`Merit.peak`), and the ratio
    at their solutions increases until it is the maximum. Convergence is superlinear.

    Args:
        merit: f.
        low, high: the ends of the intervals, float `[K, *runs]`, in [0, 1].

    Returns:
        x, float `[K, *runs]`.

    Source: merit paper, Alg. 1, line 9.
    """

    def ratio_of(x: Array) -> Array:
        with told_of(merit, "value"):
            value = merit.value(x)
        f = contracts.broadcast_floats(merit, "value", value, x.shape, "a merit per mean")
        return jnp.sum(f * x, axis=0, keepdims=True) / jnp.sum(f, axis=0, keepdims=True)

    def climbing(carry: tuple[Array, Array, Array, Array]) -> Array:
        _, _, rising, step = carry
        return jnp.any(rising) & (step < 30)

    def climb(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        x, ratio, _, step = carry
        next_x = peak(low, high, ratio)
        next_ratio = ratio_of(next_x)
        rising = next_ratio > ratio
        return jnp.where(rising, next_x, x), jnp.maximum(ratio, next_ratio), rising, step + 1

    own = "peak" in contracts.latest_of(type(merit), "value", "peak")  # an inherited one may be of another `value`
    peak = merit.peak if own else functools.partial(Merit.peak, merit)
    ratio = ratio_of(high)
    return lax.while_loop(climbing, climb, (high, ratio, jnp.ones(ratio.shape, bool), jnp.asarray(0, jnp.int32)))[0]
