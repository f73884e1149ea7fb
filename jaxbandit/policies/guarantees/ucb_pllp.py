"""ucb-pllp: Liu, Xu, Wang & Fang (2022), "Combinatorial bandits with linear constraints"; plays paper, App. G.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core import compensated_sums
from jaxbandit.core.compensated_sums import CompensatedSum
from jaxbandit.core.component import derived, parameter
from jaxbandit.core.input_values import Number
from jaxbandit.core.rationals import rounded_product
from jaxbandit.core.struct import struct
from jaxbandit.core.xla.fusion import without_fusion
from jaxbandit.environment.world import World
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Index, Policy, PolicyState, Rule
from jaxbandit.policies.guarantees import virtual_queues
from jaxbandit.policies.guarantees.virtual_queues import Growth, Queue
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.bitmask import as_mask, as_words

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


@struct
class UCBPLLPState:
    """The state of ucb-pllp: the virtual queues Q_k(t), in parts that each stay exact, and the state of the base.

    Attributes:
        queue: the sum over the rounds since the queue was last empty of tau_k, less 1 where arm k was selected.
        slack: E(t), the sum of eps_s over s < t, a `CompensatedSum` of shape `[1, *runs]`.
        slack_when_empty: E in the round in which the queue was last empty, float `[K, *runs]`.
        base: the state of the base.
    """

    queue: Queue
    slack: CompensatedSum
    slack_when_empty: Array
    base: PolicyState


class UCBPLLP(Rule, name="ucb-pllp"):
    """UCB-PLLP: plays the arm of highest min(index_k, 1) + alpha Q_k(t) / sqrt(t), a truncated index plus a queue.

    index_k is the index `base` of arm k. The virtual queue Q_k counts the rounds that the arm is owed. In round t it
    grows by the fraction tau_k and by eps / sqrt(t), and it shrinks by 1 if the arm is selected: Q_k(t+1) =
    max(Q_k(t) + tau_k + eps / sqrt(t) - x_k(t), 0), where x_k(t) is 1 if the arm was selected in round t, else 0, and
    Q_k(1) = 0. The problem needs `fractions`.

    Source: Liu, Xu, Wang & Fang (2022), "Combinatorial bandits with linear constraints: beyond knapsacks and
    fairness"; plays paper, App. G.1.

    Raises:
        InputError: when the simulation starts, if the problem has no fractions.

    Example:
        >>> jb.policy("ucb-pllp", eps=0.1, exploration=1.5)
        UCBPLLP(base=UCB1(exploration=1.5, log_offset=0.0), alpha=0.9, eps=0.1)
    """

    source: ClassVar[str] = "Liu et al. 2022; plays paper, App. G.1"
    initial_pass: ClassVar[bool] = False  # the truncated index of an arm never selected is 1
    equal_at_first: ClassVar[bool] = True
    real_counts: ClassVar[bool] = True
    base: Index = parameter(UCB1(), doc="the index that is truncated at 1")
    alpha: Number = parameter(
        0.9, low=0, doc="weight of queues against rewards: alpha_t = alpha / sqrt(t)", smooth=True
    )
    eps: Number = parameter(0.2, low=0, doc="growth of queues in addition to tau: eps_t = eps / sqrt(t)", smooth=True)
    growth: Growth = derived()

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        tau = requirements.fractions(problem, self.name)
        return super().prepare(problem, horizon).replace(growth=virtual_queues.growth(tau))

    def init(self, world: World, shape: tuple[int, ...]) -> UCBPLLPState:
        dtype = jnp.result_type(float)
        slack = compensated_sums.zeros((1, *shape[1:]))
        return UCBPLLPState(virtual_queues.empty(shape), slack, jnp.zeros(shape, dtype), super().init(world, shape))

    def value(self, state: UCBPLLPState, now: RoundView) -> Array:
        truncated = jnp.minimum(self.index(state.base, now), 1.0)
        return truncated + rounded_product(self.alpha / _sqrt_t(now), self._length(state))

    def update(self, state: UCBPLLPState, after: RoundView, selected: Array) -> UCBPLLPState:
        queue = virtual_queues.grown(state.queue, self.growth, selected)
        slack = compensated_sums.add(state.slack, self.eps / _sqrt_t(after))
        grown = UCBPLLPState(queue, slack, state.slack_when_empty, super().update(state.base, after, selected))
        # In memory, as bits: else lengths are computed for each array of the state
        words = without_fusion(lambda: as_words(self._length(grown) <= 0), selected)
        empty = as_mask(words, len(selected))
        slack_when_empty = jnp.where(empty, slack.value, state.slack_when_empty)
        return UCBPLLPState(virtual_queues.emptied(queue, empty), slack, slack_when_empty, grown.base)

    def _length(self, state: UCBPLLPState) -> Array:
        """Q_k, float `[K, *runs]`."""
        tau_part = virtual_queues.length(state.queue, self.growth, state.slack_when_empty.dtype)
        return tau_part + (state.slack.value - state.slack_when_empty)


def _sqrt_t(now: RoundView) -> Array:
    return jnp.sqrt(now.t.astype(now.deviation.dtype))
