"""Counts and sums of feedback in which older feedback counts less."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.input_values import Number, check_positive, number_or_numbers
from jaxbandit.core.struct import struct
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Index
from jaxbandit.policies.round_view import RoundView


@struct
class DiscountedSums:
    """The discounted feedback of each arm.

    Attributes:
        count: N'_k, the number of its rewards that arrived; those of s rounds ago count g^s. Float `[K, *runs]`.
        total: S'_k, their sum, discounted in the same way; float `[K, *runs]`.
    """

    count: Array
    total: Array


class DiscountedIndex(Index):
    """An index of the discounted feedback, which is its state."""

    needs_arrived: ClassVar[bool] = True
    discount: Number = parameter(
        0.99, low=0, high=1, doc="g, the factor by which feedback counts less per round; above 0", smooth=True
    )

    def check(self, key: str) -> None:
        super().check(key)
        check_positive(self.discount, f"{key}.discount", number_or_numbers(self.discount, "above 0 and at most 1"))

    def init(self, world: World, shape: tuple[int, ...]) -> DiscountedSums:
        zeros = jnp.zeros(shape, jnp.result_type(float))
        return DiscountedSums(zeros, zeros)

    def update(self, state: DiscountedSums, after: RoundView, selected: Array) -> DiscountedSums:
        count, total = after.arrived.count.astype(state.count.dtype), after.arrived.total
        return DiscountedSums(self.discount * state.count + count, self.discount * state.total + total)
