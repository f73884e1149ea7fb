"""Recording a block: metrics are computed on its devices, and only their sums come to the host."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.xla.fusion import without_fusion
from jaxbandit.engine.batch.blocks import Block, on_device
from jaxbandit.engine.batch.chunks import Chunk
from jaxbandit.engine.batch.span_totals import SpanTotals, cell_inputs, in_float64
from jaxbandit.engine.batch.stacking import Stack
from jaxbandit.engine.batch.traced_programs import PROGRAM
from jaxbandit.environment.delays import NEVER
from jaxbandit.metrics import definitions
from jaxbandit.metrics.block_statistics import BlockStatistics, ResultShape
from jaxbandit.metrics.definitions import MetricInputs
from jaxbandit.metrics.moments import LARGEST, count_bits, count_parts, integer_parts
from jaxbandit.policies.base import Policy


class Recorder:
    """Takes the chunks of a block as they are played, and computes the statistics of its runs.

    Args:
        stack: the stack of the block.
        result_shape: the shape of the statistics.
        block: the runs.
        shards: the number of devices that the block is spread over.
        labels: the labels of the stack's configurations, for errors.
    """

    def __init__(self, stack: Stack, result_shape: ResultShape, block: Block, shards: int, labels: Sequence[str]):
        self._stack, self._result_shape, self._block, self._labels = stack, result_shape, block, labels
        self._ground_truth = stack.ground_truth.at_rows(block.numbers())
        self._parts = shards if block.axis == -1 else 1
        self._made = BlockStatistics.empty(
            result_shape, *(part.stop - part.start for part in (block.rows, block.seeds))
        )
        self._sums: list[np.ndarray] = []  # a call's digits `[7, metrics, rounds, rows]`
        self._pulls: list[np.ndarray] = []  # a call's digits of counts `[3, rounds, K, rows]`
        self._recorded = 0
        self._narrow = True  # whether all values so far were small enough for the faster `integer_parts`
        self._values: Array | None = None
        self._spans: SpanTotals | None = None
        if self._ground_truth.path is not None:
            self._spans = SpanTotals(result_shape.metrics, self._ground_truth, block)
        self._deficits_ever: dict[str, Array | np.ndarray] = {}

    def take(self, chunk: Chunk) -> None:
        """Take a chunk; chunks come in the order of rounds.

        Raises:
            FloatingPointError: a metric was not finite, or beyond the range in which means are exact.
        """
        if self._result_shape.traced and chunk.state is not None:
            self._take_trace(chunk)
        if chunk.count and self._spans is not None:
            self._spans.take(chunk)
        recorded = len(chunk.rounds)
        if not recorded:
            return
        counted, counts = self._block.counted(), in_float64(chunk.counts)
        if self._result_shape.pulls_mean:
            with jax.enable_x64(True):
                bits = count_bits(chunk.last)
                parts = _counts_at(self._parts, bits, counts, chunk.places, counted, np.int64(recorded))
            self._pulls.append(self._block.summed(np.asarray(parts)[:, :recorded]))
        if self._result_shape.metrics:
            self._take_metrics(chunk, counts, counted)
        self._recorded += recorded

    def _take_metrics(self, chunk: Chunk, counts: Array, counted: np.ndarray) -> None:
        """Compute the metrics of a chunk, and keep their sums; of some, every value."""
        recorded, kept = len(chunk.rounds), self._result_shape
        if not self._deficits_ever:
            self._deficits_ever = {name: np.full(chunk.counts.shape[2:], -np.inf) for name in kept.deficits}
        given = counts, chunk.places, self._inputs(chunk), counted, np.int64(recorded), self._deficits_ever
        with jax.enable_x64(True), PROGRAM(self._stack.recorder):
            sums, *others = _metrics_at(kept.metrics, kept.runs, self._parts, self._narrow, *given)
            made = self._summed(sums, chunk)
            if self._narrow and made[-1].any():  # from here on, values are large
                self._narrow = False
                sums, *others = _metrics_at(kept.metrics, kept.runs, self._parts, self._narrow, *given)
                made = self._summed(sums, chunk)
        self._values, self._deficits_ever, curves = others
        self._check(made[-1], chunk.rounds)
        self._sums.append(made)
        rounds = slice(self._recorded, self._recorded + recorded)
        for name, curve in zip(kept.runs, () if curves is None else np.asarray(curves), strict=True):
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
        """Refuse metrics with values that have no exact mean; `outside` counts these, `[metrics, rounds, rows]`."""
        if not outside.any():
            return
        place, number, row = (int(found[0]) for found in np.nonzero(outside.transpose(1, 0, 2)))
        what = f"{self._result_shape.metrics[number]} at round {rounds[place]}"
        words = f"is not finite, or of magnitude {LARGEST:.2g} or more, in {outside[number, place, row]} runs"
        raise FloatingPointError(f"{self._who(row)}: {what} {words}; no mean is taken of such values")

    def _who(self, row: int) -> str:
        """The policy and the instance of a row of the block, for errors."""
        configuration, instance = divmod(self._block.rows.start + row, self._stack.instances)
        where = f", instance {instance}" if self._stack.instances > 1 else ""
        return f"policy {self._labels[configuration]!r}{where}"

    def statistics(self, last: Chunk) -> BlockStatistics:
        """The statistics of all chunks; `last` is the chunk that ends with round T.

        Raises:
            FloatingPointError: rewards were not finite numbers.
        """
        assert last.state is not None
        self._check_rewards(last.state.deviation, last.last)
        block, made = self._block, self._made
        made.runs["pulls"][...] = _runs_first(block.unpack(np.asarray(last.state.pulls)))
        if self._pulls:
            made.moments["pulls"].add_counts((...,), np.concatenate(self._pulls, axis=1))
        if self._sums:
            sums = np.concatenate(self._sums, axis=2)
            finals = block.unpack(np.asarray(self._values))
            for number, name in enumerate(self._result_shape.metrics):
                made.moments[f"curve {name}"].add((...,), sums[:, number])
                made.runs[f"final {name}"][...] = finals[number]
        if "phases" in made.runs:
            with PROGRAM(self._stack.program):
                spent = _spent(on_device(self._stack.policy, block.cells()), last.state.policy, np.int32(last.last))
            made.runs["phases"][...] = _runs_first(block.unpack(np.asarray(spent)))
        for name, recorded in self._deficits_ever.items():
            # Over every round, rounded to the engine's dtype; and exactly over the recorded ones.
            every = block.unpack(np.asarray(last.state.deficits_ever[name], np.float64)[0])
            made.runs[f"{name}_ever"][...] = np.maximum(every, block.unpack(np.asarray(recorded)))
        return made

    def _check_rewards(self, deviation: Array, last: int) -> None:
        if np.asarray(_finite(deviation)).all():
            return
        strange = ~np.isfinite(self._block.unpack(np.asarray(deviation)))
        arm, row, _ = (int(found[0]) for found in np.nonzero(strange))
        words = f"the sum of the rewards of arm {arm} up to round {last} is not finite"
        raise FloatingPointError(f"{self._who(row)}: {words}")

    def _inputs(self, chunk: Chunk) -> MetricInputs:
        """The inputs of the metrics beside the counts, for each cell."""
        p_mean, totals = self._result_shape.p_mean, {} if self._spans is None else self._spans.totals
        names = self._result_shape.metrics
        inputs = cell_inputs(names, chunk, self._ground_truth, self._block, p_mean=p_mean, recorded=True)
        sums = {name: in_float64(values) for name, values in chunk.sums.items()}
        return dataclasses.replace(inputs, sums=sums, totals=totals)


def _runs_first(values: np.ndarray) -> np.ndarray:
    """Arrays `[..., rows, seeds]` as `[rows, seeds, ...]`."""
    return np.moveaxis(values, (-2, -1), (0, 1))


@jax.jit
def _finite(values: Array) -> Array:
    """Whether all values of each run are finite, `[*runs]`; the devices exchange nothing."""
    return jnp.isfinite(values).all(axis=0)


@jax.jit
def _spent(policy: Policy, state: Any, rounds: Array) -> Array:
    return policy.phase_rounds(state, rounds)


@functools.partial(jax.jit, static_argnames=("parts", "bits"))
def _counts_at(
    parts: int, bits: int, counts: Array, places: np.ndarray, counted: np.ndarray, recorded: np.int64
) -> Array:
    """The `count_parts` of the first `recorded` places among the stops, `[3, stops, K, cells, parts]`."""

    def count(row: Array, sums: Array) -> Array:
        made = count_parts(lax.dynamic_slice_in_dim(counts, places[row], 1), counted, parts, bits)
        return lax.dynamic_update_slice(sums, made, (0, row, 0, 0, 0))

    return lax.fori_loop(0, recorded, count, jnp.zeros((3, *counts.shape[:-1], parts), jnp.int64))


@functools.partial(jax.jit, static_argnames=("names", "kept", "parts", "narrow"))
def _metrics_at(
    names: tuple[str, ...],
    kept: tuple[str, ...],
    parts: int,
    narrow: bool,
    counts: Array,
    places: np.ndarray,
    inputs: MetricInputs,
    counted: np.ndarray,
    recorded: Array,
    deficits_ever: dict[str, Array | np.ndarray],
) -> tuple[Array, Array, dict[str, Array | np.ndarray], Array | None]:
    """Metrics at the first `recorded` of some places among the stops.

    Each iteration computes one stop, which stays in a core's cache.

    Args:
        names: of the metrics.
        kept: the names of those whose values are returned at every stop.
        parts: as `segments` of `integer_parts`, like `narrow`.
        counts: N_k at the stops, `[stops, K, cells, lanes]`.
        places: of the recorded stops, `[stops]`.
        inputs: at these places; the running sums at the stops.
        counted: as for `integer_parts`.
        recorded: the number of places.
        deficits_ever: the largest deficit at the stops before, by name of the metric.

    Returns:
        The `integer_parts` of each place, `[7, metrics, stops, cells, parts]`; metrics at the last one,
        `[metrics, cells, lanes]`; the largest deficit at these stops and before them; and the metrics `kept` at each
        place, `[kept, stops, cells, lanes]`, None where none are kept.
    """

    def judge(row: Array, carry: Any) -> Any:
        sums, values, deficits_ever, curves = carry

        def one_stop() -> tuple[Array, MetricInputs]:
            kept_sums = {name: lax.dynamic_slice_in_dim(at, places[row], 1) for name, at in inputs.sums.items()}
            now = dataclasses.replace(dataclasses.replace(inputs, sums={}).at_round(row), sums=kept_sums)
            # Converted once for all metrics
            return lax.dynamic_slice_in_dim(counts, places[row], 1).astype(jnp.float64), now

        # Not fused into the metrics: LLVM does not vectorise loops that look up where a slice begins (5 times slower).
        count, now = without_fusion(one_stop, recorded)
        for number, name in enumerate(names):
            value = without_fusion(functools.partial(definitions.compute_metric, name, count, now), recorded)
            part = integer_parts(value, counted, parts, narrow)
            sums = lax.dynamic_update_slice(sums, part[:, None], (0, number, row, 0, 0))
            values = lax.dynamic_update_slice(values, value, (number, 0, 0))
            if name in kept:
                curves = lax.dynamic_update_slice(curves, value[None], (kept.index(name), row, 0, 0))
            if name in deficits_ever:
                deficits_ever = deficits_ever | {name: jnp.maximum(deficits_ever[name], value[0])}
        return sums, values, deficits_ever, curves

    stops, _, cells, lanes = counts.shape
    sums = jnp.zeros((7, len(names), stops, cells, parts), jnp.int64)
    values = jnp.zeros((len(names), cells, lanes), jnp.float64)
    curves = jnp.zeros((len(kept), stops, cells, lanes), jnp.float64) if kept else None
    return lax.fori_loop(0, recorded, judge, (sums, values, deficits_ever, curves))
