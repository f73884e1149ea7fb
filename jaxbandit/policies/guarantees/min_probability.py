"""min-probability: Chen, Cuellar, Luo, Modi, Nemlekar & Nikolaidis (2020)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.errors import InputError
from jaxbandit.core.input_values import Number
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Policy, PolicyState, checked_choose, checked_init, checked_update
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.dependent_rounding import draw_arms
from jaxbandit.policies.selection.sampling import sample_arm

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class MinProbability(Policy, name="min-probability"):
    """Selects each arm with probability at least v in every round: p_k = v + (1 - K v / L) q_k.

    q_k is the chance of arm k under the policy `base`, which may be any policy: policies that do not state
    chances have chances 0 and 1. v is the parameter `floor`, K the number of arms and L the number of plays. The base
    learns from the arms that are selected; its importance weights use p_k. With several plays, L arms are drawn by
    dependent rounding (exactly L arms, arm k with probability p_k). All arms have to be always available.

    Source: Chen, Cuellar, Luo, Modi, Nemlekar & Nikolaidis (2020), "The fair contextual multi-armed bandit".

    Raises:
        InputError: when the simulation starts, if v exceeds L / K, or if arms sleep.

    Example:
        >>> jb.policy("min-probability", floor=0.05, base="exp3")
        MinProbability(base=Exp3(eta=None, mix=0.0), floor=0.05)
    """

    source: ClassVar[str] = "Chen et al. 2020"
    base_is_any_policy: ClassVar[bool] = True
    needs_all_arms: ClassVar[bool] = True  # arms that sleep have no least probability
    base: Policy = parameter(UCB1(), doc="the policy whose chances are mixed; any policy")
    floor: Number = parameter(0.0, low=0, high=1, doc="v, the least probability of every arm, at most L / K")

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        most = problem.plays / problem.arms
        if np.any(np.asarray(self.floor) > most * (1 + 1e-12)):
            words = f"at most L / K = {problem.plays} / {problem.arms}, the number of plays per arm"
            raise InputError("policies.floor", self.floor, words)
        return super().prepare(problem, horizon)

    def init(self, world: World, shape: tuple[int, ...]) -> PolicyState:
        return checked_init(self.base, world, shape)

    def select(self, state: PolicyState, now: RoundView) -> Array:
        return self.choose(state, now)[0]

    def choose(self, state: PolicyState, now: RoundView) -> tuple[Array, Array]:
        _, chances = checked_choose(self.base, state, now.for_wrapped_policy())
        mixed = self.floor + (1.0 - len(now.pulls) / now.plays * self.floor) * chances
        one = now.plays == 1
        drawn = sample_arm(mixed, now.random.uniform(), now.available) if one else draw_arms(mixed, now.random)
        # No arm where a chance of the base is NaN, or where its index is and it selected none: the engine notices
        return drawn & (jnp.sum(chances, axis=0, keepdims=True) > 0), mixed

    def update(self, state: PolicyState, after: RoundView, selected: Array) -> PolicyState:
        return checked_update(self.base, state, after.for_wrapped_policy(), selected)
