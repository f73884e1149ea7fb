"""naive: guarantees paper, Algorithm 1."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.component import derived, parameter
from jaxbandit.core.input_values import Number
from jaxbandit.core.rationals import exact_fraction
from jaxbandit.core.struct import struct
from jaxbandit.core.xla.fusion import cond_fused, cond_update, without_fusion
from jaxbandit.core.xla.tiling import once_per_cell
from jaxbandit.environment.world import World
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Policy
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.sampling import Intervals, intervals, sample_number
from jaxbandit.policies.selection.top_arm import one_hot, top_number
from jaxbandit.policies.selection.top_arms import best_arm

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


@struct
class Leader:
    """The state of naive.

    Attributes:
        arm: the arm of highest mean at the end of the exploration, bool `[K, *runs]`.
        chances: the probabilities after the exploration, which stay the same if all arms are always available; else
            None.
    """

    arm: Array
    chances: Intervals | None


class Naive(Policy, name="naive"):
    """Naive explore-then-commit: explores all arms in the first floor(eps T) rounds, then draws a random arm per round.

    Exploration is a round robin in which arm k gets a share tau_k + (1 - sum_j tau_j) / K of the rounds; tau_k is its
    fraction, and K the number of arms. Afterwards arm k is drawn with probability tau_k; the arm that had the highest
    mean reward at the end of the exploration has the probability 1 - sum_j tau_j in addition. Without exploration, as
    where eps T < 1, this is arm 0, whatever `ties` is. The policy uses the horizon T. The problem needs `fractions` and
    one play per round.

    Where arms sleep, the exploration plays, of the available arms with plays left, the one with the fewest plays so
    far. Afterwards the probabilities of available arms are rescaled; these arms are equally likely where all of theirs
    are 0.

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

    def init(self, world: World, shape: tuple[int, ...]) -> Leader:
        def begun(shape: tuple[int, ...]) -> Leader:
            # Without any reward every mean is 0: the lowest arm is the best.
            arm = lax.broadcasted_iota(jnp.int32, shape, 0) == 0
            return Leader(arm, None if world.sleeping else intervals(self._chances(arm)))

        return once_per_cell(begun, shape)

    def select(self, state: Leader, now: RoundView) -> Array:
        return one_hot(self._select_one(state, now), now.available)

    def _select_one(self, state: Leader, now: RoundView) -> Array:
        exploring = now.t <= self.exploration_rounds
        none = jnp.full((1, *now.pulls.shape[1:]), len(now.pulls), jnp.int32)

        def explored() -> Array:
            round_robin = -now.pulls.astype(now.deviation.dtype)  # fewest plays first, until an arm has all its plays
            short = now.available & (now.pulls < self.exploration_plays)
            short = jnp.where(jnp.any(short, axis=0, keepdims=True), short, now.available)
            return top_number(lambda: (round_robin,), short, now.t)

        def drawn() -> Array:
            uniform, chances = now.random.uniform(), state.chances
            if chances is None:
                return sample_number(self._chances(state.arm), uniform, now.available)
            return without_fusion(lambda: chances.arm(uniform), now.t)

        # In almost all rounds, all runs do the same.
        first = cond_fused(jnp.any(exploring), explored, lambda: none)
        return jnp.where(exploring, first, cond_fused(~jnp.all(exploring), drawn, lambda: none))

    def update(self, state: Leader, after: RoundView, selected: Array) -> Leader:
        last = after.t == self.exploration_rounds

        def found() -> Leader:
            leader = best_arm(after.mean, jnp.ones(selected.shape, bool), after.tie_breaker)
            return Leader(leader, None if state.chances is None else intervals(self._chances(leader)))

        def with_leader(old: Leader) -> Leader:
            new = without_fusion(found, old.arm)  # else XLA computes it in every round, before it asks for `last`
            return jax.tree.map(lambda new, old: jnp.where(last, new, old), new, old)

        return cond_update(jnp.any(last), with_leader, state)

    def _chances(self, best: Array) -> Array:
        """The probabilities after the exploration if an arm was the best, bool `[K, *runs]`; float `[K, *runs]`."""
        return self.chances + jnp.where(best, self.best_arm_chance, 0.0)


def _largest_remainder(shares: list[Fraction], total: int) -> list[int]:
    """Integers that sum to `total`, in proportion to shares that sum to 1; ties go to the lowest arm."""
    counts = [math.floor(share * total) for share in shares]
    order = sorted(range(len(shares)), key=lambda k: counts[k] - shares[k] * total)
    for k in order[: total - sum(counts)]:
        counts[k] += 1
    return counts
