"""ucb-v: Audibert, Munos & Szepesvári (2009), "Exploration-exploitation tradeoff using variance estimates", eq. 1."""

from __future__ import annotations

from typing import ClassVar

from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.input_values import Number
from jaxbandit.policies.base import Index, PolicyState
from jaxbandit.policies.round_view import RoundView, safe_sqrt


class UCBV(Index, name="ucb-v"):
    """UCB-V: the index m_k + sqrt(2 V_k E / M_k) + 3 c b E / M_k, where E = x log(t).

    m_k and V_k are the mean and the variance of the M_k rewards of arm k that have arrived, t is the round, and x is
    the parameter `exploration`.

    Source: Audibert, Munos & Szepesvári (2009), "Exploration-exploitation tradeoff using variance estimates in
    multi-armed bandits", eq. 1.

    Example:
        >>> jb.policy("ucb-v", c=0.5)
        UCBV(exploration=1.0, c=0.5, b=1.0)
    """

    source: ClassVar[str] = "Audibert et al. 2009, eq. 1"
    needs_squares: ClassVar[bool] = True
    real_counts: ClassVar[bool] = True
    exploration: Number = parameter(1.0, low=0, doc="x in E = x log(t), zeta in the paper", smooth=True)
    c: Number = parameter(1.0, low=0, doc="weight of the last term", smooth=True)
    b: Number = parameter(1.0, low=0, doc="length of an interval that contains the rewards", smooth=True)

    def value(self, state: PolicyState, now: RoundView) -> Array:
        log_t = self.exploration * now.log()
        radius = safe_sqrt(2.0 * now.variance * log_t / now.samples)
        return now.mean + radius + 3.0 * self.c * self.b * log_t / now.samples  # eq. 1
