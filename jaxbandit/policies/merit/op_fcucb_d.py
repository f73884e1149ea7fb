"""op-fcucb-d: paper 002, Algorithm 3."""

from __future__ import annotations

from typing import ClassVar

from jax import Array

from jaxbandit.policies.merit.proportional import Boxed, confidence, missing, selections
from jaxbandit.policies.round_view import RoundView


class OPFCUCBD(Boxed, name="op-fcucb-d"):
    """fcucb-d with a box that holds whatever the missing rewards may be: all 1 above, all 0 below."""

    source: ClassVar[str] = "002 Alg. 3"

    def box(self, now: RoundView) -> tuple[Array, Array]:
        plays = selections(now)
        radius = confidence(now, 6.0, plays)  # 002 Theorem 8
        return now.total / plays - radius, (missing(now) + now.total) / plays + radius  # 002 Alg. 3, lines 5-8
