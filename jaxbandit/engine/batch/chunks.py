"""Playing a block in chunks of rounds, one call of the compiled rounds per chunk."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from jaxbandit.core import prng
from jaxbandit.core.errors import ReturnedError
from jaxbandit.core.rationals import Quota, QuotaTable
from jaxbandit.core.users_code.contracts import has_user_code, has_users_method, latest_of, owner_name
from jaxbandit.core.xla import gpu_kernel, small_programs
from jaxbandit.engine import rollout
from jaxbandit.engine.batch import kept_programs, sharding
from jaxbandit.engine.batch.blocks import (
    TRACED,
    Block,
    Calls,
    for_cells,
    quota_on_device,
)
from jaxbandit.engine.batch.recording import Recording, Records
from jaxbandit.engine.batch.stacking import Stack
from jaxbandit.engine.batch.traced_programs import PROGRAM
from jaxbandit.engine.rounds.stops import AtStops
from jaxbandit.engine.settings import SimulationSettings
from jaxbandit.environment.ground_truth import instance_columns
from jaxbandit.environment.world import World
from jaxbandit.metrics import definitions
from jaxbandit.metrics.metric import kept_ever
from jaxbandit.policies.base import ChancePolicy, Policy


@dataclass(frozen=True)
class Chunk:
    """A chunk of consecutive rounds of a block, and what was recorded in it.

    Attributes:
        before: the last round of the chunk before; 0 for the first chunk.
        last: the last round played.
        rounds: the recorded rounds among them, int64.
        stops: these and the last rounds before means change, padded with `last` to R places, int64 `[R]`.
        count: the number of stops before the padding.
        places: the place of each recorded round among the stops, padded with the last one, int32 `[R]`.
        at_stops: N_k and the sums that metrics need beside the counts, on the device; None where there is a records.
        records: what the program of the rounds computed at the stops, on the device; None where it did not.
        quota: tau_k t of the arms and phi_g L t of the groups at the stops, arrays `[R, n, the block's rows or 1]`;
            None where nothing is guaranteed.
        faults: the largest fault of any run, by name of `rollout.FAULTS`; 0 for none.
        state: the state at the end of round `last`. The next chunk reuses its memory, so only the state of the last
            chunk may be read. None for a chunk that was not played.
    """

    before: int
    last: int
    rounds: np.ndarray
    stops: np.ndarray
    count: int
    places: np.ndarray
    at_stops: AtStops | None
    records: Records | None
    quota: Quota | None
    faults: dict[str, int]
    state: rollout.State | None


def empty_chunk(stack: Stack, block: Block, calls: Calls, names: list[str], over: Mesh | None) -> Chunk:
    """A chunk of no rounds with the shapes of played ones, to compile the recorder before anything is played.

    Args:
        stack, block, calls, names, over: as for `chunks_of`.
    """
    shape, most = (len(block.cells()), block.lanes().shape[1]), calls.stops
    stops = np.zeros(most, np.int64)
    counts = jax.device_put(np.zeros((most, stack.arms, *shape), np.int32))
    sums = {
        name: jax.device_put(np.zeros((most, *shape), jnp.result_type(float)))
        for name in definitions.required_sums(names)
    }
    at_stops = sharding.spread(kept_programs.as_returned(AtStops(counts, sums)), block, over)
    guarantees, quota = stack.ground_truth.guarantees, None
    if guarantees is not None:
        rows = QuotaTable(instance_columns(guarantees, block.numbers()), 1).rows(0, 1)
        quota = Quota(*(part[stops] for part in _parts(rows)))
    return Chunk(0, 0, stops[:1], stops, 1, np.zeros(most, np.int32), at_stops, None, quota, {}, None)


def chunks_of(
    stack: Stack,
    block: Block,
    calls: Calls,
    rounds: np.ndarray,
    settings: SimulationSettings,
    names: list[str],
    over: Mesh | None,
    recording: Callable[[np.ndarray, int, Quota | None], Recording] | None = None,
) -> Iterator[Chunk]:
    """Play a block to the end of the last of `rounds`, chunk by chunk.

    Args:
        stack: the stack of the block.
        block: the runs to play.
        calls: how the rounds are divided into chunks.
        rounds: the recorded rounds, increasing, int64.
        settings: with the horizon, the key, and whether to keep a trace.
        names: the names of the metrics.
        over: the devices that the block is spread over; None for one device.
        recording: what the program of the rounds computes, given the stops of a chunk, how many of them are recorded,
            and the quotas there; None to return the counts at the stops. Only where means do not change.
    """
    cells, lanes = block.cells(), block.lanes()
    policy, world = for_cells((stack.policy, stack.world), cells)
    key: Any = prng.run_keys(settings.key, cells[:, None] % stack.instances, lanes)  # NumPy's until a program takes it
    shape = (stack.arms, len(cells), lanes.shape[1])
    traced = TRACED if settings.trace else 0
    with PROGRAM(stack.program):
        kept = {"deficits_ever": bool(kept_ever(names)), "asked": definitions.required_sums(names), "traced": traced}
        state = _start(policy, world, shape=shape, **kept, calendar=not calls.whole)
    policy, world, key, state = sharding.spread((policy, world, key, state), block, over)
    most, at_most = min(calls.rounds, traced or sys.maxsize), calls.stops
    guarantees = stack.ground_truth.guarantees
    quotas = _quotas(None if guarantees is None else instance_columns(guarantees, block.numbers()), most + 1, block)
    path, every = stack.ground_truth.path, rounds
    if path is not None:
        changes = path.rounds[1:] - 1
        every = np.union1d(rounds, changes[changes < rounds[-1]])
    first = index = origin = 0
    quota, device_quota = quotas(0)
    while index < len(every):
        some = every[index : index + at_most]
        some = some[some <= first + most]
        last = int(some[-1]) if len(some) else min(first + most, int(every[index]))
        stops = np.concatenate([some, np.full(at_most - len(some), last)])
        if last > origin + most:
            origin = first
            quota, device_quota = quotas(first)
        numbers = np.int32(origin), np.int32(settings.horizon), np.int32(first), stops.astype(np.int32)
        owed = None if quota is None else Quota(*(part[stops - origin] for part in _parts(quota)))
        own = None if recording is None else recording(stops, len(some), owed)
        with PROGRAM(stack.program), _types_of(own):
            arguments = policy, world, key, device_quota, *numbers, own, state
            advance = functools.partial(sharding.advance, over, block, *arguments)
            state, found, faults = gpu_kernel.played(advance, settings.gpu_kernel, policy, state)
        worst = np.asarray(faults).reshape(-1, len(rollout.FAULTS)).max(axis=0)
        wrong = dict(zip(rollout.FAULTS, worst.tolist(), strict=True))
        places = np.flatnonzero(rounds[np.searchsorted(rounds, some)] == some).astype(np.int32)
        padded = np.pad(places, (0, at_most - len(places)), mode="edge" if len(places) else "constant")
        counts, records = (found, None) if own is None else (None, found)
        if index + len(some) == len(every):
            state = dataclasses.replace(state, under_way=None)  # memory for the next block, while this one is recorded
        yield Chunk(first, last, some[places], stops, len(some), padded, counts, records, owed, wrong, state)
        first, index = last, index + len(some)


def _types_of(recording: Recording | None) -> contextlib.AbstractContextManager[Any]:
    """The types with which the program of the rounds is called."""
    return contextlib.nullcontext() if recording is None else jax.enable_x64(True)


def failure(labels: str, faults: Mapping[str, int], last: int, world: World, policy: Policy) -> Exception:
    """The error for the faults of some runs in the rounds up to `last`; it names their policy by `labels`."""
    plays, when = world.plays, f"in round {last} or before"
    if faults["too_many"] or faults["too_few"]:
        many, few = faults["too_many"], faults["too_few"]
        why = "an index that is NaN selects no arm, and arms that are not available do not count"
        if any(has_users_method(part, "choose") for part in policy.nested_policies()):
            why = "chances outside [0, 1] or that do not sum to the plays, or an index that is NaN, select none"
        count, what = (many, "too many") if many else (few, f"too few ({why})")
        returned = f"{count} arm{'s' if count > 1 else ''} {what}"
        method = "choose" if "choose" in latest_of(type(policy), "choose", "select") else "select"
        arms = f"{plays} available arms" if plays > 1 else "1 available arm"
        return ReturnedError(
            labels, method, f"{returned}, {when}", f"{arms} per round, or all available arms if they are fewer"
        )
    if faults["below_0"] or faults["too_long"]:
        delay, held = world.delay, -faults["below_0"] or faults["too_long"]
        most = world.calendar_rounds - 1
        words = f"a delay from 0 to {most} rounds (return more from `longest` to allow longer delays), or `jb.NEVER`"
        return ReturnedError(owner_name(delay), "draw", f"a delay of {held} rounds, {when}", words)
    by_chance = any(isinstance(part, ChancePolicy) for part in policy.nested_policies())
    what = "a chance was not a finite number >= 0" if by_chance else "an index was not a number"
    if has_user_code(world.reward):
        what += f" (or {owner_name(world.reward)} was not finite)"
    return FloatingPointError(f"{labels}: {what}, {when}")


_start = kept_programs.Kept("start", rollout.start, lambda: rollout.begin, rollout.begin, small_programs.jit)

_Quotas = tuple[Quota | None, Quota | None]
_SHARED = threading.Lock()


def _quotas(fractions: np.ndarray | None, count: int, block: Block) -> Callable[[int], _Quotas]:
    """A function from a round s to the quotas of `count` rounds from s on, exact on the host and on the device."""
    if fractions is None:
        return lambda first: (None, None)
    config: Any = jax.config
    if fractions.shape[1] == 1:
        place = config.jax_enable_x64, config.jax_default_device

        def shared(first: int) -> _Quotas:
            with _SHARED:  # of several threads, one computes them
                return _shared_quotas(tuple(fractions[:, 0]), count, place, first)

        return shared
    table = QuotaTable(fractions, count)

    def own(first: int) -> _Quotas:
        rows = table.rows(first, count)
        return rows, quota_on_device(rows, block.places())

    return own


@functools.lru_cache(maxsize=4)
def _shared_quotas(fractions: tuple[Fraction, ...], count: int, place: Hashable, first: int) -> _Quotas:
    """Quotas of fractions that all instances share, computed once for all blocks of the same dtype and device."""
    rows = _shared_table(fractions, count).rows(first, count)
    return rows, quota_on_device(rows, np.zeros(1, np.int64))


@functools.lru_cache(maxsize=16)
def _shared_table(fractions: tuple[Fraction, ...], rounds: int) -> QuotaTable:
    return QuotaTable(np.array(fractions, object)[:, None], rounds)


def _parts(quota: Quota) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return quota.floor, quota.fraction, quota.fraction_rank
