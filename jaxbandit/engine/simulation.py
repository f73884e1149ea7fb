"""Carrying out a plan: blocks of runs, driven from the host, one compiled program per stack and shape.

`run` compiles the programs, simulates the blocks of one seed range after another until the stopping rule is met, and
joins their statistics. Each finished block is kept in a checkpoint folder, where one is given.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit.core.errors import DeviceError, InputError
from jaxbandit.engine.advice import faults
from jaxbandit.engine.batch import sharding
from jaxbandit.engine.batch.blocks import Size
from jaxbandit.engine.batch.chunks import chunks_of, failure
from jaxbandit.engine.host import distributed, fingerprint, freed_memory
from jaxbandit.engine.host.checkpoint import Checkpoint
from jaxbandit.engine.host.compilation import compile_programs
from jaxbandit.engine.host.progress_bar import Progress
from jaxbandit.engine.host.workers import Workers, finish, workers
from jaxbandit.engine.plan import BlockTask, Plan
from jaxbandit.engine.result import SimulationResult
from jaxbandit.metrics.block_statistics import BlockStatistics

LOG = logging.getLogger("jaxbandit")

_LONG = 0.2  # seconds of compilation that leave freed memory behind


def run(
    plan: Plan, progress: bool | Progress = False, keep: Path | None = None, about: Mapping[str, Any] | None = None
) -> SimulationResult:
    """Simulate everything that is planned.

    Args:
        plan: from `jaxbandit.engine.plan.make_plan`.
        progress: whether to show a progress bar; or the bar to advance.
        keep: a folder of results. Its subfolder `unfinished` keeps each finished block, and a later call takes the
            blocks of an interrupted one from there. The caller removes `unfinished`.
        about: a table that is written to `unfinished`, for those who resume the run.

    Raises:
        InputError: `keep` holds another unfinished run, or JAX is told to compile nothing.
        WriteError: a block cannot be written.
        ReturnedError: a method of a user's class returned what cannot be used.
        FloatingPointError: an index was not a number, a metric or a sum of rewards was not finite, or a metric was too
            large for an exact mean. Blocks that were finished before stay in `keep`.
        DeviceError: an accelerator contradicted itself twice in one block.
    """
    begun = time.perf_counter()
    sharding.check()
    if (need := plan.results_bytes()) > 1 << 30:
        LOG.warning("results will take about %.1f GiB of memory", need / 2**30)
    with distributed.together():
        checkpoint = None
        if keep is not None:
            checkpoint = Checkpoint(keep, fingerprint.digest(plan), about or {}, fingerprint.parts(plan))
    if isinstance(progress, bool):
        total = plan.count_rounds(plan.seed_range(0, plan.settings.seeds))
        progress = Progress(total, plan.problem.plays, shown=progress and distributed.number() == 0)
    policies = len(plan.configurations)
    with progress as bar, contextlib.nullcontext() if checkpoint is None else checkpoint, workers() as pool:
        with distributed.together():
            plan = compile_programs(plan, pool, lambda some: bar.compiled(some, policies))
        plan = plan.with_sizes(_agreed_sizes(plan, checkpoint))
        compiled = time.perf_counter()
        if checkpoint is not None:
            checkpoint.since = compiled
        LOG.info("compiled %s policies in %.1f s", f"{policies:,}", compiled - begun)
        if compiled - begun > _LONG or any(stack.world.calendar_rounds > 1 for stack in plan.stacks):
            freed_memory.give_back()
        bar.simulating()
        statistics, seeds, short = _until_stopped(_Run(plan, pool, checkpoint, bar))
    done = time.perf_counter()
    LOG.info("simulated %s seeds of %s policies in %.1f s", f"{seeds:,}", f"{policies:,}", done - compiled)
    before = 0.0 if checkpoint is None else checkpoint.seconds
    return SimulationResult(
        rounds=plan.rounds,
        metrics=plan.metrics,
        stacks=plan.stacks,
        statistics=statistics,
        seeds=seeds,
        compile_seconds=compiled - begun,
        run_seconds=before + done - compiled,
        short=short,
    )


@dataclasses.dataclass(frozen=True)
class _Run:
    """What the steps of a run share."""

    plan: Plan
    workers: Workers
    checkpoint: Checkpoint | None
    bar: Progress


def _agreed_sizes(plan: Plan, checkpoint: Checkpoint | None) -> list[Size]:
    """The block sizes of process 0, or of the run that began in the checkpoint folder."""
    sizes = [[one.tall, one.wide] for one in plan.sizes]
    if checkpoint is not None and _possible(plan, checkpoint.about.get("sizes")):
        sizes = checkpoint.about["sizes"]
    sizes = distributed.agreed(sizes).tolist()
    if checkpoint is not None:
        checkpoint.note(sizes)
    return [Size(*pair) for pair in sizes]


def _possible(plan: Plan, sizes: Any) -> bool:
    """Whether these, which a file holds, can be the sizes of the plan's blocks."""
    tops = [[stack.rows, plan.settings.seeds] for stack in plan.stacks]
    try:
        pairs = [zip(own, most, strict=True) for own, most in zip(sizes, tops, strict=True)]
        return all(type(n) is int and 1 <= n <= top for pair in pairs for n, top in pair)
    except (TypeError, ValueError):
        return False


def _until_stopped(run: _Run) -> tuple[list[BlockStatistics], int, str | None]:
    """Simulate seed ranges until the stopping rule is met.

    Returns:
        The statistics of each stack, the number of seeds, and the reason where these are fewer than wanted.
    """
    plan, seeds = run.plan, run.plan.settings.seeds
    statistics = _simulate_seeds(run, plan.seed_range(0, seeds))
    while (wanted := _wanted_seeds(plan, statistics, seeds)) > seeds:
        if (short := _no_room(plan, seeds, wanted)) is not None:
            return statistics, seeds, short
        added = plan.seed_range(seeds, wanted)
        run.bar.more(plan.count_rounds(added))
        parts = zip(statistics, _simulate_seeds(run, added), strict=True)
        statistics, seeds = [before.append_seeds(more) for before, more in parts], wanted
    return statistics, seeds, None


def _wanted_seeds(plan: Plan, statistics: list[BlockStatistics], seeds: int) -> int:
    """The number of seeds that the stopping rule wants in all, whatever the block sizes."""
    rule = plan.stopping_rule
    if rule is None:
        return seeds
    stderr = [one.stderr(rule.metric, seeds)[-1] for one in statistics]
    return rule.wanted(np.concatenate(stderr), seeds)


def _no_room(plan: Plan, seeds: int, wanted: int) -> str | None:
    """The reason why the wanted seeds do not fit the memory of some process; None where they fit."""
    words = None
    try:
        dataclasses.replace(plan.settings, seeds=wanted).check()
        plan.check_memory(wanted)
    except InputError as error:
        words = f"stopped after {seeds} seeds before the standard error was reached, because more do not fit: {error}"
    if not distributed.any_of(words is not None):
        return None
    return words or (
        f"stopped after {seeds} seeds before the standard error was reached, because more do not fit the memory of "
        "another process"
    )


def _simulate_seeds(run: _Run, seeds: slice) -> list[BlockStatistics]:
    """The statistics of each stack over a seed range; blocks in the checkpoint folder are read, not simulated."""
    plan, checkpoint = run.plan, run.checkpoint
    count = seeds.stop - seeds.start
    total = [BlockStatistics.empty(plan.result_shape(stack), stack.rows, count) for stack in plan.stacks]
    lock = threading.Lock()

    def take(task: BlockTask, part: BlockStatistics) -> None:
        own = task.block.seeds
        with lock:
            total[task.stack].insert(task.block.rows, slice(own.start - seeds.start, own.stop - seeds.start), part)

    def read(task: BlockTask) -> bool:
        assert checkpoint is not None
        part = checkpoint.load(task.name, _empty(plan, task).restore)
        if part is None:
            return False
        take(task, part)
        run.bar.add(task.block.runs * plan.settings.horizon)
        return True

    def simulate(task: BlockTask) -> None:
        if run.workers.stopped.is_set():
            return
        try:
            part = simulate_block(plan, task, run.workers, run.bar)
        except DeviceError as error:
            LOG.warning("%s; its block is simulated again", error)
            part = simulate_block(plan, task, run.workers, run.bar)
        if part is None:
            return
        if checkpoint is not None:
            checkpoint.save(task.name, part.arrays())
        take(task, part)

    tasks = plan.tasks(seeds)
    finished, left = distributed.mine([checkpoint is not None and checkpoint.has(task.name) for task in tasks])
    with distributed.together():
        todo = [tasks[i] for i in finished if not read(tasks[i])] + [tasks[i] for i in left]
        finish([run.workers.submit(simulate, task) for task in todo])
    return distributed.pooled(total)


def _empty(plan: Plan, task: BlockTask) -> BlockStatistics:
    rows, seeds = (part.stop - part.start for part in (task.block.rows, task.block.seeds))
    return BlockStatistics.empty(plan.result_shape(plan.stacks[task.stack]), rows, seeds)


def simulate_block(plan: Plan, task: BlockTask, workers: Workers, bar: Progress) -> BlockStatistics | None:
    """Simulate a block chunk by chunk; None where the work is to stop.

    Raises:
        ReturnedError, FloatingPointError: as `run`.
        DeviceError: an accelerator contradicted itself.
    """
    stack, block, before = plan.stacks[task.stack], task.block, 0
    recorder = plan.recorder(stack, block)
    how = plan.settings, plan.metrics, plan.mesh, recorder.recording
    for chunk in chunks_of(stack, block, plan.calls(stack, block), plan.rounds, *how):
        if workers.stopped.is_set():
            return None
        if any(chunk.faults.values()):
            names = " or ".join(map(repr, plan.labels(stack)[:3]))
            found = failure(f"policy {names}", chunk.faults, chunk.last, stack.world, stack.policy)
            raise faults.about_policy(found, stack.policy)
        try:
            recorder.take(chunk)
        except FloatingPointError as error:
            raise faults.about_metric(error, plan.settings, plan.metrics) from None
        bar.add((chunk.last - before) * block.runs)
        before = chunk.last
    return recorder.statistics(chunk)
