"""Runs under a soft choice: of whole plays, drawn; or of shares of plays, which derivatives go through.

Both scan over rounds in stretches of about sqrt(T), of which only the first states are kept for the derivatives; the
states between are computed again (Griewank & Walther 2000), so that memory grows like sqrt(T).
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
from jaxbandit.tuning.relaxations import drawn, numbers, shares

Carry = TypeVar("Carry")


class RunInputs(NamedTuple):
    """What all runs share: prepared on the device, arrays `[K or 1, *runs]` broadcasting.

    Attributes:
        world: the problem.
        key: the runs' key words, two uint32 arrays `[1, *runs]`.
        quotas: tau s for s = 0, ..., T, arrays `[T + 1, K, *runs]`; None without fractions.
        temperature: of the choice.
        width: of the threshold, in rounds.
    """

    world: World
    key: tuple[Any, Any]
    quotas: Quota | None
    temperature: Any
    width: Any


class Ends(NamedTuple):
    """What runs come to.

    Attributes:
        counts: N_k(T), float `[K, *runs]`.
        sums: those of `engine.SUMS` that are asked for, by name, float `[1, *runs]`.
        log_chance: the logarithm of the chance of all choices, float `[1, *runs]`; 0 where nothing is drawn.
    """

    counts: Array
    sums: dict[str, Array]
    log_chance: Array


@struct
class RelaxedRoundView(RoundView):
    """What a policy sees where counts are sums of shares: counts are floats, and thresholds soft.

    Attributes:
        width: of the sigmoid that stands for a threshold, in rounds.
    """

    width: Any = 1.0

    @property
    def mean(self) -> Array:
        """S_k / max(M_k, 1), float, for M_k below 1 too."""
        return self.total / self.samples

    def upper(self, weight: Any) -> Array:
        """m_k + sqrt(w_k / max(M_k, 1)), float."""
        return self.mean + safe_sqrt(weight / self.samples)

    def below_quota(self, quota: Quota) -> Array:
        """[N_k < tau_k s] softened: a sigmoid around the middle between the last count that is below and the next.

        So that whole counts are on their side of it, at least half a round away, whatever tau s.
        """
        needed = quota.floor + (quota.fraction > 0).astype(
            quota.fraction.dtype
        )  # the least whole count that is not below
        return jax.nn.sigmoid((needed - 0.5 - self.pulls) / self.width)


@struct
class Shared:
    """What runs of shares carry from round to round, `[K, *runs]`.

    A share p of a round plays p of an arm's next play: after N = n + x plays, x in [0, 1), an arm has had its first n
    rewards and the part x of reward n + 1. So an arm's n-th reward is the one that `simulate` draws for the same key.

    Attributes:
        whole: n, int32.
        part: x, float; in float32 too, many small shares sum to what they should.
        deviation, squares: as in `engine.State`.
        reward: the deviation of reward n + 1, float.
        policy: the policy's state, its queues real.
        sums: those of `engine.SUMS` that are asked for, float `[1, *runs]`.
    """

    whole: Any
    part: Any
    deviation: Any
    squares: Any
    reward: Any
    policy: Any
    sums: dict[str, Any]

    @property
    def pulls(self) -> Array:
        """N_k, float."""
        return self.whole.astype(self.part.dtype) + self.part

    @property
    def received(self) -> None:
        """There is no delay."""
        return None


def relaxed(policy: Policy, run_inputs: RunInputs, shape: tuple[int, ...], rounds: int, asked: tuple[str, ...]) -> Ends:
    """Runs of shares of plays, for a policy with `real_counts`.

    Args:
        policy: prepared, on the device.
        course: what the runs share.
        shape: (K, *runs).
        rounds: T.
        asked: of `engine.SUMS`.
    """
    world = run_inputs.world
    zeros = jnp.zeros(shape, jnp.result_type(float))
    counts = jnp.zeros(shape, jnp.int32)

    def reward(number: Array, before: Array) -> Array:
        random = Stream(run_inputs.key, before.astype(jnp.uint32), POLICY).for_play(number, None, shape[0])
        mean = jnp.broadcast_to(world.means, (shape[0], *world.means.shape[1:]))
        return jnp.broadcast_to(feedback.rewards(mean, world.reward, world.centre, world.binarised, random)[1], shape)

    def step(state: Shared, before: Array) -> tuple[Shared, None]:
        t = before + 1
        quota_before, quota_now = _quotas(run_inputs.quotas, before)
        quota_before, quota_now = _floats(quota_before), _floats(quota_now)
        random = Stream(run_inputs.key, t.astype(jnp.uint32), POLICY)

        def view(state: Shared) -> RelaxedRoundView:
            now = rollout.observe(state, world, t, jnp.asarray(rounds, jnp.int32), quota_before, quota_now, random)  # type: ignore[arg-type]
            return RelaxedRoundView(
                **{f.name: getattr(now, f.name) for f in dataclasses.fields(now)}, width=run_inputs.width
            )

        now = view(state)
        share = _shares(policy, state.policy, now, run_inputs.temperature)
        reached = state.part + share
        full = reached >= 1.0
        late = jnp.where(full, reached - 1.0, 0.0)
        early, following = share - late, reward(state.whole + 1, before)
        squares = state.squares
        if squares is not None:
            squares = squares + early * state.reward**2 + late * following**2
        after = Shared(
            whole=state.whole + full.astype(jnp.int32),
            part=jnp.where(full, late, reached),
            deviation=state.deviation + early * state.reward + late * following,
            squares=squares,
            reward=jnp.where(full, following, state.reward),
            policy=state.policy,
            sums={name: total + _term(name, world, share) for name, total in state.sums.items()},
        )
        return dataclasses.replace(after, policy=policy.update(state.policy, view(after), share)), None

    start = Shared(
        whole=counts,
        part=zeros,
        deviation=zeros,
        squares=zeros if policy.wants_squares else None,
        reward=reward(counts, jnp.zeros((), jnp.int32)),
        policy=_real(policy.init(world, shape)),
        sums={name: zeros[:1] for name in asked if name in rollout.CHANCES},
    )
    end = _folded(step, start, rounds)
    sums = dict(end.sums)
    if "reward" in asked:
        centre = 0.0 if world.centre is None else world.centre
        sums["reward"] = jnp.sum(centre * end.pulls + end.deviation, axis=0, keepdims=True)
    return Ends(end.pulls, sums, zeros[:1])


def sampled(policy: Policy, run_inputs: RunInputs, shape: tuple[int, ...], rounds: int, asked: tuple[str, ...]) -> Ends:
    """Runs of whole plays, the soft choice drawn; arguments as for `relaxed`, but any delay and any policy.

    The chances of `engine.CHANCES` are 1 for the arms drawn, but for a policy that selects by chances of its own.
    """
    world = run_inputs.world
    drawn_sums = tuple(name for name in asked if name not in rollout.CHANCES)

    def step(carry: tuple[rollout.State, Array, dict[str, Array]], before: Array) -> tuple[Any, None]:
        state, log_chance, sums = carry
        t = before + 1
        quota_before, quota_now = _quotas(run_inputs.quotas, before)
        random = Stream(run_inputs.key, t.astype(jnp.uint32), POLICY)
        now = rollout.observe(state, world, t, jnp.asarray(rounds, jnp.int32), quota_before, quota_now, random)
        selected, log_of_it = _drawn(policy, state.policy, now, run_inputs.temperature)
        if sums:
            share = policy.chances(now) if isinstance(policy, MeritPolicy) else selected.astype(log_of_it.dtype)
            sums = {name: total + _term(name, world, share) for name, total in sums.items()}
        after = rollout.settle(policy, world, state, now, feedback.drawing_form(world, selected), None)
        return (after, log_chance + log_of_it, sums), None

    state = rollout.begin(policy, world, shape, False, drawn_sums)
    none = jnp.zeros((1, *shape[1:]), jnp.result_type(float))
    own = {name: none for name in asked if name in rollout.CHANCES}
    state, log_chance, sums = _folded(step, (state, none, own), rounds)
    sums = {**sums, **{name: total.value for name, total in state.sums.items()}}
    return Ends(state.pulls.astype(none.dtype), sums, log_chance)


def _shares(policy: Policy, state: Any, now: RoundView, temperature: Array) -> Array:
    """The chance of each arm: a policy's own where it selects by chances, else those of the soft choice."""
    if isinstance(policy, MeritPolicy):
        return policy.chances(now)
    return shares(policy.score(state, now), now, temperature)  # type: ignore[attr-defined]


def _drawn(policy: Policy, state: Any, now: RoundView, temperature: Array) -> tuple[Array, Array]:
    if isinstance(policy, MeritPolicy):  # of one play
        chances = policy.chances(now)
        selected = sample_arm(lax.stop_gradient(chances), numbers(now).uniform(), now.available)
        return selected, jnp.sum(jnp.where(selected, jnp.log(chances), 0.0), axis=0, keepdims=True)
    return drawn(policy.score(state, now), now, temperature)  # type: ignore[attr-defined]


def _term(name: str, world: World, share: Array) -> Array:
    return rollout.SUMS[name](world, None, None, share)  # type: ignore[arg-type]


def _quotas(quotas: Quota | None, before: Array) -> tuple[Any, Any]:
    """tau (t-1) and tau t."""
    if quotas is None:
        return None, None

    def row(place: Array) -> Quota:
        return jax.tree.map(lambda rows: lax.dynamic_index_in_dim(rows, place, keepdims=False), quotas)

    return row(before), row(before + 1)


def _floats(quota: Quota | None) -> Quota | None:
    return None if quota is None else dataclasses.replace(quota, floor=quota.floor.astype(quota.fraction.dtype))


def _real(state: Any) -> Any:
    """A policy's state with its queues ready for shares."""

    def one(part: Any) -> Any:
        return virtual_queues.with_real_rounds(part, jnp.result_type(float)) if isinstance(part, Queue) else part

    return jax.tree.map(one, state, is_leaf=lambda part: isinstance(part, Queue))


def _folded(step: Callable[[Carry, Array], tuple[Carry, None]], carry: Carry, rounds: int) -> Carry:
    """`step` over the rounds 0, ..., rounds - 1, in stretches of about sqrt(rounds)."""
    side = max(1, math.isqrt(rounds))
    many = rounds // side
    numbers = jnp.arange(rounds, dtype=jnp.int32)

    @jax.checkpoint
    def chunk(carry: Carry, numbers: Array) -> tuple[Carry, None]:
        return lax.scan(step, carry, numbers)

    carry, _ = lax.scan(chunk, carry, numbers[: many * side].reshape(many, side))
    if many * side < rounds:
        carry, _ = chunk(carry, numbers[many * side :])
    return carry
