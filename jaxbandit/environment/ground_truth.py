"""The numbers of a problem that metrics compare with, independent of how the problem is simulated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jaxbandit.environment.problem import Problem


@dataclass(frozen=True)
class GroundTruth:
    """The numbers of C instances: arrays `[K, C]`, or `[K, 1]` where all instances have the same numbers.

    Attributes:
        means: mu, float64 `[K, C]`.
        fractions: tau, exact ratios; None without guaranteed fractions.
        penalties: the penalty rates A, float64; None without penalties.
        opportunities: f(mu), float64 `[K, C]`; None without a fairness function.
        plays: L.
    """

    means: np.ndarray
    fractions: np.ndarray | None
    penalties: np.ndarray | None
    opportunities: np.ndarray | None
    plays: int

    def at_rows(self, rows: np.ndarray) -> GroundTruth:
        """The numbers of some rows of a grid, integers `[C]`; the instances repeat after the last one."""
        others = (self.fractions, self.penalties, self.opportunities)
        fractions, penalties, opportunities = (
            None if part is None else instance_columns(part, rows) for part in others
        )
        means = np.broadcast_to(instance_columns(self.means, rows), (len(self.means), len(rows)))
        return GroundTruth(means, fractions, penalties, opportunities, self.plays)


def ground_truth_of(problem: Problem) -> GroundTruth:
    """The `GroundTruth` of all instances of a problem."""
    opportunities = None if problem.opportunity is None else problem.opportunities()
    return GroundTruth(problem.means, problem.fractions, problem.penalties, opportunities, problem.plays)


def instance_columns(array: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The columns of `[K or 1, J]` for some rows of a grid, where the J columns repeat; a single column is kept."""
    return array if array.shape[1] == 1 else array[:, rows % array.shape[1]]
