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
from jaxbandit.engine.batch.chunks import chunks_of, empty_chunk, failure
from jaxbandit.engine.batch.recorder import Recorder
from jaxbandit.engine.batch.stacking import Stack, one_per_stack, stacked_configurations
from jaxbandit.engine.host import distributed, fingerprint
from jaxbandit.engine.host.checkpoint import ProgressFolder
from jaxbandit.engine.host.progress_bar import Progress
from jaxbandit.engine.host.stopping import until
from jaxbandit.engine.result import SimulationResult
from jaxbandit.engine.settings import Configuration, SimulationSettings
from jaxbandit.environment.problem import Problem
from jaxbandit.metrics import definitions, exact_range
from jaxbandit.metrics.block_statistics import BlockStatistics, ResultShape
from jaxbandit.policies.base import Policy

_MOST_BLOCKS = 10**6


@dataclass(frozen=True)
class BlockTask:
    """A block of a group."""

    stack: int
    block: Block

    @property
    def name(self) -> str:
        """What its file is called in a folder of progress."""
        rows, seeds = self.block.rows, self.block.seeds
        return f"stack{self.stack}-rows{rows.start}-{rows.stop}-seeds{seeds.start}-{seeds.stop}"

    def seeds_of(self, seed_range: slice) -> slice:
        """Its seeds, counted from the first of a leg."""
        return slice(self.block.seeds.start - seed_range.start, self.block.seeds.stop - seed_range.start)


class Simulation:
    """One problem, some policies, one setting: checked when made, simulated by `run`.

    Args:
        problem: the problem, or the one that others are compared with where entries have their own.
        entries: what to simulate on it.
        setting: how much.

    Raises:
        InputError: from the constructor, before any work.
    """

    def __init__(self, problem: Problem, configurations: list[Configuration], settings: SimulationSettings):
        settings.check()
        self.problem, self.configurations, self.settings = problem, configurations, settings
        self.problems = [
            problem if configuration.problem is None else configuration.problem for configuration in configurations
        ]
        self.metrics = definitions.chosen(settings.metrics, problem)
        self.until = until(settings.until, self.metrics)
        for one in {id(own): own for own in self.problems}.values():
            exact_range.check_sums(one, settings.horizon, "reward" in definitions.needed(self.metrics))
        self.prepared = [
            _prepare(configuration, own, settings.horizon)
            for configuration, own in zip(configurations, self.problems, strict=True)
        ]
        self.rounds = recorded_rounds(settings.horizon, settings.record)
        self.mesh = sharding.mesh()
        self._arrange(stacked_configurations(self.prepared, self.problems, settings.horizon))
        self._stop = threading.Event()
        for own in {id(own): own for own in self.problems}.values():
            if caveats := definitions.caveats(self.metrics, own):
                warnings.warn(caveats[0], stacklevel=4)
                break

    def _arrange(self, stacks: list[Stack]) -> None:
        """Take these groups, and cut them into blocks that fit."""
        self.stacks = stacks
        self.result_shapes = [self._result_shape(stack) for stack in stacks]
        memory.check_results(stacks, self.result_shapes, self.settings.seeds)
        seeds, at_once, sums = self.settings.seeds, sharding.workers(), definitions.needed(self.metrics)
        share = -(-sharding.at_play() * distributed.count() // len(stacks))
        self.sizes = []
        for number, stack in enumerate(stacks):
            try:
                stacks[number] = stack = traced_programs.told_apart(stack, self.metrics)
                pay, fit = memory.runs_a_block(stack, self.result_shapes[number], sums, seeds, self.shards, at_once)
            except InputError:
                raise
            except Exception:  # the policy's own, as in `_compile_all`
                if len(stack.configurations) == 1:
                    raise
                return self._take_apart({number})
            self.sizes.append(size(stack.rows, seeds, self.settings.block, share, pay, fit))
        runs = seeds * sum(stack.rows for stack in stacks)
        count = sum(one.count(stack.rows, seeds) for stack, one in zip(stacks, self.sizes, strict=True))
        if count > _MOST_BLOCKS:
            words = f"at least {-(-runs // _MOST_BLOCKS)} runs, so that there are at most {_MOST_BLOCKS} blocks"
            raise InputError("simulation.block", self.settings.block, words)

    def _take_apart(self, numbers: Collection[int]) -> None:
        """Make groups of one entry each of some groups, whose policies take parameters as numbers only."""
        apart = [
            one_per_stack(stack.configurations, self.prepared, self.problems, self.settings.horizon)
            if number in numbers
            else [stack]
            for number, stack in enumerate(self.stacks)
        ]
        self._arrange([stack for stacks in apart for stack in stacks])

    def results_bytes(self) -> int:
        """What the results will take of the host's memory, about."""
        return memory.results_bytes(self.stacks, self.result_shapes, self.settings.seeds)

    @property
    def shards(self) -> int:
        """Devices that a block is spread over."""
        return 1 if self.mesh is None else self.mesh.size

    def _result_shape(self, stack: Stack) -> ResultShape:
        return ResultShape(stack.arms, len(self.rounds), tuple(self.metrics), len(stack.policy.phases))

    @property
    def blocks(self) -> list[Block]:
        """All blocks of the seeds of the setting."""
        return [task.block for task in self._block_tasks(slice(0, self.settings.seeds))]

    def digest(self) -> str:
        """What tells this run from others; see `identity`."""
        asked = self.until, self.metrics, self.rounds.tolist()
        labels = [configuration.label for configuration in self.configurations]
        return fingerprint.digest(self.settings, asked, labels, self.stacks, self.metrics)

    def run(
        self, progress: bool | Progress = False, keep: Path | None = None, about: Mapping[str, Any] | None = None
    ) -> SimulationResult:
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
            total = slice(0, self.settings.seeds)
            if isinstance(progress, bool):
                shown = progress and distributed.number() == 0
                progress = Progress(self._rounds_of(total), self.problem.plays, shown=shown)
            with progress as bar:
                statistics = self._seed_range(pool, total, folder, bar)
                seeds, short = self.settings.seeds, None
                while (wanted := self._wanted(statistics, seeds)) > seeds:
                    more = slice(seeds, wanted)
                    if (short := self._too_many(seeds, wanted)) is not None:
                        break
                    bar.more(self._rounds_of(more))
                    seed_ranges = zip(statistics, self._seed_range(pool, more, folder, bar), strict=True)
                    statistics, seeds = (
                        [statistics.joined(seed_range) for statistics, seed_range in seed_ranges],
                        wanted,
                    )
        done = time.perf_counter()
        before = 0.0 if folder is None else folder.seconds
        times = compiled - begun, before + done - compiled
        return SimulationResult(self.rounds, self.metrics, self.stacks, statistics, seeds, *times, short)

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
        tops = [[stack.rows, self.settings.seeds] for stack in self.stacks]
        try:
            pairs = [zip(own, most, strict=True) for own, most in zip(sizes, tops, strict=True)]
            return all(type(n) is int and 1 <= n <= top for pair in pairs for n, top in pair)
        except (TypeError, ValueError):
            return False

    def _rounds_of(self, seeds: slice) -> int:
        runs = sum(stack.rows for stack in self.stacks) * (seeds.stop - seeds.start)
        return runs * self.settings.horizon

    def _wanted(self, statistics: list[BlockStatistics], seeds: int) -> int:
        """The seeds that are wanted in all, whatever the blocks are."""
        if self.until is None:
            return seeds
        stderr = [statistics.curves[self.until.metric].stderr(seeds)[-1] for statistics in statistics]
        return self.until.wanted(np.concatenate(stderr), seeds)

    def _too_many(self, seeds: int, wanted: int) -> str | None:
        """Why the seeds that are wanted have no room, here or in another process; None where they have."""
        words = None
        try:
            dataclasses.replace(self.settings, seeds=wanted).check()
            memory.check_results(self.stacks, self.result_shapes, wanted)
        except InputError as error:
            words = f"after {seeds} seeds more do not fit: {error}"
        if not distributed.any_of(words is not None):
            return None
        return words or f"after {seeds} seeds more do not fit another process's memory"

    def _seed_range(
        self, pool: ThreadPoolExecutor, seeds: slice, folder: ProgressFolder | None, bar: Progress
    ) -> list[BlockStatistics]:
        """Simulate some seeds of everything, but for what is in the folder."""
        count = seeds.stop - seeds.start
        statistics = [
            BlockStatistics.empty(result_shape, stack.rows, count)
            for stack, result_shape in zip(self.stacks, self.result_shapes, strict=True)
        ]
        tasks = self._block_tasks(seeds)
        taken, left = distributed.mine([folder is not None and folder.has(task.name) for task in tasks])
        lock = threading.Lock()

        def take(task: BlockTask, part: BlockStatistics) -> None:
            with lock:
                statistics[task.stack].take(task.block.rows, task.seeds_of(seeds), part)

        def read(task: BlockTask) -> bool:
            assert folder is not None
            part = folder.load(task.name, self._empty(task).like)
            if part is None:
                return False
            take(task, part)
            bar.add(task.block.runs * self.settings.horizon)
            return True

        def do(task: BlockTask) -> None:
            if self._stop.is_set():
                return
            part = self._run_block(task, bar)
            if part is None:
                return
            if folder is not None:
                folder.save(task.name, part.arrays())
            take(task, part)

        with distributed.together():
            todo = [tasks[i] for i in taken if not read(tasks[i])] + [tasks[i] for i in left]
            inherit = inheriting()
            self._finish([pool.submit(inherit, do, task) for task in todo])
        return distributed.pooled(statistics)

    def _block_tasks(self, seeds: slice) -> list[BlockTask]:
        """Every group's blocks, one group after the other: dealt out in turn, every process gets as much of each."""
        return [
            BlockTask(number, block)
            for number, (stack, one) in enumerate(zip(self.stacks, self.sizes, strict=True))
            for block in cover(stack.rows, seeds, one, self.shards)
        ]

    def _empty(self, task: BlockTask) -> BlockStatistics:
        block = task.block
        return BlockStatistics.empty(
            self.result_shapes[task.stack], *(part.stop - part.start for part in (block.rows, block.seeds))
        )

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
            numbers = range(len(self.stacks))
            made = [pool.submit(inherit, self._compile, number) for number in numbers]
            beside = [pool.submit(inherit, self._compile_recorder, number) for number in numbers]
            wait(made)
            for future in beside:
                future.cancel()  # no core was free for it, and `_compile` has done it
            return made

        first = compiled()
        failed = [number for number, future in enumerate(first) if future.exception() is not None]
        for number in failed:
            if len(self.stacks[number].configurations) == 1:
                first[number].result()
        if failed:
            self._take_apart(failed)
            self._finish(compiled())

    def _compile(self, number: int) -> None:
        """Compile a group's program by playing no round with it."""
        recorder, block = self._recorder(number)
        stack, rounds = self.stacks[number], np.zeros(1, np.int64)
        for chunk in chunks_of(stack, block, rounds, self.settings, self.metrics, self.mesh):
            recorder.take(chunk)
        recorder.statistics(chunk)

    def _compile_recorder(self, number: int) -> None:
        """Compile what takes in the stretches of a group's blocks."""
        recorder, block = self._recorder(number)
        recorder.take(empty_chunk(self.stacks[number], block, self.metrics, self.mesh))

    def _recorder(self, number: int) -> tuple[Recorder, Block]:
        """A recorder of one round of a group's first block, and that block."""
        one = self.sizes[number]
        block = cover(one.tall, slice(0, one.wide), one, self.shards)[0]
        result_shape = dataclasses.replace(self.result_shapes[number], rounds=1)
        return self._recording(number, block, result_shape), block

    def _recording(self, number: int, block: Block, result_shape: ResultShape) -> Recorder:
        labels = [self.configurations[configuration].label for configuration in self.stacks[number].configurations]
        return Recorder(self.stacks[number], result_shape, block, self.shards, labels)

    def _run_block(self, task: BlockTask, bar: Progress) -> BlockStatistics | None:
        """Simulate a block; None where all is to stop."""
        stack, block = self.stacks[task.stack], task.block
        recorder, before = self._recording(task.stack, block, self.result_shapes[task.stack]), 0
        for chunk in chunks_of(stack, block, self.rounds, self.settings, self.metrics, self.mesh):
            if self._stop.is_set():
                return None
            if any(chunk.faults.values()):
                names = " or ".join(repr(self.configurations[i].label) for i in stack.configurations[:3])
                raise failure(f"policy {names}", chunk, stack)
            recorder.take(chunk)
            bar.add((chunk.last - before) * block.runs)
            before = chunk.last
        return recorder.statistics(chunk)


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


def _prepare(configuration: Configuration, problem: Problem, horizon: int) -> Policy:
    try:
        configuration.policy.check("policies")
        return configuration.policy.prepare(problem, horizon)
    except InputError as error:
        key = error.key.replace("policies", f"policies[{configuration.label}]", 1)
        raise error.at(key) from None
