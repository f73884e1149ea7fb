"""What is kept of runs: of a block's, and of those of a whole simulation, which are put together from blocks'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxbandit.metrics.moments import Moments


@dataclass(frozen=True)
class ResultShape:
    """What there is to keep.

    Attributes:
        arms: K.
        rounds: how many are recorded.
        metrics: their names.
        phases: how many the policy has; 0 for one without.
    """

    arms: int
    rounds: int
    metrics: tuple[str, ...]
    phases: int

    def bytes_a_run(self) -> int:
        """Of a tally, beside its curves."""
        max_deficit_ever = 8 if "max_deficit" in self.metrics else 0
        return 4 * self.arms + 8 * len(self.metrics) + max_deficit_ever + 4 * self.phases

    def bytes_a_row(self) -> int:
        """Of its curves: five words a mean, two for the sum and three for the sum of squares."""
        return 40 * self.rounds * len(self.metrics)


@dataclass(frozen=True)
class BlockStatistics:
    """What is kept of the runs of some rows, instances of some configurations.

    Attributes:
        pulls: N_k(T), int32 `[row, seed, arm]`.
        curves: by metric, its moments over seeds, `[round, row]`.
        finals: by metric, its value at T, float64 `[row, seed]`.
        deepest: the largest deficit over every round, float64 `[row, seed]`; None where not asked for.
        phases: rounds spent in each phase, int32 `[row, seed, phase]`; None for a policy without phases.
    """

    result_shape: ResultShape
    pulls: np.ndarray
    curves: dict[str, Moments]
    finals: dict[str, np.ndarray]
    max_deficit_ever: np.ndarray | None
    phases: np.ndarray | None

    @classmethod
    def empty(cls, result_shape: ResultShape, rows: int, seeds: int) -> BlockStatistics:
        """Of runs that are still to be taken in."""
        runs = (rows, seeds)
        return cls(
            result_shape,
            pulls=np.zeros((*runs, result_shape.arms), np.int32),
            curves={name: Moments((result_shape.rounds, rows)) for name in result_shape.metrics},
            finals={name: np.zeros(runs) for name in result_shape.metrics},
            max_deficit_ever=np.zeros(runs) if "max_deficit" in result_shape.metrics else None,
            phases=np.zeros((*runs, result_shape.phases), np.int32) if result_shape.phases else None,
        )

    def take(self, rows: slice, seeds: slice, part: BlockStatistics) -> None:
        """Take in the runs of `part`, which are those of some rows and seeds."""
        for own, other in zip(self._runs().values(), part._runs().values(), strict=True):
            own[rows, seeds] = other
        for name, moments in self.curves.items():
            moments.merge((slice(None), rows), part.curves[name])

    def joined(self, other: BlockStatistics) -> BlockStatistics:
        """This one's runs with those of `other` behind them, more seeds of the same rows."""
        own, more = self._runs(), other._runs()
        runs = {name: np.concatenate([own[name], more[name]], axis=1) for name in own}
        every = slice(None), slice(None)
        for name, moments in self.curves.items():
            moments.merge(every, other.curves[name])
        return self._with(runs, self.curves)

    def arrays(self, full: bool = False) -> dict[str, np.ndarray]:
        """What it holds, by name, the form in which it is written and sent; digits that are all 0 only where `full`."""
        made = self._runs()
        for name, moments in self.curves.items():
            made |= {f"curve {name} {part}": array for part, array in moments.arrays(full).items()}
        return made

    def like(self, arrays: Mapping[str, np.ndarray]) -> BlockStatistics:
        """The tally of this one's shape that `arrays` came from.

        Raises:
            ValueError: they are of another shape or dtype.
        """
        own = self._runs()
        for name, array in own.items():
            if name not in arrays or (arrays[name].shape, arrays[name].dtype) != (array.shape, array.dtype):
                raise ValueError("a tally of another shape")
        shape = (self.result_shape.rounds, len(self.pulls))
        curves = {}
        for name in self.curves:
            start = f"curve {name} "
            parts = {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}
            if any(array.shape != shape or array.dtype != np.int64 for array in parts.values()):
                raise ValueError("curves of another shape")
            curves[name] = Moments.of(shape, parts)
        return self._with({name: arrays[name] for name in own}, curves)

    def _runs(self) -> dict[str, np.ndarray]:
        """The arrays `[row, seed, ...]`, by name."""
        made = {"pulls": self.pulls, **{f"final {name}": values for name, values in self.finals.items()}}
        others = {"max_deficit_ever": self.max_deficit_ever, "phases": self.phases}
        return made | {name: values for name, values in others.items() if values is not None}

    def _with(self, runs: Mapping[str, np.ndarray], curves: dict[str, Moments]) -> BlockStatistics:
        finals = {name: runs[f"final {name}"] for name in self.finals}
        return BlockStatistics(
            self.result_shape, runs["pulls"], curves, finals, runs.get("max_deficit_ever"), runs.get("phases")
        )


def side_by_side(
    pieces: Sequence[tuple[Sequence[int], np.ndarray]], configurations: int, instances: int, axis: int = 0
) -> np.ndarray:
    """One array for all entries, `[entry, instance, ...]`, of the arrays of groups, `[..., row, ...]`.

    Args:
        pieces: the numbers of a group's entries, and its array.
        entries: how many there are in all.
        instances: J; row r of a group is instance r mod J of its entry r div J.
        axis: that of the rows.
    """
    made: Any = None
    for numbers, array in pieces:
        rows = np.moveaxis(array, axis, 0)
        rows = rows.reshape(len(numbers), instances, *rows.shape[1:])
        if made is None:
            made = np.empty((configurations, *rows.shape[1:]), rows.dtype)
        made[list(numbers)] = rows
    return made
