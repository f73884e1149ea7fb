"""Playing a block: the engine called again and again from the host, a stretch of rounds at a time."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from . import devices, engine, metrics, randomness
from .blocks import STOPS, Block, on_device, quota_on_device, rounds_per_call
from .exact import Quota, QuotaTable
from .facts import columns
from .groups import Group
from .setting import Setting


@dataclass(frozen=True)
class Stretch:
    """What one call of the engine gave: rounds up to `last`, and what was recorded on the way.

    Attributes:
        last: the last round played.
        rounds: those of them that are recorded, `[R]`.
        counts: N_k at these, int32 `[R, K, cells, lanes]`.
        sums: what the metrics need beside counts, by name, float64 `[R, cells, lanes]`.
        quota: tau_k t at these, arrays `[R, K, instances of the block or 1]`; None without fractions.
        missed: plays that some run has missed, 0 where all is well.
        state: at the end of round `last`; the next call takes its memory over, so only the last one may be read.
    """

    last: int
    rounds: np.ndarray
    counts: np.ndarray
    sums: dict[str, np.ndarray]
    quota: Quota | None
    missed: int
    state: engine.State


def played(
    group: Group, block: Block, rounds: np.ndarray, setting: Setting, names: list[str], over: Mesh | None
) -> Iterator[Stretch]:
    """Play a block to the end of the last of `rounds`.

    Args:
        group: what the block is one of.
        rounds: those recorded, increasing, int64.
        setting: with the horizon and the key.
        names: the metrics.
        over: the devices that the block is spread over; None for one.
    """
    cells, lanes, numbers = block.cells(), block.lanes(), block.numbers()
    policy, world = on_device((group.policy, group.world), cells)
    words = randomness.run_keys(setting.key, cells[:, None] % group.instances, lanes)
    key = tuple(jnp.asarray(word) for word in words)
    shape = (group.arms, len(cells), lanes.shape[1])
    state = engine.start(policy, world, shape, "max_deficit" in names, metrics.needed(names))
    policy, world, key, state = devices.spread((policy, world, key, state), block, over)
    most = rounds_per_call(group.arms, len(cells))
    fractions = group.facts.fractions
    table = None if fractions is None else _table(columns(fractions, numbers), most + 1)
    first = index = origin = 0
    quota = None if table is None else table.rows(0, most + 1)
    device_quota = None if quota is None else quota_on_device(quota, block.places())
    while index < len(rounds):
        stops = rounds[index : index + STOPS]
        stops = stops[stops <= first + most]
        last = int(stops[-1]) if len(stops) else min(first + most, int(rounds[index]))
        ends = np.concatenate([stops, np.full(STOPS - len(stops), last)]).astype(np.int32)
        if table is not None and last > origin + most:
            origin, quota = first, table.rows(first, most + 1)
            device_quota = quota_on_device(quota, block.places())
        state, counts, sums, missed = devices.advance(
            over,
            block,
            policy,
            world,
            key,
            device_quota,
            np.int32(origin),
            np.int32(setting.horizon),
            np.int32(first),
            ends,
            state,
        )
        own = slice(0, block.rows.stop - block.rows.start)
        at_stops = None if quota is None else Quota(*(part[stops - origin][..., own] for part in _parts(quota)))
        at = slice(0, len(stops))
        recorded = {name: np.asarray(values, np.float64)[at, 0] for name, values in sums.items()}
        yield Stretch(last, stops, np.asarray(counts)[at], recorded, at_stops, int(np.asarray(missed).max()), state)
        first, index = last, index + len(stops)


def _table(fractions: np.ndarray, rounds: int) -> QuotaTable:
    return _shared(tuple(fractions[:, 0]), rounds) if fractions.shape[1] == 1 else QuotaTable(fractions, rounds)


@functools.lru_cache(maxsize=16)
def _shared(fractions: tuple[Fraction, ...], rounds: int) -> QuotaTable:
    """The table of fractions that all instances share: the same for every block."""
    return QuotaTable(np.array(fractions, object)[:, None], rounds)


def _parts(quota: Quota) -> tuple[Any, Any, Any]:
    return quota.whole, quota.rest, quota.rank
