"""Metrics of bandit runs, how their means are summed exactly, optimal allocations, and the papers' bounds.

`METRICS` is the table of metrics, by name; `Metric` the base class of your own.
"""

from jaxbandit.metrics.definitions import METRICS
from jaxbandit.metrics.metric import Metric, MetricView

__all__ = ["METRICS", "Metric", "MetricView"]


def __dir__() -> list[str]:
    return list(__all__)
