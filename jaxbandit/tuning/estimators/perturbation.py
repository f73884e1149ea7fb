"""Gradients of the policy itself: differences between runs at perturbed parameters, on common random numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.core.input_values import finite_numbers
from jaxbandit.engine.host.progress_bar import Progress
from jaxbandit.engine.settings import SimulationSettings
from jaxbandit.environment.problem import Problem
from jaxbandit.policies.base import Policy
from jaxbandit.tuning.estimators.gradient_program import RunGradients
from jaxbandit.tuning.goal import Goal
from jaxbandit.tuning.objective import Objective
from jaxbandit.tuning.parameters import Tunable, Values
from jaxbandit.tuning.search.evaluation import Evaluator
from jaxbandit.tuning.search.linear_model import slopes_of

SPREAD = 0.1  # the default size of perturbations


def perturbed_runs(
    problem: Problem,
    policy: Policy,
    tunables: Sequence[Tunable],
    objective: Objective,
    settings: SimulationSettings,
    spread: float,
) -> RunGradients:
    """The objective of runs of the policy itself, and its slopes from antithetic perturbations.

    Each number is moved forwards and backwards, and not beyond its range, while the others stay: moves of several
    numbers at once would mix their slopes where the objective is curved. All points are simulated with the same seeds.

    Args:
        problem, policy, tunables, objective: what is simulated; the starts of the tunables are where.
        settings: the horizon, the seeds and the key.
        spread: as in `value_and_gradient`.
    """
    with Progress(1, problem.plays, shown=False) as bar:
        evaluator = Evaluator(problem, policy, tunables, Goal(objective), settings.horizon, settings.key, bar)
    start = np.concatenate([np.ravel(one.start) for one in tunables])
    unit, low, high = (np.concatenate(parts) for parts in zip(*map(_scales, tunables), strict=True))
    along = np.diag(spread * unit)
    ahead, behind = np.clip(start + along, low, high), np.clip(start - along, low, high)
    found = evaluator([_values(tunables, point) for point in (start, *ahead, *behind)], settings.seeds)
    if evaluator.refusals:
        words = f"smaller: the policy refuses some of the perturbed parameters ({evaluator.refusals[0]})"
        raise InputError("spread", spread, words)
    runs = found.objective.mean(axis=1)  # over the instances
    count = len(along)
    slopes = slopes_of(ahead - behind, runs[1 : count + 1] - runs[count + 1 :])
    parts = np.split(slopes, np.cumsum([one.start.size for one in tunables])[:-1])
    gradient = {one.name: part.T.reshape(-1, *one.start.shape) for one, part in zip(tunables, parts, strict=True)}
    return RunGradients(runs[0], {name: values[0].mean(axis=0) for name, values in found.metrics.items()}, gradient)


def checked_spread(spread: object) -> float:
    """The size of perturbations.

    Raises:
        InputError: not a number from 1e-6 to 1.
    """
    words = "a number from 1e-6 to 1"
    if spread is None or finite_numbers(spread, "spread", words, 1e-6, 1.0).ndim:
        raise InputError("spread", spread, words)
    return float(spread)  # type: ignore[arg-type]


def _scales(tunable: Tunable) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each number of a parameter: the unit of its perturbations, and the ends of its range."""
    shape = tunable.start.size
    low = -math.inf if tunable.low is None else tunable.low
    high = math.inf if tunable.high is None else tunable.high
    unit = float(np.mean(np.abs(tunable.start - (low if math.isfinite(low) else 0.0)))) or 1.0
    return np.full(shape, unit), np.full(shape, low), np.full(shape, high)


def _values(tunables: Sequence[Tunable], point: np.ndarray) -> Values:
    parts = np.split(point, np.cumsum([one.start.size for one in tunables])[:-1])
    return {one.name: part.reshape(one.start.shape) for one, part in zip(tunables, parts, strict=True)}
