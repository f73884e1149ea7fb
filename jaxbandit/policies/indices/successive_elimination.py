"""successive-elimination: Even-Dar, Mannor & Mansour (2006), Alg. 3; with the radius of Slivkins (2019), Alg. 1.3."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.input_values import Number
from jaxbandit.core.struct import struct
from jaxbandit.core.xla.fusion import without_fusion
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Index
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.arm_indices import arm_index, take_arms
from jaxbandit.policies.selection.top_arm import MAX_UNROLLED_ARMS


@struct
class Sweep:
    """The state of successive elimination.

    Attributes:
        active: the arms not yet eliminated, bool `[K, *runs]`.
        left: the active arms that the current sweep has yet to play, bool `[K, *runs]`.
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
    confidence bound m_j - r_j of another active arm j. m_k is the mean of the M_k rewards of arm k that have arrived,
    and the radius is r_k = sqrt(x log(T) / M_k), with the parameter `exploration` as x. An eliminated arm is played
    only if too few active arms are available. The policy uses the horizon T.

    Source: Even-Dar, Mannor & Mansour (2006), "Action elimination and stopping conditions for the multi-armed bandit
    and reinforcement learning problems", Alg. 3; Slivkins (2019), "Introduction to multi-armed bandits", Alg. 1.3.

    Example:
        >>> jb.policy("successive-elimination", exploration=0.5)
        SuccessiveElimination(exploration=0.5)
    """

    source: ClassVar[str] = "Even-Dar et al. 2006; Slivkins 2019, Alg. 1.3"
    own_order: ClassVar[bool] = True  # arms are played in turn
    initial_pass: ClassVar[bool] = False
    exploration: Number = parameter(2.0, low=0, doc="x in the radius sqrt(x log(T) / M_k)")

    def init(self, world: World, shape: tuple[int, ...]) -> Sweep:
        every, bounds = jnp.ones(shape, bool), None
        if world.plays == 1 and world.delay.immediate and shape[0] <= MAX_UNROLLED_ARMS:
            bounds = jnp.zeros(shape, jnp.result_type(float))
        return Sweep(every, every, bounds, bounds)

    def value(self, state: Sweep, now: RoundView) -> Array:
        return state.active.astype(now.deviation.dtype) + state.left.astype(now.deviation.dtype)

    def tie_breaker(self, state: Sweep, now: RoundView) -> None:
        return None  # arms are played in order

    def update(self, state: Sweep, after: RoundView, selected: Array) -> Sweep:
        left = state.left & ~selected
        swept = ~jnp.any(left, axis=0, keepdims=True)
        lower, upper = self._bounds(state, after, selected)
        beaten = upper < jnp.max(jnp.where(state.active, lower, -jnp.inf), axis=0, keepdims=True)
        stay = state.active & ~beaten
        swept_some = swept & jnp.any(stay, axis=0, keepdims=True)  # else all are beaten, by rounding
        active = jnp.where(swept_some, stay, state.active)
        bounds = (None, None) if state.lower is None else (lower, upper)
        return Sweep(active, jnp.where(swept, active, left), *bounds)

    def _bounds(self, state: Sweep, after: RoundView, selected: Array) -> tuple[Array, Array]:
        """The confidence bounds after a round; those of the selected arm alone may have changed if they are kept."""
        if state.lower is None or state.upper is None:
            return self.confidence_bounds(after)

        def of_selected() -> tuple[Array, Array]:
            arms = len(selected)
            parts = after.pulls, after.received, after.deviation, after.centre
            pulls, received, deviation, centre = take_arms(parts, arm_index(selected), arms)
            own = dataclasses.replace(after, pulls=pulls, received=received, deviation=deviation, centre=centre)
            return self.confidence_bounds(own)

        lower, upper = without_fusion(of_selected, after.t)
        return jnp.where(selected, lower, state.lower), jnp.where(selected, upper, state.upper)

    def committed_rounds(self, state: Sweep, now: RoundView, arm: Array) -> Array:
        last_one = jnp.sum(state.active, axis=0, keepdims=True, dtype=jnp.int32) == 1
        return jnp.where(last_one, now.horizon, 1)

    def confidence_bounds(self, after: RoundView) -> tuple[Array, Array]:
        """The lower and the upper confidence bound of each mean, float `[K, *runs]`."""
        radius = self.radius(after, after.samples)
        return after.mean - radius, after.mean + radius

    def radius(self, after: RoundView, samples: Array) -> Array:
        """sqrt(x log T / samples), float."""
        log_horizon = jnp.log(after.horizon.astype(after.deviation.dtype))
        return jnp.sqrt(self.exploration * log_horizon / samples)
