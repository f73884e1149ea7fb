"""`Goal`: what tuning minimises or maximises, and the limits that the result has to meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.errors import InputError, unknown_key, unknown_name
from jaxbandit.core.input_values import finite_numbers, to_python
from jaxbandit.environment.problem import Problem
from jaxbandit.metrics import definitions as metrics
from jaxbandit.metrics.definitions import MetricInputs
from jaxbandit.metrics.metric import METRICS
from jaxbandit.tuning.objective import Budget, MetricObjective, Objective, make_objective

OVER = ("mean", "worst")
_KEYS = ("minimize", "subject_to", "over")
_LIMIT_KEYS = ("metric", "at_most", "at_least")


class WeightedSum(Objective, name="weighted_sum"):
    """A weighted sum of metrics, minimised. A negative weight maximises its metric.

    The table `{"minimize": {"regret": 1.0, "unfairness": 0.5}}` stands for this objective.

    Args:
        weights: by the name of a metric, a number.

    Example:
        >>> jb.tuning.WeightedSum(weights={"regret": 1.0, "unfairness": 0.5}).label
        'regret + 0.5 unfairness'
    """

    weights: Any = parameter(doc="the weight of each metric, by name", static=True)

    @property
    def label(self) -> str:  # type: ignore[override]
        terms = (f"{'' if weight == 1 else f'{weight:g} '}{name}" for name, weight in self._pairs())
        return " + ".join(terms).replace("_", " ").replace("+ -", "- ")

    def _pairs(self) -> list[tuple[str, float]]:
        return list(dict(self.weights).items())

    def metrics(self) -> list[str]:
        return [name for name, _ in self._pairs()]

    def check(self, key: str) -> None:
        try:
            pairs = self._pairs()
        except (TypeError, ValueError):
            pairs = []
        if not pairs:
            raise InputError(f"{key}.weights", self.weights, "a table of weights, { regret = 1.0 }")
        for name, weight in pairs:
            if finite_numbers(weight, f"{key}.{name}", "a finite number").ndim:
                raise InputError(f"{key}.{name}", weight, "a finite number")
        if not any(weight for _, weight in pairs):
            raise InputError(f"{key}.weights", self.weights, "a table with a weight that is not 0")

    def value(self, counts: Array, inputs: MetricInputs, measured: Mapping[str, Array]) -> Array:
        first, *others = (measured[name] * weight for name, weight in self._pairs())
        return sum(others, start=first)


@dataclass(frozen=True)
class Limit:
    """A limit on the mean of a metric.

    Attributes:
        metric: its name.
        bound: the limit, in the unit of the metric.
        at_most: whether the mean must be at most `bound` (default) or at least `bound`.

    Example:
        >>> print(jb.tuning.Limit("unfairness", 20.0))
        unfairness <= 20
    """

    metric: str
    bound: float
    at_most: bool = True

    def excess(self, values: np.ndarray) -> np.ndarray:
        """How far values are beyond the limit; negative within it."""
        return values - self.bound if self.at_most else self.bound - values

    def mean(self, excess: np.ndarray) -> np.ndarray:
        """The mean of the metric that has an excess."""
        return self.bound + (excess if self.at_most else -excess)

    def __str__(self) -> str:
        return f"{self.metric.replace('_', ' ')} {'<=' if self.at_most else '>='} {self.bound:g}"


@dataclass(frozen=True)
class Goal:
    """What tuning aims at: an objective, and limits.

    Attributes:
        objective: what is minimised, or maximised if `objective.maximised`.
        limits: the limits on the means of metrics; default: none.
        over: "mean" (default): the objective and the limits are about means over the instances. "worst": the objective
            is that of the instance where it is worst, and each limit is about the instance where it is exceeded most.

    Example:
        >>> limits = (jb.tuning.Limit("unfairness", 20.0), jb.tuning.Limit("utility", 5.0, at_most=False))
        >>> goal = jb.tuning.Goal(jb.tuning.MetricObjective(metric="regret"), limits)
        >>> goal.metrics
        ['regret', 'unfairness', 'utility']
    """

    objective: Objective
    limits: tuple[Limit, ...] = ()
    over: str = "mean"

    @property
    def metrics(self) -> list[str]:
        """The metrics of the objective and of the limits."""
        return list(dict.fromkeys([*self.objective.metrics(), *(limit.metric for limit in self.limits)]))

    def name_of(self, limit: Limit) -> str:
        """The name of a limited mean: the metric, and "_at_least" where the other limit is about another instance."""
        twice = [one.metric for one in self.limits].count(limit.metric) > 1
        return f"{limit.metric}_at_least" if twice and self.over == "worst" and not limit.at_most else limit.metric

    @property
    def sign(self) -> float:
        """-1 if the objective is maximised, else 1."""
        return -1.0 if self.objective.maximised else 1.0


def make_goal(spec: object, problem: Problem, key: str = "objective") -> Goal:
    """The goal that the argument `objective` of `tune` describes, checked against the problem.

    Args:
        spec: a `Goal`; what `make_objective` takes, a `Budget` among it; or a table with the keys `minimize`,
            `subject_to` and `over`.
        problem: the problem.
        key: the argument, for errors.

    Raises:
        InputError: naming the key.
    """
    spec = to_python(spec) if isinstance(spec, Mapping) else spec
    if isinstance(spec, Mapping) and _is_goal(spec):
        goal = _from_table(spec, key)
    elif isinstance(spec, Goal):
        goal = spec
        _check_parts(goal, key)
    else:
        made = make_objective(spec, problem, key)
        goal = Goal(made)
        if isinstance(made, Budget):
            goal = Goal(MetricObjective(metric=made.metric), (Limit(made.limited, float(made.most)),))
    _check_sides(goal.limits, f"{key}.{'limits' if goal is spec else 'subject_to'}")
    goal.objective.check(f"{key}.minimize" if isinstance(goal.objective, WeightedSum) else key)
    try:
        metrics.resolve_metrics(goal.metrics, problem)
    except InputError as error:
        raise error.with_key(key) from None
    return goal


def make_objective_only(spec: object, problem: Problem, key: str = "objective") -> Objective:
    """The objective that the argument `objective` of `value_and_gradient` describes, checked against the problem.

    Args:
        spec: what `make_objective` takes, or a goal without limits.
        problem, key: as for `make_goal`.

    Raises:
        InputError: naming the key.
    """
    if not (isinstance(spec, Goal) or (isinstance(spec, Mapping) and _is_goal(spec))):
        return make_objective(spec, problem, key)
    goal = make_goal(spec, problem, key)
    if goal.limits:
        limits = ", ".join(map(str, goal.limits))
        words = 'must be empty for a gradient; take the gradient of each metric, or of { kind = "budget", ... }'
        raise InputError(f"{key}.subject_to", limits, words)
    if goal.over != "mean":
        raise InputError(f"{key}.over", goal.over, "'mean' for a gradient")
    return goal.objective


def _check_parts(goal: Goal, key: str) -> None:
    """Check the parts of a `Goal` that the user made."""
    if not isinstance(goal.objective, Objective) or isinstance(goal.objective, Budget):
        words = "an `Objective` other than a `Budget`; `limits` has the budgets"
        raise InputError(f"{key}.objective", goal.objective, words)
    if not isinstance(goal.limits, tuple | list):
        raise InputError(f"{key}.limits", goal.limits, "a tuple of `Limit`")
    for number, limit in enumerate(goal.limits):
        where = f"{key}.limits[{number}]"
        if not isinstance(limit, Limit):
            raise InputError(where, limit, "a `Limit`")
        _check_limit(limit.metric, limit.bound, where, "bound")
    if goal.over not in OVER:
        raise unknown_name(f"{key}.over", goal.over, OVER)


def _check_sides(limits: Sequence[Limit], key: str) -> None:
    """Refuse two limits on the same side of one metric."""
    sides = [(limit.metric, limit.at_most) for limit in limits]
    for number, limit in enumerate(limits):
        if sides[number] in sides[:number]:
            words = f"must not be a second `{'at_most' if limit.at_most else 'at_least'}` of {limit.metric}"
            raise InputError(f"{key}[{number}]", str(limit), words)


def _is_goal(spec: Mapping[str, object]) -> bool:
    """Whether a table is one of a goal, if perhaps a wrong one, rather than of an objective."""
    near = not {*_KEYS, "maximize", "maximise", "minimise"}.isdisjoint(spec)
    return "minimize" in spec or (near and "kind" not in spec)


def _from_table(spec: Mapping[str, object], key: str) -> Goal:
    for name in spec:
        if name not in _KEYS:
            raise unknown_key(f"{key}.{name}", spec[name], _KEYS)
    weights, over = spec.get("minimize"), spec.get("over", "mean")
    if isinstance(weights, str):
        weights = {weights: 1.0}
    if not isinstance(weights, Mapping) or not weights:
        raise InputError(f"{key}.minimize", weights, "the name of a metric, or a table of weights, { regret = 1.0 }")
    for name in weights:
        if name not in list(METRICS):
            raise unknown_name(f"{key}.minimize", name, METRICS)
    if over not in OVER:
        raise unknown_name(f"{key}.over", over, OVER)
    objective: Objective = WeightedSum(weights=tuple(weights.items()))
    objective.check(f"{key}.minimize")
    if list(weights.values()) == [1]:
        objective = MetricObjective(metric=next(iter(weights)))
        if objective.maximised:  # "minimize" says so
            objective = WeightedSum(weights=tuple(weights.items()))
    return Goal(objective, _limits(spec.get("subject_to", []), f"{key}.subject_to"), str(over))


def _limits(given: object, key: str) -> tuple[Limit, ...]:
    tables = [given] if isinstance(given, Mapping) else given
    if not isinstance(tables, Sequence) or isinstance(tables, str):
        raise InputError(key, given, 'a list of tables, such as { metric = "unfairness", at_most = 20.0 }')
    return tuple(_limit(one, f"{key}[{number}]") for number, one in enumerate(tables))


def _limit(given: object, key: str) -> Limit:
    if not isinstance(given, Mapping):
        raise InputError(key, given, 'a table, such as { metric = "unfairness", at_most = 20.0 }')
    for name in given:
        if name not in _LIMIT_KEYS:
            raise unknown_key(f"{key}.{name}", given[name], _LIMIT_KEYS)
    bounds = [name for name in ("at_most", "at_least") if name in given]
    if "metric" in given and len(bounds) != 1:
        raise InputError(key, dict(given), "a table with `metric` and one of `at_most` and `at_least`")
    metric, bound = given.get("metric"), float("nan") if not bounds else given[bounds[0]]
    _check_limit(metric, bound, key, bounds[0] if bounds else "at_most")
    return Limit(str(metric), float(bound), bounds[0] == "at_most")


def _check_limit(metric: object, bound: object, key: str, name: str) -> None:
    """Check the metric and the bound of a limit; `name` is the key of the bound."""
    if metric not in list(METRICS):
        raise unknown_name(f"{key}.metric", metric, METRICS)
    if bound is None or finite_numbers(bound, f"{key}.{name}", "a finite number").ndim:
        raise InputError(f"{key}.{name}", bound, "a finite number")
