"""tsallis-inf: Zimmert & Seldin (2021), Alg. 1."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.compensated_sums import CompensatedSum
from jaxbandit.policies.indices.adversarial.weighted_losses import WeightedLossPolicy
from jaxbandit.policies.round_view import RoundView

_STEPS = 10  # of Newton's method; 6 reach the last bit of float64 for up to 1,000 arms (measured)


class TsallisINF(WeightedLossPolicy, name="tsallis-inf"):
    """Tsallis-INF: draws arm k with chance p_k = 4 / (eta_t (l_k - x))^2.

    It is for rewards in [0, 1], stochastic or of an adversary. l_k is the sum of the importance-weighted losses (1 - r)
    / p of the rewards r of arm k that have arrived, where p is the chance with which the arm was drawn for the reward.
    eta_t = 2 / sqrt(t) is the learning rate in round t, and x makes the chances sum to 1. One play per round.

    Source: Zimmert & Seldin (2021), "Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits", Alg. 1
    and 2.

    Raises:
        InputError: when the simulation starts, if rewards can leave [0, 1].

    Example:
        >>> jb.policy("tsallis-inf")
        TsallisINF()
    """

    source: ClassVar[str] = "Zimmert & Seldin 2021, Alg. 1"

    def chances(self, state: CompensatedSum, now: RoundView) -> Array:
        losses = self.losses_above_least(state)
        gap = losses / jnp.sqrt(now.t.astype(losses.dtype))  # eta_t (l_k - l_min) / 2
        # p_k = (gap_k + y)^-2 with y = eta_t (l_min - x) / 2, from 1 to sqrt(K). Newton's method for s^(-1/2) = 1,
        # where s is the sum of the chances: this function of y is nearly straight.
        y = jnp.ones_like(gap[:1])
        for _ in range(_STEPS):
            inverse = 1.0 / (gap + y)
            total = jnp.sum(inverse**2, axis=0, keepdims=True)
            slope = jnp.sum(inverse**3, axis=0, keepdims=True)
            y = y + (jnp.sqrt(total) - 1.0) * total / slope
        chances = (gap + y) ** -2
        return chances / jnp.sum(chances, axis=0, keepdims=True)
