"""explore-then-commit: Garivier, Kaufmann & Lattimore (2016); Slivkins (2019), Alg. 1.1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.struct import struct
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Index, Policy
from jaxbandit.policies.round_view import RoundView

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


@struct
class Commitment:
    """The means at the end of exploration, float `[K, *runs]`, and whether it has ended, bool `[1, *runs]`."""

    mean: Any
    made: Any


class ExploreThenCommit(Index, name="explore-then-commit"):
    """Every arm `rounds_per_arm` times in turn, then for good the one of highest mean by then."""

    source: ClassVar[str] = "Slivkins 2019, Alg. 1.1"
    initial_pass: ClassVar[bool] = False
    rounds_per_arm: float | None = parameter(None, low=1, doc="N; default (T/K)^(2/3) log(T)^(1/3), rounded up")

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        if self.rounds_per_arm is None:
            rounds = (horizon / problem.arms) ** (2 / 3) * math.log(horizon) ** (1 / 3)
            return self.replace(rounds_per_arm=max(1.0, math.ceil(rounds))).prepare(problem, horizon)
        return super().prepare(problem, horizon)

    def init(self, world: World, shape: tuple[int, ...]) -> Commitment:
        return Commitment(jnp.zeros(shape, jnp.result_type(float)), jnp.zeros((1, *shape[1:]), bool))

    def value(self, state: Commitment, now: RoundView) -> Array:
        turn = -now.pulls.astype(now.deviation.dtype)  # fewest selections first: round robin
        return jnp.where(state.made, state.mean, turn)

    def update(self, state: Commitment, after: RoundView, selected: Array) -> Commitment:
        enough = after.pulls.astype(after.deviation.dtype) >= self.rounds_per_arm
        mean = jnp.where(state.made, state.mean, after.mean)
        return Commitment(mean, state.made | jnp.all(enough, axis=0, keepdims=True))
