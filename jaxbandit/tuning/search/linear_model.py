"""Linear models of the goal around a point, from perturbations of the policy's parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jaxbandit.tuning.search.landscape import Landscape

_LEAST = 8  # directions: with few parameters, several turned sets of axes average the curvature out
_MOST = 100


@dataclass(frozen=True)
class LinearModel:
    """The goal at a point, and its slopes there.

    Attributes:
        value, excess: as in `Scores`, of the point: a float, and `[limits]`.
        value_stderr, excess_stderr: their standard errors.
        slope: of the value, `[n]`.
        slopes: of the excesses, `[limits, n]`.
    """

    value: float
    excess: np.ndarray
    value_stderr: float
    excess_stderr: np.ndarray
    slope: np.ndarray
    slopes: np.ndarray


def count_directions(size: int) -> int:
    """The number of directions for `size` parameters."""
    return 1 if size == 1 else min(max(size, _LEAST), _MOST)


def directions(size: int, rng: np.random.Generator) -> np.ndarray:
    """Axes of sets in random orientations, float64 `[directions, n]`, each of length sqrt(n)."""
    count = count_directions(size)
    sets = [np.linalg.qr(rng.normal(size=(size, size)))[0] for _ in range(-(-count // size))]
    return np.concatenate(sets)[:count] * np.sqrt(size)


def perturbed(y: np.ndarray, spread: float, along: np.ndarray) -> np.ndarray:
    """The point, and the points `spread` away from it in each direction and against it, `[1 + 2 directions, n]`."""
    return np.concatenate([y[None], y + spread * along, y - spread * along])


def linear_model(landscape: Landscape, y: np.ndarray, spread: float, rng: np.random.Generator) -> LinearModel:
    """The linear model around y, from antithetic perturbations on common random numbers.

    The slopes are those of the goal smoothed over distances of about `spread`: the policy itself is simulated, and no
    derivative of it is used.

    Args:
        landscape: the goal.
        y: the point, `[n]`.
        spread: the root mean square of a perturbation per coordinate.
        rng: draws the directions.
    """
    along = directions(len(y), rng)
    scores = landscape(perturbed(y, spread, along))
    count = len(along)

    def slope(values: np.ndarray) -> np.ndarray:
        """The slopes of values `[P, ...]`, `[n, ...]`."""
        return slopes_of(2 * spread * along, values[1 : count + 1] - values[count + 1 :])

    return LinearModel(
        float(scores.value[0]),
        scores.excess[0],
        float(scores.value_stderr[0]),
        scores.excess_stderr[0],
        slope(scores.value),
        slope(scores.excess).T,
    )


def slopes_of(moves: np.ndarray, differences: np.ndarray) -> np.ndarray:
    """The least-squares slopes `[n, ...]` of differences `[M, ...]` over moves `[M, n]`.

    Moves whose difference is NaN, because the policy refuses a point, are left out.
    """
    flat = differences.reshape(len(moves), -1)
    known = np.isfinite(flat).all(axis=1)
    shape = (moves.shape[1], *differences.shape[1:])
    if not known.any():
        return np.zeros(shape)
    return np.asarray(np.linalg.lstsq(moves[known], flat[known], rcond=None)[0]).reshape(shape)
