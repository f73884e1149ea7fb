"""The result of a simulation: statistics of all its configurations, and the time it took."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from jaxbandit.engine.batch.stacking import Stack
from jaxbandit.metrics.block_statistics import BlockStatistics, by_configuration


@dataclass(frozen=True)
class SimulationResult:
    """The result of a simulation.

    Attributes:
        rounds: the recorded rounds, int64.
        metrics: the names of the recorded metrics.
        stacks: the configurations, stacked.
        statistics: the statistics of each stack.
        seeds: runs per configuration and instance.
        compile_seconds, run_seconds: the time it took, without interruptions.
        short: the reason why there are fewer seeds than the stopping rule asks for; None if there are enough.
    """

    rounds: np.ndarray
    metrics: list[str]
    stacks: Sequence[Stack]
    statistics: list[BlockStatistics]
    seeds: int
    compile_seconds: float
    run_seconds: float
    short: str | None

    def each(self, pick: Callable[[BlockStatistics], np.ndarray], axis: int = 0) -> np.ndarray:
        """An array of the statistics, `[configuration, instance, ...]`; `pick` returns it with rows along `axis`."""
        pieces = [
            (stack.configurations, pick(statistics))
            for stack, statistics in zip(self.stacks, self.statistics, strict=True)
        ]
        configurations = sum(len(stack.configurations) for stack in self.stacks)
        return by_configuration(pieces, configurations, self.stacks[0].instances, axis)
