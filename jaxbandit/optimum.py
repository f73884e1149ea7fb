"""What a prophet who knows the means would do: the optimal allocations that regrets are measured against."""

from __future__ import annotations

from typing import Any

import numpy as np

from .exact import total


def fair_allocation(means: Any, fractions: Any) -> np.ndarray:
    """The share of rounds that each arm gets when every arm must get its fraction (001, Observation 1).

    Args:
        means: mu, `[K, J]`.
        fractions: tau, `[K, J]` or `[K, 1]`, summing to at most 1.

    Returns:
        Shares `[K, J]`, float64, summing to 1: tau_k, and the best arm (the lowest of several) takes the rest.

    Example:
        >>> fair_allocation(np.array([[0.9], [0.5]]), np.array([[0.1], [0.2]])).ravel().tolist()
        [0.8, 0.2]
    """
    means = np.asarray(means, np.float64)
    shares = np.broadcast_to(np.asarray(fractions, np.float64), means.shape).copy()
    leader = np.argmax(means, axis=0)[None]
    np.put_along_axis(shares, leader, 0.0, axis=0)
    np.put_along_axis(shares, leader, 1.0 - total(shares, axis=0)[None], axis=0)
    return shares


def penalized_allocation(means: Any, fractions: Any, penalties: Any) -> np.ndarray:
    """The share of rounds that each arm gets when a missed round costs A_k (000 eq. 7-8).

    Arms worth their penalty (gap_k <= A_k) get tau_k, the others nothing, and the best arm the rest.

    Args:
        means, fractions: as for `fair_allocation`.
        penalties: A, `[K, J]` or `[K, 1]`.

    Returns:
        Shares `[K, J]`, float64, summing to 1.
    """
    means = np.asarray(means, np.float64)
    gaps = means.max(axis=0) - means
    kept = np.where(gaps <= penalties, np.asarray(fractions, np.float64), 0.0)  # A_cr and A_opt of 000
    return fair_allocation(means, kept)


def penalized_loss(gaps: Any, owed: Any, penalties: Any) -> np.ndarray:
    """The least loss L*(t) = sum_k min(gap_k, A_k) tau_k t (000 eq. 9).

    Args:
        gaps: gap_k, `[K, J]`.
        owed: tau_k t, `[..., K, J or 1]`.
        penalties: A, `[K, J]` or `[K, 1]`.

    Returns:
        `[..., J]`, float64.
    """
    return total(np.minimum(gaps, penalties) * owed, axis=-2)  # 000 eq. 9
