"""Merit functions (002 sec. 3): an arm is selected in proportion to f(mu), the merit of its mean reward."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core import contracts
from jaxbandit.core.component import Component, evaluate, parameter
from jaxbandit.core.errors import InputError

_GRID = 129  # points of an interval among which the best one is looked for
_CHECKED = 4097  # points of [0, 1] at which a merit function is checked


class Merit(Component):
    """A merit function f > 0 on [0, 1]. A subclass writes `value`; its fields are its parameters, numbers.

    Example:
        >>> class Bump(Merit, name="bump"):
        ...     height: float = 1.0
        ...
        ...     def value(self, mu):
        ...         return 1.0 + self.height * mu * (1.0 - mu)
    """

    family: ClassVar[str] = "merit"
    registry: ClassVar[dict[str, Any]] = {}

    def value(self, mu: Array) -> Array:
        """f(mu), float, of the shape of `mu`, whose entries lie in [0, 1]."""
        raise TypeError(f"{type(self).__name__} has no value")

    def values_at(self, mu: np.ndarray) -> np.ndarray:
        """f(mu) as it is simulated, float64 of the shape of `mu`."""
        made = evaluate(self, jnp.asarray(mu, jnp.result_type(float)))
        return np.asarray(contracts.broadcast_floats(self, "value", made, mu.shape, "a merit per mean"), np.float64)

    def peak(self, low: Array, high: Array, ratio: Array) -> Array:
        """The x in [low, high] of the largest f(x) (x - ratio), arrays `[K, *runs]`; `ratio` broadcasts.

        Here, for any f: the best of a grid, then the top of the parabola through it and its neighbours. A subclass
        that knows better may say so.
        """
        step = (high - low) / (_GRID - 1)

        def gain(x: Array) -> Array:
            return self.value(x) * (x - ratio)

        def better(i: Array, best: tuple[Array, Array]) -> tuple[Array, Array]:
            x = jnp.minimum(low + i.astype(low.dtype) * step, high)
            g = gain(x)
            return jnp.where(g > best[1], x, best[0]), jnp.maximum(g, best[1])

        x, g = lax.fori_loop(1, _GRID, better, (low, gain(low)))
        for width in (step, step / 8):  # twice: the second parabola is through points nearer the top
            left, right = jnp.maximum(x - width, low), jnp.minimum(x + width, high)
            a, b = gain(left), gain(right)
            bend = a + b - 2 * g
            shift = jnp.where(bend < 0, 0.5 * (a - b) / jnp.where(bend < 0, bend, 1.0), 0.0) * width
            top = jnp.clip(x + shift, left, right)
            best = gain(top)
            x, g = jnp.where(best > g, top, x), jnp.maximum(best, g)
        return x

    def prepare(self, arms: int, plays: int) -> Merit:
        """Check the parameters, and 002 Assumption 1 for the problem's number of arms and plays.

        Raises:
            InputError: f not positive and finite on [0, 1], or max f / min f above (K-1)/(L-1).
        """
        made = self.with_scalars("problem.merit")
        values = made.values_at(np.linspace(0.0, 1.0, _CHECKED))
        if not np.all(np.isfinite(values) & (values > 0)):
            raise InputError("problem.merit", self.name, "a merit function that is positive and finite on [0, 1]")
        spread = values.max() / values.min()
        if plays > 1 and spread > (arms - 1) / (plays - 1) * (1 + 1e-6):  # equality is allowed, and float32 rounds
            bound = (
                f"a merit function whose largest value on [0, 1] is at most (K-1)/(L-1) = {arms - 1}/{plays - 1} times "
                f"its smallest (merit paper, Assumption 1), not {spread:.6g} times"
            )
            raise InputError("problem.merit", self.name, bound)
        return made


class Power(Merit, name="power"):
    """1 + scale mu^exponent (002 sec. 6)."""

    scale: float = parameter(2.0, low=0, doc="s; 2 for 002's synthetic data, 3.5 for its real ones", smooth=True)
    exponent: float = parameter(4.0, low=1, doc="c; 2, 4, 6 or 8 in 002", static=True)

    @property
    def _c(self) -> float:
        """The exponent, an int where it is whole and small: a power is then a few products."""
        small = self.exponent <= 64 and self.exponent == int(self.exponent)
        return int(self.exponent) if small else float(self.exponent)

    def value(self, mu: Array) -> Array:
        return 1.0 + self.scale * mu**self._c

    def peak(self, low: Array, high: Array, ratio: Array) -> Array:
        """f(x) (x - ratio) rises to a local maximum r, falls and rises for good, or only rises: so r or `high`.

        Its slope 1 + s (c+1) x^c - s c ratio x^(c-1) is least at x = ratio (c-1)/(c+1).
        """
        c, s = self._c, self.scale

        def slope(x: Array) -> Array:
            return 1.0 + s * x ** (c - 1) * ((c + 1.0) * x - c * ratio)

        valley = jnp.maximum(ratio, 0.0) * (c - 1.0) / (c + 1.0)

        def with_a_top() -> Array:
            def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
                middle = 0.5 * (ends[0] + ends[1])
                rising = slope(middle) > 0
                return jnp.where(rising, middle, ends[0]), jnp.where(rising, ends[1], middle)

            root = lax.fori_loop(0, 26, halve, (jnp.zeros_like(valley), valley))[0]  # float32 has 24 bits
            top = jnp.clip(root, low, high)
            better = self.value(top) * (top - ratio) > self.value(high) * (high - ratio)
            return jnp.where((slope(valley) < 0) & better, top, high)

        return lax.cond(jnp.any(slope(valley) < 0), with_a_top, lambda: high)


@jax.custom_jvp
def proportional_chances(merit: Array, plays: Array, candidates: Array) -> Array:
    """p_k = L f_k / sum f over the candidates (002 eq. 4), float `[K, *runs]`.

    Where few candidates are left and a share would exceed 1, it is 1 and the others share the rest.

    Args:
        merit: f, positive, float `[K, *runs]`.
        plays: how many of the candidates are selected, float `[1, *runs]`.
        candidates: bool `[K, *runs]`.
    """
    return _capped(merit, plays, candidates)[1]


@proportional_chances.defjvp
def _in_proportion_slope(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    """Which arms are sure is a choice: the derivative in f is that of the others' shares; none in L is needed."""
    merit, plays, candidates = primals
    sure, made = _capped(merit, plays, candidates)
    return made, jax.jvp(lambda f: _shares(f, plays, candidates, sure), (merit,), (tangents[0],))[1]


def _shares(merit: Array, plays: Array, candidates: Array, sure: Array) -> Array:
    free = jnp.where(candidates & ~sure, merit, 0.0)
    total = jnp.sum(free, axis=0, keepdims=True)
    left = plays - jnp.sum(sure, axis=0, keepdims=True, dtype=merit.dtype)
    return jnp.where(sure, 1.0, left * free / jnp.where(total > 0, total, 1.0))


def _capped(merit: Array, plays: Array, candidates: Array) -> tuple[Array, Array]:
    """The arms whose share is 1, and all shares."""

    def over(carry: tuple[Array, Array]) -> Array:
        return jnp.any(carry[1] > 1.0)

    def cap(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        sure = carry[0] | (carry[1] > 1.0)
        return sure, _shares(merit, plays, candidates, sure)

    none = jnp.zeros(merit.shape, bool)
    return lax.while_loop(over, cap, (none, _shares(merit, plays, candidates, none)))


def box_optimum(merit: Merit, low: Array, high: Array) -> Array:
    """The x in the box [low, high] that maximises sum_k f(x_k) x_k / sum_k f(x_k) (002 Alg. 1, line 9).

    Dinkelbach (1967): for a fixed ratio the problem falls into one for each arm, and the ratio of their solutions
    is larger until it is the largest there is. It converges superlinearly.

    Args:
        merit: f.
        low, high: float `[K, *runs]`, in [0, 1].
    """

    def ratio_of(x: Array) -> Array:
        f = contracts.floats(merit, "value", merit.value(x), x.shape, "a merit per mean")
        return jnp.sum(f * x, axis=0, keepdims=True) / jnp.sum(f, axis=0, keepdims=True)

    def climbing(carry: tuple[Array, Array, Array, Array]) -> Array:
        _, _, rising, step = carry
        return jnp.any(rising) & (step < 30)

    def climb(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        x, ratio, _, step = carry
        next_x = merit.peak(low, high, ratio)
        next_ratio = ratio_of(next_x)
        rising = next_ratio > ratio
        return jnp.where(rising, next_x, x), jnp.maximum(ratio, next_ratio), rising, step + 1

    ratio = ratio_of(high)
    return lax.while_loop(climbing, climb, (high, ratio, jnp.ones(ratio.shape, bool), jnp.asarray(0, jnp.int32)))[0]
