"""The largest deficits of arms and of groups over all rounds."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.rationals import reduce_in_order
from jaxbandit.core.xla.fusion import without_fusion
from jaxbandit.core.xla.reductions import larger
from jaxbandit.environment.world import World
from jaxbandit.policies.round_view import RoundView, deficit

Tree = TypeVar("Tree")


def no_deficits(world: World, shape: tuple[int, ...], dtype: Any) -> dict[str, Array]:
    """The largest deficits of no rounds, by the name of the metric, for counts of `shape`."""
    guaranteed = {"max_deficit": world.fractions, "group_max_deficit": world.group_fractions}
    least = jnp.full((1, *shape[1:]), -jnp.inf, dtype)
    return {name: least for name, fractions in guaranteed.items() if fractions is not None}


def deficits_ever(
    before: dict[str, Array], now: RoundView, after: RoundView, number: Array, here: Array, world: World
) -> dict[str, Array]:
    """The largest deficits so far, of arms and of groups.

    They count every round so far. With one play and equal fractions, only the rounds before an arm was played count:
    the deficit of an arm grows until the arm is played. What it has grown to since its last play is missing; the
    metric at recorded rounds, of which T is one, has it.

    Args:
        before: those before the round.
        now, after: the views at the start and at the end of the round.
        number: N_k of each selected arm at the start of the round, int32 `[n, *runs]`.
        here: whether an arm was selected, bool `[n, *runs]`.
    """
    equal = world.equal_fractions

    def most(name: str, largest: Array) -> Array:
        if name == "max_deficit" and equal and len(number) == 1:
            quota = _row(now.quota_before, 0)
            # No round is before round 1. Its fraction says so: one number per cell, not one per run
            quota = dataclasses.replace(quota, fraction=jnp.where(now.t > 1, quota.fraction, -jnp.inf))
            grown = deficit(quota, number)
            return larger(largest, jnp.where(here, grown, -jnp.inf) if world.sleeping else grown)
        quota, counts = (
            (after.quota_now, after.pulls) if name == "max_deficit" else (after.groups.quota_now, after.groups.pulls)
        )

        def so_far() -> Array:  # row by row, so that the deficits of all arms are not written down
            if name == "max_deficit" and equal:  # then the arm with the fewest selections is furthest behind
                fewest = reduce_in_order(jnp.minimum, lambda k: _row(counts, k), len(counts))
                return larger(largest, deficit(_row(quota, 0), fewest))
            return larger(largest, reduce_in_order(larger, lambda k: deficit(*_row((quota, counts), k)), len(counts)))

        return without_fusion(so_far, counts)

    return {name: most(name, largest) for name, largest in before.items()}


def _row(tree: Tree, k: Array | int) -> Tree:
    """Row k of arrays."""
    return jax.tree.map(lambda part: lax.dynamic_index_in_dim(part, k, axis=0), tree)
