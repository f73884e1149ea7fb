"""fcucb-d: paper 002, Algorithm 1; with one play and no delay, FairX-UCB of Wang et al. (2021)."""

from __future__ import annotations

from typing import ClassVar

from jax import Array

from jaxbandit.policies.base import Alias
from jaxbandit.policies.merit.proportional import Boxed, confidence
from jaxbandit.policies.round_view import RoundView


class FCUCBD(Boxed, name="fcucb-d"):
    """In proportion to the merit of the means that earn most within radius sqrt(log(4 L K T) / M_k) of the m_k."""

    source: ClassVar[str] = "002 Alg. 1"

    def box(self, now: RoundView) -> tuple[Array, Array]:
        radius = confidence(now, 4.0, now.samples)  # 002 Theorem 6
        return now.mean - radius, now.mean + radius  # 002 Alg. 1, lines 5-6


Alias("fairx-ucb", FCUCBD, "fcucb-d, of which it is the case of one play without delay (Wang et al. 2021)")
