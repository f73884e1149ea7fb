"""Policies that play in phases (004): stretches in which arms are due some plays, arm after arm, then a rest.

A phase's length follows from what a run has seen, so runs of a batch stand in different phases; each carries its own.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.component import derived
from jaxbandit.core.prng import Stream
from jaxbandit.core.struct import struct
from jaxbandit.core.xla.fusion import cond_fused, cond_update
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Index, Policy
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.top_arms import arm_index

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


@struct
class PhaseState:
    """Where runs stand.

    Attributes:
        debt: plays that each arm is due in this stretch, int32 `[K, *runs]`; none where 0 or less.
        phase: from 0, int32 `[1, *runs]`.
        ended: the last round of each phase that is over, int32 `[phases - 1, *runs]`.
        memory: what the policy keeps beside, or None.
        rest: the state of what plays in the last phase, or None.
    """

    debt: Any
    phase: Any
    ended: Any
    memory: Any
    rest: Any


class Phased(Policy):
    """A policy in phases. A subclass says in `decide` what comes when no arm is due, and in `rest` who plays last."""

    decided: ClassVar[int] = 1  # how many phases, the first ones, end by a test that `decide` makes
    many_plays: ClassVar[bool] = False
    horizon: Any = derived()

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        return super().prepare(problem, horizon).replace(horizon=np.asarray(horizon, np.int32))

    def memory(self, shape: tuple[int, ...]) -> Any:
        """What is remembered beside debts and phases, before round 1."""
        return None

    def first_debt(self, shape: tuple[int, ...]) -> Array:
        """Plays due before any test, int32 `[K, *runs]`."""
        return jnp.zeros(shape, jnp.int32)

    def decide(self, phase_state: PhaseState, after: RoundView) -> PhaseState:
        """What runs do next that have no arm due in one of the `decided` phases: their phase, debts and memory.

        Those without a debt then are in the last phase. What it says of other runs, and of the rest of the course, is
        not used.
        """
        raise TypeError(f"{type(self).__name__} has no decide")

    def rest(self, phase_state: PhaseState, now: RoundView) -> Array:
        """The arm that is played in the last phase, bool `[K, *runs]`."""
        raise TypeError(f"{type(self).__name__} has no rest")

    def first_rest(self, world: World, shape: tuple[int, ...]) -> Any:
        """The state of what plays in the last phase, before round 1."""
        return None

    def next_rest(self, phase_state: PhaseState, after: RoundView, selected: Array) -> Any:
        """That state after a round, where it was played in the last phase."""
        return phase_state.rest

    def entered(self, phase_state: PhaseState, after: RoundView, entering: Array) -> Any:
        """That state where the last phase begins, `entering` bool `[1, *runs]`; the course is as it was decided."""
        return phase_state.rest

    def init(self, world: World, shape: tuple[int, ...]) -> PhaseState:
        none = jnp.zeros((1, *shape[1:]), jnp.int32)
        ended = jnp.zeros((len(self.phases) - 1, *shape[1:]), jnp.int32)
        phase_state = PhaseState(self.first_debt(shape), none, ended, self.memory(shape), self.first_rest(world, shape))
        return self._settled(phase_state, _nothing_seen(shape, self.horizon))

    def select(self, state: PhaseState, now: RoundView) -> Array:
        resting = state.phase == len(self.phases) - 1
        early = cond_fused(jnp.all(resting), lambda: state.phase, lambda: _first_due(state.debt, now.available))
        late = cond_fused(jnp.any(resting), lambda: arm_index(self.rest(state, now)), lambda: early)
        return lax.broadcasted_iota(jnp.int32, state.debt.shape, 0) == jnp.where(resting, late, early)

    def update(self, state: PhaseState, after: RoundView, selected: Array) -> PhaseState:
        debt, rest = state.debt - selected.astype(jnp.int32), self.next_rest(state, after, selected)
        return self._settled(dataclasses.replace(state, debt=debt, rest=rest), after)

    def _settled(self, phase_state: PhaseState, after: RoundView) -> PhaseState:
        """The next stretch begun, where a stretch is over."""
        last = len(self.phases) - 1
        moving = _idle(phase_state.debt) & (phase_state.phase < last)

        def settle(phase_state: PhaseState) -> PhaseState:
            deciding = moving & (phase_state.phase < self.decided)
            old = phase_state.phase, phase_state.debt, phase_state.memory

            def decide() -> tuple[Array, Array, Any]:
                made = self.decide(phase_state, after)
                new = made.phase, made.debt, made.memory
                return jax.tree.map(lambda new, old: jnp.where(deciding, new, old), new, old)

            phase, debt, memory = cond_fused(jnp.any(deciding), decide, lambda: old)
            phase = jnp.where(moving & _idle(debt), last, phase)
            entering = moving & (phase == last)
            decided = dataclasses.replace(phase_state, phase=phase, debt=debt, memory=memory)
            rest = cond_fused(
                jnp.any(entering), lambda: self.entered(decided, after, entering), lambda: phase_state.rest
            )
            number = lax.broadcasted_iota(jnp.int32, phase_state.ended.shape, 0)
            over = (phase_state.phase <= number) & (number < phase)
            return PhaseState(debt, phase, jnp.where(over, after.t, phase_state.ended), memory, rest)

        return cond_update(jnp.any(moving), settle, phase_state)

    def phase_rounds(self, state: PhaseState, rounds: Array) -> Array:
        number = lax.broadcasted_iota(jnp.int32, state.ended.shape, 0)
        ended = jnp.where(state.phase <= number, rounds, state.ended)
        ends = jnp.concatenate([ended, jnp.broadcast_to(rounds, state.phase.shape)])
        return jnp.diff(ends, axis=0, prepend=jnp.zeros_like(state.phase))


def _idle(debt: Array) -> Array:
    """Whether no arm is due, bool `[1, *runs]`."""
    return jnp.max(debt, axis=0, keepdims=True) <= 0


def _first_due(debt: Array, available: Array) -> Array:
    """The lowest available arm that is due, or where none is, the lowest available one; int32 `[1, *runs]`."""
    arms = len(debt)
    arm = lax.broadcasted_iota(jnp.int32, debt.shape, 0)
    turn = jnp.where(available, jnp.where(debt > 0, arm, arm + arms), 2 * arms)
    first = jnp.min(turn, axis=0, keepdims=True)
    return jnp.where(first < arms, first, first - arms)


@struct
class Fresh:
    """An index that knows nothing of what came before the last phase, and what had come by then.

    Attributes:
        pulls, received, deviation, squares: as in `RoundView`, when it began; None for what is not kept.
        clock: the round after which it began, int32 `[1, *runs]`.
        inner: its state.
    """

    pulls: Any
    received: Any
    deviation: Any
    squares: Any
    clock: Any
    inner: Any


class BlackBoxed(Phased):
    """A phased policy whose field `black_box`, an index, plays in the last phase: fresh counts, sums and clock.

    Its horizon is still T. Feedback of plays before the last phase that arrives in it is counted as feedback.
    """

    def first_rest(self, world: World, shape: tuple[int, ...]) -> Fresh:
        counts, totals = jnp.zeros(shape, jnp.int32), jnp.zeros(shape, jnp.result_type(float))
        received = None if world.delay.immediate else counts
        squares = totals if self.squares else None
        return Fresh(counts, received, totals, squares, counts[:1], self._index.init(world, shape))

    def rest(self, phase_state: PhaseState, now: RoundView) -> Array:
        return self._index.select(phase_state.rest.inner, _since(phase_state.rest, now))

    def next_rest(self, phase_state: PhaseState, after: RoundView, selected: Array) -> Fresh:
        resting = phase_state.phase == len(self.phases) - 1
        fresh = phase_state.rest
        inner = self._index.update(fresh.inner, _since(fresh, after), selected)
        return dataclasses.replace(
            fresh, inner=jax.tree.map(lambda new, old: jnp.where(resting, new, old), inner, fresh.inner)
        )

    def entered(self, phase_state: PhaseState, after: RoundView, entering: Array) -> Fresh:
        old = phase_state.rest
        seen = Fresh(
            after.pulls,
            None if old.received is None else after.received,
            after.deviation,
            None if old.squares is None else after.squares,
            jnp.broadcast_to(after.t, old.clock.shape),
            old.inner,
        )
        return jax.tree.map(lambda new, kept: jnp.where(entering, new, kept), seen, old)

    @property
    def _index(self) -> Index:
        return self.black_box  # type: ignore[attr-defined]


def _since(fresh: Fresh, now: RoundView) -> RoundView:
    """What a fresh index sees of a round, its random numbers its own."""
    pulls = now.pulls - fresh.pulls
    return dataclasses.replace(
        now.deeper(),
        t=now.t - fresh.clock,
        pulls=pulls,
        received=pulls if fresh.received is None else now.received - fresh.received,
        deviation=now.deviation - fresh.deviation,
        squares=None if fresh.squares is None else now.squares - fresh.squares,
    )


def _nothing_seen(shape: tuple[int, ...], horizon: Array) -> RoundView:
    """The end of round 0."""
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


def gaps(after: RoundView) -> tuple[Array, Array]:
    """The least and the most that each arm's gap to the best mean may be, from the feedback so far, in [0, 1].

    [0, 1] for arms never selected. Paper 004, Alg. 4, lines 17-18.
    """
    mean, radius, seen = after.mean, _radius(after), after.pulls > 0
    gap = jnp.max(mean, axis=0, keepdims=True) - mean
    least = jnp.where(seen, jnp.maximum(gap - 2.0 * radius, 0.0), 0.0)
    return least, jnp.where(seen, jnp.minimum(gap + 2.0 * radius, 1.0), 1.0)


def intervals(after: RoundView) -> tuple[Array, Array]:
    """The ends of the confidence intervals of the means, within [0, 1]; [0, 1] for arms never selected.

    Paper 004, Alg. 4, lines 14-16.
    """
    mean, radius, seen = jnp.clip(after.mean, 0.0, 1.0), _radius(after), after.pulls > 0
    low = jnp.where(seen, jnp.maximum(mean - radius, 0.0), 0.0)
    return low, jnp.where(seen, jnp.minimum(mean + radius, 1.0), 1.0)


def _radius(after: RoundView) -> Array:
    """sqrt(2 log T / M_k), float `[K, *runs]`."""
    return jnp.sqrt(2.0 * jnp.log(after.horizon.astype(after.deviation.dtype)) / after.samples)
