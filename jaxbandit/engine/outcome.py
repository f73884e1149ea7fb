"""What a simulation gives: tallies of all its configurations, and the time it took."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jaxbandit.engine.batch.stacking import Group
from jaxbandit.metrics.block_statistics import Tally, side_by_side


@dataclass(frozen=True)
class Outcome:
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
    groups: list[Group]
    tallies: list[Tally]
    seeds: int
    compile_seconds: float
    run_seconds: float
    short: str | None

    def each(self, pick: Callable[[Tally], np.ndarray], axis: int = 0) -> np.ndarray:
        """An array of the tallies, whose `axis` is that of the rows, for all entries: `[entry, instance, ...]`."""
        pieces = [(group.entries, pick(tally)) for group, tally in zip(self.groups, self.tallies, strict=True)]
        entries = sum(len(group.entries) for group in self.groups)
        return side_by_side(pieces, entries, self.groups[0].instances, axis)
