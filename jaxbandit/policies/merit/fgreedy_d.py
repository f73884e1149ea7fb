"""fgreedy-d: the epsilon-greedy policy that the merit paper compares with."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.input_values import Number
from jaxbandit.core.users_code import contracts
from jaxbandit.core.xla.fusion import without_fusion
from jaxbandit.policies.base import PolicyState
from jaxbandit.policies.merit.proportional import MeritPolicy
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.dependent_rounding import draw_arms
from jaxbandit.policies.selection.top_arms import top_arms


class FGreedyD(MeritPolicy, name="fgreedy-d"):
    """FGREEDY-D: with probability eps / t^decay plays L uniformly random arms, else arms in proportion to f(m_k).

    f is the merit function, m_k the mean of the rewards of arm k that have arrived, and t the round. In the reward
    regret and the fairness regret, the selection probabilities of a round are those of its branch: equal ones if arms
    were drawn uniformly, else those in proportion to f(m_k). The problem needs rewards in [0, 1], and `merit` unless
    the policy has its own.

    Source: Chen, Cai, Chen, Zhang & Lui, "Merit-based fair combinatorial semi-bandit with unrestricted feedback
    delays" (merit paper), sec. 6.

    Raises:
        InputError: when the simulation starts, if merit is missing or rewards can be outside [0, 1].

    Example:
        >>> jb.policy("fgreedy-d", eps=0.2, decay=1 / 3)
        FGreedyD(merit=None, eps=0.2, decay=0.3333333333333333)
    """

    source: ClassVar[str] = "merit paper, sec. 6"
    real_counts: ClassVar[bool] = True
    eps: Number = parameter(0.1, low=0, high=1, doc="probability of random arms in the first round")
    decay: Number = parameter(0.0, low=0, doc="0 for eps in every round; 1/3 for eps / t^(1/3)")

    def estimate(self, now: RoundView) -> Array:
        return jnp.clip(now.mean, 0.0, 1.0)  # a rounded mean may be outside [0, 1]

    def chances(self, now: RoundView) -> Array:
        return self._chances_of_branch(now, self._explores(now), super().chances(now))

    def choose(self, state: PolicyState, now: RoundView) -> tuple[Array, Array]:
        if contracts.has_users_method(self, "chances"):
            return super().choose(state, now)
        fair = super().chances(now)
        greedy = draw_arms(fair, now.random)
        explores = without_fusion(lambda: self._explores(now), now.pulls)
        random = now.for_wrapped_policy().for_wrapped_policy().random
        order = without_fusion(lambda: random.uniform(len(fair)), now.pulls)
        uniform = top_arms((order,), now.plays, now.plays, now.available)
        return jnp.where(explores, uniform, greedy), self._chances_of_branch(now, explores, fair)

    def _explores(self, now: RoundView) -> Array:
        """Whether this round explores, bool `[1, *runs]`."""
        uniform = now.for_wrapped_policy().random.uniform()
        return uniform < self.eps * now.t.astype(now.deviation.dtype) ** -self.decay

    def _chances_of_branch(self, now: RoundView, explores: Array, fair: Array) -> Array:
        """The probability of each arm in the branch that is taken, float `[K, *runs]`."""
        available = jnp.sum(now.available, axis=0, keepdims=True, dtype=fair.dtype)
        share = jnp.minimum(available, float(now.plays)) / jnp.maximum(available, 1.0)
        return jnp.where(explores, jnp.where(now.available, share, 0.0), fair)
