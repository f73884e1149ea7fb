"""successive-elimination: Even-Dar, Mannor & Mansour (2006), Alg. 3; with the radius of Slivkins (2019), Alg. 1.3."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.component import parameter
from jaxbandit.core.input_values import Number
from jaxbandit.core.rationals import reduce_in_order
from jaxbandit.core.struct import struct
from jaxbandit.core.users_code import contracts
from jaxbandit.core.xla.fusion import without_fusion
from jaxbandit.core.xla.reductions import larger
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Index
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.arm_indices import take_arms
from jaxbandit.policies.selection.bitmask import as_mask, as_words, contains, is_empty, lowest_of, set_size
from jaxbandit.policies.selection.top_arm import MAX_UNROLLED_ARMS
from jaxbandit.policies.selection.top_arms import top_arms


@struct
class Sweep:
    """The state of successive elimination.

    Attributes:
        active: the arms not yet eliminated, uint32 as `bitmask.as_words`.
        left: the active arms that the current sweep has yet to play, uint32 as `bitmask.as_words`.
        lower, upper: the confidence bounds, float `[K, *runs]`; None where feedback of several arms may arrive in a
            round, so that all bounds are computed in every round.
    """

    active: Array
    left: Array
    lower: Array | None
    upper: Array | None


class SuccessiveElimination(Index, name="successive-elimination"):
    """Successive elimination: plays all active arms in turn, and eliminates inferior arms after each such sweep.

    All arms are active at first. Arm k is eliminated if its upper confidence bound m_k + r_k is below the lower
    confidence bounds m_j - r_j of L other active arms j, where L is the number of plays per round, so that at least L
    arms stay active. m_k is the mean of the M_k rewards of arm k that have arrived, and the radius is
    r_k = sqrt(x log(T) / M_k), with the parameter `exploration` as x. An eliminated arm is played only if too few
    active arms are available. The policy uses the horizon T.

    Source: Even-Dar, Mannor & Mansour (2006), "Action elimination and stopping conditions for the multi-armed bandit
    and reinforcement learning problems", Alg. 3; Slivkins (2019), "Introduction to multi-armed bandits", Alg. 1.3. Both
    have L = 1.

    Example:
        >>> jb.policy("successive-elimination", exploration=0.5)
        SuccessiveElimination(exploration=0.5)
    """

    source: ClassVar[str] = "Even-Dar et al. 2006; Slivkins 2019, Alg. 1.3"
    own_order: ClassVar[bool] = True  # arms are played in turn
    initial_pass: ClassVar[bool] = False
    exploration: Number = parameter(2.0, low=0, doc="x in the radius sqrt(x log(T) / M_k)")

    def init(self, world: World, shape: tuple[int, ...]) -> Sweep:
        every, bounds = as_words(jnp.ones(shape, bool)), None
        single = not contracts.has_users_method(self, "confidence_bounds", "radius")  # can be computed arm by arm
        if single and world.plays == 1 and world.delay.immediate and shape[0] <= MAX_UNROLLED_ARMS:
            bounds = jnp.zeros(shape, jnp.result_type(float))
        return Sweep(every, every, bounds, bounds)

    def value(self, state: Sweep, now: RoundView) -> Array:
        active, left = (as_mask(words, len(now.pulls)) for words in (state.active, state.left))
        return active.astype(now.deviation.dtype) + left.astype(now.deviation.dtype)

    def _select_one(self, state: Sweep, now: RoundView) -> Array:
        """The arm of highest `value`, from the sets."""
        if contracts.has_users_method(self, "value", "score", "tie_breaker"):
            return super()._select_one(state, now)
        choices = as_words(now.available)
        for preferred in (state.active, state.left):
            some = choices & preferred
            choices = jnp.where(is_empty(some), choices, some)
        return lowest_of(choices, len(now.pulls))

    def tie_breaker(self, state: Sweep, now: RoundView) -> None:
        return None  # arms are played in order

    def update(self, state: Sweep, after: RoundView, selected: Array) -> Sweep:
        chosen = as_words(selected)
        left = state.left & ~chosen
        lower, upper = self._bounds(state, after, selected, chosen)

        def not_beaten() -> Array:
            return state.active & ~as_words(upper < _nth_largest(lower, state.active, after.plays))

        stay = without_fusion(not_beaten, after.t)  # else the bounds are computed here and where they are stored
        swept = is_empty(left)
        active = jnp.where(swept & ~is_empty(stay), stay, state.active)  # all are beaten only by rounding
        bounds = (None, None) if state.lower is None else (lower, upper)
        return Sweep(active, jnp.where(swept, active, left), *bounds)

    def _bounds(self, state: Sweep, after: RoundView, selected: Array, chosen: Array) -> tuple[Array, Array]:
        """The confidence bounds after a round; those of the selected arm alone may have changed if they are kept.

        Args:
            selected, chosen: the selected arms, as a mask and as words.
        """
        if state.lower is None or state.upper is None:
            return self.confidence_bounds(after)

        def of_selected() -> tuple[Array, Array]:
            arms = len(selected)
            parts = after.pulls, after.received, after.deviation, after.centre
            pulls, received, deviation, centre = take_arms(parts, lowest_of(chosen, arms), arms)
            own = dataclasses.replace(after, pulls=pulls, received=received, deviation=deviation, centre=centre)
            return self.confidence_bounds(own)

        lower, upper = without_fusion(of_selected, after.t)
        return jnp.where(selected, lower, state.lower), jnp.where(selected, upper, state.upper)

    def committed_rounds(self, state: Sweep, now: RoundView, arm: Array) -> Array:
        return jnp.where(set_size(state.active) == 1, now.horizon, 1)

    def confidence_bounds(self, after: RoundView) -> tuple[Array, Array]:
        """The lower and the upper confidence bound of each mean, float `[K, *runs]`."""
        radius = self.radius(after, after.samples)
        return after.mean - radius, after.mean + radius

    def radius(self, after: RoundView, samples: Array) -> Array:
        """sqrt(x log T / samples), float."""
        log_horizon = jnp.log(after.horizon.astype(after.deviation.dtype))
        return jnp.sqrt(self.exploration * log_horizon / samples)


def _nth_largest(lower: Array, active: Array, n: int) -> Array:
    """The n-th largest lower bound of the active arms, float `[1, *runs]`; at least n arms are active.

    Args:
        lower: the lower bounds, float `[K, *runs]`.
        active: the active arms, uint32 as `bitmask.as_words`.
    """

    def floor(k: int | Array) -> Array:
        return jnp.where(contains(active, k), lax.dynamic_index_in_dim(lower, k), -jnp.inf)

    if n == 1:
        return reduce_in_order(larger, floor, len(lower))
    bounds = jnp.where(as_mask(active, len(lower)), lower, -jnp.inf)
    best = top_arms((bounds,), n, n, jnp.ones(bounds.shape, bool))
    return jnp.min(jnp.where(best, bounds, jnp.inf), axis=0, keepdims=True)
