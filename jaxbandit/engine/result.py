"""What a simulation gives: tallies of all its configurations, and the time it took."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from jaxbandit.engine.batch.stacking import Stack
from jaxbandit.metrics.block_statistics import BlockStatistics, by_configuration


@dataclass(frozen=True)
class SimulationResult:
    """What a simulation gave.

    Attributes:
        groups: of configurations.
        tallies: one a group.
        seeds: runs of each configuration and instance.
        compile_seconds, run_seconds: what it took, interruptions left out.
        short: why there are fewer runs than `until` asks for; None where there are not.
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
        """An array of the tallies, whose `axis` is that of the rows, for all entries: `[entry, instance, ...]`."""
        pieces = [
            (stack.configurations, pick(statistics))
            for stack, statistics in zip(self.stacks, self.statistics, strict=True)
        ]
        configurations = sum(len(stack.configurations) for stack in self.stacks)
        return by_configuration(pieces, configurations, self.stacks[0].instances, axis)
