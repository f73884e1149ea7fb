"""constant-opportunity: opportunities paper, Algorithm 3 (its listing is lost; App. B describes it)."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.component import derived, parameter
from jaxbandit.core.errors import InputError
from jaxbandit.core.input_values import PerArm
from jaxbandit.environment.world import World
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Index, Policy
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.opportunity.entitlements import entitlements_of
from jaxbandit.policies.opportunity.phases import BlackBoxPolicy, PhaseState, gap_bounds
from jaxbandit.policies.round_view import RoundView

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class ConstantOpportunity(BlackBoxPolicy, name="constant-opportunity"):
    """Constant opportunity: plays the arms in turn until each has had its opportunities, then follows a black box.

    The policy is for fairness functions that do not depend on the means: arm k is entitled to a share gamma_k of the
    rounds. All arms are active at first, and the active arms are played in turn. An arm is no longer active after
    ceil(T gamma_k) plays, or when a confidence interval shows that its gap, max_j mu_j - mu_k, exceeds the transfer
    cost lambda_k. When no arm is active, the index `black_box` selects the arms of the remaining rounds; it sees only
    the plays of these rounds and the rewards that arrive in them, late rewards of earlier plays among them. The
    phases are "opportunities" and "black box".

    While all arms that are to be played sleep, the available arm of highest mean reward is played.

    The policy uses the horizon T. The problem needs an `opportunity` that is constant ("zero", "uniform" or
    "constant"), one play per round, and `penalties` (the lambda_k) unless the policy has its own.

    Source: Ron, Ben-Porat & Shalit, "Corporate social responsibility via multi-armed bandits" (opportunities paper),
    Alg. 3 and App. B.

    Raises:
        InputError: when the simulation starts, if the problem lacks what the policy needs.

    Example:
        >>> jb.policy("constant-opportunity", black_box="moss")
        ConstantOpportunity(black_box=MOSS(), penalties=None)
    """

    source: ClassVar[str] = "opportunities paper, Alg. 3"
    own_order: ClassVar[bool] = True  # arms are played in turn
    phases: ClassVar[tuple[str, ...]] = ("opportunities", "black box")
    black_box: Index = parameter(UCB1(), doc="any index, for the last phase; its parameters are given beside")
    penalties: PerArm = parameter(
        None, low=0, doc="lambda, a number or one number per arm; default: the problem's penalties"
    )
    entitled_plays: Array = derived()  # T gamma, rounded up

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        shares = entitlements_of(problem, self.name, horizon).function.constant_shares(problem.arms)
        if shares is None:
            words = f"a function that does not depend on the means with {self.name}: 'zero', 'uniform' or 'constant'"
            raise InputError("problem.opportunity", problem.opportunity, words)
        prepared = super(ConstantOpportunity, self.replace(penalties=None)).prepare(problem, horizon)
        plays = [math.ceil(share * horizon) for share in shares]  # exact: gamma is a ratio
        rates = requirements.penalties(problem, self.name, self.penalties)
        return prepared.replace(entitled_plays=np.array(plays, np.int32)[:, None], penalties=rates)

    def init_memory(self, world: World, shape: tuple[int, ...]) -> Array:
        return jnp.ones(shape, bool)  # the active arms

    def first_schedule(self, world: World, shape: tuple[int, ...]) -> tuple[Array, Array, Array]:
        active = jnp.broadcast_to(self.entitled_plays > 0, shape)  # no gap is known to be above 0
        black_box = ~jnp.any(active, axis=0, keepdims=True)
        return active.astype(jnp.int32), black_box.astype(jnp.int32), active

    def next_schedule(self, state: PhaseState, after: RoundView) -> PhaseState:
        leaves = (after.pulls >= self.entitled_plays) | (gap_bounds(after)[0] > self.penalties)  # App. B
        active = state.memory & ~leaves
        return dataclasses.replace(state, goal=jnp.where(active, after.pulls + 1, 0), memory=active)
