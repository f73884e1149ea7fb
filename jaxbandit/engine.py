"""The engine: one round of a batch of runs as a pure state transition, scanned over rounds in one program."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from . import sums
from .delays import Feedback, calendar, deliver
from .exact import Quota
from .policy import Policy
from .problem import World
from .randomness import AVAILABILITY, BINARISE, DELAY, POLICY, REWARD, Stream
from .rounds import Round, deficit
from .selection import of_selected
from .struct import struct


@struct
class State:
    """What a batch of runs carries from round to round; arrays `[K, *runs]`, or `[1, *runs]` for one a run.

    Attributes:
        pulls: N_k(t), int32.
        received: M_k(t), int32; None without delay, where it is `pulls`.
        deviation: S_k(t) less M_k(t) times the reward's centre, float.
        squares: the sum of squared deviations, float; None unless the policy needs it.
        under_way: the calendar of feedback that has yet to arrive, `[length, K, *runs]`; None where none ever waits.
        policy: the policy's state.
        offered: plays that the arms available so far allowed, int32 `[1, *runs]`; None where all always are.
        regrets: the sums of reward regret and of fairness regret (002 eq. 5-6), a `Sum` of float `[2, *runs]`; None
            where they are not asked for.
        deepest: the largest max_k (tau_k t - N_k(t)) so far, float `[1, *runs]`; None where it is not asked for.
    """

    pulls: Any
    received: Any
    deviation: Any
    squares: Any
    under_way: Any
    policy: Any
    offered: Any
    regrets: Any
    deepest: Any


@struct
class Sent:
    """The rewards of a round on their way: of all arms `[K, *runs]`; with one play, of the selected arm `[1, *runs]`.

    Attributes:
        deviation: the reward less its centre, float; of arms that are not selected, anything.
        arm: whose they are, int32.
        rounds: their delays, int32; None where there are none.
    """

    deviation: Any
    arm: Any
    rounds: Any


def begin(policy: Policy, world: World, shape: tuple[int, ...], deepest: bool, regrets: bool = False) -> State:
    """The state before round 1 of runs of `shape` = (K, *runs); with `deepest` and `regrets`, if asked for."""
    counts, totals = jnp.zeros(shape, jnp.int32), jnp.zeros(shape, jnp.result_type(float))
    squares = totals if policy.squares else None
    return State(
        pulls=counts,
        received=None if world.delay.immediate else counts,
        deviation=totals,
        squares=squares,
        under_way=calendar(Feedback(counts, totals, squares), world.under_way),
        policy=policy.init(world, shape),
        offered=None if world.availability is None else counts[:1],
        regrets=sums.nothing((2, *shape[1:])) if regrets else None,
        deepest=jnp.full((1, *shape[1:]), -jnp.inf, totals.dtype) if deepest else None,
    )


def observe(state: State, world: World, t: Array, horizon: Array, owed: Any, due: Any, random: Stream) -> Round:
    """What the policy sees when it selects in round t: all that arrived by the end of round t-1."""
    everywhere = jnp.ones(state.pulls.shape, bool)
    if world.availability is not None:  # sleeping arms, 001 sec. 5
        asleep = random.towards(AVAILABILITY).uniform(len(state.pulls)) >= world.availability
        everywhere = everywhere & ~asleep
    return Round(
        t=t,
        horizon=horizon,
        pulls=state.pulls,
        received=state.pulls if state.received is None else state.received,
        deviation=state.deviation,
        squares=state.squares,
        centre=world.centre,
        available=everywhere,
        owed=owed,
        due=due,
        fractions=world.fractions,
        penalties=world.penalties,
        random=random,
        plays=world.plays,
    )


def draw(world: World, selected: Array, pulls: Array, random: Stream) -> Sent:
    """The rewards of the selected arms and their delays. One play needs one draw: that of the selected arm.

    An arm's n-th reward is the same in whichever round it is played (Lattimore & Szepesvári 2020, sec. 4.6), so that
    two runs which differ in the order of two plays, as rounding may have it, meet again. So is its delay.
    """
    arms = len(selected)
    arm = lax.broadcasted_iota(jnp.int32, selected.shape, 0)
    mean = jnp.broadcast_to(world.means, (arms, *world.means.shape[1:]))
    model, centre, delay = world.reward, world.centre, world.delay
    if world.plays > 1:
        random = random.of_play(pulls, None, arms)
    else:
        number, arm, mean, model, centre, delay = of_selected((pulls, arm, mean, model, centre, delay), selected)
        random = random.of_play(number, arm, arms)
    reward = model.draw(mean, random.towards(REWARD))
    rounds = None if delay.immediate else delay.draw(reward, random.towards(DELAY))
    if world.binary:  # Agrawal & Goyal 2012, Alg. 2
        reward = (random.towards(BINARISE).uniform(len(reward)) < reward).astype(reward.dtype)
    return Sent(reward if centre is None else reward - centre, arm, rounds)


def arrivals(state: State, sent: Sent, selected: Array, t: Array) -> tuple[Any, Feedback]:
    """What is under way after round t, and what arrives at its end, per arm `[K, *runs]`."""
    squares = state.squares is not None
    if state.under_way is not None and len(sent.arm) == 1:
        here = jnp.any(selected, axis=0, keepdims=True)  # the calendar takes one arm's reward as it is
    elif state.under_way is None and sent.rounds is not None:
        here = selected & (sent.rounds == 0)  # now or never
    else:
        here = selected
    total = jnp.where(here, sent.deviation, 0.0)
    feedback = Feedback(here.astype(jnp.int32), total, jnp.where(here, sent.deviation**2, 0.0) if squares else None)
    if state.under_way is None:
        return None, feedback
    return deliver(state.under_way, feedback, sent.arm, sent.rounds, t)


def play(policy: Policy, world: World, state: State, t: Array, horizon: Array, owed: Any, due: Any, key: Any) -> State:
    """Round t of every run: select, draw, deliver, update. Pure; `owed` and `due` are tau (t-1) and tau t."""
    random = Stream(key, t.astype(jnp.uint32), POLICY)
    now = observe(state, world, t, horizon, owed, due, random)
    selected, chances = policy.choose(state.policy, now)
    selected = selected & now.available
    sent = draw(world, selected, state.pulls, random)
    under_way, arrived = arrivals(state, sent, selected, t)
    pulls = state.pulls + selected.astype(jnp.int32)
    state = dataclasses.replace(
        state,
        pulls=pulls,
        received=None if state.received is None else state.received + arrived.count,
        deviation=state.deviation + arrived.total,
        squares=None if state.squares is None else state.squares + arrived.squares,
        under_way=under_way,
        offered=None if state.offered is None else state.offered + _offered(now),
        regrets=None if state.regrets is None else sums.plus(state.regrets, _unfair(world, chances)),
        deepest=None if state.deepest is None else _deepest(state.deepest, due, pulls),
    )
    after = observe(state, world, t, horizon, owed, due, random)
    return dataclasses.replace(state, policy=policy.update(state.policy, after, selected))


def _offered(now: Round) -> Array:
    available = jnp.sum(now.available, axis=0, keepdims=True, dtype=jnp.int32)
    return jnp.minimum(available, now.plays)


def _unfair(world: World, chances: Array) -> Array:
    """This round's reward regret and fairness regret, `[2, *runs]`."""
    off = world.fair - chances
    reward = jnp.maximum(jnp.sum(off * world.means, axis=0, keepdims=True), 0.0)  # 002 eq. 5
    return jnp.concatenate([reward, jnp.sum(jnp.abs(off), axis=0, keepdims=True)])  # 002 eq. 6


def _deepest(deepest: Array, due: Quota, pulls: Array) -> Array:
    return jnp.maximum(deepest, jnp.max(deficit(due, pulls), axis=0, keepdims=True))


def _row(quotas: Quota, place: Array) -> Quota:
    return jax.tree.map(lambda rows: lax.dynamic_index_in_dim(rows, place, keepdims=False), quotas)


@functools.partial(jax.jit, static_argnames=("shape", "deepest", "regrets"))
def start(policy: Policy, world: World, shape: tuple[int, ...], deepest: bool, regrets: bool = False) -> State:
    """`begin`, compiled."""
    return begin(policy, world, shape, deepest, regrets)


@functools.partial(jax.jit, donate_argnames=("state",))
def advance(
    policy: Policy,
    world: World,
    key: Any,
    quotas: Quota | None,
    origin: Array,
    horizon: Array,
    first: Array,
    stops: Array,
    state: State,
) -> tuple[State, Array, Array | None, Array]:
    """Play on from the end of round `first` to the end of each of `stops`.

    One program for every horizon and every choice of recorded rounds: only shapes are compiled in.

    Args:
        policy, world: prepared, their arrays `[K or 1, *runs]` broadcasting.
        key: the runs' key words, two uint32 arrays `[1, *runs]`.
        quotas: tau s for s = origin, origin + 1, ..., arrays `[n, K, *runs]`; None where no fractions are asked for.
        origin: where the table begins, int32 scalar, at most `first`.
        horizon: T, int32 scalar.
        first: the last round played, int32 scalar.
        stops: rounds, non-decreasing, from `first` to `origin + n - 1`, int32 `[R]`.
        state: that of the end of round `first`; donated.

    Returns:
        The state at the end of round `stops[-1]`; N_k at each stop, int32 `[R, K, *runs]`; the sums of the two regrets
        of merit there, float `[R, 2, *runs]`, None where they are not asked for; and the most plays that
        any run has missed so far with arms available, int32 scalar: 0, or its policy's index is not a number.
    """

    def one_round(before: Array, state: State) -> State:
        owed = due = None
        if quotas is not None:
            owed, due = _row(quotas, before - origin), _row(quotas, before - origin + 1)
        return play(policy, world, state, before + 1, horizon, owed, due, key)

    def stretch(carry: tuple[Array, State], stop: Array) -> tuple[tuple[Array, State], tuple[Array, Any]]:
        before, state = carry
        state = lax.fori_loop(before, stop, one_round, state)
        return (stop, state), (state.pulls, None if state.regrets is None else state.regrets.value)

    (_, state), (pulls, regrets) = lax.scan(stretch, (first, state), stops)
    offered = stops[-1] * world.plays if state.offered is None else state.offered
    return state, pulls, regrets, jnp.max(offered - jnp.sum(state.pulls, axis=0, keepdims=True, dtype=jnp.int32))
