"""lfg: Li, Liu & Ji (2019), "Combinatorial sleeping bandits with fairness constraints"; penalties paper, sec. 5."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import derived, parameter
from jaxbandit.core.input_values import Number
from jaxbandit.core.rationals import rounded_product
from jaxbandit.core.struct import struct
from jaxbandit.environment.world import World
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Index, Policy, PolicyState, Rule
from jaxbandit.policies.guarantees import virtual_queues
from jaxbandit.policies.guarantees.virtual_queues import Growth, Queue
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.round_view import RoundView, group_sums

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


@struct
class LFGState:
    """The state of lfg: the virtual queues Q_k(t), those of groups, and the state of the base; None without a queue."""

    queue: Queue | None
    groups: Queue | None
    base: PolicyState


class LFG(Rule, name="lfg"):
    """LFG: plays the arm of highest Q_k(t) + eta min(index_k, 1), a virtual queue plus eta times a truncated index.

    index_k is the index `base` of arm k; min(index_k, 1) is 1 for an arm that was never selected. The queue Q_k counts
    the rounds that the arm is owed. It grows by the fraction tau_k per round and shrinks by 1 per selection:
    Q_k(t) = max(Q_k(t-1) + tau_k - x_k(t-1), 0), where x_k(t-1) is 1 if the arm was selected in round t-1, else 0, and
    Q_k(0) = x_k(0) = 0. Queues are computed in integers, so that equal queues tie. The problem needs `fractions`, or
    `group_fractions`, or both. The queue of a group grows by phi_g L per round and shrinks by the number of selections
    of its arms; it is added to the queue of each of its arms.

    Source: Li, Liu & Ji (2019), "Combinatorial sleeping bandits with fairness constraints"; penalties paper, sec. 5.

    Raises:
        InputError: when the simulation starts, if neither arms nor groups are guaranteed plays.

    Example:
        >>> jb.policy("lfg", eta=10.0, exploration=1.5)
        LFG(base=UCB1(exploration=1.5, log_offset=0.0), eta=10.0)
    """

    source: ClassVar[str] = "Li, Liu & Ji 2019; penalties paper, sec. 5"
    initial_pass: ClassVar[bool] = False  # the truncated index of an arm never selected is 1
    equal_at_first: ClassVar[bool] = True
    real_counts: ClassVar[bool] = True
    base: Index = parameter(
        UCB1(),
        doc="the index; the exploration of ucb1 is 2 in the penalties paper, 3/2 in Li et al. and in the guarantees "
        "and plays papers",
    )
    eta: Number = parameter(1.0, low=0, doc="weight of rewards against queues", smooth=True)
    growth: Growth | None = derived()
    group_growth: Growth | None = derived()

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        requirements.fractions_or_groups(problem, self.name)
        tau, groups = problem.fractions, problem.groups
        phi = None if groups is None or groups.fractions is None else groups.fractions * problem.plays
        own, of_groups = (None if part is None else virtual_queues.growth(part) for part in (tau, phi))
        return super().prepare(problem, horizon).replace(growth=own, group_growth=of_groups)

    def init(self, world: World, shape: tuple[int, ...]) -> LFGState:
        def start(growth: Growth | None, count: int) -> Queue | None:
            own = count, *shape[1:]  # Q(0) = 0, and nothing was selected in round 0: Q(1) = tau
            if growth is None:
                return None
            return _next_queue(virtual_queues.empty(own), growth, jnp.zeros(own, bool))

        groups = 0 if self.group_growth is None else len(world.groups)
        return LFGState(start(self.growth, shape[0]), start(self.group_growth, groups), super().init(world, shape))

    def value(self, state: LFGState, now: RoundView) -> Array:
        dtype = now.deviation.dtype
        queue = jnp.zeros((), dtype)
        if state.queue is not None and self.growth is not None:
            queue = virtual_queues.length(state.queue, self.growth, dtype)
        if state.groups is not None and self.group_growth is not None:
            lengths = virtual_queues.length(state.groups, self.group_growth, dtype)
            queue = queue + now.groups.of_arms(lengths, len(now.pulls), 0.0)
        truncated = jnp.where(now.pulls == 0, 1.0, jnp.minimum(self.index(state.base, now), 1.0))
        # Less eta for every arm, which leaves their order, and the queues of truncated arms as exact as they are.
        return queue + rounded_product(self.eta, truncated - 1.0)

    def update(self, state: LFGState, after: RoundView, selected: Array) -> LFGState:
        queue, groups = state.queue, state.groups
        if queue is not None and self.growth is not None:
            queue = _next_queue(queue, self.growth, selected)
        if groups is not None and self.group_growth is not None:
            groups = _next_queue(groups, self.group_growth, _selections(selected, groups, after))
        return LFGState(queue, groups, super().update(state.base, after, selected))


def _selections(selected: Array, queue: Queue, after: RoundView) -> Array:
    """The number of selections of each group, `[G, *runs]`; a sum of shares in relaxed runs."""
    return group_sums(selected.astype(queue.rounds.dtype), after.groups.members)


def _next_queue(queue: Queue, growth: Growth, selected: Array) -> Queue:
    """Q(t) = max(Q(t-1) + tau - x(t-1), 0), where x is 1 for selected arms, else 0 (Li et al., eq. 4)."""
    queue = virtual_queues.grown(queue, growth, selected)
    return virtual_queues.emptied(queue, virtual_queues.is_negative(queue, growth))
