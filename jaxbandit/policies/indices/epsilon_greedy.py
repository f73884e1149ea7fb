"""epsilon-greedy: Sutton & Barto (1998), ch. 2; Auer, Cesa-Bianchi & Fischer (2002), Fig. 3 with constant eps."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.input_values import Number
from jaxbandit.core.xla.fusion import without_fusion
from jaxbandit.policies.base import Index, PolicyState
from jaxbandit.policies.indices.uniform_random import uniform_scores
from jaxbandit.policies.round_view import RoundView


class EpsilonGreedy(Index, name="epsilon-greedy"):
    """epsilon-greedy: plays a uniformly random arm with probability eps, else the arm with the highest mean reward.

    In rounds without a random arm, arms that were never selected come first. The probability is constant; Auer,
    Cesa-Bianchi & Fischer (2002, Fig. 3) let it decrease.

    Example:
        >>> jb.policy("epsilon-greedy", eps=0.05)
        EpsilonGreedy(eps=0.05)
    """

    source: ClassVar[str] = "Auer et al. 2002, Fig. 3, constant eps"
    initial_pass: ClassVar[bool] = False  # the coin is tossed from round 1 on; the greedy branch has a pass of its own
    eps: Number = parameter(0.1, low=0, high=1, doc="probability of a random arm")

    def value(self, state: PolicyState, now: RoundView) -> Array:
        explores = without_fusion(lambda: now.random.uniform(attempt=1) < self.eps, now.pulls)
        greedy = jnp.where(now.pulls == 0, jnp.inf, now.mean)
        return jnp.where(explores, uniform_scores(now), greedy)
