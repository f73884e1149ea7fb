"""The state of a batch of runs between two rounds, and what happened in a round."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
from jax import Array

from jaxbandit.core import compensated_sums as sums
from jaxbandit.core.struct import struct
from jaxbandit.engine.rounds.feedback import Sent, Trace, added
from jaxbandit.environment.feedback_calendar import Calendar, Feedback


@struct
class State:
    """The state of a batch of runs between two rounds; arrays `[K, *runs]`, or `[1, *runs]` with one number per run.

    Attributes:
        pulls: N_k(t), int32.
        received: M_k(t), the rewards that arrived, int32; None without delays, where it equals `pulls`.
        deviation: S_k(t), the sum of the arrived rewards, minus M_k(t) times the reward's centre, float.
        deviation_error: what rounding has added to `deviation` in error, float; None where means do not change, since
            deviations from them stay near 0.
        squares: the sum of squared deviations, float; None unless the policy needs it.
        squares_error: what rounding has added to `squares` in error, float; None without `squares`.
        under_way: the calendar of feedback that has not arrived yet, arrays `[length K, *runs]`; None without one.
        policy: the policy's state.
        offered: the plays that the available arms allowed so far, int32 `[1, *runs]`; None where all arms are always
            available.
        sums: the requested sums of `SUMS`, by name, each a compensated sum of float `[1, *runs]`.
        deficits_ever: the largest deficits so far, of arms and of groups, as `deficits.deficits_ever` counts them,
            float `[1, *runs]`; by the name of the metric, empty if they are not needed.
        miscounted: the number of selected arms minus the number of allowed arms, in the first round where they differ;
            0 if there was none, int32 `[1, *runs]`; None for a policy of this package.
        misdelayed: the first delay that was below 0 or longer than the model's `longest`; 0 if there was none, int32
            `[1, *runs]`; None for a delay model of this package.
        trace: the selections of the last rounds; None where none are kept.
    """

    pulls: Array
    received: Array | None
    deviation: Array
    deviation_error: Array | None
    squares: Array | None
    squares_error: Array | None
    under_way: Calendar | None
    policy: Any  # a pytree of the policy's choice
    offered: Array | None
    sums: dict[str, sums.CompensatedSum]
    deficits_ever: dict[str, Array]
    miscounted: Array | None
    misdelayed: Array | None
    trace: Trace | None


@struct
class RoundEvents:
    """What happened in a round.

    Attributes:
        selected: the selected arms, bool `[K, *runs]`.
        chances: p_k(t), float `[K, *runs]`; None where they were not computed.
        sent: the rewards of the selected arms and their delays.
        arrived: the feedback that arrived at the end of the round, per arm `[K, *runs]`.
    """

    selected: Array
    chances: Array | None
    sent: Sent
    arrived: Feedback


def with_rewards(state: State, sent: Sent, more: Feedback, arrived: Feedback) -> State:
    """The state with the rewards that have arrived in a round.

    Args:
        sent: the rewards of the round.
        more: what arrived, in the form that `added` takes.
        arrived: the same per arm, `[K, *runs]`.
    """
    if state.received is not None:
        state = dataclasses.replace(state, received=added(state.received, more.count, sent))
    if state.squares is not None and state.squares_error is not None:
        squares, error = _added_exactly(state.squares, state.squares_error, arrived.squares, arrived.count)
        state = dataclasses.replace(state, squares=squares, squares_error=error)
    if state.deviation_error is None:
        return dataclasses.replace(state, deviation=added(state.deviation, more.total, sent))
    total, error = _added_exactly(state.deviation, state.deviation_error, arrived.total, arrived.count)
    return dataclasses.replace(state, deviation=total, deviation_error=error)


def _added_exactly(totals: Array, error: Array, more: Array, count: Array) -> tuple[Array, Array]:
    """Totals per arm with those of a round added, and what rounding has added to them in error; `[K, *runs]`."""
    made = sums.add(sums.CompensatedSum(totals, error), more)
    return jnp.where(count > 0, made.value, totals), jnp.where(count > 0, made.compensation, error)
