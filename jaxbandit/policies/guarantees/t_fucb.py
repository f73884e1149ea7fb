"""t-fucb: paper 001, Algorithm 2."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.component import derived, parameter
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Index, Policy, Rule
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.top_arms import top_available

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class TFUCB(Rule, name="t-fucb"):
    """First max(1, ceil(tau_k T)) plays of each arm, arm after arm, then the best index: knows the horizon."""

    source: ClassVar[str] = "001 Alg. 2"
    base: Index = parameter(UCB1(), doc="the index played when every arm has its share")
    share: Any = derived()  # n_k of 001 Alg. 2

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        tau = requirements.fractions(problem, self.name)
        plays = [[max(1, math.ceil(value * horizon)) for value in row] for row in tau]  # exact: tau is a ratio
        return super().prepare(problem, horizon).replace(share=np.array(plays, np.int32))

    def select(self, state: Any, now: RoundView) -> Array:
        def keys() -> tuple[Array, Array]:
            short = now.pulls < self.share
            return short.astype(jnp.int32), jnp.where(short, 0.0, self.index(state, now))

        return top_available(keys, now)
