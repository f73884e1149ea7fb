"""Tuning a policy's continuous parameters by gradients of an expected objective.

problem = jb.Problem([0.9, 0.7, 0.4], fractions=0.1, penalties=0.3)
tuned = jb.tuning.tune(problem, "hard-threshold-ucb", ["penalties"], horizon=1000, steps=100)
results = jb.simulate(problem, {"before": "hard-threshold-ucb", "after": tuned.policy}, horizon=1000, seeds=1000)
"""

from jaxbandit.tuning.gradients import Estimate as Estimate
from jaxbandit.tuning.gradients import value_and_gradient as value_and_gradient
from jaxbandit.tuning.objective import Budget as Budget
from jaxbandit.tuning.objective import MetricObjective as MetricObjective
from jaxbandit.tuning.objective import Objective as Objective
from jaxbandit.tuning.objective import PenalizedReward as PenalizedReward
from jaxbandit.tuning.objective import Reward as Reward
from jaxbandit.tuning.tune import Tuned as Tuned
from jaxbandit.tuning.tune import tune as tune
