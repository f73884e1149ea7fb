"""naive: guarantees paper, Algorithm 1."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.component import derived, parameter
from jaxbandit.core.input_values import Number
from jaxbandit.core.rationals import exact_fraction
from jaxbandit.core.xla.fusion import cond_fused, cond_update
from jaxbandit.environment.world import World
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Policy
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.sampling import sample_arm
from jaxbandit.policies.selection.top_arm import lowest_arm
from jaxbandit.policies.selection.top_arms import best_arm

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class Naive(Policy, name="naive"):
    """Naive explore-then-commit: explores all arms in the first floor(eps T) rounds, then draws a random arm per round.

    Exploration is a round robin in which arm k gets a share tau_k + (1 - sum_j tau_j) / K of the rounds; tau_k is its
    fraction, and K the number of arms. Afterwards arm k is drawn with probability tau_k; the arm that had the highest
    mean reward at the end of the exploration has the probability 1 - sum_j tau_j in addition. The policy uses the
    horizon T. The problem needs `fractions` and one play per round.

    Source: Patil, Ghalme, Nair & Narahari, "Stochastic multi-armed bandits with arm-specific fairness guarantees"
    (guarantees paper), Alg. 1.

    Raises:
        InputError: when the simulation starts, if the problem has no fractions or more than one play.

    Example:
        >>> jb.policy("naive", eps=0.2)
        Naive(eps=0.2)
    """

    source: ClassVar[str] = "guarantees paper, Alg. 1"
    own_order: ClassVar[bool] = True  # arms are played in turn
    many_plays: ClassVar[bool] = False
    eps: Number = parameter(0.1, low=0, high=1, doc="share of the rounds spent exploring", exact=True)
    exploration_rounds: Array = derived()  # T' of Alg. 1
    exploration_plays: Array = derived()  # n_k of Alg. 1
    chances: Array = derived()  # tau_k
    best_arm_chance: Array = derived()  # m = 1 - sum tau, in addition to the tau_k of the best arm

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        tau = requirements.fractions(problem, self.name)
        rounds = math.floor(exact_fraction(self.eps, "policies.eps") * horizon)
        spare = 1 - tau.sum(axis=0)
        even = spare / problem.arms
        plays = [_largest_remainder(list(column + m), rounds) for column, m in zip(tau.T, even, strict=True)]
        prepared = super().prepare(problem, horizon)
        return prepared.replace(
            exploration_rounds=np.int32(rounds),
            exploration_plays=np.array(plays, np.int32).T,
            chances=tau.astype(float),
            best_arm_chance=spare.astype(float)[None],
        )

    def init(self, world: World, shape: tuple[int, ...]) -> Array:
        return lowest_arm(jnp.ones(shape, bool))  # without any reward every mean is 0: the lowest arm is the best

    def select(self, state: Array, now: RoundView) -> Array:
        exploring, nothing = now.t <= self.exploration_rounds, jnp.zeros(now.pulls.shape, bool)

        def explored() -> Array:
            round_robin = -now.pulls.astype(now.deviation.dtype)  # fewest plays first, until an arm has all its plays
            short = now.available & (now.pulls < self.exploration_plays)
            short = jnp.where(jnp.any(short, axis=0, keepdims=True), short, now.available)
            return best_arm(round_robin, short)

        def drawn() -> Array:
            chances = self.chances + jnp.where(state, self.best_arm_chance, 0.0)
            return sample_arm(chances, now.random.uniform(), now.available)

        # In almost all rounds, all runs do the same.
        first = cond_fused(jnp.any(exploring), explored, lambda: nothing)
        return jnp.where(exploring, first, cond_fused(~jnp.all(exploring), drawn, lambda: nothing))

    def update(self, state: Array, after: RoundView, selected: Array) -> Array:
        last = after.t == self.exploration_rounds

        def with_leader(state: Array) -> Array:
            leader = best_arm(after.mean, jnp.ones(state.shape, bool), after.tie_breaker)
            return jnp.where(last, leader, state)

        return cond_update(jnp.any(last), with_leader, state)


def _largest_remainder(shares: list[Fraction], total: int) -> list[int]:
    """Integers that sum to `total`, in proportion to shares that sum to 1; ties go to the lowest arm."""
    counts = [math.floor(share * total) for share in shares]
    order = sorted(range(len(shares)), key=lambda k: counts[k] - shares[k] * total)
    for k in order[: total - sum(counts)]:
        counts[k] += 1
    return counts
