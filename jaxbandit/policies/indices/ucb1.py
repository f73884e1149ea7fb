"""ucb1: Auer, Cesa-Bianchi & Fischer (2002), Fig. 1; guarantees paper, eq. 4; penalties paper, eq. 12 without bonus."""

from __future__ import annotations

from typing import ClassVar

from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.input_values import Number
from jaxbandit.policies.base import Index, PolicyState
from jaxbandit.policies.round_view import RoundView


class UCB1(Index, name="ucb1"):
    """UCB1: the index m_k + sqrt(x log(t) / M_k), a mean plus a confidence radius.

    m_k is the mean of the M_k rewards of arm k that have arrived, t the round, and x the parameter `exploration`. With
    `log_offset`, log(t - log_offset) replaces log(t). Each arm is selected once before indices decide; of an arm whose
    rewards have not arrived yet, m_k is 0 and M_k counts as 1.

    Source: Auer, Cesa-Bianchi & Fischer (2002), "Finite-time analysis of the multiarmed bandit problem", Fig. 1;
    guarantees paper, eq. 4.

    Example:
        >>> jb.policy("ucb1", exploration=1.5)
        UCB1(exploration=1.5, log_offset=0.0)
    """

    source: ClassVar[str] = "Auer et al. 2002; guarantees paper, eq. 4"
    real_counts: ClassVar[bool] = True
    exploration: Number = parameter(2.0, low=0, doc="x, the weight of log(t) in the radius", smooth=True)
    log_offset: Number = parameter(0.0, low=0, doc="0 for log(t); 1 for log(t-1), as in the plays paper")

    def value(self, state: PolicyState, now: RoundView) -> Array:
        return now.upper(self.exploration * now.log(self.log_offset))
