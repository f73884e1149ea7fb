"""Which parameters of which policies can be tuned, where they start, and what keeps them in range."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxbandit.core.component import Component
from jaxbandit.core.errors import InputError, unknown_name
from jaxbandit.core.input_values import finite_numbers
from jaxbandit.environment.merit import Merit
from jaxbandit.environment.problem import Problem
from jaxbandit.policies.base import Alias, Index, Policy
from jaxbandit.policies.merit.proportional import ConfidenceRegionPolicy, MeritPolicy

ESTIMATORS = ("relaxed", "score")
CONSTRAINTS = ("projection", "reparametrisation")
Values = dict[str, np.ndarray]


@dataclass(frozen=True)
class Tunable:
    """A parameter to tune.

    Attributes:
        name: as given: a field of the policy or its base, or `merit.` and a field of the merit function.
        path: the fields that lead to it from the policy.
        start: float64, `[]` or `[K]`.
        low, high: its range, ends included; None where it has no end.
        constraint: "projection": it moves as it is, and is clipped to its range; "reparametrisation": what moves is
            x, with low + exp(x), or a logistic function where both ends are there, in the range whatever x is.
    """

    name: str
    path: tuple[str, ...]
    start: np.ndarray
    low: float | None
    high: float | None
    constraint: str

    def free(self, value: np.ndarray) -> np.ndarray:
        """What moves, for a value of the parameter."""
        if self.constraint == "projection" or self.low is None:
            return value
        if self.high is None:
            return np.log(value - self.low)
        return np.log(value - self.low) - np.log(self.high - value)

    def kept(self, free: np.ndarray) -> np.ndarray:
        """What moves, back in range where it has to be."""
        return self.value(free) if self.constraint == "projection" else free

    def value(self, free: np.ndarray) -> np.ndarray:
        """The parameter, for what moves."""
        if self.constraint == "projection":
            return np.clip(free, -math.inf if self.low is None else self.low, self.high)
        if self.low is None:
            return free
        if self.high is None:
            return self.low + np.exp(free)
        return self.low + (self.high - self.low) / (1.0 + np.exp(-free))

    def slope(self, free: np.ndarray) -> np.ndarray:
        """The derivative of `value`, 1 where the parameter moves as it is."""
        if self.constraint == "projection" or self.low is None:
            return np.ones_like(free)
        above = self.value(free) - self.low
        return above if self.high is None else above * (1.0 - above / (self.high - self.low))


def check_estimator(policy: Policy, prepared: Policy, estimator: str, problem: Problem) -> None:
    """Refuse an estimator that is none, or none for the policy or the problem.

    Raises:
        InputError: naming what is at fault, and which policies can be tuned by which estimator.
    """
    if estimator not in ESTIMATORS:
        raise unknown_name("estimator", estimator, ESTIMATORS)
    able = estimators_of(prepared)
    if not able:
        raise InputError("policy", policy.name, f"a policy that chooses by smooth scores or chances: {catalogue()}")
    if estimator not in able:
        words = f"'score' with {policy.name}, whose scores or draws take whole counts only; {catalogue()}"
        raise InputError("estimator", estimator, words)
    if estimator == "relaxed" and not problem.delay.immediate:
        words = "'none' with the relaxed estimator; the score-function estimator takes any delay"
        raise InputError("problem.delay", problem.delay.name, words)
    if estimator == "score" and isinstance(prepared, MeritPolicy) and problem.plays > 1:
        words = f"1 with {policy.name} and the score-function estimator: the chance of a rounded set is not known"
        raise InputError("problem.plays", problem.plays, words)


def estimators_of(prepared: Policy) -> tuple[str, ...]:
    """The estimators that a policy, prepared or with its parameters as they are, can be tuned by."""
    by_score = isinstance(prepared, Index) and type(prepared).select is Index.select
    by_chance = isinstance(prepared, MeritPolicy) and not isinstance(prepared, ConfidenceRegionPolicy)
    if not (by_score or by_chance) or not (by_chance or smooth_of(prepared)):
        return ()
    return ESTIMATORS if all(part.real_counts for part in prepared.nested_policies()) else ("score",)


def smooth_of(policy: Policy) -> list[str]:
    """The names of the parameters that a policy's choice is smooth in."""
    names = [
        name for part in policy.nested_policies() for name, f in part.parameters().items() if f.metadata.get("smooth")
    ]
    merit = getattr(policy, "merit", None)
    if isinstance(merit, Merit):
        names += [f"merit.{name}" for name, f in merit.parameters().items() if f.metadata.get("smooth")]
    return names


def catalogue() -> str:
    """Which registered policies can be tuned, and by which estimator, in words."""
    able: dict[str, list[str]] = {estimator: [] for estimator in ESTIMATORS}
    for name, entry in Policy.registry.items():
        if not isinstance(entry, Alias):
            for estimator in estimators_of(entry()):
                able[estimator].append(name)
    return f"by 'relaxed' or 'score' {', '.join(able['relaxed'])}; by 'score' alone " + ", ".join(
        name for name in able["score"] if name not in able["relaxed"]
    )


def tunables(prepared: Policy, asked: Any, constraint: Any, arms: int) -> list[Tunable]:
    """The parameters asked for, checked.

    Args:
        prepared: the policy, prepared for a problem of that many arms.
        asked: names, or a mapping from names to where they start: a number, or K numbers, one an arm.
        constraint: one of `CONSTRAINTS`, or a mapping from names to them.

    Raises:
        InputError: an unknown name, one the choice is not smooth in, a start out of range.
    """
    listed = isinstance(asked, Sequence | Mapping) and not isinstance(asked, str)
    if not listed or not asked or not all(isinstance(name, str) for name in asked):
        words = 'names, as ["penalties"], or a table of names and where they start, as { eta = 1.0 }'
        raise InputError("parameters", asked, words)
    starts = dict(asked) if isinstance(asked, Mapping) else dict.fromkeys(asked)
    kinds = dict(constraint) if isinstance(constraint, Mapping) else dict.fromkeys(starts, constraint)
    for name, kind in kinds.items():
        if name not in starts:
            raise unknown_name("constraint", name, [str(known) for known in starts])
        if kind not in CONSTRAINTS:
            raise unknown_name("constraint", kind, CONSTRAINTS)
    return [_tunable(prepared, name, start, kinds.get(name, "projection"), arms) for name, start in starts.items()]


def _tunable(prepared: Policy, name: str, start: Any, constraint: str, arms: int) -> Tunable:
    smooth = smooth_of(prepared)
    if name not in smooth:
        raise unknown_name("parameters", name, smooth)
    path, owner = _path(prepared, name)
    value = _held(getattr(owner, path[-1]), name) if start is None else start
    about = owner.parameters()[path[-1]].metadata
    made = Tunable(name, path, _numbers(value, name, about, arms), about["low"], about["high"], constraint)
    with np.errstate(divide="ignore", invalid="ignore"):
        if not np.all(np.isfinite(made.free(made.start))):
            raise InputError(f"parameters.{name}", value, f"numbers inside their range with constraint {constraint!r}")
    return made


def _numbers(value: Any, name: str, about: Mapping[str, Any], arms: int) -> np.ndarray:
    """A start, `[]` or `[K]`, in the range that the parameter has."""
    low, high = (
        -math.inf if about["low"] is None else about["low"],
        math.inf if about["high"] is None else about["high"],
    )
    numbers = finite_numbers(
        value, f"parameters.{name}", f"numbers from {low:g} to {high:g}, one or one an arm", low, high
    )
    if numbers.shape not in ((), (arms,)):
        raise InputError(f"parameters.{name}", value, f"a number, or {arms} numbers, one an arm")
    return numbers


def started(policy: Policy, asked: Any, arms: int) -> Policy:
    """The policy with the starts that are given, so that it need not hold them, nor the problem."""
    given = asked if isinstance(asked, Mapping) else {}
    known = [name for name in smooth_of(policy) if given.get(name) is not None and "." not in name]
    for name in known:
        path, owner = _path(policy, name)
        numbers = _numbers(given[name], name, owner.parameters()[path[-1]].metadata, arms)
        policy = with_values(policy, {path: numbers.tolist()})
    return policy


def _path(policy: Policy, name: str) -> tuple[tuple[str, ...], Component]:
    """The fields that lead to a parameter, and the component that has it."""
    head, _, tail = name.partition(".")
    path: tuple[str, ...] = ()
    owner: Any = policy
    while head not in owner.parameters():
        inner = next(n for n in owner.parameters() if isinstance(getattr(owner, n), Policy))
        path, owner = (*path, inner), getattr(owner, inner)
    path = (*path, head)
    return ((*path, tail), getattr(owner, head)) if tail else (path, owner)


def _held(value: Any, name: str) -> Any:
    """The value that a prepared policy holds, `[]` or `[K, J or 1]`, as a number or K numbers."""
    array = np.asarray(value, np.float64)
    if array.ndim < 2:
        return array
    if not np.all(array == array[:, :1]):
        raise InputError(f"parameters.{name}", array.T.tolist(), "a start that all instances share: give one here")
    return array[:, 0]


def with_values(policy: Any, values: Mapping[tuple[str, ...], Any]) -> Any:
    """A component with the values of some parameters, by their paths."""
    for path, value in values.items():
        head, *rest = path
        inner = with_values(getattr(policy, head), {tuple(rest): value}) if rest else value
        policy = dataclasses.replace(policy, **{head: inner})
    return policy


def tuned(policy: Policy, prepared: Policy, chosen: Sequence[Tunable], values: Mapping[str, np.ndarray]) -> Policy:
    """The policy as a user writes it, with some values: numbers, or lists of K."""
    if isinstance(policy, MeritPolicy) and any(one.path[0] == "merit" for one in chosen):
        policy = policy.replace(merit=prepared.merit)  # type: ignore[attr-defined]
    return with_values(policy, {one.path: np.asarray(values[one.name]).tolist() for one in chosen})
