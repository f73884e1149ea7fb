"""op-fcts-d: paper 002, Algorithm 4."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.policies.merit.proportional import Proportional, missing
from jaxbandit.policies.round_view import RoundView


class OPFCTSD(Proportional, name="op-fcts-d"):
    """In proportion to the merit of the average of two posterior draws: the missing rewards all 1, and all 0."""

    source: ClassVar[str] = "002 Alg. 4"
    binary_feedback: ClassVar[bool] = True

    def estimate(self, now: RoundView) -> Array:
        ones, late = now.total, missing(now)
        zeros = now.received.astype(ones.dtype) - ones
        most, least = jnp.concatenate([ones + late, ones]), jnp.concatenate([zeros, zeros + late])
        optimistic, pessimistic = jnp.split(now.deeper().random.beta(1.0 + most, 1.0 + least), 2)
        return 0.5 * (optimistic + pessimistic)
