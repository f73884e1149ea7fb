"""What is kept of runs: the statistics of a block, and those of a whole simulation, which blocks are merged into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from jaxbandit.metrics.moments import Moments


@dataclass(frozen=True)
class ResultShape:
    """What is kept of each run.

    Attributes:
        arms: K.
        rounds: the number of recorded rounds.
        metrics: their names.
        phases: the number of phases of the policy; 0 for a policy without phases.
    """

    arms: int
    rounds: int
    metrics: tuple[str, ...]
    phases: int

    def bytes_per_run(self) -> int:
        """Bytes of `BlockStatistics` per run, without the curves."""
        max_deficit_ever = 8 if "max_deficit" in self.metrics else 0
        return 4 * self.arms + 8 * len(self.metrics) + max_deficit_ever + 4 * self.phases

    def curve_bytes_per_row(self) -> int:
        """Bytes of the curves per row: of each mean two words for the sum and three for the sum of squares."""
        return 40 * self.rounds * len(self.metrics)


@dataclass(frozen=True)
class BlockStatistics:
    """What is kept of the runs of some rows; a row is one instance of one configuration.

    Attributes:
        result_shape: what is kept of each run.
        pulls: N_k(T), int32 `[row, seed, arm]`.
        curves: by metric, its moments over seeds, `[round, row]`.
        finals: by metric, its value at T, float64 `[row, seed]`.
        max_deficit_ever: the largest deficit over all rounds, float64 `[row, seed]`; None without `max_deficit`.
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
        """The statistics of runs that are yet to be inserted: all 0."""
        runs = (rows, seeds)
        return cls(
            result_shape,
            pulls=np.zeros((*runs, result_shape.arms), np.int32),
            curves={name: Moments((result_shape.rounds, rows)) for name in result_shape.metrics},
            finals={name: np.zeros(runs) for name in result_shape.metrics},
            max_deficit_ever=np.zeros(runs) if "max_deficit" in result_shape.metrics else None,
            phases=np.zeros((*runs, result_shape.phases), np.int32) if result_shape.phases else None,
        )

    def insert(self, rows: slice, seeds: slice, block: BlockStatistics) -> None:
        """Insert the runs of a block, which are those of some rows and seeds."""
        for target, part in zip(self._run_arrays().values(), block._run_arrays().values(), strict=True):
            target[rows, seeds] = part
        for name, moments in self.curves.items():
            moments.merge((slice(None), rows), block.curves[name])

    def append_seeds(self, other: BlockStatistics) -> BlockStatistics:
        """These runs followed by those of `other`, which are more seeds of the same rows."""
        first, second = self._run_arrays(), other._run_arrays()
        runs = {name: np.concatenate([first[name], second[name]], axis=1) for name in first}
        everywhere = slice(None), slice(None)
        for name, moments in self.curves.items():
            moments.merge(everywhere, other.curves[name])
        return self._with_arrays(runs, self.curves)

    def arrays(self, full: bool = False) -> dict[str, np.ndarray]:
        """All arrays by name, as they are written and sent; sums that are 0 everywhere only with `full`."""
        named = self._run_arrays()
        for name, moments in self.curves.items():
            named |= {f"curve {name} {part}": array for part, array in moments.arrays(full).items()}
        return named

    def restore(self, arrays: Mapping[str, np.ndarray]) -> BlockStatistics:
        """The statistics of the same shape whose `arrays` are given.

        Raises:
            ValueError: the arrays are of another shape or dtype.
        """
        expected = self._run_arrays()
        for name, array in expected.items():
            if name not in arrays or (arrays[name].shape, arrays[name].dtype) != (array.shape, array.dtype):
                raise ValueError("statistics of another shape")
        shape = (self.result_shape.rounds, len(self.pulls))
        curves = {}
        for name in self.curves:
            start = f"curve {name} "
            parts = {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}
            if any(array.shape != shape or array.dtype != np.int64 for array in parts.values()):
                raise ValueError("curves of another shape")
            curves[name] = Moments.from_arrays(shape, parts)
        return self._with_arrays({name: arrays[name] for name in expected}, curves)

    def _run_arrays(self) -> dict[str, np.ndarray]:
        """The arrays `[row, seed, ...]`, by name."""
        named = {"pulls": self.pulls, **{f"final {name}": values for name, values in self.finals.items()}}
        optional = {"max_deficit_ever": self.max_deficit_ever, "phases": self.phases}
        return named | {name: values for name, values in optional.items() if values is not None}

    def _with_arrays(self, runs: Mapping[str, np.ndarray], curves: dict[str, Moments]) -> BlockStatistics:
        finals = {name: runs[f"final {name}"] for name in self.finals}
        return BlockStatistics(
            self.result_shape, runs["pulls"], curves, finals, runs.get("max_deficit_ever"), runs.get("phases")
        )


def by_configuration(
    stacks: Sequence[tuple[Sequence[int], np.ndarray]], configurations: int, instances: int, axis: int = 0
) -> np.ndarray:
    """One array `[configuration, instance, ...]` from the arrays `[..., row, ...]` of stacks of configurations.

    Args:
        stacks: the numbers of a stack's configurations, and its array; row r of the array is instance r mod J of the
            stack's configuration number r div J.
        configurations: the number of configurations in all stacks together.
        instances: J.
        axis: the axis of the rows.
    """
    result: np.ndarray | None = None
    for numbers, array in stacks:
        rows = np.moveaxis(array, axis, 0)
        rows = rows.reshape(len(numbers), instances, *rows.shape[1:])
        if result is None:
            result = np.empty((configurations, *rows.shape[1:]), rows.dtype)
        result[list(numbers)] = rows
    assert result is not None, "a simulation has at least one stack"
    return result
