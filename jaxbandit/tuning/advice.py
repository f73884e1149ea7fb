"""What a user should know about the result of tuning: one sentence per finding, with advice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from jaxbandit.engine.advice.arm_order import helped_by_order
from jaxbandit.environment.problem import Problem
from jaxbandit.experiments.statistics import CONFIDENCE, with_error
from jaxbandit.metrics.definitions import caveats
from jaxbandit.policies.base import Policy
from jaxbandit.tuning.goal import Limit
from jaxbandit.tuning.parameters import Tunable
from jaxbandit.tuning.search.evaluation import Evaluator
from jaxbandit.tuning.search.points import Point
from jaxbandit.tuning.search.steps import Search
from jaxbandit.tuning.search.sweep import Sweep
from jaxbandit.tuning.tuned import Tuned

_UNUSED = 0.02  # of a limit's bound: less than this is not worth a word
_MANY_ERRORS = 4.0  # standard errors


def advice(tuned: Tuned, tunables: list[Tunable], swept: Sweep, search: Search, evaluator: Evaluator) -> Iterator[str]:
    """What there is to say, most important first.

    Args:
        tuned: the result, without its warnings.
        tunables: the parameters.
        swept: the sweep of common values.
        search: the search, with its steps.
        evaluator: what simulated the points.
    """
    result = tuned.points[-1]
    yield from _flat(tuned, swept)
    limits = tuned.goal.limits
    tight = any(_slack(limit, tuned) <= _worth(limit, tuned) for limit in limits)
    for limit, free in zip(limits, swept.free, strict=True):
        yield from _on_limit(limit, tuned, matters=not tight and free > _UNUSED * abs(limit.bound))
    if tuned.step == 0:
        words = f"the start is the result: neither a sweep of common values nor {len(search.steps)} steps found values "
        yield words + "with a better objective within the limits; other parameters or more `seeds` may help"
    if not tuned.converged:
        yield (
            f"the search has not converged in {len(search.steps)} steps: the result may be improved by more `steps`, "
            "or by a second call that starts from it"
        )
    yield from _at_ends(tunables, result, swept)
    if evaluator.refusals:
        words = f"the policy refused {len(evaluator.refusals)} of {evaluator.simulated} points, which counted as out of"
        yield f"{words} range; the first refusal: {evaluator.refusals[0]}"
    if evaluator.not_finite:
        which = ", the start among them" if not math.isfinite(tuned.points[0].objective) else ""
        yield (
            f"the objective or a limited metric was not finite at {evaluator.not_finite} of {evaluator.simulated} "
            f"points{which}; these points cannot be the result"
            + (f"; the first error: {evaluator.failures[0]}" if evaluator.failures else "")
        )


def about_problem(policy: Policy, problem: Problem, metrics: Sequence[str]) -> Iterator[str]:
    """Warnings that do not depend on the result: about ties and about misleading metrics."""
    words = "list the arms in another order, since tuning takes the default ties alone"
    if order := helped_by_order([policy], [problem], words):
        yield order
    yield from caveats(metrics, problem)


def _flat(tuned: Tuned, swept: Sweep) -> Iterator[str]:
    goal, start, result = tuned.goal, tuned.points[0], tuned.points[-1]
    error = math.hypot(start.objective_stderr, result.objective_stderr)
    better = abs(result.objective - start.objective) > _MANY_ERRORS * error
    for name, largest in swept.flat.items():
        if better and np.ptp(tuned.values[name]) > 0:  # numbers of their own, one per arm, do matter
            continue
        metrics = " and ".join(dict.fromkeys([goal.objective.label, *(limit.metric for limit in goal.limits)]))
        yield (
            f"{metrics} did not depend on {name} in a sweep of common values up to {largest:.3g}: no value differed by "
            f"more than {_MANY_ERRORS:g} standard errors. The parameter does not matter there, or `seeds` are too few "
            "to see how"
        )


def _slack(limit: Limit, tuned: Tuned) -> float:
    """How far the mean at the result is within a limit; negative beyond it."""
    return -float(limit.excess(np.asarray(tuned.points[-1].limited[tuned.goal.name_of(limit)])))


def _worth(limit: Limit, tuned: Tuned) -> float:
    """The slack that is worth a word."""
    error = tuned.points[-1].limited_stderr[tuned.goal.name_of(limit)]
    return max(_UNUSED * abs(limit.bound), _MANY_ERRORS * error)


def _on_limit(limit: Limit, tuned: Tuned, matters: bool) -> Iterator[str]:
    """A limit that is out of reach, or that is not used.

    Args:
        limit: the limit.
        tuned: the result.
        matters: whether the best value without limits exceeds this one, and no limit is used up.
    """
    result, name = tuned.points[-1], tuned.goal.name_of(limit)
    half = CONFIDENCE * result.limited_stderr[name]
    reached = f"{limit.metric.replace('_', ' ')} comes to {with_error(result.limited[name], half)}"
    slack = _slack(limit, tuned)
    if slack < 0:
        yield (
            f"the limit {limit} is out of reach: {reached} at the result, the nearest point to the limits that was "
            "found; relax the limit, or tune more parameters"
        )
    elif slack < half:
        end = "upper" if limit.at_most else "lower"
        yield (
            f"the limit {limit} is met by the mean, but not by the {end} end of its 97.5 % interval: {reached} at the "
            "result; raise `final_seeds`"
        )
    elif slack > _worth(limit, tuned):
        if matters:
            yield f"the limit {limit} is not used up: {reached} at the result; more `steps` or `seeds` may use the rest"
        else:
            yield f"the limit {limit} does not bind: {reached} at the result, and the limit makes no difference there"


def _at_ends(tunables: list[Tunable], result: Point, swept: Sweep) -> Iterator[str]:
    """Parameters at the ends of what may be tried."""
    for tunable in tunables:
        values = result.values[tunable.name]
        ends = [("lower", tunable.low, np.all), ("upper", tunable.high, np.any)]
        for word, end, which in ends:
            if end is not None and math.isfinite(end) and which(values == end):
                yield f"{tunable.name} ends at {end:g}, the {word} end of its range"
        if tunable.name in swept.at_end and not np.any(values < 0.5 * np.max(swept.best[tunable.name])):
            largest = f"{float(np.max(swept.best[tunable.name])):.3g}"
            yield (
                f"the best common value of {tunable.name}, {largest}, is the largest of the sweep: better values may "
                "lie beyond it; start from a larger one"
            )
