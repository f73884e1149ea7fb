"""Stopping rules: seeds are added until the standard error of a metric is small enough."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxbandit.core.errors import InputError

_MOST_GROWTH = 8.0  # the seeds grow at most by this factor at once: an error estimated from few runs says little
_MARGIN = 1.1  # more seeds than the square-root law asks for


@dataclass(frozen=True)
class StoppingRule:
    """The standard error to reach, in every configuration and instance.

    Attributes:
        metric: the name of the metric, whose mean over seeds at T counts.
        most: the bound that the standard error has to be below.
    """

    metric: str
    most: float

    def wanted(self, stderr: np.ndarray, seeds: int) -> int:
        """The number of seeds wanted in all, after `seeds` of them gave these standard errors (NaN for one seed)."""
        largest = float(np.max(stderr)) if seeds > 1 else math.inf
        if largest < self.most:
            return seeds
        ratio = largest / self.most
        growth = min(_MARGIN * ratio * ratio, _MOST_GROWTH)  # `ratio**2` of a large ratio raises an error
        return max(seeds + 1, math.ceil(seeds * growth))


def stopping_rule(text: object, metrics: Sequence[str]) -> StoppingRule | None:
    """The stopping rule that `simulation.until` states; None for None.

    Args:
        text: "regret_stderr<0.5", the metric named as in the results; "stderr<0.5" for the first metric.
        metrics: the names of the recorded metrics.

    Raises:
        InputError: naming `simulation.until`.

    Example:
        >>> stopping_rule("stderr<0.5", ["regret"])
        StoppingRule(metric='regret', most=0.5)
    """
    if text is None:
        return None
    if not metrics:
        raise InputError("simulation.until", text, "cannot be reached: no metric is recorded")
    found = re.fullmatch(r"\s*(?:(\w+)_)?stderr\s*<\s*(\S+)\s*", text) if isinstance(text, str) else None
    try:
        most = float(found[2]) if found else math.nan
    except ValueError:
        most = math.nan
    words = (
        f'"METRIC_stderr<x", with a metric of {", ".join(metrics)} and x above 0; "stderr<x" stands for {metrics[0]}'
    )
    if found is None or not 0 < most < math.inf or (found[1] or metrics[0]) not in metrics:
        raise InputError("simulation.until", text, words)
    return StoppingRule(found[1] or metrics[0], most)
