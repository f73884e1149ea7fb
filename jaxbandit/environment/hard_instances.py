"""Problems that the papers construct for lower bounds (`jaxbandit.instances`)."""

from __future__ import annotations

from jaxbandit.core.errors import InputError, suggest_keywords
from jaxbandit.core.input_values import finite_numbers, is_whole_number, to_python, whole_number
from jaxbandit.environment.problem import Problem

__all__ = ["lower_bound_family"]


@suggest_keywords
def lower_bound_family(arms: int, horizon: int, scale: float = 1.0, c: float = 1.0) -> Problem:
    """A family of hard instances for the utility regret.

    For every policy, the utility regret on at least one of them is at least of order T^(2/3).

    One arm, j, has mean 1. The arms of a set S have mean 1/2 and are entitled to no rounds. The other arms have mean
    (1 + eps) / 2 and are entitled to a share L eps / (2 K) of the rounds, where eps = c T^(-1/3). Each missed round to
    which an arm is entitled costs 1.

    Args:
        arms: K, from 2 to 12.
        horizon: T, the number of rounds for which the instances are constructed, at least 1.
        scale: L, the slope of the piecewise-linear fairness function, >= 0; L eps must be at most 1. Default: 1.
        c: the factor of eps, >= 0; eps must be at most 1/2. Default: 1.

    Returns:
        A problem of K 2^(K-1) instances: for each j from 0 to K - 1, one instance per set S, the empty set first.

    Raises:
        InputError: an argument is out of range.

    Source: opportunities paper, App. A.3.

    Example:
        >>> jb.instances.lower_bound_family(arms=2, horizon=1000).means.T.round(2).tolist()
        [[1.0, 0.55], [1.0, 0.5], [0.55, 1.0], [0.5, 1.0]]
    """
    arms, horizon = to_python(arms), whole_number(horizon, "horizon")
    if not is_whole_number(arms, 2) or arms > 12:
        raise InputError("arms", arms, "a whole number from 2 to 12 (K arms make K 2^(K-1) instances)")
    factor = finite_numbers(c, "c", "a number >= 0", low=0)
    if factor.ndim:
        raise InputError("c", c, "a number >= 0")
    eps = float(factor) * float(horizon) ** (-1 / 3)
    if eps > 0.5:
        raise InputError("c", c, f"at most T^(1/3) / 2 = {horizon ** (1 / 3) / 2:.4g}, so that eps is at most 1/2")
    rows = []
    for best in range(arms):
        for subset in range(1 << (arms - 1)):
            in_subset = [(subset >> place) & 1 for place in range(arms - 1)]
            others = [0.5 if low else (1 + eps) / 2 for low in in_subset]
            rows.append([*others[:best], 1.0, *others[best:]])
    return Problem(rows, penalties=1.0, opportunity={"kind": "piecewise-linear", "scale": scale, "eps": eps})


def __dir__() -> list[str]:
    return list(__all__)
