"""Relaxed runs from their first round to their last.

Scans over rounds go in chunks of about sqrt(T) rounds. For the derivatives, only the first state of each chunk is kept
and the states in between are computed again (Griewank & Walther 2000), so memory grows like sqrt(T).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.rationals import Quota
from jaxbandit.engine.rollout import Keys
from jaxbandit.engine.stepping.relaxed import relaxed_round
from jaxbandit.engine.stepping.relaxed.relaxed_round import ShareState
from jaxbandit.engine.stepping.relaxed.softness import Softness
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Policy

Carry = TypeVar("Carry")


class RunInputs(NamedTuple):
    """What all runs share, on the device; arrays `[K or 1, *runs]`, the run axes broadcasting.

    Attributes:
        world: the problem.
        key: the runs' key words, two uint32 arrays `[1, *runs]`.
        quotas: tau s for s = 0, ..., T, arrays `[T + 1, K, *runs]`; None without fractions.
        softness: of the choice between arms, and of thresholds.
    """

    world: World
    key: Keys
    quotas: Quota | None
    softness: Softness


def final_state(
    policy: Policy, run_inputs: RunInputs, shape: tuple[int, ...], rounds: int, asked: tuple[str, ...] = ()
) -> ShareState:
    """The state of relaxed runs after their last round.

    Args:
        policy: prepared, on the device; it accepts shares.
        run_inputs: what the runs share.
        shape: (K, *runs).
        rounds: T.
        asked: the names of the sums of `rollout.CHANCES` to keep.
    """
    world, key, quotas, softness = run_inputs
    horizon = jnp.asarray(rounds, jnp.int32)

    def step(state: ShareState, before: Array) -> tuple[ShareState, None]:
        quota = quotas_of_round(quotas, before)
        return relaxed_round.play(policy, world, state, before + 1, horizon, *quota, key, softness)[0], None

    return scan_in_chunks(step, relaxed_round.begin(policy, world, shape, key, asked), rounds)


def quotas_of_round(quotas: Quota | None, before: Array) -> tuple[Quota | None, Quota | None]:
    """tau (t-1) and tau t, where `before` is t-1: two rows of the table, or None and None without one."""
    if quotas is None:
        return None, None

    def row(place: Array) -> Quota:
        return jax.tree.map(lambda rows: lax.dynamic_index_in_dim(rows, place, keepdims=False), quotas)

    return row(before), row(before + 1)


def scan_in_chunks(step: Callable[[Carry, Array], tuple[Carry, None]], carry: Carry, rounds: int) -> Carry:
    """`step` over the rounds 0, ..., rounds - 1, in chunks of about sqrt(rounds) rounds."""
    length = max(1, math.isqrt(rounds))
    chunks = rounds // length
    numbers = jnp.arange(rounds, dtype=jnp.int32)

    @jax.checkpoint
    def chunk(carry: Carry, numbers: Array) -> tuple[Carry, None]:
        return lax.scan(step, carry, numbers)

    carry, _ = lax.scan(chunk, carry, numbers[: chunks * length].reshape(chunks, length))
    if chunks * length < rounds:
        carry, _ = chunk(carry, numbers[chunks * length :])
    return carry
