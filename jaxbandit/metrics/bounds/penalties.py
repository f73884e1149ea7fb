"""Paper 000: the penalized regret of hard-threshold UCB, its selections and deficits, and what no policy can beat.

All under rewards in [0, 1] (or of tails no heavier: Gaussian with sd at most 1/2), one play a round, no delay, every
arm always there, and the policy's default exploration x = 2. Critical arms have 0 < gap_k <= A_k, non-critical ones
gap_k > A_k. Regrets are in units of reward.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jaxbandit.metrics.bounds import inputs
from jaxbandit.metrics.bounds.inputs import over


def hard_threshold_regret(means: Any, fractions: Any, penalties: Any, rounds: Any, constant: float = 1.0) -> np.ndarray:
    """An upper bound on the expected penalized regret of `hard-threshold-ucb` (000 Theorem 2, eq. 13).

    Its leading terms, plus `constant` K for the O(K) that the theorem leaves open. It rests on what
    `hard_threshold_assumes` tells, and on T much larger than K.

    Args:
        means: mu, `[K, J]`, from 0 to 1: K arms, J instances.
        fractions: tau, `[K, J]` or `[K, 1]`, summing to less than 1.
        penalties: A, `[K, J]` or `[K, 1]`, >= 0.
        rounds: t, `[R]`, whole numbers >= 1; the policy does not know the horizon, so each t is one.
        constant: what stands for the O(1) of each arm, in units of reward.

    Returns:
        `[R, J]`, float64.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> hard_threshold_regret([[0.9], [0.5]], [[0.1], [0.1]], [[0.5], [0.5]], [1000]).round(2).tolist()
        [[100.16]]
    """
    gap, tau, penalty_rate, t = _arguments(means, fractions, penalties, rounds)
    log, owed, spare = 8 * np.log(t), tau * t, gap - penalty_rate
    # As printed tau_k T is subtracted without its gap_k: no regret, but a number of selections. gap_k times the bound
    # that the theorem gives for E N_k - tau_k T is meant.
    critical = np.maximum(over(log, gap) - gap * owed, 0.0)
    other = np.maximum(np.minimum(over(log, spare), spare * owed), over(log, gap))
    worth = (gap > 0) & (gap <= penalty_rate)
    terms = np.where(worth, critical, np.where(gap > penalty_rate, other, 0.0))  # eq. 13
    return terms.sum(axis=1) + inputs.number(constant, "constant") * len(gap)


def hard_threshold_pulls(means: Any, fractions: Any, penalties: Any, rounds: Any, constant: float = 1.0) -> np.ndarray:
    """Upper bounds on the expected selections of each arm under `hard-threshold-ucb` (000 Theorem 2).

    max(8 log t / gap^2, tau t) for a critical arm, and max(min(8 log t / (gap - A)^2, tau t), 8 log t / gap^2) for a
    non-critical one, plus `constant` for the O(1). Infinite for the best arms.

    Args:
        means, fractions, penalties, rounds, constant: as for `hard_threshold_regret`; the constant in rounds.

    Returns:
        `[R, K, J]`, float64, rounds.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> hard_threshold_pulls([[0.9], [0.2]], [[0.1], [0.1]], [[0.3], [0.3]], [1000])[0, 1].round(2).tolist()
        [113.78]
    """
    gap, tau, penalty_rate, t = _arguments(means, fractions, penalties, rounds)
    log, owed = 8 * np.log(t), tau * t
    alone = over(log, gap**2)
    short = np.minimum(over(log, np.maximum(gap - penalty_rate, 0.0) ** 2), owed)
    counts = np.maximum(alone, np.where(gap > penalty_rate, short, owed))
    return counts + inputs.number(constant, "constant")


def hard_threshold_assumes(means: Any, fractions: Any, penalties: Any, rounds: Any) -> np.ndarray:
    """Whether the assumptions of 000 Theorem 2 hold: no gap is too near its penalty, for the horizon.

    That is gap_k < A_k for critical and best arms with tau_k A_k > 0, and gap_k - A_k >= sqrt(16 K log t / (c0^2 t))
    for non-critical ones, c0 = 1 - sum tau.

    Args:
        means, fractions, penalties, rounds: as for `hard_threshold_regret`.

    Returns:
        `[R, J]`, bool.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> hard_threshold_assumes([[0.9], [0.2]], [[0.1], [0.1]], [[0.3], [0.3]], [1000, 10000]).tolist()
        [[False], [True]]
    """
    gap, tau, penalty_rate, t = _arguments(means, fractions, penalties, rounds)
    left = 1 - np.broadcast_to(tau, gap.shape).sum(axis=0)
    # The statement has c_a where App. B needs c0, and App. B has 8 where its last step needs 16 (the sum is to stay
    # below c0^2 T / 2, not c0^2 T).
    margin = np.sqrt(16 * len(gap) * np.log(t) / t) / left
    settled = (gap < penalty_rate) | (tau == 0) | (penalty_rate == 0)
    return np.where(gap > penalty_rate, gap - penalty_rate >= margin, settled).all(axis=1)


def hard_threshold_deficits(means: Any, penalties: Any, rounds: Any) -> np.ndarray:
    """Bounds on E max_{s<=t} (tau_k s - N_k(s))+ under `hard-threshold-ucb`, up to O(1) (000 Theorem 3, eq. 14).

    a_j log t for the arm of j-th largest mu + A. They hold for arms with gap_k < A_k, whatever tau; for the others they
    are infinite, and where two arms have the same mu + A.

    Args:
        means: mu, `[K, J]`, from 0 to 1.
        penalties: A, `[K, J]` or `[K, 1]`, >= 0.
        rounds: t, `[R]`, whole numbers >= 1.

    Returns:
        `[R, K, J]`, float64, rounds.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> hard_threshold_deficits([[0.9], [0.5]], [[0.5], [0.7]], [1000])[0].round(1).tolist()
        [[1381.6], [3377.1]]
    """
    mu = inputs.means(means)
    penalty_rate = np.broadcast_to(inputs.per_arm(penalties, len(mu), "penalties"), mu.shape)
    order = np.argsort(-(mu + penalty_rate), axis=0, kind="stable")
    mean, lifted = (np.take_along_axis(values, order, axis=0) for values in (mu, mu + penalty_rate))
    places = np.arange(len(mu))
    before = np.greater.outer(places, places)[..., None]  # m before d, [d, m, 1]
    apart = lifted[:, None] - np.where(before, mean, lifted)
    others = ~np.eye(len(mu), dtype=bool)[..., None]
    each = np.where(others, over(8.0, np.maximum(apart, 0.0) ** 2), 0.0).sum(axis=1)  # b_d, eq. 36
    total = np.zeros_like(each)
    for j in range(len(mu)):  # a_j = a_1 + ... + a_{j-1} + b_1 + ... + b_j (App. D); eq. 33 does not solve this
        total[j] = (2 * total[j - 1] if j else 0.0) + each[j]
    slopes = np.empty_like(total)
    np.put_along_axis(slopes, order, np.where(lifted > mu.max(axis=0), total, np.inf), axis=0)
    known = np.isfinite(slopes)
    log = np.log(inputs.rounds(rounds))[:, None, None]
    return np.where(known, np.where(known, slopes, 0.0) * log, np.inf)


def hard_threshold_worst_regret(fractions: Any, penalties: Any, rounds: Any) -> np.ndarray:
    """An upper bound on the expected penalized regret of `hard-threshold-ucb` for all means (000 Theorem 4, eq. 15).

    As stated: its third term leaves out the 1 / (1 - sum tau) of Lemma 1's proof.

    Args:
        fractions: tau, `[K, J]`, summing to less than 1; constants, that do not fall with the horizon.
        penalties: A, `[K, J]` or `[K, 1]`, >= 0.
        rounds: t, `[R]`, whole numbers >= 1.

    Returns:
        `[R, J]`, float64; infinite in round 1.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> hard_threshold_worst_regret([[0.1], [0.1]], [[0.5], [0.5]], [10000]).round().tolist()
        [[6785.0]]
    """
    tau = inputs.fractions(fractions, len(np.asarray(fractions)))
    penalty_rate = inputs.per_arm(penalties, len(tau), "penalties")
    t = inputs.rounds(rounds)[:, None]
    arms, root = len(tau), 8 * np.sqrt(t * np.log(t))
    exploration = root * (np.sqrt(tau).sum(axis=0) + np.sqrt((1 - tau.min(axis=0)) * arms))
    unfair = penalty_rate.max(axis=0) * arms * t ** (2 / 3) * np.sqrt(2 * np.log(t))
    return np.where(t > 1, exploration + unfair, np.inf)  # eq. 15, which is 0 at T = 1


def hard_threshold_noncritical_least(means: Any, fractions: Any, penalties: Any, rounds: Any) -> np.ndarray:
    """A lower bound on the penalized regret of `hard-threshold-ucb`, from non-critical arms (000 Theorem 5, eq. 16).

    Proved where rewards are constant, suboptimal arms are alike and all A are equal; elsewhere it shows what order
    to expect. An arm counts from the round on at which 8 log t / (gap - A)^2 <= tau t / 2.

    Args:
        means, fractions, penalties, rounds: as for `hard_threshold_regret`.

    Returns:
        `[R, J]`, float64; 0 where it says nothing.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> hard_threshold_noncritical_least([[0.9], [0.0]], [[0.1], [0.1]], [[0.2], [0.2]], [10000]).round(2).tolist()
        [[13.16]]
    """
    gap, tau, penalty_rate, t = _arguments(means, fractions, penalties, rounds)
    spare = np.maximum(gap - penalty_rate, 0.0)
    counts = (spare > 0) & (16 * over(np.log(t), spare**2) <= tau * t)
    return np.where(counts, over(np.log(t), spare), 0.0).sum(axis=1)  # eq. 16


def hard_threshold_critical_least(means: Any, fractions: Any, penalties: Any, rounds: Any) -> np.ndarray:
    """A lower bound on the penalized regret of `hard-threshold-ucb`, from critical arms (000 Theorem 6, eq. 17).

    Proved where rewards are constant, critical arms are alike and so are the non-critical ones; elsewhere it shows what
    order to expect. It speaks from the round on at which exploration takes less than half of all rounds.

    Args:
        means, fractions, penalties, rounds: as for `hard_threshold_regret`.

    Returns:
        `[R, J]`, float64; 0 where it says nothing.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> hard_threshold_critical_least([[0.7], [0.5]], [[0.01], [0.01]], [[0.4], [0.4]], [10000]).round(2).tolist()
        [[26.05]]
    """
    gap, tau, penalty_rate, t = _arguments(means, fractions, penalties, rounds)
    critical = (gap > 0) & (gap <= penalty_rate)
    away = np.where(critical, gap, np.maximum(gap - penalty_rate, 0.0))
    explored = np.where(gap > 0, 8 * over(np.log(t), away**2), 0.0).sum(axis=1, keepdims=True)
    # An arm owed more than log t / gap^2 rounds cannot have negative regret: its term is 0.
    terms = np.maximum(over(np.log(t), gap) - gap * tau * t, 0.0)
    return np.where(critical & (explored < t / 2), terms, 0.0).sum(axis=1)  # eq. 17


def penalized_regret_least(fractions: Any, penalties: Any, rounds: Any, sd: float = 1.0) -> np.ndarray:
    """What the penalized regret of any policy exceeds for some means, rewards being Gaussian (000 Theorem 7).

    (1 - sum tau) sd sqrt((K - 1) t / 2) / (8 e), in expectation, on one of two problems: a best arm at Delta and the
    others at 0, or one of these at 2 Delta, with Delta = sd sqrt((K - 1) / (2 t)).

    Args:
        fractions: tau, `[K, J]`, summing to less than 1.
        penalties: A, `[K, J]` or `[K, 1]`, above 0.
        rounds: t, `[R]`, whole numbers >= 1.
        sd: the standard deviation of rewards, in units of reward.

    Returns:
        `[R, J]`, float64; 0 while t is so small that Delta is not below 1/2 and all A.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> penalized_regret_least([[0.1], [0.1]], [[0.5], [0.5]], [10000]).round(2).tolist()
        [[2.6]]
    """
    tau = inputs.fractions(fractions, len(np.asarray(fractions)))
    penalty_rate = inputs.per_arm(penalties, len(tau), "penalties")
    t, spread = inputs.rounds(rounds)[:, None], inputs.number(sd, "sd")
    delta = spread * np.sqrt((len(tau) - 1) / (2 * t))  # App. F has C = 1/2; (2 Delta)^2 / (2 sd^2) a play makes it 2
    # Printed is 1 - 2 max tau, which leaves out what is owed to all other arms: with tau near 1/K every policy that
    # plays in turn has next to no regret. App. F with all arms gives 1 - sum tau; with two arms both agree.
    least = (1 - tau.sum(axis=0)) * delta * t / (8 * math.e)  # eq. 52
    return np.where((delta < 0.5) & (delta < penalty_rate.min(axis=0)), least, 0.0)


def _arguments(means: Any, fractions: Any, penalties: Any, rounds: Any) -> tuple[np.ndarray, ...]:
    """gap_k `[K, J]`, tau_k and A_k `[K, J or 1]`, and t `[R, 1, 1]`."""
    mu = inputs.means(means)
    tau = inputs.fractions(fractions, len(mu))
    penalty_rate = inputs.per_arm(penalties, len(mu), "penalties")
    return mu.max(axis=0) - mu, tau, penalty_rate, inputs.rounds(rounds)[:, None, None]
