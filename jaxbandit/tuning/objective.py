"""What is tuned for: the expectation of a function of what a run comes to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from jaxbandit.core.component import Component, parameter
from jaxbandit.core.errors import InputError, unknown_key, unknown_name
from jaxbandit.core.input_values import finite_numbers
from jaxbandit.environment.problem import Problem
from jaxbandit.metrics import definitions as metrics
from jaxbandit.metrics.definitions import METRICS, MetricInputs


class Objective(Component):
    """An objective. A subclass writes `value` and, where it needs metrics, `metrics`; its fields are its parameters.

    Example:
        >>> class Served(Objective, name="served"):
        ...     maximised = True
        ...
        ...     def value(self, counts, truth, measured):
        ...         return counts[:, -1]
    """

    family: ClassVar[str] = "objective"
    registry: ClassVar[dict[str, Any]] = {}
    maximised: ClassVar[bool] = False
    label: ClassVar[str] = "objective"

    def metrics(self) -> list[str]:
        """The metrics it is made of, names of `jaxbandit.metrics.METRICS`; they say what it needs of the problem."""
        return []

    def value(self, counts: Any, inputs: MetricInputs, measured: Mapping[str, Any]) -> Any:
        """The objective of each run.

        Args:
            counts: N_k(T), `[1, K, C, S]`, C instances and S runs of each.
            truth: of the problem.
            measured: the metrics that `metrics` names, float `[1, C, S]`.

        Returns:
            Float `[1, C, S]`.
        """
        raise TypeError(f"{type(self).__name__} has no value")

    def check(self, key: str) -> None:
        """Refuse numbers out of range."""
        for name, field in self.parameters().items():
            if isinstance(field.default, str):  # the name of a metric
                if getattr(self, name) not in list(METRICS):
                    raise unknown_name(f"{key}.{name}", getattr(self, name), METRICS)
                continue
            low = field.metadata.get("low")
            if finite_numbers(getattr(self, name), f"{key}.{name}", "a number", *([] if low is None else [low])).ndim:
                raise InputError(f"{key}.{name}", getattr(self, name), "a number")


class PenalizedReward(Objective, name="penalized_reward"):
    """The expected reward less what missed rounds cost: sum_k mu_k N_k - A_k (tau_k T - N_k)+, with the problem's A."""

    maximised: ClassVar[bool] = True
    label: ClassVar[str] = "penalized reward"

    def metrics(self) -> list[str]:
        return ["penalized_regret"]  # for its needs

    def value(self, counts: Any, inputs: MetricInputs, measured: Mapping[str, Any]) -> Any:
        return metrics.expected_reward(counts, inputs) - metrics.total_penalty(counts, inputs)  # 000 eq. 4


class Reward(Objective, name="reward"):
    """The expected reward of what is played, sum_k mu_k N_k."""

    maximised: ClassVar[bool] = True
    label: ClassVar[str] = "expected reward"

    def value(self, counts: Any, inputs: MetricInputs, measured: Mapping[str, Any]) -> Any:
        return metrics.expected_reward(counts, inputs)


class Measured(Objective, name="metric"):
    """A metric; all are minimised but gains, as `utility` is."""

    metric: str = parameter("regret", doc="its name", static=True)

    @property
    def maximised(self) -> bool:  # type: ignore[override]
        return METRICS[self.metric].larger_is_better

    @property
    def label(self) -> str:  # type: ignore[override]
        return METRICS[self.metric].label

    def metrics(self) -> list[str]:
        return [self.metric]

    def value(self, counts: Any, inputs: MetricInputs, measured: Mapping[str, Any]) -> Any:
        return measured[self.metric]


class Budget(Objective, name="budget"):
    """A metric, minimised, while the mean of another is at most a budget: metric + price (limited - most).

    The price is the multiplier of the Lagrangian. `tune` starts from it and moves it with what the budget is exceeded
    by; `value_and_gradient` takes it as it is. Minimising `regret` is maximising reward.
    """

    metric: str = parameter("regret", doc="what is minimised", static=True)
    limited: str = parameter("unfairness", doc="what has a budget", static=True)
    most: float = parameter(0.0, doc="the budget, in the limited metric's unit")
    multiplier: float = parameter(1.0, low=0, doc="of a unit above the budget, at the start")
    pace: float = parameter(0.1, low=0, doc="how far the price moves a check, for a budget exceeded by itself")
    gain: float = parameter(1.0, low=0, doc="how far it moves with the excess, for a change by the budget itself")

    @property
    def label(self) -> str:  # type: ignore[override]
        return f"{self.metric} + price of {self.limited}".replace("_", " ")

    def metrics(self) -> list[str]:
        return [self.metric, self.limited]

    def value(self, counts: Any, inputs: MetricInputs, measured: Mapping[str, Any]) -> Any:
        return measured[self.metric] + self.multiplier * (measured[self.limited] - self.most)

    def repriced(self, spent: float, before: float) -> Budget:
        """The budget with its price moved: with what it is exceeded by, and with how that changed; not below 0.

        A multiplier that goes with the excess alone swings about its value; the second term damps it (Stooke, Achiam &
        Abbeel 2020).

        Args:
            spent: the mean of the limited metric now.
            before: the same at the last move.
        """
        unit = max(abs(self.most), 1.0)
        step = self.pace * (spent - self.most) / unit + self.gain * (spent - before) / unit
        return self.replace(multiplier=max(0.0, self.multiplier + step))


def objective(spec: Any, problem: Problem, key: str = "objective") -> Objective:
    """The objective that a name, a table or an `Objective` describes, checked against the problem.

    Args:
        spec: the name of a metric or of an objective; a table `{"kind": ..., parameter: ...}`; or an `Objective`.

    Raises:
        InputError: unknown, or it needs what the problem does not have.
    """
    names = [*METRICS, *(name for name in Objective.registry if name != "metric")]
    made = spec
    if isinstance(spec, str):
        spec = {"kind": spec}
    if isinstance(spec, Mapping):
        kind = spec.get("kind")
        if not isinstance(kind, str):
            raise unknown_name(f"{key}.kind", kind, names)
        if kind in METRICS:
            for name in spec:
                if name != "kind":
                    raise unknown_key(f"{key}.{name}", spec[name], ["kind"])
            made = Measured(metric=kind)
        elif kind not in Objective.registry:
            raise unknown_name(f"{key}.kind", kind, names)
        else:
            made = Objective.from_spec(spec, key)
    if not isinstance(made, Objective):
        raise InputError(key, spec, 'the name of a metric or an objective, or a table { kind = "...", ... }')
    made.check(key)
    try:
        metrics.resolve_metrics(made.metrics(), problem)
    except InputError as error:
        raise error.with_key(key) from None
    return made
