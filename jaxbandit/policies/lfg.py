"""lfg: Li, Liu & Ji (2019), "Combinatorial sleeping bandits with fairness constraints"; 000 sec. 5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from ..component import derived, parameter
from ..indices import UCB1
from ..policy import Index, Policy, Rule
from ..problem import World
from ..rounds import Round, product
from ..struct import struct
from . import needs

if TYPE_CHECKING:
    from ..problem import Problem


@struct
class Queue:
    """Q_k(t) = whole + part / unit, in integers so that equal queues tie; int32 `[K, *runs]`."""

    whole: Any
    part: Any
    base: Any


class LFG(Rule, name="lfg"):
    """The largest virtual queue plus a truncated index: Q_k(t) + eta min(index_k, 1)."""

    source: ClassVar[str] = "Li, Liu & Ji 2019; 000 sec. 5"
    initial_pass: ClassVar[bool] = False  # an arm never selected counts as truncated instead
    base: Index = parameter(UCB1(), doc="the index; ucb1's exploration is 2 in 000, 3/2 in Li et al., 001 and 003")
    eta: float = parameter(1.0, low=0, doc="weight of rewards against queues")
    step: Any = derived()  # tau = step / unit
    unit: Any = derived()

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        tau = needs.fractions(problem, self.name)
        # int32 holds the ratio of every decimal of 9 places; longer ones are met to within 2^-60.
        ratios = [[value.limit_denominator(10**9) for value in row] for row in tau]
        step = np.array([[value.numerator for value in row] for row in ratios], np.int32)
        unit = np.array([[value.denominator for value in row] for row in ratios], np.int32)
        return super().prepare(problem, horizon).replace(step=step, unit=unit)

    def init(self, world: World, shape: tuple[int, ...]) -> Queue:
        empty = jnp.zeros(shape, jnp.int32)  # Q(0) = 0, and nothing was selected in round 0: Q(1) = tau
        return self._grow(Queue(empty, empty, super().init(world, shape)), jnp.zeros(shape, bool))

    def value(self, state: Queue, now: Round) -> Array:
        dtype = now.deviation.dtype
        queue = state.whole.astype(dtype) + state.part.astype(dtype) / self.unit.astype(dtype)
        truncated = jnp.where(now.pulls == 0, 1.0, jnp.minimum(self.index(state.base, now), 1.0))
        # Less eta for every arm, which leaves their order, and the queues of truncated arms as exact as they are.
        return queue + product(self.eta, truncated - 1.0)

    def update(self, state: Queue, after: Round, selected: Array) -> Queue:
        base = super().update(state.base, after, selected)
        return self._grow(Queue(state.whole, state.part, base), selected)

    def _grow(self, state: Queue, selected: Array) -> Queue:
        """Q(t) = max(Q(t-1) + tau - [selected in t-1], 0) (Li et al. eq. 4)."""
        room = self.unit - self.step  # part + step >= unit, without the sum that could overflow
        carry = state.part >= room
        whole = state.whole + carry.astype(jnp.int32) - selected.astype(jnp.int32)
        part = jnp.where(carry, state.part - room, state.part + self.step)
        below = whole < 0
        return Queue(jnp.where(below, 0, whole), jnp.where(below, 0, part), state.base)
