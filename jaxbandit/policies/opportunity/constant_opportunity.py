"""constant-opportunity: paper 004, Algorithm 3 (its listing is lost; App. B describes it)."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.component import derived, parameter
from jaxbandit.core.errors import InputError
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Index, Policy
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.opportunity.entitlements import entitlements
from jaxbandit.policies.opportunity.phases import BlackBoxed, PhaseState, gaps
from jaxbandit.policies.round_view import RoundView

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class ConstantOpportunity(BlackBoxed, name="constant-opportunity"):
    """Sweeps over the arms that lack plays and may be worth lambda, T gamma plays at most, then a black box."""

    source: ClassVar[str] = "004 Alg. 3"
    phases: ClassVar[tuple[str, ...]] = ("opportunities", "black box")
    black_box: Index = parameter(UCB1(), doc="the index that plays on, any; its parameters stand beside")
    penalties: Any = parameter(None, low=0, doc="lambda, a number or one an arm; default: the problem's penalties")
    share: Any = derived()  # T gamma, rounded up

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        shares = entitlements(problem, self.name, horizon).function.constant_shares(problem.arms)
        if shares is None:
            words = f"a function that is constant with {self.name}: 'zero', 'uniform' or 'constant'"
            raise InputError("problem.opportunity", problem.opportunity, words)
        prepared = super(ConstantOpportunity, self.replace(penalties=None)).prepare(problem, horizon)
        plays = [math.ceil(share * horizon) for share in shares]  # exact: gamma is a ratio
        rates = requirements.penalties(problem, self.name, self.penalties)
        return prepared.replace(share=np.array(plays, np.int32)[:, None], penalties=rates)

    def memory(self, shape: tuple[int, ...]) -> Array:
        return jnp.ones(shape, bool)  # the active arms

    def decide(self, phase_state: PhaseState, after: RoundView) -> PhaseState:
        leaves = (after.pulls >= self.share) | (gaps(after)[0] > self.penalties)  # 004 App. B
        active = phase_state.memory & ~leaves
        return dataclasses.replace(phase_state, debt=active.astype(jnp.int32), memory=active)
