"""What is computed from the runs of a block at its recorded rounds: sums over the runs of metrics and counts.

Either the program of the rounds computes it, from counts that are still in the cache of a core (`Recording`); or the
counts come out of that program, and the `Recorder` computes it from them in a program of its own. Results are the same.
The first way is faster per run, but every policy's program contains the metrics and takes longer to compile.
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.struct import static, struct
from jaxbandit.core.xla.fusion import without_fusion
from jaxbandit.core.xla.reductions import larger
from jaxbandit.engine.rollout import State
from jaxbandit.metrics import definitions, formulas
from jaxbandit.metrics.metric import METRICS, MetricInputs
from jaxbandit.metrics.moments import count_parts, integer_parts


@struct
class Records:
    """What some stops of a block have come to.

    Attributes:
        sums: the `integer_parts` at each stop of what is summed, int64 `[7, summed, stops, cells, parts]`: the lost
            reward, if a metric is made from it, and the other metrics.
        shifts: what the metrics `from_lost` are beside the lost reward, at all stops of the chunk, float64
            `[from_lost, stops, cells, 1]`; None for none.
        values: the metrics at the last stop so far, float64 `[metrics, cells, lanes]`.
        deficits_ever: the largest deficits at the stops so far, by the name of the metric, float64 `[cells, lanes]`.
        curves: the metrics `kept` for every run at each stop, float64 `[kept, stops, cells, lanes]`; None for none.
        pulls: the `count_parts` of N_k at each stop, int64 `[3, stops, K, cells, parts]`; None where they are not kept.
    """

    sums: Array
    shifts: Array | None
    values: Array
    deficits_ever: dict[str, Array]
    curves: Array | None
    pulls: Array | None


@struct
class Wanted:
    """What is to be computed at each stop.

    Attributes:
        names: of the metrics.
        kept: the names of those whose values are returned at every stop.
        deficits: the names of those whose largest value over all stops is kept.
        below: all metrics, and the lost reward, are smaller in magnitude, as for `integer_parts`.
        bits: of a count, as for `count_parts`; None where means of counts are not kept.
        parts: as `segments` of `integer_parts`.
        from_lost: those of the names that are the lost reward plus a number per round.
    """

    names: tuple[str, ...] = static()
    kept: tuple[str, ...] = static()
    deficits: tuple[str, ...] = static()
    below: float = static()
    bits: int | None = static()
    parts: int = static(1)
    from_lost: tuple[str, ...] = static(())

    @property
    def summed(self) -> int:
        """How many numbers per run are summed at a stop."""
        return len(self.names) - len(self.from_lost) + bool(self.from_lost)

    def prepared(self, inputs: MetricInputs) -> MetricInputs:
        """The inputs at the stops of a chunk, with the terms of metrics that do not depend on the counts."""
        if inputs.span is not None:  # means change: r-regret is in `inputs.totals`, the others are not defined
            return inputs
        of_all_runs = dataclasses.replace(inputs, sums={}, totals={})
        return dataclasses.replace(inputs, shared=definitions.shared_terms(self.names, of_all_runs))

    def empty(self, inputs: MetricInputs, arms: int, cells: int, lanes: int) -> Records:
        """The records of no stops, with room for one per round of the inputs, which are `prepared`."""
        stops, shifts = len(inputs.t), None
        if self.from_lost:
            none = jnp.zeros((), jnp.float64)  # the regret of one play per round is the lost reward
            shared = [inputs.shared.get(name, none) for name in self.from_lost]
            shifts = jnp.stack([jnp.broadcast_to(part, (stops, cells, 1)) for part in shared])
        return Records(
            sums=jnp.zeros((7, self.summed, stops, cells, self.parts), jnp.int64),
            shifts=shifts,
            values=jnp.zeros((len(self.names), cells, lanes), jnp.float64),
            deficits_ever={name: jnp.full((1, cells, lanes), -jnp.inf, jnp.float64) for name in self.deficits},
            curves=jnp.zeros((len(self.kept), stops, cells, lanes), jnp.float64) if self.kept else None,
            pulls=None if self.bits is None else jnp.zeros((3, stops, arms, cells, self.parts), jnp.int64),
        )

    def add(
        self, records: Records, place: Array, counts: Array, now: MetricInputs, counted: Array | np.ndarray
    ) -> Records:
        """The records with one more stop, or with R consecutive ones where means do not change.

        Args:
            place: of the first of these stops.
            counts: N_k there, int32 `[R, K, cells, lanes]`.
            now: the inputs of the metrics there.
            counted: whether a run counts, as for `integer_parts`.
        """
        sums, values = records.sums, records.values
        deficits_ever, curves = dict(records.deficits_ever), records.curves
        # Not fused into the metrics: LLVM does not vectorise loops that look up where a slice begins (5 times slower).
        now = without_fusion(lambda: jax.tree.map(lambda part: jnp.asarray(part, jnp.float64), now), place)
        # What several metrics share is computed once.
        if sum("fractions" in METRICS[name].needs for name in self.names) > 1:
            deficits = without_fusion(lambda: now.deficit(counts.astype(jnp.float64)), place)
            now = dataclasses.replace(now, deficits=deficits)
        if self.from_lost or len(formulas.WITH_LOST_REWARD.intersection(self.names)) > 1:
            with jax.numpy_rank_promotion("allow"):  # as in all formulas
                now = dataclasses.replace(now, lost=without_fusion(lambda: formulas.lost_reward(counts, now), place))
        summed = []
        if self.from_lost:
            assert now.lost is not None
            summed.append(now.lost)
        for number, name in enumerate(self.names):
            if name in self.from_lost:
                assert now.lost is not None
                value = now.lost + now.shared[name] if name in now.shared else now.lost
            else:
                value = without_fusion(functools.partial(definitions.compute_metric, name, counts, now), place)
                summed.append(value)
            values = _written(values, value[-1:], number)
            if curves is not None and name in self.kept:
                curves = _written(curves, value[None], self.kept.index(name), place)
            if (ever := deficits_ever.get(name)) is not None:
                deficits_ever[name] = functools.reduce(larger, (value[n : n + 1] for n in range(len(value))), ever)
        if summed:
            parts = integer_parts(summed, counted, self.parts, self.below)
            sums = _written(sums, parts, 0, 0, place)
        pulls = records.pulls
        if pulls is not None and self.bits is not None:
            made = count_parts(counts, counted, self.parts, self.bits)
            pulls = _written(pulls, made, 0, place)
        return Records(sums, records.shifts, values, deficits_ever, curves, pulls)


def _written(array: Array, part: Array, *where: int | Array) -> Array:
    """An array with a part of it replaced: along the first axes from `where` on, along the others from the start."""
    starts = [jnp.asarray(start, jnp.int32) for start in where]
    return lax.dynamic_update_slice(array, part, starts + [jnp.zeros((), jnp.int32)] * (array.ndim - len(starts)))


@struct
class Recording:
    """What the program of the rounds computes at the stops of a chunk.

    Attributes:
        wanted: what is computed.
        inputs: the inputs of the metrics beside counts and running sums, at the stops.
        counted: whether a run counts, bool `[1, 1, lanes]`.
        stops: the number of stops, int32; those after them repeat the last one.
        x64: whether 64-bit types are enabled in the rounds. They are in `at_stop`, and where the program is called.
    """

    wanted: Wanted
    inputs: MetricInputs
    counted: Array | np.ndarray
    stops: Array
    x64: bool = static(False)

    def prepared(self) -> Recording:
        """The recording with what all tiles of a block share."""
        with jax.enable_x64(True):
            return dataclasses.replace(self, inputs=self.wanted.prepared(self.inputs))

    def empty(self, shape: tuple[int, ...]) -> Records:
        """The records before the first stop, for counts of `shape`."""
        return self.wanted.empty(self.inputs, *shape)

    def at_stop(self, place: Array, state: State, records: Records) -> Records:
        """The records with the stop at a place."""
        sums = {name: total.value for name, total in state.sums.items()}
        with jax.enable_x64(True):
            now = dataclasses.replace(self.inputs.at_round(place), sums=sums)
            return self.wanted.add(records, place, state.pulls[None], now, self.counted[0, 0])

    def without_lanes(self, count: Array) -> Recording:
        """The recording in which the first lanes do not count."""
        lanes = lax.broadcasted_iota(jnp.int32, self.counted.shape, 2)
        return dataclasses.replace(self, counted=self.counted & (lanes >= count))
