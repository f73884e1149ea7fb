"""fair-learn: guarantees paper, Algorithm 3 (FUCB; F-TS over thompson), several plays as in sec. 5."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jax import Array

from jaxbandit.core.component import derived, parameter
from jaxbandit.core.input_values import Number, per_arm
from jaxbandit.core.rationals import exact_fractions, floor_and_fraction
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Alias, Index, Policy, PolicyState, Rule
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.top_arms import Keys, deficit_first_keys, top_available

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class FairLearn(Rule, name="fair-learn"):
    """Fair-Learn: plays the arm of largest deficit if that exceeds alpha, else the arm of highest index.

    The deficit of arm k in round t is d_k = tau_k (t-1) - N_k(t-1): its quota minus the number of rounds before t in
    which it was selected. It is compared with alpha exactly. With several plays per round, the arms with d_k > alpha
    come first, in order of their deficits, then the others, in order of their indices. The problem needs `fractions`,
    the tau_k. `fucb` is the name of the policy with the base ucb1, and `f-ts` with the base thompson.

    Source: Patil, Ghalme, Nair & Narahari, "Stochastic multi-armed bandits with arm-specific fairness guarantees"
    (guarantees paper), Alg. 3 and sec. 5; penalties paper, sec. 5.

    Raises:
        InputError: when the simulation starts, if the problem has no fractions.

    Example:
        >>> jb.policy("fair-learn", base="moss", alpha=2)
        FairLearn(base=MOSS(), alpha=2)
    """

    source: ClassVar[str] = "guarantees paper, Alg. 3; penalties paper, sec. 5"
    base: Index = parameter(UCB1(), doc="the index played while no deficit exceeds alpha")
    alpha: Number = parameter(0.0, low=0, doc="the largest deficit that is tolerated, in rounds", exact=True)
    alpha_floor: Array = derived()  # alpha = alpha_floor + alpha_fraction, split as the quotas it is compared with
    alpha_fraction: Array = derived()

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        requirements.fractions(problem, self.name)
        exact = exact_fractions(self.alpha, "policies.alpha")
        alpha = per_arm(exact, problem.arms, problem.instances, "policies.alpha", self.alpha, exact=True)
        floor, fraction = np.frompyfunc(floor_and_fraction, 1, 2)(np.minimum(alpha, horizon))  # no deficit is larger
        prepared = super().prepare(problem, horizon)
        return prepared.replace(
            alpha_floor=np.asarray(floor, np.int32), alpha_fraction=np.asarray(fraction, np.float64)
        )

    def select(self, state: PolicyState, now: RoundView) -> Array:
        quota = now.quota_before

        def keys() -> Keys:
            extra = quota.floor - now.pulls - self.alpha_floor  # d_k > alpha, exactly: floors decide, then fractions
            behind = (extra >= 1) | ((extra == 0) & (quota.fraction > self.alpha_fraction))
            return deficit_first_keys(behind, quota, now.pulls, self.index(state, now))  # A(t) of Alg. 3 first

        return top_available(keys, now, now.tie_breaker)


Alias("fucb", FairLearn, "fair-learn with the base ucb1 (guarantees paper, Alg. 3)", base="ucb1")
Alias("f-ts", FairLearn, "fair-learn with the base thompson (guarantees paper, Alg. 5)", base="thompson")
