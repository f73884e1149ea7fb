"""Whether a policy uses the horizon T."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.core.prng import POLICY, Stream
from jaxbandit.core.rationals import Quota
from jaxbandit.environment.problem import Problem
from jaxbandit.environment.world import world_of
from jaxbandit.policies.base import Policy, checked_choose, checked_init, checked_update
from jaxbandit.policies.round_view import Arrived, RoundView, quotas_and_groups


def check_horizon_is_not_used(policy: Policy, problem: Problem) -> None:
    """Refuse a policy that uses T.

    Raises:
        InputError: naming `horizon`.
    """
    if uses_horizon(policy, problem):
        raise InputError("horizon", None, f"must be given, the number of rounds: {policy.name} uses it")


def uses_horizon(policy: Policy, problem: Problem) -> bool:
    """Whether what a policy selects depends on T."""
    one, other = (policy.prepare(problem, horizon) for horizon in (10_000, 70_000))
    leaves, others = jax.tree.leaves(one), jax.tree.leaves(other)
    if len(leaves) != len(others) or not all(map(np.array_equal, leaves, others)):
        return True
    shape = (problem.arms, 1)
    world = jax.tree.map(np.asarray, world_of(problem, one.wants_binary_feedback, 10_000))
    state = jax.tree.map(jnp.asarray, checked_init(one, world, shape))
    counts, sums = jnp.ones(shape, jnp.int32), jnp.ones(shape)
    rows = jnp.ones((world.guarantees(problem.arms), 1), jnp.int32)
    quota = Quota(rows, rows.astype(sums.dtype), rows) if len(rows) else None

    def round_of(horizon: jax.Array, t: jax.Array) -> object:
        key = jnp.zeros((1, 1), jnp.uint32), jnp.zeros((1, 1), jnp.uint32)
        view = RoundView(
            t=t, horizon=horizon, pulls=counts, received=counts, deviation=sums,
            squares=sums if one.wants_squares else None, centre=None, available=jnp.ones(shape, bool),
            fractions=world.fractions, penalties=world.penalties, random=Stream(key, t.astype(jnp.uint32), POLICY),
            plays=problem.plays, **quotas_and_groups(world, counts, quota, quota),
        )  # fmt: skip
        mask, chances = checked_choose(one, state, view)
        after = dataclasses.replace(view, arrived=Arrived(counts, sums, sums) if one.wants_arrived else None)
        return mask, chances, checked_update(one, state, after, mask)

    traced = jax.make_jaxpr(round_of)(jnp.int32(9), jnp.int32(9)).jaxpr
    return any(traced.invars[0] is variable for equation in traced.eqns for variable in equation.invars)
