"""Policies that select arms in proportion to the merit of an estimate (002)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import Array

from jaxbandit.core import contracts
from jaxbandit.core.component import parameter
from jaxbandit.core.errors import InputError
from jaxbandit.core.xla.fusion import cond_fused
from jaxbandit.environment.merit import Merit, box_optimum, proportional_chances
from jaxbandit.policies.base import Policy
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.dependent_rounding import rounded
from jaxbandit.policies.selection.top_arms import top_arms

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class Proportional(Policy):
    """L arms by dependent rounding of p_k = L f(x_k) / sum f(x), x the means that a subclass estimates."""

    merit: Any = parameter(None, doc="f, to which it selects in proportion; default: the problem's")

    def check(self, key: str) -> None:
        if self.merit is not None:
            Merit.from_spec(self.merit, f"{key}.merit").check_scalars(f"{key}.merit")
        super(Proportional, self.replace(merit=None)).check(key)

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        merit = problem.merit
        if self.merit is not None:
            merit = Merit.from_spec(self.merit, "policies.merit").prepare(problem.arms, problem.plays)
        if merit is None:
            raise InputError("problem.merit", None, f"a merit function, as {{ kind = 'power' }}: {self.name} needs it")
        low, high = problem.reward_support()
        if low < 0 or high > 1:
            raise InputError("problem.reward", problem.reward.name, f"rewards that stay in [0, 1] with {self.name}")
        return super(Proportional, self.replace(merit=None)).prepare(problem, horizon).replace(merit=merit)

    def estimate(self, now: RoundView) -> Array:
        """x, the means that merit is taken of, in [0, 1], float `[K, *runs]`."""
        raise TypeError(f"{type(self).__name__} has no estimate")

    def select(self, state: Any, now: RoundView) -> Array:
        return self.choose(state, now)[0]

    def choose(self, state: Any, now: RoundView) -> tuple[Array, Array]:
        return self.drawn(now, self.chances(now))

    def chances(self, now: RoundView) -> Array:
        """p_k, in proportion to the merit of the estimate, float `[K, *runs]`."""
        means = contracts.broadcast_floats(self, "estimate", self.estimate(now), now.pulls.shape, "a mean per arm")
        there = jnp.sum(now.available, axis=0, keepdims=True, dtype=means.dtype)
        merit = contracts.broadcast_floats(
            self.merit, "value", self.merit.value(means), means.shape, "a merit per mean"
        )
        return proportional_chances(merit, jnp.minimum(there, float(now.plays)), now.available)

    def drawn(self, now: RoundView, chances: Array) -> tuple[Array, Array]:
        """Arms drawn with some chances, and these."""
        return rounded(chances, now.random), chances


class Boxed(Proportional):
    """The estimate that earns most of a box of confidence, after a first play of each arm (002 Alg. 1 and 3)."""

    def box(self, now: RoundView) -> tuple[Array, Array]:
        """The ends of the confidence intervals before they are clipped to [0, 1], float `[K, *runs]`."""
        raise TypeError(f"{type(self).__name__} has no box")

    def estimate(self, now: RoundView) -> Array:
        low, high = self.box(now)
        return box_optimum(self.merit, jnp.maximum(low, 0.0), jnp.minimum(high, 1.0))

    def choose(self, state: Any, now: RoundView) -> tuple[Array, Array]:
        def first() -> tuple[Array, Array]:
            unseen = (now.pulls == 0).astype(jnp.int32)  # arms in order, the last round filled up from the first arm
            selected = top_arms((unseen,), now.plays, now.plays, now.available)
            return selected, selected.astype(now.deviation.dtype)

        rounds = -(-len(now.pulls) // now.plays)
        return cond_fused(now.t <= rounds, first, lambda: self.drawn(now, self.chances(now)))


def confidence(now: RoundView, weight: float, samples: Array) -> Array:
    """sqrt(log(weight L K T) / samples), float."""
    horizon = now.horizon.astype(now.deviation.dtype)
    return jnp.sqrt(jnp.log(weight * now.plays * len(now.pulls) * horizon) / samples)


def selections(now: RoundView) -> Array:
    """max(N_k, 1), float."""
    return jnp.maximum(now.pulls, 1).astype(now.deviation.dtype)


def missing(now: RoundView) -> Array:
    """N_k - M_k, how many rewards have yet to come, float."""
    return (now.pulls - now.received).astype(now.deviation.dtype)
