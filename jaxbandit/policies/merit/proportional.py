"""The base classes of policies that select arms in proportion to the merit of an estimate (merit paper)."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.errors import InputError
from jaxbandit.core.users_code import contracts
from jaxbandit.core.users_code.failures import told_of
from jaxbandit.core.xla.fusion import cond_fused
from jaxbandit.environment.merit import Merit, box_optimum, proportional_chances
from jaxbandit.environment.problem import Problem
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Policy, PolicyState
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.dependent_rounding import draw_arms
from jaxbandit.policies.selection.top_arms import top_arms


class MeritPolicy(Policy):
    """A policy that selects L arms with the probabilities p_k = L f(x_k) / sum_j f(x_j), in proportion to merit.

    x are the means that a subclass estimates, in its method `estimate`. f is the merit function of the policy or, if it
    has none, of the problem. The L arms are drawn by dependent rounding (exactly L arms, arm k with probability p_k).
    Where p_k would exceed 1, because few arms are available, it is 1, and the remaining plays are divided among the
    other arms. Rewards must lie in [0, 1].
    """

    merit: Any = parameter(None, doc="f, the merit function: a name, a table or a `Merit`; default: the problem's")

    def check(self, key: str) -> None:
        if self.merit is not None:
            Merit.from_spec(self.merit, f"{key}.merit").check_scalars(f"{key}.merit")
        super(MeritPolicy, self.replace(merit=None)).check(key)

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        merit = problem.merit
        if self.merit is not None:
            merit = Merit.from_spec(self.merit, "policies.merit").prepare(problem.arms, problem.plays)
        if merit is None:
            words = f"must be given, such as {{ kind = 'power' }}, here or as `merit` of {self.name}, which needs it"
            raise InputError("problem.merit", None, words)
        requirements.rewards_in_unit_interval(problem, self.name)
        return super(MeritPolicy, self.replace(merit=None)).prepare(problem, horizon).replace(merit=merit)

    def estimate(self, now: RoundView) -> Array:
        """x, the estimated means whose merit counts, in [0, 1], float `[K, *runs]`."""
        raise TypeError(f"{type(self).__name__} has no estimate")

    def select(self, state: PolicyState, now: RoundView) -> Array:
        return self.choose(state, now)[0]

    def choose(self, state: PolicyState, now: RoundView) -> tuple[Array, Array]:
        chances = self.chances(now)
        return draw_arms(chances, now.random), chances

    def chances(self, now: RoundView) -> Array:
        """p_k, in proportion to the merit of the estimate, float `[K, *runs]`."""
        means = contracts.broadcast_floats(self, "estimate", self.estimate(now), now.pulls.shape, "a mean per arm")
        available = jnp.sum(now.available, axis=0, keepdims=True, dtype=means.dtype)
        with told_of(self.merit, "value"):
            value = self.merit.value(means)
        merit = contracts.broadcast_floats(self.merit, "value", value, means.shape, "a merit per mean")
        return proportional_chances(merit, jnp.minimum(available, float(now.plays)), now.available)


class ConfidenceRegionPolicy(MeritPolicy):
    """A merit policy whose estimate is the most rewarding point of a confidence region, after one play of each arm.

    The estimate x maximises sum_k f(x_k) x_k / sum_k f(x_k) over the region: the mean reward per play if x were the
    true means (merit paper, Alg. 1 and 3). A subclass implements `confidence_region`.
    """

    def confidence_region(self, now: RoundView) -> tuple[Array, Array]:
        """The ends of the confidence intervals, before they are clipped to [0, 1], float `[K, *runs]`."""
        raise TypeError(f"{type(self).__name__} has no confidence_region")

    def estimate(self, now: RoundView) -> Array:
        low, high = self.confidence_region(now)
        return box_optimum(self.merit, jnp.maximum(low, 0.0), jnp.minimum(high, 1.0))

    def choose(self, state: PolicyState, now: RoundView) -> tuple[Array, Array]:
        def initial_pass() -> tuple[Array, Array]:
            unseen = (now.pulls == 0).astype(jnp.int32)  # the last round is filled up with arms that were seen
            selected = top_arms((unseen,), now.plays, now.plays, now.available, now.tie_breaker)
            return selected, selected.astype(now.deviation.dtype)

        rounds = -(-len(now.pulls) // now.plays)
        return cond_fused(now.t <= rounds, initial_pass, lambda: super(ConfidenceRegionPolicy, self).choose(state, now))


def confidence_radius(now: RoundView, weight: float, samples: Array) -> Array:
    """sqrt(log(weight L K T) / samples), float."""
    horizon = now.horizon.astype(now.deviation.dtype)
    return jnp.sqrt(jnp.log(weight * now.plays * len(now.pulls) * horizon) / samples)


def pulls_at_least_one(now: RoundView) -> Array:
    """max(N_k, 1), float."""
    return jnp.maximum(now.pulls, 1).astype(now.deviation.dtype)


def missing_rewards(now: RoundView) -> Array:
    """N_k - M_k, the number of rewards that have not arrived, float."""
    return (now.pulls - now.received).astype(now.deviation.dtype)
