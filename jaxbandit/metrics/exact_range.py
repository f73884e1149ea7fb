"""How large the numbers of a problem may be, so that sums over all rounds stay in the range that is exact."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.environment.ground_truth import GroundTruth
from jaxbandit.environment.problem import Problem
from jaxbandit.metrics.moments import LARGEST, STEP

_DIGITS = 1e3  # a gap of so many steps has three digits in a mean over runs


def check_exact_range(problem: Problem, horizon: int, drawn_rewards: bool) -> None:
    """Refuse a problem whose metrics could leave the range in which their moments are exact.

    Args:
        problem: the problem.
        horizon: T.
        drawn_rewards: whether a metric sums the drawn rewards.

    Raises:
        InputError: naming the key of the problem.
    """
    terms = _terms(horizon, problem.plays)
    for name in ("means", "penalties"):
        values: Any = problem.extreme_means() if name == "means" else getattr(problem, name)
        if values is not None:
            _check_scale(f"problem.{name}", float(np.abs(values).max()), LARGEST / terms, horizon)
    # Policies see sums of rewards and of their squares, in the dtype of the simulation.
    most = LARGEST / terms if drawn_rewards else float(np.sqrt(np.finfo(jnp.result_type(float)).max / terms))
    magnitudes = [problem.reward.at_means(means).largest_magnitude(means) for means in problem.extreme_means()]
    name, scale, largest_reward = max(magnitudes, key=lambda found: found[2])
    if 0 < largest_reward < np.inf:
        key = f"problem.reward.{name}" if name else "problem.reward"
        _check_scale(key, scale, most * (scale / largest_reward), horizon)


def rounded_away(problem: Problem) -> str | None:
    """What is said where means differ by so little that means of metrics have few digits or none; None elsewhere."""
    widest = max(float(np.ptp(means, axis=0).max()) for means in problem.extreme_means())
    if not 0 < widest < _DIGITS * STEP:
        return None
    return (
        f"the means differ by {widest:.2g} at most, and metrics are rounded to multiples of {STEP:.1e} before they are "
        "averaged over runs: multiply rewards and means by a number, or average the values of runs (`runs`) yourself"
    )


def largest_metric(ground_truth: GroundTruth, horizon: int) -> float:
    """A number that no metric without drawn rewards exceeds in magnitude in T rounds."""
    numbers: Any = (ground_truth.means, ground_truth.penalties)
    largest = max(1.0, *(float(np.abs(part).max()) for part in numbers if part is not None))
    return _terms(horizon, ground_truth.plays) * largest


def _terms(horizon: int, plays: int) -> int:
    """The most terms of one round's size that a metric adds up."""
    return 4 * horizon * plays


def _check_scale(key: str, largest: float, most: float, horizon: int) -> None:
    if largest > most:
        raise InputError(key, largest, f"numbers of at most {most:.3g} with T = {horizon}")
