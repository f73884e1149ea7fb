"""Linear models of the goal whose slopes are those of a soft policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from jaxbandit.tuning.estimators.gradient_program import GradientProgram
from jaxbandit.tuning.goal import Goal
from jaxbandit.tuning.objective import MetricObjective, Objective
from jaxbandit.tuning.search.coordinates import Coordinates
from jaxbandit.tuning.search.landscape import Landscape
from jaxbandit.tuning.search.linear_model import LinearModel

MakeProgram = Callable[[Objective], GradientProgram]  # from an objective


class SoftModels:
    """Makes linear models: values of the policy itself, with the slopes of a soft policy.

    Args:
        make: makes the program of a soft policy's gradients.
        goal: the goal.
        space: the search coordinates.
        landscape: the goal, of the policy itself.
        seeds: runs per instance and gradient.
        count: counts rounds of gradients.
    """

    def __init__(
        self,
        make: MakeProgram,
        goal: Goal,
        space: Coordinates,
        landscape: Landscape,
        seeds: int,
        count: Callable[[int], None],
    ):
        self._space, self._landscape = space, landscape
        objectives = [goal.objective, *(MetricObjective(metric=limit.metric) for limit in goal.limits)]
        self._signs = [goal.sign, *(1.0 if limit.at_most else -1.0 for limit in goal.limits)]
        self._programs = [make(objective) for objective in objectives]
        self._seeds = self._programs[0].checked_seeds(seeds)
        self._count = count

    def __call__(self, y: np.ndarray, number: int) -> LinearModel:
        """The model of a point in a step; "score" takes new seeds in every step, whose noise then averages out."""
        scores = self._landscape(y[None])
        first = number * self._seeds if self._programs[0].estimator == "score" else 0
        seeds = np.arange(first, first + self._seeds)
        slopes = np.stack([self._slope(program, y, seeds) for program in self._programs])
        slopes = slopes * np.array(self._signs)[:, None]
        errors = float(scores.value_stderr[0]), scores.excess_stderr[0]
        return LinearModel(float(scores.value[0]), scores.excess[0], *errors, slopes[0], slopes[1:])

    def _slope(self, program: GradientProgram, y: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        gradient = program.runs(self._space.values(y), seeds).gradient
        self._count(len(seeds) * program.problem.instances * program.horizon)
        parts: Sequence[np.ndarray] = [np.ravel(gradient[one.name].mean(axis=0)) for one in self._space.tunables]
        return np.concatenate(parts) * self._space.derivatives(y)
