"""thompson: Thompson (1933); Agrawal & Goyal (2012); 001 App. C.3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.errors import InputError
from jaxbandit.environment.rewards import Gaussian
from jaxbandit.policies.base import Index, Policy
from jaxbandit.policies.round_view import RoundView

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class Thompson(Index, name="thompson"):
    """A draw from the posterior of each arm's mean: Beta for rewards in [0, 1], Normal for Gaussian ones."""

    source: ClassVar[str] = "Agrawal & Goyal 2012; 001 App. C.3"
    sd: float | None = parameter(
        None, low=0, doc="known sd of the rewards; default: that of Gaussian rewards", smooth=True
    )

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        reward = problem.reward
        if self.sd is not None or isinstance(reward, Gaussian):
            sd = reward.sd if self.sd is None and isinstance(reward, Gaussian) else self.sd
            return GaussianThompson(sd=sd).prepare(problem, horizon)
        low, high = problem.reward_support()
        if low < 0 or high > 1:
            raise InputError("problem.reward", reward.name, "rewards in [0, 1] or Gaussian with thompson, or set sd")
        return BetaThompson()


class BetaThompson(Index):
    """A draw from Beta(1 + S_k, 1 + M_k - S_k); an arm unseen draws from Beta(1, 1)."""

    initial_pass: ClassVar[bool] = False
    binary_feedback: ClassVar[bool] = True

    def value(self, state: Any, now: RoundView) -> Array:
        received = now.received.astype(now.total.dtype)
        return now.random.beta(1.0 + now.total, 1.0 + received - now.total)


class GaussianThompson(Index):
    """A draw from Normal(m_k, sd^2 / M_k), each arm once first."""

    real_counts: ClassVar[bool] = True
    sd: Any = parameter(1.0, low=0, doc="known standard deviation of the rewards", smooth=True)

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        done = getattr(self.sd, "ndim", 0) == 2  # already a row an arm, from the problem's reward
        return self if done else super().prepare(problem, horizon)

    def value(self, state: Any, now: RoundView) -> Array:
        return now.mean + self.sd / jnp.sqrt(now.samples) * now.random.normal(now.pulls.shape[0])
