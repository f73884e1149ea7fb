"""The selections of the last rounds of each run, their rewards and their delays."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.struct import struct
from jaxbandit.engine.feedback import Sent
from jaxbandit.policies.selection.arm_indices import selected_arms, take_arms


class Selections(NamedTuple):
    """The selected arms of a round, and what was sent for them: arrays `[L, *runs]`.

    Attributes:
        arms: in increasing order, int32; -1 in the last places where fewer arms were available.
        rewards: as drawn, float; 0 for arm -1.
        delays: in rounds, int32; 0 for arm -1.
    """

    arms: Array
    rewards: Array
    delays: Array


def selections(sent: Sent, selected: Array, plays: int) -> Selections:
    """The selected arms of a round, and what was sent for them.

    Args:
        sent: the rewards and delays of the round.
        selected: bool `[K, *runs]`.
        plays: L.
    """
    count = len(selected)
    none = jnp.zeros((), jnp.int32)
    delays = jnp.broadcast_to(none if sent.rounds is None else sent.rounds, sent.arm.shape)
    rewards = jnp.broadcast_to(sent.reward, sent.arm.shape)
    if len(sent.arm) < count or plays == 1:  # the round drew rewards of the selected arms
        arms = jnp.where(sent.arm < count, sent.arm, -1)
    else:
        arms = selected_arms(selected, plays)
        rewards, delays = take_arms((rewards, delays), jnp.where(arms < 0, count, arms), count)
    here = arms >= 0
    return Selections(arms, jnp.where(here, rewards, jnp.zeros((), rewards.dtype)), jnp.where(here, delays, none))


@struct
class Trace:
    """The selections of the last n rounds, arrays `[n, L, *runs]`: those of round t at position (t - 1) mod n."""

    arms: Array
    rewards: Array
    delays: Array


def empty_trace(rounds: int, plays: int, runs: tuple[int, ...]) -> Trace:
    """A trace of `rounds` rounds, a power of 2."""
    shape = rounds, plays, *runs
    return Trace(jnp.zeros(shape, jnp.int32), jnp.zeros(shape, jnp.result_type(float)), jnp.zeros(shape, jnp.int32))


def with_round(trace: Trace, t: Array, made: Selections) -> Trace:
    """The trace with the selections of round t."""
    place = (t - 1) & (len(trace.arms) - 1)

    def put(kept: Array, new: Array) -> Array:
        return lax.dynamic_update_index_in_dim(kept, new.astype(kept.dtype), place, 0)

    return jax.tree.map(put, trace, Trace(*made))
