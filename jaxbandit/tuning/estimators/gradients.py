"""Gradients of an expected objective with respect to a policy's parameters.

A run of a policy that selects the arms of highest score is not a smooth function of its parameters: it changes only
where a selection changes. Each of the three estimators therefore takes the gradient of a smooth function instead.

`perturbation`: the expected objective of the policy itself, smoothed over perturbations of each number of the
parameters. The policy is simulated with one number after the other moved forwards and backwards (antithetic), all with
the same random numbers. The derivative is the difference divided by the distance of the two points: an unbiased
estimate of the mean derivative between them. It costs 2 runs per number and seed. It works for every policy, parameter,
delay and metric. The standard errors are over seeds.

The other two differentiate a soft policy, whose selections change gradually.

`relaxed`: the pathwise derivative. Each arm gets a share of each round (`soft_choice.soft_shares`), counts are sums of
shares, and thresholds are sigmoids of a given width. For given random numbers, the objective is then a smooth function
of the parameters, and it is differentiated through the scan over the rounds. The estimate is unbiased for the gradient
of the objective of this relaxed policy, which approaches that of the policy itself as temperature and width approach 0.
A share changes with a score by at most 1 / (4 temperature), and a score changes with a count, at the threshold, by
-A / (4 width), where A is the penalty rate. If temperature * width is below A / 32, the count of an arm that is kept at
its quota overshoots from round to round, and the derivative explodes.

`score`: the score function (Glynn 1990; Williams 1992). Arms are drawn at random with chances that follow from their
scores, and thresholds are hard. The gradient is the mean of (objective - baseline) times the derivative of the
logarithm of the probability of the run's selections. The baseline of a run is the mean objective of the other runs
(leave one out; Kool, van Hoof & Welling 2019). The estimate is unbiased for the gradient of the expected objective of
this random policy, which approaches that of the policy itself as the temperature approaches 0. The variance grows with
the horizon and with 1 / temperature.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.core.errors import InputError, suggest_keywords, warn
from jaxbandit.core.input_values import whole_number
from jaxbandit.engine.settings import SimulationSettings
from jaxbandit.environment.problem import Problem, problem_of
from jaxbandit.policies.base import Policy
from jaxbandit.policies.make_policy import policy as policy_of
from jaxbandit.tuning.advice import about_problem
from jaxbandit.tuning.estimators.gradient_program import GradientProgram, RunGradients, softness_of
from jaxbandit.tuning.estimators.perturbation import SPREAD, checked_spread, perturbed_runs
from jaxbandit.tuning.goal import Goal, make_objective_only
from jaxbandit.tuning.objective import Objective
from jaxbandit.tuning.parameters import in_words, make_tunables, with_starts


@dataclass(frozen=True)
class Estimate:
    """An expected objective and its gradient, estimated from runs.

    Attributes:
        value: the objective's mean over runs.
        value_stderr: its standard error.
        metrics: the means of the metrics on which the objective depends, by name.
        gradient: the derivatives by the name of the parameter, float64 `[]`, or `[K]` for one number per arm.
        gradient_stderr: the standard errors of the derivatives, likewise.

    Example:
        >>> problem = jb.Problem([0.9, 0.5], fractions=0.2, penalties=0.3)
        >>> found = jb.tuning.value_and_gradient(problem, "hard-threshold-ucb", ["penalties"], horizon=50, seeds=8)
        >>> sorted(found.metrics), found.gradient_stderr["penalties"].shape
        (['penalized_regret'], (2,))
    """

    value: float
    value_stderr: float
    metrics: dict[str, float]
    gradient: dict[str, np.ndarray]
    gradient_stderr: dict[str, np.ndarray]

    @property
    def norm(self) -> float:
        """The gradient's Euclidean norm over all parameters."""
        return math.sqrt(sum(float(np.sum(slope**2)) for slope in self.gradient.values()))

    def check(self, where: str) -> None:
        """Raise a FloatingPointError that says where, if the objective or its gradient is not finite."""
        if not all(np.isfinite(self.value) and np.all(np.isfinite(slope)) for slope in self.gradient.values()):
            raise FloatingPointError(f"the objective or its gradient is not finite {where}")

    @classmethod
    def from_runs(cls, runs: RunGradients) -> Estimate:
        """The means over runs and their standard errors, which are 0 for a single run."""
        root = math.sqrt(len(runs.value))
        spread = 1 if len(runs.value) > 1 else 0
        return cls(
            float(runs.value.mean()),
            float(runs.value.std(ddof=spread) / root),
            {name: float(values.mean()) for name, values in runs.metrics.items()},
            {name: values.mean(axis=0) for name, values in runs.gradient.items()},
            {name: values.std(axis=0, ddof=spread) / root for name, values in runs.gradient.items()},
        )


@suggest_keywords
def value_and_gradient(
    problem: Problem | Mapping[str, object],
    policy: str | Mapping[str, object] | type[Policy] | Policy,
    parameters: Sequence[str] | Mapping[str, ArrayLike],
    *,
    objective: str | Mapping[str, object] | Objective | Goal = "penalized_regret",
    estimator: str = "perturbation",
    horizon: int,
    seeds: int = 1024,
    spread: float | None = None,
    temperature: float | None = None,
    width: float | None = None,
    key: Any = 0,
) -> Estimate:
    """Estimate an expected objective and its gradient with respect to some of a policy's parameters.

    With the estimator "perturbation", the objective is that of the policy itself, and the gradient is that of the
    objective smoothed over small perturbations of the parameters. With "relaxed" and "score", both are those of a soft
    policy: a version of the policy whose selections change gradually with its parameters. The documentation of
    `jaxbandit.tuning.estimators.gradients` has the details.

    Args:
        problem: a `Problem`, or a table (dict) with the keys of a config's `[problem]`. All instances have the same
            parameters; the objective is the mean over instances.
        policy: a name, a table or a `Policy`.
        parameters: the names of the parameters, such as `["penalties"]` or, for a parameter of the merit function,
            `["merit.scale"]`: the gradient is taken at the values of the policy, or, if it has none, at those of the
            problem. Or a mapping from names to values, each a number or K numbers. A parameter with one number per arm
            has K derivatives.
        objective: the name of a metric, "reward", "penalized_reward", a table such as
            `{"kind": "budget", "most": 20.0}` or `{"minimize": {"regret": 1.0, "unfairness": 0.5}}`, or an `Objective`.
        estimator: "perturbation": for every policy, parameter, delay and metric. "relaxed": each arm gets a share of
            each round; for policies that accept counts that are not integers, and problems without delay. "score": arms
            are drawn at random; for any delay, with more noise.
        horizon: T, the number of rounds.
        seeds: runs per instance and point; at least 2 for "perturbation" and "score".
        spread: the size of the perturbations, relative to the parameter: 0.1, the default, is a
            tenth of the mean distance of its numbers from the lower end of its range (from 0 if the range has no lower
            end; if the distance is 0, a tenth of 1). From 1e-6 to 1. The smaller it is, the nearer the estimate is to
            the derivative at the point, and the noisier it is. For "perturbation" only.
        temperature: the softness of the choice between arms, in the unit of the scores (for `lfg`: of the queues), at
            least 1e-6. The smaller it is, the closer the soft policy is to the policy itself, and the noisier the
            gradient. For "relaxed" and "score" only; default 0.05.
        width: the softness of thresholds, in rounds, at least 1e-6; it matters for "relaxed" only; default 0.5. For a
            policy with a threshold, temperature * width should be above A / 32 for the largest penalty rate A, else the
            gradient can explode.
        key: the only source of randomness, an integer or a key of `jax.random`. Run i gets the same rewards as run i of
            `jb.simulate`, whatever the parameters, the estimator and the policy are.

    Returns:
        An `Estimate`.

    Raises:
        InputError: an argument is invalid; the error names it. For a policy or a parameter that cannot be tuned, it
            lists those that can.
        FloatingPointError: the objective or its gradient is not finite.

    Example:
        >>> problem = jb.Problem([0.9, 0.5], fractions=0.2, penalties=0.3)
        >>> found = jb.tuning.value_and_gradient(problem, "hard-threshold-ucb", ["penalties"], horizon=50, seeds=8)
        >>> found.gradient["penalties"].shape
        (2,)
    """
    softness = softness_of(estimator, temperature, width)
    if estimator == "perturbation":
        settings = SimulationSettings(horizon, whole_number(seeds, "seeds", 2), key, record=1)
        settings.check()
        problem = problem_of(problem, settings.key)
        made = make_objective_only(objective, problem)
        given = with_starts(policy_of(policy), parameters, problem.arms)
        prepared = given.prepare(problem, settings.horizon)
        tunables = make_tunables(prepared, parameters, estimator, problem.arms)
        size = SPREAD if spread is None else checked_spread(spread)
        runs = perturbed_runs(problem, given, tunables, made, settings, size)
        for sentence in about_problem(prepared, problem, list(made.metrics())):
            warn(sentence)
    else:
        if spread is not None:
            raise InputError("spread", spread, "must be given with the estimator 'perturbation' only")
        program = GradientProgram(
            problem, policy, parameters, objective, estimator, horizon=horizon, key=key, **softness
        )
        tunables = program.tunables
        runs = program.runs({one.name: one.start for one in tunables}, np.arange(program.checked_seeds(seeds)))
    estimate = Estimate.from_runs(runs)
    estimate.check(f"at {in_words({one.name: one.start for one in tunables})}")
    if estimator != "perturbation":
        for name, derivatives in estimate.gradient.items():
            if not derivatives.any() and not estimate.gradient_stderr[name].any():
                warn(
                    f"{name}: the derivative is 0 in every run: at these values the soft policy does not depend on it, "
                    "or it is the weight of a root, whose derivative at 0 is taken as 0; estimator='perturbation' also "
                    "simulates the values beside it"
                )
    return estimate
