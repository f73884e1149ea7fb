"""How large the numbers of a problem may be, so that what is summed over its rounds stays in its range."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.environment.problem import Problem
from jaxbandit.metrics.moments import LARGEST


def check_sums(problem: Problem, horizon: int, drawn: bool) -> None:
    """Refuse a problem whose metrics could leave the range in which their moments are exact.

    Args:
        problem, horizon: of the simulation.
        drawn: whether a metric sums the rewards that are drawn.

    Raises:
        InputError: naming the key.
    """
    terms = 4 * horizon * problem.plays
    for name in ("means", "penalties"):
        values = getattr(problem, name)
        if values is not None:
            _check_scale(f"problem.{name}", float(np.abs(values).max()), LARGEST / terms, horizon)
    # What policies are told of rewards is summed, and so are its squares, in the dtype that is simulated in.
    most = LARGEST / terms if drawn else float(np.sqrt(np.finfo(jnp.result_type(float)).max / terms))
    name, scale, reach = problem.reward.largest_magnitude(problem.means)
    if 0 < reach < np.inf:
        _check_scale(f"problem.reward.{name}" if name else "problem.reward", scale, most * (scale / reach), horizon)


def _check_scale(key: str, largest: float, most: float, horizon: int) -> None:
    if largest > most:
        raise InputError(key, largest, f"numbers of at most {most:.3g} with T = {horizon}")
