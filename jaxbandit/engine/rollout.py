"""One round of a batch of runs as a pure state transition, and many rounds of it in one program.

A round is `play`: the policy selects (`observe`, `choose`), rewards and delays are drawn (`draw`), feedback arrives
(`arrivals`), and the state is updated (`settle`).
"""

from __future__ import annotations

import dataclasses
import functools
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core import compensated_sums as sums
from jaxbandit.core.prng import AVAILABILITY, POLICY, Stream
from jaxbandit.core.rationals import Quota
from jaxbandit.core.users_code.contracts import has_user_code, has_users_method
from jaxbandit.core.xla import cpu_kernel, gpu_kernel, small_programs
from jaxbandit.core.xla.fusion import without_fusion
from jaxbandit.core.xla.tiling import in_tiles
from jaxbandit.engine.rounds.commitments import has_commitments, most_runs, play_committed
from jaxbandit.engine.rounds.deficits import deficits_ever, no_deficits
from jaxbandit.engine.rounds.feedback import (
    Sent,
    added,
    arrivals,
    draw,
    drawing_form,
    empty_trace,
    few_change,
    selections,
    with_round,
)
from jaxbandit.engine.rounds.running_sums import CHANCES, SUMS
from jaxbandit.engine.rounds.state import RoundEvents as RoundEvents
from jaxbandit.engine.rounds.state import State as State
from jaxbandit.engine.rounds.state import with_rewards
from jaxbandit.engine.rounds.stops import AtStops, Recording, nothing_at_stops
from jaxbandit.environment.feedback_calendar import Calendar, Feedback, empty_calendar
from jaxbandit.environment.world import World
from jaxbandit.policies.base import (
    Policy,
    checked_choose,
    checked_init,
    checked_select,
    checked_select_one,
    checked_update,
)
from jaxbandit.policies.round_view import Arrived, RoundView, group_sums, quotas_and_groups
from jaxbandit.policies.selection.arm_indices import arms_as_mask
from jaxbandit.policies.selection.sampling import are_of_all_plays
from jaxbandit.policies.selection.ties import tie_breaker

_MOST_ROUNDS = np.iinfo(np.int32).max
Keys = tuple[Array, Array]  # the two words of each run's key, uint32 `[1, *runs]`


def begin(
    policy: Policy,
    world: World,
    shape: tuple[int, ...],
    deficits_ever: bool,
    asked: tuple[str, ...] = (),
    traced: int = 0,
    calendar: bool = True,
) -> State:
    """The state before round 1.

    Args:
        policy, world: prepared.
        shape: (K, *runs).
        deficits_ever: whether to keep the largest deficits over all rounds.
        asked: the names of the `SUMS` to keep.
        traced: the number of rounds whose selections are kept, a power of 2 or 0.
        calendar: whether to keep feedback that is under way. If not, `play_on` must play all rounds in one call.
    """
    counts, totals = jnp.zeros(shape, jnp.int32), jnp.zeros(shape, jnp.result_type(float))
    return State(
        pulls=counts,
        received=None if world.delay.immediate else counts,
        deviation=totals,
        deviation_error=None if world.changes is None or world.centre is None else totals,
        squares=totals if policy.wants_squares else None,
        squares_error=totals if policy.wants_squares else None,
        under_way=_calendar(policy, world, counts, totals) if calendar else None,
        policy=checked_init(policy, world, shape),
        offered=counts[:1] if world.sleeping else None,
        sums={name: sums.zeros((1, *shape[1:])) for name in asked},
        deficits_ever=no_deficits(world, shape, totals.dtype) if deficits_ever else {},
        miscounted=counts[:1] if policy.selection_is_users else None,
        misdelayed=counts[:1] if has_user_code(world.delay) else None,
        trace=empty_trace(traced, world.plays, shape[1:]) if traced else None,
    )


def _calendar(policy: Policy, world: World, counts: Array, totals: Array) -> Calendar | None:
    """The calendar before round 1, for counts and sums of some shape."""
    sent = Feedback(
        counts,
        totals,
        squares=totals if policy.wants_squares else None,
        rewards=totals if _uncentred(policy, world) else None,
        losses=totals if policy.wants_losses else None,
    )
    alike = not has_user_code(world.delay)
    return empty_calendar(sent, world.calendar_rounds, world.zero_one, alike)


def own_calendar(policy: Policy, world: World, state: State) -> Calendar | None:
    """The shapes of the calendar that `play_on` keeps beside a state which has none; None if it needs none."""
    if state.under_way is not None:
        return None
    shapes: Calendar | None = jax.eval_shape(_calendar, policy, world, state.pulls, state.deviation)
    return shapes


def observe(
    state: State,
    world: World,
    t: Array,
    horizon: Array,
    quota_before: Quota | None,
    quota_now: Quota | None,
    random: Stream,
) -> RoundView:
    """What the policy sees when it selects in round t: all feedback that arrived by the end of round t-1."""
    everywhere = jnp.ones(state.pulls.shape, bool)
    if world.availability is not None:  # sleeping arms, guarantees paper, sec. 5
        asleep = random.for_purpose(AVAILABILITY).uniform(len(state.pulls)) >= world.availability
        everywhere = everywhere & ~asleep
    if world.availability_table is not None:
        arms, rows = len(state.pulls), len(world.availability_table) // len(state.pulls)
        awake = lax.dynamic_slice_in_dim(world.availability_table, (t - 1) % rows * arms, arms)
        everywhere = everywhere & (awake > 0)
    return RoundView(
        t=t,
        horizon=horizon,
        pulls=state.pulls,
        received=state.pulls if state.received is None else state.received,
        deviation=state.deviation,
        squares=state.squares,
        centre=world.centre,
        available=everywhere,
        fractions=world.fractions,
        penalties=world.penalties,
        random=random,
        plays=world.plays,
        tie_breaker=tie_breaker(random, len(state.pulls)) if world.random_ties else None,
        **quotas_and_groups(world, state.pulls, quota_before, quota_now),
    )


def play(
    policy: Policy,
    world: World,
    state: State,
    t: Array,
    horizon: Array,
    quota_before: Quota | None,
    quota_now: Quota | None,
    key: Keys,
    with_chances: bool = False,
) -> tuple[State, RoundEvents]:
    """Round t of every run: select, draw, deliver, update. Pure; the quotas are tau (t-1) and tau t.

    Args:
        with_chances: whether to compute p_k(t) even if no sum of the state needs it.
    """
    random = Stream(key, t.astype(jnp.uint32), POLICY)
    now = observe(state, world, t, horizon, quota_before, quota_now, random)
    needs_chances = with_chances or policy.wants_losses or bool(CHANCES.intersection(state.sums))

    def choose() -> tuple[Array, Array | None, Array | None]:
        if world.plays == 1 and not needs_chances and state.miscounted is None:
            return checked_select_one(policy, state.policy, now), None, None
        if needs_chances:
            mask, chances = checked_choose(policy, state.policy, now)
            if has_users_method(policy, "choose"):  # where no arm is selected, the host says why
                mask = mask & are_of_all_plays(chances, now.available, now.plays)
        else:
            mask, chances = checked_select(policy, state.policy, now), None
        mask = mask & now.available
        return (
            drawing_form(world, mask),
            chances,
            None if state.miscounted is None else _miscounted(state.miscounted, mask, now),
        )

    choice, chances, miscounted = without_fusion(choose, horizon)
    return settle(policy, world, dataclasses.replace(state, miscounted=miscounted), now, choice, chances)


def _miscounted(before: Array, mask: Array, now: RoundView) -> Array:
    """The number of selected arms minus the number of allowed arms, in the first round where they differ."""
    count = jnp.sum(mask, axis=0, keepdims=True, dtype=jnp.int32)
    return jnp.where(before == 0, count - _offered(now), before)


def _misdelayed(before: Array, world: World, sent: Sent, t: Array, horizon: Array) -> Array:
    """The first delay that is below 0, or that ends by the horizon but is too long for the calendar."""
    beyond = (sent.rounds >= world.calendar_rounds) & (sent.rounds <= horizon - t)
    rounds = jnp.maximum(sent.rounds, -_MOST_ROUNDS)  # the least integer has no negative
    wrong = jnp.where(sent.here & ((rounds < 0) | beyond), rounds, 0)
    least, most = jnp.min(wrong, axis=0, keepdims=True), jnp.max(wrong, axis=0, keepdims=True)
    return jnp.where(before == 0, jnp.where(least < 0, least, most), before)


def settle(
    policy: Policy, world: World, state: State, now: RoundView, choice: Array, chances: Array | None
) -> tuple[State, RoundEvents]:
    """Draw rewards, deliver feedback and update the state after a selection.

    Args:
        now: what the policy saw when it selected.
        choice: the selected arms, all available, from `drawing_form`.
        chances: p_k(t), float `[K, *runs]`; None unless a sum of `CHANCES` is kept or the policy needs losses.
    """
    t, horizon = now.t, now.horizon
    sent = draw(world, choice, state.pulls, now.random)
    # From `sent`, where it has arms: XLA sees that the draw reads counts first, and updates them in place
    selected = choice if choice.dtype == bool else arms_as_mask(sent.arm, len(state.pulls))
    misdelayed = None if state.misdelayed is None else _misdelayed(state.misdelayed, world, sent, t, horizon)
    uncentred = _uncentred(policy, world)
    weights = chances if policy.wants_losses else None
    squares = state.squares is not None
    under_way, arrived, more = arrivals(state.under_way, sent, selected, t, squares, uncentred, weights)
    trace = state.trace and with_round(state.trace, t, selections(sent, selected, world.plays))
    chosen = sent.here if few_change(sent, len(selected)) else selected
    pulls = added(state.pulls, chosen.astype(jnp.int32), sent)
    state = dataclasses.replace(
        with_rewards(state, sent, more, arrived),
        pulls=pulls,
        under_way=under_way,
        offered=None if state.offered is None else state.offered + _offered(now),
        sums={
            name: sums.add(total, SUMS[name](world, sent, selected, chances, now.available))
            for name, total in state.sums.items()
        },
        misdelayed=misdelayed,
        trace=trace,
    )
    after = _after(now, state, world)
    largest = deficits_ever(state.deficits_ever, now, after, sent.number, sent.here, world)
    state = dataclasses.replace(state, deficits_ever=largest)
    if policy.wants_arrived:
        total = arrived.rewards if uncentred else arrived.total
        after = dataclasses.replace(after, arrived=Arrived(arrived.count, total, arrived.losses))
    state = dataclasses.replace(state, policy=checked_update(policy, state.policy, after, selected))
    return state, RoundEvents(selected, chances, sent, arrived)


def _after(now: RoundView, state: State, world: World) -> RoundView:
    """The view at the end of a round, `now` being that at its start."""
    return dataclasses.replace(
        now,
        pulls=state.pulls,
        received=state.pulls if state.received is None else state.received,
        deviation=state.deviation,
        squares=state.squares,
        groups=now.groups and dataclasses.replace(now.groups, pulls=group_sums(state.pulls, world.groups)),
    )


def _uncentred(policy: Policy, world: World) -> bool:
    """Whether to sum the arriving rewards beside their deviations: the policy may read them in `update`."""
    return world.centre is not None and policy.wants_arrived


def _offered(now: RoundView) -> Array:
    return jnp.minimum(jnp.sum(now.available, axis=0, keepdims=True, dtype=jnp.int32), now.plays)


def _row(quotas: Quota, place: Array) -> Quota:
    return jax.tree.map(lambda rows: lax.dynamic_index_in_dim(rows, place, keepdims=False), quotas)


start = small_programs.SmallProgram(begin, static_argnames=("shape", "deficits_ever", "asked", "traced", "calendar"))


def play_on(
    policy: Policy,
    world: World,
    key: Keys,
    quotas: Quota | None,
    origin: Array,
    horizon: Array,
    first: Array,
    stops: Array,
    recording: Recording | None,
    state: State,
) -> tuple[State, Any, Array]:
    """Play from the end of round `first` to the end of each of `stops`; `advance` is the compiled form.

    One program serves every horizon and every choice of recorded rounds: only shapes are compiled in.

    Args:
        policy, world: prepared, their arrays `[K or 1, *runs]` broadcasting.
        key: the runs' key words, two uint32 arrays `[1, *runs]`.
        quotas: tau s of the arms, then phi L s of the groups, for s = origin, origin + 1, ..., arrays `[n, K, *runs]`;
            None where nothing is guaranteed.
        origin: the first round of the table, int32 scalar, at most `first`.
        horizon: T, int32 scalar.
        first: the last round played, int32 scalar.
        stops: rounds, non-decreasing, from `first` to `origin + n - 1`, int32 `[R]`. The means of the world must be the
            same in all rounds after one stop up to the next.
        recording: what to compute at each stop; None to return the counts there.
        state: the state at the end of round `first`; donated. Without a calendar where feedback is late, if all rounds
            are played in this call.

    Returns:
        The state at the end of round `stops[-1]`; `AtStops`, or what the recording came to; and what went wrong in any
        run so far, `FAULTS`, int32, 0 where nothing did.
    """

    def precision() -> AbstractContextManager[object]:
        return nullcontext() if recording is None else jax.enable_x64(recording.x64)

    def rounds_to(stop: Array, before: Array, state: State) -> State:
        now = world.in_round(stop)

        def quotas_of(t: Array) -> tuple[Quota | None, Quota | None]:
            return (None, None) if quotas is None else (_row(quotas, t - 1 - origin), _row(quotas, t - origin))

        def one_round(before: Array, state: State) -> State:
            t = before + 1
            with precision():
                return play(policy, now, state, t, horizon, *quotas_of(t), key)[0]

        def view(state: State, t: Array) -> RoundView:
            return observe(state, now, t, horizon, *quotas_of(t), Stream(key, t.astype(jnp.uint32), POLICY))

        def some_rounds(carry: tuple[Array, State]) -> tuple[Array, State]:
            with precision():
                return play_committed(policy, now, carry[1], carry[0], stop, view)

        if has_commitments(policy, now, state):
            return lax.while_loop(lambda carry: carry[0] < stop, some_rounds, (before, state))[1]
        played: State = lax.fori_loop(before, stop, one_round, state)
        return played

    def to_counts(carry: tuple[Array, State], stop: Array) -> tuple[tuple[Array, State], AtStops]:
        state = rounds_to(stop, *carry)
        return (stop, state), AtStops(state.pulls, {name: total.value[0] for name, total in state.sums.items()})

    def to_recorded(place: Array, carry: tuple[Array, State, Any]) -> tuple[Array, State, Any]:
        assert recording is not None
        before, state, found = carry
        stop = lax.dynamic_index_in_dim(stops, place, keepdims=False)
        state = rounds_to(stop, before, state)
        return stop, state, recording.at_stop(place, state, found)

    given = state.under_way
    if given is None:  # made and dropped here: it would be copied where the program and the tile begin and end
        state = dataclasses.replace(state, under_way=_calendar(policy, world, state.pulls, state.deviation))
    if recording is None:
        (_, state), found = lax.scan(to_counts, (first, state), stops)
    else:
        carry = first, state, recording.empty(state.pulls.shape)
        _, state, found = lax.fori_loop(jnp.int32(0), recording.stops, to_recorded, carry)
    state = dataclasses.replace(state, under_way=None if given is None else state.under_way)
    return state, found, faults(state, world, stops[-1])


# The faults that `play_on` reports: plays missed although arms were available (a score that is NaN selects no arm); the
# number of arms selected beyond those allowed, and short of them; a delay beyond the model's longest; one below 0.
FAULTS = ("missed", "too_many", "too_few", "too_long", "below_0")


def faults(state: State, world: World, t: Array) -> Array:
    """What went wrong in any of the runs in rounds 1 to t, `FAULTS`, int32, 0 where nothing did."""
    offered = t * world.plays if state.offered is None else state.offered
    missed = jnp.max(offered - jnp.sum(state.pulls, axis=0, keepdims=True, dtype=jnp.int32))
    none = jnp.zeros((), jnp.int32)
    counted, delayed = (none if part is None else part for part in (state.miscounted, state.misdelayed))
    most = [missed, *(jnp.max(part) for part in (counted, -counted, delayed, -delayed))]
    return jnp.maximum(jnp.stack(most), 0)


def as_one_kernel() -> Any:
    """`play_on` in tiles, as one kernel where the device allows it."""
    return cpu_kernel.as_one_kernel(
        gpu_kernel.where_wanted(in_tiles(play_on, nothing_at_stops, len(FAULTS), own_calendar, most_runs))
    )


@functools.cache
def compiled() -> Any:
    """`play_on`, compiled, its state donated; made at the first call, once JAX knows its devices."""
    return cpu_kernel.compiled(as_one_kernel(), donate_argnames=("state",))


def advance(*arguments: Any) -> tuple[State, Any, Array]:
    """`play_on`, compiled."""
    return compiled()(*arguments)
