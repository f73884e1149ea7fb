"""The goal as a function of the search coordinates."""

from __future__ import annotations

import numpy as np

from jaxbandit.tuning.goal import Goal
from jaxbandit.tuning.search.coordinates import Coordinates
from jaxbandit.tuning.search.evaluation import Evaluator, Scores


class Landscape:
    """The goal as a function of the search coordinates, by simulations of the policy itself.

    Args:
        evaluator: simulates points.
        space: the search coordinates.
        goal: the goal.
        seeds: runs per instance and point in the search. They are the same for all points.
        final_seeds: fresh runs per instance and point, after the others.
        ranges: how much each limited metric varies, `[limits]`.

    Attributes:
        final_seeds: as the argument.
        units: scales for the excesses, `[limits]`: the bounds, unless these are next to 0.
    """

    def __init__(
        self, evaluator: Evaluator, space: Coordinates, goal: Goal, seeds: int, final_seeds: int, ranges: np.ndarray
    ):
        self._evaluator, self._space, self._goal = evaluator, space, goal
        self._seeds, self.final_seeds = seeds, final_seeds
        bounds = [abs(limit.bound) for limit in goal.limits]
        self.units = np.array([max(bound, 0.01 * size) or 1.0 for bound, size in zip(bounds, ranges, strict=True)])

    def __call__(self, points: np.ndarray, share: int = 1) -> Scores:
        """The goal at points `[P, n]`, on the seeds of the search, or on the first of them: one in `share`."""
        return self._scores(points, max(self._seeds // share, 2), 0)

    def fresh(self, points: np.ndarray, times: int = 1) -> Scores:
        """The goal at points `[P, n]`, on the fresh seeds, or on `times` as many."""
        return self._scores(points, times * self.final_seeds, self._seeds)

    def _scores(self, points: np.ndarray, seeds: int, first: int) -> Scores:
        values = [self._space.values(point) for point in points]
        return Scores.of(self._evaluator(values, seeds, first), self._goal)

    def inside(self, y: np.ndarray) -> np.ndarray:
        """A point moved into the range of the parameters."""
        return self._space.inside(y)
