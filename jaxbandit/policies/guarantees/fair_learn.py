"""fair-learn: guarantees paper, Algorithm 3 (FUCB; F-TS over thompson), several plays as in sec. 5."""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.component import derived, parameter
from jaxbandit.core.input_values import Number
from jaxbandit.core.rationals import exact_fraction, exact_fractions, floor_and_fraction
from jaxbandit.core.xla.fusion import cond_fused
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Alias, Index, Policy, PolicyState, Rule
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.round_view import GroupView, RoundView, group_sums
from jaxbandit.policies.selection.arm_indices import arm_index
from jaxbandit.policies.selection.top_arm import Keys
from jaxbandit.policies.selection.top_arms import (
    deficit_key,
    top_arms,
    top_available,
    top_available_number,
)

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem

_FLOOR_AND_FRACTION = np.frompyfunc(floor_and_fraction, 1, 2)


@functools.lru_cache(maxsize=1 << 12)  # grids repeat their values
def _parts_of_number(alpha: float, most: int) -> tuple[int, float]:
    return floor_and_fraction(min(exact_fraction(alpha, "policies.alpha"), Fraction(most)))


class FairLearn(Rule, name="fair-learn"):
    """Fair-Learn: plays the arm of largest deficit if that exceeds alpha, else the arm of highest index.

    The deficit of arm k in round t is d_k = tau_k (t-1) - N_k(t-1): its quota minus the number of rounds before t in
    which it was selected. It is compared with alpha exactly. With several plays per round, the arms with d_k > alpha
    come first, in order of their deficits, then the others, in order of their indices. The problem needs `fractions`,
    the tau_k, or `group_fractions`, or both. `fucb` is the name of the policy with the base ucb1, and `f-ts` with the
    base thompson.

    The deficit of a group in round t is phi_g L (t-1), its fraction of the plays before, minus the number of selections
    of its arms before, minus the plays that it has got in round t so far. Each of its arms has this deficit, or its own
    if that is larger. Among the arms of one group that have the largest deficit because of their group, the index
    decides; between equal deficits otherwise, the lowest arm.

    Source: Patil, Ghalme, Nair & Narahari, "Stochastic multi-armed bandits with arm-specific fairness guarantees"
    (guarantees paper), Alg. 3 and sec. 5; penalties paper, sec. 5.

    Raises:
        InputError: when the simulation starts, if neither arms nor groups are guaranteed plays.

    Example:
        >>> jb.policy("fair-learn", base="moss", alpha=2)
        FairLearn(base=MOSS(), alpha=2)
    """

    source: ClassVar[str] = "guarantees paper, Alg. 3; penalties paper, sec. 5"
    base: Index = parameter(UCB1(), doc="the index played while no deficit exceeds alpha")
    alpha: Number = parameter(0.0, low=0, doc="the largest deficit that is tolerated, in rounds", exact=True)
    alpha_floor: Array = derived()  # alpha = alpha_floor + alpha_fraction, split as the quotas it is compared with
    alpha_fraction: Array = derived()

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        requirements.fractions_or_groups(problem, self.name)
        most = horizon * problem.plays
        if type(self.alpha) is float:  # the usual case, and faster
            floor, fraction = _parts_of_number(self.alpha, most)
        else:
            exact = exact_fractions(self.alpha, "policies.alpha")
            alpha = requirements.number_per_arm(exact, problem, "alpha", self.alpha, exact=True)
            floor, fraction = _FLOOR_AND_FRACTION(np.minimum(alpha, most))
        prepared = super().prepare(problem, horizon)
        return prepared.replace(
            alpha_floor=np.asarray(floor, np.int32), alpha_fraction=np.asarray(fraction, np.float64)
        )

    def select(self, state: PolicyState, now: RoundView) -> Array:
        if now.groups is not None and now.groups.quota_before is not None:
            return self._select_by_groups(now, now.groups, self._own_index(state, now))
        return top_available(self._keys(state, now), now, now.tie_breaker)

    def _select_one(self, state: PolicyState, now: RoundView) -> Array:
        if now.groups is not None and now.groups.quota_before is not None:
            return arm_index(self.select(state, now))
        return top_available_number(self._keys(state, now), now, now.tie_breaker)

    def _keys(self, state: PolicyState, now: RoundView) -> Callable[[], Keys]:
        """A function that returns the keys of the arms: A(t) of Alg. 3 first."""
        quota = now.quota_before

        def is_behind() -> Array:
            return self._is_behind(quota.floor - now.pulls, quota.fraction)

        def index() -> Array:
            if not self.base.costly or now.plays > 1:
                return self._own_index(state, now)
            owed = jnp.any(is_behind() & now.available, axis=0)  # in these runs, the index does not matter
            nothing = jnp.zeros(now.pulls.shape, now.mean.dtype)
            return cond_fused(~jnp.all(owed), lambda: self._own_index(state, now), lambda: nothing)

        def keys() -> Keys:
            behind = is_behind()
            return deficit_key(behind, quota, now.pulls), jnp.where(behind, 0.0, index())

        return keys

    def _is_behind(self, floor: Array, fraction: Array) -> Array:
        """Whether a deficit floor + fraction exceeds alpha, decided exactly: floors decide, then fractions."""
        extra = floor - self.alpha_floor
        return (extra >= 1) | ((extra == 0) & (fraction > self.alpha_fraction))

    def _select_by_groups(self, now: RoundView, groups: GroupView, index: Array) -> Array:
        """The selected arms where groups are guaranteed plays: one play after the other is given to an arm."""
        arms, ranks = len(now.pulls), len(now.pulls) + len(groups.members)
        quota = groups.quota_before
        fraction, rank = (groups.of_arms(part, arms, 0) for part in (quota.fraction, quota.fraction_rank))
        grouped = groups.of_arms(jnp.ones((len(groups.members), *(1,) * (now.pulls.ndim - 1)), bool), arms, False)
        arm = lax.broadcasted_iota(jnp.int32, now.pulls.shape, 0)
        number = groups.of_arms(jnp.arange(len(groups.members)).reshape(-1, *(1,) * (now.pulls.ndim - 1)), arms, 0)

        def deficit(floor: Array, fraction: Array, rank: Array) -> Array:
            """Deficits in their exact order, >= 0 for those above alpha; else -1."""
            rounds = jnp.minimum(floor, (1 << 31) // ranks - 1)
            return jnp.where(self._is_behind(floor, fraction), rounds * ranks + rank, -1)

        own = jnp.full(now.pulls.shape, -1, jnp.int32)
        if now.quota_before is not None:
            mine = now.quota_before
            own = deficit(mine.floor - now.pulls, mine.fraction, mine.fraction_rank)

        def give(_: Array | int, selected: Array) -> Array:
            given = group_sums(selected.astype(jnp.int32), groups.members)
            floor = groups.of_arms(quota.floor - groups.pulls - given, arms, 0)
            of_group = jnp.where(grouped, deficit(floor, fraction, rank), -1)
            largest, candidates = jnp.maximum(own, of_group), now.available & ~selected
            most = jnp.max(jnp.where(candidates, largest, -1), axis=0, keepdims=True)
            tied = candidates & (largest == most)
            holder = jnp.where(grouped & (of_group == most), number, len(groups.members) + arm)
            first = jnp.min(jnp.where(tied, holder, ranks), axis=0, keepdims=True)
            last = jnp.max(jnp.where(tied, holder, -1), axis=0, keepdims=True)
            by_index = (most < 0) | (first == last)  # nobody is behind, or the arms of one group alone
            keys = largest, jnp.where(by_index, index, 0.0)
            return selected | top_arms(keys, 1, 1, candidates, now.tie_breaker)

        nothing = jnp.zeros(now.pulls.shape, bool)
        return give(0, nothing) if now.plays == 1 else lax.fori_loop(0, now.plays, give, nothing)


Alias("fucb", FairLearn, "fair-learn with the base ucb1", "guarantees paper, Alg. 3", base="ucb1")
Alias("f-ts", FairLearn, "fair-learn with the base thompson", "guarantees paper, Alg. 5", base="thompson")
