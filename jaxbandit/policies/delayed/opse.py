"""opse: Lancewicki, Segal, Koren & Mansour (2021), "Stochastic multi-armed bandits with unrestricted delay"."""

from __future__ import annotations

from typing import ClassVar

from jax import Array

from jaxbandit.policies.indices.successive_elimination import SuccessiveElimination
from jaxbandit.policies.merit.proportional import missing, selections
from jaxbandit.policies.round_view import RoundView


class OPSE(SuccessiveElimination, name="opse"):
    """Successive elimination with means that take missing rewards for 1 above and for 0 below: sqrt(x log T / N_k)."""

    source: ClassVar[str] = "Lancewicki et al. 2021; 002 sec. 6"

    def bounds(self, after: RoundView) -> tuple[Array, Array]:
        plays = selections(after)
        radius = self.radius(after, plays)
        return after.total / plays - radius, (missing(after) + after.total) / plays + radius
