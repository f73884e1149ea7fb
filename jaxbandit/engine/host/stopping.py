"""`until`: runs are added until the standard error of a metric is small enough."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxbandit.core.errors import InputError

_MOST = 8  # times as many runs at once: an error of few runs says little
_SPARE = 1.1


@dataclass(frozen=True)
class Until:
    """The standard error that is asked for.

    Attributes:
        metric: whose mean over seeds at T is meant, in every configuration and instance.
        most: what its standard error is to be below.
    """

    metric: str
    most: float

    def wanted(self, stderr: np.ndarray, seeds: int) -> int:
        """How many seeds are wanted in all, after `seeds` of them gave `stderr` (NaN for a single one)."""
        largest = float(np.max(stderr)) if seeds > 1 else math.inf
        if largest < self.most:
            return seeds
        growth = min(_SPARE * (largest / self.most) ** 2, float(_MOST))
        return max(seeds + 1, math.ceil(seeds * growth))


def until(text: Any, metrics: Sequence[str]) -> Until | None:
    """What `simulation.until` asks for; None for None.

    Args:
        text: "regret_stderr<0.5", named as in the results; "stderr<0.5" for the first metric.
        metrics: those that are recorded.

    Raises:
        InputError: anything else.
    """
    if text is None:
        return None
    if not metrics:
        raise InputError("simulation.until", text, "nothing where no metric is recorded")
    found = re.fullmatch(r"\s*(?:(\w+)_)?stderr\s*<\s*(\S+)\s*", text) if isinstance(text, str) else None
    try:
        most = float(found[2]) if found else math.nan
    except ValueError:
        most = math.nan
    words = f'"METRIC_stderr<x", a metric of {", ".join(metrics)} and x above 0; "stderr<x" for {metrics[0]}'
    if found is None or not 0 < most < math.inf or (found[1] or metrics[0]) not in metrics:
        raise InputError("simulation.until", text, words)
    return Until(found[1] or metrics[0], most)
