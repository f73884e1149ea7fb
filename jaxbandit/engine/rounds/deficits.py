"""The largest deficits of arms and of groups over all rounds."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.rationals import Quota, reduce_in_order
from jaxbandit.core.xla.fusion import without_fusion
from jaxbandit.core.xla.reductions import larger
from jaxbandit.environment.world import World
from jaxbandit.policies.round_view import RoundView, deficit


def no_deficits(world: World, shape: tuple[int, ...], dtype: Any) -> dict[str, Array]:
    """The largest deficits of no rounds, by the name of the metric, for counts of `shape`."""
    guaranteed = {"max_deficit": world.fractions, "group_max_deficit": world.group_fractions}
    least = jnp.full((1, *shape[1:]), -jnp.inf, dtype)
    return {name: least for name, fractions in guaranteed.items() if fractions is not None}


def deficits_ever(before: dict[str, Array], after: RoundView, equal: bool) -> dict[str, Array]:
    """The largest deficits up to the end of a round; `equal` tells whether all arms have the same fraction."""

    def most(name: str, largest: Array) -> Array:
        quota, counts = (
            (after.quota_now, after.pulls) if name == "max_deficit" else (after.groups.quota_now, after.groups.pulls)
        )

        def of_row(k: Array | int) -> tuple[Quota, Array]:
            rows: tuple[Quota, Array] = jax.tree.map(
                lambda part: lax.dynamic_index_in_dim(part, k, axis=0), (quota, counts)
            )
            return rows

        def so_far() -> Array:  # row by row, so that the deficits of all arms are not written down
            if name == "max_deficit" and equal:  # then the arm with the fewest selections is furthest behind
                fewest = reduce_in_order(jnp.minimum, lambda k: of_row(k)[1], len(counts))
                return larger(largest, deficit(of_row(0)[0], fewest))
            return larger(largest, reduce_in_order(larger, lambda k: deficit(*of_row(k)), len(counts)))

        return without_fusion(so_far, counts)

    return {name: most(name, largest) for name, largest in before.items()}
