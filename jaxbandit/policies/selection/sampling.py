"""One arm drawn at random, with probabilities in proportion to weights."""

from __future__ import annotations

import functools
import itertools

import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.struct import struct
from jaxbandit.core.xla.fusion import without_fusion
from jaxbandit.policies.selection.arm_indices import arm_index
from jaxbandit.policies.selection.top_arm import MAX_UNROLLED_ARMS, one_hot


def available_chances(weights: Array, available: Array) -> Array:
    """The chances of the available arms, in proportion to weights, float `[K, *runs]`; all 0 where none is available.

    Args:
        weights: >= 0, float `[K, *runs]`; available arms whose weights are all 0 are equally likely.
        available: bool `[K, *runs]`.
    """
    weights = jnp.where(available, weights, 0.0)
    weights = jnp.where(jnp.any(weights > 0, axis=0, keepdims=True), weights, available.astype(weights.dtype))
    total = jnp.sum(weights, axis=0, keepdims=True)
    return weights / jnp.where(total > 0, total, 1.0)


def are_of_all_plays(chances: Array, available: Array, plays: int) -> Array:
    """Whether chances sum to L, or to the number of available arms if they are fewer, up to rounding.

    Args:
        chances: float `[K, *runs]`.
        available: bool `[K, *runs]`.
        plays: L.

    Returns:
        Bool `[1, *runs]`; True where no arm is available.
    """
    expected = jnp.minimum(jnp.sum(available, axis=0, keepdims=True), plays).astype(chances.dtype)
    return (jnp.abs(jnp.sum(chances, axis=0, keepdims=True) - expected) <= 0.001 * expected) | (expected == 0)


def sample_arm(weights: Array, uniform: Array, candidates: Array) -> Array:
    """One candidate with probability in proportion to its weight, as a mask, bool `[K, *runs]`.

    Args:
        weights: >= 0, float `[K, *runs]`; candidates whose weights are all 0 are equally likely.
        uniform: a uniform number in [0, 1), float `[1, *runs]`.
        candidates: bool `[K, *runs]`.
    """
    return one_hot(sample_number(weights, uniform, candidates), candidates)


def sample_number(weights: Array, uniform: Array, candidates: Array) -> Array:
    """The number of the arm that `sample_arm` draws, int32 `[1, *runs]`; K where there is no candidate."""
    weights = jnp.where(candidates, weights, 0.0)
    equal = candidates.astype(weights.dtype)
    weights = jnp.where(jnp.any(weights > 0, axis=0, keepdims=True), weights, equal)
    if len(weights) <= MAX_UNROLLED_ARMS:
        return without_fusion(lambda: _inverse_cdf(weights, uniform), weights)
    cumulative = jnp.cumsum(weights, axis=0)
    arm = lax.broadcasted_iota(jnp.int32, weights.shape, 0)
    last = arm == jnp.max(jnp.where(weights > 0, arm, -1), axis=0, keepdims=True)
    # The last candidate closes the last interval, should uniform * mass round up to mass.
    return arm_index((weights > 0) & ((cumulative > uniform * cumulative[-1:]) | last))


def _inverse_cdf(weights: Array, uniform: Array) -> Array:
    """The arm whose interval of the cumulative weights holds uniform * mass, int32 `[1, *runs]`; K if all are 0.

    Arms are compared one after the other.
    """
    rows = [weights[k : k + 1] for k in range(len(weights))]
    cumulative = list(itertools.accumulate(rows))
    point = uniform * cumulative[-1]
    found = jnp.full(point.shape, len(rows), jnp.int32)
    for k, row in enumerate(rows):  # the last candidate, should uniform * mass round up to mass
        found = jnp.where(row > 0, k, found)
    for k in reversed(range(len(rows))):
        found = jnp.where((rows[k] > 0) & (cumulative[k] > point), k, found)
    return found


@struct
class Intervals:
    """Weights that stay the same for many rounds, prepared for draws of an arm in proportion to them.

    Attributes:
        ends: the sums of the weights up to each arm, float `[K, *runs]`; infinity for the last arm of a weight above 0,
            and for later ones.
        mass: the sum of the weights, float `[1, *runs]`.
    """

    ends: Array
    mass: Array

    def arm(self, uniform: Array) -> Array:
        """The arm that `sample_arm` draws, all arms being candidates; int32 `[1, *runs]`.

        Args:
            uniform: a uniform number in [0, 1), float `[1, *runs]`.
        """
        point = uniform * self.mass
        if len(self.ends) > MAX_UNROLLED_ARMS:
            return jnp.sum(self.ends <= point, axis=0, keepdims=True, dtype=jnp.int32)
        before = ((self.ends[k : k + 1] <= point).astype(jnp.int32) for k in range(len(self.ends)))
        return functools.reduce(jnp.add, before)


def intervals(weights: Array) -> Intervals:
    """The `Intervals` of weights >= 0, one of them above 0, float `[K, *runs]`."""
    cumulative, arm = jnp.cumsum(weights, axis=0), lax.broadcasted_iota(jnp.int32, weights.shape, 0)
    last = jnp.max(jnp.where(weights > 0, arm, 0), axis=0, keepdims=True)
    return Intervals(jnp.where(arm < last, cumulative, jnp.inf), cumulative[-1:])
