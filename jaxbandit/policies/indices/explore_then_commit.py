"""explore-then-commit: Garivier, Kaufmann & Lattimore (2016); Slivkins (2019), Alg. 1.1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.component import parameter
from jaxbandit.core.input_values import Number
from jaxbandit.core.struct import struct
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Index, Policy
from jaxbandit.policies.round_view import RoundView

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


@struct
class Commitment:
    """The state of explore-then-commit.

    Attributes:
        mean: the means at the end of the exploration, float `[K, *runs]`.
        made: whether exploration has ended, bool `[1, *runs]`.
        tie_breaker: the tie breaker at the end of the exploration, int32 `[K, *runs]`; None where ties go to the lowest
            arm.
    """

    mean: Array
    made: Array
    tie_breaker: Array | None


class ExploreThenCommit(Index, name="explore-then-commit"):
    """Explore-then-commit: plays each arm N times, in turn, then the arm with the highest mean reward in these plays.

    The default of N is (T/K)^(2/3) log(T)^(1/3), rounded up, for the horizon T and K arms. Exploration ends when every
    arm has been selected at least N times. The policy then commits itself to the arm with the highest mean of the
    rewards that have arrived by then.

    Source: Slivkins (2019), "Introduction to multi-armed bandits", Alg. 1.1.

    Example:
        >>> jb.policy("explore-then-commit", rounds_per_arm=20)
        ExploreThenCommit(rounds_per_arm=20)
    """

    source: ClassVar[str] = "Slivkins 2019, Alg. 1.1"
    own_order: ClassVar[bool] = True  # arms are played in turn
    initial_pass: ClassVar[bool] = False
    long_commitments: ClassVar[bool] = True
    rounds_per_arm: Number = parameter(None, low=1, doc="N; default (T/K)^(2/3) log(T)^(1/3), rounded up")

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        if self.rounds_per_arm is None:
            rounds = (horizon / problem.arms) ** (2 / 3) * math.log(horizon) ** (1 / 3)
            return self.replace(rounds_per_arm=max(1.0, math.ceil(rounds))).prepare(problem, horizon)
        return super().prepare(problem, horizon)

    def init(self, world: World, shape: tuple[int, ...]) -> Commitment:
        tie_breaker = jnp.zeros(shape, jnp.int32) if world.random_ties else None
        return Commitment(jnp.zeros(shape, jnp.result_type(float)), jnp.zeros((1, *shape[1:]), bool), tie_breaker)

    def tie_breaker(self, state: Commitment, now: RoundView) -> Array | None:
        # 0 while exploring, and then always the one that was drawn at the end of the exploration.
        return state.tie_breaker

    def value(self, state: Commitment, now: RoundView) -> Array:
        round_robin = -now.pulls.astype(now.deviation.dtype)  # fewest selections first
        return jnp.where(state.made, state.mean, round_robin)

    def update(self, state: Commitment, after: RoundView, selected: Array) -> Commitment:
        mean = jnp.where(state.made, state.mean, after.mean)
        made = state.made | self._is_over(after)
        if after.tie_breaker is None or state.tie_breaker is None:
            return Commitment(mean, made, None)
        drawn = jnp.where(made & ~state.made, after.tie_breaker, state.tie_breaker)
        return Commitment(mean, made, drawn)

    def committed_rounds(self, state: Commitment, now: RoundView, arm: Array) -> Array:
        return jnp.where(state.made, now.horizon, 1)

    def is_sweeping(self, state: Commitment, now: RoundView, arm: Array) -> Array:
        fewest = now.pulls == jnp.min(now.pulls, axis=0, keepdims=True)
        earlier = lax.broadcasted_iota(jnp.int32, now.pulls.shape, 0) < arm
        return ~state.made & jnp.all(fewest | earlier, axis=0, keepdims=True)  # this arm and all later ones

    def following_sweeps(self, state: Commitment, after: RoundView) -> Array:
        left = self.rounds_per_arm - jnp.min(after.pulls, axis=0, keepdims=True).astype(after.deviation.dtype)
        return jnp.ceil(left).astype(jnp.int32)

    def _is_over(self, after: RoundView) -> Array:
        explored = after.pulls.astype(after.deviation.dtype) >= self.rounds_per_arm
        return jnp.all(explored, axis=0, keepdims=True)
