"""fair-random: paper 001, section 3.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from jax import Array

from jaxbandit.core.component import derived
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Policy
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.top_arms import sample

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class FairRandom(Policy, name="fair-random"):
    """Arm k with probability tau_k + (1 - sum tau) / K, among the available ones in proportion."""

    source: ClassVar[str] = "001 sec. 3.1"
    many_plays: ClassVar[bool] = False
    chance: Any = derived()

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        tau = requirements.fractions(problem, self.name)
        chance = tau + (1 - tau.sum(axis=0)) / problem.arms
        return super().prepare(problem, horizon).replace(chance=chance.astype(float))

    def select(self, state: Any, now: RoundView) -> Array:
        return sample(self.chance, now.random.uniform(), now.available)
