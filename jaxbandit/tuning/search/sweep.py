"""The sweep: values that all numbers of a parameter have in common, from the smallest to the largest sensible one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from jaxbandit.tuning.goal import Goal
from jaxbandit.tuning.parameters import Tunable, Values
from jaxbandit.tuning.search.evaluation import Scores

COUNT = 41  # values of a sweep
_DECADES = 2.0  # to either side of the start
_EXTENSIONS = 3  # by as many decades each, if the best value is at an end, or no value matters
_PROMISING = 8
REFINED = 9  # values of a refinement between the neighbours of the best value

EvaluateValues = Callable[[Sequence[Values], int], Scores]  # of some points, each with a number of seeds


@dataclass(frozen=True)
class Sweep:
    """The best common values.

    Attributes:
        best: the best common value of each parameter.
        scales: by name, the distance from the lower end of the range (from 0 if there is none) of the best value, or of
            a larger one that does as well, > 0.
        ranges: how much each limited metric varies over the sweep, `[limits]`.
        promising: values of the last parameter that came out best in the first pass, which is coarse and noisy.
        free: how far the best value without limits is beyond them, `[limits]`.
        flat: the parameters on which the goal does not depend, up to the errors of the sweep: by name, the largest
            value that was tried.
        at_end: the names of the parameters whose best value is the largest that was tried.
    """

    best: Values
    scales: dict[str, float]
    ranges: np.ndarray
    promising: np.ndarray
    free: np.ndarray
    flat: dict[str, float]
    at_end: tuple[str, ...]


def sweep(evaluate: EvaluateValues, goal: Goal, tunables: Sequence[Tunable], seeds: int) -> Sweep:
    """Try common values of each parameter, one parameter after the other.

    Args:
        evaluate: simulates points.
        goal: the goal.
        tunables: the parameters, with their starts.
        seeds: runs per instance and value; the first pass over the values takes half of them.
    """
    best = {tunable.name: tunable.start for tunable in tunables}
    scales: dict[str, float] = {}
    ranges = np.zeros(len(goal.limits))
    flat: dict[str, float] = {}
    at_end = []
    for tunable in tunables:

        def scores_at(values: np.ndarray, count: int, tunable: Tunable = tunable) -> Scores:
            return evaluate([{**best, tunable.name: np.full(tunable.start.shape, value)} for value in values], count)

        values, scores = _coarse(lambda values: scores_at(values, max(seeds // 2, 2)), tunable)
        if not np.isfinite(scores.value).any() or not np.isfinite(scores.excess).all(axis=1).any():
            raise FloatingPointError(f"the objective or a limited metric is not finite at any value of {tunable.name}")
        place = scores.best()
        ranges = np.maximum(ranges, np.nanmax(scores.excess, axis=0) - np.nanmin(scores.excess, axis=0))
        if _is_flat(scores):
            flat[tunable.name] = float(values[-1])
        if place == len(values) - 1 and (tunable.high is None or values[-1] < tunable.high):
            at_end.append(tunable.name)
        fine = refinement(values, place)
        fine = refinement(fine, scores_at(fine, seeds).best())
        common = float(fine[scores_at(fine, seeds).best()])
        best[tunable.name] = np.full(tunable.start.shape, common)
        scales[tunable.name] = _scale(common - _low(tunable), values[_last_alike(scores, place)], place, tunable)
        free = scores.excess[np.nanargmin(scores.value)]
        promising = values[np.lexsort((scores.value, np.maximum(scores.excess, 0.0).sum(axis=1)))[:_PROMISING]]
    return Sweep(best, scales, ranges, promising, free, flat, tuple(at_end))


def _scale(best: float, alike: float, place: int, tunable: Tunable) -> float:
    """A distance from the lower end that matters: that of the best value, or of larger ones that do as well.

    Args:
        best: the distance of the best common value.
        alike: the largest value that does as well.
        place: of the best value in the sweep; up to 1, it is next to the lower end.
        tunable: the parameter.
    """
    typical = _typical(tunable)
    larger = min(alike - _low(tunable), typical)
    return max(best, larger) if place > 1 else typical


def _last_alike(scores: Scores, place: int) -> int:
    """The last of the values from `place` on that do not differ from it."""
    differ = _differ(scores, place)[place:]
    return place + (int(differ.argmax()) - 1 if differ.any() else len(differ) - 1)


def _coarse(scores_at: Callable[[np.ndarray], Scores], tunable: Tunable) -> tuple[np.ndarray, Scores]:
    """The values of the first pass, ascending, with their scores: more of them where the best one is at an end."""
    values = sweep_values(tunable)
    scores = scores_at(values)
    for _ in range(_EXTENSIONS):
        more = _beyond(values, None if _is_flat(scores) else scores.best(), tunable)
        if more is None:
            break
        order = np.argsort(np.concatenate([values, more]), kind="stable")
        scores = scores.joined(scores_at(more)).reordered(order)
        values = np.concatenate([values, more])[order]
    return values, scores


def sweep_values(tunable: Tunable) -> np.ndarray:
    """The common values to try: the lower end of the range, and values on a logarithmic scale around the start."""
    low, typical = _low(tunable), _typical(tunable)
    if tunable.high is not None and math.isfinite(tunable.high):
        most = tunable.high - low
        values = np.geomspace(1e-3 * most, most, COUNT - 1)
    else:
        values = typical * np.logspace(-_DECADES, _DECADES, COUNT - 1)
    return low + np.concatenate([[0.0], values])


def _beyond(values: np.ndarray, best: int | None, tunable: Tunable) -> np.ndarray | None:
    """Values beyond the end of a sweep at which the best one lies; None if there is nothing beyond it.

    Args:
        values: of the sweep, ascending, the lower end of the range first.
        best: the place of the best one; None if all are equally good.
        tunable: the parameter.
    """
    low, high = _low(tunable), tunable.high
    decades = np.logspace(0.0, _DECADES, COUNT // 2 + 1)[1:]
    more = []
    if best in (0, 1, None):  # the lower end, or the least value above it
        more.append((values[1] - low) / decades[::-1])
    if best in (len(values) - 1, None) and (high is None or math.isinf(high)):
        more.append((values[-1] - low) * decades)
    return low + np.concatenate(more) if more else None


def refinement(values: np.ndarray, best: int) -> np.ndarray:
    """Values between the neighbours of the best one."""
    first, last = values[max(best - 1, 0)], values[min(best + 1, len(values) - 1)]
    return np.linspace(first, last, REFINED)


def _low(tunable: Tunable) -> float:
    return 0.0 if tunable.low is None else tunable.low


def _typical(tunable: Tunable) -> float:
    """The median distance of the start from the lower end; 1, or the length of the range, if it is 0."""
    low = _low(tunable)
    median = float(np.median(np.abs(tunable.start - low)))
    return median or (1.0 if tunable.high is None or math.isinf(tunable.high) else tunable.high - low)


def _is_flat(scores: Scores) -> bool:
    """Whether no point differs from the first finite one."""
    return not _differ(scores, int(np.isfinite(scores.value).argmax())).any()


def _differ(scores: Scores, place: int) -> np.ndarray:
    """Whether points differ from the one at a place by more than 4 standard errors of the difference, bool `[P]`."""
    runs = np.concatenate([scores.value_runs[:, None], scores.excess_runs], axis=1)
    apart = runs - runs[place]
    error = apart.std(axis=-1, ddof=1) / np.sqrt(apart.shape[-1])
    return np.asarray((np.abs(apart.mean(axis=-1)) > 4 * error).any(axis=1))
