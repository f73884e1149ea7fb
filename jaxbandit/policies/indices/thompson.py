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
    costly: ClassVar[bool] = True
    sd: Number | None = parameter(
        None, low=0, doc="known standard deviation of the rewards; default: that of Gaussian rewards", smooth=True
    )

    # `prepare` sets `sd` where the posterior is a normal distribution; without it, it is a Beta distribution.

    @property
    def initial_pass(self) -> bool:  # type: ignore[override]
        return self.sd is not None

    @property
    def real_counts(self) -> bool:  # type: ignore[override]
        return self.sd is not None

    @property
    def binary_feedback(self) -> bool:  # type: ignore[override]
        return self.sd is None

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        reward = problem.reward
        if self.sd is None and isinstance(reward, Gaussian):
            prepared = super().prepare(problem, horizon)
            return prepared.replace(sd=reward.sd)  # a row per arm already
        low, high = problem.reward_support()
        if self.sd is None and (low < 0 or high > 1):
            words = "must give rewards in [0, 1] or Gaussian rewards with thompson, unless its parameter `sd` is given"
            raise InputError("problem.reward", reward.name, words)
        return super().prepare(problem, horizon)

    def value(self, state: PolicyState, now: RoundView) -> Array:
        if self.sd is not None:  # Normal(m_k, sd^2 / M_k)
            return now.mean + self.sd / jnp.sqrt(now.samples) * now.random.normal(now.pulls.shape[0])
        received = now.received.astype(now.total.dtype)
        return now.random.beta(1.0 + now.total, 1.0 + received - now.total)  # Beta(1 + S_k, 1 + M_k - S_k)
