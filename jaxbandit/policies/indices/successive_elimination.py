"""successive-elimination: Even-Dar, Mannor & Mansour (2006), Alg. 3; with the radius of Slivkins (2019), Alg. 1.3."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.struct import struct
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Index
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.top_arms import best_arm


@struct
class Sweep:
    """The arms still in the race, and those of them that this sweep has yet to play; bool `[K, *runs]`."""

    active: Any
    left: Any


class SuccessiveElimination(Index, name="successive-elimination"):
    """Sweeps over the active arms; after each, those below the best by their radii leave: sqrt(x log T / M_k)."""

    source: ClassVar[str] = "Even-Dar et al. 2006; Slivkins 2019, Alg. 1.3"
    initial_pass: ClassVar[bool] = False
    exploration: float = parameter(2.0, low=0, doc="x")

    def init(self, world: World, shape: tuple[int, ...]) -> Sweep:
        return Sweep(jnp.ones(shape, bool), jnp.ones(shape, bool))

    def value(self, state: Sweep, now: RoundView) -> Array:
        # An eliminated arm is played only where no active one is available.
        return state.active.astype(now.deviation.dtype) + state.left.astype(now.deviation.dtype)

    def update(self, state: Sweep, after: RoundView, selected: Array) -> Sweep:
        left = state.left & ~selected
        swept = ~jnp.any(left, axis=0, keepdims=True)
        lower, upper = self.bounds(after)
        lower = jnp.where(state.active, lower, -jnp.inf)
        beaten = upper < jnp.max(lower, axis=0, keepdims=True)
        stay = state.active & (~beaten | best_arm(lower, state.active))  # the best stays, whatever the rounding
        active = jnp.where(swept, stay, state.active)
        return Sweep(active, jnp.where(swept, active, left))

    def bounds(self, after: RoundView) -> tuple[Array, Array]:
        """What each arm's mean is above and below, float `[K, *runs]`."""
        radius = self.radius(after, after.samples)
        return after.mean - radius, after.mean + radius

    def radius(self, after: RoundView, samples: Array) -> Array:
        """sqrt(x log T / samples), float."""
        log_horizon = jnp.log(after.horizon.astype(after.deviation.dtype))
        return jnp.sqrt(self.exploration * log_horizon / samples)
