"""ucb1: Auer, Cesa-Bianchi & Fischer (2002), Fig. 1; 000 eq. 12 without its bonus; 001 eq. 4."""

from __future__ import annotations

from typing import Any, ClassVar

from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.policies.base import Index
from jaxbandit.policies.round_view import RoundView


class UCB1(Index, name="ucb1"):
    """The mean plus a radius: m_k + sqrt(x log(t - offset) / M_k)."""

    source: ClassVar[str] = "Auer et al. 2002; 001 eq. 4"
    real_counts: ClassVar[bool] = True
    exploration: float = parameter(2.0, low=0, doc="x", smooth=True)
    log_offset: float = parameter(0.0, low=0, doc="0: log t; 1: log(t-1), as in paper 003")

    def value(self, state: Any, now: RoundView) -> Array:
        return now.upper(self.exploration * now.log(self.log_offset))
