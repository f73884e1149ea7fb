"""Tuning a policy's continuous parameters by gradients of an expected objective.

problem = jb.Problem([0.9, 0.7, 0.4], fractions=0.1, penalties=0.3)
tuned = jb.tuning.tune(problem, "hard-threshold-ucb", ["penalties"], horizon=1000, steps=100)
results = jb.simulate(problem, {"before": "hard-threshold-ucb", "after": tuned.policy}, horizon=1000, seeds=1000)
"""

from jaxbandit.tuning.gradients import Estimate, value_and_gradient
from jaxbandit.tuning.objective import Budget, MetricObjective, Objective, PenalizedReward, Reward
from jaxbandit.tuning.tune import Tuned, tune

__all__ = [
    "Budget",
    "Estimate",
    "MetricObjective",
    "Objective",
    "PenalizedReward",
    "Reward",
    "Tuned",
    "tune",
    "value_and_gradient",
]


def __dir__() -> list[str]:
    return list(__all__)
