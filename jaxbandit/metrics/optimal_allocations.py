"""What a prophet who knows the means would do: the optimal allocations that regrets are measured against."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxbandit.core.rationals import rounded_product, rounded_up, sum_in_order


def fair_allocation(means: Any, fractions: Any, plays: int = 1) -> np.ndarray:
    """The share of rounds that each arm gets when every arm must get its fraction (001 Observation 1; 003 eq. 3-6).

    With one play the best arm takes what the others leave. With several this is the optimum of 003 Theorem 3.1 where
    its condition holds (the L-1 best arms in every round, the L-th takes what is left), and that of its general
    program where not.

    Args:
        means: mu, `[K, J]`.
        fractions: tau, `[K, J]` or `[K, 1]`, summing to at most L.
        plays: L, at most K.

    Returns:
        Shares `[K, J]`, float64, from tau_k to 1, summing to L.

    Example:
        >>> fair_allocation(np.array([[0.9], [0.5]]), np.array([[0.1], [0.2]])).ravel().tolist()
        [0.8, 0.2]
    """
    means = np.asarray(means, np.float64)
    floor = np.broadcast_to(np.asarray(fractions, np.float64), means.shape)
    return _raised(means, floor, 1.0, plays)


def fair_counts(means: Any, fractions: Any, plays: int, rounds: int) -> np.ndarray:
    """How often a prophet selects each arm in some rounds, each at least floor(tau_k t) times (003 Corollary 3.2).

    Args:
        means: mu, `[K, J]`.
        fractions: tau as exact `fractions.Fraction`, `[K, J]` or `[K, 1]`, summing to at most L.
        plays: L, at most K.
        rounds: t.

    Returns:
        Counts `[K, J]`, int64, at most t each, summing to L t.

    Example:
        >>> problem = jb.Problem([0.9, 0.5, 0.2], plays=2, fractions=[0.1, 0.1, 0.25])
        >>> fair_counts(problem.means, problem.fractions, problem.plays, rounds=10).ravel().tolist()
        [10, 8, 2]
    """
    means = np.asarray(means, np.float64)
    owed = np.array([[int(tau * rounds) for tau in row] for row in fractions], np.int64)  # tau >= 0: int rounds down
    return _raised(means, np.broadcast_to(owed, means.shape), rounds, plays * rounds)


def _raised(means: np.ndarray, floor: np.ndarray, ceiling: Any, budget: Any) -> np.ndarray:
    """Amounts `[K, J]` that start at a floor and are raised to a ceiling, best arms first, to sum to a budget."""
    order = np.argsort(-means, axis=0, kind="stable")  # ties to the lowest arm
    low = np.take_along_axis(floor, order, axis=0)
    room = ceiling - low
    earlier = np.cumsum(room, axis=0) - room
    left = budget - sum_in_order(low, axis=0) - earlier
    left = np.where(left > 1e-12 * budget, left, 0)  # what rounding leaves is nobody's
    raised = low + np.clip(left, 0, room)
    amounts = np.empty_like(raised)
    np.put_along_axis(amounts, order, raised, axis=0)
    return amounts


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


def penalized_loss(gaps: Any, owed: Any, penalties: Any) -> Any:
    """The least loss L*(t) = sum_k min(gap_k, A_k) tau_k t (000 eq. 9).

    Args:
        gaps: gap_k, `[K, J]`, NumPy's or JAX's.
        owed: tau_k t, `[..., K, J or 1]`.
        penalties: A, `[K, J]` or `[K, 1]`.

    Returns:
        `[..., J]`, float.
    """
    least = (np if isinstance(gaps, np.ndarray) else jnp).minimum(gaps, penalties)
    return sum_in_order(rounded_product(least, owed), axis=-2)  # 000 eq. 9


def best_utility(means: Any, opportunities: Any, penalties: Any, rounds: Any) -> np.ndarray:
    """The expected utility of an optimal allocation of some rounds (004 Lemma 1), whole rounds.

    Each arm worth its price (gap_k < A_k) gets floor(t f_k) rounds and the best arm what is left; best arms that are
    equal get it where it saves most. For the fractions of a round that arms then lack, A_k is paid in proportion. So
    the value is within sum_k A_k of the largest that whole rounds allow.

    Args:
        means: mu, `[K, J]`.
        opportunities: f(mu), `[K, J]`, summing to at most 1.
        penalties: A, `[K, J]` or `[K, 1]`.
        rounds: t, int `[R]`.

    Returns:
        `[R, J]`, float64.

    Example:
        >>> best_utility(np.array([[1.0], [0.5]]), np.array([[0.5], [0.5]]), np.array([[0.6], [0.6]]), [10]).item()
        7.5
    """
    means = np.asarray(means, np.float64)
    penalties = np.broadcast_to(np.asarray(penalties, np.float64), means.shape)
    gaps = means.max(axis=0) - means
    owed = np.asarray(rounds, np.int64)[:, None, None] * np.asarray(opportunities, np.float64)
    counts = np.where(gaps < penalties, np.floor(rounded_up(owed)), 0.0)  # 004 Lemma 1
    lacks = penalties * np.clip(owed - counts, 0.0, 1.0)
    order = np.argsort(np.where(gaps == 0, -lacks, np.inf), axis=1, kind="stable")
    place = np.argsort(order, axis=1, kind="stable")  # of the best arms among themselves, the one that lacks most first
    rest, equals = (np.asarray(rounds)[:, None] - sum_in_order(counts, axis=1))[:, None], np.sum(gaps == 0, axis=0)
    counts = counts + np.where(gaps == 0, rest // equals + (place < rest % equals), 0.0)
    return sum_in_order(means * counts - penalties * np.maximum(owed - counts, 0.0), axis=1)
