"""The numbers of a problem that metrics compare with, independent of how the problem is simulated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jaxbandit.environment.means.changing import MeanPath
from jaxbandit.environment.problem import Problem


@dataclass(frozen=True)
class GroundTruth:
    """The numbers of C instances: arrays `[K, C]`, or `[K, 1]` where all instances have the same numbers.

    Attributes:
        means: mu, float64 `[K, C]`; where means change, those of round 1.
        fractions: tau, exact ratios; None without guaranteed fractions.
        penalties: the penalty rates A, float64; None without penalties.
        opportunities: f(mu), float64 `[K, C]`; None without a fairness function, or where means change.
        guarantees: tau, then phi L of the groups, exact ratios; None where nothing is guaranteed.
        plays: L.
        groups: the arms of each group, if groups are guaranteed plays; else empty.
        path: the means of all rounds, where they change; else None.
    """

    means: np.ndarray
    fractions: np.ndarray | None
    penalties: np.ndarray | None
    opportunities: np.ndarray | None
    guarantees: np.ndarray | None
    plays: int
    groups: tuple[tuple[int, ...], ...] = ()
    path: MeanPath | None = None

    def at_rows(self, rows: np.ndarray) -> GroundTruth:
        """The numbers of some rows of a grid, integers `[C]`; the instances repeat after the last one."""
        others = (self.fractions, self.penalties, self.opportunities, self.guarantees)
        fractions, penalties, opportunities, guarantees = (
            None if part is None else instance_columns(part, rows) for part in others
        )
        means = np.broadcast_to(instance_columns(self.means, rows), (len(self.means), len(rows)))
        path = self.path and MeanPath(self.path.rounds, self.path.means[..., rows % self.path.means.shape[-1]])
        return GroundTruth(means, fractions, penalties, opportunities, guarantees, self.plays, self.groups, path)


def ground_truth_of(problem: Problem, horizon: int) -> GroundTruth:
    """The `GroundTruth` of all instances of a problem in T rounds.

    Raises:
        InputError: the problem's means were given for other rounds.
    """
    path = None if problem.changing is None else problem.changing.until(horizon)
    opportunities = None if problem.opportunity is None or path is not None else problem.opportunities()
    owed = problem.groups is not None and problem.groups.fractions is not None
    return GroundTruth(
        problem.means,
        problem.fractions,
        problem.penalties,
        opportunities,
        problem.guarantees(),
        problem.plays,
        problem.groups.members if owed and problem.groups is not None else (),
        path,
    )


def instance_columns(array: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The columns of `[K or 1, J]` for some rows of a grid, where the J columns repeat; a single column is kept."""
    return array if array.shape[1] == 1 else array[:, rows % array.shape[1]]
