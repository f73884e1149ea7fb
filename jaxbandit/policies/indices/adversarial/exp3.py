"""exp3: Auer, Cesa-Bianchi, Freund & Schapire (2002); as in Bubeck & Cesa-Bianchi (2012), sec. 3.1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.compensated_sums import CompensatedSum
from jaxbandit.core.component import parameter
from jaxbandit.core.input_values import Number
from jaxbandit.policies.base import Policy
from jaxbandit.policies.indices.adversarial.weighted_losses import WeightedLossPolicy
from jaxbandit.policies.round_view import RoundView

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class Exp3(WeightedLossPolicy, name="exp3"):
    """Exp3: draws arm k with chance p_k = (1 - m) w_k / sum_j w_j + m / K, where w_k = exp(-eta l_k).

    It is for any rewards in [0, 1], those of an adversary among them. l_k is the sum of the importance-weighted losses
    (1 - r) / p of the rewards r of arm k that have arrived, where p is the chance with which the arm was drawn for the
    reward. `eta` is the learning rate, `mix` the share m of uniform draws. The default of `eta` uses the horizon T. One
    play per round.

    Source: Bubeck & Cesa-Bianchi (2012), "Regret analysis of stochastic and nonstochastic multi-armed bandit problems",
    sec. 3.1.

    Raises:
        InputError: when the simulation starts, if rewards can leave [0, 1].

    Example:
        >>> jb.policy("exp3", eta=0.05)
        Exp3(eta=0.05, mix=0.0)
    """

    source: ClassVar[str] = "Bubeck & Cesa-Bianchi 2012, sec. 3.1"
    eta: Number | None = parameter(None, low=0, doc="the learning rate; default: sqrt(2 log(K) / (K T))")
    mix: Number = parameter(0.0, low=0, high=1, doc="m, the share of uniform draws")

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        arms = problem.arms
        default = math.sqrt(2 * math.log(arms) / (arms * horizon))
        prepared = super().prepare(problem, horizon)
        return prepared.replace(eta=np.asarray(default)) if self.eta is None else prepared

    def chances(self, state: CompensatedSum, now: RoundView) -> Array:
        eta, losses = jnp.asarray(self.eta), self.losses_above_least(state)
        # The best arm may sleep. Beside its weight those of all other arms may be 0 in floats, so the weights of the
        # available arms are divided by the largest of them, which is exp(-eta lead).
        awake_losses = self.losses_above_least(state, now.available)
        lead = jnp.min(jnp.where(now.available, losses, jnp.finfo(losses.dtype).max), axis=0, keepdims=True)
        weights = jnp.exp(-eta * jnp.where(now.available, awake_losses, losses))
        awake = jnp.sum(jnp.where(now.available, weights, 0.0), axis=0, keepdims=True)
        asleep = jnp.sum(jnp.where(now.available, 0.0, weights), axis=0, keepdims=True)
        shares = weights / jnp.where(awake > 0, awake, 1.0)
        scaled = jnp.exp(-eta * lead) * awake
        of_all = scaled / (scaled + asleep)
        return jnp.where(self.mix > 0, (1.0 - self.mix) * of_all * shares + self.mix / len(now.pulls), shares)
