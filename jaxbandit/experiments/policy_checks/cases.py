"""The problems of the checks, and programs that play a policy on them round by round."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core import prng
from jaxbandit.core.component import parameter
from jaxbandit.core.prng import POLICY, Stream
from jaxbandit.core.rationals import Quota, QuotaTable
from jaxbandit.core.struct import struct
from jaxbandit.core.xla import compat
from jaxbandit.engine import rollout
from jaxbandit.engine.batch.blocks import on_device, quota_on_device
from jaxbandit.engine.batch.traced_programs import PROGRAM, digest, kept_by
from jaxbandit.engine.rounds.feedback import drawing_form
from jaxbandit.environment.delays import NEVER, Delay
from jaxbandit.environment.problem import Problem
from jaxbandit.environment.world import World, world_of
from jaxbandit.policies.base import Index, Policy, PolicyState, checked_choose, checked_select
from jaxbandit.policies.round_view import RoundView

HORIZON, SEEDS = 64, 16
_LATE = (0, 3, 7, 12)  # rounds, arm by arm
PROBLEM: dict[str, Any] = {
    "means": [0.3, 0.6, 0.5, 0.8],
    "fractions": [0.1, 0.05, 0.2, 0.15],
    "penalties": [0.2, 0.5, 0.4, 0.3],
    "merit": "power",
    "opportunity": "uniform",
}


class GivenDelay(Delay):
    """Delays that are given: the same for all rewards of an arm."""

    rounds: float | list[list[float]] = parameter(0.0, low=0, doc="the delay of the rewards of an arm in rounds")

    def longest(self) -> float:
        return max(_LATE)

    def draw(self, reward: Array, random: Stream) -> Array:
        return jnp.broadcast_to(jnp.asarray(self.rounds).astype(jnp.int32), reward.shape)


def plain(table: Mapping[str, Any]) -> Problem:
    """One instance: no delay, and every arm is always available."""
    return Problem(**table)


def several_instances(table: Mapping[str, Any]) -> Problem:
    """The problem, and two more instances, with the means in another order."""
    means = list(table["means"])
    return Problem(**{**table, "means": [means, means[::-1], [*means[1:], *means[:1]]]})


ZERO, LATE, SLEEPING, LOST = range(4)  # the instances of `varied`


def varied(table: Mapping[str, Any], plays: int = 1, sleeping: bool = True) -> Problem:
    """Four instances of equal means: with delays of zero, with late rewards, with sleeping arms, with lost rewards.

    Where `sleeping` is False, no arm sleeps.
    """
    means = list(table["means"])
    arms, zero = len(means), [0.0] * len(means)
    late = [float(_LATE[k % len(_LATE)]) for k in range(arms)]
    rounds, awake = [zero, late, zero, [float(NEVER)] * arms], [1.0] * arms
    changes = {"means": [means] * 4, "plays": plays, "delay": GivenDelay(rounds=rounds)}
    awake_in_third = [0.5] * arms if sleeping else awake
    return Problem(**{**table, **changes, "availability": [awake, awake, awake_in_third, awake]})


def two_arms(table: Mapping[str, Any], sleeping: bool = True) -> Problem:
    """The first two arms: both available, one of them, and each in half of the rounds; both without `sleeping`."""
    cut: dict[str, Any] = {
        name: value[:2] if isinstance(value, list | tuple) else value for name, value in table.items()
    }
    awake = [[1.0, 1.0], [1.0, 0.0], [0.5, 0.5]] if sleeping else 1.0
    return Problem(**{**cut, "means": [cut["means"]] * 3, "availability": awake})


def equal_arms(table: Mapping[str, Any]) -> Problem:
    """All arms are alike."""
    arms = len(table["means"])
    alike = {name: [min(held)] * arms for name, held in table.items() if isinstance(held, list | tuple)}
    return Problem(**{**table, **alike})


@struct
class Rounds:
    """What happened in the rounds of a case; arrays of T rounds, J instances and S runs.

    Attributes:
        selected: the selected arms, bool `[T, K, J, S]`.
        chances: p_k(t), float `[T, K, J, S]`.
        available: the available arms, bool `[T, K, J, S]`.
        undefined: whether an index or a score, a chance, or a number of the state was NaN, bool `[T, 3, J, S]`.
        agrees: whether `select` and `choose` selected the same arms, bool `[T, J, S]`.
    """

    selected: Any
    chances: Any
    available: Any
    undefined: Any
    agrees: Any


@dataclasses.dataclass
class Case:
    """A policy prepared for a problem.

    Attributes:
        prepared, world: on the host: arrays `[K or 1, J or 1]`.
        problem: the problem.
    """

    prepared: Policy
    world: World
    problem: Problem

    @classmethod
    def of(cls, policy: Policy, problem: Problem) -> Case:
        """The policy, prepared for the problem and `HORIZON` rounds."""
        prepared = policy.prepare(problem, HORIZON)
        return cls(prepared, world_of(problem, prepared.wants_binary_feedback, HORIZON), problem)

    def digest(self) -> str:
        """The digest of the program of a round, which is traced for it.

        Raises:
            program_digest.OpaqueError: the program calls back to Python.
        """
        return digest(self.prepared, self.world, self.problem.arms, self._columns)

    @property
    def _columns(self) -> int | None:
        owed = self.problem.guarantees()
        return None if owed is None else owed.shape[1]

    @functools.cached_property
    def key_of_program(self) -> Hashable:
        """The value of `PROGRAM` for the programs of the case."""
        return kept_by(self.prepared, self.world, self.problem.arms, self._columns)

    @functools.cached_property
    def rounds(self) -> Rounds:
        """The rounds of `SEEDS` runs per instance. Run i of every instance has the same random numbers."""
        return self.play()

    def play(self) -> Rounds:
        """`rounds`, played anew."""
        cells = np.arange(self.problem.instances)
        keys = prng.run_keys(0, np.zeros((len(cells), 1), int), np.arange(SEEDS))
        quotas = None
        if (owed := self.problem.guarantees()) is not None:
            quotas = quota_on_device(QuotaTable(owed, HORIZON + 1).rows(0, HORIZON + 1), cells)
        placed = on_device((self.prepared, self.world), cells)
        shape = (self.problem.arms, len(cells), SEEDS)
        with PROGRAM(self.key_of_program):
            played = _program()(*placed, quotas, tuple(jnp.asarray(word) for word in keys), jnp.int32(HORIZON), shape)
        found: Rounds = jax.tree.map(np.asarray, played)
        return found


@functools.cache
def _program() -> Any:
    """`_played`, compiled; made at the first call, when JAX knows its devices."""
    return jax.jit(_played, static_argnames="shape", compiler_options=compat.quick_options())


def _played(
    policy: Policy, world: World, quotas: Quota | None, key: rollout.Keys, horizon: Array, shape: tuple[int, ...]
) -> Rounds:
    def play(state: rollout.State, of_round: tuple[Array, Quota | None, Quota | None]) -> tuple[rollout.State, Rounds]:
        t, quota_before, quota_now = of_round
        random = Stream(key, t.astype(jnp.uint32), POLICY)
        now = rollout.observe(state, world, t, horizon, quota_before, quota_now, random)
        mask, chances = checked_choose(policy, state.policy, now)
        other = checked_select(policy, state.policy, now) if _has_both(policy) else mask
        scores = policy.score(state.policy, now) if _has_scores(policy) else _scores_of_best(policy, state.policy, now)
        selected = mask & now.available
        state, _ = rollout.settle(policy, world, state, now, drawing_form(world, selected), chances)
        undefined = jnp.stack([_has_nan(tree, shape[1:]) for tree in (scores, chances, state.policy)])
        return state, Rounds(selected, chances, now.available, undefined, jnp.all(mask == other, axis=0))

    state = jax.tree.map(jnp.asarray, rollout.begin(policy, world, shape, False))
    before, now = (jax.tree.map(operator.itemgetter(part), quotas) for part in (slice(None, -1), slice(1, None)))
    found: Rounds = lax.scan(play, state, (jnp.arange(1, HORIZON + 1, dtype=jnp.int32), before, now))[1]
    return found


def _has_both(policy: Policy) -> bool:
    return type(policy).select is not Policy.select and type(policy).choose is not Policy.choose


def _has_scores(policy: Policy) -> TypeGuard[Index]:
    return isinstance(policy, Index) and type(policy).select is Index.select


def _scores_of_best(policy: Policy, state: PolicyState, now: RoundView) -> Sequence[Array]:
    """The scores of available arms that a user's `select` gives to `now.best`; none where they are not at hand."""
    if not policy.selection_is_users:
        return ()
    scores: list[Array] = []

    class Watching(RoundView):
        """Keeps the scores."""

        def best(self, score: Array | float) -> Array:
            scores.append(jnp.where(self.available, score, 0.0))
            return super().best(score)

    try:
        checked_choose(policy, state, Watching(**{one.name: getattr(now, one.name) for one in dataclasses.fields(now)}))
        return [score + 0.0 for score in scores]  # raises where a score belongs to a branch or a loop
    except Exception:  # such a `Watching` is no pytree
        return ()


def _has_nan(tree: Any, runs: tuple[int, ...]) -> Array:
    """Whether a float of a run is NaN, bool `[*runs]`; arrays without the axes of the runs count in all runs."""
    found = jnp.zeros(runs, bool)
    for leaf in jax.tree.leaves(tree):
        if not jnp.issubdtype(jnp.result_type(leaf), jnp.floating):
            continue
        nan = jnp.isnan(leaf)
        found = found | jnp.any(nan, axis=tuple(range(nan.ndim - len(runs))) if nan.ndim > len(runs) else None)
    return found
