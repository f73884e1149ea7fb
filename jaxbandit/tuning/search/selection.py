"""Selection of the result: the best of some points whose limits hold with confidence, on runs that are fresh."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from jaxbandit.experiments.statistics import CONFIDENCE
from jaxbandit.tuning.search.evaluation import Scores
from jaxbandit.tuning.search.landscape import Landscape
from jaxbandit.tuning.search.steps import Search, Step

USUAL_CANDIDATES = 14
_SHIFTS = (-0.01, 0.0, 0.01, 0.02)  # of a limit, in its unit: below 0 the point moves beyond the limit
_FARTHEST_SHIFT = 0.3
_CLOSE = 0.001  # a point whose upper limit is this near to the limit, in its unit, uses the limit up
_ROUNDS = 6
_BETWEEN = (0.1, 0.2, 0.4, 0.7)  # parts of the way from the last point to the best one within the limits
_COST = 7e-4  # a part of the objective: what the distance from the limits, or a wrong choice, may cost
_MOST_TIMES = 4  # fresh runs in place of one
_MOST_CONTENDERS = 3  # points, besides the best one, that may be better
_LIKELY = 2.5  # standard errors by which a point may be behind the best one and still be better


@dataclass(frozen=True)
class Candidates:
    """Points that were simulated on fresh runs.

    Attributes:
        points: in search coordinates, `[P, n]`.
        scores: on the fresh runs.
        preferred: the number of a point that is taken for the best; None for the one with the best scores.
    """

    points: np.ndarray
    scores: Scores
    preferred: int | None = None

    @property
    def best(self) -> int:
        """The number of the best point: the first one, the start, if no other is better up to errors."""
        if self.preferred is not None:
            return self.preferred
        best = self.scores.best(CONFIDENCE)
        pair = self.scores.value_runs[best] - self.scores.value_runs[0]
        gain, error = -float(pair.mean()), float(pair.std(ddof=1)) / math.sqrt(len(pair))
        upper = self.scores.excess[[0, best]] + CONFIDENCE * self.scores.excess_stderr[[0, best]]
        beyond = np.maximum(upper, 0.0).sum(axis=1)
        return 0 if gain <= CONFIDENCE * error and beyond[0] <= beyond[1] else best

    def joined(self, points: np.ndarray, scores: Scores) -> Candidates:
        """These points, and others on the same runs."""
        return Candidates(np.concatenate([self.points, points]), self.scores.joined(scores))


def select(landscape: Landscape, given: np.ndarray, search: Search, more: Sequence[np.ndarray] = ()) -> Candidates:
    """Simulate what the search found on fresh runs.

    Where a limit has a price, points a little within and beyond it are tried as well, until one is found whose upper
    limit is just within. If the distance that confidence keeps from the limit costs much, the best points are simulated
    again with more runs.

    Args:
        landscape: the goal.
        given: points that are candidates in any case, `[P, n]`.
        search: the search, with its steps.
        more: further candidates, each `[n]`.
    """
    others = [point for point in _distinct([*_visited(search), *more]) if not _is_among(point, given)]
    points = np.array([*given, *others])
    found = Candidates(points, landscape.fresh(points))
    normal = _normal(search.steps, landscape.units)
    if normal is None:
        return _decided(found, landscape, len(given))
    found = _moved_to_limits(found, landscape, search.y, normal, np.array(_SHIFTS), 1)
    if found.best in range(len(given)):  # no point of the search is within the limits
        between = search.y + np.array(_BETWEEN)[:, None] * (found.points[found.best] - search.y)
        found = found.joined(between, landscape.fresh(between))
    times = _times(found, search)
    if times == 1 or found.best in range(len(given)):
        return found
    best = found.points[found.best]
    points = np.array([*given, best])
    margin = float(np.max(CONFIDENCE * found.scores.excess_stderr[found.best] / landscape.units))
    shifts = np.array([(1 / math.sqrt(times) - 1) * margin])  # the margin shrinks by this
    return _moved_to_limits(Candidates(points, landscape.fresh(points, times)), landscape, best, normal, shifts, times)


def common_kept(found: Candidates, landscape: Landscape, search: Search, common: int, blocks: np.ndarray) -> Candidates:
    """The candidates, of which a common value is preferred if it is about as good as the best one.

    The best common value is moved to the limits, all numbers of a parameter alike: otherwise the best candidate might
    have numbers of its own only because it is nearer to the limits. A common value is about as good if it is not
    significantly worse, or if the difference is a part of the objective below `_COST`.

    Args:
        found: candidates, the start first.
        landscape, search: as for `select`.
        common: the number of the best common value among the candidates.
        blocks: the coordinates of each parameter, as zeros and ones, `[n, parameters]`.
    """
    best, scores = found.best, found.scores
    if best in (0, common) or not np.isfinite(scores.value[common]):
        return found
    apart = scores.value_runs[common] - scores.value_runs[best]
    error = float(apart.std(ddof=1)) / math.sqrt(len(apart))
    normal = _normal(search.steps, landscape.units, blocks)
    prices = search.steps[-1].multipliers if search.steps else np.zeros(len(landscape.units))
    at_limits = float(apart.mean()) + float((scores.excess[common] - scores.excess[best]) @ prices)  # to first order
    if at_limits > _LIKELY * error + _COST * abs(float(scores.value[best])):
        return found
    tried, moved = [common], found
    if normal is not None:
        times = max(1, round(len(apart) / landscape.final_seeds))
        moved = _moved_to_limits(found, landscape, found.points[common], normal, np.array(_SHIFTS), times)
        tried += range(len(found.points), len(moved.points))
    scores = moved.scores
    within = np.all(scores.excess + CONFIDENCE * scores.excess_stderr <= 0, axis=1) & np.isfinite(scores.value)
    allowed = [place for place in tried if within[place]]
    if not allowed:
        return found
    place = min(allowed, key=lambda place: float(scores.value[place]))
    loss = scores.value_runs[place] - scores.value_runs[best]
    tolerated = CONFIDENCE * float(loss.std(ddof=1)) / math.sqrt(len(loss))
    as_good = float(loss.mean()) <= max(tolerated, _COST * abs(float(scores.value[best])))
    return dataclasses.replace(moved, preferred=place) if as_good else found


def _decided(found: Candidates, landscape: Landscape, kept: int) -> Candidates:
    """The first `kept` candidates and the contenders on more runs, if the runs so far do not tell which is the best.

    Contenders are within the limits, and behind the best candidate by less than the errors of the difference. Points
    beside the best one join them if there is one parameter.
    """
    best, scores = found.scores.best(CONFIDENCE), found.scores
    apart = scores.value_runs - scores.value_runs[best]
    behind, error = apart.mean(axis=1), apart.std(axis=1, ddof=1) / math.sqrt(apart.shape[1])
    within = np.all(scores.excess + CONFIDENCE * scores.excess_stderr <= 0, axis=1)
    likely = within & (behind <= _LIKELY * error) & (error > 0)
    contenders = [place for place in np.argsort(behind, kind="stable").tolist() if likely[place]][:_MOST_CONTENDERS]
    if not contenders:
        return found
    risk = _LIKELY * float(error[contenders].max()) / max(abs(float(scores.value[best])), 1e-30)
    times = int(np.clip(math.ceil((risk / _COST) ** 2), 1, _MOST_TIMES))
    if times == 1:
        return found
    places = [*range(kept), *(place for place in (best, *contenders) if place >= kept)]
    points = np.concatenate([found.points[places], _beside(found.points, best)])
    return Candidates(points, landscape.fresh(points, times))


def _beside(points: np.ndarray, best: int) -> np.ndarray:
    """The middles between the best point and the next ones on either side, `[0 to 2, n]`; none for n > 1."""
    if points.shape[1] > 1:
        return points[:0]
    others, own = points[:, 0], points[best, 0]
    nearest = [*np.sort(others[others < own])[-1:], *np.sort(others[others > own])[:1]]
    return (own + np.array(nearest)[:, None]) / 2


def _times(found: Candidates, search: Search) -> int:
    """How many times as many runs are worth while: so that the distance from the limits costs about `_COST`."""
    margin = CONFIDENCE * found.scores.excess_stderr[found.best] @ search.steps[-1].multipliers
    cost = float(margin) / max(abs(float(found.scores.value[found.best])), 1e-30)
    return int(np.clip(math.ceil((cost / _COST) ** 2), 1, _MOST_TIMES))


def _moved_to_limits(
    found: Candidates, landscape: Landscape, y: np.ndarray, normal: np.ndarray, shifts: np.ndarray, times: int
) -> Candidates:
    """The candidates and points y + shift * normal, until the upper limits of one of these are just within the limits.

    Args:
        found: the candidates so far.
        landscape: the goal.
        y, normal: a point, and the move that lowers the priced excesses by their units, `[n]`.
        shifts: the first shifts to try.
        times: of the fresh runs.
    """
    tried: dict[float, float] = {}  # by a shift, how far the upper limits are beyond the limits, in their units
    for _ in range(_ROUNDS):
        moved = np.stack([landscape.inside(point) for point in y + shifts[:, None] * normal])
        scores = landscape.fresh(moved, times)
        found = found.joined(moved, scores)
        upper = scores.excess + CONFIDENCE * scores.excess_stderr
        beyond = np.max(upper / landscape.units, axis=1)
        tried.update(
            {shift: size for shift, size in zip(shifts.tolist(), beyond.tolist(), strict=True) if size < np.inf}
        )
        if not tried or any(-_CLOSE < size <= 0 for size in tried.values()):
            break
        shifts = _next_shifts(tried)
    return found


def _next_shifts(tried: Mapping[float, float]) -> np.ndarray:
    """The shifts to try next: about where the limit is reached, by a straight line through what was tried."""
    places = np.array(sorted(tried))
    beyond = np.array([tried[place] for place in places])
    inside = beyond <= 0
    if inside.any() and not inside.all():
        pair = np.array([places[~inside].max(), places[inside].min()])  # beyond the limit, and within it
        if pair[0] < pair[1]:
            (first, last), (high, low) = pair, (tried[pair[0]], tried[pair[1]])
            reached = first + (last - first) * high / (high - low)
            return np.array([reached, reached + 0.3 * _CLOSE])
    slope = min(float(np.polyfit(places, beyond, 1)[0]), -0.2) if len(places) > 1 else -1.0  # of a straight line: -1
    reached = float((places - beyond / slope)[np.abs(beyond).argmin()])
    return np.clip([reached, reached + _CLOSE], -_FARTHEST_SHIFT, _FARTHEST_SHIFT)


def _visited(search: Search) -> list[np.ndarray]:
    """The last point of the search, and the two best ones before it."""
    return _distinct([search.y, *search.visited()])[:3]


def _distinct(points: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The points, each once."""
    return [point for n, point in enumerate(points) if not _is_among(point, points[:n])]


def _is_among(point: np.ndarray, points: Sequence[np.ndarray] | np.ndarray) -> bool:
    return any(np.array_equal(point, one) for one in points)


def _normal(steps: Sequence[Step], units: np.ndarray, blocks: np.ndarray | None = None) -> np.ndarray | None:
    """The move that lowers the priced excesses by their units, to first order; None where no limit has a price.

    Args:
        steps, units: of the search, and of the limits.
        blocks: directions to which the move is restricted, `[n, directions]`; None for any direction.
    """
    priced = np.max([step.multipliers for step in steps[-3:]], axis=0, initial=0.0) > 0
    if not len(units) or not priced.any():
        return None
    slopes = steps[-1].slopes[priced]
    if blocks is None:
        return np.asarray(-np.linalg.lstsq(slopes, units[priced], rcond=1e-6)[0])
    return np.asarray(-blocks @ np.linalg.lstsq(slopes @ blocks, units[priced], rcond=1e-6)[0])
