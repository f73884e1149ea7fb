"""fairness-aware-etc: paper 004, Algorithm 1."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import derived, parameter
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Policy
from jaxbandit.policies.opportunity.entitlements import below, entitlements, number, slope
from jaxbandit.policies.opportunity.phases import Phased, PhaseState
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.top_arms import best_arm

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class FairnessAwareETC(Phased, name="fairness-aware-etc"):
    """N plays of each arm, then T f(m)_k of those whose estimated gap is below lambda, then the best arm by m."""

    source: ClassVar[str] = "004 Alg. 1"
    phases: ClassVar[tuple[str, ...]] = ("exploration", "opportunities", "commitment")
    penalties: Any = parameter(None, low=0, doc="lambda, a number or one an arm; default: the problem's penalties")
    lipschitz: float | None = parameter(None, low=0, doc="L_f, from l1 to l1; default: what the function says")
    rounds_per_arm: float | None = parameter(
        None, low=1, doc="N, rounded down; default 8 (L_f T)^(2/3) log(T)^(1/3), at most T/K and at least 1"
    )
    entitlements: Any = derived()

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        claimed, rounds = entitlements(problem, self.name, horizon), self.rounds_per_arm
        if rounds is None:  # 004 Theorem 1
            lipschitz = slope(claimed.function, self.lipschitz, problem.arms)
            rounds = 8 * (lipschitz * horizon) ** (2 / 3) * math.log(horizon) ** (1 / 3)
            rounds = max(1.0, min(rounds, horizon // problem.arms))
        whole = min(math.floor(number(rounds, "rounds_per_arm")), horizon)
        filled = self.replace(penalties=None, rounds_per_arm=whole)
        prepared = super(FairnessAwareETC, filled).prepare(problem, horizon)
        return prepared.replace(
            entitlements=claimed, penalties=requirements.penalties(problem, self.name, self.penalties)
        )

    def first_debt(self, shape: tuple[int, ...]) -> Array:
        return jnp.broadcast_to(jnp.asarray(self.rounds_per_arm).astype(jnp.int32), shape)

    def memory(self, shape: tuple[int, ...]) -> Array:
        return jnp.zeros(shape, jnp.result_type(float))  # the means at the end of exploration

    def decide(self, phase_state: PhaseState, after: RoundView) -> PhaseState:
        gap = jnp.max(after.mean, axis=0, keepdims=True) - after.mean
        worth = below(gap, self.penalties)  # 004 Alg. 1, line 4
        debt = jnp.where(worth, jnp.maximum(self.entitlements.rounds(after) - after.pulls, 0), 0)
        return dataclasses.replace(phase_state, phase=jnp.ones_like(phase_state.phase), debt=debt, memory=after.mean)

    def rest(self, phase_state: PhaseState, now: RoundView) -> Array:
        return best_arm(phase_state.memory, now.available)
