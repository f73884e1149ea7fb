"""Tuning: the parameters of a policy with the best expected objective within limits.

`tune` finds them, and `value_and_gradient` estimates an objective and its gradient:

problem = jb.Problem([0.9, 0.6, 0.2], fractions=[0.1, 0.5, 0.1], penalties=0.5)
objective = {"kind": "budget", "most": 75.0}  # the least regret with at most 75 missed rounds
tuned = jb.tuning.tune(problem, "hard-threshold-ucb", ["penalties"], objective=objective, horizon=1000)
print(tuned)
results = jb.simulate(problem, {"before": "hard-threshold-ucb", "after": tuned.policy}, horizon=1000, seeds=1000, key=1)
"""

from jaxbandit.tuning.estimators.gradients import Estimate, value_and_gradient
from jaxbandit.tuning.goal import Goal, Limit, WeightedSum
from jaxbandit.tuning.objective import Budget, MetricObjective, Objective, PenalizedReward, Reward
from jaxbandit.tuning.search.points import Point
from jaxbandit.tuning.tune import tune
from jaxbandit.tuning.tuned import Tuned

__all__ = [
    "Budget",
    "Estimate",
    "Goal",
    "Limit",
    "MetricObjective",
    "Objective",
    "PenalizedReward",
    "Point",
    "Reward",
    "Tuned",
    "WeightedSum",
    "tune",
    "value_and_gradient",
]


def __dir__() -> list[str]:
    return list(__all__)
