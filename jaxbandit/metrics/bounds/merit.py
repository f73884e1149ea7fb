"""Paper 002: selection in proportion to merit under delayed feedback: rates of the reward and the fairness regret.

The theorems hide constants and powers of log T: what is computed is their rate, minimised over the quantile q exactly,
times a `constant`. With d(q) the least delay within which a share q of the rewards of every arm arrive, the best q for
a delay of d rounds is the share that arrives within d; delays up to the last round asked for are gone through, as
longer ones only give bounds above the L t that t rounds can lose. Infinite where nothing arrives by then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.environment.delays import Delay, RewardDependent
from jaxbandit.environment.merit import Merit
from jaxbandit.metrics.bounds import inputs

_POINTS = 4097  # of [0, 1] at which a merit function is looked at
_BLOCK = 4096  # delays whose shares are computed together


def merit_reward_regret(delay: Delay, means: Any, plays: int, rounds: Any, constant: float = 1.0) -> np.ndarray:
    """The rate of the expected reward regret of `fcucb-d` and `fcts-d` (002 Theorems 6, 7): K/q sqrt(t) + L d(q).

    Delays must not depend on rewards; `fcts-d` is covered in the mean over means drawn evenly from [0, 1].

    Args:
        delay: as `jb.Problem` holds it in `delay`.
        means: mu, `[K, J]`, from 0 to 1: K arms, J instances.
        plays: L, at most K.
        rounds: t, `[R]`, whole numbers >= 1.
        constant: what the theorem hides.

    Returns:
        `[R, J]`, float64, in units of reward.

    Raises:
        InputError: arguments of another shape or range, or a delay that depends on the reward.

    Example:
        >>> problem = jb.Problem([0.9, 0.5, 0.2], plays=2, delay={"kind": "fixed", "d": 50})
        >>> merit_reward_regret(problem.delay, problem.means, problem.plays, [10000]).tolist()
        [[400.0]]
    """
    if isinstance(delay, RewardDependent):
        raise InputError("delay", delay.name, "a delay that does not depend on the reward (002 Theorems 6 and 7)")

    def cost(q: np.ndarray, d: np.ndarray, t: float, arms: int) -> np.ndarray:
        return arms / q * np.sqrt(t) + plays * d  # 002 eq. 32

    return _least(cost, delay, means, plays, rounds, constant)


def merit_fairness_regret(
    delay: Delay, merit: Merit, means: Any, plays: int, rounds: Any, constant: float = 1.0
) -> np.ndarray:
    """The rate of the expected fairness regret of `fcucb-d` and `fcts-d` (002 Theorems 6, 7).

    M L / lambda times that of the reward regret, lambda the least merit and M the steepest slope of f.

    Args:
        merit: f.
        delay, means, plays, rounds, constant: as for `merit_reward_regret`.

    Returns:
        `[R, J]`, float64, in selections.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> problem = jb.Problem([0.9, 0.5, 0.2], merit={"kind": "power", "scale": 2, "exponent": 4})
        >>> merit_fairness_regret(problem.delay, problem.merit, problem.means, 1, [10000]).round(6).tolist()
        [[2400.0]]
    """
    least, slope = steepness(merit)
    return slope * plays / least * merit_reward_regret(delay, means, plays, rounds, constant)  # 002 eq. 36


def biased_reward_regret(delay: Delay, means: Any, plays: int, rounds: Any, constant: float = 1.0) -> np.ndarray:
    """The rate of the expected reward regret of `op-fcucb-d` (002 Theorem 8): L (1-q) t + K d(q) sqrt(t).

    Delays may depend on rewards. A d of 0 counts as 1.

    Args:
        delay, means, plays, rounds, constant: as for `merit_reward_regret`.

    Returns:
        `[R, J]`, float64, in units of reward.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> problem = jb.Problem([0.9, 0.5, 0.2], plays=2, delay={"kind": "packet-loss", "p": 0.75})
        >>> biased_reward_regret(problem.delay, problem.means, problem.plays, [10000]).tolist()
        [[5300.0]]
    """

    def cost(q: np.ndarray, d: np.ndarray, t: float, arms: int) -> np.ndarray:
        return plays * (1 - q) * t + arms * _whole(d) * np.sqrt(t)  # 002 Theorem 8

    return _least(cost, delay, means, plays, rounds, constant)


def biased_fairness_regret(
    delay: Delay, merit: Merit, means: Any, plays: int, rounds: Any, constant: float = 1.0
) -> np.ndarray:
    """The rate of the expected fairness regret of `op-fcucb-d` (002 Theorem 8).

    M L K / lambda ((1-q) t + d(q) sqrt(t)), lambda the least merit and M the steepest slope of f. Delays may depend on
    rewards. A d of 0 counts as 1.

    Args:
        merit: f.
        delay, means, plays, rounds, constant: as for `merit_reward_regret`.

    Returns:
        `[R, J]`, float64, in selections.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> problem = jb.Problem([0.9, 0.5, 0.2], merit={"kind": "power", "scale": 2, "exponent": 4})
        >>> biased_fairness_regret(problem.delay, problem.merit, problem.means, 1, [10000]).round(6).tolist()
        [[2400.0]]
    """

    def cost(q: np.ndarray, d: np.ndarray, t: float, arms: int) -> np.ndarray:
        return arms * ((1 - q) * t + _whole(d) * np.sqrt(t))  # 002 Theorem 8

    least, slope = steepness(merit)
    return slope * plays / least * _least(cost, delay, means, plays, rounds, constant)


def biased_thompson_regret(
    delay: Delay, merit: Merit, means: Any, plays: int, rounds: Any, constant: float = 1.0
) -> np.ndarray:
    """The rate of both regrets of `op-fcts-d`: M L K / lambda ((1-q) t + d(q)/q sqrt(t)) (002 Theorem 9).

    In the mean over means drawn evenly from [0, 1]; rewards are Bernoulli, and delays may depend on them. A d of 0
    counts as 1.

    Args:
        merit: f.
        delay, means, plays, rounds, constant: as for `merit_reward_regret`.

    Returns:
        `[R, J]`, float64, in selections for the fairness regret, in units of reward for the other.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> problem = jb.Problem([0.9, 0.5, 0.2], merit={"kind": "power", "scale": 2, "exponent": 4})
        >>> biased_thompson_regret(problem.delay, problem.merit, problem.means, 1, [10000]).round(6).tolist()
        [[2400.0]]
    """

    def cost(q: np.ndarray, d: np.ndarray, t: float, arms: int) -> np.ndarray:
        return arms * ((1 - q) * t + _whole(d) / q * np.sqrt(t))  # 002 Theorem 9

    least, slope = steepness(merit)
    return slope * plays / least * _least(cost, delay, means, plays, rounds, constant)


def steepness(merit: Merit) -> tuple[float, float]:
    """The least merit lambda and the steepest slope M of f over [0, 1] (002 Assumptions 1 and 2), from 4097 points.

    Example:
        >>> steepness(jb.Merit.from_spec({"kind": "power", "scale": 2.0, "exponent": 4.0}, "merit"))
        (1.0, 8.0)
    """
    with jax.enable_x64(True):
        x = jnp.linspace(0.0, 1.0, _POINTS, dtype=jnp.float64)
        values, slopes = (np.asarray(part) for part in jax.jvp(merit.value, (x,), (jnp.ones_like(x),)))
    between = np.abs(np.diff(values)) * (_POINTS - 1)  # steps that a derivative does not see
    return float(values.min()), float(max(np.abs(slopes).max(), between.max()))


def _whole(d: np.ndarray) -> np.ndarray:
    """d(q), at least 1: a factor d(q) = 0 would bound the regret without delay by 0, and App. A adds log T to it."""
    return np.maximum(d, 1)


def _least(
    cost: Callable[..., np.ndarray], delay: Delay, means: Any, plays: int, rounds: Any, constant: float
) -> np.ndarray:
    """The least cost(q, d, t, K) over quantiles q and their delays d, times the constant, `[R, J]`."""
    mu, t = inputs.means(means), inputs.rounds(rounds)
    scale = inputs.number(constant, "constant")
    if plays != len(mu):
        inputs.plays(plays, len(mu))
    delays = np.arange(int(t.max()) + 1)
    parts = np.array_split(delays, len(delays) // _BLOCK + 1)
    shares = np.concatenate([_slowest(delay.cdf(part, mu), mu) for part in parts])
    least = np.full((len(t), mu.shape[1]), np.inf)
    for j, share in enumerate(shares.T):
        shortest = np.flatnonzero(np.diff(share, prepend=0.0) > 0)  # of each quantile; equal to its delay
        for r, s in enumerate(t):
            within = shortest[shortest <= s]
            if len(within):
                least[r, j] = cost(share[within], within, s, len(mu)).min()
    return scale * least


def _slowest(shares: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """The least share over arms, `[n, J]`, of shares `[n, K or 1, J or 1]`."""
    return np.broadcast_to(shares.min(axis=1), (len(shares), mu.shape[1]))
