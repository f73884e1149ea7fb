"""fair-random: guarantees paper, section 3.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import derived
from jaxbandit.core.users_code import contracts
from jaxbandit.core.xla.fusion import cond_fused, without_fusion
from jaxbandit.core.xla.small_programs import SmallProgram
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Policy, PolicyState
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.sampling import Intervals, intervals, sample_number
from jaxbandit.policies.selection.top_arm import one_hot

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class FairRandom(Policy, name="fair-random"):
    """Fair-random: selects arm k with probability tau_k + (1 - sum_j tau_j) / K, and learns nothing.

    tau_k is the fraction of arm k, and K the number of arms. If some arms are not available, the others are selected
    with probabilities in proportion to these probabilities. The problem needs `fractions` and one play per round.

    Source: Patil, Ghalme, Nair & Narahari, "Stochastic multi-armed bandits with arm-specific fairness guarantees"
    (guarantees paper), sec. 3.1.

    Raises:
        InputError: when the simulation starts, if the problem has no fractions or more than one play.

    Example:
        >>> jb.policy("fair-random")
        FairRandom()
    """

    source: ClassVar[str] = "guarantees paper, sec. 3.1"
    many_plays: ClassVar[bool] = False
    chances: Array = derived()
    intervals: Intervals = derived()  # of the chances, for rounds in which all arms are available

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        tau = requirements.fractions(problem, self.name)
        chances = (tau + (1 - tau.sum(axis=0)) / problem.arms).astype(float)
        return super().prepare(problem, horizon).replace(chances=chances, intervals=_intervals(chances))

    def select(self, state: PolicyState, now: RoundView) -> Array:
        return one_hot(self._select_one(state, now), now.available)

    def _select_one(self, state: PolicyState, now: RoundView) -> Array:
        uniform = now.random.uniform()

        def of_some() -> Array:
            return sample_number(self.chances, uniform, now.available)

        if contracts.has_users_method(self, "prepare"):  # it may have replaced the chances
            return of_some()

        def of_all() -> Array:
            return without_fusion(lambda: self.intervals.arm(uniform), now.pulls)

        return cond_fused(jnp.all(now.available), of_all, of_some)  # XLA knows where all arms are always available


_intervals = SmallProgram(intervals)
