"""Means and standard errors of the union of two sets of runs, from those of the sets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Estimate(NamedTuple):
    """Means over runs.

    Attributes:
        mean: the means, of any shape.
        stderr: their standard errors, of the same shape; NaN for one run.
        runs: the number of runs.
    """

    mean: np.ndarray
    stderr: np.ndarray
    runs: int


def pooled(first: Estimate, second: Estimate) -> Estimate:
    """The means over the runs of both, with their standard errors.

    This is an identity, no approximation: sums of squared deviations add up, with a term for the difference of the
    means. Only the last bits are rounded.

    Example:
        >>> both = pooled(Estimate(np.array(1.0), np.array(np.nan), 1), Estimate(np.array(4.0), np.array(2.0), 2))
        >>> runs = np.array([1.0, 2.0, 6.0])  # the second set has the runs 2 and 6
        >>> bool(np.isclose(both.mean, runs.mean())), bool(np.isclose(both.stderr, runs.std(ddof=1) / 3**0.5))
        (True, True)
    """
    runs = first.runs + second.runs
    difference = second.mean.astype(np.float64) - first.mean
    squares = _squared_deviations(first) + _squared_deviations(second)
    squares += difference**2 * (first.runs * second.runs / runs)
    mean = first.mean + difference * (second.runs / runs)
    stderr = np.sqrt(squares / (runs * (runs - 1)))
    return Estimate(mean.astype(first.mean.dtype), stderr.astype(first.stderr.dtype), runs)


def _squared_deviations(estimate: Estimate) -> np.ndarray:
    """The sum of the squared deviations of the runs from their mean."""
    if estimate.runs == 1:
        return np.zeros(estimate.stderr.shape)
    return estimate.stderr.astype(np.float64) ** 2 * (estimate.runs * (estimate.runs - 1))
