"""Paper 001: policies that give every arm its fraction of the rounds.

All under rewards in [0, 1] (or of tails no heavier: Gaussian with sd at most 1/2), one play a round, no delay, every
arm always there, and the policies' default parameters. Regrets are in units of reward.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.metrics.bounds import inputs
from jaxbandit.metrics.bounds.inputs import over


def fair_ucb_regret(means: Any, fractions: Any, rounds: Any) -> np.ndarray:
    """An upper bound on the expected r-regret of `fucb`, and of `t-fucb` at its horizon (001 Theorems 2 and 3).

    Args:
        means: mu, `[K, J]`, from 0 to 1: K arms, J instances.
        fractions: tau, `[K, J]` or `[K, 1]`, summing to less than 1.
        rounds: t, `[R]`, whole numbers >= 1; the horizon for `t-fucb`.

    Returns:
        `[R, J]`, float64.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> fair_ucb_regret([[0.9], [0.5]], [[0.1], [0.1]], [1000]).round(2).tolist()
        [[99.87]]
    """
    mu = inputs.means(means)
    tau = inputs.fractions(fractions, len(mu))
    gap, t = mu.max(axis=0) - mu, inputs.rounds(rounds)[:, None, None]
    beyond = np.maximum(over(8 * np.log(t), gap) - gap * tau * t, 0.0)
    return np.where(gap > 0, beyond, 0.0).sum(axis=1) + (1 + math.pi**2 / 3) * gap.sum(axis=0)  # 001 Theorem 3


def ucb1_regret(means: Any, rounds: Any) -> np.ndarray:
    """An upper bound on the expected regret of `ucb1` (001 Theorem 7; Auer et al. 2002, Theorem 1).

    Args:
        means, rounds: as for `fair_ucb_regret`, of which this is the case without fractions.

    Returns:
        `[R, J]`, float64.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> ucb1_regret([[0.9], [0.5]], [1000]).round(2).tolist()
        [[139.87]]
    """
    return fair_ucb_regret(means, np.zeros((len(np.asarray(means)), 1)), rounds)


def fair_learn_deficit(fractions: Any) -> np.ndarray:
    """What tau_k t - N_k(t) stays below for every arm, round and run of `fair-learn` over any index (001 Theorem 4).

    K tau rounds, which is below 1: arm k has had floor(tau t) of t rounds. The theorem's definition asks for at most 1.

    Args:
        fractions: tau, `[K, J]`; those of an instance that are not 0 are equal, and below 1/K.

    Returns:
        `[J]`, float64, rounds.

    Raises:
        InputError: fractions that differ, or are 1/K or more.

    Example:
        >>> fair_learn_deficit([[0.2], [0.2], [0.2]]).round(2).tolist()
        [0.6]
    """
    tau = inputs.fractions(fractions, len(np.asarray(fractions)))
    most = tau.max(axis=0)
    if np.any((tau != most) & (tau > 0)) or np.any(most * len(tau) >= 1):
        words = f"fractions that are 0 or all equal, below 1/K = 1/{len(tau)} (001 Theorem 4)"
        raise InputError("fractions", tau.T.tolist(), words)
    return len(tau) * most  # App. A, Lemma 1


def fair_worst_regret(means: Any, fractions: Any, rounds: Any, lacking: float = 0.0) -> np.ndarray:
    """What the expected r-regret of no fair policy exceeds: the largest gap times t (1 - sum tau) (001 Theorem 5).

    Args:
        means, fractions, rounds: as for `fair_ucb_regret`.
        lacking: E sum_k (tau_k t - N_k(t))+, the rounds that the policy leaves arms short by, for which it is raised.
            The theorem is for none; under `fucb`, as rounds are whole, it is less than 1 an arm.

    Returns:
        `[R, J]`, float64.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> fair_worst_regret([[0.9], [0.5]], [[0.1], [0.1]], [1000]).round(2).tolist()
        [[320.0]]
    """
    mu = inputs.means(means)
    tau = np.broadcast_to(inputs.fractions(fractions, len(mu)), mu.shape)
    free = inputs.rounds(rounds)[:, None] * (1 - tau.sum(axis=0)) + inputs.number(lacking, "lacking")
    return (mu.max(axis=0) - mu.min(axis=0)) * free
