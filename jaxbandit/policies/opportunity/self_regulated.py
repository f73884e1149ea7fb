"""self-regulated: paper 004, Algorithm 4 (Algorithm 2 in full)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import derived, parameter
from jaxbandit.core.xla.fusion import cond_fused
from jaxbandit.environment.opportunities import share_bounds
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Index, Policy
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.opportunity.entitlements import accuracy, decay, entitlements, slope
from jaxbandit.policies.opportunity.phases import BlackBoxed, PhaseState, gaps, intervals
from jaxbandit.policies.round_view import RoundView

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class SelfRegulated(BlackBoxed, name="self-regulated"):
    """Sweeps until gaps are known to beta and f to alpha, opportunities worth their price, then a black box."""

    source: ClassVar[str] = "004 Alg. 4"
    phases: ClassVar[tuple[str, ...]] = ("gaps", "fairness function", "opportunities", "black box")
    decided: ClassVar[int] = 2
    black_box: Index = parameter(UCB1(), doc="the index that plays on, any; its parameters stand beside")
    penalties: Any = parameter(None, low=0, doc="lambda, a number or one an arm; default: the problem's penalties")
    lipschitz: float | None = parameter(None, low=0, doc="L_f, from l1 to l1; default: what the function says")
    alpha: Any = parameter(None, low=0, doc="above 0; default (K L_f)^(2/3) T^(-1/3) log(T)^(1/3)")
    beta: Any = parameter(None, low=0, doc="above 0; default T^(-1/3) log(T)^(1/3)")
    entitlements: Any = derived()

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        claimed, error = entitlements(problem, self.name, horizon), decay(horizon)
        asked = self.alpha is None or not claimed.function.has_bounds
        lipschitz = slope(claimed.function, self.lipschitz, problem.arms) if asked else 0.0
        filled = self.replace(
            penalties=None,
            lipschitz=lipschitz,
            alpha=(problem.arms * lipschitz) ** (2 / 3) * error
            if self.alpha is None
            else accuracy(self.alpha, "alpha"),
            beta=error if self.beta is None else accuracy(self.beta, "beta"),
        )
        prepared = super(SelfRegulated, filled).prepare(problem, horizon)
        return prepared.replace(
            entitlements=claimed, penalties=requirements.penalties(problem, self.name, self.penalties)
        )

    def decide(self, phase_state: PhaseState, after: RoundView) -> PhaseState:
        (least, most), penalty_rate = gaps(after), self.penalties
        unclear = (most > penalty_rate + self.beta) & (least < penalty_rate - self.beta)  # 004 Alg. 4, line 6
        phase = jnp.where((phase_state.phase == 0) & ~_any(unclear), 1, phase_state.phase)

        def look() -> tuple[Array, Array]:
            worth = least < penalty_rate
            lower, upper = share_bounds(self.entitlements.function, self.lipschitz, *intervals(after))
            vague = (upper - lower > self.alpha) & worth  # 004 Alg. 4, line 20
            withheld = jnp.where(worth, jnp.maximum(self.entitlements.rounds(after) - after.pulls, 0), 0)  # lines 33-35
            further = jnp.where((phase == 1) & ~_any(vague), 2, phase)
            return further, jnp.where(further == 2, withheld, 1)

        sweep = phase, jnp.ones_like(phase_state.debt)
        phase, debt = cond_fused(jnp.any(phase == 1), look, lambda: sweep)  # f is not asked for while no gap is clear
        return dataclasses.replace(phase_state, phase=phase, debt=debt)


def _any(mask: Array) -> Array:
    return jnp.any(mask, axis=0, keepdims=True)
