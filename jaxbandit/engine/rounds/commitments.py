"""Rounds in which every run plays the arm to which its policy is committed, whatever the rewards are.

Nothing has to be chosen in them: rewards are drawn and added up for one arm per run, and the counts of all arms and the
policy's state change once, at the end. Selections, counts and sums are those of rounds that are played one by one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core import compensated_sums as sums
from jaxbandit.core.component import has_user_code
from jaxbandit.core.xla.fusion import on_cpu, without_fusion
from jaxbandit.engine.rounds.deficits import deficits_ever
from jaxbandit.engine.rounds.feedback import Models, draw_for, models_of
from jaxbandit.engine.rounds.running_sums import SUMS
from jaxbandit.engine.rounds.state import State
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Policy, checked_select_one, checked_update
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.arm_indices import take_arms
from jaxbandit.policies.selection.top_arm import MAX_UNROLLED_ARMS

_SUMS_OF_REWARDS = frozenset({"reward"})  # the `SUMS` that need no more than the rewards of the selected arms
# Deficits whose largest value in such rounds is that after the last one: the deficit of the played arm shrinks, and
# those of the others, of which there is one at least, do not. A group may have all arms.
_DEFICITS_THAT_GROW = frozenset({"max_deficit"})

# Of a `State`: `deviation`, `squares` and `sums`
Kept = tuple[Array | sums.CompensatedSum, sums.CompensatedSum | None, dict[str, sums.CompensatedSum]]


def has_commitments(policy: Policy, world: World, state: State) -> bool:
    """Whether rounds may be played by `play_committed`, instead of one by one.

    The policy has to know committed rounds, and nothing but rewards may happen in them: no delays, no sleeping arms,
    and no sum that needs every selection. On a GPU the host would wait for the number of rounds.
    """
    if type(policy).committed_rounds is Policy.committed_rounds or has_user_code(policy) or not on_cpu():
        return False
    in_every_round = state.trace, state.offered, state.miscounted, state.misdelayed, state.under_way
    only_rewards = all(part is None for part in in_every_round)
    only_rewards = only_rewards and not policy.wants_losses and not policy.wants_arrived
    enough = state.sums.keys() <= _SUMS_OF_REWARDS and state.deficits_ever.keys() <= _DEFICITS_THAT_GROW
    one_arm = world.plays == 1 and 1 < len(state.pulls) <= MAX_UNROLLED_ARMS
    return only_rewards and enough and one_arm and world.delay.immediate and not world.sleeping


def play_committed(
    policy: Policy,
    world: World,
    state: State,
    before: Array,
    stop: Array,
    view: Callable[[State, Array], RoundView],
) -> tuple[Array, State]:
    """The round after round `before`, and all rounds up to `stop` in which no run may change its arm.

    Args:
        view: what the policy sees in a round, of (state, round).

    Returns:
        The last round played, and the state after it.
    """
    now, arms = view(state, before + 1), len(state.pulls)

    def chosen() -> tuple[Array, Array]:
        arm = checked_select_one(policy, state.policy, now)
        return arm, policy.committed_rounds(state.policy, now, arm)

    arm, committed = without_fusion(chosen, before)
    rounds = jnp.clip(jnp.min(committed), 1, stop - before)

    kept = state.deviation, state.deviation_error, state.squares, state.squares_error

    def of_arm() -> tuple[Models, tuple[Array, Array | None, Array | None, Array | None]]:
        return take_arms((models_of(world, state.pulls), kept), arm, arms)

    models, (deviation, error, squares, squares_error) = without_fusion(of_arm, arm)
    here = arm < arms

    def one_round(i: Array, kept: Kept) -> Kept:
        deviation, squares, totals = kept
        sent = draw_for(world, (models[0] + i, *models[1:]), arm, arms, now.random)
        sent = dataclasses.replace(sent, here=here)
        squares = squares and sums.add(squares, sent.deviation**2)
        totals = {name: sums.add(x, SUMS[name](world, sent, here, None, here)) for name, x in totals.items()}
        if isinstance(deviation, sums.CompensatedSum):
            return sums.add(deviation, sent.deviation), squares, totals
        return deviation + sent.deviation, squares, totals

    first = (
        deviation if error is None else sums.CompensatedSum(deviation, error),
        None if squares is None or squares_error is None else sums.CompensatedSum(squares, squares_error),
        state.sums,
    )
    made, made_squares, totals = lax.fori_loop(0, rounds, one_round, first)
    selected = lax.broadcasted_iota(jnp.int32, state.pulls.shape, 0) == arm

    def written(own: Array | None, before: Array | None) -> Array | None:
        return None if own is None or before is None else jnp.where(selected, own, before)

    plain = isinstance(made, Array)
    state = dataclasses.replace(
        state,
        pulls=state.pulls + jnp.where(selected, rounds, 0),
        deviation=jnp.where(selected, made if plain else made.value, state.deviation),
        deviation_error=written(None if plain else made.compensation, state.deviation_error),
        squares=written(made_squares and made_squares.value, state.squares),
        squares_error=written(made_squares and made_squares.compensation, state.squares_error),
        sums=totals,
    )
    last = before + rounds
    after = view(state, last)
    largest = deficits_ever(state.deficits_ever, now, after, models[0], here, world.equal_fractions)
    updated = checked_update(policy, state.policy, after, selected)
    return last, dataclasses.replace(state, deficits_ever=largest, policy=updated)
