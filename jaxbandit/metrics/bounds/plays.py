"""Paper 003: several plays a round, and arms that are owed a fraction of the rounds.

All under rewards in [0, 1], no delay and every arm always there. Regrets are in units of reward.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.metrics.bounds import inputs


def fair_mmab_deficit(fractions: Any, plays: int) -> float:
    """What tau_k t - N_k(t) stays below for all arms, rounds and runs of `fair-mmab` (003 Theorems 3.4 and 4.1).

    Args:
        fractions: tau, `[K, J]`, each below L/K; the index may be any.
        plays: L, fewer than K.

    Returns:
        1, rounds: arm k has had floor(tau_k t) of t rounds.

    Raises:
        InputError: a fraction of L/K or more, or L plays of L arms.

    Example:
        >>> fair_mmab_deficit([[0.3], [0.5], [0.1]], plays=2)
        1.0
    """
    arms = len(np.asarray(fractions))
    _below(fractions, arms, inputs.plays(plays, arms) / arms, "L/K")
    return 1.0


def fair_mmab_ucb1_regret(means: Any, fractions: Any, plays: int) -> np.ndarray:
    """An upper bound on the expected c-regret of `fair-mmab` over `ucb1` in any round (003 Theorem 3.5, App. D).

    For x = 2 and either log_offset (App. D has log(t-1), and room for log t).

    Args:
        means: mu, `[K, J]`, from 0 to 1: K arms, J instances.
        fractions: tau, `[K, J]` or `[K, 1]`, above 0 and below 1/(K-L+1).
        plays: L, fewer than K.

    Returns:
        `[J]`, float64: it does not grow with the horizon. Infinite where the L-th best arm has the mean of another.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> fair_mmab_ucb1_regret([[0.9], [0.5], [0.1]], [[0.4], [0.4], [0.4]], plays=2).round().tolist()
        [12669.0]
    """
    mu, tau, play = _arguments(means, fractions, plays)
    # eps is at most half the gap on both sides of the L-th best arm. App. D takes the lower side alone: it has an arm
    # among the L best always selected, but an arm that is owed rounds takes the place of the L-th, which may be it.
    eps = _apart(mu, play) / 2
    start = settled(tau.min(axis=0) * eps**2 / 32, 0.0, 2 / tau.min(axis=0))
    chance = np.full((len(mu), *mu.shape), math.pi**2 / 3)  # phi, eq. 26
    return _constant_regret(mu, tau, play, start, chance)


def fair_mmab_kl_ucb_regret(means: Any, fractions: Any, plays: int, a: float = 2.0) -> np.ndarray:
    """An upper bound on the expected c-regret of `fair-mmab` over `kl-ucb` in any round (003 Theorem 3.6, App. E).

    For either log_offset (App. E has log(t-1), and room for log t).

    Args:
        means, fractions, plays: as for `fair_mmab_ucb1_regret`.
        a: the index's weight of log log t, >= 0; 2 in the proof, 0 in the paper's experiments.

    Returns:
        `[J]`, float64: it does not grow with the horizon. Infinite where the L-th best arm has the mean of another.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> fair_mmab_kl_ucb_regret([[0.9], [0.5], [0.1]], [[0.4], [0.4], [0.4]], plays=2).round().tolist()
        [772.0]
    """
    mu, tau, play = _arguments(means, fractions, plays)
    weight = inputs.number(a, "a")
    eps = _apart(mu, play) / 4  # both sides of the L-th best arm, as for ucb1
    ranked = -np.sort(-mu, axis=0)[max(play - 2, 0) : play + 1]
    low, high = ranked[1:] + eps, ranked[:-1] - eps  # of the L-th best arm and those beside it
    least = np.where(eps > 0, divergence(np.where(eps > 0, low, 0.5), np.where(eps > 0, high, 0.5)).min(axis=0), 0.0)
    start = settled(tau.min(axis=0) * least / 4, weight, 2 / tau.min(axis=0))
    tail = _tail(tau, eps, start)
    # H keeps the factor exp(-2 s eps^2) that App. E integrates away, and so is summable for every a.
    late = tail / (start * np.log(start) ** weight)
    chance = tail[None] + late[:, None]  # of G2 for arm j (second axis) and H for arm i
    return _constant_regret(mu, tau, play, start, np.broadcast_to(chance, (len(mu), *mu.shape)))


def settled(level: Any, a: float, least: Any) -> np.ndarray:
    """T_0: the first round from which on log(t log(t)^a) <= level t (App. D and E), at least `least` and exp(1 + a).

    Args:
        level: `[J]`, >= 0.
        a: >= 0.
        least: `[J]`, above e.

    Returns:
        `[J]`, float64, whole numbers; infinite where level is 0.
    """
    level, least = np.broadcast_arrays(np.asarray(level, np.float64), np.asarray(least, np.float64))

    def above(u: np.ndarray) -> np.ndarray:  # u = log t
        return u + a * np.log(u) > level * np.exp(u)

    low = np.maximum(np.log(least), 1.0 + a)  # from here on log(t log(t)^a) / t falls
    high = np.full_like(low, 600.0)
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = np.where(above(middle), middle, low), np.where(above(middle), high, middle)
    return np.where(above(high), np.inf, np.ceil(np.exp(high)))


def divergence(p: Any, q: Any) -> np.ndarray:
    """d(p, q) = p log(p/q) + (1-p) log((1-p)/(1-q)), the Bernoulli divergence (003 sec. 3.2), for q in (0, 1)."""
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    one, none = np.where(p > 0, p, 1.0), np.where(p < 1, 1 - p, 1.0)
    return p * np.log(one / q) + (1 - p) * np.log(none / (1 - q))


def _tail(tau: np.ndarray, eps: np.ndarray, start: np.ndarray) -> np.ndarray:
    """A bound on the sum of exp(-2 s eps^2) over t >= T_0 and s >= floor(tau_k t), `[K, J]`.

    App. E has 1 / (4 eps^2 tau_k), which loses a factor eps^2 on the way, takes 1 - exp(-x) for x, and floor(tau t) for
    tau (t-1); here both geometric series are summed, with floor(tau t) > tau t - 1.
    """
    x = 2 * np.where(eps > 0, eps, 1.0) ** 2
    return np.exp(x * (1 - tau * start)) / (np.expm1(-x) * np.expm1(-x * tau))


def _apart(mu: np.ndarray, plays: int) -> np.ndarray:
    """The least gap between the L-th best mean and one beside it, `[J]`."""
    ranked = -np.sort(-mu, axis=0)
    below = ranked[plays - 1] - ranked[plays]
    return np.minimum(below, ranked[plays - 2] - ranked[plays - 1]) if plays > 1 else below


def _constant_regret(mu: np.ndarray, tau: np.ndarray, plays: int, start: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """eq. 22, `[J]`, for T_0 `[J]` and phi_ij `[K, K, J]` (arm j ranked above arm i, summed over rounds after T_0)."""
    last = -np.sort(-mu, axis=0)[plays - 1]
    better, worse = mu > last, mu < last
    finite = np.isfinite(start)
    begin = np.where(finite, start, 0.0)
    order = np.argsort(-mu, axis=0, kind="stable").argsort(axis=0, kind="stable")
    top, rest = (order < plays)[:, None], (order >= plays - 1)[None]  # the L best; the L-th best and those below
    missed = begin + np.where(rest, chance, 0.0).sum(axis=1)  # A_1: the L-th best can take an arm's place, too
    wasted = (1 - tau) * begin + np.where(top, chance, 0.0).sum(axis=0) + 2  # A_2
    total = np.where(better, (mu - last) * missed, 0.0) + np.where(worse, (last - mu) * wasted, 0.0)
    return np.where(finite, total.sum(axis=0), np.inf)


def _arguments(means: Any, fractions: Any, plays: int) -> tuple[np.ndarray, np.ndarray, int]:
    mu = inputs.means(means)
    play = inputs.plays(plays, len(mu))
    tau = _below(fractions, len(mu), 1 / (len(mu) - play + 1), "1/(K-L+1)")
    if np.any(tau == 0):
        raise InputError("fractions", tau.T.tolist(), "numbers above 0 (003 Theorems 3.5 and 3.6)")
    return mu, np.broadcast_to(tau, mu.shape), play


def _below(fractions: Any, arms: int, bound: float, name: str) -> np.ndarray:
    tau = inputs.per_arm(fractions, arms, "fractions", high=1.0)
    if np.any(tau >= bound):
        raise InputError("fractions", tau.T.tolist(), f"numbers below {name} = {bound:.6g}")
    return tau
