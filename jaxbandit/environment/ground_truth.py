"""What metrics ask of a problem: its numbers, per instance, apart from how it is simulated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jaxbandit.environment.problem import Problem


@dataclass(frozen=True)
class GroundTruth:
    """Numbers of some instances; arrays `[K, C]`, `[K, 1]` where instances share them.

    Attributes:
        means: mu, float64 `[K, C]`.
        fractions: tau, exact ratios; None where fairness asks nothing.
        penalties: A, float64; None where nothing is priced.
        opportunities: f(mu), float64 `[K, C]`; None without a fairness function.
        plays: L.
    """

    means: np.ndarray
    fractions: np.ndarray | None
    penalties: np.ndarray | None
    opportunities: np.ndarray | None
    plays: int

    def at_rows(self, rows: np.ndarray) -> GroundTruth:
        """Those of some instances, by their numbers, which go on repeating beyond the last one."""
        others = (self.fractions, self.penalties, self.opportunities)
        fractions, penalties, opportunities = (
            None if part is None else instance_columns(part, rows) for part in others
        )
        means = np.broadcast_to(instance_columns(self.means, rows), (len(self.means), len(rows)))
        return GroundTruth(means, fractions, penalties, opportunities, self.plays)


def ground_truth_of(problem: Problem) -> GroundTruth:
    """The facts of a problem, of all its instances."""
    opportunities = None if problem.opportunity is None else problem.opportunities()
    return GroundTruth(problem.means, problem.fractions, problem.penalties, opportunities, problem.plays)


def instance_columns(array: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The columns of `[K or 1, W]` for some rows of a grid, over which the W columns repeat; one column stays one."""
    return array if array.shape[1] == 1 else array[:, rows % array.shape[1]]
