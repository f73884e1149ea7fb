"""calibrated-thompson: Liu, Radanovic, Dimitrakakis, Mandal & Parkes (2017)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.policies import requirements
from jaxbandit.policies.base import ChancePolicy, Policy, PolicyState
from jaxbandit.policies.round_view import RoundView

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class CalibratedThompson(ChancePolicy, name="calibrated-thompson"):
    """Calibrated Thompson sampling: draws a reward of each arm from its posterior, and plays an arm of the largest one.

    theta_k is a draw from Beta(1 + S_k, 1 + M_k - S_k), for the M_k rewards of arm k that have arrived and their sum
    S_k; x_k is 1 with probability theta_k, else 0. The arm is drawn among the arms of largest x_k, all equally likely.
    So an arm is played about as often as its reward would be the largest. A reward r that is not 0 or 1 is replaced by
    a random number that is 1 with probability r, else 0. The chances that the policy states are those for the drawn x.
    One play per round.

    Source: Liu, Radanovic, Dimitrakakis, Mandal & Parkes (2017), "Calibrated fairness in bandits".

    Raises:
        InputError: when the simulation starts, if rewards can leave [0, 1].

    Example:
        >>> jb.policy("calibrated-thompson")
        CalibratedThompson()
    """

    source: ClassVar[str] = "Liu et al. 2017"
    binary_feedback: ClassVar[bool] = True
    costly: ClassVar[bool] = True  # as `Index.costly`: it draws from Beta distributions

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        requirements.rewards_in_unit_interval(problem, self.name)
        return super().prepare(problem, horizon)

    def chances(self, state: PolicyState, now: RoundView) -> Array:
        random, arms = now.for_wrapped_policy().random, len(now.pulls)
        received = now.received.astype(now.total.dtype)
        theta = random.beta(1.0 + now.total, 1.0 + (received - now.total))
        drawn = now.available & (now.random.uniform(arms, attempt=1) < theta)
        largest = drawn | (now.available & ~jnp.any(drawn, axis=0, keepdims=True))
        return largest.astype(theta.dtype)
