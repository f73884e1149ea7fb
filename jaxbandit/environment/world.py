"""`World`: a problem as the engine uses it, with arrays on the device."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.errors import ReturnedError, short_repr
from jaxbandit.core.struct import static, struct
from jaxbandit.core.users_code.contracts import owner_name
from jaxbandit.environment.delays import Delay
from jaxbandit.environment.feedback_calendar import calendar_length
from jaxbandit.environment.means.changing import MeanPath
from jaxbandit.environment.problem import Problem
from jaxbandit.environment.rewards import Reward


@struct
class Changes:
    """What changes in a world with the means.

    Attributes:
        first_rounds: the rounds from which means hold, increasing, from 1; int32 `[S]`.
        leaves: the arrays that change, those of the S spans of rounds below each other: `[S K, *runs]`.
        places: their places among the leaves of the world.
    """

    first_rounds: Any
    leaves: tuple[Any, ...]
    places: tuple[int, ...] = static(())


@struct
class World:
    """A problem for a block of runs: arrays `[K or 1, *runs]`, where run axes broadcast.

    On the host the arrays are NumPy arrays `[K or 1, J or 1]`.

    Attributes:
        means: mu, float.
        reward, delay: the models, with parameters per arm.
        centre: what is subtracted from rewards before they are summed: the means of round 1, float; None for 0.
        availability, fractions, penalties: float; None where the problem has none.
        group_fractions, group_penalties: float `[G, *runs]`; None where the problem has none.
        fair: p*, the fair chances of the arms (merit paper, eq. 4), float; None without a merit function.
        availability_table: whether arms are available in n rounds, which repeat, int `[n K, *runs]`; None without one.
        changes: what changes with the means, of which the other attributes hold the values of round 1; None where means
            are constant.
        plays: L.
        groups: the arms of each group.
        binarised: each reward r is replaced by a Bernoulli draw of mean r for the policy (Agrawal & Goyal 2012).
        zero_one: the policy receives rewards of 0 and 1.
        calendar_rounds: the length of the calendar of delayed feedback in rounds; 1 if no feedback is delayed.
        random_ties: ties between arms are broken at random; otherwise they go to the lowest arm.
        equal_fractions: all arms of an instance have the same fraction.
    """

    means: Any  # NumPy arrays on the host, JAX arrays on the device
    reward: Reward
    delay: Delay
    centre: Any
    availability: Any
    fractions: Any
    penalties: Any
    group_fractions: Any
    group_penalties: Any
    fair: Any
    availability_table: Any
    changes: Any
    plays: int = static(1)
    groups: tuple[tuple[int, ...], ...] = static(())
    binarised: bool = static(False)
    zero_one: bool = static(False)
    calendar_rounds: int = static(1)
    random_ties: bool = static(False)
    equal_fractions: bool = static(False)

    def guarantees(self, arms: int) -> int:
        """The number of arms and groups that are guaranteed plays, of K arms: the rows of a quota."""
        count = 0 if self.fractions is None else arms
        return count if self.group_fractions is None else count + len(self.groups)

    @property
    def sleeping(self) -> bool:
        """Whether some arms cannot be selected in some rounds."""
        return self.availability is not None or self.availability_table is not None

    def in_round(self, t: Array) -> World:
        """The world with the means of round t, an int32 scalar; `changes` is None then."""
        changes = self.changes
        if changes is None:
            return self
        span = _last_at_most(changes.first_rounds, t)
        leaves, structure = jax.tree.flatten(dataclasses.replace(self, changes=None))
        for place, rows in zip(changes.places, changes.leaves, strict=True):
            arms = len(rows) // len(changes.first_rounds)
            leaves[place] = lax.dynamic_slice_in_dim(rows, span * arms, arms)
        world: World = jax.tree.unflatten(structure, leaves)
        return world


def _last_at_most(increasing: Array, t: Array) -> Array:
    """The place of the last number that is at most t, or 0, int32; by bisection, in operations that kernels contain."""
    place, count = jnp.zeros((), jnp.int32), len(increasing)
    for step in reversed([1 << bit for bit in range(count.bit_length())]):
        further = jnp.minimum(place + step, count - 1)
        place = jnp.where(lax.dynamic_index_in_dim(increasing, further, keepdims=False) <= t, further, place)
    return place


def world_of(problem: Problem, binary: bool, horizon: int, ties: str = "lowest") -> World:
    """The `World` of a problem on the host; the engine cuts blocks of it.

    Args:
        problem: the problem.
        binary: the policy needs rewards of 0 and 1.
        horizon: T.
        ties: "lowest" or "random".

    Raises:
        InputError: the problem's means were given for other rounds.
    """
    tau, table, groups = problem.fractions, problem.availability_table, problem.groups
    centre = problem.means if problem.reward.centred and not binary else None  # those of round 1 where means change
    world = World(
        means=problem.means,
        reward=problem.reward,
        delay=problem.delay.device_model(),
        centre=centre,
        availability=problem.availability,
        fractions=None if tau is None else tau.astype(np.float64),
        penalties=problem.penalties,
        group_fractions=None if groups is None or groups.fractions is None else groups.fractions.astype(np.float64),
        group_penalties=None if groups is None else groups.penalties,
        fair=None if problem.merit is None else problem.fair_chances(),
        availability_table=None if table is None else table.astype(np.int32).reshape(-1, 1),
        changes=None,
        plays=problem.plays,
        groups=() if groups is None else groups.members,
        binarised=binary and not problem.reward.zero_one,  # a Bernoulli draw of mean 0 or 1 changes nothing
        zero_one=binary or problem.reward.zero_one,
        calendar_rounds=calendar_length(_longest(problem.delay), horizon),
        random_ties=ties == "random",
        equal_fractions=tau is not None and bool((tau == tau[:1]).all()),
    )
    if problem.changing is None:
        return world
    path = problem.changing.until(horizon)
    return world if len(path.rounds) == 1 else dataclasses.replace(world, changes=_changes(problem, world, path))


def _longest(delay: Delay) -> float:
    """The longest delay of a model, in rounds.

    Raises:
        ReturnedError: a user's `longest` returned anything but a number from 0 on.
    """
    returned = delay.longest()
    try:
        longest = float(returned)
    except (TypeError, ValueError):
        longest = math.nan
    if not longest >= 0:
        raise ReturnedError(owner_name(delay), "longest", short_repr(returned), "a number of rounds, 0 or more")
    return longest


def _changes(problem: Problem, world: World, path: MeanPath) -> Changes:
    """What changes in a world whose means follow a path."""
    spans, arms, instances = path.means.shape
    means = path.means.reshape(spans * arms, instances)
    fair = None
    if problem.merit is not None:
        fair = np.concatenate([problem.fair_chances(own) for own in path.means])
    reward = problem.reward_with(path.means.transpose(1, 0, 2).reshape(arms, spans * instances), spans)
    spread = dataclasses.replace(world, means=means, fair=fair, reward=reward)
    every = zip(jax.tree.leaves(world), jax.tree.leaves(spread), strict=True)
    found = {}
    for place, (start, changing) in enumerate(every):
        if changing is start:
            continue
        rows = np.asarray(changing)
        if rows.ndim == 2 and rows.shape[1] == spans * instances:  # a parameter of the rewards, [K, S J]
            rows = rows.reshape(-1, spans, instances).swapaxes(0, 1).reshape(-1, instances)
        elif rows.ndim != 2 or len(rows) != spans * arms:
            continue  # a parameter that all means share
        found[place] = rows
    return Changes(path.rounds.astype(np.int32), tuple(found.values()), tuple(found))
