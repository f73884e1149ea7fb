"""Sums of importance-weighted losses, the state of policies for adversarial rewards."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core import compensated_sums as sums
from jaxbandit.core.compensated_sums import CompensatedSum
from jaxbandit.environment.world import World
from jaxbandit.policies import requirements
from jaxbandit.policies.base import ChancePolicy, Policy
from jaxbandit.policies.round_view import RoundView

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class WeightedLossPolicy(ChancePolicy):
    """A policy whose state is the sum of the losses (1 - r) / p of each arm; a subclass implements `chances`.

    r is a reward that arrived, and p the chance with which the arm was drawn for it, in whichever round that was.
    """

    needs_arrived: ClassVar[bool] = True
    needs_losses: ClassVar[bool] = True

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        requirements.rewards_in_unit_interval(problem, self.name)
        return super().prepare(problem, horizon)

    def init(self, world: World, shape: tuple[int, ...]) -> CompensatedSum:
        return sums.zeros(shape)

    def update(self, state: CompensatedSum, after: RoundView, selected: Array) -> CompensatedSum:
        return sums.add(state, after.arrived.losses)

    def losses_above_least(self, state: CompensatedSum, among: Array | bool = True) -> Array:
        """The sums of losses minus the smallest one, float `[K, *runs]`; of some arms, where `among` is a mask."""
        compared = jnp.where(among, state.value, jnp.finfo(state.value.dtype).max)
        least = jnp.min(compared, axis=0, keepdims=True)
        return jnp.maximum((state.value - least) - state.compensation, 0.0)
