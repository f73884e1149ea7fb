"""fcts-d: paper 002, Algorithm 2; with one play and no delay, FairX-TS of Wang et al. (2021)."""

from __future__ import annotations

from typing import ClassVar

from jax import Array

from jaxbandit.policies.base import Alias
from jaxbandit.policies.merit.proportional import Proportional
from jaxbandit.policies.round_view import RoundView


class FCTSD(Proportional, name="fcts-d"):
    """In proportion to the merit of one draw from each arm's Beta posterior."""

    source: ClassVar[str] = "002 Alg. 2"
    binary_feedback: ClassVar[bool] = True

    def estimate(self, now: RoundView) -> Array:
        received = now.received.astype(now.total.dtype)
        return now.deeper().random.beta(1.0 + now.total, 1.0 + received - now.total)  # 002 Alg. 2, line 3


Alias("fairx-ts", FCTSD, "fcts-d, of which it is the case of one play without delay (Wang et al. 2021)")
