"""Metrics that add up the spans of rounds in which means are constant, such as dynamic regret."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.rationals import Quota
from jaxbandit.engine.batch.blocks import Block
from jaxbandit.engine.batch.chunks import Chunk
from jaxbandit.environment.ground_truth import GroundTruth
from jaxbandit.metrics import definitions
from jaxbandit.metrics.metric import METRICS, MetricInputs


class SpanTotals:
    """Takes the chunks of a block as they are played, and adds up the metrics that add up spans.

    Args:
        names: the names of all metrics.
        ground_truth: of the rows of the block.
        block: the runs.

    Attributes:
        totals: at the recorded stops of the last chunk, by name, float64 `[stops, cells, lanes]`.
    """

    def __init__(self, names: Sequence[str], ground_truth: GroundTruth, block: Block):
        self._names = tuple(name for name in names if METRICS[name].adds_up)
        self._ground_truth, self._block = ground_truth, block
        self._before: tuple[int, Quota | None] | None = None  # the last stop, and its quota
        self._counts: Array | None = None  # there
        self._values: dict[str, Array] = {}  # there
        self.totals: dict[str, Array] = {}

    def recorded_alone(self, chunk: Chunk) -> Chunk:
        """Add up the spans of a chunk that has a stop.

        Returns:
            The chunk without the stops that are not recorded.
        """
        counts, stops = in_float64(chunk.counts), len(chunk.rounds)
        before, values = self._counts, self._values
        with jax.enable_x64(True):
            if before is None:
                before = jnp.zeros_like(counts[:1])
                values = {name: jnp.zeros(counts.shape[2:]) for name in self._names}
            inputs = cell_inputs(self._names, chunk, self._ground_truth, self._block, self._before)
            every = _totals_at(self._names, counts, before, values, inputs, np.int32(stops))
            last = np.int32(stops - 1)
            self._counts, self._values = _row(counts, last)[None], {name: _row(every[name], last) for name in every}
        quota = chunk.quota
        at_last = None if quota is None else Quota(quota.floor[stops - 1], quota.fraction[stops - 1], None)
        self._before = int(chunk.rounds[-1]), at_last
        places = np.flatnonzero(chunk.recorded)
        if not len(places):
            return dataclasses.replace(chunk, rounds=chunk.rounds[:0])
        padded = np.append(places, np.full(len(chunk.stops) - len(places), places[-1])).astype(np.int32)
        with jax.enable_x64(True):
            kept, sums, self.totals = _rows((chunk.counts, chunk.sums, every), padded)
        if quota is not None:
            quota = Quota(*(part[padded] for part in (quota.floor, quota.fraction, quota.fraction_rank)))
        rounds, stopped = chunk.rounds[places], chunk.stops[padded]
        return dataclasses.replace(chunk, rounds=rounds, stops=stopped, counts=kept, sums=sums, quota=quota)


@functools.partial(jax.jit, static_argnames="names")
def _totals_at(
    names: tuple[str, ...],
    counts: Array,
    before: Array,
    values: dict[str, Array],
    inputs: MetricInputs,
    stops: np.int32,
) -> dict[str, Array]:
    """The metrics at each stop, `[stops, cells, lanes]`: those at the stop before, plus those of the span.

    Args:
        names: of the metrics.
        counts: N_k at the stops, `[stops, K, cells, lanes]`.
        before: N_k at the stop before the first one, `[1, K, cells, lanes]`.
        values: the metrics there, by name.
        inputs: at the stops.
        stops: the number of stops that are not repetitions of the last one.
    """
    grown = counts - jnp.concatenate([before, counts[:-1]])

    def of_span(place: Array) -> dict[str, Array]:
        own = lax.dynamic_slice_in_dim(grown, place, 1)
        made = definitions.compute_metrics(names, own, inputs.at_round(place).of_span())
        return {name: value[0] for name, value in made.items()}

    def add(total: dict[str, Array], place: Array) -> tuple[dict[str, Array], dict[str, Array]]:
        # In the order of the stops, whatever the chunks are.
        terms = of_span(place)
        total = {name: jnp.where(place < stops, value + terms[name], value) for name, value in total.items()}
        return total, total

    return lax.scan(add, values, jnp.arange(len(counts), dtype=jnp.int32), unroll=4)[1]


@jax.jit
def _row(values: Array, place: np.int32) -> Array:
    return lax.dynamic_index_in_dim(values, place, keepdims=False)


@jax.jit
def _rows(
    tree: tuple[Array, dict[str, Array], dict[str, Array]], places: np.ndarray
) -> tuple[Array, dict[str, Array], dict[str, Array]]:
    return jax.tree.map(lambda values: values[places], tree)


def cell_inputs(
    names: Sequence[str],
    chunk: Chunk,
    ground_truth: GroundTruth,
    block: Block,
    before: tuple[int, Quota | None] | None = None,
    p_mean: float | None = None,
) -> MetricInputs:
    """The inputs of metrics at the stops of a chunk beside counts and sums, for each cell of a block.

    Args:
        names: the metrics.
        chunk, ground_truth, block: the chunk, the numbers of the rows of its block, and the block.
        before, p_mean: as for `definitions.metric_inputs`.
    """
    inputs = definitions.metric_inputs(names, chunk.stops, ground_truth, chunk.quota, None, before, p_mean)
    if len(ground_truth.means[0]) < chunk.counts.shape[-2]:
        places = block.places()
        inputs = jax.tree.map(lambda part: part[..., places, :] if part.shape[-2] > 1 else part, inputs)
    return inputs


def in_float64(values: Array) -> Array:
    """The values on a device that has float64: their own, or the host's CPU where theirs has none, as a TPU."""
    if all(device.platform in _EXACT for device in values.devices()):
        return values
    return jax.device_put(values, jax.local_devices(backend="cpu")[0])


_EXACT = frozenset({"cpu", "gpu", "cuda", "rocm"})
