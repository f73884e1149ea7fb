"""What is kept of a block: its metrics are computed where it is played, and only their sums come to the host."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.engine.batch.blocks import Block, on_device
from jaxbandit.engine.batch.chunks import Stretch
from jaxbandit.engine.batch.stacking import Group
from jaxbandit.engine.batch.traced_programs import PROGRAM
from jaxbandit.metrics import definitions
from jaxbandit.metrics.block_statistics import Form, Tally
from jaxbandit.metrics.definitions import Truth
from jaxbandit.metrics.moments import LARGEST, digits
from jaxbandit.policies.base import Policy


class Recorder:
    """Takes in a block's stretches as they are played, and makes a tally of its runs.

    Args:
        group: what the block is one of.
        form: what there is to keep.
        block: the block.
        shards: devices that it is spread over.
        labels: of the group's entries, for errors.
    """

    def __init__(self, group: Group, form: Form, block: Block, shards: int, labels: Sequence[str]):
        self._group, self._form, self._block, self._labels = group, form, block, labels
        self._facts = group.facts.at(block.numbers())
        self._parts = shards if block.axis == -1 else 1
        self._sums: list[np.ndarray] = []  # a call's digits `[7, metrics, rounds, rows]`
        self._values: Any = None
        self._deepest: Any = None

    def take(self, stretch: Stretch) -> None:
        """Take in what a stretch recorded, in the order of rounds.

        Raises:
            FloatingPointError: a metric was not finite, or beyond the range in which means are exact.
        """
        recorded = len(stretch.rounds)
        if not recorded or not self._form.metrics:
            return
        if self._deepest is None and "max_deficit" in self._form.metrics:
            self._deepest = np.full(stretch.counts.shape[2:], -np.inf)
        counted, truth, counts = self._block.counted(), self._truth(stretch), _exactly(stretch.counts)
        with jax.enable_x64(True):
            sums, self._values, self._deepest = _judged(
                self._form.metrics, self._parts, counts, truth, counted, np.int64(recorded), self._deepest
            )
        made = self._block.summed(np.asarray(sums)[:, :, :recorded])
        self._check(made[-1], stretch.rounds)
        self._sums.append(made)

    def _check(self, outside: np.ndarray, rounds: np.ndarray) -> None:
        """Refuse metrics of which some values, so many `[metrics, rounds, rows]`, have no place in a mean."""
        if not outside.any():
            return
        place, number, row = (int(found[0]) for found in np.nonzero(outside.transpose(1, 0, 2)))
        what = f"{self._form.metrics[number]} at round {rounds[place]}"
        words = f"is not finite, or of magnitude {LARGEST:.2g} or more, in {outside[number, place, row]} runs"
        raise FloatingPointError(f"{self._who(row)}: {what} {words}; no mean is taken of such values")

    def _who(self, row: int) -> str:
        """The policy and instance that a row of the block is of, for errors."""
        entry, instance = divmod(self._block.rows.start + row, self._group.instances)
        where = f", instance {instance}" if self._group.instances > 1 else ""
        return f"policy {self._labels[entry]!r}{where}"

    def tally(self, last: Stretch) -> Tally:
        """All that was taken in; `last` is the stretch that ends with round T, and its state is read.

        Raises:
            FloatingPointError: rewards were not finite numbers.
        """
        assert last.state is not None
        self._check_rewards(last.state.deviation, last.last)
        block = self._block
        made = Tally.empty(self._form, *(part.stop - part.start for part in (block.rows, block.seeds)))
        made.pulls[...] = block.unpack(np.asarray(last.state.pulls)).transpose(1, 2, 0)
        if self._form.metrics:
            sums = np.concatenate(self._sums, axis=2)
            finals = block.unpack(np.asarray(self._values))
            for number, name in enumerate(self._form.metrics):
                made.curves[name].add((slice(None), slice(None)), sums[:, number])
                made.finals[name][...] = finals[number]
        if made.phases is not None:
            with PROGRAM(self._group.program):
                spent = _spent(on_device(self._group.policy, block.cells()), last.state.policy, np.int32(last.last))
            made.phases[...] = block.unpack(np.asarray(spent)).transpose(1, 2, 0)
        if made.deepest is not None:
            # Over every round, rounded to the engine's dtype; and exactly over the recorded ones.
            every = block.unpack(np.asarray(last.state.deepest, np.float64)[0])
            made.deepest[...] = np.maximum(every, block.unpack(np.asarray(self._deepest)))
        return made

    def _check_rewards(self, deviation: Array, last: int) -> None:
        if np.asarray(_finite(deviation)).all():
            return
        strange = ~np.isfinite(self._block.unpack(np.asarray(deviation)))
        arm, row, _ = (int(found[0]) for found in np.nonzero(strange))
        words = f"by round {last} the sum of the rewards of arm {arm} is not finite"
        raise FloatingPointError(f"{self._who(row)}: {words}")

    def _truth(self, stretch: Stretch) -> Truth:
        """What metrics are computed from beside counts, for each cell."""
        truth = definitions.truth_of(self._form.metrics, stretch.stops, self._facts, stretch.quota)
        if len(self._facts.means[0]) < stretch.counts.shape[-2]:
            places = self._block.places()
            truth = jax.tree.map(lambda part: part[..., places, :] if part.shape[-2] > 1 else part, truth)
        return dataclasses.replace(truth, sums={name: _exactly(values) for name, values in stretch.sums.items()})


@jax.jit
def _finite(values: Array) -> Array:
    """Whether each run's values are finite, `[*runs]`: devices have runs of their own, and send each other nothing."""
    return jnp.isfinite(values).all(axis=0)


@jax.jit
def _spent(policy: Policy, state: Any, rounds: Any) -> Array:
    return policy.phase_rounds(state, rounds)


def _exactly(values: Array) -> Array:
    """Where there is float64: on the device they are on, or the host's own where that has none, as a TPU."""
    if all(device.platform in _EXACT for device in values.devices()):
        return values
    return jax.device_put(values, jax.local_devices(backend="cpu")[0])


_EXACT = frozenset({"cpu", "gpu", "cuda", "rocm"})


@functools.partial(jax.jit, static_argnames=("names", "parts"), donate_argnames="deepest")
def _judged(
    names: tuple[str, ...], parts: int, counts: Array, truth: Truth, counted: Any, recorded: Any, deepest: Any
) -> tuple[Array, Array, Any]:
    """Metrics at the first `recorded` of some stops, of which the others are the last one again.

    One stop at a time, which stays in a core's cache; its digits are taken when the next one is judged, so that the
    compiler does not compute metrics twice.

    Returns:
        The `digits` of each stop, `[7, metrics, stops, cells, parts]`; metrics at the last one,
        `[metrics, cells, lanes]`; and the largest deficit at these stops and before them.
    """

    def judge(place: Any, carry: Any) -> Any:
        sums, values, deepest = carry
        before = digits(values, counted, parts)[:, :, None]
        sums = lax.dynamic_update_slice(sums, before, (0, 0, jnp.maximum(place - 1, 0), 0, 0))
        if deepest is not None:
            own = values[names.index("max_deficit")]
            deepest = jnp.where(place > 0, jnp.maximum(deepest, own), deepest)
        judged = definitions.judge(names, lax.dynamic_slice_in_dim(counts, place, 1), truth.at(place))
        return sums, jnp.concatenate([judged[name] for name in names]), deepest

    stops, _, cells, lanes = counts.shape
    sums = jnp.zeros((7, len(names), stops, cells, parts), jnp.int64)
    values = jnp.zeros((len(names), cells, lanes), jnp.float64)
    return lax.fori_loop(0, recorded + 1, judge, (sums, values, deepest))
