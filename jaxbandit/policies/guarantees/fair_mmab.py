"""fair-mmab: paper 003, Algorithm 1 (Fair-MMAB(K)) and Algorithm 2 (Fair-MMAB(K)-MF)."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.component import derived, parameter
from jaxbandit.core.errors import InputError
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Index, Policy, Rule
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.round_view import RoundView, unmet
from jaxbandit.policies.selection.top_arms import behind_first, top_arms

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class FairMMAB(Rule, name="fair-mmab"):
    """The L-J best indices, then at most J arms that are behind, then indices again; J follows from tau.

    Every arm keeps N_k(t) > tau_k t - 1 on every run and round (003 Theorem 4.1). In the paper the index of round t
    is that of t-1: its logarithm is log(t-1) with log_offset = 1.
    """

    source: ClassVar[str] = "003 Alg. 1-2"
    base: Index = parameter(UCB1(), doc="the index; ucb1 or kl-ucb in 003")
    spread: Any = derived()  # J, the L of 003 Alg. 2

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        tau = requirements.fractions(problem, self.name)
        arms, plays = problem.arms, problem.plays
        if np.max(tau) >= Fraction(plays, arms):
            bound = f"numbers below L/K = {plays}/{arms} with fair-mmab (003 Theorem 4.1), not {float(np.max(tau)):g}"
            raise InputError("problem.fractions", tau.astype(float).T.tolist(), bound)
        spread = [[_spread(max(column), arms, plays) for column in tau.T]]
        return super().prepare(problem, horizon).replace(spread=np.array(spread, np.int32))

    def select(self, state: Any, now: RoundView) -> Array:
        index = jnp.where(now.t == 1, 0.0, self.index(state, now))  # u(0) = 0
        ahead = top_arms((index,), now.plays - self.spread, now.plays, now.available)  # C(t) of 003 Alg. 2
        keys = behind_first(unmet(now.quota_before, now.pulls), now.quota_before, now.pulls, index)  # F(t) first
        left = now.plays - jnp.sum(ahead, axis=0, keepdims=True, dtype=jnp.int32)
        return ahead | top_arms(keys, left, now.plays, now.available & ~ahead)


def _spread(tau: Fraction, arms: int, plays: int) -> int:
    """The integer J with (J-1)/(K-L+J-1) <= max tau < J/(K-L+J) (003 sec. 4)."""
    return next(j for j in range(1, plays + 1) if tau < Fraction(j, arms - plays + j))
