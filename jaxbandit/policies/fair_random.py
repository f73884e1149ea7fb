"""fair-random: paper 001, section 3.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from jax import Array

from ..component import derived
from ..policy import Policy
from ..rounds import Round
from ..selection import sample
from . import needs

if TYPE_CHECKING:
    from ..problem import Problem


class FairRandom(Policy, name="fair-random"):
    """Arm k with probability tau_k + (1 - sum tau) / K, among the available ones in proportion."""

    source: ClassVar[str] = "001 sec. 3.1"
    many_plays: ClassVar[bool] = False
    chance: Any = derived()

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        tau = needs.fractions(problem, self.name)
        chance = tau + (1 - tau.sum(axis=0)) / problem.arms
        return super().prepare(problem, horizon).replace(chance=chance.astype(float))

    def select(self, state: Any, now: Round) -> Array:
        return sample(self.chance, now.random.uniform(), now.available)
