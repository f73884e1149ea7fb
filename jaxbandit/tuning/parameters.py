"""Which parameters of which policies can be tuned, where they start, and what keeps them in range."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from jaxbandit.core.component import Component
from jaxbandit.core.errors import InputError, unknown_name
from jaxbandit.core.input_values import finite_numbers, is_whole
from jaxbandit.engine.stepping.relaxed.relaxable import (
    accepts_shares,
    check_no_delay,
    has_soft_choice,
    selects_by_chances,
)
from jaxbandit.environment.merit import Merit
from jaxbandit.environment.problem import Problem
from jaxbandit.policies.base import Alias, Policy
from jaxbandit.policies.merit.proportional import MeritPolicy

SOFT_ESTIMATORS = ("relaxed", "score")
ESTIMATORS = ("perturbation", *SOFT_ESTIMATORS)
Values = dict[str, np.ndarray]  # the values of parameters by name, float64 `[]` or `[K]`
ComponentType = TypeVar("ComponentType", bound=Component)


@dataclass(frozen=True)
class Tunable:
    """A parameter to tune.

    Attributes:
        name: as the user gave it: a field of the policy or of its base, or `merit.` and a field of the merit function.
        path: the names of the fields that lead to it from the policy.
        start: float64, `[]` or `[K]`.
        low, high: its range, ends included; None for no end.
    """

    name: str
    path: tuple[str, ...]
    start: np.ndarray
    low: float | None
    high: float | None


def check_estimator(policy: Policy, prepared: Policy, estimator: object, problem: Problem) -> None:
    """Refuse an unknown estimator, and one that does not work with the policy or the problem.

    Raises:
        InputError: naming the argument, and the policies that each estimator can tune.
    """
    if estimator not in ESTIMATORS:
        raise unknown_name("estimator", estimator, ESTIMATORS)
    if estimator == "perturbation":
        return
    supported = supported_estimators(prepared)
    if not supported:
        words = f"a policy that can be tuned on this problem. {tunable_policies()}"
        raise InputError("policy", policy.name, words)
    if estimator not in supported:
        words = f"'score' for {policy.name}, whose scores or draws need counts that are integers. {tunable_policies()}"
        raise InputError("estimator", estimator, words)
    if estimator == "relaxed":
        check_no_delay(problem, "with the estimator 'relaxed'; the estimator 'score' works with any delay")
    if estimator == "score" and isinstance(prepared, MeritPolicy) and problem.plays > 1:
        reason = "because the probability of a set of several arms is not known"
        raise InputError("problem.plays", problem.plays, f"1 for {policy.name} with the estimator 'score', {reason}")


def supported_estimators(prepared: Policy) -> tuple[str, ...]:
    """The soft estimators by which a policy can be tuned; the policy need not be prepared."""
    if not has_soft_choice(prepared) or not (selects_by_chances(prepared) or smooth_parameters(prepared)):
        return ()
    return SOFT_ESTIMATORS if accepts_shares(prepared) else ("score",)


def smooth_parameters(policy: Policy) -> list[str]:
    """The names of the parameters in which a policy's scores or chances are smooth."""
    names = [
        name for part in policy.nested_policies() for name, f in part.parameters().items() if f.metadata.get("smooth")
    ]
    merit = getattr(policy, "merit", None)
    if isinstance(merit, Merit):
        names += [f"merit.{name}" for name, f in merit.parameters().items() if f.metadata.get("smooth")]
    return names


def numeric_parameters(policy: Policy) -> list[str]:
    """The names of the parameters that are real numbers, of a prepared policy, of those that it wraps and of its merit.

    Whole numbers are not among them: the search moves parameters by any distance.
    """
    names = []
    for part in policy.nested_policies():
        fields = part.parameters()
        numbers = [name for name, value in part.numbers().items() if not isinstance(value, Component)]
        names += [name for name in numbers if not is_whole(fields[name])]
    merit = getattr(policy, "merit", None)
    if isinstance(merit, Merit):
        names += [f"merit.{name}" for name in merit.numbers()]
    return names


def tunable_policies() -> str:
    """The registered policies that can be tuned, by estimator, in words."""
    names: dict[str, list[str]] = {estimator: [] for estimator in SOFT_ESTIMATORS}
    for name, entry in Policy.registry.items():
        if not isinstance(entry, Alias):
            for estimator in supported_estimators(entry()):
                names[estimator].append(name)
    only_score = [name for name in names["score"] if name not in names["relaxed"]]
    return f"Both estimators can tune {', '.join(names['relaxed'])}; only 'score' can tune {', '.join(only_score)}"


def make_tunables(prepared: Policy, parameters: object, estimator: str, arms: int) -> list[Tunable]:
    """The parameters to tune, checked.

    Args:
        prepared: the policy, prepared for a problem of `arms` arms.
        parameters: names, or a mapping from names to starts: a number, or K numbers, one per arm.
        estimator: one of `ESTIMATORS`. The soft ones need parameters in which the policy is smooth.

    Raises:
        InputError: an unknown name, a parameter that cannot be tuned, such as a whole number, or a start out of range.
    """
    known = numeric_parameters(prepared) if estimator == "perturbation" else smooth_parameters(prepared)
    return [_tunable(prepared, name, start, known, arms) for name, start in _starts(parameters).items()]


def _starts(parameters: object) -> dict[str, Any]:
    """The starts of the parameters by name; None where the policy's own value is the start."""
    listed = isinstance(parameters, Sequence | Mapping) and not isinstance(parameters, str)
    if not listed or not parameters or not all(isinstance(name, str) for name in parameters):  # type: ignore[attr-defined]
        words = 'a list of names, such as ["penalties"], or names with starting values, such as { eta = 1.0 }'
        raise InputError("parameters", parameters, words)
    if isinstance(parameters, Mapping):
        return dict(parameters)
    starts = dict.fromkeys(parameters)  # type: ignore[call-overload]
    if len(starts) < len(parameters):  # type: ignore[arg-type]
        raise InputError("parameters", parameters, "a list that names each parameter once")
    return starts


def _tunable(prepared: Policy, name: str, start: object, known: Sequence[str], arms: int) -> Tunable:
    if not known:
        words = "left out: the policy has no parameter that is a number and can be tuned in this way"
        raise InputError("parameters", name, words)
    if name not in known:
        fields = {key: field for part in prepared.nested_policies() for key, field in part.parameters().items()}
        if name in fields and (is_whole(fields[name]) or fields[name].metadata.get("static")):
            words = "a parameter that may be any real number in its range; a grid of `jb.simulate` compares the others"
            raise InputError("parameters", name, f"{words} (here: {', '.join(known)})")
        raise unknown_name("parameters", name, known)
    path, owner = _path(prepared, name)
    value = _shared_start(getattr(owner, path[-1]), name) if start is None else start
    about = owner.parameters()[path[-1]].metadata
    return Tunable(name, path, _checked_start(value, name, about, arms), about["low"], about["high"])


def _checked_start(value: object, name: str, about: Mapping[str, Any], arms: int) -> np.ndarray:
    """A start, `[]` or `[K]`, in the range of the parameter; `about` is the metadata of its field."""
    low, high = (
        -math.inf if about["low"] is None else about["low"],
        math.inf if about["high"] is None else about["high"],
    )
    words = f"a number, or {arms} numbers, one per arm, from {low:g} to {high:g}"
    numbers = finite_numbers(value, f"parameters.{name}", words, low, high)
    if numbers.shape not in ((), (arms,)):
        raise InputError(f"parameters.{name}", value, words)
    return numbers


def check_start(policy: Policy, prepared: Policy, tunables: Sequence[Tunable], problem: Problem, horizon: int) -> None:
    """Refuse starts that the policy refuses on the problem.

    Raises:
        InputError: naming the parameter.
    """
    starts = {tunable.name: tunable.start for tunable in tunables}
    try:
        tuned_policy(policy, prepared, tunables, starts).prepare(problem, horizon)
    except InputError as error:
        raise error.with_key(re.sub(r"^policies\.", "parameters.", error.key)) from None


def with_starts(policy: Policy, parameters: object, arms: int) -> Policy:
    """The policy with the starts that are given, which neither the policy nor the problem then needs to hold."""
    given = parameters if isinstance(parameters, Mapping) else {}
    known = [name for name in smooth_parameters(policy) if given.get(name) is not None and "." not in name]
    for name in known:
        path, owner = _path(policy, name)
        numbers = _checked_start(given[name], name, owner.parameters()[path[-1]].metadata, arms)
        policy = with_values(policy, {path: numbers.tolist()})
    return policy


def _path(policy: Policy, name: str) -> tuple[tuple[str, ...], Component]:
    """The names of the fields that lead to a parameter, and the component that has it."""
    head, _, tail = name.partition(".")
    path: tuple[str, ...] = ()
    owner: Component = policy
    while head not in owner.parameters():
        inner = next(n for n in owner.parameters() if isinstance(getattr(owner, n), Policy))
        path, owner = (*path, inner), getattr(owner, inner)
    path = (*path, head)
    return ((*path, tail), getattr(owner, head)) if tail else (path, owner)


def _shared_start(value: object, name: str) -> np.ndarray:
    """The value that a prepared policy holds, `[]` or `[K, J or 1]`, as a number or K numbers for all instances."""
    array = np.asarray(value, np.float64)
    if array.ndim < 2:
        return array
    if not np.all(array == array[:, :1]):
        words = "the same for all instances; give a starting value otherwise"
        raise InputError(f"parameters.{name}", array.T.tolist(), words)
    return array[:, 0]


def with_values(component: ComponentType, values: Mapping[tuple[str, ...], object]) -> ComponentType:
    """A component with the values of some parameters, which are given by their paths."""
    for path, value in values.items():
        head, *rest = path
        inner = with_values(getattr(component, head), {tuple(rest): value}) if rest else value
        component = dataclasses.replace(component, **{head: inner})  # type: ignore[type-var]
    return component


def tuned_policy(
    policy: Policy, prepared: Policy, tunables: Sequence[Tunable], values: Mapping[str, np.ndarray]
) -> Policy:
    """The policy as a user writes it, with the values of its tuned parameters: numbers, or lists of K numbers."""
    if isinstance(policy, MeritPolicy) and any(tunable.path[0] == "merit" for tunable in tunables):
        policy = policy.replace(merit=prepared.merit)  # type: ignore[attr-defined]
    return with_values(policy, {tunable.path: np.asarray(values[tunable.name]).tolist() for tunable in tunables})


def in_words(values: Values, precision: int = 6) -> str:
    """Values of parameters in words, with so many significant digits."""
    parts = []
    for name, value in values.items():
        numbers = [f"{number:.{precision}g}" for number in np.ravel(value)]
        parts.append(f"{name} = {numbers[0] if np.ndim(value) == 0 else '[' + ', '.join(numbers) + ']'}")
    return ", ".join(parts)
