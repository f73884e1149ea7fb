"""cucb-d: Chen, Wang & Yuan (2013) with delay, as in the merit paper; and mp-ts-d, Komiyama et al. (2015)."""

from __future__ import annotations

from typing import ClassVar

from jax import Array

from jaxbandit.policies.base import Alias, Index, PolicyState
from jaxbandit.policies.indices import Thompson
from jaxbandit.policies.round_view import RoundView


class CUCBD(Index, name="cucb-d"):
    """CUCB-D: the index m_k + sqrt((L+1) log(t) / max(M_k, 1)), combinatorial UCB with delayed feedback.

    m_k is the mean of the M_k rewards of arm k that have arrived (0 if M_k = 0), t the round, and L the number of plays
    per round. As in the merit paper, an arm that was never selected has this index, too, not +infinity.

    Source: Chen, Cai, Chen, Zhang & Lui, "Merit-based fair combinatorial semi-bandit with unrestricted feedback
    delays" (merit paper), sec. 6; without delay Chen, Wang & Yuan (2013), "Combinatorial multi-armed bandit".

    Example:
        >>> jb.policy("cucb-d")
        CUCBD()
    """

    source: ClassVar[str] = "merit paper, sec. 6"
    initial_pass: ClassVar[bool] = False
    real_counts: ClassVar[bool] = True

    def value(self, state: PolicyState, now: RoundView) -> Array:
        return now.upper((now.plays + 1.0) * now.log())


Alias(
    "mp-ts-d",
    Thompson,
    "thompson with delayed feedback: plays the L highest posterior draws",
    "Komiyama et al. 2015; merit paper, sec. 6",
)
