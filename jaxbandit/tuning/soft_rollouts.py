"""Runs under a soft choice: with whole plays that are drawn, or with shares of plays, which can be differentiated.

Both scan over the rounds in chunks of about sqrt(T) rounds. For the derivatives, only the first state of each chunk is
kept and the states in between are computed again (Griewank & Walther 2000), so memory grows like sqrt(T).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.prng import POLICY, Stream
from jaxbandit.core.rationals import Quota
from jaxbandit.core.struct import struct
from jaxbandit.engine import feedback, rollout
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Policy
from jaxbandit.policies.guarantees import virtual_queues
from jaxbandit.policies.guarantees.virtual_queues import Queue
from jaxbandit.policies.merit.proportional import MeritPolicy
from jaxbandit.policies.round_view import RoundView, safe_sqrt
from jaxbandit.policies.selection.sampling import sample_arm
from jaxbandit.tuning.relaxations import choice_stream, draw_arms, soft_shares

Carry = TypeVar("Carry")
Tree = TypeVar("Tree")
SampledCarry = tuple[rollout.State, Array, dict[str, Array]]  # with the logarithm of the chance, and sums


class RunInputs(NamedTuple):
    """What all runs share, on the device; arrays `[K or 1, *runs]`, the run axes broadcasting.

    Attributes:
        world: the problem.
        key: the runs' key words, two uint32 arrays `[1, *runs]`.
        quotas: tau s for s = 0, ..., T, arrays `[T + 1, K, *runs]`; None without fractions.
        temperature: of the soft choice.
        width: of the soft threshold, in rounds.
    """

    world: World
    key: tuple[Array, Array]
    quotas: Quota | None
    temperature: Array
    width: Array


class RunTotals(NamedTuple):
    """The totals of runs at their end.

    Attributes:
        counts: N_k(T), float `[K, *runs]`.
        sums: the requested sums of `rollout.SUMS`, by name, float `[1, *runs]`.
        log_chance: the logarithm of the chance of all choices, float `[1, *runs]`; 0 where nothing is drawn.
    """

    counts: Array
    sums: dict[str, Array]
    log_chance: Array


@struct
class RelaxedRoundView(RoundView):
    """What a policy sees where counts are sums of shares: counts are floats, and thresholds are soft.

    Attributes:
        width: of the sigmoid that replaces a threshold, in rounds.
    """

    width: Array | float = 1.0

    @property
    def mean(self) -> Array:
        """S_k / max(M_k, 1), float, also where M_k is below 1."""
        return self.total / self.samples

    def upper(self, weight: Any) -> Array:
        """m_k + sqrt(w_k / max(M_k, 1)), float."""
        return self.mean + safe_sqrt(weight / self.samples)

    def below_quota(self, quota: Quota) -> Array:
        """[N_k < tau_k s], softened: a sigmoid around the middle between the last count that is below and the next.

        Every whole count is on its side of the middle, at least half a round away, whatever tau s is.
        """
        enough = quota.floor + (quota.fraction > 0).astype(quota.fraction.dtype)  # the smallest count not below
        return jax.nn.sigmoid((enough - 0.5 - self.pulls) / self.width)


@struct
class ShareState:
    """The state of runs of shares between two rounds, `[K, *runs]`.

    A share p of a round plays p of an arm's next play. After N = n + x plays, with n whole and x in [0, 1), an arm has
    its first n rewards and the part x of reward n + 1. So the n-th reward of an arm is the one that `jb.simulate` draws
    for the same key.

    Attributes:
        complete_plays: n, int32.
        partial_play: x, float; kept apart from n so that many small shares add up in float32.
        deviation, squares: as in `rollout.State`.
        next_deviation: the deviation of reward n + 1, float.
        policy: the policy's state, with real virtual queues.
        sums: the requested sums of `rollout.SUMS`, by name, float `[1, *runs]`.
    """

    complete_plays: Array
    partial_play: Array
    deviation: Array
    squares: Array | None
    next_deviation: Array
    policy: Any  # a pytree of the policy's choice
    sums: dict[str, Array]

    @property
    def pulls(self) -> Array:
        """N_k, float."""
        return self.complete_plays.astype(self.partial_play.dtype) + self.partial_play

    @property
    def received(self) -> None:
        """None, as in `rollout.State` without delays."""
        return None


def run_relaxed(
    policy: Policy, run_inputs: RunInputs, shape: tuple[int, ...], rounds: int, asked: tuple[str, ...]
) -> RunTotals:
    """Runs of shares of plays, for a policy with `real_counts`.

    Args:
        policy: prepared, on the device.
        run_inputs: what the runs share.
        shape: (K, *runs).
        rounds: T.
        asked: the names of the sums of `rollout.SUMS` to keep.
    """
    world = run_inputs.world
    zeros = jnp.zeros(shape, jnp.result_type(float))
    counts = jnp.zeros(shape, jnp.int32)

    def reward(number: Array, before: Array) -> Array:
        return _deviation_of_play(run_inputs, shape, number, before)

    def step(state: ShareState, before: Array) -> tuple[ShareState, None]:
        t = before + 1
        quota_before, quota_now = _quotas_of_round(run_inputs.quotas, before)
        quota_before, quota_now = _with_float_floor(quota_before), _with_float_floor(quota_now)
        random = Stream(run_inputs.key, t.astype(jnp.uint32), POLICY)

        def view(state: ShareState) -> RelaxedRoundView:
            now = rollout.observe(state, world, t, jnp.asarray(rounds, jnp.int32), quota_before, quota_now, random)  # type: ignore[arg-type]
            return RelaxedRoundView(
                **{f.name: getattr(now, f.name) for f in dataclasses.fields(now)}, width=run_inputs.width
            )

        now = view(state)
        share = _shares_of_policy(policy, state.policy, now, run_inputs.temperature)
        reached = state.partial_play + share
        full = reached >= 1.0
        late = jnp.where(full, reached - 1.0, 0.0)  # the part of the share that falls on the play after the next
        early, following = share - late, reward(state.complete_plays + 1, before)
        squares = state.squares
        if squares is not None:
            squares = squares + early * state.next_deviation**2 + late * following**2
        after = ShareState(
            complete_plays=state.complete_plays + full.astype(jnp.int32),
            partial_play=jnp.where(full, late, reached),
            deviation=state.deviation + early * state.next_deviation + late * following,
            squares=squares,
            next_deviation=jnp.where(full, following, state.next_deviation),
            policy=state.policy,
            sums={name: total + _sum_term(name, world, share) for name, total in state.sums.items()},
        )
        return dataclasses.replace(after, policy=policy.update(state.policy, view(after), share)), None

    start = ShareState(
        complete_plays=counts,
        partial_play=zeros,
        deviation=zeros,
        squares=zeros if policy.wants_squares else None,
        next_deviation=reward(counts, jnp.zeros((), jnp.int32)),
        policy=_with_real_queues(policy.init(world, shape)),
        sums={name: zeros[:1] for name in asked if name in rollout.CHANCES},
    )
    end = _scan_in_chunks(step, start, rounds)
    sums = dict(end.sums)
    if "reward" in asked:
        centre = 0.0 if world.centre is None else world.centre
        sums["reward"] = jnp.sum(centre * end.pulls + end.deviation, axis=0, keepdims=True)
    return RunTotals(end.pulls, sums, zeros[:1])


def _deviation_of_play(run_inputs: RunInputs, shape: tuple[int, ...], number: Array, before: Array) -> Array:
    """The rewards of each arm's play `number`, minus their centre, `[K, *runs]`; `before` is the last round played."""
    world = run_inputs.world
    random = Stream(run_inputs.key, before.astype(jnp.uint32), POLICY).for_play(number, None, shape[0])
    mean = jnp.broadcast_to(world.means, (shape[0], *world.means.shape[1:]))
    return jnp.broadcast_to(feedback.rewards(mean, world.reward, world.centre, world.binarised, random)[1], shape)


def run_sampled(
    policy: Policy, run_inputs: RunInputs, shape: tuple[int, ...], rounds: int, asked: tuple[str, ...]
) -> RunTotals:
    """Runs of whole plays that are drawn by the soft choice; arguments as for `run_relaxed`, any delay and any policy.

    For the sums of `rollout.CHANCES`, the drawn arms have the chance 1, unless the policy selects by its own chances.
    """
    world = run_inputs.world
    drawn_sums = tuple(name for name in asked if name not in rollout.CHANCES)

    def step(carry: SampledCarry, before: Array) -> tuple[SampledCarry, None]:
        state, log_chance, sums = carry
        t = before + 1
        quota_before, quota_now = _quotas_of_round(run_inputs.quotas, before)
        random = Stream(run_inputs.key, t.astype(jnp.uint32), POLICY)
        now = rollout.observe(state, world, t, jnp.asarray(rounds, jnp.int32), quota_before, quota_now, random)
        selected, log_of_draw = _draw_of_policy(policy, state.policy, now, run_inputs.temperature)
        if sums:
            share = policy.chances(now) if isinstance(policy, MeritPolicy) else selected.astype(log_of_draw.dtype)
            sums = {name: total + _sum_term(name, world, share) for name, total in sums.items()}
        after, _ = rollout.settle(policy, world, state, now, feedback.drawing_form(world, selected), None)
        return (after, log_chance + log_of_draw, sums), None

    state = rollout.begin(policy, world, shape, False, drawn_sums)
    zeros = jnp.zeros((1, *shape[1:]), jnp.result_type(float))
    chance_sums = {name: zeros for name in asked if name in rollout.CHANCES}
    state, log_chance, sums = _scan_in_chunks(step, (state, zeros, chance_sums), rounds)
    sums = {**sums, **{name: total.value for name, total in state.sums.items()}}
    return RunTotals(state.pulls.astype(zeros.dtype), sums, log_chance)


def _shares_of_policy(policy: Policy, state: Any, now: RoundView, temperature: Array) -> Array:
    """The chance of each arm: the policy's own where it selects by chances, else the soft choice's share."""
    if isinstance(policy, MeritPolicy):
        return policy.chances(now)
    return soft_shares(policy.score(state, now), now, temperature)  # type: ignore[attr-defined]


def _draw_of_policy(policy: Policy, state: Any, now: RoundView, temperature: Array) -> tuple[Array, Array]:
    """The drawn arms and the logarithm of their chance, as `draw_arms`."""
    if isinstance(policy, MeritPolicy):  # of one play
        chances = policy.chances(now)
        selected = sample_arm(lax.stop_gradient(chances), choice_stream(now).uniform(), now.available)
        return selected, jnp.sum(jnp.where(selected, jnp.log(chances), 0.0), axis=0, keepdims=True)
    return draw_arms(policy.score(state, now), now, temperature)  # type: ignore[attr-defined]


def _sum_term(name: str, world: World, share: Array) -> Array:
    """What a round adds to a sum of `rollout.CHANCES`."""
    return rollout.SUMS[name](world, None, None, share)  # type: ignore[arg-type]


def _quotas_of_round(quotas: Quota | None, before: Array) -> tuple[Quota | None, Quota | None]:
    """tau (t-1) and tau t, where `before` is t-1."""
    if quotas is None:
        return None, None

    def row(place: Array) -> Quota:
        return jax.tree.map(lambda rows: lax.dynamic_index_in_dim(rows, place, keepdims=False), quotas)

    return row(before), row(before + 1)


def _with_float_floor(quota: Quota | None) -> Quota | None:
    return None if quota is None else dataclasses.replace(quota, floor=quota.floor.astype(quota.fraction.dtype))


def _with_real_queues(state: Tree) -> Tree:
    """A policy's state, with its virtual queues ready for shares of plays."""

    def one(part: object) -> object:
        return virtual_queues.with_real_rounds(part, jnp.result_type(float)) if isinstance(part, Queue) else part

    made: Tree = jax.tree.map(one, state, is_leaf=lambda part: isinstance(part, Queue))
    return made


def _scan_in_chunks(step: Callable[[Carry, Array], tuple[Carry, None]], carry: Carry, rounds: int) -> Carry:
    """`step` over the rounds 0, ..., rounds - 1, in chunks of about sqrt(rounds) rounds."""
    length = max(1, math.isqrt(rounds))
    chunks = rounds // length
    numbers = jnp.arange(rounds, dtype=jnp.int32)

    @jax.checkpoint
    def chunk(carry: Carry, numbers: Array) -> tuple[Carry, None]:
        return lax.scan(step, carry, numbers)

    carry, _ = lax.scan(chunk, carry, numbers[: chunks * length].reshape(chunks, length))
    if chunks * length < rounds:
        carry, _ = chunk(carry, numbers[chunks * length :])
    return carry
