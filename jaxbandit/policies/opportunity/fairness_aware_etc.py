"""fairness-aware-etc: opportunities paper, Algorithm 1."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import derived, parameter
from jaxbandit.core.input_values import Number, PerArm
from jaxbandit.environment.world import World
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Policy
from jaxbandit.policies.opportunity.entitlements import (
    Entitlements,
    clearly_below,
    entitlements_of,
    lipschitz_constant,
    single_number,
)
from jaxbandit.policies.opportunity.phases import PhasedPolicy, PhaseState
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.top_arms import top_available_number

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class FairnessAwareETC(PhasedPolicy, name="fairness-aware-etc"):
    """Fairness-aware ETC: explores all arms, grants opportunities to some of them, then plays the best arm.

    It gives their opportunities to the arms whose estimated gap is below the transfer cost. The phases, in order:

    - "exploration": N plays of each arm. m_k is the mean reward of arm k in this phase.
    - "opportunities": each arm whose estimated gap, max_j m_j - m_k, is below the transfer cost lambda_k is played
      until it has floor(T f(m)_k) plays, the first N included; f is the fairness function.
    - "commitment": the arm of highest m_k in all remaining rounds.

    While all arms that are to be played sleep, the available arm of highest mean reward is played.

    The policy uses the horizon T. The problem needs an `opportunity` f, one play per round, and `penalties` (the
    lambda_k) unless the policy has its own.

    Source: Ron, Ben-Porat & Shalit, "Corporate social responsibility via multi-armed bandits" (opportunities paper),
    Alg. 1; the default of N is that of Theorem 1.

    Raises:
        InputError: when the simulation starts, if the problem lacks what the policy needs, or if neither
            `rounds_per_arm` nor a Lipschitz constant of f is known.

    Example:
        >>> jb.policy("fairness-aware-etc", rounds_per_arm=50)
        FairnessAwareETC(penalties=None, lipschitz=None, rounds_per_arm=50)
    """

    source: ClassVar[str] = "opportunities paper, Alg. 1"
    own_order: ClassVar[bool] = True  # arms are played in turn
    long_commitments: ClassVar[bool] = True
    phases: ClassVar[tuple[str, ...]] = ("exploration", "opportunities", "commitment")
    penalties: PerArm = parameter(
        None, low=0, doc="lambda, a number or one number per arm; default: the problem's penalties"
    )
    lipschitz: Number | None = parameter(
        None, low=0, doc="L_f with |f(x) - f(y)|_1 <= L_f |x - y|_1; default: that of the function"
    )
    rounds_per_arm: Number | None = parameter(
        None, low=1, doc="N, rounded down; default 8 (L_f T)^(2/3) log(T)^(1/3), at most T/K and at least 1"
    )
    entitlements: Entitlements = derived()

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        entitlements, rounds = entitlements_of(problem, self.name, horizon), self.rounds_per_arm
        if rounds is None:  # opportunities paper, Theorem 1
            lipschitz = lipschitz_constant(entitlements.function, self.lipschitz, problem.arms, "rounds_per_arm")
            rounds = 8 * (lipschitz * horizon) ** (2 / 3) * math.log(horizon) ** (1 / 3)
            rounds = max(1.0, min(rounds, horizon // problem.arms))
        whole_rounds = min(math.floor(single_number(rounds, "rounds_per_arm")), horizon)
        filled = self.replace(penalties=None, rounds_per_arm=whole_rounds)
        prepared = super(FairnessAwareETC, filled).prepare(problem, horizon)
        rates = requirements.penalties(problem, self.name, self.penalties)
        return prepared.replace(entitlements=entitlements, penalties=rates)

    def init_goal(self, shape: tuple[int, ...]) -> Array:
        return jnp.broadcast_to(jnp.asarray(self.rounds_per_arm).astype(jnp.int32), shape)

    def init_memory(self, world: World, shape: tuple[int, ...]) -> tuple[Array, Array | None]:
        """The means at the end of the exploration, and the tie breaker there, None where ties go to the lowest arm."""
        return jnp.zeros(shape, jnp.result_type(float)), jnp.zeros(shape, jnp.int32) if world.random_ties else None

    def first_schedule(self, world: World, shape: tuple[int, ...]) -> tuple[Array, Array, Any]:
        return self.init_goal(shape), jnp.zeros((1, *shape[1:]), jnp.int32), self.init_memory(world, shape)

    def next_schedule(self, state: PhaseState, after: RoundView) -> PhaseState:
        gap = jnp.max(after.mean, axis=0, keepdims=True) - after.mean
        worth = clearly_below(gap, self.penalties)  # opportunities paper, Alg. 1, line 4
        goal = jnp.where(worth, self.entitlements.rounds(after), 0)
        tie_breaker = state.memory[1] if after.tie_breaker is None else after.tie_breaker  # None before round 1
        memory = after.mean, tie_breaker
        return dataclasses.replace(state, phase=jnp.ones_like(state.phase), goal=goal, memory=memory)

    def select_in_last_phase(self, state: PhaseState, now: RoundView) -> Array:
        mean, tie_breaker = state.memory
        return top_available_number(lambda: (mean,), now, tie_breaker)

    def committed_in_last_phase(self, now: RoundView) -> Array:
        return now.horizon
