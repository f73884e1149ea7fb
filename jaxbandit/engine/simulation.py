"""Simulating policies on a problem: blocks of runs driven from the host, one compiled program a group and shape."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.engine.batch import memory, sharding, traced_programs
from jaxbandit.engine.batch.blocks import Block, Size, cover, recorded_rounds, size
from jaxbandit.engine.batch.chunks import failure, played, unplayed
from jaxbandit.engine.batch.recorder import Recorder
from jaxbandit.engine.batch.stacking import Group, alone, grouped
from jaxbandit.engine.host import distributed, fingerprint
from jaxbandit.engine.host.checkpoint import ProgressFolder
from jaxbandit.engine.host.progress_bar import Progress
from jaxbandit.engine.host.stopping import until
from jaxbandit.engine.outcome import Outcome
from jaxbandit.engine.settings import Entry, Setting
from jaxbandit.environment.problem import Problem
from jaxbandit.metrics import definitions, exact_range
from jaxbandit.metrics.block_statistics import Form, Tally
from jaxbandit.policies.base import Policy

_MOST_BLOCKS = 10**6


@dataclass(frozen=True)
class Job:
    """A block of a group."""

    group: int
    block: Block

    @property
    def name(self) -> str:
        """What its file is called in a folder of progress."""
        rows, seeds = self.block.rows, self.block.seeds
        return f"group{self.group}-rows{rows.start}-{rows.stop}-seeds{seeds.start}-{seeds.stop}"

    def seeds_of(self, leg: slice) -> slice:
        """Its seeds, counted from the first of a leg."""
        return slice(self.block.seeds.start - leg.start, self.block.seeds.stop - leg.start)


class Simulation:
    """One problem, some policies, one setting: checked when made, simulated by `run`.

    Args:
        problem: the problem, or the one that others are compared with where entries have their own.
        entries: what to simulate on it.
        setting: how much.

    Raises:
        InputError: from the constructor, before any work.
    """

    def __init__(self, problem: Problem, entries: list[Entry], setting: Setting):
        setting.check()
        self.problem, self.entries, self.setting = problem, entries, setting
        self.problems = [problem if entry.problem is None else entry.problem for entry in entries]
        self.metrics = definitions.chosen(setting.metrics, problem)
        self.until = until(setting.until, self.metrics)
        for one in {id(own): own for own in self.problems}.values():
            exact_range.check_sums(one, setting.horizon, "reward" in definitions.needed(self.metrics))
        self.prepared = [
            _prepare(entry, own, setting.horizon) for entry, own in zip(entries, self.problems, strict=True)
        ]
        self.rounds = recorded_rounds(setting.horizon, setting.record)
        self.mesh = sharding.mesh()
        self._arrange(grouped(self.prepared, self.problems, setting.horizon))
        self._stop = threading.Event()
        for own in {id(own): own for own in self.problems}.values():
            if caveats := definitions.caveats(self.metrics, own):
                warnings.warn(caveats[0], stacklevel=4)
                break

    def _arrange(self, groups: list[Group]) -> None:
        """Take these groups, and cut them into blocks that fit."""
        self.groups = groups
        self.forms = [self._form(group) for group in groups]
        memory.check_results(groups, self.forms, self.setting.seeds)
        seeds, at_once, sums = self.setting.seeds, sharding.workers(), definitions.needed(self.metrics)
        share = -(-sharding.at_play() * distributed.count() // len(groups))
        self.sizes = []
        for number, group in enumerate(groups):
            try:
                groups[number] = group = traced_programs.told_apart(group, self.metrics)
                pay, fit = memory.runs_a_block(group, self.forms[number], sums, seeds, self.shards, at_once)
            except InputError:
                raise
            except Exception:  # the policy's own, as in `_compile_all`
                if len(group.entries) == 1:
                    raise
                return self._take_apart({number})
            self.sizes.append(size(group.rows, seeds, self.setting.block, share, pay, fit))
        runs = seeds * sum(group.rows for group in groups)
        count = sum(one.count(group.rows, seeds) for group, one in zip(groups, self.sizes, strict=True))
        if count > _MOST_BLOCKS:
            words = f"at least {-(-runs // _MOST_BLOCKS)} runs, so that there are at most {_MOST_BLOCKS} blocks"
            raise InputError("simulation.block", self.setting.block, words)

    def _take_apart(self, numbers: Collection[int]) -> None:
        """Make groups of one entry each of some groups, whose policies take parameters as numbers only."""
        apart = [
            alone(group.entries, self.prepared, self.problems, self.setting.horizon) if number in numbers else [group]
            for number, group in enumerate(self.groups)
        ]
        self._arrange([group for groups in apart for group in groups])

    def results_bytes(self) -> int:
        """What the results will take of the host's memory, about."""
        return memory.results_bytes(self.groups, self.forms, self.setting.seeds)

    @property
    def shards(self) -> int:
        """Devices that a block is spread over."""
        return 1 if self.mesh is None else self.mesh.size

    def _form(self, group: Group) -> Form:
        return Form(group.arms, len(self.rounds), tuple(self.metrics), len(group.policy.phases))

    @property
    def blocks(self) -> list[Block]:
        """All blocks of the seeds of the setting."""
        return [job.block for job in self._jobs(slice(0, self.setting.seeds))]

    def digest(self) -> str:
        """What tells this run from others; see `identity`."""
        asked = self.until, self.metrics, self.rounds.tolist()
        labels = [entry.label for entry in self.entries]
        return fingerprint.digest(self.setting, asked, labels, self.groups, self.metrics)

    def run(
        self, progress: bool | Progress = False, keep: Path | None = None, about: Mapping[str, Any] | None = None
    ) -> Outcome:
        """Simulate everything.

        Args:
            progress: show a bar with rounds done, selections a second and time left; or a bar to count on.
            keep: a folder of results; what is done is kept in it block by block, in `unfinished`, and what an
                interrupted call has done is taken from there. The caller removes `unfinished`.
            about: what is written there beside, for those who go on with it.

        Raises:
            InputError: `keep` holds another unfinished run.
            WriteError: a block cannot be written.
            FloatingPointError: an index was not a number, or a metric or a sum of rewards not finite, or too large for
                its mean to be exact. Blocks that were done before stay in `keep`.
        """
        self._stop.clear()
        begun = time.perf_counter()
        with distributed.together():
            folder = None if keep is None else ProgressFolder(keep, self.digest(), about or {})
        with contextlib.nullcontext() if folder is None else folder, self._workers() as pool:
            with distributed.together():
                self._compile_all(pool)
            self._agree(folder)
            compiled = time.perf_counter()
            if folder is not None:
                folder.since = compiled
            total = slice(0, self.setting.seeds)
            if isinstance(progress, bool):
                shown = progress and distributed.number() == 0
                progress = Progress(self._rounds_of(total), self.problem.plays, shown=shown)
            with progress as bar:
                tallies = self._leg(pool, total, folder, bar)
                seeds, short = self.setting.seeds, None
                while (wanted := self._wanted(tallies, seeds)) > seeds:
                    more = slice(seeds, wanted)
                    if (short := self._too_many(seeds, wanted)) is not None:
                        break
                    bar.more(self._rounds_of(more))
                    legs = zip(tallies, self._leg(pool, more, folder, bar), strict=True)
                    tallies, seeds = [tally.joined(leg) for tally, leg in legs], wanted
        done = time.perf_counter()
        before = 0.0 if folder is None else folder.seconds
        times = compiled - begun, before + done - compiled
        return Outcome(self.rounds, self.metrics, self.groups, tallies, seeds, *times, short)

    @contextlib.contextmanager
    def _workers(self) -> Iterator[ThreadPoolExecutor]:
        """Host threads; at the first failure, or an interruption, what they do stops and what waits is dropped."""
        with ThreadPoolExecutor(sharding.workers()) as pool:
            try:
                yield pool
            except BaseException:
                self._stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _agree(self, folder: ProgressFolder | None) -> None:
        """Cut blocks as all processes do, and as the run did that began in the folder."""
        sizes = [[one.tall, one.wide] for one in self.sizes]
        if folder is not None and self._possible(folder.about.get("sizes")):
            sizes = folder.about["sizes"]
        sizes = distributed.agreed(sizes).tolist()
        if folder is not None:
            folder.note(sizes)
        self.sizes = [Size(*pair) for pair in sizes]

    def _possible(self, sizes: Any) -> bool:
        """Whether these can be the sizes of the groups' blocks."""
        tops = [[group.rows, self.setting.seeds] for group in self.groups]
        try:
            pairs = [zip(own, most, strict=True) for own, most in zip(sizes, tops, strict=True)]
            return all(type(n) is int and 1 <= n <= top for pair in pairs for n, top in pair)
        except (TypeError, ValueError):
            return False

    def _rounds_of(self, seeds: slice) -> int:
        runs = sum(group.rows for group in self.groups) * (seeds.stop - seeds.start)
        return runs * self.setting.horizon

    def _wanted(self, tallies: list[Tally], seeds: int) -> int:
        """The seeds that are wanted in all, whatever the blocks are."""
        if self.until is None:
            return seeds
        stderr = [tally.curves[self.until.metric].stderr(seeds)[-1] for tally in tallies]
        return self.until.wanted(np.concatenate(stderr), seeds)

    def _too_many(self, seeds: int, wanted: int) -> str | None:
        """Why the seeds that are wanted have no room, here or in another process; None where they have."""
        words = None
        try:
            dataclasses.replace(self.setting, seeds=wanted).check()
            memory.check_results(self.groups, self.forms, wanted)
        except InputError as error:
            words = f"after {seeds} seeds more do not fit: {error}"
        if not distributed.any_of(words is not None):
            return None
        return words or f"after {seeds} seeds more do not fit another process's memory"

    def _leg(self, pool: ThreadPoolExecutor, seeds: slice, folder: ProgressFolder | None, bar: Progress) -> list[Tally]:
        """Simulate some seeds of everything, but for what is in the folder."""
        count = seeds.stop - seeds.start
        tallies = [Tally.empty(form, group.rows, count) for group, form in zip(self.groups, self.forms, strict=True)]
        jobs = self._jobs(seeds)
        taken, left = distributed.mine([folder is not None and folder.has(job.name) for job in jobs])
        lock = threading.Lock()

        def take(job: Job, part: Tally) -> None:
            with lock:
                tallies[job.group].take(job.block.rows, job.seeds_of(seeds), part)

        def read(job: Job) -> bool:
            assert folder is not None
            part = folder.load(job.name, self._empty(job).like)
            if part is None:
                return False
            take(job, part)
            bar.add(job.block.runs * self.setting.horizon)
            return True

        def do(job: Job) -> None:
            if self._stop.is_set():
                return
            part = self._run_block(job, bar)
            if part is None:
                return
            if folder is not None:
                folder.save(job.name, part.arrays())
            take(job, part)

        with distributed.together():
            todo = [jobs[i] for i in taken if not read(jobs[i])] + [jobs[i] for i in left]
            inherit = inheriting()
            self._finish([pool.submit(inherit, do, job) for job in todo])
        return distributed.pooled(tallies)

    def _jobs(self, seeds: slice) -> list[Job]:
        """Every group's blocks, one group after the other: dealt out in turn, every process gets as much of each."""
        return [
            Job(number, block)
            for number, (group, one) in enumerate(zip(self.groups, self.sizes, strict=True))
            for block in cover(group.rows, seeds, one, self.shards)
        ]

    def _empty(self, job: Job) -> Tally:
        block = job.block
        return Tally.empty(self.forms[job.group], *(part.stop - part.start for part in (block.rows, block.seeds)))

    def _finish(self, futures: list[Future[None]]) -> None:
        """Wait for all; raise the first failure."""
        wait(futures, return_when=FIRST_EXCEPTION)
        for future in futures:
            if future.done():
                future.result()

    def _compile_all(self, pool: ThreadPoolExecutor) -> None:
        """Compile every group; one whose policy takes parameters as numbers only falls apart into entries."""
        inherit = inheriting()

        def compiled() -> list[Future[None]]:
            numbers = range(len(self.groups))
            made = [pool.submit(inherit, self._compile, number) for number in numbers]
            beside = [pool.submit(inherit, self._compile_recorder, number) for number in numbers]
            wait(made)
            for future in beside:
                future.cancel()  # no core was free for it, and `_compile` has done it
            return made

        first = compiled()
        failed = [number for number, future in enumerate(first) if future.exception() is not None]
        for number in failed:
            if len(self.groups[number].entries) == 1:
                first[number].result()
        if failed:
            self._take_apart(failed)
            self._finish(compiled())

    def _compile(self, number: int) -> None:
        """Compile a group's program by playing no round with it."""
        recorder, block = self._recorder(number)
        group, rounds = self.groups[number], np.zeros(1, np.int64)
        for stretch in played(group, block, rounds, self.setting, self.metrics, self.mesh):
            recorder.take(stretch)
        recorder.tally(stretch)

    def _compile_recorder(self, number: int) -> None:
        """Compile what takes in the stretches of a group's blocks."""
        recorder, block = self._recorder(number)
        recorder.take(unplayed(self.groups[number], block, self.metrics, self.mesh))

    def _recorder(self, number: int) -> tuple[Recorder, Block]:
        """A recorder of one round of a group's first block, and that block."""
        one = self.sizes[number]
        block = cover(one.tall, slice(0, one.wide), one, self.shards)[0]
        form = dataclasses.replace(self.forms[number], rounds=1)
        return self._recording(number, block, form), block

    def _recording(self, number: int, block: Block, form: Form) -> Recorder:
        labels = [self.entries[entry].label for entry in self.groups[number].entries]
        return Recorder(self.groups[number], form, block, self.shards, labels)

    def _run_block(self, job: Job, bar: Progress) -> Tally | None:
        """Simulate a block; None where all is to stop."""
        group, block = self.groups[job.group], job.block
        recorder, before = self._recording(job.group, block, self.forms[job.group]), 0
        for stretch in played(group, block, self.rounds, self.setting, self.metrics, self.mesh):
            if self._stop.is_set():
                return None
            if any(stretch.faults.values()):
                names = " or ".join(repr(self.entries[i].label) for i in group.entries[:3])
                raise failure(f"policy {names}", stretch, group)
            recorder.take(stretch)
            bar.add((stretch.last - before) * block.runs)
            before = stretch.last
        return recorder.tally(stretch)


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


def _prepare(entry: Entry, problem: Problem, horizon: int) -> Policy:
    try:
        entry.policy.check("policies")
        return entry.policy.prepare(problem, horizon)
    except InputError as error:
        key = error.key.replace("policies", f"policies[{entry.label}]", 1)
        raise InputError(key, error.held, error.allowed) from None
