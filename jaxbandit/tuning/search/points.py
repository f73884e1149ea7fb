"""Points: the start, the best common value, the result, and the path of the search as a dataset."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit.experiments.statistics import CONFIDENCE
from jaxbandit.tuning.goal import Goal
from jaxbandit.tuning.parameters import Values
from jaxbandit.tuning.search.coordinates import Coordinates
from jaxbandit.tuning.search.evaluation import Scores
from jaxbandit.tuning.search.steps import Step

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Point:
    """Values of the parameters, and the objective and the limited metrics there, on the fresh runs.

    Attributes:
        name: "start", "common" (the best common value of the sweep: one value for all numbers of a parameter) or
            "result".
        values: the parameters by name, float64 `[]` or `[K]`.
        objective, objective_stderr: the mean of the objective and its standard error.
        limited, limited_stderr: the means of the limited metrics by name, and their standard errors. With
            `over="worst"` and limits on both sides of a metric, `<metric>_at_least` is the instance where it is least.
        meets_limits: whether each of these means is within its limit by 1.96 standard errors, as the result must be.
    """

    name: str
    values: Values
    objective: float
    objective_stderr: float
    limited: dict[str, float]
    limited_stderr: dict[str, float]
    meets_limits: bool


def point_of(name: str, values: Values, scores: Scores, place: int, goal: Goal) -> Point:
    """A point whose scores are those at `place`."""
    means, errors = {}, {}
    for number, limit in enumerate(goal.limits):
        means[goal.name_of(limit)] = float(limit.mean(scores.excess[place, number]))
        errors[goal.name_of(limit)] = float(scores.excess_stderr[place, number])
    upper = scores.excess[place] + CONFIDENCE * scores.excess_stderr[place]
    return Point(
        name,
        values,
        goal.sign * float(scores.value[place]),
        float(scores.value_stderr[place]),
        means,
        errors,
        bool(np.all(upper <= 0)),
    )


def trajectory_of(
    given: np.ndarray, scores: Scores, steps: Sequence[Step], space: Coordinates, goal: Goal
) -> xr.Dataset:
    """The points of a tuning as a dataset.

    Args:
        given: the start and the best common value, in search coordinates, `[2, n]`.
        scores: of these two.
        steps: of the search.
        space: the search coordinates.
        goal: the goal.
    """
    import xarray as xr

    data: dict[str, Any] = {}  # as `xr.Dataset` takes it
    models = [step.model for step in steps]
    points = [space.values(y) for y in [*given, *(step.y for step in steps)]]
    for tunable in space.tunables:
        rows = np.stack([values[tunable.name] for values in points])
        data[tunable.name] = (("step", "arm")[: rows.ndim], rows)
    objective = np.array([*scores.value, *(model.value for model in models)])
    data["objective"] = "step", goal.sign * objective, {"long_name": goal.objective.label}
    data["objective_stderr"] = "step", np.array([*scores.value_stderr, *(model.value_stderr for model in models)])
    unknown = [math.nan] * len(given)
    for number, limit in enumerate(goal.limits):
        excess = np.array([*scores.excess[:, number], *(model.excess[number] for model in models)])
        errors = [*scores.excess_stderr[:, number], *(model.excess_stderr[number] for model in models)]
        data[goal.name_of(limit)] = "step", limit.mean(excess)
        data[f"{goal.name_of(limit)}_stderr"] = "step", np.array(errors)
        price = np.array([*unknown, *(step.multipliers[number] for step in steps)])
        name = f"multiplier_{limit.metric}"
        data[name if name not in data else f"{name}_at_least"] = "step", price, {"long_name": f"price of {limit}"}
    norms = [math.sqrt(float(step.gradient @ step.gradient)) for step in steps]
    data["gradient_norm"] = "step", np.array([*unknown, *norms])
    arms = {"arm": np.arange(made.sizes["arm"])} if "arm" in (made := xr.Dataset(data)).sizes else {}
    return made.assign_coords({"step": np.arange(len(points)), **arms})
