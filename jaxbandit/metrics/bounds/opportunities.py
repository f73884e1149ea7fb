"""Paper 004: the regret in utility of policies that weigh opportunities against the price of withholding them.

All under rewards in [0, 1], one play a round, no delay, every arm always there. The theorems hide constants: what is
computed is their rate times a `constant`. The policies plan for the horizon T: a bound is for round T alone. Regrets
are in units of reward.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.metrics.bounds import inputs


def etc_utility_regret(arms: int, lipschitz: float, horizons: Any, constant: float = 1.0) -> np.ndarray:
    """The rate of the utility regret of `fairness-aware-etc` (004 Theorem 1).

    (K L^(2/3) + L^(-1/3)) T^(2/3) log(T)^(1/3), for N = 8 (L T)^(2/3) log(T)^(1/3) plays of each arm.

    Args:
        arms: K.
        lipschitz: L_f, from l1 to l1, >= 0; infinite where it is 0: nothing is explored then.
        horizons: T, `[R]`, whole numbers >= 1.
        constant: what the theorem hides.

    Returns:
        `[R]`, float64.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> etc_utility_regret(4, 0.25, [1000]).round(1).tolist()
        [604.6]
    """
    slope = inputs.number(lipschitz, "lipschitz")
    # Printed without L^(-1/3): the last arm is known to L^(-1/3) T^(-1/3) log(T)^(1/3) (App. A.2) and played up to T
    # times. The two agree at L = 1/K, that of the linear function.
    factor = _arms(arms) * slope ** (2 / 3) + (slope ** (-1 / 3) if slope > 0 else np.inf)
    return _scaled(factor, horizons, constant)


def self_regulated_utility_regret(arms: int, lipschitz: float, horizons: Any, constant: float = 1.0) -> np.ndarray:
    """The rate of the utility regret of `self-regulated` with its default alpha and beta (004 Theorem 2).

    K max(1, (K L)^(2/3)) T^(2/3) log(T)^(1/3), for a black box whose own regret is no larger.

    Args:
        arms, lipschitz, horizons, constant: as for `etc_utility_regret`; L_f may be 0.

    Returns:
        `[R]`, float64.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> self_regulated_utility_regret(4, 0.25, [1000]).round(1).tolist()
        [761.8]
    """
    K, slope = _arms(arms), inputs.number(lipschitz, "lipschitz")
    # Printed without the 1, which is what phase 1 costs, K T beta (App. A.4): it is more where K L < 1.
    return _scaled(K * max(1.0, (K * slope) ** (2 / 3)), horizons, constant)


def utility_regret_least(arms: int, horizons: Any, scale: float = 1.0, c: float = 1.0) -> np.ndarray:
    """What the utility regret of any policy exceeds on one of `instances.lower_bound_family` (004 Theorem 3, App. A.3).

    min((K-1) / (16 c^2), c L / (4 K) - 1 / (16 c^2)) T^(2/3), to leading order and up to the chance, 1 in 100 in
    App. A.3, that samples mislead.

    Args:
        arms: K, at least 2.
        horizons: T, `[R]`, whole numbers >= 1.
        scale: L of the family.
        c: how far apart the family's means are, eps = c T^(-1/3), above 0.

    Returns:
        `[R]`, float64; 0 where c is so small that it says nothing.

    Raises:
        InputError: arguments of another shape or range.

    Example:
        >>> utility_regret_least(2, [1000, 8000], scale=2.0, c=1.0).round(3).tolist()
        [6.25, 25.0]
    """
    K, slope, distance = _arms(arms), inputs.number(scale, "scale"), inputs.number(c, "c")
    if distance == 0:
        raise InputError("c", c, "a number above 0")
    explored = (K - 1) / (16 * distance**2)
    withheld = distance * slope / (4 * K) - 1 / (16 * distance**2)
    return max(min(explored, withheld), 0.0) * inputs.rounds(horizons) ** (2 / 3)


def _arms(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 2:
        raise InputError("arms", value, "a whole number >= 2")
    return int(value)


def _scaled(factor: float, horizons: Any, constant: float) -> np.ndarray:
    """constant factor T^(2/3) log(T)^(1/3), `[R]`, with log(T) at least 1."""
    t = inputs.rounds(horizons)
    return inputs.number(constant, "constant") * factor * (t**2 * np.log(np.maximum(t, np.e))) ** (1 / 3)
