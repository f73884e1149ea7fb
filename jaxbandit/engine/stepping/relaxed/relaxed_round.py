"""One relaxed round of a batch of runs: every arm gets a share of the plays, and the same share of its next reward."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.core.prng import POLICY, Stream
from jaxbandit.core.rationals import Quota
from jaxbandit.core.struct import struct
from jaxbandit.engine import rollout
from jaxbandit.engine.rounds import feedback
from jaxbandit.engine.stepping.relaxed.soft_choice import soft_shares
from jaxbandit.engine.stepping.relaxed.softness import Softness
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Policy
from jaxbandit.policies.guarantees import virtual_queues
from jaxbandit.policies.guarantees.virtual_queues import Queue
from jaxbandit.policies.merit.proportional import MeritPolicy
from jaxbandit.policies.round_view import Arrived, RoundView, safe_sqrt

Tree = TypeVar("Tree")


@struct
class RelaxedRoundView(RoundView):
    """What a policy sees where counts are sums of shares: counts are floats, and thresholds are soft.

    In `update`, `arrived.count` are the shares of the round, and `arrived.total` the rewards that they earned.

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

    def below_quota(self, quota: Quota, pulls: Array | None = None) -> Array:
        """[N_k < tau_k s], softened: a sigmoid around the middle between the last count that is below and the next.

        Every whole count is on its side of the middle, at least half a round away, whatever tau s is.
        """
        enough = quota.floor + (quota.fraction > 0).astype(quota.fraction.dtype)  # the smallest count not below
        return jax.nn.sigmoid((enough - 0.5 - (self.pulls if pulls is None else pulls)) / self.width)


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


@struct
class ShareEvents:
    """What happened in a relaxed round.

    Attributes:
        shares: the share of the plays that each arm got, float `[K, *runs]`.
        rewards: the rewards that these shares earned, as the policy receives them, float `[K, *runs]`.
    """

    shares: Array
    rewards: Array


def begin(
    policy: Policy, world: World, shape: tuple[int, ...], key: rollout.Keys, asked: tuple[str, ...] = ()
) -> ShareState:
    """The state before round 1.

    Args:
        policy, world: prepared, on the device; the policy accepts shares.
        shape: (K, *runs).
        key: the runs' key words, two uint32 arrays `[1, *runs]`.
        asked: the names of the sums of `rollout.CHANCES` to keep.
    """
    zeros, counts = jnp.zeros(shape, jnp.result_type(float)), jnp.zeros(shape, jnp.int32)
    return ShareState(
        complete_plays=counts,
        partial_play=zeros,
        deviation=zeros,
        squares=zeros if policy.wants_squares else None,
        next_deviation=_deviation_of_play(world, counts, Stream(key, jnp.zeros((), jnp.uint32), POLICY)),
        policy=_with_real_queues(policy.init(world, shape)),
        sums=dict.fromkeys(asked, zeros[:1]),
    )


def play(
    policy: Policy,
    world: World,
    state: ShareState,
    t: Array,
    horizon: Array,
    quota_before: Quota | None,
    quota_now: Quota | None,
    key: rollout.Keys,
    softness: Softness,
) -> tuple[ShareState, ShareEvents]:
    """Round t of every run: share the plays, collect the shares' rewards, update. Pure; arguments as `rollout.play`."""
    quota_before, quota_now = _with_float_floor(quota_before), _with_float_floor(quota_now)
    random = Stream(key, t.astype(jnp.uint32), POLICY)

    def view(state: ShareState) -> RelaxedRoundView:
        now = rollout.observe(state, world, t, horizon, quota_before, quota_now, random)  # type: ignore[arg-type]
        return RelaxedRoundView(**{f.name: getattr(now, f.name) for f in dataclasses.fields(now)}, width=softness.width)

    share = _shares_of_policy(policy, state.policy, view(state), softness.temperature)
    reached = state.partial_play + share
    full = reached >= 1.0
    late = jnp.where(full, reached - 1.0, 0.0)  # the part of the share that falls on the play after the next
    early, following = share - late, _deviation_of_play(world, state.complete_plays + 1, random)
    squares = state.squares
    if squares is not None:
        squares = squares + early * state.next_deviation**2 + late * following**2
    gained, gained_late = early * state.next_deviation, late * following
    after = ShareState(
        complete_plays=state.complete_plays + full.astype(jnp.int32),
        partial_play=jnp.where(full, late, reached),
        deviation=state.deviation + gained + gained_late,
        squares=squares,
        next_deviation=jnp.where(full, following, state.next_deviation),
        policy=state.policy,
        sums={name: total + sum_term(name, world, share) for name, total in state.sums.items()},
    )
    rewards = gained + gained_late if world.centre is None else world.centre * share + (gained + gained_late)
    seen = dataclasses.replace(view(after), arrived=Arrived(share, rewards))
    after = dataclasses.replace(after, policy=policy.update(state.policy, seen, share))
    return after, ShareEvents(share, rewards)


def sum_term(name: str, world: World, share: Array) -> Array:
    """What a round adds to a sum of `rollout.CHANCES`, float `[1, *runs]`."""
    return rollout.SUMS[name](world, None, None, share, None)  # type: ignore[arg-type]


def _deviation_of_play(world: World, number: Array, random: Stream) -> Array:
    """The rewards of each arm's play `number`, minus their centre, `[K, *runs]`, whatever the round of `random` is."""
    mean = jnp.broadcast_to(world.means, (len(number), *world.means.shape[1:]))
    of_play = random.for_play(number, None, len(number))
    deviation = feedback.rewards(mean, world.reward, world.centre, world.binarised, of_play)[1]
    return jnp.broadcast_to(deviation, number.shape)


def _shares_of_policy(policy: Policy, state: Any, now: RoundView, temperature: Array) -> Array:
    """The chance of each arm: the policy's own where it selects by chances, else the soft choice's share."""
    if isinstance(policy, MeritPolicy):
        return policy.chances(now)
    return soft_shares(policy.score(state, now), now, temperature)  # type: ignore[attr-defined]


def _with_float_floor(quota: Quota | None) -> Quota | None:
    return None if quota is None else dataclasses.replace(quota, floor=quota.floor.astype(quota.fraction.dtype))


def _with_real_queues(state: Tree) -> Tree:
    """A policy's state, with its virtual queues ready for shares of plays."""

    def one(part: object) -> object:
        return virtual_queues.with_real_rounds(part, jnp.result_type(float)) if isinstance(part, Queue) else part

    made: Tree = jax.tree.map(one, state, is_leaf=lambda part: isinstance(part, Queue))
    return made
