"""Metrics of bandit runs, how their means are summed exactly, optimal allocations, and the papers' bounds.

`METRICS` is the table of metrics, by name.
"""

from jaxbandit.metrics.definitions import METRICS, Metric

__all__ = ["METRICS", "Metric"]


def __dir__() -> list[str]:
    return list(__all__)
