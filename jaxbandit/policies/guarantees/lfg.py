"""lfg: Li, Liu & Ji (2019), "Combinatorial sleeping bandits with fairness constraints"; 000 sec. 5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import derived, parameter
from jaxbandit.core.rationals import rounded_product
from jaxbandit.core.struct import struct
from jaxbandit.environment.world import World
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Index, Policy, Rule
from jaxbandit.policies.guarantees import virtual_queues
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.round_view import RoundView

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


@struct
class Backlog:
    """The queues Q_k(t) and the base's state."""

    queue: virtual_queues.Queue
    base: Any


class LFG(Rule, name="lfg"):
    """The largest virtual queue plus a truncated index: Q_k(t) + eta min(index_k, 1)."""

    source: ClassVar[str] = "Li, Liu & Ji 2019; 000 sec. 5"
    initial_pass: ClassVar[bool] = False  # an arm never selected counts as truncated instead
    real_counts: ClassVar[bool] = True
    base: Index = parameter(UCB1(), doc="the index; ucb1's exploration is 2 in 000, 3/2 in Li et al., 001 and 003")
    eta: float = parameter(1.0, low=0, doc="weight of rewards against queues", smooth=True)
    pace: Any = derived()

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        tau = requirements.fractions(problem, self.name)
        return super().prepare(problem, horizon).replace(pace=virtual_queues.pace(tau))

    def init(self, world: World, shape: tuple[int, ...]) -> Backlog:
        start = virtual_queues.empty(shape)  # Q(0) = 0, and nothing was selected in round 0: Q(1) = tau
        return Backlog(self._next(start, jnp.zeros(shape, bool)), super().init(world, shape))

    def value(self, state: Backlog, now: RoundView) -> Array:
        queue = virtual_queues.length(state.queue, self.pace, now.deviation.dtype)
        truncated = jnp.where(now.pulls == 0, 1.0, jnp.minimum(self.index(state.base, now), 1.0))
        # Less eta for every arm, which leaves their order, and the queues of truncated arms as exact as they are.
        return queue + rounded_product(self.eta, truncated - 1.0)

    def update(self, state: Backlog, after: RoundView, selected: Array) -> Backlog:
        return Backlog(self._next(state.queue, selected), super().update(state.base, after, selected))

    def _next(self, queue: virtual_queues.Queue, selected: Array) -> virtual_queues.Queue:
        """Q(t) = max(Q(t-1) + tau - [selected in t-1], 0) (Li et al. eq. 4)."""
        queue = virtual_queues.grown(queue, self.pace, selected)
        return virtual_queues.cleared(queue, virtual_queues.negative(queue, self.pace))
