"""fair-learn: paper 001, Algorithm 3 (FUCB; F-TS over thompson); 000 sec. 5; several plays as in 001 sec. 5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jax import Array

from jaxbandit.core.component import derived, parameter
from jaxbandit.core.input_values import per_arm
from jaxbandit.core.rationals import exact_fractions, floor_and_fraction
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Alias, Index, Policy, Rule
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.top_arms import Keys, behind_first, top_available

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class FairLearn(Rule, name="fair-learn"):
    """The arm of largest deficit d_k = tau_k (t-1) - N_k(t-1) while one exceeds alpha, else the best index."""

    source: ClassVar[str] = "001 Alg. 3; 000 sec. 5"
    base: Index = parameter(UCB1(), doc="the index played while no arm is behind")
    alpha: float = parameter(0.0, low=0, doc="tolerance, in rounds", exact=True)
    whole: Any = derived()  # alpha = whole + rest, exactly as the quotas it is compared with
    rest: Any = derived()

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        requirements.fractions(problem, self.name)
        exact = exact_fractions(self.alpha, "policies.alpha")
        alpha = per_arm(exact, problem.arms, problem.instances, "policies.alpha", self.alpha, exact=True)
        whole, rest = np.frompyfunc(floor_and_fraction, 1, 2)(np.minimum(alpha, horizon))  # no deficit is larger
        prepared = super().prepare(problem, horizon)
        return prepared.replace(whole=np.asarray(whole, np.int32), rest=np.asarray(rest, np.float64))

    def select(self, state: Any, now: RoundView) -> Array:
        def keys() -> Keys:
            extra = (
                now.quota_before.floor - now.pulls - self.whole
            )  # d > alpha, exactly: by whole rounds, then by what is left
            behind = (extra >= 1) | ((extra == 0) & (now.quota_before.fraction > self.rest))
            return behind_first(behind, now.quota_before, now.pulls, self.index(state, now))  # A(t) of 001 Alg. 3 first

        return top_available(keys, now)


Alias("fucb", FairLearn, "fair-learn over ucb1 (001 Alg. 3)", base="ucb1")
Alias("f-ts", FairLearn, "fair-learn over thompson (001 Alg. 5)", base="thompson")
