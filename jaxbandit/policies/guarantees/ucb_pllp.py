"""ucb-pllp: Liu, Xu, Wang & Fang (2022), "Combinatorial bandits with linear constraints"; 003 App. G.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core import compensated_sums
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
    """The queues Q_k(t), in the parts of which each stays exact.

    Attributes:
        queue: tau minus selections, summed since the queue was last empty.
        slack: E(t), the sum of eps_s over s < t, a `Sum` of shape `[1, *runs]`.
        emptied: E at the round in which the queue was last empty, float `[K, *runs]`.
        base: the base's state.
    """

    queue: virtual_queues.Queue
    slack: Any
    emptied: Any
    base: Any


class UCBPLLP(Rule, name="ucb-pllp"):
    """The largest truncated index plus a virtual queue: min(index_k, 1) + alpha Q_k(t) / sqrt(t).

    Q_k(t+1) = max(Q_k(t) + tau_k + eps / sqrt(t) - [k selected in t], 0), Q_k(1) = 0.
    """

    source: ClassVar[str] = "Liu et al. 2022; 003 App. G.1"
    initial_pass: ClassVar[bool] = False  # an arm never selected counts as truncated instead
    real_counts: ClassVar[bool] = True
    base: Index = parameter(UCB1(), doc="the index that is truncated at 1")
    alpha: float = parameter(0.9, low=0, doc="weight of queues against rewards: alpha_t = alpha / sqrt(t)", smooth=True)
    eps: float = parameter(0.2, low=0, doc="what queues grow by beside tau: eps_t = eps / sqrt(t)", smooth=True)
    pace: Any = derived()

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        tau = requirements.fractions(problem, self.name)
        return super().prepare(problem, horizon).replace(pace=virtual_queues.pace(tau))

    def init(self, world: World, shape: tuple[int, ...]) -> Backlog:
        dtype = jnp.result_type(float)
        slack = compensated_sums.zeros((1, *shape[1:]))
        return Backlog(virtual_queues.empty(shape), slack, jnp.zeros(shape, dtype), super().init(world, shape))

    def value(self, state: Backlog, now: RoundView) -> Array:
        truncated = jnp.minimum(self.index(state.base, now), 1.0)
        return truncated + rounded_product(self.alpha / _root(now), self._length(state))

    def update(self, state: Backlog, after: RoundView, selected: Array) -> Backlog:
        queue = virtual_queues.grown(state.queue, self.pace, selected)
        slack = compensated_sums.add(state.slack, self.eps / _root(after))
        grown = Backlog(queue, slack, state.emptied, super().update(state.base, after, selected))
        below = self._length(grown) <= 0
        emptied = jnp.where(below, slack.value, state.emptied)
        return Backlog(virtual_queues.cleared(queue, below), slack, emptied, grown.base)

    def _length(self, state: Backlog) -> Array:
        """Q_k, float `[K, *runs]`."""
        return virtual_queues.length(state.queue, self.pace, state.emptied.dtype) + (state.slack.value - state.emptied)


def _root(now: RoundView) -> Array:
    return jnp.sqrt(now.t.astype(now.deviation.dtype))
