"""The opportunities paper: the utility regret of policies that weigh opportunities against their transfer costs.

Ron, Ben-Porat and Shalit, "Corporate social responsibility via multi-armed bandits".

All bounds assume rewards in [0, 1], one play per round, no delay, and all arms always available. The theorems hide
constants: the functions compute their rates, times a `constant`. The policies plan for the horizon T, so a bound holds
at round T only. Regrets are in units of reward.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.core.errors import InputError
from jaxbandit.metrics.bounds import inputs


def etc_utility_regret(arms: int, lipschitz: float, horizons: ArrayLike, constant: float = 1.0) -> np.ndarray:
    """Rate of the utility regret of `fairness-aware-etc`: (K L^(2/3) + L^(-1/3)) T^(2/3) log(T)^(1/3).

    The policy explores with N = 8 (L T)^(2/3) log(T)^(1/3) plays of each arm. log(T) counts as at least 1.

    Source: opportunities paper, Theorem 1. The paper prints the rate without L^(-1/3). But the mean of an arm is known
    only up to an error of order L^(-1/3) T^(-1/3) log(T)^(1/3) (App. A.2), and the arm is played up to T times. The two
    rates agree at L = 1/K, the Lipschitz constant of the linear fairness function.

    Args:
        arms: K.
        lipschitz: L, the Lipschitz constant of the fairness function in the l1 norm, >= 0. Without it (0) the policy
            does not explore, and the bound is infinite.
        horizons: T, `[R]`, whole numbers >= 1.
        constant: the constant that the theorem hides.

    Returns:
        `[R]`, float64.

    Raises:
        InputError: an argument has another shape or is out of range.

    Example:
        >>> jb.bounds.etc_utility_regret(4, 0.25, [1000]).round(1).tolist()
        [604.6]
    """
    slope = inputs.number(lipschitz, "lipschitz")
    factor = _arms(arms) * slope ** (2 / 3) + (slope ** (-1 / 3) if slope > 0 else np.inf)
    return _scaled(factor, horizons, constant)


def self_regulated_utility_regret(
    arms: int, lipschitz: float, horizons: ArrayLike, constant: float = 1.0
) -> np.ndarray:
    """Rate of the utility regret of `self-regulated`: K max(1, (K L)^(2/3)) T^(2/3) log(T)^(1/3).

    It holds for the default alpha and beta and for a black box whose own regret is no larger. log(T) counts as at
    least 1.

    Source: opportunities paper, Theorem 2. The paper prints the rate without the maximum with 1. But phase 1 costs K T
    beta (App. A.4), which is larger than the printed rate if K L < 1.

    Args:
        arms: K.
        lipschitz: L, the Lipschitz constant of the fairness function in the l1 norm, >= 0.
        horizons: T, `[R]`, whole numbers >= 1.
        constant: the constant that the theorem hides.

    Returns:
        `[R]`, float64.

    Raises:
        InputError: an argument has another shape or is out of range.

    Example:
        >>> jb.bounds.self_regulated_utility_regret(4, 0.25, [1000]).round(1).tolist()
        [761.8]
    """
    K, slope = _arms(arms), inputs.number(lipschitz, "lipschitz")
    return _scaled(K * max(1.0, (K * slope) ** (2 / 3)), horizons, constant)


def utility_regret_lower_bound(arms: int, horizons: ArrayLike, scale: float = 1.0, c: float = 1.0) -> np.ndarray:
    """Lower bound on the utility regret of any policy on some instance of `jb.instances.lower_bound_family`.

    min((K-1) / (16 c^2), c L / (4 K) - 1 / (16 c^2)) T^(2/3), to leading order: the constants that App. A.3 derives.
    The rate is a theorem, the constants are not: the proof takes as certain an instance of which it says that its
    probability is 1/100 or more. For K = 2, c = 1, L = 1 and T = 10^6, a policy that plays the other arm 744 times, and
    goes on if 382 rewards or more were 1, has at most .94 of this number on the instances that the proof compares.

    Source: opportunities paper, Theorem 3 and App. A.3.

    Args:
        arms: K, at least 2.
        horizons: T, `[R]`, whole numbers >= 1.
        scale: L of the family.
        c: the distance eps = c T^(-1/3) between the means of the family, above 0.

    Returns:
        `[R]`, float64; 0 where c is so small that the theorem says nothing.

    Raises:
        InputError: an argument has another shape or is out of range.

    Example:
        >>> jb.bounds.utility_regret_lower_bound(2, [1000, 8000], scale=2.0, c=1.0).round(3).tolist()
        [6.25, 25.0]
    """
    K, slope, distance = _arms(arms), inputs.number(scale, "scale"), inputs.number(c, "c")
    if distance == 0:
        raise InputError("c", c, "a number above 0")
    explored = (K - 1) / (16 * distance**2)
    withheld = distance * slope / (4 * K) - 1 / (16 * distance**2)
    return max(min(explored, withheld), 0.0) * inputs.rounds(horizons) ** (2 / 3)


def _arms(value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 2:
        raise InputError("arms", value, "a whole number >= 2")
    return int(value)


def _scaled(factor: float, horizons: ArrayLike, constant: float) -> np.ndarray:
    """constant factor T^(2/3) log(T)^(1/3), `[R]`, with log(T) at least 1."""
    t = inputs.rounds(horizons)
    return inputs.number(constant, "constant") * factor * (t**2 * np.log(np.maximum(t, np.e))) ** (1 / 3)
