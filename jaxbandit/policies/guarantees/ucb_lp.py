"""ucb-lp: Liu, Xu, Wang & Fang (2022), "Combinatorial bandits with linear constraints"; 003 App. G.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Index, Policy, Rule
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.dependent_rounding import rounded
from jaxbandit.policies.selection.top_arms import raise_in_order

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class UCBLP(Rule, name="ucb-lp"):
    """L arms at random with the marginals y that are best for the truncated indices and give each arm its fraction.

    y maximises sum_k y_k min(index_k, 1) over tau_k <= y_k <= 1, sum y = L: it starts at tau, and arms are raised to
    1 in order of the truncated index. Of sleeping arms nothing is asked, and where fewer than L are available, all
    are played.
    """

    source: ClassVar[str] = "Liu et al. 2022; 003 App. G.1"
    base: Index = parameter(UCB1(), doc="the index that is truncated at 1")

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        requirements.fractions(problem, self.name)
        return super().prepare(problem, horizon)

    def select(self, state: Any, now: RoundView) -> Array:
        return rounded(self.marginals(state, now), now.random)

    def marginals(self, state: Any, now: RoundView) -> Array:
        """y_k, float `[K, *runs]`."""
        index = jnp.minimum(self.index(state, now), 1.0)
        ceiling = now.available.astype(index.dtype)
        budget = jnp.minimum(jnp.sum(ceiling, axis=0, keepdims=True), float(now.plays))
        return raise_in_order(index, now.fractions * ceiling, ceiling, budget, now.plays)
