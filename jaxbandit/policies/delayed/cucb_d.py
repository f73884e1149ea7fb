"""cucb-d: Chen, Wang & Yuan (2013) under delay, as paper 002 compares with; and mp-ts-d of Komiyama et al. (2015)."""

from __future__ import annotations

from typing import ClassVar

from jax import Array

from jaxbandit.policies.base import Alias, Index
from jaxbandit.policies.indices import Thompson
from jaxbandit.policies.round_view import RoundView


class CUCBD(Index, name="cucb-d"):
    """The L largest m_k + sqrt((L+1) log t / max(M_k, 1)); an arm never selected has mean 0, not index infinity."""

    source: ClassVar[str] = "002 sec. 6"
    initial_pass: ClassVar[bool] = False
    real_counts: ClassVar[bool] = True

    def value(self, state: tuple[()], now: RoundView) -> Array:
        return now.upper((now.plays + 1.0) * now.log())


Alias("mp-ts-d", Thompson, "thompson under delay: the L largest posterior draws (002 sec. 6)")
