"""Simulating policies on a problem: blocks of runs driven from the host, one compiled program a policy and shape."""

from __future__ import annotations

import contextlib
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import engine, metrics, randomness
from .blocks import Block, cut, fitting, on_device, quota_on_device, recorded_rounds, rounds_per_call, workers
from .delays import bytes_a_run, slots
from .errors import InputError
from .exact import Quota, QuotaTable
from .moments import Moments
from .policy import Policy
from .problem import Problem, world_of
from .progress import Progress

STOPS = 16  # recorded rounds that one call of the engine may end stretches at


@dataclass(frozen=True)
class Entry:
    """A policy to simulate.

    Attributes:
        label: what its results are called; one of its own.
        policy: with its parameters, not yet prepared.
        family: the label that the points of one grid share; the label itself outside grids.
    """

    label: str
    policy: Policy
    family: str


@dataclass(frozen=True)
class Setting:
    """How much to simulate, and what to keep of it.

    Attributes:
        horizon: T, rounds.
        seeds: runs of each policy and instance.
        key: the only source of randomness.
        record: how many rounds are recorded, log-spaced and always with the last; "all" for every round; or a list
            of rounds.
        metrics: names of `jaxbandit.metrics.METRICS`; None for all that the problem defines.
        block: runs simulated together; None lets the device decide. Results do not depend on it.
    """

    horizon: int
    seeds: int
    key: Any = 0
    record: int | str | list[int] = 200
    metrics: list[str] | None = None
    block: int | None = None

    def check(self) -> None:
        """Refuse what cannot be simulated.

        Raises:
            InputError: naming `simulation.<key>`.
        """
        for name in ("horizon", "seeds", "block"):
            value = getattr(self, name)
            if not (name == "block" and value is None) and not _counts(value):
                raise InputError(f"simulation.{name}", value, "a whole number >= 1")
        listed = isinstance(self.record, list) and all(_counts(t) and t <= self.horizon for t in self.record)
        if not (listed or self.record == "all" or _counts(self.record)):
            words = f'a whole number >= 1, "all", or a list of rounds from 1 to {self.horizon}'
            raise InputError("simulation.record", self.record, words)
        # Counts are int32, and sums of rewards of 0 and 1 are exact while the dtype counts by ones.
        most = 2**24 if jnp.result_type(float) == jnp.float32 else 2**31 - 2
        if self.horizon > most:
            more = "; enable float64 (jax_enable_x64) for more" if most == 2**24 else ""
            raise InputError("simulation.horizon", self.horizon, f"at most {most} rounds{more}")
        if self.seeds >= 2**32:
            raise InputError("simulation.seeds", self.seeds, "less than 2^32")
        randomness.key_words(self.key)


def _counts(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 1)


@dataclass
class Tally:
    """What is kept of one policy's runs.

    Attributes:
        pulls: N_k(T), int32 `[instance, seed, arm]`.
        curves: by metric, its moments over seeds, `[round, instance]`.
        finals: by metric, its value at T, float64 `[instance, seed]`.
        deepest: the largest deficit over every round, float64 `[instance, seed]`; None where not asked for.
        phases: rounds spent in each phase, int32 `[instance, seed, phase]`; None for a policy without phases.
    """

    pulls: np.ndarray
    curves: dict[str, Moments]
    finals: dict[str, np.ndarray]
    deepest: np.ndarray | None
    phases: np.ndarray | None
    lock: threading.Lock = field(default_factory=threading.Lock)  # of the curves: blocks share them


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


@dataclass(frozen=True)
class Outcome:
    """All tallies, in the order of the policies, and the times it took."""

    rounds: np.ndarray
    metrics: list[str]
    tallies: list[Tally]
    compile_seconds: float
    run_seconds: float


class Simulation:
    """One problem, some policies, one setting: checked when made, simulated by `run`.

    Raises:
        InputError: from the constructor, before any work.
    """

    def __init__(self, problem: Problem, entries: list[Entry], setting: Setting):
        setting.check()
        self.problem, self.entries, self.setting = problem, entries, setting
        self.metrics = metrics.chosen(setting.metrics, problem)
        self.prepared = [_prepare(entry, problem, setting.horizon) for entry in entries]
        self.rounds = recorded_rounds(setting.horizon, setting.record)
        share = -(-workers() // len(entries))
        self.blocks = cut(problem.instances, setting.seeds, setting.block, share, self._most_runs())
        self._stop = threading.Event()
        for caveat in metrics.caveats(self.metrics, problem):
            warnings.warn(caveat, stacklevel=3)

    def _most_runs(self) -> int | None:
        """The most runs of a block that the calendar of delayed feedback leaves room for."""
        problem = self.problem
        length = slots(problem.delay.longest(), self.setting.horizon)
        if length == 1:
            return None
        sizes = [
            bytes_a_run(problem.arms, length, policy.binary or problem.reward.bits, policy.squares)
            for policy in self.prepared
        ]
        return fitting(max(sizes), problem.delay.name)

    def run(self, progress: bool | Progress = False) -> Outcome:
        """Simulate everything.

        Args:
            progress: show a bar with rounds done, selections a second and time left; or a bar to count on.
        """
        tallies = [self._empty_tally(policy) for policy in self.prepared]
        with ThreadPoolExecutor(workers()) as pool:
            begun = time.perf_counter()
            inherit = inheriting()
            self._finish([pool.submit(inherit, self._compile, policy) for policy in self.prepared])
            compiled = time.perf_counter()
            runs = len(self.entries) * self.problem.instances * self.setting.seeds
            if isinstance(progress, bool):
                progress = Progress(runs * self.setting.horizon, self.problem.plays, shown=progress)
            with progress as bar:
                jobs = [(i, block) for block in self.blocks for i in range(len(self.entries))]
                self._finish([pool.submit(inherit, self._run_block, i, block, tallies[i], bar) for i, block in jobs])
        done = time.perf_counter()
        return Outcome(self.rounds, self.metrics, tallies, compiled - begun, done - compiled)

    def _finish(self, futures: list[Future[None]]) -> None:
        """Wait for all; at the first failure, or an interruption, stop the others and raise it."""
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
            for future in futures:
                if future.done():
                    future.result()
        except BaseException:
            self._stop.set()
            for future in futures:
                future.cancel()
            raise

    def _compile(self, policy: Policy) -> None:
        """Compile the policy's program by playing no round with it."""
        for _ in self._played(policy, self.blocks[0], rounds=np.zeros(1, np.int64)):
            pass

    def _run_block(self, number: int, block: Block, tally: Tally, bar: Progress) -> None:
        before, deepest = 0, -np.inf
        runs = (block.instances.stop - block.instances.start) * (block.seeds.stop - block.seeds.start)
        for stretch in self._played(self.prepared[number], block, self.rounds):
            if self._stop.is_set():
                return
            if stretch.missed:  # a score that is not a number selects no arm: say so, rather than simulate on
                label = self.entries[number].label
                raise FloatingPointError(f"policy {label!r}: by round {stretch.last} an index was not a number")
            if len(stretch.rounds):
                counts = block.unpack(stretch.counts)
                sums = {name: block.unpack(values) for name, values in stretch.sums.items()}
                values = metrics.judge(
                    self.metrics, counts, stretch.rounds, self.problem, block.instances, stretch.quota, sums
                )
                self._record(tally, block, stretch.rounds, counts, values)
                if tally.deepest is not None:
                    deepest = np.maximum(deepest, values["max_deficit"].max(axis=0))
            bar.add((stretch.last - before) * runs)
            before = stretch.last
        if tally.phases is not None:
            spent = self.prepared[number].phase_rounds(stretch.state.policy, jnp.asarray(stretch.last, jnp.int32))
            tally.phases[block.instances, block.seeds] = block.unpack(np.asarray(spent)).transpose(1, 2, 0)
        if tally.deepest is not None:
            # Over every round, rounded to the engine's dtype; and exactly over the recorded ones.
            every = block.unpack(np.asarray(stretch.state.deepest, np.float64)[0])
            tally.deepest[block.instances, block.seeds] = np.maximum(every, deepest)

    def _played(self, policy: Policy, block: Block, rounds: np.ndarray) -> Iterator[Stretch]:
        """Play a block to the end of the last of `rounds`."""
        problem, setting = self.problem, self.setting
        cells, lanes = block.cells(), block.lanes()
        world = on_device(world_of(problem, policy.binary, setting.horizon), cells)
        policy = on_device(policy, cells)
        key = tuple(jnp.asarray(w) for w in randomness.run_keys(setting.key, cells[:, None], lanes))
        shape = (problem.arms, len(cells), lanes.shape[1])
        state = engine.start(policy, world, shape, "max_deficit" in self.metrics, metrics.needed(self.metrics))
        most = rounds_per_call(problem.arms, len(cells))
        table = self._table(block, most + 1)
        first = index = origin = 0
        quota = None if table is None else table.rows(0, most + 1)
        device_quota = None if quota is None else quota_on_device(quota, block.places())
        horizon = jnp.asarray(setting.horizon, jnp.int32)
        while index < len(rounds):
            stops = rounds[index : index + STOPS]
            stops = stops[stops <= first + most]
            last = int(stops[-1]) if len(stops) else min(first + most, int(rounds[index]))
            ends = np.concatenate([stops, np.full(STOPS - len(stops), last)]).astype(np.int32)
            if table is not None and last > origin + most:
                origin, quota = first, table.rows(first, most + 1)
                device_quota = quota_on_device(quota, block.places())
            state, counts, sums, missed = engine.advance(
                policy,
                world,
                key,
                device_quota,
                jnp.asarray(origin, jnp.int32),
                horizon,
                jnp.asarray(first, jnp.int32),
                jnp.asarray(ends),
                state,
            )
            own = slice(0, block.instances.stop - block.instances.start)
            at_stops = None if quota is None else Quota(*(part[stops - origin][..., own] for part in _parts(quota)))
            at = slice(0, len(stops))
            recorded = {name: np.asarray(values, np.float64)[at, 0] for name, values in sums.items()}
            yield Stretch(last, stops, np.asarray(counts)[at], recorded, at_stops, int(missed), state)
            first, index = last, index + len(stops)

    def _table(self, block: Block, rounds: int) -> QuotaTable | None:
        fractions = self.problem.fractions
        if fractions is None:
            return None
        return QuotaTable(fractions[:, block.rows()] if fractions.shape[1] > 1 else fractions, rounds)

    def _record(
        self, tally: Tally, block: Block, rounds: np.ndarray, counts: np.ndarray, values: dict[str, np.ndarray]
    ) -> None:
        place = int(np.searchsorted(self.rounds, rounds[0]))
        where = (slice(place, place + len(rounds)), block.instances)
        with tally.lock:
            for name, value in values.items():
                tally.curves[name].add(where, value)
        if rounds[-1] == self.setting.horizon:
            tally.pulls[block.instances, block.seeds] = counts[-1].transpose(1, 2, 0)
            for name, value in values.items():
                tally.finals[name][block.instances, block.seeds] = value[-1]

    def _empty_tally(self, policy: Policy) -> Tally:
        runs = (self.problem.instances, self.setting.seeds)
        curves = {name: Moments((len(self.rounds), self.problem.instances)) for name in self.metrics}
        return Tally(
            pulls=np.zeros((*runs, self.problem.arms), np.int32),
            curves=curves,
            finals={name: np.zeros(runs) for name in self.metrics},
            deepest=np.zeros(runs) if "max_deficit" in self.metrics else None,
            phases=np.zeros((*runs, len(policy.phases)), np.int32) if policy.phases else None,
        )


def inheriting() -> Callable[..., Any]:
    """A way to call a function on another thread with what this one chose by JAX's context managers."""
    config: Any = jax.config
    x64, device = config.jax_enable_x64, config.jax_default_device

    def call(function: Callable[..., Any], *arguments: Any) -> Any:
        with contextlib.ExitStack() as stack:
            stack.enter_context(jax.enable_x64(x64))
            stack.enter_context(jax.default_device(device))
            return function(*arguments)

    return call


def _parts(quota: Quota) -> tuple[Any, Any, Any]:
    return quota.whole, quota.rest, quota.rank


def _prepare(entry: Entry, problem: Problem, horizon: int) -> Policy:
    try:
        entry.policy.check("policies")
        return entry.policy.prepare(problem, horizon)
    except InputError as error:
        key = error.key.replace("policies", f"policies[{entry.label}]", 1)
        raise InputError(key, error.held, error.allowed) from None
