"""successive-elimination: Even-Dar, Mannor & Mansour (2006), Alg. 3; with the radius of Slivkins (2019), Alg. 1.3."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.input_values import Number
from jaxbandit.core.struct import struct
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Index
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.top_arms import best_arm


@struct
class Sweep:
    """The state of successive elimination.

    Attributes:
        active: the arms not yet eliminated, bool `[K, *runs]`.
        left: the active arms that the current sweep has yet to play, bool `[K, *runs]`.
    """

    active: Array
    left: Array


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
        return Sweep(jnp.ones(shape, bool), jnp.ones(shape, bool))

    def value(self, state: Sweep, now: RoundView) -> Array:
        return state.active.astype(now.deviation.dtype) + state.left.astype(now.deviation.dtype)

    def tie_breaker(self, state: Sweep, now: RoundView) -> None:
        return None  # arms are played in order

    def update(self, state: Sweep, after: RoundView, selected: Array) -> Sweep:
        left = state.left & ~selected
        swept = ~jnp.any(left, axis=0, keepdims=True)
        lower, upper = self.confidence_bounds(after)
        lower = jnp.where(state.active, lower, -jnp.inf)
        beaten = upper < jnp.max(lower, axis=0, keepdims=True)
        stay = state.active & (~beaten | best_arm(lower, state.active))  # the best stays, whatever the rounding
        active = jnp.where(swept, stay, state.active)
        return Sweep(active, jnp.where(swept, active, left))

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
