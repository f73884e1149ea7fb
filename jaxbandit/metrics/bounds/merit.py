"""The merit paper: selection in proportion to merit under delayed feedback; rates of the reward and fairness regrets.

Chen, Cai, Chen, Zhang and Lui, "Merit-based fair combinatorial semi-bandit with unrestricted feedback delays".

The theorems hide constants and powers of log T. The functions compute their rates, minimised over the quantile q, times
a `constant`. d(q) is the smallest delay within which a share q of the rewards of every arm arrives. The best q for a
delay of d rounds is the share that arrives within d, so the minimum over q is taken over all delays up to the last
round asked for: longer delays give bounds above L t, the most that t rounds can lose. A bound is infinite where
no reward arrives by then.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.core.errors import InputError
from jaxbandit.core.users_code import contracts
from jaxbandit.environment.delays import Delay, RewardDependent
from jaxbandit.environment.merit import Merit
from jaxbandit.metrics.bounds import inputs

_POINTS = 4097  # of [0, 1] at which a merit function is evaluated
_BLOCK = 4096  # delays whose shares are computed together


def merit_reward_regret(
    delay: Delay, means: ArrayLike, plays: int, rounds: ArrayLike, constant: float = 1.0
) -> np.ndarray:
    """Rate of the expected reward regret of `fcucb-d` and `fcts-d`: min over q of K/q sqrt(t) + L d(q).

    d(q) is the smallest delay within which a share q of the rewards of every arm arrives. Delays must not depend on
    rewards. For `fcts-d` the bound is on the average over means that are uniform on [0, 1].

    Source: merit paper, Theorems 6 and 7.

    Args:
        delay: as `jb.Problem` holds it in `delay`.
        means: mu, `[K, J]`, from 0 to 1; K arms, J instances.
        plays: L, at most K.
        rounds: t, `[R]`, whole numbers >= 1.
        constant: the constant that the theorem hides.

    Returns:
        `[R, J]`, float64, in units of reward.

    Raises:
        InputError: an argument has another shape or is out of range, or the delay depends on the reward.

    Example:
        >>> problem = jb.Problem([0.9, 0.5, 0.2], plays=2, delay={"kind": "fixed", "d": 50})
        >>> jb.bounds.merit_reward_regret(problem.delay, problem.means, problem.plays, [10000]).tolist()
        [[400.0]]
    """
    if isinstance(delay, RewardDependent):
        words = "a delay that does not depend on the reward (merit paper, Theorems 6 and 7)"
        raise InputError("delay", delay.name, words)

    def cost(q: np.ndarray, d: np.ndarray, t: float, arms: int) -> np.ndarray:
        return arms / q * np.sqrt(t) + plays * d  # eq. 32

    return _minimum_over_quantiles(cost, delay, means, plays, rounds, constant)


def merit_fairness_regret(
    delay: Delay, merit: Merit, means: ArrayLike, plays: int, rounds: ArrayLike, constant: float = 1.0
) -> np.ndarray:
    """Rate of the expected fairness regret of `fcucb-d` and `fcts-d`: M L / lambda times `merit_reward_regret`.

    lambda is the smallest merit and M the steepest slope of the merit function (`merit_constants`).

    Source: merit paper, Theorems 6 and 7.

    Args:
        delay: as `jb.Problem` holds it in `delay`; it must not depend on rewards.
        merit: the merit function f.
        means: mu, `[K, J]`, from 0 to 1; K arms, J instances.
        plays: L, at most K.
        rounds: t, `[R]`, whole numbers >= 1.
        constant: the constant that the theorem hides.

    Returns:
        `[R, J]`, float64, in selections.

    Raises:
        InputError: an argument has another shape or is out of range, or the delay depends on the reward.

    Example:
        >>> problem = jb.Problem([0.9, 0.5, 0.2], merit={"kind": "power", "scale": 2, "exponent": 4})
        >>> jb.bounds.merit_fairness_regret(problem.delay, problem.merit, problem.means, 1, [10000]).round(6).tolist()
        [[2400.0]]
    """
    least, slope = merit_constants(merit)
    return slope * plays / least * merit_reward_regret(delay, means, plays, rounds, constant)  # eq. 36


def op_fcucb_d_reward_regret(
    delay: Delay, means: ArrayLike, plays: int, rounds: ArrayLike, constant: float = 1.0
) -> np.ndarray:
    """Rate of the expected reward regret of `op-fcucb-d`: min over q of L (1-q) t + K d(q) sqrt(t).

    d(q) is the smallest delay within which a share q of the rewards of every arm arrives; 0 counts as 1. Delays may
    depend on rewards.

    Source: merit paper, Theorem 8.

    Args:
        delay: as `jb.Problem` holds it in `delay`.
        means: mu, `[K, J]`, from 0 to 1; K arms, J instances.
        plays: L, at most K.
        rounds: t, `[R]`, whole numbers >= 1.
        constant: the constant that the theorem hides.

    Returns:
        `[R, J]`, float64, in units of reward.

    Raises:
        InputError: an argument has another shape or is out of range.

    Example:
        >>> problem = jb.Problem([0.9, 0.5, 0.2], plays=2, delay={"kind": "packet-loss", "p": 0.75})
        >>> jb.bounds.op_fcucb_d_reward_regret(problem.delay, problem.means, problem.plays, [10000]).tolist()
        [[5300.0]]
    """

    def cost(q: np.ndarray, d: np.ndarray, t: float, arms: int) -> np.ndarray:
        return plays * (1 - q) * t + arms * _at_least_one(d) * np.sqrt(t)  # Theorem 8

    return _minimum_over_quantiles(cost, delay, means, plays, rounds, constant)


def op_fcucb_d_fairness_regret(
    delay: Delay, merit: Merit, means: ArrayLike, plays: int, rounds: ArrayLike, constant: float = 1.0
) -> np.ndarray:
    """Rate of the expected fairness regret of `op-fcucb-d`: min over q of M L K / lambda ((1-q) t + d(q) sqrt(t)).

    lambda is the smallest merit and M the steepest slope of the merit function (`merit_constants`). d(q) is the
    smallest delay within which a share q of the rewards of every arm arrives; 0 counts as 1. Delays may depend on
    rewards.

    Source: merit paper, Theorem 8.

    Args:
        delay: as `jb.Problem` holds it in `delay`.
        merit: the merit function f.
        means: mu, `[K, J]`, from 0 to 1; K arms, J instances.
        plays: L, at most K.
        rounds: t, `[R]`, whole numbers >= 1.
        constant: the constant that the theorem hides.

    Returns:
        `[R, J]`, float64, in selections.

    Raises:
        InputError: an argument has another shape or is out of range.

    Example:
        >>> problem = jb.Problem([0.9, 0.5, 0.2], merit={"kind": "power", "scale": 2, "exponent": 4})
        >>> given = problem.delay, problem.merit, problem.means
        >>> jb.bounds.op_fcucb_d_fairness_regret(*given, 1, [10000]).round(6).tolist()
        [[2400.0]]
    """

    def cost(q: np.ndarray, d: np.ndarray, t: float, arms: int) -> np.ndarray:
        return arms * ((1 - q) * t + _at_least_one(d) * np.sqrt(t))  # Theorem 8

    least, slope = merit_constants(merit)
    return slope * plays / least * _minimum_over_quantiles(cost, delay, means, plays, rounds, constant)


def op_fcts_d_regret(
    delay: Delay, merit: Merit, means: ArrayLike, plays: int, rounds: ArrayLike, constant: float = 1.0
) -> np.ndarray:
    """Rate of both regrets of `op-fcts-d`: min over q of M L K / lambda ((1-q) t + d(q)/q sqrt(t)).

    The bound is on the average over means that are uniform on [0, 1]. lambda is the smallest merit and M the steepest
    slope of the merit function (`merit_constants`). d(q) is the smallest delay within which a share q of the rewards of
    every arm arrives; 0 counts as 1. Rewards are Bernoulli, and delays may depend on them.

    Source: merit paper, Theorem 9.

    Args:
        delay: as `jb.Problem` holds it in `delay`.
        merit: the merit function f.
        means: mu, `[K, J]`, from 0 to 1; K arms, J instances.
        plays: L, at most K.
        rounds: t, `[R]`, whole numbers >= 1.
        constant: the constant that the theorem hides.

    Returns:
        `[R, J]`, float64; in selections for the fairness regret, in units of reward for the reward regret.

    Raises:
        InputError: an argument has another shape or is out of range.

    Example:
        >>> problem = jb.Problem([0.9, 0.5, 0.2], merit={"kind": "power", "scale": 2, "exponent": 4})
        >>> jb.bounds.op_fcts_d_regret(problem.delay, problem.merit, problem.means, 1, [10000]).round(6).tolist()
        [[2400.0]]
    """

    def cost(q: np.ndarray, d: np.ndarray, t: float, arms: int) -> np.ndarray:
        return arms * ((1 - q) * t + _at_least_one(d) / q * np.sqrt(t))  # Theorem 9

    least, slope = merit_constants(merit)
    return slope * plays / least * _minimum_over_quantiles(cost, delay, means, plays, rounds, constant)


def merit_constants(merit: Merit) -> tuple[float, float]:
    """The smallest merit lambda and the steepest slope M of a merit function over [0, 1], from 4097 points.

    Source: merit paper, Assumptions 1 and 2.

    Args:
        merit: the merit function f.

    Returns:
        lambda and M.

    Example:
        >>> jb.bounds.merit_constants(jb.Merit.from_spec({"kind": "power", "scale": 2.0, "exponent": 4.0}, "merit"))
        (1.0, 8.0)
    """
    with jax.enable_x64(True):
        x = jnp.linspace(0.0, 1.0, _POINTS, dtype=jnp.float64)
        values, slopes = (np.asarray(part) for part in jax.jvp(merit.value, (x,), (jnp.ones_like(x),)))
    between = np.abs(np.diff(values)) * (_POINTS - 1)  # jumps, which a derivative does not show
    return float(values.min()), float(max(np.abs(slopes).max(), between.max()))


def _at_least_one(d: np.ndarray) -> np.ndarray:
    """d(q), at least 1. With a factor of 0 the regret without delay would be bounded by 0; App. A adds log T."""
    return np.maximum(d, 1)


def _minimum_over_quantiles(
    cost: Callable[[np.ndarray, np.ndarray, float, int], np.ndarray],
    delay: Delay,
    means: ArrayLike,
    plays: int,
    rounds: ArrayLike,
    constant: float,
) -> np.ndarray:
    """The smallest cost(q, d(q), t, K) over quantiles q, times the constant, `[R, J]`."""
    mu, t = inputs.means(means), inputs.rounds(rounds)
    scale = inputs.number(constant, "constant")
    if plays != len(mu):
        inputs.plays(plays, len(mu))
    delays = np.arange(int(t.max()) + 1)
    parts = np.array_split(delays, len(delays) // _BLOCK + 1)
    own = "cdf" in contracts.latest_of(type(delay), "draw", "cdf")  # an inherited one is of another `draw`
    cdf = delay.cdf if own else functools.partial(Delay.cdf, delay)
    shares = np.concatenate([_smallest_share(cdf(part, mu), mu) for part in parts])
    least = np.full((len(t), mu.shape[1]), np.inf)
    for j, share in enumerate(shares.T):
        shortest = np.flatnonzero(np.diff(share, prepend=0.0) > 0)  # the shortest delay of each quantile
        for r, s in enumerate(t):
            arrived = shortest[shortest <= s]
            if len(arrived):
                least[r, j] = cost(share[arrived], arrived, s, len(mu)).min()
    return scale * least


def _smallest_share(shares: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """The smallest share over arms, `[n, J]`, of shares `[n, K or 1, J or 1]`."""
    return np.broadcast_to(shares.min(axis=1), (len(shares), mu.shape[1]))
