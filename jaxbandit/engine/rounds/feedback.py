"""The feedback of a round: the rewards of the selected arms, their delays, and what arrives; traces of it."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.prng import BINARISE, DELAY, REWARD, Stream
from jaxbandit.core.struct import struct
from jaxbandit.core.users_code import contracts
from jaxbandit.core.users_code.failures import told_of
from jaxbandit.core.xla.cpu_kernel import add_at
from jaxbandit.core.xla.fusion import on_cpu, without_fusion
from jaxbandit.environment.delays import Delay, draw_delays
from jaxbandit.environment.feedback_calendar import Calendar, Feedback, deliver
from jaxbandit.environment.rewards import Reward
from jaxbandit.environment.world import World
from jaxbandit.policies.selection.arm_indices import arm_index, arm_indices, can_list_arms, selected_arms, take_arms
from jaxbandit.policies.selection.bitmask import MAX_ARMS
from jaxbandit.policies.selection.top_arm import MAX_UNROLLED_ARMS


@struct
class Sent:
    """The rewards that a round sends, `[n, *runs]`: of all n = K arms, or of the n = L selected arms.

    Attributes:
        reward: as drawn, float; arbitrary for arms that were not selected.
        deviation: the reward as the policy receives it, binarised if the policy requests it, minus its centre, float.
        arm: the arm of each reward, int32.
        number: how often the arm was selected before, int32.
        here: whether the reward exists, bool; some do not where fewer arms are available than plays.
        rounds: the delays, int32; None without delays.
    """

    reward: Array
    deviation: Array
    arm: Array
    number: Array
    here: Any  # None while rewards are drawn
    rounds: Any  # None without delays


def drawing_form(world: World, selected: Array) -> Array:
    """The selection in the form that `draw` expects.

    Where rewards of few arms are drawn, it is their numbers, int32 `[L, *runs]`, K for none; else it is the mask, bool
    `[K, *runs]`.
    """
    if world.plays == 1:
        return arm_index(selected)
    return arm_indices(selected, world.plays) if _of_few(world, len(selected)) else selected


def draw(world: World, choice: Array, pulls: Array, random: Stream) -> Sent:
    """The rewards of the selected arms, and their delays.

    The n-th reward of an arm is the same whichever round draws it (Lattimore & Szepesvári 2020, sec. 4.6), and so is
    its delay. Two runs that select two arms in another order, because of rounding, therefore agree again afterwards.

    Args:
        choice: the selection, from `drawing_form`.
        pulls: N_k, int32 `[K, *runs]`.
    """
    arms, models = len(pulls), models_of(world, pulls)
    if not _of_few(world, arms):
        arm = lax.broadcasted_iota(jnp.int32, pulls.shape, 0)
        return dataclasses.replace(draw_for(world, models, arm, arms, random), here=choice)

    def of_few() -> Sent:
        return draw_for(world, take_arms(models, choice, arms), choice, arms, random)

    sent = without_fusion(of_few, pulls)
    return dataclasses.replace(sent, here=sent.arm < arms)


Models = tuple[Array, Array, Reward, Array | None, Delay]  # N_k, mu, and the models with their parameters, per arm


def models_of(world: World, pulls: Array) -> Models:
    """What the draws of all arms depend on."""
    mean = jnp.broadcast_to(world.means, (len(pulls), *world.means.shape[1:]))
    return pulls, mean, world.reward, world.centre, world.delay


def draw_for(world: World, models: Models, arm: Array, arms: int, random: Stream) -> Sent:
    """The rewards of some arms and their delays; `here` is left open.

    Args:
        models: of the n arms.
        arm: the n arms, int32 `[n, *runs]`.
        arms: K.
    """
    number, mean, model, centre, delay = models
    random = random.for_play(number, None if len(arm) == arms else arm, arms)
    reward, deviation = rewards(mean, model, centre, world.binarised, random)
    rounds = None if delay.immediate else draw_delays(delay, reward, random.for_purpose(DELAY))
    return Sent(reward, deviation, arm, number, None, rounds)


def rewards(mean: Array, model: Reward, centre: Array | None, binary: bool, random: Stream) -> tuple[Array, Array]:
    """The rewards of some plays, and the same rewards as the policy receives them, minus their centre."""
    shape = jnp.broadcast_shapes(mean.shape, (1, *random.key[0].shape[1:]))
    with told_of(model, "draw"):
        drawn = model.draw(mean, random.for_purpose(REWARD))
    reward = contracts.floats(model, "draw", drawn, shape, "a reward per play")
    received = reward
    if binary:  # Agrawal & Goyal 2012, Alg. 2
        received = (random.for_purpose(BINARISE).uniform(len(reward)) < reward).astype(reward.dtype)
    return reward, received if centre is None else received - centre


def _of_few(world: World, arms: int) -> bool:
    """Whether to draw rewards for the selected arms only.

    That is so for one play, for the few plays that a calendar takes, and on CPU for at most half of the arms, or a
    twelfth where they do not fit a word.
    """
    times = 2 if arms <= MAX_ARMS else 12  # measured
    needed = world.calendar_rounds > 1 or (on_cpu() and times * world.plays <= arms)
    return world.plays == 1 or (needed and can_list_arms(arms, world.plays))


def arrivals(
    under_way: Calendar | None,
    sent: Sent,
    selected: Array,
    t: Array,
    squares: bool,
    uncentred: bool,
    chances: Array | None = None,
) -> tuple[Calendar | None, Feedback, Feedback]:
    """The calendar after round t, and the feedback that arrives at the end of round t.

    The feedback comes twice: per arm, `[K, *runs]`, and in the form that `added` takes.

    Args:
        under_way: the calendar before; None without one.
        sent: the rewards of round t.
        selected: the selected arms, bool `[K, *runs]`.
        t: the round.
        squares: whether to sum the squares of the rewards' deviations, too.
        uncentred: whether to sum the rewards themselves, too.
        chances: the chance of each arm, `[K, *runs]`, to sum importance-weighted losses, too; else None.
    """
    here = sent.here
    if under_way is None and sent.rounds is not None:
        here = here & (sent.rounds == 0)  # now or never
    elif under_way is None and len(sent.arm) < len(selected) and not few_change(sent, len(selected)):
        here = jnp.ones(sent.arm.shape, bool)  # `_of_all` drops what an arm K has
    total = jnp.where(here, sent.deviation, 0.0)
    squared = jnp.where(here, sent.deviation**2, 0.0) if squares else None
    rewards = jnp.where(here, sent.reward, 0.0) if uncentred else None
    losses = None
    if chances is not None:
        chance = jnp.where(here, _of_sent(chances, sent.arm), 1.0)
        losses = jnp.where(here, (1.0 - sent.reward) / chance, 0.0)
    feedback = Feedback(here.astype(jnp.int32), total, squared, rewards, losses)
    if under_way is None:
        of_all = _of_all(feedback, sent.arm, selected)
        return None, of_all, feedback if few_change(sent, len(selected)) else of_all
    under_way, arrived = deliver(under_way, feedback, sent.arm, sent.rounds, t, len(selected))
    return under_way, arrived, arrived


def few_change(sent: Sent, arms: int) -> bool:
    """Whether totals per arm change in a few places, which a round finds faster than it goes through all arms."""
    return len(sent.arm) < arms and arms > MAX_UNROLLED_ARMS


def added(totals: Array, more: Array, sent: Sent) -> Array:
    """Totals per arm, `[K, *runs]`, with those of a round added.

    Args:
        more: a number per arm, `[K, *runs]`; or where `few_change` the numbers of the selected arms, `[n, *runs]`, 0
            where no arm was selected.
        sent: the rewards of the round.
    """
    if len(more) == len(totals):
        return totals + more
    return add_at(totals, (jnp.minimum(sent.arm, len(totals) - 1),), more)


def _of_sent(values: Array, arm: Array) -> Array:
    """The values `[K, *runs]` of the arms whose rewards are sent, `[n, *runs]`; those of arm K are arbitrary."""
    return values if len(arm) == len(values) else take_arms((values,), arm, len(values))[0]


def _of_all(feedback: Feedback, arm: Array, selected: Array) -> Feedback:
    """The feedback of n arms, scattered over all arms `[K, *runs]`, with zeros for the others."""
    arms = len(selected)
    if len(arm) == arms:
        return feedback
    if len(arm) == 1:
        return jax.tree.map(lambda x: jnp.where(selected, x, 0), feedback)
    every = lax.broadcasted_iota(jnp.int32, selected.shape, 0)

    def spread(x: Array) -> Array:
        rows = [jnp.where(every == arm[i : i + 1], x[i : i + 1], 0) for i in range(len(arm))]
        return functools.reduce(jnp.add, rows)  # an arm is listed once: no sum is rounded

    return jax.tree.map(spread, feedback)


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
