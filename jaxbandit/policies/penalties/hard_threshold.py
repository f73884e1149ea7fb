"""hard-threshold-ucb: paper 000, Algorithm 1 and eq. 12."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Index, Policy, Rule
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.round_view import RoundView

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class HardThreshold(Rule, name="hard-threshold-ucb"):
    """The index, plus A_k while the arm is below what it is owed: index_k + A_k [N_k(t-1) < tau_k t].

    Each arm is played once first, whatever the base (000 Alg. 1, line 5).
    """

    source: ClassVar[str] = "000 eq. 12, Alg. 1"
    real_counts: ClassVar[bool] = True
    base: Index = parameter(UCB1(), doc="the index that is bent")
    penalties: Any = parameter(None, low=0, doc="A, a number or one an arm; default: the problem's", smooth=True)

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        requirements.fractions(problem, self.name)
        rates = requirements.penalties(problem, self.name, self.penalties)
        return super().prepare(problem, horizon).replace(penalties=rates)

    def value(self, state: Any, now: RoundView) -> Array:
        return self.index(state, now) + self.penalties * now.below(now.quota_now)  # 000 eq. 12
