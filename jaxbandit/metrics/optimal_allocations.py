"""Optimal allocations of rounds to arms when the means are known (the oracle): what regrets are measured against."""

from __future__ import annotations

from typing import TypeVar

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit.core.rationals import rounded_product, rounded_up, sum_in_order

Numbers = TypeVar("Numbers", Array, np.ndarray)  # JAX's on the device, NumPy's on the host


def fair_allocation(means: ArrayLike, fractions: ArrayLike, plays: int = 1) -> np.ndarray:
    """The shares of rounds that maximise the expected reward when every arm must get its fraction.

    With one play, every arm gets its fraction and the best arm also gets what is left (guarantees paper,
    Observation 1). With L plays, the shares are the optimum of the plays paper, eq. 3 to 6: where the condition of its
    Theorem 3.1 holds, the L - 1 best arms are played in every round and the L-th best arm gets what is left.

    Args:
        means: mu, `[K, J]`: K arms, J instances.
        fractions: tau, `[K, J]` or `[K, 1]`, summing to at most L.
        plays: L, at most K.

    Returns:
        Shares from tau_k to 1, float64 `[K, J]`, summing to L.

    Example:
        >>> fair_allocation(np.array([[0.9], [0.5]]), np.array([[0.1], [0.2]])).ravel().round(6).tolist()
        [0.8, 0.2]
    """
    means = np.asarray(means, np.float64)
    lower = np.broadcast_to(np.asarray(fractions, np.float64), means.shape)
    return _fill_best_arms_first(means, lower, 1.0, plays)


def fair_counts(means: ArrayLike, fractions: np.ndarray, plays: int, rounds: int) -> np.ndarray:
    """The optimal whole numbers of selections when every arm must get floor(tau_k t) (plays paper, Corollary 3.2).

    Args:
        means: mu, `[K, J]`: K arms, J instances.
        fractions: tau as exact `fractions.Fraction`, `[K, J]` or `[K, 1]`, summing to at most L.
        plays: L, at most K.
        rounds: t.

    Returns:
        Selections of each arm, int64 `[K, J]`, at most t each, summing to L t.

    Example:
        >>> problem = jb.Problem([0.9, 0.5, 0.2], plays=2, fractions=[0.1, 0.1, 0.25])
        >>> fair_counts(problem.means, problem.fractions, problem.plays, rounds=10).ravel().tolist()
        [10, 8, 2]
    """
    means = np.asarray(means, np.float64)
    quotas = np.array([[int(tau * rounds) for tau in row] for row in fractions], np.int64)  # tau >= 0: int rounds down
    return _fill_best_arms_first(means, np.broadcast_to(quotas, means.shape), rounds, plays * rounds)


def _fill_best_arms_first(means: np.ndarray, lower: np.ndarray, upper: float, budget: float) -> np.ndarray:
    """Amounts `[K, J]` that sum to `budget`: all start at `lower`, then the best arms are raised to `upper` in turn."""
    order = np.argsort(-means, axis=0, kind="stable")  # the lowest arm first among equal means
    low = np.take_along_axis(lower, order, axis=0)
    room = upper - low
    room_of_better = np.cumsum(room, axis=0) - room
    remaining = budget - sum_in_order(low, axis=0) - room_of_better
    remaining = np.where(remaining > 1e-12 * budget, remaining, 0)  # less than that is a rounding error
    filled = low + np.clip(remaining, 0, room)
    amounts = np.empty_like(filled)
    np.put_along_axis(amounts, order, filled, axis=0)
    return amounts


def penalized_allocation(means: ArrayLike, fractions: ArrayLike, penalties: ArrayLike) -> np.ndarray:
    """The shares of rounds that maximise reward minus penalties, with one play per round (penalties paper, eq. 7-8).

    An arm with gap_k <= A_k gets its fraction tau_k, any other arm gets nothing, and the best arm gets what is left.

    Args:
        means: mu, `[K, J]`: K arms, J instances.
        fractions: tau, `[K, J]` or `[K, 1]`, summing to at most 1.
        penalties: the penalty rates A, `[K, J]` or `[K, 1]`.

    Returns:
        Shares, float64 `[K, J]`, summing to 1.

    Example:
        >>> arms = np.array([[0.9], [0.5], [0.1]]), np.array([[0.1], [0.2], [0.3]]), np.full((3, 1), 0.5)
        >>> penalized_allocation(*arms).ravel().round(6).tolist()
        [0.8, 0.2, 0.0]
    """
    means = np.asarray(means, np.float64)
    gaps = means.max(axis=0) - means
    kept = np.where(gaps <= penalties, np.asarray(fractions, np.float64), 0.0)  # the paper's sets A_cr and A_opt
    return fair_allocation(means, kept)


def optimal_loss(gaps: Numbers, quotas: Numbers, penalties: Numbers) -> Numbers:
    """The least loss L*(t) = sum_k min(gap_k, A_k) tau_k t (penalties paper, eq. 9).

    Args:
        gaps: gap_k, `[K, J]`.
        quotas: tau_k t, `[..., K, J or 1]`.
        penalties: the penalty rates A, `[K, J]` or `[K, 1]`.

    Returns:
        `[..., J]`, float, in units of reward.
    """
    least = (np if isinstance(gaps, np.ndarray) else jnp).minimum(gaps, penalties)
    loss: Numbers = sum_in_order(rounded_product(least, quotas), axis=-2)  # eq. 9
    return loss


def optimal_utility(means: ArrayLike, opportunities: ArrayLike, penalties: ArrayLike, rounds: ArrayLike) -> np.ndarray:
    """The expected utility of the optimal allocation of whole rounds (opportunities paper, Lemma 1).

    An arm with gap_k < A_k gets floor(t f_k) rounds, any other arm none, and the best arm gets what is left. Several
    best arms share what is left, first those that save most. A_k is paid in proportion for the fraction of a round
    that an arm then lacks, so the value is within sum_k A_k of the largest that whole rounds allow.

    Args:
        means: mu, `[K, J]`: K arms, J instances.
        opportunities: f(mu), `[K, J]`, summing to at most 1.
        penalties: the transfer costs A, `[K, J]` or `[K, 1]`.
        rounds: t, int `[R]`.

    Returns:
        `[R, J]`, float64, in units of reward.

    Example:
        >>> optimal_utility(np.array([[1.0], [0.5]]), np.array([[0.5], [0.5]]), np.array([[0.6], [0.6]]), [10]).item()
        7.5
    """
    means = np.asarray(means, np.float64)
    penalties = np.broadcast_to(np.asarray(penalties, np.float64), means.shape)
    gaps = means.max(axis=0) - means
    entitled = np.asarray(rounds, np.int64)[:, None, None] * np.asarray(opportunities, np.float64)
    counts = np.where(gaps < penalties, np.floor(rounded_up(entitled)), 0.0)  # Lemma 1
    costs = penalties * np.clip(entitled - counts, 0.0, 1.0)
    order = np.argsort(np.where(gaps == 0, -costs, np.inf), axis=1, kind="stable")
    place = np.argsort(order, axis=1, kind="stable")  # among the best arms, the one that costs most comes first
    best_arms = np.sum(gaps == 0, axis=0)
    remaining = (np.asarray(rounds)[:, None] - sum_in_order(counts, axis=1))[:, None]
    counts = counts + np.where(gaps == 0, remaining // best_arms + (place < remaining % best_arms), 0.0)
    utility: np.ndarray = sum_in_order(means * counts - penalties * np.maximum(entitled - counts, 0.0), axis=1)
    return utility
