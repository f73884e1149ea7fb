"""What the theorems of the opportunities paper say of the problems of its section 5, in closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.environment.opportunities import Linear, Softmax

MEANS = 0.2 + 0.15 * np.arange(6)  # of sec. 5
ARMS = len(MEANS)
GAPS = MEANS.max() - MEANS
LIPSCHITZ = {"linear": Linear().lipschitz(ARMS), "softmax": Softmax().lipschitz(ARMS)}


def beta(horizon: ArrayLike) -> np.ndarray:
    """The accuracy of the gaps in Theorem 2, T^(-1/3) log(T)^(1/3)."""
    t = np.asarray(horizon, np.float64)
    return np.asarray((np.log(t) / t) ** (1 / 3))


def radius(horizon: ArrayLike, pulls: ArrayLike) -> np.ndarray:
    """The half width of the confidence interval of a gap in Algorithm 4, 2 sqrt(2 log T / N)."""
    return np.asarray(2 * np.sqrt(2 * np.log(np.asarray(horizon, np.float64)) / np.asarray(pulls, np.float64)))


def pulls_of_phase_1(horizon: ArrayLike, distance: float) -> np.ndarray:
    """The pulls per arm after which Algorithm 2 ends phase 1, where estimated means are exact.

    Args:
        horizon: T.
        distance: that of the transfer cost from the gap that is closest to it.
    """
    t = np.asarray(horizon, np.float64)
    return np.asarray(8 * np.log(t) / (distance + beta(t)) ** 2)


def printed_rate_of_theorem_1(f: str, horizon: int) -> float:
    """K L^(2/3) T^(2/3) log(T)^(1/3) as Theorem 1 prints it, for a fairness function of sec. 5."""
    return float(ARMS * LIPSCHITZ[f] ** (2 / 3) * horizon * beta(horizon))


def exploration_of_algorithm_1(f: str, horizon: int) -> float:
    """The rounds in which Algorithm 1 plays all arms in turn, K N with the N of Theorem 1, for a function of sec. 5."""
    return 8.0 * printed_rate_of_theorem_1(f, horizon)


def printed_rate_of_theorem_2(arms: int, lipschitz: float, horizon: ArrayLike) -> np.ndarray:
    """K^(5/3) L^(2/3) T^(2/3) log(T)^(1/3) as Theorem 2 prints it."""
    return np.asarray(arms ** (5 / 3) * lipschitz ** (2 / 3) * np.asarray(horizon, np.float64) * beta(horizon))
