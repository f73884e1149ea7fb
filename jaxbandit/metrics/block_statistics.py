"""What is kept of runs: the statistics of a block, and those of a whole simulation, which blocks are merged into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from numpy.typing import DTypeLike

from jaxbandit.metrics.metric import kept_ever
from jaxbandit.metrics.moments import Moments

LOST_REWARD = "lost-reward"  # a part of several metrics; no metric has such a name, with a hyphen


@dataclass(frozen=True)
class ResultShape:
    """What is kept of each run.

    Attributes:
        arms: K.
        rounds: the number of recorded rounds.
        metrics: their names.
        phases: the number of phases of the policy; 0 for a policy without phases.
        runs: the names of the metrics whose curve is kept for every run.
        pulls_mean: whether the moments of N_k are kept at the recorded rounds.
        traced: the number of rounds whose selections are kept: T or 0.
        plays: L.
        p_mean: the exponent of `p_mean_regret`; None if it is not among the metrics.
        from_lost: those of the metrics that are the lost reward plus a number per row and round.
    """

    arms: int
    rounds: int
    metrics: tuple[str, ...]
    phases: int
    runs: tuple[str, ...] = ()
    pulls_mean: bool = False
    traced: int = 0
    plays: int = 1
    p_mean: float | None = None
    from_lost: tuple[str, ...] = ()

    def bytes_per_run(self) -> int:
        """Bytes of `BlockStatistics` per run, without the moments over seeds."""
        deficits_ever = 8 * len(self.deficits)
        curves, trace = 8 * self.rounds * len(self.runs), (8 + _float_bytes()) * self.traced * self.plays
        return 4 * self.arms + 8 * len(self.metrics) + deficits_ever + 4 * self.phases + curves + trace

    @property
    def deficits(self) -> tuple[str, ...]:
        """The metrics whose maximum over all rounds is kept, too."""
        return kept_ever(self.metrics)

    @property
    def summed(self) -> tuple[str, ...]:
        """The names of what has moments of its own: the lost reward, and the metrics that are more than that."""
        shared = (LOST_REWARD,) if self.from_lost else ()
        return shared + tuple(name for name in self.metrics if name not in self.from_lost)

    @property
    def curves(self) -> int:
        """The number of means per row and recorded round."""
        return len(self.metrics) + (self.arms if self.pulls_mean else 0)

    def moment_bytes_per_row(self) -> int:
        """Bytes of the moments per row: of a metric two words for the sum and three for the sum of squares."""
        counts = 24 * self.arms if self.pulls_mean else 0
        return self.rounds * (40 * len(self.summed) + 8 * len(self.from_lost) + counts)


def _float_bytes() -> int:
    return jnp.dtype(jnp.result_type(float)).itemsize


@dataclass(frozen=True)
class BlockStatistics:
    """What is kept of the runs of some rows; a row is one instance of one configuration.

    Attributes:
        result_shape: what is kept of each run.
        runs: the arrays with an entry per run, `[row, seed, ...]`, by name:
            "pulls": N_k(T), int32 `[row, seed, arm]`.
            "final <metric>": its value at T, float64 `[row, seed]`.
            "max_deficit_ever": the largest deficit over all rounds, float64 `[row, seed]`; with `max_deficit`. That of
                groups is "group_max_deficit_ever".
            "phases": rounds spent in each phase, int32 `[row, seed, phase]`; for a policy with phases.
            "curve <metric>": its values at the recorded rounds, float64 `[row, seed, round]`.
            "arms", "rewards", "delays": every selection, its reward and its delay, `[row, seed, t, play]`.
        moments: the moments over seeds, by name:
            "curve <metric>": `[round, row]`; of the metrics `result_shape.summed`.
            "pulls": those of N_k, `[round, arm, row]`.
        shifts: what the metrics `result_shape.from_lost` are beside the lost reward, float64 `[round, row]`, by name.
    """

    result_shape: ResultShape
    runs: dict[str, np.ndarray]
    moments: dict[str, Moments]
    shifts: dict[str, np.ndarray]

    @classmethod
    def empty(cls, result_shape: ResultShape, rows: int, seeds: int) -> BlockStatistics:
        """The statistics of runs that are yet to be inserted: all 0."""
        kept, real = result_shape, np.dtype(jnp.result_type(float))
        shapes: dict[str, tuple[tuple[int, ...], DTypeLike]] = {"pulls": ((kept.arms,), np.int32)}
        shapes |= {f"final {name}": ((), np.float64) for name in kept.metrics}
        shapes |= {f"{name}_ever": ((), np.float64) for name in kept.deficits}
        if kept.phases:
            shapes["phases"] = ((kept.phases,), np.int32)
        shapes |= {f"curve {name}": ((kept.rounds,), np.float64) for name in kept.runs}
        if kept.traced:
            dtypes: dict[str, DTypeLike] = {"arms": np.int32, "rewards": real, "delays": np.int32}
            shapes |= {name: ((kept.traced, kept.plays), dtype) for name, dtype in dtypes.items()}
        moments = {f"curve {name}": Moments((kept.rounds, rows)) for name in kept.summed}
        if kept.pulls_mean:
            moments["pulls"] = Moments((kept.rounds, kept.arms, rows))
        runs = {name: np.zeros((rows, seeds, *shape), dtype) for name, (shape, dtype) in shapes.items()}
        shifts = {name: np.zeros((kept.rounds, rows)) for name in kept.from_lost}
        return cls(result_shape, runs, moments, shifts)

    def mean(self, metric: str, runs: int) -> np.ndarray:
        """The means of a metric over that many runs, float64 `[round, row]`."""
        if metric in self.shifts:
            return self.moments[f"curve {LOST_REWARD}"].mean(runs) + self.shifts[metric]
        return self.moments[f"curve {metric}"].mean(runs)

    def stderr(self, metric: str, runs: int) -> np.ndarray:
        """The standard errors of these means, float64 `[round, row]`; NaN for a single run."""
        return self.moments[f"curve {LOST_REWARD if metric in self.shifts else metric}"].stderr(runs)

    @property
    def pulls(self) -> np.ndarray:
        """N_k(T), int32 `[row, seed, arm]`."""
        return self.runs["pulls"]

    def insert(self, rows: slice, seeds: slice, block: BlockStatistics) -> None:
        """Insert the runs of a block, which are those of some rows and seeds."""
        for name, array in self.runs.items():
            array[rows, seeds] = block.runs[name]
        for name, moments in self.moments.items():
            moments.merge((..., rows), block.moments[name])
        for name, shift in self.shifts.items():
            shift[:, rows] = block.shifts[name]

    def append_seeds(self, other: BlockStatistics) -> BlockStatistics:
        """These runs followed by those of `other`, which are more seeds of the same rows."""
        runs = {name: np.concatenate([array, other.runs[name]], axis=1) for name, array in self.runs.items()}
        for name, moments in self.moments.items():
            moments.merge((...,), other.moments[name])
        return BlockStatistics(self.result_shape, runs, self.moments, self.shifts)

    def arrays(self, full: bool = False) -> dict[str, np.ndarray]:
        """All arrays by name, as they are written and sent; sums that are 0 everywhere only with `full`."""
        named = dict(self.runs) | {f"shift {name}": array for name, array in self.shifts.items()}
        for name, moments in self.moments.items():
            named |= {f"moments {name} {part}": array for part, array in moments.arrays(full).items()}
        return named

    def restore(self, arrays: Mapping[str, np.ndarray]) -> BlockStatistics:
        """The statistics of the same shape whose `arrays` are given.

        Raises:
            ValueError: the arrays are of another shape or dtype.
        """
        given = self.runs | {f"shift {name}": array for name, array in self.shifts.items()}
        for name, array in given.items():
            if name not in arrays or (arrays[name].shape, arrays[name].dtype) != (array.shape, array.dtype):
                raise ValueError("statistics of another shape")
        restored = {}
        for name, moments in self.moments.items():
            start = f"moments {name} "
            parts = {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}
            if any(array.shape != moments.shape or array.dtype != np.int64 for array in parts.values()):
                raise ValueError("moments of another shape")
            restored[name] = Moments.from_arrays(moments.shape, parts)
        runs = {name: arrays[name] for name in self.runs}
        shifts = {name: arrays[f"shift {name}"] for name in self.shifts}
        return BlockStatistics(self.result_shape, runs, restored, shifts)


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

    Returns:
        The array; where one stack has all configurations in order, a view of its array if that is contiguous.
    """
    (first, array), *others = stacks
    if not others and list(first) == list(range(configurations)):  # as in a grid: large, and copied in vain
        rows = np.ascontiguousarray(np.moveaxis(array, axis, 0))
        return rows.reshape(configurations, instances, *rows.shape[1:])
    result: np.ndarray | None = None
    for numbers, array in stacks:
        rows = np.moveaxis(array, axis, 0)
        rows = rows.reshape(len(numbers), instances, *rows.shape[1:])
        if result is None:
            result = np.empty((configurations, *rows.shape[1:]), rows.dtype)
        result[list(numbers)] = rows
    assert result is not None, "a simulation has at least one stack"
    return result
