"""Metrics that add up the spans of rounds in which means are constant, such as dynamic regret."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.rationals import Quota
from jaxbandit.core.xla.fusion import without_fusion
from jaxbandit.core.xla.small_programs import SmallProgram
from jaxbandit.engine.batch.blocks import Block
from jaxbandit.engine.batch.chunks import Chunk
from jaxbandit.environment.ground_truth import GroundTruth
from jaxbandit.environment.means.changing import MeanPath
from jaxbandit.metrics import definitions
from jaxbandit.metrics.metric import METRICS, MetricInputs

Tree = TypeVar("Tree")


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
        # The last change of means so far: its round, the quota there, N_k there and the metrics there.
        self._change: tuple[int, np.ndarray, np.ndarray] | None = None
        self._counts: Array | None = None
        self._values: dict[str, Array] = {}
        self.totals: dict[str, Array] = {}

    def take(self, chunk: Chunk) -> None:
        """Add up the spans of a chunk that has a stop."""
        path = self._ground_truth.path
        assert chunk.at_stops is not None  # no program of the rounds adds up spans
        assert path is not None
        counts = in_float64(chunk.at_stops.counts)
        before, changes = self._quotas_before(chunk, path), path.starts(chunk.stops + 1) == chunk.stops
        with jax.enable_x64(True):
            if self._counts is None:
                self._counts = jnp.zeros_like(counts[:1])
                self._values = {name: jnp.zeros(counts.shape[2:]) for name in self._names}
            inputs = cell_inputs(self._names, chunk.stops, chunk.quota, self._ground_truth, self._block, before)
            self.totals, self._counts, self._values = _totals_at(
                self._names, counts, self._counts, self._values, inputs, changes, np.int32(chunk.count), chunk.places
            )

    def _quotas_before(self, chunk: Chunk, path: MeanPath) -> Quota | None:
        """The quotas in the last round before the means of each stop; None without guarantees."""
        if chunk.quota is None:
            return None
        if self._change is None:
            self._change = 0, np.zeros_like(chunk.quota.floor[0]), np.zeros_like(chunk.quota.fraction[0])
        change, *quota = self._change
        stops = chunk.stops[: chunk.count]  # every change is a stop
        floor, fraction = (
            np.concatenate([old[None], new[: chunk.count]])
            for old, new in zip(quota, (chunk.quota.floor, chunk.quota.fraction), strict=True)
        )
        rounds = np.append(change, stops)
        places = np.searchsorted(rounds, path.starts(chunk.stops))
        last = int(np.searchsorted(rounds, path.starts(stops[-1:] + 1))[0])
        self._change = int(rounds[last]), floor[last], fraction[last]
        return Quota(floor[places], fraction[places], None)


def _at_recorded(
    names: tuple[str, ...],
    counts: Array,
    before: Array,
    values: dict[str, Array],
    inputs: MetricInputs,
    changes: np.ndarray,
    stops: Array,
    places: np.ndarray,
) -> tuple[dict[str, Array], Array, dict[str, Array]]:
    """The metrics at each recorded stop: those at the last change of means, plus those of the rounds since.

    So they do not depend on the other stops.

    Args:
        names: of the metrics.
        counts: N_k at the stops, `[stops, K, cells, lanes]`.
        before: N_k at the last change before the first stop, `[1, K, cells, lanes]`.
        values: the metrics there, by name.
        inputs: at the stops.
        changes: whether means change after a stop, `[stops]`.
        stops: the number of stops that are not repetitions of the last one.
        places: the places of the recorded stops.

    Returns:
        The metrics at the recorded stops, by name, `[stops, cells, lanes]`; and N_k and the metrics at the last change.
    """

    def add(place: Array, carry: Any) -> Any:
        before, values, totals, row = carry

        def inputs_of_span() -> tuple[Array, MetricInputs, Array]:
            now = lax.dynamic_slice_in_dim(counts, place, 1)
            return now, inputs.at_round(place).of_span(), jnp.asarray(changes)[place]

        # Not fused into the metrics: LLVM does not vectorise loops that look up where a slice begins (5 times slower).
        now, span, change = without_fusion(inputs_of_span, stops)
        grown = now - before
        made = [
            without_fusion(functools.partial(definitions.compute_metric, name, grown, span), stops) for name in names
        ]
        at_stop = {name: values[name] + term[0] for name, term in zip(names, made, strict=True)}
        # What is written at a stop that is not recorded is overwritten at the next one that is
        totals = {name: lax.dynamic_update_slice_in_dim(totals[name], at_stop[name][None], row, 0) for name in names}
        before, values = lax.cond(change, lambda: (now, at_stop), lambda: (before, values))
        return before, values, totals, row + (places[row] == place).astype(row.dtype)

    totals = {name: jnp.zeros((len(counts), *counts.shape[2:])) for name in names}
    before, values, totals, _ = lax.fori_loop(0, stops, add, (before, values, totals, jnp.zeros_like(places[0])))
    return totals, before, values


def cell_inputs(
    names: Sequence[str],
    stops: np.ndarray,
    quota: Quota | None,
    ground_truth: GroundTruth,
    block: Block,
    before: Quota | None = None,
    p_mean: float | None = None,
) -> MetricInputs:
    """The inputs of metrics at some stops beside counts and sums, for each cell of a block.

    Args:
        names: the metrics.
        stops: the rounds, int64 `[R]`.
        quota: tau_k t of the arms and phi_g L t of the groups there, arrays `[R, n, the block's rows or 1]`.
        ground_truth, block: the numbers of the rows of the block, and the block.
        before, p_mean: as for `definitions.metric_inputs`.
    """
    inputs = definitions.metric_inputs(names, stops, ground_truth, quota, None, before, p_mean)
    places = block.places()
    if len(ground_truth.means[0]) < len(places):
        inputs = jax.tree.map(lambda part: part[..., places, :] if part.shape[-2] > 1 else part, inputs)
    return inputs


_totals_at = SmallProgram(_at_recorded, static_argnames="names", donate_argnames="before")


def in_float64(values: Tree) -> Tree:
    """The arrays on a device that has float64: their own, or the host's CPU where theirs has none, as a TPU."""
    platforms = {device.platform for leaf in jax.tree.leaves(values) for device in leaf.devices()}
    return values if platforms <= _EXACT else jax.device_put(values, jax.local_devices(backend="cpu")[0])


_EXACT = frozenset({"cpu", "gpu", "cuda", "rocm"})
