"""Rounds in which some runs sweep: they play all arms in turn. The other runs stay: each of them plays one arm.

All runs that sweep play the same arm, so a round changes one row of the arrays `[K, *runs]`, and not all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core import compensated_sums as sums
from jaxbandit.core.struct import struct
from jaxbandit.engine.rounds.feedback import Models, Sent
from jaxbandit.policies.selection.arm_indices import take_arm

Totals = dict[str, sums.CompensatedSum]
Tree = TypeVar("Tree")


@struct
class Rewards:
    """What a `State` keeps of the rewards of arms, `[K, *runs]`, or of one arm per run, `[1, *runs]`.

    Attributes:
        deviation: the sum of deviations, float, with its error where means change.
        squares: the sum of squared deviations, float, with its error; None unless the policy needs it.
    """

    deviation: Array | sums.CompensatedSum
    squares: sums.CompensatedSum | None

    def plus(self, sent: Sent) -> Rewards:
        """The sums with another reward of each run."""
        squares = self.squares and sums.add(self.squares, sent.deviation**2)
        if isinstance(self.deviation, sums.CompensatedSum):
            return Rewards(sums.add(self.deviation, sent.deviation), squares)
        return Rewards(self.deviation + sent.deviation, squares)


@struct
class Sweep:
    """The runs that sweep.

    Attributes:
        runs: bool `[1, *runs]`.
        first: the arm that they play in the first round, int32 scalar.
    """

    runs: Array
    first: Array

    def plays(self, arm: Array, rounds: Array, arms: int) -> Array:
        """How often a run that sweeps plays an arm in a number of rounds, int32.

        Args:
            arm: int32.
            rounds: int32 scalar.
            arms: K.
        """
        return (self.first + rounds - arm + arms - 1) // arms - (arm < self.first).astype(jnp.int32)


class Draws(NamedTuple):
    """The models and the functions that draw rewards and add them up.

    Attributes:
        of_all: the models of all arms.
        own: those of the arm that a run stays with.
        arm: this arm, int32 `[1, *runs]`.
        sent: the rewards of a round, of (models, arm).
        added: the sums per run with the rewards of a round, of (sums, rewards).
    """

    of_all: Models
    own: Models
    arm: Array
    sent: Callable[[Models, Array], Sent]
    added: Callable[[Totals, Sent], Totals]


class Received(NamedTuple):
    """The rewards received so far.

    Attributes:
        every: those of all arms; where a run stays, those of the rounds played here are in `own` instead.
        own: those of the arm that a run stays with; arbitrary where a run sweeps.
        totals: the sums per run.
    """

    every: Rewards
    own: Rewards
    totals: Totals


def play_sweeps(
    sweep: Sweep, most: Array, draws: Draws, received: Received, following: Callable[[Rewards, Array], Array]
) -> tuple[Array, Received]:
    """Play the current sweep, and further sweeps while they are certain in all runs that sweep.

    No round is played if no run sweeps.

    Args:
        most: the largest number of rounds, int32 scalar, at least 1.
        following: how many sweeps are certain to follow after some rounds, int32 `[1, *runs]`, of (the rewards of all
            arms, the number of rounds).

    Returns:
        The number of rounds, int32 scalar, and the rewards after them.
    """
    arms = len(draws.of_all[0])

    def one_sweep(carry: tuple[Array, Array, Received]) -> tuple[Array, Array, Received]:
        before, sure, received = carry
        first = jnp.where(before == 0, sweep.first, 0)

        def one_round(k: Array, received: Received) -> Received:
            played = before + (k - first)
            of_arm, row = take_arm((draws.of_all, received.every), k, draws.of_all[0].shape)
            number = jnp.where(sweep.runs, of_arm[0] + sweep.plays(k, played, arms), draws.own[0] + played)
            others, so_far = where_trees(sweep.runs, (of_arm[1:], row), (draws.own[1:], received.own))
            new = draws.sent((number, *others), jnp.where(sweep.runs, k, draws.arm))
            own = so_far.plus(new)
            row = where_trees(sweep.runs, own, row)
            every = jax.tree.map(lambda x, row: lax.dynamic_update_slice_in_dim(x, row, k, 0), received.every, row)
            return Received(every, own, draws.added(received.totals, new))

        end = jnp.minimum(first + (most - before), arms)
        received = lax.fori_loop(first, end, one_round, received)
        rounds = before + (end - first)
        # Only the first sweep may be played in part: the policy's state describes no other.
        whole = (end == arms) & (most - rounds >= arms)
        sure = jnp.where(whole, sure - 1, 0)

        def fewest() -> Array:
            return jnp.min(jnp.where(sweep.runs, following(received.every, rounds), most))

        return rounds, lax.cond(whole & (sure == 0), fewest, lambda: sure), received

    none = jnp.zeros((), jnp.int32)
    start = none, jnp.any(sweep.runs).astype(jnp.int32), received
    rounds, _, received = lax.while_loop(lambda carry: carry[1] > 0, one_sweep, start)
    return rounds, received


def where_trees(condition: Array, yes: Tree, no: Tree) -> Tree:
    """`jnp.where` for trees; what both trees share stays as it is."""
    return jax.tree.map(lambda yes, no: yes if yes is no else jnp.where(condition, yes, no), yes, no)
