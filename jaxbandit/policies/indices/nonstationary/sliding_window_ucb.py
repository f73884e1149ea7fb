"""sliding-window-ucb: Garivier & Moulines (2011)."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core import compensated_sums as sums
from jaxbandit.core.compensated_sums import CompensatedSum
from jaxbandit.core.component import parameter
from jaxbandit.core.input_values import Number
from jaxbandit.core.struct import struct
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Index
from jaxbandit.policies.round_view import Arrived, RoundView, safe_sqrt


@struct
class Window:
    """The feedback that arrived in the last w rounds.

    Attributes:
        rounds: the feedback of the last w + 1 rounds, arrays `[w + 1, K, *runs]`; that of round s is at s mod (w + 1).
        count: M_k, the number of rewards that arrived in the last w rounds, int32 `[K, *runs]`.
        total: their sum, `[K, *runs]`.
        last_selected: the last round in which each arm was selected, 0 if none, int32 `[K, *runs]`.
    """

    rounds: Arrived
    count: Array
    total: CompensatedSum
    last_selected: Array


class SlidingWindowUCB(Index, name="sliding-window-ucb"):
    """Sliding-window UCB: UCB1 for mean rewards that change, from the feedback of the last w rounds alone.

    The index in round t is m_k + sqrt(x log(min(t, w)) / M_k), where M_k is the number of rewards of arm k that arrived
    in the last w rounds, m_k their mean, w the parameter `window` and x the parameter `exploration`. If no reward
    arrived in these rounds, the index is +infinity, unless the arm was selected in them: then M_k is taken as 1 and m_k
    as 0. Each run keeps the feedback of w rounds: 8 (w + 1) K bytes in float32.

    Garivier & Moulines write B sqrt(ξ log(min(t, w)) / M_k) for rewards in [0, B], so x is ξ B^2.

    Source: Garivier & Moulines (2011), "On upper-confidence bound policies for switching bandit problems".

    Example:
        >>> jb.policy("sliding-window-ucb", window=500)
        SlidingWindowUCB(window=500, exploration=2.0)
    """

    source: ClassVar[str] = "Garivier & Moulines 2011"
    needs_arrived: ClassVar[bool] = True
    window: int = parameter(1000, low=1, high=10**7, doc="w, the number of rounds whose feedback counts", static=True)
    exploration: Number = parameter(2.0, low=0, doc="x, the weight of the logarithm in the radius", smooth=True)

    def init(self, world: World, shape: tuple[int, ...]) -> Window:
        real, length = jnp.result_type(float), self.window + 1
        rounds = Arrived(jnp.zeros((length, *shape), jnp.int32), jnp.zeros((length, *shape), real))
        none = jnp.zeros(shape, jnp.int32)
        return Window(rounds, none, sums.zeros(shape), none)

    def value(self, state: Window, now: RoundView) -> Array:
        count = jnp.maximum(state.count, 1).astype(now.deviation.dtype)
        log = dataclasses.replace(now, t=jnp.minimum(now.t, self.window)).log()
        index = state.total.value / count + safe_sqrt(self.exploration * log / count)
        long_ago = state.last_selected < now.random.t.astype(jnp.int32) - self.window
        return jnp.where((state.count == 0) & long_ago, jnp.inf, index)

    def update(self, state: Window, after: RoundView, selected: Array) -> Window:
        arrived = Arrived(after.arrived.count, after.arrived.total)
        t = after.random.t.astype(jnp.int32)  # the round of the simulation, the same for all runs
        length = len(state.rounds.count)

        def put(kept: Array, new: Array) -> Array:
            return lax.dynamic_update_index_in_dim(kept, new.astype(kept.dtype), t % length, 0)

        # The rounds that leave are read after this round is written, so that XLA updates the arrays in place.
        rounds = jax.tree.map(put, state.rounds, arrived)
        oldest = (t + 1) % length  # round t - w
        left = jax.tree.map(lambda kept: lax.dynamic_index_in_dim(kept, oldest, keepdims=False), rounds)
        count = state.count + arrived.count - left.count
        total = sums.add(sums.add(state.total, arrived.total), -left.total)
        total = jax.tree.map(lambda part: jnp.where(count == 0, 0.0, part), total)  # no rounding stays behind
        return Window(rounds, count, total, jnp.where(selected, t, state.last_selected))
