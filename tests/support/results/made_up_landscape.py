"""Tuning on functions in place of simulations: the whole search, in milliseconds."""

from types import SimpleNamespace

import numpy as np

import jaxbandit as jb
from jaxbandit.engine.settings import SimulationSettings
from jaxbandit.tuning.goal import Goal, Limit
from jaxbandit.tuning.objective import MetricObjective
from jaxbandit.tuning.parameters import Tunable
from jaxbandit.tuning.search.evaluation import Evaluation
from jaxbandit.tuning.search.steps import default_optimizer
from jaxbandit.tuning.tuning_run import TuningRun


class FunctionEvaluator:
    """Stands for `Evaluator`: functions of x `[n]`, with noise that runs have in common at all points.

    Run s adds noise * (a_s + b_s . (x - 1) / sqrt(n)) to a function, with standard normal numbers a_s and b_s of its
    own: a large part is common to all points and cancels in differences, and a part is not.

    Args:
        objective: a function of x.
        limited: functions of x, by the name of a metric.
        noise: the standard deviation of a run.
        refused: whether the policy refuses a point.
    """

    def __init__(self, objective, limited=None, noise=0.0, refused=lambda x: False):
        self.functions = {"regret": objective, **(limited or {})}
        self.noise, self.refused = noise, refused
        self.rounds = self.simulated = 0
        self.refusals, self.not_finite, self.asked = [], 0, []

    def policy(self, values):
        return jb.policy("hard-threshold-ucb", **{name: value.tolist() for name, value in values.items()})

    def count(self, rounds):
        self.rounds += rounds

    def __call__(self, points, seeds, first=0):
        points = np.stack([np.ravel(values["penalties"]) for values in points])
        self.asked += list(points)
        self.simulated += len(points)
        self.refusals += ["refused"] * sum(self.refused(x) for x in points)
        measured = {}
        for place, (name, function) in enumerate(self.functions.items()):
            rows = [_normal(place, run, points.shape[1]) for run in range(first, first + seeds)]
            own = np.stack(rows)
            runs = own[:, 0] + (points - 1) @ own[:, 1:].T / np.sqrt(points.shape[1])
            means = np.array([np.nan if self.refused(x) else function(x) for x in points])
            measured[name] = (means[:, None] + self.noise * runs)[:, None]
        return Evaluation(measured["regret"], measured)


def _normal(place, run, size, _kept={}):  # noqa: B006
    if (place, run, size) not in _kept:
        _kept[place, run, size] = np.random.default_rng([place, run]).normal(size=1 + size)
    return _kept[place, run, size]


def tune_function(
    evaluator, start, limits=(), *, steps=30, seeds=64, final_seeds=256, low=0.0, high=None, optimizer=None
):
    """The result of `tune` where functions stand for the simulations; `limits` are `Limit`s."""
    start = np.asarray(start, float)
    run = TuningRun(
        problem=jb.Problem([0.5] * max(start.size, 2)),
        policy=evaluator.policy({"penalties": start}),
        goal=Goal(MetricObjective(metric="regret"), tuple(limits)),
        tunables=[Tunable("penalties", ("penalties",), start, low, high)],
        settings=SimulationSettings(100, seeds, 0, record=1),
        estimator="perturbation",
        softness={},
        steps=steps,
        final_seeds=final_seeds,
        optimizer=optimizer or default_optimizer(0.2),
    )
    return run._tuned(evaluator)


def at_most(bound, metric="unfairness"):
    return Limit(metric, bound)


def at_least(bound, metric="unfairness"):
    return Limit(metric, bound, at_most=False)


def quadratic(rng, size, power=0.5):
    """A convex quadratic function around a point of (0.3, 2), its centre, and its curvatures along the axes."""
    centre, curvature = rng.uniform(0.3, 2.0, size), rng.uniform(1.0, 4.0, size) ** (2 * power)
    return SimpleNamespace(
        centre=centre, curvature=curvature, value=lambda x: 10 + float(curvature @ (x - centre) ** 2) / size
    )
