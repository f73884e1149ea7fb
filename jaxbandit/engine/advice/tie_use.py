"""Whether a policy uses the random numbers that break ties."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.prng import POLICY, Stream
from jaxbandit.core.rationals import Quota
from jaxbandit.core.users_code.contracts import is_user_defined
from jaxbandit.engine import rollout
from jaxbandit.engine.batch.blocks import on_device
from jaxbandit.engine.batch.stacking import Stack
from jaxbandit.engine.batch.traced_programs import PROGRAM
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Policy, checked_choose, checked_select, checked_update
from jaxbandit.policies.round_view import Arrived


def ignored_by(stacks: Iterable[Stack]) -> str:
    """A warning about a policy with a user's `select` that does not use the tie breaker; else empty."""
    for stack in stacks:
        columns = None if stack.ground_truth.guarantees is None else stack.ground_truth.guarantees.shape[1]
        if selects_by_users_code(stack.policy) and not uses_tie_breaker(stack.policy, stack.world, stack.arms, columns):
            return (
                f"ties='random' has no effect on policy {stack.policy.name!r}: its `select` does not use "
                "`now.tie_breaker`; select with `now.best(score)`, which does, or set `own_order = True` in the class "
                "if equal arms are meant to be played in its own order"
            )
    return ""


def selects_by_users_code(policy: Policy) -> bool:
    """Whether a user's `select` plays arms, in no order of its own; a `choose` states the chances of its arms."""
    own = [part for part in policy.nested_policies() if is_user_defined(type(part).select)]
    return bool(own) and not any(part.own_order for part in own)


def uses_tie_breaker(policy: Policy, world: World, arms: int, columns: int | None) -> bool:
    """Whether what a policy selects, or keeps in its state, depends on the tie breaker of the round.

    Args:
        policy, world: prepared, on the host: arrays `[K or 1, W]`.
        arms: K.
        columns: the number of columns of the fractions; None without fractions.
    """
    cells, lanes = [prime for prime in (3, 5, 7, 11) if prime not in (arms, world.plays)][:2]
    policy, world = on_device((policy, world), np.zeros(cells, np.int64))
    key = tuple(jnp.zeros((1, cells, lanes), jnp.uint32) for _ in range(2))
    quota = None
    if columns is not None:
        shape = (world.guarantees(arms), 1 if columns == 1 else cells, 1)
        quota = Quota(jnp.zeros(shape, jnp.int32), jnp.zeros(shape), jnp.zeros(shape, jnp.int32))

    def round_of(tie_breaker: Array) -> object:
        one = jnp.asarray(1, jnp.int32)
        state = rollout.begin(policy, world, (arms, cells, lanes), False)
        random = Stream((key[0], key[1]), one.astype(jnp.uint32), POLICY)
        now = rollout.observe(state, world, one, one, quota, quota, random)
        now = dataclasses.replace(now, tie_breaker=tie_breaker)
        mask, chances = checked_choose(policy, state.policy, now)
        sums = jnp.zeros(now.pulls.shape)
        after = dataclasses.replace(now, arrived=Arrived(now.pulls, sums, sums) if policy.wants_arrived else None)
        kept = checked_update(policy, state.policy, after, mask)
        return mask, chances, checked_select(policy, state.policy, now), kept

    with PROGRAM(object()):  # users' code is traced anew
        traced = jax.make_jaxpr(round_of)(jnp.zeros((arms, cells, lanes), jnp.int32)).jaxpr
    used = [variable for equation in traced.eqns for variable in equation.invars]
    return any(traced.invars[0] is variable for variable in [*used, *traced.outvars])
