"""Dependent rounding: L arms at random, each with a probability of its own."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from .fusion import apart
from .randomness import Stream


def pairs(arms: int) -> int:
    """How many random numbers the rounding of `arms` marginals takes."""
    count = 0
    while arms > 1:
        arms = -(-arms // 2)
        count += arms
    return count


def rounded(marginals: Array, random: Stream) -> Array:
    """`dependent_rounding` with a round's random numbers."""
    uniform = apart(lambda: random.uniform(pairs(len(marginals))), marginals)  # once for all its levels
    return dependent_rounding(marginals, uniform)


def dependent_rounding(marginals: Array, uniform: Array) -> Array:
    """A random set of arms with given marginals and of fixed size (Srinivasan 2001; Gandhi et al. 2006).

    Arms meet in pairs, the winners in pairs again, as in a tournament. Of a pair with a + b <= 1 one arm is out and
    the other goes on with a + b; with a + b > 1 one arm is in and the other goes on with a + b - 1. Each pair keeps
    both marginals and rules out what would make them move together, so that any set of arms is chosen together, and
    left out together, at most as often as independent arms would be.

    Args:
        marginals: in [0, 1], float `[K, *runs]`, their sum a whole number L up to rounding.
        uniform: in [0, 1), independent, float `[pairs(K), *runs]`.

    Returns:
        A mask `[K, *runs]` of exactly L arms; arms of marginal 1 are in it, arms of marginal 0 are not.

    Example:
        >>> y, u = jnp.array([0.5, 0.5, 1.0]), jnp.array([0.3, 0.9, 0.1])
        >>> dependent_rounding(y, u).tolist()
        [True, False, True]
    """
    levels, used, value = [], 0, marginals
    while len(value) > 1:  # up: who goes on, and whether the other is in
        width = len(value)
        if width % 2:
            value = jnp.concatenate([value, jnp.zeros_like(value[:1])])
        a, b = value[::2], value[1::2]
        u = uniform[used : used + len(a)]
        used += len(a)
        over = (a + b > 1) | (a >= 1) | (b >= 1)  # an arm of marginal 1 is in, though 1 and a little round to 1
        chance = jnp.where(over, 1 - b, a)  # that the first arm is the one in, or the one not out
        span = jnp.where(over, 2 - a - b, a + b)
        first = u * span < chance
        levels.append((first, over, width))
        value = jnp.where(over, a + b - 1, a + b)
    chosen = value > 0.5  # 0 or 1, up to rounding
    for first, over, width in reversed(levels):  # down: who went on gets what the winner got
        goes_on = first ^ over  # the first arm: it is the one not out, or not the one in
        left, right = jnp.where(goes_on, chosen, over), jnp.where(goes_on, over, chosen)
        chosen = jnp.stack([left, right], axis=1).reshape((-1, *left.shape[1:]))[:width]
    return chosen
