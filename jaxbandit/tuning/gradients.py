"""Gradients of an expected objective with respect to a policy's parameters.

A policy that selects the arms of highest score is not a smooth function of its parameters. Gradients are therefore
those of a soft policy, whose selections change gradually. There are two soft policies, each with its estimator.

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

from jaxbandit.core.errors import suggest_keywords
from jaxbandit.environment.problem import Problem
from jaxbandit.policies.base import Policy
from jaxbandit.tuning.gradient_program import GradientProgram, RunGradients
from jaxbandit.tuning.objective import Objective
from jaxbandit.tuning.parameters import Values


@dataclass(frozen=True)
class Estimate:
    """An expected objective and its gradient, estimated from runs.

    Attributes:
        value: the objective's mean over runs.
        value_stderr: its standard error.
        metrics: the means of the metrics that the objective is made of, by name.
        gradient: the derivatives by parameter, float64 `[]`, or `[K]` for one number per arm.
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
    objective: str | Mapping[str, object] | Objective = "penalized_regret",
    estimator: str = "relaxed",
    horizon: int,
    seeds: int = 256,
    temperature: float = 0.05,
    width: float = 0.5,
    key: Any = 0,
) -> Estimate:
    """Estimate an expected objective and its gradient with respect to some of a policy's parameters.

    Both are those of a soft policy: a version of the policy whose selections change gradually with its parameters.

    Args:
        problem: a `Problem`, or a table (dict) with the keys of a config's `[problem]`. All instances have the same
            parameters; the objective is the mean over instances.
        policy: a name, a table or a `Policy`.
        parameters: the names of the parameters, such as `["penalties"]` or, for a parameter of the merit function,
            `["merit.scale"]`: the gradient is taken at the values of the policy, or, if it has none, at those of the
            problem. Or a mapping from names to values, each a number or K numbers. A parameter with one number per arm
            has K derivatives.
        objective: the name of a metric, "reward", "penalized_reward", a table such as
            `{"kind": "budget", "most": 20.0}`, or an `Objective`.
        estimator: the soft policy and its gradient. "relaxed": each arm gets a share of each round; for policies that
            accept counts that are not integers, and problems without delay. "score": arms are drawn at random; for any
            delay, with more noise. The documentation of `jaxbandit.tuning.gradients` has the details.
        horizon: T, the number of rounds.
        seeds: runs per instance; at least 2 for "score".
        temperature: the softness of the choice between arms, in the unit of the scores (for `lfg`: of the queues), at
            least 1e-6. The smaller it is, the closer the soft policy is to the policy itself, and the noisier the
            gradient.
        width: the softness of thresholds, in rounds, at least 1e-6; for "relaxed" only. For a policy with a threshold,
            temperature * width should be above A / 32 for the largest penalty rate A, else the gradient can explode.
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
    program = GradientProgram(
        problem,
        policy,
        parameters,
        objective,
        estimator,
        horizon=horizon,
        temperature=temperature,
        width=width,
        key=key,
    )
    seeds = program.checked_seeds(seeds)
    values = {tunable.name: tunable.start for tunable in program.tunables}
    estimate = Estimate.from_runs(program.runs(values, np.arange(seeds)))
    estimate.check(f"at {in_words(values)}")
    return estimate


def in_words(values: Values) -> str:
    """Values of parameters in words."""
    return ", ".join(f"{name} = {np.round(value, 6).tolist()}" for name, value in values.items())
