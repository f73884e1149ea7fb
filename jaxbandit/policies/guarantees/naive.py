"""naive: paper 001, Algorithm 1."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.component import derived, parameter
from jaxbandit.core.rationals import exact_fraction
from jaxbandit.environment.world import World
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Policy
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.top_arms import best_arm, lowest_arm, sample

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class Naive(Policy, name="naive"):
    """A round robin of floor(eps T) rounds, then arms at random: tau_k each, and what is left to the best mean."""

    source: ClassVar[str] = "001 Alg. 1"
    many_plays: ClassVar[bool] = False
    eps: float = parameter(0.1, low=0, high=1, doc="share of the rounds spent exploring", exact=True)
    rounds: Any = derived()  # T' of 001 Alg. 1
    quota: Any = derived()  # n_k of 001 Alg. 1
    chance: Any = derived()  # tau_k
    spare: Any = derived()  # m = 1 - sum tau

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        tau = requirements.fractions(problem, self.name)
        rounds = math.floor(exact_fraction(self.eps, "policies.eps") * horizon)
        spare = 1 - tau.sum(axis=0)
        even = spare / problem.arms
        shares = [_largest_remainder(list(column + m), rounds) for column, m in zip(tau.T, even, strict=True)]
        return (
            super()
            .prepare(problem, horizon)
            .replace(
                rounds=np.int32(rounds),
                quota=np.array(shares, np.int32).T,
                chance=tau.astype(float),
                spare=spare.astype(float)[None],
            )
        )

    def init(self, world: World, shape: tuple[int, ...]) -> Array:
        return lowest_arm(jnp.ones(shape, bool))  # j with no reward seen: every mean is 0, the lowest arm wins

    def select(self, state: Array, now: RoundView) -> Array:
        turn = -now.pulls.astype(now.deviation.dtype)  # round robin: fewest plays first, quotas used up skipped
        short = now.available & (now.pulls < self.quota)
        short = jnp.where(jnp.any(short, axis=0, keepdims=True), short, now.available)
        chance = self.chance + jnp.where(state, self.spare, 0.0)
        later = sample(chance, now.random.uniform(), now.available)
        return jnp.where(now.t <= self.rounds, best_arm(turn, short), later)

    def update(self, state: Array, after: RoundView, selected: Array) -> Array:
        leader = best_arm(after.mean, jnp.ones(state.shape, bool))
        return jnp.where(after.t == self.rounds, leader, state)


def _largest_remainder(shares: list[Fraction], total: int) -> list[int]:
    """Whole numbers in proportion to shares that sum to 1, themselves summing to total; ties to the lowest arm."""
    whole = [math.floor(share * total) for share in shares]
    order = sorted(range(len(shares)), key=lambda k: whole[k] - shares[k] * total)
    for k in order[: total - sum(whole)]:
        whole[k] += 1
    return whole
