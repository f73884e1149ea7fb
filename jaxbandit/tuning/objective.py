"""Objectives of tuning: functions of a run's counts and metrics, whose expectation is minimised or maximised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from jax import Array

from jaxbandit.core.component import Component, parameter
from jaxbandit.core.errors import InputError, unknown_key, unknown_name
from jaxbandit.core.input_values import finite_numbers
from jaxbandit.environment.problem import Problem
from jaxbandit.metrics import definitions as metrics
from jaxbandit.metrics import formulas
from jaxbandit.metrics.definitions import METRICS, MetricInputs


class Objective(Component, required="value"):
    """A function of a run that `tune` minimises or maximises in expectation.

    To write your own objective, define `value` and, if it needs metrics, `metrics`. The fields of the class are its
    parameters.

    Attributes:
        maximised: whether larger is better (a class attribute, False by default).
        label: the name that figures show (a class attribute).

    Example:
        >>> class PlaysOfLastArm(jb.tuning.Objective, name="plays-of-last-arm"):
        ...     maximised = True
        ...
        ...     def value(self, counts, inputs, measured):
        ...         return counts[:, -1]
        >>> objective = PlaysOfLastArm()  # as in `jb.tuning.tune(..., objective=objective)`
        >>> objective.maximised
        True
    """

    family: ClassVar[str] = "objective"
    registry: ClassVar[dict[str, Any]] = {}
    maximised: ClassVar[bool] = False
    label: ClassVar[str] = "objective"

    def metrics(self) -> list[str]:
        """The names of the metrics that `value` gets, from `jb.metrics.METRICS`; none by default.

        The problem must have the keys that these metrics need.
        """
        return []

    def value(self, counts: Array, inputs: MetricInputs, measured: Mapping[str, Array]) -> Array:
        """The objective of each run.

        Args:
            counts: N_k(T), float `[1, K, C, S]`: C instances and S runs of each.
            inputs: the numbers of the problem, such as `inputs.means`, `[K, C, 1]`.
            measured: the metrics named by `metrics`, float `[1, C, S]`.

        Returns:
            Float `[1, C, S]`.
        """
        raise TypeError(f"{type(self).__name__} has no value")

    def check(self, key: str) -> None:
        """Check the parameters.

        Raises:
            InputError: naming `key.parameter`.
        """
        for name, field in self.parameters().items():
            held = getattr(self, name)
            if isinstance(field.default, str):  # the name of a metric
                if held not in list(METRICS):
                    raise unknown_name(f"{key}.{name}", held, METRICS)
                continue
            low = field.metadata.get("low")
            words = "a finite number" if low is None else f"a number >= {low:g}"
            if finite_numbers(held, f"{key}.{name}", words, *([] if low is None else [low])).ndim:
                raise InputError(f"{key}.{name}", held, words)


class PenalizedReward(Objective, name="penalized_reward"):
    """The expected reward minus the penalties for missed rounds, maximised.

    sum_k (mu_k N_k - A_k (tau_k T - N_k)+), with N_k selections of arm k in T rounds and the problem's means mu,
    fractions tau and penalty rates A; (x)+ is max(x, 0). In units of reward.

    Source: penalties paper, eq. 4.

    Example:
        >>> jb.tuning.PenalizedReward().maximised
        True
    """

    maximised: ClassVar[bool] = True
    label: ClassVar[str] = "penalized reward"

    def metrics(self) -> list[str]:
        return ["penalized_regret"]  # because it needs the same keys of the problem

    def value(self, counts: Array, inputs: MetricInputs, measured: Mapping[str, Array]) -> Array:
        return formulas.expected_reward(counts, inputs) - formulas.total_penalty(counts, inputs)  # eq. 4


class Reward(Objective, name="reward"):
    """The expected reward, sum_k mu_k N_k for N_k selections of arm k, maximised; in units of reward.

    Example:
        >>> jb.tuning.Reward().label
        'expected reward'
    """

    maximised: ClassVar[bool] = True
    label: ClassVar[str] = "expected reward"

    def value(self, counts: Array, inputs: MetricInputs, measured: Mapping[str, Array]) -> Array:
        return formulas.expected_reward(counts, inputs)


class MetricObjective(Objective, name="metric"):
    """A metric at the horizon, minimised; `utility`, which is a gain, is maximised.

    The name of a metric stands for this objective: `objective="regret"`.

    Args:
        metric: the name of a metric, from `jb.metrics.METRICS`; default "regret".

    Example:
        >>> jb.tuning.MetricObjective(metric="utility").maximised
        True
    """

    metric: str = parameter("regret", doc="the name of the metric", static=True)

    @property
    def maximised(self) -> bool:  # type: ignore[override]
        return METRICS[self.metric].larger_is_better

    @property
    def label(self) -> str:  # type: ignore[override]
        return METRICS[self.metric].label

    def metrics(self) -> list[str]:
        return [self.metric]

    def value(self, counts: Array, inputs: MetricInputs, measured: Mapping[str, Array]) -> Array:
        return measured[self.metric]


class Budget(Objective, name="budget"):
    """A metric that is minimised while the mean of another metric is to be at most a budget.

    For `tune`, the budget is a limit: `Goal(MetricObjective(metric=metric), (Limit(limited, most),))`. For
    `value_and_gradient`, the objective is metric + multiplier * (limited - most), the Lagrangian of this limit. To
    maximise the reward, minimise `regret`.

    Args:
        metric: the metric that is minimised; default "regret".
        limited: the metric that has the budget; default "unfairness".
        most: the budget, in the unit of the limited metric; default 0.
        multiplier: for `value_and_gradient`, the Lagrange multiplier, >= 0: the cost of one unit above the budget;
            default 1. `tune` finds it.

    Example:
        >>> budget = jb.tuning.Budget(most=5.0)  # as in `jb.tuning.tune(..., objective=budget)`
        >>> budget.metrics()
        ['regret', 'unfairness']
    """

    metric: str = parameter("regret", doc="the metric that is minimised", static=True)
    limited: str = parameter("unfairness", doc="the metric that has a budget", static=True)
    most: float = parameter(0.0, doc="the budget, in the limited metric's unit")
    multiplier: float = parameter(1.0, low=0, doc="the cost of one unit above the budget, for `value_and_gradient`")

    @property
    def label(self) -> str:  # type: ignore[override]
        return f"{self.metric} + multiplier of {self.limited}".replace("_", " ")

    def metrics(self) -> list[str]:
        return [self.metric, self.limited]

    def value(self, counts: Array, inputs: MetricInputs, measured: Mapping[str, Array]) -> Array:
        return measured[self.metric] + self.multiplier * (measured[self.limited] - self.most)


def make_objective(spec: object, problem: Problem, key: str = "objective") -> Objective:
    """The objective that a name, a table or an `Objective` describes, checked against the problem.

    Args:
        spec: the name of a metric or of an objective; a table `{"kind": ..., parameter: ...}`; or an `Objective`.
        problem: the problem.
        key: the config key or argument, for errors.

    Raises:
        InputError: an unknown name, or a metric needs a key that the problem does not have.
    """
    made = _described(spec, key)
    made.check(key)
    try:
        metrics.resolve_metrics(made.metrics(), problem)
    except InputError as error:
        raise error.with_key(key) from None
    return made


def _described(spec: object, key: str) -> Objective:
    if isinstance(spec, Objective):
        return Objective.from_spec(spec, key)
    if isinstance(spec, str):
        spec = {"kind": spec}
    if not isinstance(spec, Mapping):
        words = 'the name of a metric or of an objective, or a table { kind = "...", ... }'
        raise InputError(key, spec, words)
    kind = spec.get("kind")
    if isinstance(kind, str) and kind in METRICS:
        for name in spec:
            if name != "kind":
                raise unknown_key(f"{key}.{name}", spec[name], ["kind"])
        return MetricObjective(metric=kind)
    if not isinstance(kind, str) or kind not in Objective.registry:
        names = [*METRICS, *(name for name in Objective.registry if name != "metric")]
        raise unknown_name(f"{key}.kind", kind, names)
    made: Objective = Objective.from_spec(spec, key)
    return made
