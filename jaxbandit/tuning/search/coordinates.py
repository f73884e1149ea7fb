"""Search coordinates: parameters on a scale on which equal steps matter alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from jaxbandit.tuning.parameters import Tunable, Values

_FARTHEST = 6.0  # sinh(6) / sinh(1) is 172 times the scale
_SPREAD = math.sinh(1.0)


class Coordinates:
    """The numbers of all parameters as one vector y: value = low + scale sinh(y) / sinh(1).

    Coordinate 0 is the lower end of the range, and coordinate 1 is `scale` above it. Near 0 the value is proportional
    to the coordinate, so that the lower end is within reach; far from it the value grows by a factor per step.

    Args:
        tunables: the parameters.
        scales: by name, a distance from the lower end (from 0 for a parameter without one), > 0.
    """

    def __init__(self, tunables: Sequence[Tunable], scales: dict[str, float]):
        self.tunables, self.scales = tunables, scales
        sizes = [tunable.start.size for tunable in tunables]
        self._ends = np.cumsum(sizes)
        self.size = int(self._ends[-1])
        low = [-math.inf if tunable.low is None else tunable.low for tunable in tunables]
        high = [math.inf if tunable.high is None else tunable.high for tunable in tunables]
        spread = [np.full(size, scales[tunable.name]) for size, tunable in zip(sizes, tunables, strict=True)]
        self._low, self._high = np.repeat(low, sizes), np.repeat(high, sizes)
        self._scale = np.concatenate(spread)
        self._origin = np.where(np.isfinite(self._low), self._low, 0.0)

    @property
    def blocks(self) -> np.ndarray:
        """Which coordinates are of one parameter: a column of zeros and ones per parameter, `[n, parameters]`."""
        own = np.repeat(np.arange(len(self.tunables)), [tunable.start.size for tunable in self.tunables])
        return np.asarray(own[:, None] == np.arange(len(self.tunables)), np.float64)

    def of(self, values: Values) -> np.ndarray:
        """The coordinates of parameters, float64 `[n]`."""
        flat = np.concatenate([np.reshape(values[tunable.name], -1) for tunable in self.tunables])
        return np.asarray(np.arcsinh((flat - self._origin) / self._scale * _SPREAD))

    def values(self, y: np.ndarray) -> Values:
        """The parameters at some coordinates."""
        flat = np.clip(self._origin + self._scale * np.sinh(y) / _SPREAD, self._low, self._high)
        parts = np.split(flat, self._ends[:-1])
        return {
            tunable.name: part.reshape(tunable.start.shape) for tunable, part in zip(self.tunables, parts, strict=True)
        }

    def derivatives(self, y: np.ndarray) -> np.ndarray:
        """The derivatives of the parameters with respect to their coordinates, `[n]`."""
        return np.asarray(self._scale * np.cosh(y) / _SPREAD)

    def inside(self, y: np.ndarray) -> np.ndarray:
        """The coordinates, moved into the range of the parameters, and not beyond the farthest that are searched."""
        far = np.full(self.size, _FARTHEST)
        most = np.arcsinh((self._high - self._origin) / self._scale * _SPREAD)
        least = np.where(np.isfinite(self._low), 0.0, -far)
        return np.clip(y, least, np.minimum(most, far))
