"""`RoundView`: the counts, the feedback, the quotas and the random numbers that a policy sees in one round."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.prng import Stream
from jaxbandit.core.rationals import Quota
from jaxbandit.core.struct import static, struct
from jaxbandit.core.xla.fusion import without_fusion
from jaxbandit.policies.selection.quotients import rounded_quotient
from jaxbandit.policies.selection.top_arms import top_available

if TYPE_CHECKING:
    from typing import Self

    from jaxbandit.environment.world import World


@struct
class Arrived:
    """The rewards that arrived at the end of a round, as the policy receives them.

    Attributes:
        count: their number per arm, int32 `[K, *runs]`.
        total: their sum per arm, float `[K, *runs]`. Where one reward of an arm arrived, it is exactly this reward.
        losses: the sum of their importance-weighted losses (1 - r) / p per arm, where p is the chance with which the
            arm was selected for the reward r, as drawn; float `[K, *runs]`. None unless the policy sets
            `needs_losses = True`.
    """

    count: Array
    total: Array
    losses: Array | Any = None


@struct
class GroupView:
    """What a policy sees of the groups of arms. Arrays have one row per group, `[G, *runs]`, where run axes broadcast.

    Attributes:
        pulls: how often the arms of each group were selected, all together; int32.
        quota_before, quota_now: the quota of each group before and after the round, phi_g L (t - 1) and phi_g L t,
            `Quota`s; None if the problem has no `group_fractions`.
        penalties: A_g, the penalty rate of each group; float. None if the problem has none.
        members: the arms of each group.
    """

    pulls: Array
    quota_before: Quota | Any
    quota_now: Quota | Any
    penalties: Array | Any
    members: tuple[tuple[int, ...], ...] = static(())

    def of_arms(self, values: Array, arms: int, other: float) -> Array:
        """The value of each arm's group, `[K, *runs]`; `other` for an arm in no group.

        Args:
            values: a value per group, `[G, *runs]`.
            arms: K.
            other: of the type of `values`.
        """
        number = np.full(arms, len(self.members))
        for group, members in enumerate(self.members):
            number[list(members)] = group
        return jnp.concatenate([values, jnp.full_like(values[:1], other)])[number]


def group_sums(values: Array, groups: tuple[tuple[int, ...], ...]) -> Array:
    """The sum over the arms of each group of values `[K, *runs]`, `[G, *runs]`."""
    return jnp.stack([functools.reduce(jnp.add, [values[arm] for arm in members]) for members in groups])


def quotas_and_groups(world: World, pulls: Array, before: Quota | None, now: Quota | None) -> dict[str, Any]:
    """The arguments `quota_before`, `quota_now` and `groups` of a `RoundView`.

    Args:
        world: the problem.
        pulls: N_k, `[K, *runs]`.
        before, now: the quotas of the arms, then of the groups, before and after the round; None if nothing is
            guaranteed.
    """
    if not world.groups:
        return {"quota_before": before, "quota_now": now, "groups": None}
    arms = 0 if world.fractions is None else len(pulls)

    def rows(quota: Quota | None, of_arms: bool) -> Quota | None:
        if quota is None or (of_arms and not arms) or (not of_arms and world.group_fractions is None):
            return None
        part: Quota = jax.tree.map(lambda leaf: leaf[:arms] if of_arms else leaf[arms:], quota)
        return part

    own = rows(before, False), rows(now, False)
    groups = GroupView(group_sums(pulls, world.groups), *own, world.group_penalties, world.groups)
    return {"quota_before": rows(before, True), "quota_now": rows(now, True), "groups": groups}


@struct
class RoundView:
    """What a policy sees in round t.

    `select`, `choose` and `value` get the view at the start of the round, with the counts and the feedback up to the
    end of round t - 1. `update` gets the view at the end of the round: the same `t`, with the counts and the feedback
    of round t included.

    The first axis of every array is the arm, the other axes are the runs: the shape is `[K, *runs]`, or `[1, *runs]`
    for a quantity that does not depend on the arm, and K is `len(now.pulls)`. In `jb.simulate`, `runs` are two axes:
    instances of configurations, and seeds; in `jb.Simulator` and `jb.Agent` it is one axis of length 1. A method works
    for both if it reduces over axis 0 with `keepdims=True`. Floats are float32, or float64 where JAX is told to use it
    (`jax_enable_x64`).

    Most policies need only the round `t`, the counts `pulls`, and the statistics of the arrived rewards: the properties
    `mean`, `samples`, `total` and `variance`. The methods `upper`, `log` and `below_quota` compute terms that many
    indices have: a confidence bound, the logarithm of the round, and whether an arm is below its quota.

    A `Quota` is the number tau_k s, the rounds that arm k is guaranteed in s rounds, in two parts: `floor`, an integer,
    and `fraction`, a float in [0, 1). Comparisons with a quota use integers; therefore they are exact. Pass it to
    `below_quota` to compare it with `pulls`; `quota.floor + quota.fraction` is the number as a float.

    Attributes:
        t: the round, from 1 on; int32 scalar (`[1, *runs]` in a `black_box`, where each run counts the
            rounds from its own start).
        horizon: T, the number of rounds of the simulation; int32 scalar.
        pulls: N_k, how often each arm was selected; int32.
        received: M_k, how many rewards of each arm have arrived; int32. Without delay it equals `pulls`.
        deviation: the sum of the differences between each arrived reward of an arm and the arm's `centre`; float. Use
            `total` for the sum of the rewards.
        squares: the sum of the squares of these differences; float. None unless the policy sets
            `needs_squares = True`. Use `variance`.
        centre: the number per arm that is subtracted from its rewards, which keeps sums of many rewards precise; float.
            None means that 0 is subtracted.
        available: whether each arm can be selected in this round; bool.
        quota_before: the quota before the round, tau_k (t - 1), a `Quota`; None if the problem has no fractions.
        quota_now: the quota after the round, tau_k t, a `Quota`; None if the problem has no fractions.
        fractions: tau_k, the fraction of the rounds that arm k is guaranteed; float. None if the problem has none.
        penalties: A_k, the penalty rate of arm k; float. None if the problem has none.
        random: the random numbers of this round for this policy, a `jb.Stream`: `random.uniform(n)` and
            `random.normal(n)` return `[n, *runs]`, and `random.beta(a, b)` an array of the shape of `a`. Equal calls in
            a round return equal numbers; `random.t` is the round.
        plays: L, the number of arms to select; int.
        groups: the groups of arms, a `GroupView`; None if the problem has no `groups`.
        tie_breaker: a number per arm, drawn anew in each round; among arms that are equal otherwise, those with larger
            numbers go first; int32. None where ties go to the lowest arm. `best` uses it; a policy of yours that
            selects arms in another way should use it, too.
        arrived: the rewards that arrived at the end of this round, `arrived.count`, `arrived.total` and
            `arrived.losses` per arm; only in `update`, None elsewhere.

    Example:
        >>> class Optimist(jb.Index):
        ...     def value(self, state, now):
        ...         return now.mean + 1.0 / now.samples
        >>> jb.policy(Optimist).name
        'Optimist'
    """

    t: Array
    horizon: Array
    pulls: Array
    received: Array
    deviation: Array
    squares: Array | Any  # `Any` where it may be None: a policy that reads it has asked for it
    centre: Array | None
    available: Array
    quota_before: Quota | Any
    quota_now: Quota | Any
    fractions: Array | Any
    penalties: Array | Any
    random: Stream
    plays: int = static(1)
    groups: GroupView | Any = None
    tie_breaker: Array | None = None
    arrived: Arrived | Any = None

    @property
    def samples(self) -> Array:
        """max(M_k, 1), the divisor of an index; float `[K, *runs]`."""
        return jnp.maximum(self.received, 1).astype(self.deviation.dtype)

    @property
    def mean(self) -> Array:
        """m_k = S_k / max(M_k, 1), the mean of the arrived rewards; float `[K, *runs]`, 0 where none has arrived."""
        offset = rounded_quotient(self.deviation, self.samples)
        return offset if self.centre is None else jnp.where(self.received > 0, self.centre + offset, 0.0)

    def upper(self, weight: Array | float) -> Array:
        """m_k + sqrt(w_k / max(M_k, 1)), an upper confidence bound; float `[K, *runs]`.

        It is computed as (S_k + sqrt(w_k max(M_k, 1))) / max(M_k, 1), with a single division.

        Args:
            weight: w_k >= 0, float, broadcasting to `[K, *runs]`; 2 log t in UCB1.
        """
        offset = (self.deviation + safe_sqrt(weight * self.samples)) / self.samples
        if self.centre is None:
            return offset
        return offset + jnp.where(self.received > 0, self.centre, 0.0)

    @property
    def total(self) -> Array:
        """S_k, the sum of the arrived rewards; float `[K, *runs]`."""
        if self.centre is None:
            return self.deviation
        return self.centre * self.received.astype(self.deviation.dtype) + self.deviation

    @property
    def variance(self) -> Array:
        """The variance of the arrived rewards, with divisor M_k; float `[K, *runs]`, 0 where none has arrived.

        Only for policies that set `needs_squares = True`.
        """
        return jnp.maximum(self.squares / self.samples - (self.deviation / self.samples) ** 2, 0.0)

    def below_quota(self, quota: Quota, pulls: Array | None = None) -> Array:
        """Whether arms are below a quota: 1 where N_k < tau_k s, decided exactly, else 0; float `[K, *runs]`.

        Args:
            quota: `quota_before` or `quota_now`; or one of `groups`, with the counts of the groups as `pulls`.
            pulls: N_k. Default: those of the arms.
        """
        return is_below(quota, self.pulls if pulls is None else pulls).astype(self.deviation.dtype)

    def best(self, score: Array | float) -> Array:
        """The L available arms of highest score, as `select` returns them; all available arms where they are fewer.

        Ties between equal scores are broken as the simulation says (`ties`): at random, or for the lowest arm.

        Args:
            score: a number per arm, broadcasting to `[K, *runs]`. Where the score of an available arm is NaN, an arm
                may be missing from the selection; the simulation then ends with an error.

        Returns:
            A mask, bool `[K, *runs]`.

        Example:
            >>> class Greedy(jb.Policy):
            ...     def select(self, state, now):
            ...         return now.best(now.mean)
            >>> results = jb.simulate(jb.Problem([0.5, 0.5]), Greedy, horizon=1, seeds=100, ties="random")
            >>> bool((results.pulls.sum("seed") > 0).all())
            True
        """
        every = jnp.broadcast_to(score, self.pulls.shape)
        return top_available(lambda: (every,), self, self.tie_breaker)

    def log(self, offset: Array | float = 0.0) -> Array:
        """log(max(t - offset, 1)), float, of the shape of `t` and `offset`."""

        def log() -> Array:
            return jnp.log(jnp.maximum(self.t.astype(self.deviation.dtype) - offset, 1.0))

        if self.t.ndim:  # a clock per run: fused into the scores, it would be computed for every arm
            return without_fusion(log, self.t)
        return log()

    def for_wrapped_policy(self) -> Self:
        """The same view for a policy inside this one, with random numbers of its own."""
        return dataclasses.replace(self, random=self.random.for_purpose(self.random.purpose + 1))


def is_below(quota: Quota, counts: Array) -> Array:
    """N < tau s, decided exactly; bool `[K, *runs]`."""
    if quota.ceiling is not None:
        below: Array = counts < quota.ceiling
        return below
    return counts - quota.floor < (quota.fraction > 0).astype(counts.dtype)


def deficit(quota: Quota, counts: Array) -> Array:
    """tau s - N, float `[K, *runs]`; its sign and its zeros are exact."""
    return (quota.floor - counts).astype(quota.fraction.dtype) + quota.fraction


@jax.custom_jvp
def safe_sqrt(value: Array) -> Array:
    """The square root, float; its derivative at 0, which does not exist, is taken as 0."""
    return jnp.sqrt(value)


@safe_sqrt.defjvp
def _safe_sqrt_derivative(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    value = jnp.sqrt(primals[0])
    return value, jnp.where(value > 0, tangents[0] / jnp.where(value > 0, 2.0 * value, 1.0), 0.0)
