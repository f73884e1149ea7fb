"""Slopes of the policy itself by central differences of simulations with `jb.simulate`, to judge estimators by."""

from dataclasses import dataclass, field

import numpy as np

import jaxbandit as jb

NOISY = {"kind": "gaussian", "sd": 0.3}
WORLD = {"means": [0.8, 0.75, 0.6], "fractions": [0.3, 0.2, 0.3], "penalties": 0.3, "reward": NOISY}


@dataclass(frozen=True)
class Case:
    """A policy, one of its parameters, some values of it, and an objective."""

    policy: str
    parameter: str
    values: list
    objective: dict  # weights of metrics
    changes: dict = field(default_factory=dict)
    horizon: int = 60

    @property
    def problem(self):
        return jb.Problem(**{**WORLD, **self.changes})

    def at(self, value):
        """The policy with a value of the parameter."""
        head, _, tail = self.parameter.partition(".")
        value = np.asarray(value).tolist()
        if tail:
            return {"kind": self.policy, head: {**self.changes[head], tail: value}}
        return {"kind": self.policy, self.parameter: [value] if np.ndim(value) else value}


CASES = {
    "penalty rates": Case(
        "hard-threshold-ucb", "penalties", [[0.2, 0.2, 0.2], [0.1, 0.2, 0.4]], {"regret": 1.0, "unfairness": 0.2}
    ),
    "eta, delayed": Case(
        "lfg", "eta", [1.0, 8.0], {"regret": 1.0, "unfairness": 0.3},
        {"delay": {"kind": "geometric", "p": 0.2}, "means": [0.9, 0.6, 0.4], "fractions": [0.2, 0.1, 0.3]},
    ),
    "merit": Case(
        "fcucb-d", "merit.scale", [0.5, 2.0], {"fairness_regret": 1.0, "regret": 0.5},
        {"merit": {"kind": "power", "scale": 1.0, "exponent": 2.0}, "reward": "bernoulli"},
    ),
    "self-regulated": Case(
        "self-regulated", "penalties", [[0.5, 0.5, 0.5], [0.4, 0.45, 0.55]], {"utility": -1.0},
        {"opportunity": {"kind": "softmax", "c": 1.0}, "reward": "bernoulli"}, 600,
    ),
    "exploration": Case("ucb1", "exploration", [0.3, 1.5], {"regret": 1.0}),
}  # fmt: skip


def central_differences(case, value, spread, seeds, key):
    """The slopes at a value and their standard errors, `[]` or `[K]`, by steps of `spread` times the mean value."""
    value = np.asarray(value, float)
    step = spread * float(np.mean(np.abs(value)))
    axes = np.eye(value.size).reshape(-1, *value.shape)
    points = [value + sign * step * axis for axis in axes for sign in (1, -1)]
    results = jb.simulate(
        case.problem, {str(n): case.at(point) for n, point in enumerate(points)},
        horizon=case.horizon, seeds=seeds, key=key, record=1, metrics=list(case.objective), pulls_mean=False,
    )  # fmt: skip
    runs = sum(weight * results[f"{name}_final"].values[:, 0] for name, weight in case.objective.items())
    slopes = (runs[::2] - runs[1::2]) / (2 * step)
    error = slopes.std(axis=1, ddof=1) / np.sqrt(seeds)
    return slopes.mean(axis=1).reshape(value.shape), error.reshape(value.shape)


def estimated(case, value, spread, seeds, key):
    """The same by `value_and_gradient`."""
    found = jb.tuning.value_and_gradient(
        case.problem, case.policy, {case.parameter: value},
        objective={"minimize": case.objective}, horizon=case.horizon, seeds=seeds, key=key, spread=spread,
    )  # fmt: skip
    return found.gradient[case.parameter], found.gradient_stderr[case.parameter]
