"""ucb-lp: Liu, Xu, Wang & Fang (2022), "Combinatorial bandits with linear constraints"; plays paper, App. G.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Index, Policy, PolicyState, Rule
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.dependent_rounding import draw_arms
from jaxbandit.policies.selection.knapsack import fractional_knapsack

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class UCBLP(Rule, name="ucb-lp"):
    """UCB-LP: draws L arms at random, arm k with the probability y_k that a linear program gives.

    The probabilities y maximise sum_k y_k min(index_k, 1) subject to tau_k <= y_k <= 1 and sum_k y_k = L. index_k is
    the index `base` of arm k, tau_k its fraction, and L the number of plays per round. The solution is y_k = tau_k,
    raised to 1 for the arms of highest truncated index as far as the sum allows. The arms are drawn by dependent
    rounding (exactly L arms, arm k with probability y_k). Arms that are not available have y_k = 0; if fewer than L
    arms are available, all of them are played. The problem needs `fractions`.

    Source: Liu, Xu, Wang & Fang (2022), "Combinatorial bandits with linear constraints: beyond knapsacks and
    fairness"; plays paper, App. G.1.

    Raises:
        InputError: when the simulation starts, if the problem has no fractions.

    Example:
        >>> jb.policy("ucb-lp", exploration=1.5)
        UCBLP(base=UCB1(exploration=1.5, log_offset=0.0))
    """

    source: ClassVar[str] = "Liu et al. 2022; plays paper, App. G.1"
    equal_at_first: ClassVar[bool] = True
    base: Index = parameter(UCB1(), doc="the index that is truncated at 1")

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        requirements.fractions(problem, self.name)
        return super().prepare(problem, horizon)

    def select(self, state: PolicyState, now: RoundView) -> Array:
        marginals = self.marginals(state, now)
        defined = jnp.sum(marginals, axis=0, keepdims=True) >= 0
        return draw_arms(marginals, now.random) & defined  # no arm where an index is NaN: the engine notices

    def marginals(self, state: PolicyState, now: RoundView) -> Array:
        """y_k, the probability that arm k is drawn, float `[K, *runs]`."""
        index = jnp.minimum(self._own_index(state, now), 1.0)
        ceiling = now.available.astype(index.dtype)
        budget = jnp.minimum(jnp.sum(ceiling, axis=0, keepdims=True), float(now.plays))
        drawn = fractional_knapsack(index, now.fractions * ceiling, ceiling, budget, now.plays, now.tie_breaker)
        return jnp.where(now.available & jnp.isnan(index), jnp.nan, drawn)
