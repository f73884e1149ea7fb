"""The base classes of policies with phases (opportunities paper).

In each phase but the last, a number of plays is scheduled for each arm, and the arms are played in order until no play
is left. While all arms with scheduled plays sleep, the available arm of highest mean reward is played. The length of a
phase depends on the rewards, so the runs of a batch can be in different phases: each run has its own `PhaseState`.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.component import derived, parameter
from jaxbandit.core.prng import Stream
from jaxbandit.core.struct import struct
from jaxbandit.core.users_code import contracts
from jaxbandit.core.xla.fusion import cond_fused, cond_update, without_fusion
from jaxbandit.core.xla.tiling import once_per_cell
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Index, Policy, PolicyState, checked_select_one
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.arm_indices import arm_index, take_arms
from jaxbandit.policies.selection.top_arm import MAX_UNROLLED_ARMS, one_hot
from jaxbandit.policies.selection.top_arms import top_available_number

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem

# Methods that decide the state before round 1
_BEFORE_ROUND_1 = ("next_schedule", "init_goal", "init_memory", "enter_last_phase")


@struct
class PhaseState:
    """The state of a policy with phases.

    Attributes:
        goal: the number of plays of each arm with which its scheduled plays are over, int32 `[K, *runs]`; no play is
            scheduled for an arm that has as many plays, or more.
        phase: the number of the phase, from 0, int32 `[1, *runs]`.
        ended: the last round of each phase that is over, int32 `[phases - 1, *runs]`.
        memory: a pytree that the policy chooses, or None.
        last_phase_state: the state of the policy of the last phase, a pytree or None.
    """

    goal: Array
    phase: Array
    ended: Array
    memory: Any
    last_phase_state: Any


class PhasedPolicy(Policy):
    """A policy with phases.

    A subclass implements `select_in_last_phase` and `next_schedule`. A run that is in a tested phase and has no
    scheduled play left calls `next_schedule`, which schedules further plays in the same phase or starts a later phase.

    Class attributes that a subclass may set, beside those of `Policy`:
        tested_phases: the number of tested phases; these are the first phases. Default 1. Later phases end when their
            scheduled plays are over.
    """

    tested_phases: ClassVar[int] = 1
    many_plays: ClassVar[bool] = False
    horizon: Array = derived()

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        return super().prepare(problem, horizon).replace(horizon=np.asarray(horizon, np.int32))

    def init_goal(self, shape: tuple[int, ...]) -> Array:
        """The `goal` before round 1, int32 `[K, *runs]`; by default no play is scheduled."""
        return jnp.zeros(shape, jnp.int32)

    def init_memory(self, world: World, shape: tuple[int, ...]) -> Any:
        """The memory before round 1: a pytree of arrays, or None."""
        return None

    def first_schedule(self, world: World, shape: tuple[int, ...]) -> tuple[Array, Array, Any] | None:
        """The goal, the phase and the memory in round 1 if they are known beforehand, else None.

        If they are None, `next_schedule` is called before round 1, which is one more function to compile.
        """
        return None

    def next_schedule(self, state: PhaseState, after: RoundView) -> PhaseState:
        """The state with a new phase, goal and memory, for runs in a tested phase that have no scheduled play left.

        A run for which the method schedules no play enters the last phase. The results for other runs, and the other
        attributes of the returned state, are ignored.
        """
        raise TypeError(f"{type(self).__name__} has no next_schedule")

    def select_in_last_phase(self, state: PhaseState, now: RoundView) -> Array:
        """The arm to play in the last phase, int32 `[1, *runs]`; K where no arm is available."""
        raise TypeError(f"{type(self).__name__} has no select_in_last_phase")

    def committed_in_last_phase(self, now: RoundView) -> Array | int:
        """The `committed_rounds` of runs in the last phase; by default 1."""
        return 1

    def init_last_phase(self, world: World, shape: tuple[int, ...]) -> Any:
        """The state of the last phase before round 1: a pytree of arrays, or None."""
        return None

    def enter_last_phase(self, state: PhaseState, after: RoundView, entering: Array) -> Any:
        """The state of the last phase after a round; the runs `entering`, bool `[1, *runs]`, now enter this phase."""
        return state.last_phase_state

    def update_last_phase(self, state: PhaseState, after: RoundView, selected: Array) -> Any:
        """The state of the last phase after a round; only runs in the last phase may change."""
        return state.last_phase_state

    def init(self, world: World, shape: tuple[int, ...]) -> PhaseState:
        return once_per_cell(functools.partial(self._begun, world), shape)

    def _begun(self, world: World, shape: tuple[int, ...]) -> PhaseState:
        none, last_phase_state = jnp.zeros((1, *shape[1:]), jnp.int32), self.init_last_phase(world, shape)
        ended = jnp.zeros((len(self.phases) - 1, *shape[1:]), jnp.int32)
        changed = contracts.has_users_method(self, *_BEFORE_ROUND_1)
        first = None if changed else self.first_schedule(world, shape)
        if first is not None:
            goal, phase, memory = first
            return PhaseState(goal, phase, ended, memory, last_phase_state)
        state = PhaseState(self.init_goal(shape), none, ended, self.init_memory(world, shape), last_phase_state)
        return self._advance(state, view_before_round_1(shape, self.horizon))

    def select(self, state: PhaseState, now: RoundView) -> Array:
        return one_hot(self._select_one(state, now), now.available)

    def _select_one(self, state: PhaseState, now: RoundView) -> Array:
        in_last = state.phase == len(self.phases) - 1
        early = cond_fused(jnp.all(in_last), lambda: state.phase, lambda: _first_due(state, now))
        late = cond_fused(jnp.any(in_last), lambda: self.select_in_last_phase(state, now), lambda: early)
        return jnp.where(in_last, late, early)

    def committed_rounds(self, state: PhaseState, now: RoundView, arm: Array) -> Array:
        due = take_arms(state.goal, arm, len(now.pulls)) - take_arms(now.pulls, arm, len(now.pulls))
        return jnp.where(state.phase == len(self.phases) - 1, self.committed_in_last_phase(now), due)

    def update(self, state: PhaseState, after: RoundView, selected: Array) -> PhaseState:
        last_phase_state = self.update_last_phase(state, after, selected)
        return self._advance(dataclasses.replace(state, last_phase_state=last_phase_state), after)

    def _advance(self, state: PhaseState, after: RoundView) -> PhaseState:
        """The state with a new goal, or in a later phase, for the runs whose scheduled plays are over."""
        last = len(self.phases) - 1
        moving = _none_due(state.goal, after.pulls) & (state.phase < last)

        def move(state: PhaseState) -> PhaseState:
            tested = moving & (state.phase < self.tested_phases)
            old = state.phase, state.goal, state.memory

            def test() -> tuple[Array, Array, Any]:
                made = self.next_schedule(state, after)
                new = made.phase, made.goal, made.memory
                return jax.tree.map(lambda new, old: jnp.where(tested, new, old), new, old)

            phase, goal, memory = cond_fused(jnp.any(tested), test, lambda: old)
            phase = jnp.where(moving & _none_due(goal, after.pulls), last, phase)
            entering = moving & (phase == last)
            moved = dataclasses.replace(state, phase=phase, goal=goal, memory=memory)
            last_phase_state = cond_fused(
                jnp.any(entering),
                lambda: self.enter_last_phase(moved, after, entering),
                lambda: state.last_phase_state,
            )
            number = lax.broadcasted_iota(jnp.int32, state.ended.shape, 0)
            over = (state.phase <= number) & (number < phase)
            return PhaseState(goal, phase, jnp.where(over, after.t, state.ended), memory, last_phase_state)

        return cond_update(jnp.any(moving), move, state)

    def phase_rounds(self, state: PhaseState, rounds: Array) -> Array:
        number = lax.broadcasted_iota(jnp.int32, state.ended.shape, 0)
        ended = jnp.where(state.phase <= number, rounds, state.ended)
        ends = jnp.concatenate([ended, jnp.broadcast_to(rounds, state.phase.shape)])
        return jnp.diff(ends, axis=0, prepend=jnp.zeros_like(state.phase))


def _none_due(goal: Array, pulls: Array) -> Array:
    """Whether no play is scheduled, bool `[1, *runs]`."""
    arms = len(pulls)
    if arms > MAX_UNROLLED_ARMS:
        return jnp.all(goal <= pulls, axis=0, keepdims=True)

    def none() -> Array:  # arm by arm, so that no mask of all arms is written down
        return functools.reduce(jnp.logical_and, (goal[k : k + 1] <= pulls[k : k + 1] for k in range(arms)))

    return without_fusion(none, pulls)


def _first_due(state: PhaseState, now: RoundView) -> Array:
    """The lowest available arm with a scheduled play, or where all of these sleep, the available arm of highest mean.

    int32 `[1, *runs]`; K where no arm is available.
    """
    arms = len(now.pulls)
    first = arm_index(now.available & (state.goal > now.pulls))

    def best() -> Array:
        return jnp.where(first < arms, first, top_available_number(lambda: (now.mean,), now, now.tie_breaker))

    return cond_fused(jnp.any(first == arms), best, lambda: first)


@struct
class BlackBoxState:
    """The state of a black box, and the counts and sums from the time before it started.

    Attributes:
        pulls, received, deviation, squares: as in `RoundView`, when the black box started; None where they are not
            counted.
        started: the round after which it started, int32 `[1, *runs]`.
        inner: the state of the index.
    """

    pulls: Array
    received: Array | None
    deviation: Array
    squares: Array | None
    started: Array
    inner: PolicyState


class BlackBoxPolicy(PhasedPolicy):
    """A policy whose last phase is played by an index, the parameter `black_box`, as if a new simulation began.

    The black box sees only the rounds, plays and rewards of the last phase, but the horizon T of the whole simulation.
    Rewards of earlier plays that arrive in the last phase are among these rewards.
    """

    if TYPE_CHECKING:
        black_box: Index = parameter()

    def init_last_phase(self, world: World, shape: tuple[int, ...]) -> BlackBoxState:
        counts, totals = jnp.zeros(shape, jnp.int32), jnp.zeros(shape, jnp.result_type(float))
        received = None if world.delay.immediate else counts
        squares = totals if self.wants_squares else None
        return BlackBoxState(counts, received, totals, squares, counts[:1], self.black_box.init(world, shape))

    def select_in_last_phase(self, state: PhaseState, now: RoundView) -> Array:
        box: BlackBoxState = state.last_phase_state
        return checked_select_one(self.black_box, box.inner, _view_of_black_box(box, now))

    def update_last_phase(self, state: PhaseState, after: RoundView, selected: Array) -> BlackBoxState:
        in_last = state.phase == len(self.phases) - 1
        box: BlackBoxState = state.last_phase_state
        inner = self.black_box.update(box.inner, _view_of_black_box(box, after), selected)
        kept = jax.tree.map(lambda new, old: jnp.where(in_last, new, old), inner, box.inner)
        return dataclasses.replace(box, inner=kept)

    def enter_last_phase(self, state: PhaseState, after: RoundView, entering: Array) -> BlackBoxState:
        old: BlackBoxState = state.last_phase_state
        start = BlackBoxState(
            after.pulls,
            None if old.received is None else after.received,
            after.deviation,
            None if old.squares is None else after.squares,
            jnp.broadcast_to(after.t, old.started.shape),
            old.inner,
        )
        return jax.tree.map(lambda new, kept: jnp.where(entering, new, kept), start, old)


def _view_of_black_box(box: BlackBoxState, now: RoundView) -> RoundView:
    """The view of a round for a black box: counts and sums since its start, and random numbers of its own."""
    pulls = now.pulls - box.pulls
    return dataclasses.replace(
        now.for_wrapped_policy(),
        t=now.t - box.started,
        pulls=pulls,
        received=pulls if box.received is None else now.received - box.received,
        deviation=now.deviation - box.deviation,
        squares=None if box.squares is None else now.squares - box.squares,
    )


def view_before_round_1(shape: tuple[int, ...], horizon: Array) -> RoundView:
    """The view at the end of round 0."""
    counts, totals = jnp.zeros(shape, jnp.int32), jnp.zeros(shape, jnp.result_type(float))
    zero = jnp.asarray(0, jnp.int32)
    return RoundView(
        t=zero,
        horizon=jnp.asarray(horizon),
        pulls=counts,
        received=counts,
        deviation=totals,
        squares=totals,
        centre=None,
        available=jnp.ones(shape, bool),
        quota_before=None,
        quota_now=None,
        fractions=None,
        penalties=None,
        random=Stream((jnp.zeros((1,) * len(shape), jnp.uint32),) * 2, jnp.uint32(0)),
        plays=1,
    )


def gap_bounds(after: RoundView, radius: Array | None = None) -> tuple[Array, Array]:
    """The ends of confidence intervals for the gap of each arm to the best mean: at least 0, and at most 1.

    They are 0 and 1 for arms that were never selected. Source: opportunities paper, Alg. 4, lines 17-18.

    Args:
        after: the view at the end of a round.
        radius: the confidence radius of each arm, or `[1, *runs]` where it is the same for all; default: computed.
    """
    mean, seen = after.mean, after.pulls > 0
    radius = confidence_radius(after, after.samples) if radius is None else radius
    gap = jnp.max(mean, axis=0, keepdims=True) - mean
    least = jnp.where(seen, jnp.maximum(gap - 2.0 * radius, 0.0), 0.0)
    return least, jnp.where(seen, jnp.minimum(gap + 2.0 * radius, 1.0), 1.0)


def confidence_intervals(after: RoundView) -> tuple[Array, Array]:
    """The ends of confidence intervals for the mean of each arm, in [0, 1].

    They are 0 and 1 for arms that were never selected. Source: opportunities paper, Alg. 4, lines 14-16.
    """
    mean, radius, seen = jnp.clip(after.mean, 0.0, 1.0), confidence_radius(after, after.samples), after.pulls > 0
    low = jnp.where(seen, jnp.maximum(mean - radius, 0.0), 0.0)
    return low, jnp.where(seen, jnp.minimum(mean + radius, 1.0), 1.0)


def confidence_radius(after: RoundView, samples: Array) -> Array:
    """sqrt(2 log T / samples), float."""
    return jnp.sqrt(2.0 * jnp.log(after.horizon.astype(after.deviation.dtype)) / samples)
