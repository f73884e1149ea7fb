"""The plays paper: several plays per round, and arms that must get their fractions of the rounds.

Jin, Kim and Suh, "Fairness of exposure in stochastic multiple-play multi-armed bandits".

All bounds assume rewards in [0, 1], no delay and all arms always available. Regrets are in units of reward.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.core.errors import InputError
from jaxbandit.metrics.bounds import inputs


def fair_mmab_deficit(fractions: ArrayLike, plays: int) -> float:
    """Upper bound on the deficit tau_k t - N_k(t) of every arm in every round and run of `fair-mmab`, over any index.

    Source: plays paper, Theorems 3.4 and 4.1.

    Args:
        fractions: tau, `[K, J]`, each below L/K.
        plays: L, fewer than K.

    Returns:
        1 round: every arm always has at least floor(tau_k t) selections.

    Raises:
        InputError: a fraction is L/K or more, or L is not below K.

    Example:
        >>> jb.bounds.fair_mmab_deficit([[0.3], [0.5], [0.1]], plays=2)
        1.0
    """
    arms = len(np.asarray(fractions))
    _fractions_below(fractions, arms, inputs.plays(plays, arms) / arms, "L/K")
    return 1.0


def fair_mmab_ucb1_regret(means: ArrayLike, fractions: ArrayLike, plays: int) -> np.ndarray:
    """Upper bound on the expected c-regret of `fair-mmab` over `ucb1`, in any round.

    It holds for `exploration=2` and either `log_offset` (App. D has log(t-1), and its proof has room for log t).

    Source: plays paper, Theorem 3.5 and App. D. The proof compares the L-th best arm only with the next worse one. The
    next better one matters, too, since an arm that is short of its quota takes the place of the L-th best arm of the
    index. Therefore eps is half the smaller of the two gaps.

    Args:
        means: mu, `[K, J]`, from 0 to 1; K arms, J instances.
        fractions: tau, `[K, J]` or `[K, 1]`, above 0 and below 1/(K-L+1).
        plays: L, fewer than K.

    Returns:
        `[J]`, float64; it does not grow with the horizon. Infinite where the L-th best arm has the mean of another arm.

    Raises:
        InputError: an argument has another shape or is out of range.

    Example:
        >>> jb.bounds.fair_mmab_ucb1_regret([[0.9], [0.5], [0.1]], [[0.4], [0.4], [0.4]], plays=2).round().tolist()
        [12669.0]
    """
    mu, tau, play = _checked(means, fractions, plays)
    eps = _gap_beside_last(mu, play) / 2
    start = first_learned_round(tau.min(axis=0) * eps**2 / 32, 0.0, 2 / tau.min(axis=0))
    misranked = np.full((len(mu), *mu.shape), math.pi**2 / 3)  # phi, eq. 26
    return _constant_regret(mu, tau, play, start, misranked)


def fair_mmab_kl_ucb_regret(means: ArrayLike, fractions: ArrayLike, plays: int, a: float = 2.0) -> np.ndarray:
    """Upper bound on the expected c-regret of `fair-mmab` over `kl-ucb`, in any round.

    It holds for either log_offset (App. E has log(t-1), and its proof has room for log t).

    Source: plays paper, Theorem 3.6 and App. E, with eps on both sides of the L-th best arm, as in
    `fair_mmab_ucb1_regret`.

    Args:
        means: mu, `[K, J]`, from 0 to 1; K arms, J instances.
        fractions: tau, `[K, J]` or `[K, 1]`, above 0 and below 1/(K-L+1).
        plays: L, fewer than K.
        a: the index's weight of log log t, >= 0; 2 in the proof, 0 in the paper's experiments.

    Returns:
        `[J]`, float64; it does not grow with the horizon. Infinite where the L-th best arm has the mean of another arm.

    Raises:
        InputError: an argument has another shape or is out of range.

    Example:
        >>> jb.bounds.fair_mmab_kl_ucb_regret([[0.9], [0.5], [0.1]], [[0.4], [0.4], [0.4]], plays=2).round().tolist()
        [772.0]
    """
    mu, tau, play = _checked(means, fractions, plays)
    weight = inputs.number(a, "a")
    eps = _gap_beside_last(mu, play) / 4
    ranked = -np.sort(-mu, axis=0)[max(play - 2, 0) : play + 1]
    low, high = ranked[1:] + eps, ranked[:-1] - eps  # of the L-th best arm and those beside it
    separated = bernoulli_divergence(np.where(eps > 0, low, 0.5), np.where(eps > 0, high, 0.5)).min(axis=0)
    least = np.where(eps > 0, separated, 0.0)
    start = first_learned_round(tau.min(axis=0) * least / 4, weight, 2 / tau.min(axis=0))
    tail = _tail_sum(tau, eps, start)
    # H keeps the factor exp(-2 s eps^2), which App. E integrates away, so that the sum is finite for every a.
    late = tail / (start * np.log(start) ** weight)
    misranked = tail[None] + late[:, None]  # G2 of arm j (second axis) and H of arm i
    return _constant_regret(mu, tau, play, start, np.broadcast_to(misranked, (len(mu), *mu.shape)))


def first_learned_round(level: ArrayLike, a: float, least: ArrayLike) -> np.ndarray:
    """T_0, the first round from which on log(t log(t)^a) <= level t; at least `least` and exp(1 + a).

    Source: plays paper, App. D and E.

    Args:
        level: `[J]`, >= 0.
        a: >= 0.
        least: `[J]`, above e.

    Returns:
        `[J]`, float64, whole numbers; infinite where level is 0.

    Example:
        >>> first_learned_round([0.02, 0.0], 0.0, 4.5).tolist()
        [283.0, inf]
    """
    level, least = np.broadcast_arrays(np.asarray(level, np.float64), np.asarray(least, np.float64))

    def above(u: np.ndarray) -> np.ndarray:  # u = log t
        return u + a * np.log(u) > level * np.exp(u)

    start = np.maximum(least, np.exp(1.0 + a))  # from here on log(t log(t)^a) / t falls
    low = np.log(start)
    at_start = ~above(low)
    high = np.full_like(low, 600.0)
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = np.where(above(middle), middle, low), np.where(above(middle), high, middle)
    later = np.where(above(high), np.inf, np.ceil(np.exp(high)))
    return np.where(at_start, np.ceil(start), later)


def bernoulli_divergence(p: ArrayLike, q: ArrayLike) -> np.ndarray:
    """The Kullback-Leibler divergence d(p, q) = p log(p/q) + (1-p) log((1-p)/(1-q)) of two Bernoulli distributions.

    Source: plays paper, sec. 3.2.

    Args:
        p: from 0 to 1.
        q: above 0 and below 1, broadcasting with p.

    Example:
        >>> bernoulli_divergence([0.5, 0.0], 0.25).round(3).tolist()
        [0.144, 0.288]
    """
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    one, none = np.where(p > 0, p, 1.0), np.where(p < 1, 1 - p, 1.0)
    return p * np.log(one / q) + (1 - p) * np.log(none / (1 - q))


def _tail_sum(tau: np.ndarray, eps: np.ndarray, start: np.ndarray) -> np.ndarray:
    """A bound on the sum of exp(-2 s eps^2) over t >= T_0 and s >= floor(tau_k t), `[K, J]`.

    App. E has 1 / (4 eps^2 tau_k): it loses a factor eps^2 on the way, takes 1 - exp(-x) for x, and floor(tau t) for
    tau (t-1). Here both geometric series are summed, with floor(tau t) > tau t - 1.
    """
    x = 2 * np.where(eps > 0, eps, 1.0) ** 2
    return np.exp(x * (1 - tau * start)) / (np.expm1(-x) * np.expm1(-x * tau))


def _gap_beside_last(mu: np.ndarray, plays: int) -> np.ndarray:
    """The smallest gap between the L-th best mean and the one above or below it, `[J]`."""
    ranked = -np.sort(-mu, axis=0)
    below = ranked[plays - 1] - ranked[plays]
    return np.minimum(below, ranked[plays - 2] - ranked[plays - 1]) if plays > 1 else below


def _constant_regret(
    mu: np.ndarray, tau: np.ndarray, plays: int, start: np.ndarray, misranked: np.ndarray
) -> np.ndarray:
    """Eq. 22, `[J]`, for T_0 `[J]` and phi_ij `[K, K, J]`: the chances, summed over t > T_0, that j ranks above i."""
    last = -np.sort(-mu, axis=0)[plays - 1]
    better, worse = mu > last, mu < last
    finite = np.isfinite(start)
    begin = np.where(finite, start, 0.0)
    order = np.argsort(-mu, axis=0, kind="stable").argsort(axis=0, kind="stable")
    # The L best arms; and the L-th best, which can take the place of a better one, with those below
    best, from_last = (order < plays)[:, None], (order >= plays - 1)[None]
    missed = begin + np.where(from_last, misranked, 0.0).sum(axis=1)  # A_1
    wasted = (1 - tau) * begin + np.where(best, misranked, 0.0).sum(axis=0) + 2  # A_2
    total = np.where(better, (mu - last) * missed, 0.0) + np.where(worse, (last - mu) * wasted, 0.0)
    return np.where(finite, total.sum(axis=0), np.inf)


def _checked(means: ArrayLike, fractions: ArrayLike, plays: int) -> tuple[np.ndarray, np.ndarray, int]:
    mu = inputs.means(means)
    play = inputs.plays(plays, len(mu))
    tau = _fractions_below(fractions, len(mu), 1 / (len(mu) - play + 1), "1/(K-L+1)")
    if np.any(tau == 0):
        raise InputError("fractions", tau.T.tolist(), "numbers above 0 (plays paper, Theorems 3.5 and 3.6)")
    return mu, np.broadcast_to(tau, mu.shape), play


def _fractions_below(fractions: ArrayLike, arms: int, limit: float, name: str) -> np.ndarray:
    tau = inputs.per_arm(fractions, arms, "fractions", high=1.0)
    if np.any(tau >= limit):
        raise InputError("fractions", tau.T.tolist(), f"numbers below {name} = {limit:.6g}")
    return tau
