"""Recording a block: metrics are computed on its devices, and only their sums come to the host."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.errors import DeviceError
from jaxbandit.core.rationals import Quota
from jaxbandit.core.xla import small_programs
from jaxbandit.core.xla.fusion import on_cpu
from jaxbandit.core.xla.small_programs import SmallProgram
from jaxbandit.engine.batch.blocks import Block, on_device
from jaxbandit.engine.batch.chunks import Chunk
from jaxbandit.engine.batch.kept_programs import Kept
from jaxbandit.engine.batch.recording import Recording, Records, Wanted
from jaxbandit.engine.batch.span_totals import SpanTotals, cell_inputs, in_float64
from jaxbandit.engine.batch.stacking import Stack
from jaxbandit.engine.batch.traced_programs import PROGRAM
from jaxbandit.environment.delays import NEVER
from jaxbandit.metrics.block_statistics import LOST_REWARD, BlockStatistics, ResultShape
from jaxbandit.metrics.metric import MetricInputs
from jaxbandit.metrics.moments import LARGEST, NARROW, count_bits
from jaxbandit.policies.base import Policy


class Recorder:
    """Takes the chunks of a block as they are played, and computes the statistics of its runs.

    Args:
        stack: the stack of the block.
        result_shape: the shape of the statistics.
        block: the runs.
        shards: the number of devices that the block is spread over.
        labels: returns the labels of the stack's configurations, for errors.
        horizon: T.
        below: where the program of the rounds computes the metrics, the bound that they are all below in magnitude, as
            for `integer_parts`; None where this class does.
    """

    def __init__(
        self,
        stack: Stack,
        result_shape: ResultShape,
        block: Block,
        shards: int,
        labels: Callable[[], Sequence[str]],
        horizon: int,
        below: float | None = None,
    ):
        self._stack, self._result_shape, self._block, self._labels = stack, result_shape, block, labels
        self._ground_truth = stack.ground_truth.at_rows(block.numbers())
        self._counted = block.counted()
        self._in_rounds = below is not None
        self._wanted = Wanted(
            names=result_shape.metrics,
            kept=result_shape.runs,
            deficits=result_shape.deficits,
            below=NARROW if below is None else below,  # as long as all values are small enough
            bits=count_bits(horizon) if result_shape.pulls_mean else None,
            parts=shards if block.axis == -1 else 1,
            from_lost=result_shape.from_lost,
        )
        self._made = BlockStatistics.empty(
            result_shape, *(part.stop - part.start for part in (block.rows, block.seeds))
        )
        self._sums: list[np.ndarray] = []  # a chunk's digits `[7, summed, rounds, rows]`
        self._pulls: list[np.ndarray] = []  # a chunk's digits of counts `[3, rounds, K, rows]`
        self._shifts: list[np.ndarray] = []  # a chunk's shifts `[from_lost, rounds, rows]`
        self._recorded = 0
        self._values: Array | None = None
        self._spans: SpanTotals | None = None
        if self._ground_truth.path is not None:
            self._spans = SpanTotals(result_shape.metrics, self._ground_truth, block)
        self._deficits_ever: dict[str, np.ndarray] = {}

    @property
    def recording(self) -> Callable[[np.ndarray, int, Quota | None], Recording] | None:
        """What the program of the rounds computes, as an argument of `chunks_of`; None where it returns counts."""
        return self._recording if self._in_rounds else None

    def _recording(self, stops: np.ndarray, recorded: int, quota: Quota | None) -> Recording:
        config: Any = jax.config
        count: Any = np.int32(max(recorded, 1))  # a chunk without a recorded round has one stop
        return Recording(
            wanted=self._wanted,
            inputs=self._inputs(stops, quota),
            counted=self._counted[None, None],
            stops=count,  # NumPy's, until the program takes it
            x64=config.jax_enable_x64,
        )

    def take(self, chunk: Chunk) -> None:
        """Take a chunk; chunks come in the order of rounds.

        Raises:
            FloatingPointError: a metric was not finite, or beyond the range in which means are exact.
            DeviceError: an accelerator contradicted itself.
        """
        if self._result_shape.traced and chunk.state is not None:
            self._take_trace(chunk)
        if chunk.count and self._spans is not None:
            self._spans.take(chunk)
        if len(chunk.rounds) and (self._wanted.names or self._wanted.bits is not None):
            records = self._records(chunk) if chunk.records is None else chunk.records
            self._keep(records, self._summed(records.sums, chunk), chunk)
        self._recorded += len(chunk.rounds)

    def _records(self, chunk: Chunk) -> Records:
        """What the counts at the recorded rounds of a chunk come to."""
        assert chunk.at_stops is not None
        at_stops, places = in_float64(chunk.at_stops), chunk.places
        quota = chunk.quota and Quota(chunk.quota.floor[places], chunk.quota.fraction[places], None)
        inputs = self._inputs(chunk.stops[places], quota)
        totals = {} if self._spans is None else self._spans.totals
        inputs = dataclasses.replace(inputs, sums=at_stops.sums, totals=totals)
        given = at_stops.counts, places, inputs, self._counted, np.int64(len(chunk.rounds))
        with jax.enable_x64(True), PROGRAM(self._stack.recorder):
            records: Records = _records_at(self._wanted, *given)
            if self._wanted.below < LARGEST and self._summed(records.sums, chunk)[-1].any():  # large from here on
                self._wanted = dataclasses.replace(self._wanted, below=LARGEST)
                records = _records_at(self._wanted, *given)
        return records

    def _keep(self, records: Records, sums: np.ndarray, chunk: Chunk) -> None:
        """Keep what the recorded rounds of a chunk have come to; `sums` are those of the rows."""
        recorded, kept = len(chunk.rounds), self._wanted.kept
        self._check(sums[-1], chunk.rounds)
        self._sums.append(sums)
        if records.shifts is not None:
            self._shifts.append(self._block.unpack(np.asarray(records.shifts)[:, :recorded])[..., 0])
        if self._wanted.names and not on_cpu():
            self._compare(sums[:, :, -1], records.values, chunk)
        self._values = records.values
        if records.pulls is not None:
            self._pulls.append(self._block.summed(np.asarray(records.pulls)[:, :recorded]))
        for name, largest in records.deficits_ever.items():
            before = self._deficits_ever.get(name, -np.inf)
            self._deficits_ever[name] = np.maximum(before, np.asarray(largest)[0])
        rounds = slice(self._recorded, self._recorded + recorded)
        for name, curve in zip(kept, () if records.curves is None else np.asarray(records.curves), strict=True):
            self._made.runs[f"curve {name}"][..., rounds] = _runs_first(self._block.unpack(curve[:recorded]))

    def _summed(self, sums: Array, chunk: Chunk) -> np.ndarray:
        """The integer parts of each row, from those of the parts of a cell."""
        made = self._block.summed(np.asarray(sums)[:, :, : len(chunk.rounds)])
        # Programs are compiled on round 0, in which no metric has to be defined
        return made if chunk.last else np.zeros_like(made)

    def _take_trace(self, chunk: Chunk) -> None:
        """Keep the selections of a chunk: no arm as -1, its reward as NaN, a delay that never ends as -1."""
        assert chunk.state is not None
        trace = chunk.state.trace
        assert trace is not None
        places = np.arange(chunk.before, chunk.last) % len(trace.arms)
        arms, rewards, delays = (
            _runs_first(self._block.unpack(np.asarray(part)[places]))
            for part in (trace.arms, trace.rewards, trace.delays)
        )
        rounds = slice(chunk.before, chunk.last)
        self._made.runs["arms"][:, :, rounds] = arms
        self._made.runs["rewards"][:, :, rounds] = np.where(arms < 0, np.nan, rewards)
        self._made.runs["delays"][:, :, rounds] = np.where((arms < 0) | (delays >= NEVER), -1, delays)

    def _check(self, outside: np.ndarray, rounds: np.ndarray) -> None:
        """Refuse metrics with values that have no exact mean; `outside` counts these, `[summed, rounds, rows]`."""
        if not outside.any():
            return
        place, number, row = (int(found[0]) for found in np.nonzero(outside.transpose(1, 0, 2)))
        shape = self._result_shape
        name = shape.summed[number] if shape.summed[number] != LOST_REWARD else shape.from_lost[0]
        what = f"{name} at round {rounds[place]}"
        words = f"is not finite, or of magnitude {LARGEST:.2g} or more, in {outside[number, place, row]} runs"
        raise FloatingPointError(f"{self._who(row)}: {what} {words}; no mean is taken of such values")

    def _compare(self, sums: np.ndarray, values: Array, chunk: Chunk) -> None:
        """Compare the integer parts at the last recorded round with the values there, which the device adds up again.

        An H100 once returned zeros for the integer parts of a block, and right values.

        Raises:
            DeviceError: they do not agree.
        """
        shape, parts = self._result_shape, self._wanted.parts
        with jax.enable_x64(True):
            added, magnitude = self._block.summed(np.asarray(_added(values, self._counted, parts)))
        if not chunk.last:  # as in `_summed`
            return
        runs = self._block.seeds.stop - self._block.seeds.start
        for number, summed in enumerate(shape.summed):
            name = shape.from_lost[0] if summed == LOST_REWARD else summed
            place = shape.metrics.index(name)
            wanted, size = added[place], magnitude[place]
            if summed == LOST_REWARD:
                shift = runs * self._shifts[-1][0, -1]
                wanted, size = wanted - shift, size + np.abs(shift)
            found = sums[0, number] + 2.0**-40 * sums[1, number]
            wrong = ~(np.abs(found - wanted) <= 1e-9 * (size + runs))
            if wrong.any():
                row = int(np.argmax(wrong))
                words = f"its sum over {runs} runs is {found[row]:.8g} by one computation of the device, and "
                words += f"{wanted[row]:.8g} by another"
                what = f"{summed.replace('-', ' ')} at round {chunk.rounds[-1]}"
                raise DeviceError(f"{self._who(row)}: {what}: {words}")

    def _compare_counts(self, sums: np.ndarray, pulls: np.ndarray) -> None:
        """Compare the sums of N_k(T), `[K, rows]`, with those of the counts of all runs, `[rows, seeds, K]`.

        Raises:
            DeviceError: they do not agree.
        """
        if on_cpu():
            return
        wrong = pulls.sum(axis=1, dtype=np.int64) != sums.T
        if wrong.any():
            row = int(np.argmax(wrong.any(axis=1)))
            raise DeviceError(f"{self._who(row)}: the device returned two sums of N_k(T) over {pulls.shape[1]} runs")

    def _who(self, row: int) -> str:
        """The policy and the instance of a row of the block, for errors."""
        configuration, instance = divmod(self._block.rows.start + row, self._stack.instances)
        where = f", instance {instance}" if self._stack.instances > 1 else ""
        return f"policy {self._labels()[configuration]!r}{where}"

    def statistics(self, last: Chunk) -> BlockStatistics:
        """The statistics of all chunks; `last` is the chunk that ends with round T.

        Raises:
            FloatingPointError: rewards were not finite numbers.
            DeviceError: an accelerator contradicted itself.
        """
        assert last.state is not None
        self._check_rewards(last.state.deviation, last.last)
        block, made = self._block, self._made
        made.runs["pulls"][...] = _runs_first(block.unpack(np.asarray(last.state.pulls)))
        if self._pulls:
            self._compare_counts(self._pulls[-1][0, -1], made.pulls)
            made.moments["pulls"].add_counts((...,), np.concatenate(self._pulls, axis=1))
        if self._sums:
            sums = np.concatenate(self._sums, axis=2)
            finals = block.unpack(np.asarray(self._values))
            for number, name in enumerate(self._result_shape.metrics):
                made.runs[f"final {name}"][...] = finals[number]
            for number, name in enumerate(self._result_shape.summed):
                made.moments[f"curve {name}"].add((...,), sums[:, number])
            for number, shift in enumerate(made.shifts.values()):
                shift[...] = np.concatenate([part[number] for part in self._shifts])
        if "phases" in made.runs:
            with PROGRAM(self._stack.program):
                spent = _spent(on_device(self._stack.policy, block.cells()), last.state.policy, np.int32(last.last))
            made.runs["phases"][...] = _runs_first(block.unpack(np.asarray(spent)))
        for name, recorded in self._deficits_ever.items():
            # Over every round, rounded to the engine's dtype; and exactly over the recorded ones.
            every = block.unpack(np.asarray(last.state.deficits_ever[name], np.float64)[0])
            made.runs[f"{name}_ever"][...] = np.maximum(every, block.unpack(recorded))
        return made

    def _check_rewards(self, deviation: Array, last: int) -> None:
        finite = np.isfinite(np.asarray(deviation))  # by NumPy: a program of JAX's would wait for those of other blocks
        if finite.all():
            return
        strange = ~self._block.unpack(finite)
        arm, row, _ = (int(found[0]) for found in np.nonzero(strange))
        words = f"the sum of the rewards of arm {arm} up to round {last} is not finite"
        raise FloatingPointError(f"{self._who(row)}: {words}")

    def _inputs(self, stops: np.ndarray, quota: Quota | None) -> MetricInputs:
        """The inputs of the metrics at some stops beside counts and sums, for each cell."""
        shape = self._result_shape
        return cell_inputs(shape.metrics, stops, quota, self._ground_truth, self._block, p_mean=shape.p_mean)


def _runs_first(values: np.ndarray) -> np.ndarray:
    """Arrays `[..., rows, seeds]` as `[rows, seeds, ...]`."""
    return np.moveaxis(values, (-2, -1), (0, 1))


@functools.partial(jax.jit, static_argnums=2)
def _added(values: Array, counted: np.ndarray, parts: int) -> Array:
    """The sums over runs of values and of their magnitudes, float64 `[2, metrics, cells, parts]`."""
    counted_values = jnp.where(counted[None, None], values, 0.0).reshape(*values.shape[:2], parts, -1)
    return jnp.stack([counted_values.sum(axis=-1), jnp.abs(counted_values).sum(axis=-1)])


def _phase_rounds(policy: Policy, state: Any, rounds: Array) -> Array:
    return policy.phase_rounds(state, rounds)


_spent = SmallProgram(_phase_rounds)


def _records(
    wanted: Wanted,
    counts: Array,
    places: np.ndarray,
    inputs: MetricInputs,
    counted: np.ndarray,
    recorded: Array,
) -> Records:
    """What the first `recorded` of some places among the stops come to, one after the other.

    Args:
        wanted: what is computed.
        counts: N_k at the stops, `[stops, K, cells, lanes]`.
        places: of the recorded stops, `[stops]`.
        inputs: at these places; the running sums at the stops.
        counted: as for `integer_parts`.
        recorded: the number of places.
    """

    inputs = wanted.prepared(inputs)
    records = wanted.empty(inputs, *counts.shape[1:])
    if not on_cpu() and inputs.span is None:  # one kernel for all stops: the host launches few
        at_places = {name: at[places] for name, at in inputs.sums.items()}
        return wanted.add(records, jnp.int32(0), counts[places], dataclasses.replace(inputs, sums=at_places), counted)

    def add(row: Array, records: Records) -> Records:
        def one_stop() -> tuple[Array, MetricInputs]:
            kept_sums = {name: lax.dynamic_slice_in_dim(at, places[row], 1) for name, at in inputs.sums.items()}
            now = dataclasses.replace(dataclasses.replace(inputs, sums={}).at_round(row), sums=kept_sums)
            return lax.dynamic_slice_in_dim(counts, places[row], 1), now

        return wanted.add(records, row, *one_stop(), counted)

    return lax.fori_loop(0, recorded, add, records)


def _no_records(wanted: Wanted, counts: Array, places: np.ndarray, inputs: MetricInputs, *_: Any) -> Records:
    return wanted.empty(inputs, *counts.shape[1:])


_compiled = SmallProgram(_records)
_records_at = Kept("records", _compiled, lambda: _records, _no_records, small_programs.jit)
