"""eta-fucb: paper 001, Algorithm 4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.rationals import rounded_product
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Index, Policy, Rule
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.round_view import RoundView, deficit

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class EtaFUCB(Rule, name="eta-fucb"):
    """The index plus eta times the deficit: index_k + eta (tau_k (t-1) - N_k(t-1)), after one play of each arm."""

    source: ClassVar[str] = "001 Alg. 4"
    real_counts: ClassVar[bool] = True
    base: Index = parameter(UCB1(), doc="the index that is bent")
    eta: float = parameter(1.0, low=0, doc="weight of fairness against reward", smooth=True)

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        requirements.fractions(problem, self.name)
        return super().prepare(problem, horizon)

    def value(self, state: Any, now: RoundView) -> Array:
        return self.index(state, now) + rounded_product(self.eta, deficit(now.quota_before, now.pulls))
