"""Rounds whose arms are known beforehand, because policies are committed to them whatever the rewards are.

Nothing has to be chosen in them. Rewards are drawn and added up, and the counts of all arms and the policy's state
change once, at the end. Some runs stay: they play one arm. The others sweep: they play the same arm in the first round,
the next one in the second, and so on, and after the last arm the first one. Selections, counts and sums are those of
rounds that are played one by one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core import compensated_sums as sums
from jaxbandit.core.users_code.contracts import has_user_code
from jaxbandit.core.xla.fusion import on_cpu, without_fusion
from jaxbandit.engine.rounds.deficits import deficits_ever
from jaxbandit.engine.rounds.feedback import Models, Sent, draw_for, models_of
from jaxbandit.engine.rounds.running_sums import SUMS
from jaxbandit.engine.rounds.state import State
from jaxbandit.engine.rounds.sweeps import Draws, Received, Rewards, Sweep, Totals, play_sweeps, where_trees
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Policy, checked_select_one, checked_update
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.arm_indices import take_arms
from jaxbandit.policies.selection.top_arm import MAX_UNROLLED_ARMS

_SUMS_OF_REWARDS = frozenset({"reward"})  # the `SUMS` that need no more than the rewards of the selected arms
# While one arm is played, its deficit shrinks and those of the other arms do not. So the largest deficit is that after
# the last round. This does not hold for groups: one group can have all arms.
_DEFICITS_THAT_GROW = frozenset({"max_deficit"})

_MOST_RUNS = 128  # per tile: rounds are known until the first run changes its arm (measured with 64 to 512)


def has_commitments(policy: Policy, world: World, state: State) -> bool:
    """Whether rounds may be played by `play_committed`, instead of one by one.

    The policy has to know committed rounds, and nothing but rewards may happen in them: no delays, no sleeping arms,
    and no sum that needs every selection. With many arms, commitments of one round would take longer than the round
    (measured), so they have to be long. On a GPU the host would wait for the number of rounds.
    """
    if type(policy).committed_rounds is Policy.committed_rounds or has_user_code(policy) or not on_cpu():
        return False
    in_every_round = state.trace, state.offered, state.miscounted, state.misdelayed, state.under_way
    only_rewards = all(part is None for part in in_every_round)
    only_rewards = only_rewards and not policy.wants_losses and not policy.wants_arrived
    enough = state.sums.keys() <= _SUMS_OF_REWARDS and state.deficits_ever.keys() <= _DEFICITS_THAT_GROW
    arms, are_long = len(state.pulls), policy.long_commitments and not state.deficits_ever
    one_arm = world.plays == 1 and arms > 1 and (are_long or arms <= MAX_UNROLLED_ARMS)
    return only_rewards and enough and one_arm and world.delay.immediate and not world.sleeping


def most_runs(policy: Policy, world: World, state: State) -> int | None:
    """The largest number of runs per tile, None for any."""
    return _MOST_RUNS if has_commitments(policy, world, state) else None


def play_committed(
    policy: Policy,
    world: World,
    state: State,
    before: Array,
    stop: Array,
    view: Callable[[State, Array], RoundView],
) -> tuple[Array, State]:
    """Play the round after round `before`, and further rounds up to `stop` whose arms are known in every run.

    Args:
        view: what the policy sees in a round, of (state, round).

    Returns:
        The last round played, and the state after it.
    """
    now, arms = view(state, before + 1), len(state.pulls)
    arm, most, sweep = without_fusion(lambda: _known_rounds(policy, state, now, stop - before), before)
    of_all = models_of(world, state.pulls), _rewards_of(state)
    # XLA sees that all arms' counts are read before one of them changes, if that arm comes from here, too
    (models, own), arm = without_fusion(lambda: (take_arms(of_all, arm, arms), arm), arm)
    here = arm < arms

    def numbers() -> Array:  # of all arms; computed at each use, else XLA would store them in memory
        return lax.broadcasted_iota(jnp.int32, state.pulls.shape, 0)

    def sent(models: Models, arm: Array) -> Sent:
        return dataclasses.replace(draw_for(world, models, arm, arms, now.random), here=here)

    def added(totals: Totals, sent: Sent) -> Totals:
        return {name: sums.add(x, SUMS[name](world, sent, here, None, here)) for name, x in totals.items()}

    def one_round(i: Array, carry: tuple[Rewards, Totals]) -> tuple[Rewards, Totals]:
        own, totals = carry
        new = sent((models[0] + i, *models[1:]), arm)
        return own.plus(new), added(totals, new)

    def following(every: Rewards, rounds: Array) -> Array:
        assert sweep is not None
        plays = sweep.plays(numbers(), rounds, arms)
        swept = dataclasses.replace(_with_rewards(state, every), pulls=state.pulls + plays)
        return policy.following_sweeps(state.policy, view(swept, before + rounds))

    every, totals, rounds, last_arm = of_all[1], state.sums, most, arm
    if sweep is None:
        own, totals = lax.fori_loop(0, most, one_round, (own, totals))
        selected = numbers() == arm
        plays = jnp.where(selected, most, 0)
    else:
        draws = Draws(of_all[0], models, arm, sent, added)
        swept, (every, own, totals) = play_sweeps(sweep, most, draws, Received(every, own, totals), following)
        rounds = jnp.where(swept > 0, swept, most)
        own, totals = lax.fori_loop(swept, rounds, one_round, (own, totals))
        selected = (numbers() == arm) & ~sweep.runs
        plays = jnp.where(sweep.runs, sweep.plays(numbers(), rounds, arms), jnp.where(selected, rounds, 0))
        last_arm = jnp.where(sweep.runs, (sweep.first + rounds - 1) % arms, arm)

    rewards = where_trees(selected, own, every)
    state = dataclasses.replace(_with_rewards(state, rewards), pulls=state.pulls + plays, sums=totals)
    last = before + rounds
    after = view(state, last)
    largest = deficits_ever(state.deficits_ever, now, after, models[0], here, world)
    updated = checked_update(policy, state.policy, after, numbers() == last_arm)
    return last, dataclasses.replace(state, deficits_ever=largest, policy=updated)


def _known_rounds(policy: Policy, state: State, now: RoundView, most: Array) -> tuple[Array, Array, Sweep | None]:
    """The arm that each run plays now, int32 `[1, *runs]`, a number of rounds, int32 scalar, and the runs that sweep.

    The number of rounds is the least to which a run that stays is committed, and at most `most`. Runs that sweep do not
    limit it; `play_sweeps` does.

    Args:
        most: the largest number of rounds, int32 scalar, at least 1.
    """
    arm = checked_select_one(policy, state.policy, now)
    committed = policy.committed_rounds(state.policy, now, arm)
    sweeping = policy.is_sweeping(state.policy, now, arm)
    if sweeping is None or state.deficits_ever:  # the largest deficits may be within a sweep
        return arm, jnp.clip(jnp.min(committed), 1, most), None
    first = jnp.max(jnp.where(sweeping, arm, 0))
    sweeping = sweeping & jnp.all((arm == first) | ~sweeping)
    return arm, jnp.clip(jnp.min(jnp.where(sweeping, most, committed)), 1, most), Sweep(sweeping, first)


def _rewards_of(state: State) -> Rewards:
    deviation, squares = state.deviation, state.squares
    return Rewards(
        deviation if state.deviation_error is None else sums.CompensatedSum(deviation, state.deviation_error),
        None if squares is None or state.squares_error is None else sums.CompensatedSum(squares, state.squares_error),
    )


def _with_rewards(state: State, rewards: Rewards) -> State:
    squares = rewards.squares
    if isinstance(rewards.deviation, sums.CompensatedSum):
        deviation, error = rewards.deviation.value, rewards.deviation.compensation
    else:
        deviation, error = rewards.deviation, None
    return dataclasses.replace(
        state,
        deviation=deviation,
        deviation_error=error,
        squares=None if squares is None else squares.value,
        squares_error=None if squares is None else squares.compensation,
    )
