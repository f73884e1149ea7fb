"""Dependent rounding: L arms at random, each with a probability of its own."""

from __future__ import annotations

import itertools

import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.prng import Stream
from jaxbandit.core.xla.fusion import without_fusion
from jaxbandit.policies.selection.bitmask import BITS, word_of


def pairs(arms: int) -> int:
    """How many random numbers the rounding of `arms` marginals takes."""
    count = 0
    while arms > 1:
        arms = -(-arms // 2)
        count += arms
    return count


def rounded(marginals: Array, random: Stream) -> Array:
    """`dependent_rounding` with a round's random numbers."""
    uniform = without_fusion(lambda: random.uniform(pairs(len(marginals))), marginals)  # once for all its levels
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
    if len(marginals) > BITS:
        return _level_by_level(marginals, uniform)
    word = without_fusion(lambda: _pair_by_pair(marginals, uniform), marginals)
    arm = lax.broadcasted_iota(jnp.uint32, marginals.shape, 0)
    return (word >> arm) & jnp.uint32(1) == 1


def _met(a: Array, b: Array, uniform: Array) -> tuple[Array, Array, Array]:
    """A pair meets: whether the first arm is the one in, or not out; whether one is in; the marginal that goes on."""
    over = (a + b > 1) | (a >= 1) | (b >= 1)  # an arm of marginal 1 is in, though 1 and a little round to 1
    chance = jnp.where(over, 1 - b, a)  # that the first arm is the one in, or the one not out
    span = jnp.where(over, 2 - a - b, a + b)
    return uniform * span < chance, over, jnp.where(over, a + b - 1, a + b)


def _parted(first: Array, over: Array, chosen: Array) -> tuple[Array, Array]:
    """Whether each of a pair is chosen: who went on gets what the winner got."""
    goes_on = first ^ over  # the first arm: it is the one not out, or not the one in
    return jnp.where(goes_on, chosen, over), jnp.where(goes_on, over, chosen)


def _level_by_level(marginals: Array, uniform: Array) -> Array:
    levels, used, value = [], 0, marginals
    while len(value) > 1:
        width = len(value)
        if width % 2:
            value = jnp.concatenate([value, jnp.zeros_like(value[:1])])
        count = len(value) // 2
        first, over, value = _met(value[::2], value[1::2], uniform[used : used + count])
        used += count
        levels.append((first, over, width))
    chosen = value > 0.5  # 0 or 1, up to rounding
    for first, over, width in reversed(levels):
        pair = _parted(first, over, chosen)
        chosen = jnp.stack(pair, axis=1).reshape((-1, *first.shape[1:]))[:width]
    return chosen


def _pair_by_pair(marginals: Array, uniform: Array) -> Array:
    """The chosen arms as bits of a word, uint32 `[1, *runs]`: arithmetic on rows, in one loop over runs."""
    draws = iter(uniform[n : n + 1] for n in range(len(uniform)))
    levels, values = [], [marginals[k : k + 1] for k in range(len(marginals))]
    nobody = jnp.zeros_like(values[0])
    while len(values) > 1:
        pairs = itertools.zip_longest(values[::2], values[1::2], fillvalue=nobody)
        met = [_met(a, b, next(draws)) for a, b in pairs]
        values = [value for *_, value in met]
        levels.append(met)
    chosen = [values[0] > 0.5]  # 0 or 1, up to rounding
    for met in reversed(levels):
        chosen = [one for (first, over, _), own in zip(met, chosen, strict=False) for one in _parted(first, over, own)]
    return word_of(chosen[: len(marginals)])
