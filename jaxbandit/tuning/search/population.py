"""A look around: points at random, which show better regions than the one that slopes lead to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jaxbandit.tuning.search.evaluation import Scores
from jaxbandit.tuning.search.landscape import Landscape

GENERATIONS, POINTS = 8, 40
SHARE = 4  # the seeds of a step per seed of a generation
_ELITE = 10
_LEAST = 0.1  # of the spread of any generation, as a part of the first


def look_around(
    landscape: Landscape,
    merit: Callable[[Scores], np.ndarray],
    y: np.ndarray,
    spread: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """The best of the point itself, the best point of some generations around it, and their last centre.

    The points of a generation are normally distributed. The best ones give the centre and the spread of the next
    generation, coordinate by coordinate (the cross-entropy method; Rubinstein 1999).

    Args:
        landscape: the goal.
        merit: what is minimised, of some points.
        y: the point, the centre of the first generation, `[n]`.
        spread: the standard deviation of the first generation, per coordinate.
        rng: draws the points.
    """
    centre, spreads = y, np.full(len(y), spread)
    best, least = y, np.inf
    for _ in range(GENERATIONS):
        points = np.stack([landscape.inside(centre + spreads * rng.normal(size=len(y))) for _ in range(POINTS)])
        merits = merit(landscape(points, SHARE))
        order = np.argsort(merits)[:_ELITE]
        if merits[order[0]] < least:
            best, least = points[order[0]], float(merits[order[0]])
        centre = points[order].mean(axis=0)
        spreads = np.maximum(points[order].std(axis=0), _LEAST * spread)
    points = np.stack([y, best, landscape.inside(centre)])
    return np.asarray(points[merit(landscape(points)).argmin()])
