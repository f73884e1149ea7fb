"""thompson: Thompson (1933); Agrawal & Goyal (2012); guarantees paper, App. C.3."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.errors import InputError
from jaxbandit.core.input_values import Number
from jaxbandit.environment.rewards import Gaussian
from jaxbandit.policies.base import Index, Policy, PolicyState
from jaxbandit.policies.round_view import RoundView

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class Thompson(Index, name="thompson"):
    """Thompson sampling: the index is a draw from the posterior distribution of each arm's mean.

    M_k is the number of rewards of arm k that have arrived, S_k their sum and m_k their mean. The posterior depends on
    the rewards:

    - Rewards in [0, 1]: Beta(1 + S_k, 1 + M_k - S_k). A reward r that is not 0 or 1 is replaced by a random number that
      is 1 with probability r, else 0 (Agrawal & Goyal 2012, Alg. 2).
    - Gaussian rewards, or any rewards if `sd` is given: Normal(m_k, sd^2 / M_k), after each arm was played once.

    Source: Agrawal & Goyal (2012), "Analysis of Thompson sampling for the multi-armed bandit problem"; guarantees
    paper, App. C.3.

    Raises:
        InputError: when the simulation starts, if `sd` is not given and the rewards are neither in [0, 1] nor Gaussian.

    Example:
        >>> jb.policy("thompson")
        Thompson(sd=None)
    """

    source: ClassVar[str] = "Agrawal & Goyal 2012; guarantees paper, App. C.3"
    sd: Number | None = parameter(
        None, low=0, doc="known standard deviation of the rewards; default: that of Gaussian rewards", smooth=True
    )

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        reward = problem.reward
        sd = reward.sd if self.sd is None and isinstance(reward, Gaussian) else self.sd
        if sd is not None:
            return GaussianThompson(sd=sd).prepare(problem, horizon)
        low, high = problem.reward_support()
        if low < 0 or high > 1:
            words = "must give rewards in [0, 1] or Gaussian rewards with thompson, unless its parameter `sd` is given"
            raise InputError("problem.reward", reward.name, words)
        return BetaThompson()


class BetaThompson(Index):
    """A draw from Beta(1 + S_k, 1 + M_k - S_k); Beta(1, 1) for an arm without feedback."""

    costly: ClassVar[bool] = True
    initial_pass: ClassVar[bool] = False
    binary_feedback: ClassVar[bool] = True

    def value(self, state: PolicyState, now: RoundView) -> Array:
        received = now.received.astype(now.total.dtype)
        return now.random.beta(1.0 + now.total, 1.0 + received - now.total)


class GaussianThompson(Index):
    """A draw from Normal(m_k, sd^2 / M_k), after each arm was played once."""

    costly: ClassVar[bool] = True
    real_counts: ClassVar[bool] = True
    sd: Number = parameter(1.0, low=0, doc="known standard deviation of the rewards", smooth=True)

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        spread = getattr(self.sd, "ndim", 0) == 2  # already one row per arm, from the problem's reward
        return self if spread else super().prepare(problem, horizon)

    def value(self, state: PolicyState, now: RoundView) -> Array:
        return now.mean + self.sd / jnp.sqrt(now.samples) * now.random.normal(now.pulls.shape[0])
