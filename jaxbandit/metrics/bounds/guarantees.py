"""The guarantees paper: policies that give every arm its fraction of the rounds.

Patil, Ghalme, Nair and Narahari, "Stochastic multi-armed bandits with arm-specific fairness guarantees".

All bounds assume rewards in [0, 1] (or no heavier tails: Gaussian with sd <= 1/2), one play per round, no delay, all
arms always available, and the policies' default parameters. Regrets are in units of reward.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.core.errors import InputError
from jaxbandit.metrics.bounds import inputs
from jaxbandit.metrics.bounds.inputs import divide_by_gap


def fair_ucb_regret(means: ArrayLike, fractions: ArrayLike, rounds: ArrayLike) -> np.ndarray:
    """Upper bound on the expected r-regret of `fucb`, and of `t-fucb` at its horizon.

    Source: guarantees paper, Theorems 2 and 3.

    Args:
        means: mu, `[K, J]`, from 0 to 1; K arms, J instances.
        fractions: tau, `[K, J]` or `[K, 1]`, summing to less than 1.
        rounds: t, `[R]`, whole numbers >= 1; for `t-fucb` the horizon.

    Returns:
        `[R, J]`, float64.

    Raises:
        InputError: an argument has another shape or is out of range.

    Example:
        >>> jb.bounds.fair_ucb_regret([[0.9], [0.5]], [[0.1], [0.1]], [1000]).round(2).tolist()
        [[99.87]]
    """
    mu = inputs.means(means)
    tau = inputs.fractions(fractions, len(mu))
    gap, t = mu.max(axis=0) - mu, inputs.rounds(rounds)[:, None, None]
    explored = np.maximum(divide_by_gap(8 * np.log(t), gap) - gap * tau * t, 0.0)
    return np.where(gap > 0, explored, 0.0).sum(axis=1) + (1 + math.pi**2 / 3) * gap.sum(axis=0)  # Theorem 3


def ucb1_regret(means: ArrayLike, rounds: ArrayLike) -> np.ndarray:
    """Upper bound on the expected regret of `ucb1`: `fair_ucb_regret` without fractions.

    Source: guarantees paper, Theorem 7 (Auer et al. 2002, Theorem 1).

    Args:
        means: mu, `[K, J]`, from 0 to 1; K arms, J instances.
        rounds: t, `[R]`, whole numbers >= 1.

    Returns:
        `[R, J]`, float64.

    Raises:
        InputError: an argument has another shape or is out of range.

    Example:
        >>> jb.bounds.ucb1_regret([[0.9], [0.5]], [1000]).round(2).tolist()
        [[139.87]]
    """
    return fair_ucb_regret(means, np.zeros((len(np.asarray(means)), 1)), rounds)


def fair_learn_deficit(fractions: ArrayLike) -> np.ndarray:
    """Upper bound on the deficit tau_k t - N_k(t) of every arm in every round and run of `fair-learn` over any index.

    The bound is K tau rounds, which is less than 1, so every arm always has at least floor(tau t) selections. The
    paper's definition of fairness allows a deficit of 1.

    Source: guarantees paper, Theorem 4.

    Args:
        fractions: tau, `[K, J]`; in each instance they are 0 or all equal, and below 1/K.

    Returns:
        `[J]`, float64, in rounds.

    Raises:
        InputError: fractions that differ, or that are 1/K or more.

    Example:
        >>> jb.bounds.fair_learn_deficit([[0.2], [0.2], [0.2]]).round(2).tolist()
        [0.6]
    """
    tau = inputs.fractions(fractions, len(np.asarray(fractions)))
    most = tau.max(axis=0)
    if np.any((tau != most) & (tau > 0)) or np.any(most * len(tau) >= 1):
        words = f"fractions that are 0 or all equal, and below 1/K = 1/{len(tau)} (guarantees paper, Theorem 4)"
        raise InputError("fractions", tau.T.tolist(), words)
    return len(tau) * most  # App. A, Lemma 1


def fair_worst_case_regret(
    means: ArrayLike, fractions: ArrayLike, rounds: ArrayLike, missed_rounds: float = 0.0
) -> np.ndarray:
    """Upper bound on the expected r-regret of every fair policy: the largest gap times t (1 - sum tau).

    Source: guarantees paper, Theorem 5.

    Args:
        means: mu, `[K, J]`, from 0 to 1; K arms, J instances.
        fractions: tau, `[K, J]` or `[K, 1]`, summing to less than 1.
        rounds: t, `[R]`, whole numbers >= 1.
        missed_rounds: E sum_k (tau_k t - N_k(t))+, the expected number of rounds that all arms together lack to their
            quotas. The theorem assumes none, and this number is added to t (1 - sum tau). It is below 1 per arm under
            `fucb`.

    Returns:
        `[R, J]`, float64.

    Raises:
        InputError: an argument has another shape or is out of range.

    Example:
        >>> jb.bounds.fair_worst_case_regret([[0.9], [0.5]], [[0.1], [0.1]], [1000]).round(2).tolist()
        [[320.0]]
    """
    mu = inputs.means(means)
    tau = np.broadcast_to(inputs.fractions(fractions, len(mu)), mu.shape)
    unreserved = inputs.rounds(rounds)[:, None] * (1 - tau.sum(axis=0)) + inputs.number(missed_rounds, "missed_rounds")
    return (mu.max(axis=0) - mu.min(axis=0)) * unreserved
