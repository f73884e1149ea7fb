"""The penalties paper: penalized regret, selections and deficits of hard-threshold UCB, and general lower bounds.

Anonymous authors (under review), "A new look at fairness in stochastic multi-armed bandit problems".

All bounds assume rewards in [0, 1] (or no heavier tails: Gaussian with sd <= 1/2), one play per round, no delay, all
arms always available, and the policy's default exploration x = 2. An arm is critical where 0 < gap_k <= A_k and
non-critical where gap_k > A_k. Regrets are in units of reward.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.metrics.bounds import inputs
from jaxbandit.metrics.bounds.inputs import divide_by_gap


def hard_threshold_regret(
    means: ArrayLike, fractions: ArrayLike, penalties: ArrayLike, rounds: ArrayLike, constant: float = 1.0
) -> np.ndarray:
    """Upper bound on the expected penalized regret of `hard-threshold-ucb`.

    The leading terms of the theorem, plus `constant` K for its O(K). The bound rests on the assumptions that
    `hard_threshold_assumptions_hold` checks, and on T much larger than K.

    Source: penalties paper, Theorem 2, eq. 13. The paper prints 8 log T / gap_k - tau_k T as the term of a critical
    arm, which is not a regret. The correct term is gap_k (B_k - tau_k T), where B_k is the theorem's bound on E N_k.

    Args:
        means: mu, `[K, J]`, from 0 to 1; K arms, J instances.
        fractions: tau, `[K, J]` or `[K, 1]`, summing to less than 1.
        penalties: the penalty rates A, `[K, J]` or `[K, 1]`, >= 0.
        rounds: t, `[R]`, whole numbers >= 1; the policy does not know the horizon, so every t can be the horizon.
        constant: stands for the O(1) of each arm, in units of reward.

    Returns:
        `[R, J]`, float64.

    Raises:
        InputError: an argument has another shape or is out of range.

    Example:
        >>> jb.bounds.hard_threshold_regret([[0.9], [0.5]], [[0.1], [0.1]], [[0.5], [0.5]], [1000]).round(2).tolist()
        [[100.16]]
    """
    gap, tau, penalty_rate, t = _checked(means, fractions, penalties, rounds)
    log, quota, excess = 8 * np.log(t), tau * t, gap - penalty_rate
    critical = np.maximum(divide_by_gap(log, gap) - gap * quota, 0.0)
    noncritical = np.maximum(np.minimum(divide_by_gap(log, excess), excess * quota), divide_by_gap(log, gap))
    is_critical = (gap > 0) & (gap <= penalty_rate)
    terms = np.where(is_critical, critical, np.where(gap > penalty_rate, noncritical, 0.0))  # eq. 13
    return terms.sum(axis=1) + inputs.number(constant, "constant") * len(gap)


def hard_threshold_pulls(
    means: ArrayLike, fractions: ArrayLike, penalties: ArrayLike, rounds: ArrayLike, constant: float = 1.0
) -> np.ndarray:
    """Upper bounds on the expected selections of each arm under `hard-threshold-ucb`.

    max(8 log t / gap^2, tau t) for a critical arm and max(min(8 log t / (gap - A)^2, tau t), 8 log t / gap^2) for a
    non-critical one, plus `constant` for the O(1). Infinite for the best arms.

    Source: penalties paper, Theorem 2.

    Args:
        means: mu, `[K, J]`, from 0 to 1; K arms, J instances.
        fractions: tau, `[K, J]` or `[K, 1]`, summing to less than 1.
        penalties: the penalty rates A, `[K, J]` or `[K, 1]`, >= 0.
        rounds: t, `[R]`, whole numbers >= 1.
        constant: stands for the O(1) of each arm, in rounds.

    Returns:
        `[R, K, J]`, float64, in rounds.

    Raises:
        InputError: an argument has another shape or is out of range.

    Example:
        >>> means, fractions, penalties = [[0.9], [0.2]], [[0.1], [0.1]], [[0.3], [0.3]]
        >>> jb.bounds.hard_threshold_pulls(means, fractions, penalties, [1000])[0, 1].round(2).tolist()
        [113.78]
    """
    gap, tau, penalty_rate, t = _checked(means, fractions, penalties, rounds)
    log, quota = 8 * np.log(t), tau * t
    explored = divide_by_gap(log, gap**2)
    fair = np.minimum(divide_by_gap(log, np.maximum(gap - penalty_rate, 0.0) ** 2), quota)
    counts = np.maximum(explored, np.where(gap > penalty_rate, fair, quota))
    return counts + inputs.number(constant, "constant")


def hard_threshold_assumptions_hold(
    means: ArrayLike, fractions: ArrayLike, penalties: ArrayLike, rounds: ArrayLike
) -> np.ndarray:
    """Whether the assumptions of `hard_threshold_regret` hold: no gap is too near its penalty rate for the horizon.

    They are gap_k < A_k for critical and best arms with tau_k A_k > 0, and gap_k - A_k >= sqrt(16 K log t / (c0^2 t))
    for non-critical arms, where c0 = 1 - sum tau.

    Source: penalties paper, Theorem 2 and App. B. The paper's condition for non-critical arms has two errors. In place
    of c0 it has c_a, its constant with A_k - gap_k >= c_a for critical and best arms; the proof needs c0. In place of
    16 it has 8; the last step of the proof needs 16, since the sum of 8 log t / (gap_k - A_k)^2 over the non-critical
    arms must stay below c0^2 t / 2.

    Args:
        means: mu, `[K, J]`, from 0 to 1; K arms, J instances.
        fractions: tau, `[K, J]` or `[K, 1]`, summing to less than 1.
        penalties: the penalty rates A, `[K, J]` or `[K, 1]`, >= 0.
        rounds: t, `[R]`, whole numbers >= 1.

    Returns:
        `[R, J]`, bool.

    Raises:
        InputError: an argument has another shape or is out of range.

    Example:
        >>> arms = [[0.9], [0.2]], [[0.1], [0.1]], [[0.3], [0.3]]
        >>> jb.bounds.hard_threshold_assumptions_hold(*arms, [1000, 10000]).tolist()
        [[False], [True]]
    """
    gap, tau, penalty_rate, t = _checked(means, fractions, penalties, rounds)
    unreserved = 1 - np.broadcast_to(tau, gap.shape).sum(axis=0)
    margin = np.sqrt(16 * len(gap) * np.log(t) / t) / unreserved
    clear = (gap < penalty_rate) | (tau == 0) | (penalty_rate == 0)
    return np.where(gap > penalty_rate, gap - penalty_rate >= margin, clear).all(axis=1)


def hard_threshold_deficits(means: ArrayLike, penalties: ArrayLike, rounds: ArrayLike) -> np.ndarray:
    """Upper bounds on E max_{s<=t} (tau_k s - N_k(s))+ of each arm under `hard-threshold-ucb`, up to O(1).

    a_j log t for the arm j with the j-th largest mu + A, where a_j = a_1 + ... + a_{j-1} + b_1 + ... + b_j. b_j is the
    sum of 8 / d_m^2 over the other arms m in this order, where d_m = mu_j + A_j - mu_m for m < j, and
    d_m = mu_j + A_j - mu_m - A_m for m > j. The bounds hold for arms with gap_k < A_k, whatever tau. They are infinite
    for other arms, and where two arms have the same mu + A.

    Source: penalties paper, Theorem 3, eq. 14. The recursion for a_j is that of App. D; eq. 33 prints another formula.

    Args:
        means: mu, `[K, J]`, from 0 to 1; K arms, J instances.
        penalties: the penalty rates A, `[K, J]` or `[K, 1]`, >= 0.
        rounds: t, `[R]`, whole numbers >= 1.

    Returns:
        `[R, K, J]`, float64, in rounds.

    Raises:
        InputError: an argument has another shape or is out of range.

    Example:
        >>> jb.bounds.hard_threshold_deficits([[0.9], [0.5]], [[0.5], [0.7]], [1000])[0].round(1).tolist()
        [[1381.6], [3377.1]]
    """
    mu = inputs.means(means)
    penalty_rate = np.broadcast_to(inputs.per_arm(penalties, len(mu), "penalties"), mu.shape)
    order = np.argsort(-(mu + penalty_rate), axis=0, kind="stable")
    mean, with_bonus = (np.take_along_axis(values, order, axis=0) for values in (mu, mu + penalty_rate))
    places = np.arange(len(mu))
    before = np.greater.outer(places, places)[..., None]  # whether m comes before d, [d, m, 1]
    compared = np.where(before, mean, with_bonus)
    distance = inputs.equal_where_near(with_bonus[:, None], compared) - compared
    others = ~np.eye(len(mu), dtype=bool)[..., None]
    terms = np.where(others, divide_by_gap(8.0, np.maximum(distance, 0.0) ** 2), 0.0).sum(axis=1)  # b_d, eq. 36
    slopes_in_order = np.zeros_like(terms)
    for j in range(len(mu)):  # a_j = a_1 + ... + a_{j-1} + b_1 + ... + b_j (App. D)
        slopes_in_order[j] = (2 * slopes_in_order[j - 1] if j else 0.0) + terms[j]
    slopes = np.empty_like(slopes_in_order)
    promised = inputs.equal_where_near(with_bonus, mu.max(axis=0)) > mu.max(axis=0)
    np.put_along_axis(slopes, order, np.where(promised, slopes_in_order, np.inf), axis=0)
    finite = np.isfinite(slopes)
    log = np.log(inputs.rounds(rounds))[:, None, None]
    return np.where(finite, np.where(finite, slopes, 0.0) * log, np.inf)


def hard_threshold_worst_case_regret(fractions: ArrayLike, penalties: ArrayLike, rounds: ArrayLike) -> np.ndarray:
    """Upper bound on the expected penalized regret of `hard-threshold-ucb`, whatever the means.

    Source: penalties paper, Theorem 4, eq. 15, as stated: its third term lacks the factor 1 / (1 - sum tau) that the
    proof of Lemma 1 has.

    Args:
        fractions: tau, `[K, J]`, summing to less than 1; constants that do not fall with the horizon.
        penalties: the penalty rates A, `[K, J]` or `[K, 1]`, >= 0.
        rounds: t, `[R]`, whole numbers >= 1.

    Returns:
        `[R, J]`, float64; infinite in round 1.

    Raises:
        InputError: an argument has another shape or is out of range.

    Example:
        >>> jb.bounds.hard_threshold_worst_case_regret([[0.1], [0.1]], [[0.5], [0.5]], [10000]).round().tolist()
        [[6785.0]]
    """
    tau = inputs.fractions(fractions, len(np.asarray(fractions)))
    penalty_rate = inputs.per_arm(penalties, len(tau), "penalties")
    t = inputs.rounds(rounds)[:, None]
    arms, root = len(tau), 8 * np.sqrt(t * np.log(t))
    exploration = root * (np.sqrt(tau).sum(axis=0) + np.sqrt((1 - tau.min(axis=0)) * arms))
    unfair = penalty_rate.max(axis=0) * arms * t ** (2 / 3) * np.sqrt(2 * np.log(t))
    return np.where(t > 1, exploration + unfair, np.inf)  # eq. 15, which is 0 at T = 1


def hard_threshold_noncritical_lower_bound(
    means: ArrayLike, fractions: ArrayLike, penalties: ArrayLike, rounds: ArrayLike
) -> np.ndarray:
    """Lower bound on the penalized regret of `hard-threshold-ucb`, from non-critical arms.

    It is proved where rewards are constant, suboptimal arms are alike and all A are equal; elsewhere it shows which
    order to expect. An arm counts from the round on in which 8 log t / (gap - A)^2 <= tau t / 2.

    Source: penalties paper, Theorem 5, eq. 16.

    Args:
        means: mu, `[K, J]`, from 0 to 1; K arms, J instances.
        fractions: tau, `[K, J]` or `[K, 1]`, summing to less than 1.
        penalties: the penalty rates A, `[K, J]` or `[K, 1]`, >= 0.
        rounds: t, `[R]`, whole numbers >= 1.

    Returns:
        `[R, J]`, float64; 0 where the theorem says nothing.

    Raises:
        InputError: an argument has another shape or is out of range.

    Example:
        >>> arms = [[0.9], [0.0]], [[0.1], [0.1]], [[0.2], [0.2]]
        >>> jb.bounds.hard_threshold_noncritical_lower_bound(*arms, [10000]).round(2).tolist()
        [[13.16]]
    """
    gap, tau, penalty_rate, t = _checked(means, fractions, penalties, rounds)
    excess = np.maximum(gap - penalty_rate, 0.0)
    counted = (excess > 0) & (16 * divide_by_gap(np.log(t), excess**2) <= tau * t)
    return np.where(counted, divide_by_gap(np.log(t), excess), 0.0).sum(axis=1)  # eq. 16


def hard_threshold_critical_lower_bound(
    means: ArrayLike, fractions: ArrayLike, penalties: ArrayLike, rounds: ArrayLike
) -> np.ndarray:
    """Lower bound on the penalized regret of `hard-threshold-ucb`, from critical arms.

    It is proved where rewards are constant, critical arms are alike and so are the non-critical ones; elsewhere it
    shows which order to expect. It applies from the round on in which exploration has taken less than half of all
    rounds.

    Source: penalties paper, Theorem 6, eq. 17.

    Args:
        means: mu, `[K, J]`, from 0 to 1; K arms, J instances.
        fractions: tau, `[K, J]` or `[K, 1]`, summing to less than 1.
        penalties: the penalty rates A, `[K, J]` or `[K, 1]`, >= 0.
        rounds: t, `[R]`, whole numbers >= 1.

    Returns:
        `[R, J]`, float64; 0 where the theorem says nothing.

    Raises:
        InputError: an argument has another shape or is out of range.

    Example:
        >>> arms = [[0.7], [0.5]], [[0.01], [0.01]], [[0.4], [0.4]]
        >>> jb.bounds.hard_threshold_critical_lower_bound(*arms, [10000]).round(2).tolist()
        [[26.05]]
    """
    gap, tau, penalty_rate, t = _checked(means, fractions, penalties, rounds)
    critical = (gap > 0) & (gap <= penalty_rate)
    distance = np.where(critical, gap, np.maximum(gap - penalty_rate, 0.0))
    explored = np.where(gap > 0, 8 * divide_by_gap(np.log(t), distance**2), 0.0).sum(axis=1, keepdims=True)
    # An arm whose quota exceeds log t / gap^2 rounds cannot have negative regret: its term is 0.
    terms = np.maximum(divide_by_gap(np.log(t), gap) - gap * tau * t, 0.0)
    return np.where(critical & (explored < t / 2), terms, 0.0).sum(axis=1)  # eq. 17


def penalized_regret_lower_bound(
    fractions: ArrayLike, penalties: ArrayLike, rounds: ArrayLike, sd: float = 1.0
) -> np.ndarray:
    """Lower bound on the expected penalized regret of any policy for some means, with Gaussian rewards.

    (1 - sum tau) sd sqrt((K - 1) t / 2) / (8 e). The means are those of one of two problems: the best arm has mean
    Delta and the others 0; in the second problem, one of these other arms has mean 2 Delta. Here Delta = sd sqrt((K -
    1) / (2 t)).

    Source: penalties paper, Theorem 7 and App. F. The paper prints 1 - 2 max tau in place of 1 - sum tau, which leaves
    out the quotas of all other arms: with tau near 1/K, every policy that plays the arms in turn has hardly any regret.
    The proof with all arms gives 1 - sum tau; with two arms both agree.

    Args:
        fractions: tau, `[K, J]`, summing to less than 1.
        penalties: the penalty rates A, `[K, J]` or `[K, 1]`, above 0.
        rounds: t, `[R]`, whole numbers >= 1.
        sd: the standard deviation of rewards, in units of reward.

    Returns:
        `[R, J]`, float64; 0 while t is so small that Delta is not below 1/2 and all A.

    Raises:
        InputError: an argument has another shape or is out of range.

    Example:
        >>> jb.bounds.penalized_regret_lower_bound([[0.1], [0.1]], [[0.5], [0.5]], [10000]).round(2).tolist()
        [[2.6]]
    """
    tau = inputs.fractions(fractions, len(np.asarray(fractions)))
    penalty_rate = inputs.per_arm(penalties, len(tau), "penalties")
    t, spread = inputs.rounds(rounds)[:, None], inputs.number(sd, "sd")
    # App. F has C = 1/2; the divergence (2 Delta)^2 / (2 sd^2) of one play makes it 2
    delta = spread * np.sqrt((len(tau) - 1) / (2 * t))
    bound = (1 - tau.sum(axis=0)) * delta * t / (8 * math.e)  # eq. 52
    return np.where((delta < 0.5) & (delta < penalty_rate.min(axis=0)), bound, 0.0)


def _checked(
    means: ArrayLike, fractions: ArrayLike, penalties: ArrayLike, rounds: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """gap_k `[K, J]`, tau_k and A_k `[K, J or 1]`, and t `[R, 1, 1]`."""
    mu = inputs.means(means)
    tau = inputs.fractions(fractions, len(mu))
    penalty_rate = inputs.per_arm(penalties, len(mu), "penalties")
    gap = inputs.equal_where_near(mu.max(axis=0) - mu, penalty_rate)
    return gap, tau, penalty_rate, inputs.rounds(rounds)[:, None, None]
