"""opse: Lancewicki, Segal, Koren & Mansour (2021), "Stochastic multi-armed bandits with unrestricted delay"."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.input_values import Number
from jaxbandit.policies.indices.successive_elimination import SuccessiveElimination
from jaxbandit.policies.merit.proportional import missing_rewards, pulls_at_least_one
from jaxbandit.policies.round_view import RoundView


class OPSE(SuccessiveElimination, name="opse"):
    """OPSE: successive-elimination with confidence bounds that allow for every value of the missing rewards.

    The bounds of arm k are S_k / N_k - r_k and (S_k + N_k - M_k) / N_k + r_k with r_k = sqrt(x log(T) / N_k), where N_k
    is the number of times that the arm was selected, M_k the number of its rewards that have arrived and S_k their sum;
    x is the parameter `exploration`. The N_k - M_k missing rewards thus count as 0 in the lower bound and as 1 in the
    upper bound. As the black box of another policy it also sees rewards of plays before its first round; N_k is M_k at
    least. The policy is made for rewards in [0, 1] with delays that depend on them. It uses the horizon T.

    Source: Lancewicki, Segal, Koren & Mansour (2021), "Stochastic multi-armed bandits with unrestricted delay
    distributions"; merit paper, sec. 6.

    Example:
        >>> jb.policy("opse", exploration=0.5)
        OPSE(exploration=0.5)
    """

    source: ClassVar[str] = "Lancewicki et al. 2021; merit paper, sec. 6"
    own_order: ClassVar[bool] = True  # arms are played in turn
    exploration: Number = parameter(2.0, low=0, doc="x in the radius sqrt(x log(T) / N_k)")

    def confidence_bounds(self, after: RoundView) -> tuple[Array, Array]:
        # As a black box it also sees rewards of plays before its first round: N_k is M_k at least
        plays = jnp.maximum(pulls_at_least_one(after), after.samples)
        missing = jnp.maximum(missing_rewards(after), 0.0)
        radius = self.radius(after, plays)
        return after.total / plays - radius, (missing + after.total) / plays + radius
