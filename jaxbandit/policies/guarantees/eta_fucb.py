"""eta-fucb: guarantees paper, Algorithm 4."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.input_values import Number
from jaxbandit.core.rationals import rounded_product
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Index, Policy, PolicyState, Rule
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.round_view import RoundView, deficit

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class EtaFUCB(Rule, name="eta-fucb"):
    """eta-FUCB: plays the arm of highest index_k + eta d_k, the index plus eta times the deficit.

    index_k is the index `base` of arm k. The deficit of the arm in round t is d_k = tau_k (t-1) - N_k(t-1): its quota
    minus the number of rounds before t in which it was selected. First each arm is played once. The problem needs
    `fractions`, the tau_k.

    As printed, d_k is negative for an arm ahead of its quota, so that any fixed eta > 0 keeps all deficits close
    together and the r-regret grows linearly. With `clipped`, such an arm has the deficit 0: only arms behind their
    quotas are raised.

    Source: Patil, Ghalme, Nair & Narahari, "Stochastic multi-armed bandits with arm-specific fairness guarantees"
    (guarantees paper), Alg. 4.

    Raises:
        InputError: when the simulation starts, if the problem has no fractions.

    Example:
        >>> jb.policy("eta-fucb", eta=0.5)
        EtaFUCB(base=UCB1(exploration=2.0, log_offset=0.0), eta=0.5, clipped=False)
    """

    source: ClassVar[str] = "guarantees paper, Alg. 4"
    real_counts: ClassVar[bool] = True
    base: Index = parameter(UCB1(), doc="the index to which deficits are added")
    eta: Number = parameter(1.0, low=0, doc="weight of fairness against reward", smooth=True)
    clipped: bool = parameter(False, static=True, doc="whether negative deficits count as 0; not in the paper")

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        requirements.fractions(problem, self.name)
        return super().prepare(problem, horizon)

    def value(self, state: PolicyState, now: RoundView) -> Array:
        behind = deficit(now.quota_before, now.pulls)
        weighed = jnp.maximum(behind, 0.0) if self.clipped else behind
        return self.index(state, now) + rounded_product(self.eta, weighed)
