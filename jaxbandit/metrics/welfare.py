"""Welfare metrics: regret against a mean of the rewards of the rounds, and the price of fairness.

With one play per round and means >= 0, each of the rounds 1 to t has the mean reward of the arm that was played in it.
Nash regret compares the best mean with the geometric mean of these, p-mean regret with their power mean of exponent p.
A round in which no arm was available has reward 0. Both are per round, not summed. They are computed per run and then
averaged. Barman, Khan, Maiti & Sawarni (2022), "Fairness and welfare quantification for regret in multi-armed bandits",
take the expectation of the reward of each round before the mean over rounds, so for p <= 1 the numbers here are at
least theirs.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.rationals import sum_in_order
from jaxbandit.environment.problem import Problem
from jaxbandit.metrics.metric import Formula, Metric, MetricInputs
from jaxbandit.metrics.optimal_allocations import fair_allocation


def nash_regret(counts: Array, inputs: MetricInputs) -> Array:
    """max_k mu_k - exp(sum_k N_k log mu_k / t) (Barman et al. 2022).

    The best mean minus the geometric mean of the mean rewards of rounds 1 to t. It is max_k mu_k in a run that played
    an arm of mean 0, or in which no arm was available in some round.
    """
    return _power_mean_regret(counts, inputs, jnp.zeros((1, 1, 1)))


def p_mean_regret(counts: Array, inputs: MetricInputs) -> Array:
    """max_k mu_k - (sum_k N_k mu_k^p / t)^(1/p) (Barman et al. 2022).

    The best mean minus the power mean, of exponent p, of the mean rewards of rounds 1 to t; p is `simulation.p_mean`.
    For p = 0 it is Nash regret, for p = 1 it is regret per round. For p <= 0, it is max_k mu_k in a run that played an
    arm of mean 0, or in which no arm was available in some round.
    """
    assert inputs.p_mean is not None
    return _power_mean_regret(counts, inputs, inputs.p_mean[0])


def _power_mean_regret(counts: Array, inputs: MetricInputs, p: Array) -> Array:
    """max mu minus the power mean of exponent p, `[1, 1, 1]`; `[R, C, S]`."""
    mu, best = inputs.means, jnp.max(inputs.means, axis=0)
    counts = counts.astype(mu.dtype)
    played = counts > 0
    log = jnp.where(mu > 0, jnp.log(jnp.where(mu > 0, mu, 1.0)), -jnp.inf)
    # Logarithms relative to that of the largest power among the arms that were played: no power overflows.
    least, most = jnp.min(jnp.where(played, log, jnp.inf), axis=1), jnp.max(jnp.where(played, log, -jnp.inf), axis=1)
    pivot = jnp.where(p < 0, least, most)
    pivot = jnp.where(jnp.isfinite(pivot), pivot, 0.0)
    relative = jnp.where(played, log - pivot[:, None], 0.0)
    share = counts / inputs.t
    power = sum_in_order(share * jnp.expm1(p * jnp.where(jnp.isfinite(relative), relative, 0.0)), axis=1)
    zeros = sum_in_order(jnp.where(played & ~jnp.isfinite(log), share, 0.0), axis=1)
    idle = (inputs.t - jnp.sum(counts, axis=1, keepdims=True))[:, 0]  # rounds in which no arm was available
    zeros = zeros + idle / inputs.t[:, 0]  # the share of rounds of reward 0
    rewarded = jnp.any(played & jnp.isfinite(log), axis=1)  # else the mean is 0, which shares that are rounded miss
    safe = jnp.where(p == 0, 1.0, p)
    mean = jnp.exp(pivot + jnp.log1p(jnp.where(rewarded, jnp.where(p > 0, power - zeros, power), 0.0)) / safe)
    geometric = jnp.exp(sum_in_order(share * jnp.where(played & jnp.isfinite(log), log, 0.0), axis=1))
    mean = jnp.where(p == 0, geometric, mean)
    return best - jnp.where(~rewarded | ((zeros > 0) & (p <= 0)), 0.0, mean)


class WelfareFormula(Formula):
    """A metric of one play per round and means that are constant and not negative; computed when it is named."""

    when_named = True

    def refusal(self, problem: Problem) -> str:
        if problem.plays > 1:
            return "is defined for one play per round"
        if problem.changing is None and np.any(problem.means < 0):
            return "is defined for means >= 0"
        return super().refusal(problem)


WELFARE: dict[str, Metric] = {
    "nash_regret": WelfareFormula(nash_regret, "Nash regret (reward per round)", constant_means=True),
    "p_mean_regret": WelfareFormula(p_mean_regret, "p-mean regret (reward per round)", constant_means=True),
}


def price_of_fairness(problem: Problem) -> np.ndarray:
    """The share of the best reward that the fractions cost, float64 `[J]` (Bertsimas et al. 2011).

    (best without - best with) / best without. Best without is the sum of the L largest means. Best with is the largest
    sum_k mu_k y_k where tau_k <= y_k <= 1 and sum_k y_k = L: the reward per round of the best policy that gives every
    arm its fraction.

    Args:
        problem: with `fractions`; of constant means.

    Example:
        >>> price_of_fairness(jb.Problem([1.0, 0.5], fractions=[0, 0.2])).round(6).tolist()
        [0.1]
    """
    assert problem.fractions is not None
    best = np.sort(problem.means, axis=0)[::-1][: problem.plays].sum(axis=0)
    shares = fair_allocation(problem.means, problem.fractions, problem.plays)
    lost = best - (problem.means * shares).sum(axis=0)
    share: np.ndarray = np.divide(lost, best, out=np.zeros_like(best), where=best != 0)
    return share


# The numbers of an instance, which no run changes, by name: a function of the problem, and the label
INSTANCE_NUMBERS: dict[str, tuple[Callable[[Problem], np.ndarray], str]] = {
    "price_of_fairness": (price_of_fairness, "price of fairness (share of the best reward)"),
}


def number_refusal(name: str, problem: Problem) -> str:
    """Why a number of `INSTANCE_NUMBERS` is not defined for a problem, in words; empty if it is."""
    if problem.changing is not None:
        return "is not defined where means change"
    if problem.fractions is None:
        return "needs problem.fractions"
    return "is defined for means >= 0" if np.any(problem.means < 0) else ""
