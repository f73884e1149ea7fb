"""Dependent rounding: a random set of L arms that contains each arm with a given probability."""

from __future__ import annotations

import itertools

import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.prng import Stream
from jaxbandit.core.xla.fusion import without_fusion
from jaxbandit.policies.selection.bitmask import MAX_ARMS, pack_bits


def uniforms_needed(arms: int) -> int:
    """The number of uniform random numbers that the rounding of `arms` marginals uses: one per pair of arms."""
    count = 0
    while arms > 1:
        arms = -(-arms // 2)
        count += arms
    return count


def draw_arms(marginals: Array, random: Stream) -> Array:
    """`dependent_rounding` with the random numbers of a round."""
    uniform = without_fusion(lambda: random.uniform(uniforms_needed(len(marginals))), marginals)  # once for all levels
    return dependent_rounding(marginals, uniform)


def dependent_rounding(marginals: Array, uniform: Array) -> Array:
    """A random set of arms with given marginals and of fixed size (Srinivasan 2001; Gandhi et al. 2006).

    Arms meet in pairs, the survivors meet in pairs again, as in a tournament. Of a pair with marginals a + b <= 1 one
    arm is left out and the other survives with the marginal a + b; with a + b > 1 one arm is selected and the other
    survives with a + b - 1. Each pair keeps both marginals, and arms are negatively correlated: a set of arms is
    selected together, or left out together, at most as often as independent arms would be.

    Args:
        marginals: the probability of each arm, in [0, 1], float `[K, *runs]`; their sum is an integer L up to rounding.
        uniform: independent uniform numbers in [0, 1), float `[uniforms_needed(K), *runs]`.

    Returns:
        A mask, bool `[K, *runs]`, of exactly L arms. It contains every arm of marginal 1 and no arm of marginal 0.

    Example:
        >>> y, u = jnp.array([0.5, 0.5, 1.0]), jnp.array([0.3, 0.9, 0.1])
        >>> dependent_rounding(y, u).tolist()
        [True, False, True]
    """
    if len(marginals) > MAX_ARMS:
        return _level_by_level(marginals, uniform)
    word = without_fusion(lambda: _pair_by_pair(marginals, uniform), marginals)
    arm = lax.broadcasted_iota(jnp.uint32, marginals.shape, 0)
    return (word >> arm) & jnp.uint32(1) == 1


def _round_pair(a: Array, b: Array, uniform: Array) -> tuple[Array, Array, Array]:
    """Round the marginals a and b of a pair.

    Returns:
        Whether the draw favours the first arm, which is then the one selected, or the survivor where none is selected;
        whether an arm is selected; the survivor's marginal.
    """
    over = (a + b > 1) | (a >= 1) | (b >= 1)  # an arm of marginal 1 is selected, though 1 and a little round to 1
    chance = jnp.where(over, 1 - b, a)  # that the draw favours the first arm
    span = jnp.where(over, 2 - a - b, a + b)
    return uniform * span < chance, over, jnp.where(over, a + b - 1, a + b)


def _outcomes(first: Array, over: Array, survivor_selected: Array) -> tuple[Array, Array]:
    """Whether each arm of a pair is selected, once it is known whether its survivor is."""
    first_survives = first ^ over
    return jnp.where(first_survives, survivor_selected, over), jnp.where(first_survives, over, survivor_selected)


def _level_by_level(marginals: Array, uniform: Array) -> Array:
    levels, used, value = [], 0, marginals
    while len(value) > 1:
        width = len(value)
        if width % 2:
            value = jnp.concatenate([value, jnp.zeros_like(value[:1])])
        count = len(value) // 2
        first, over, value = _round_pair(value[::2], value[1::2], uniform[used : used + count])
        used += count
        levels.append((first, over, width))
    selected = value > 0.5  # 0 or 1, up to rounding
    for first, over, width in reversed(levels):
        pair = _outcomes(first, over, selected)
        selected = jnp.stack(pair, axis=1).reshape((-1, *first.shape[1:]))[:width]
    return selected


def _pair_by_pair(marginals: Array, uniform: Array) -> Array:
    """The selected arms as bits of a word, uint32 `[1, *runs]`: arithmetic on rows, in one loop over runs."""
    draws = iter(uniform[n : n + 1] for n in range(len(uniform)))
    levels, values = [], [marginals[k : k + 1] for k in range(len(marginals))]
    no_arm = jnp.zeros_like(values[0])
    while len(values) > 1:
        pairs = itertools.zip_longest(values[::2], values[1::2], fillvalue=no_arm)
        rounded = [_round_pair(a, b, next(draws)) for a, b in pairs]
        values = [survivor for *_, survivor in rounded]
        levels.append(rounded)
    selected = [values[0] > 0.5]  # 0 or 1, up to rounding
    for rounded in reversed(levels):
        pairs_of_level = zip(rounded, selected, strict=False)
        selected = [arm for (first, over, _), survivor in pairs_of_level for arm in _outcomes(first, over, survivor)]
    return pack_bits(selected[: len(marginals)])
