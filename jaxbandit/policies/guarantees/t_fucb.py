"""t-fucb: guarantees paper, Algorithm 2."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.component import derived, parameter
from jaxbandit.core.xla.fusion import cond_fused, without_fusion
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Index, Policy, PolicyState, Rule
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.arm_indices import arm_index, take_arms
from jaxbandit.policies.selection.top_arm import Keys, one_hot
from jaxbandit.policies.selection.top_arms import top_available, top_available_number

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class TFUCB(Rule, name="t-fucb"):
    """T-FUCB: plays each arm n_k = max(1, ceil(tau_k T)) times, arm after arm, then the arm of highest index.

    tau_k is the fraction of arm k. The policy uses the horizon T. The problem needs `fractions`.

    Source: Patil, Ghalme, Nair & Narahari, "Stochastic multi-armed bandits with arm-specific fairness guarantees"
    (guarantees paper), Alg. 2.

    Raises:
        InputError: when the simulation starts, if the problem has no fractions.

    Example:
        >>> jb.policy("t-fucb", base="moss")
        TFUCB(base=MOSS())
    """

    source: ClassVar[str] = "guarantees paper, Alg. 2"
    own_order: ClassVar[bool] = True  # arms are played in turn
    base: Index = parameter(UCB1(), doc="the index played when every arm has had its n_k plays")
    guaranteed_plays: Array = derived()  # n_k of Alg. 2

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        tau = requirements.fractions(problem, self.name)
        plays = [[max(1, math.ceil(value * horizon)) for value in row] for row in tau]  # exact: tau is a ratio
        return super().prepare(problem, horizon).replace(guaranteed_plays=np.array(plays, np.int32))

    def select(self, state: PolicyState, now: RoundView) -> Array:
        if now.plays == 1:
            return one_hot(self._select_one(state, now), now.available)
        short = self._are_short(now)

        def keys() -> Keys:
            return short.astype(jnp.int32), jnp.where(short, 0.0, self._own_index(state, now))

        tie_breaker = None if now.tie_breaker is None else jnp.where(short, 0, now.tie_breaker)
        return top_available(keys, now, tie_breaker)

    def committed_rounds(self, state: PolicyState, now: RoundView, arm: Array) -> Array:
        if any(type(part).update is not Policy.update for part in self.base.nested_policies()):
            return jnp.ones_like(arm)  # the state of the index changes in every round
        return take_arms(self.guaranteed_plays - now.pulls, arm, len(now.pulls))

    def _select_one(self, state: PolicyState, now: RoundView) -> Array:
        first = without_fusion(lambda: arm_index(self._are_short(now) & now.available), now.t)
        some, none = first < len(now.pulls), jnp.full_like(first, len(now.pulls))

        def by_index() -> Array:
            return top_available_number(lambda: (self._own_index(state, now),), now, now.tie_breaker)

        # In almost all rounds, all runs do the same.
        return jnp.where(some, first, cond_fused(~jnp.all(some), by_index, lambda: none))

    def _are_short(self, now: RoundView) -> Array:
        """The arms that are short of guaranteed plays, which are played in order; bool `[K, *runs]`."""
        return now.pulls < self.guaranteed_plays
