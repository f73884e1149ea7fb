"""Compiling the programs of a plan before its runs are played."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from jaxbandit.core.xla import compat
from jaxbandit.engine.batch.blocks import Block, cover
from jaxbandit.engine.batch.chunks import chunks_of, empty_chunk
from jaxbandit.engine.batch.recorder import Recorder
from jaxbandit.engine.host.workers import Workers, finish, inherited, workers
from jaxbandit.engine.plan import Plan


def compile_programs(plan: Plan, pool: Workers, compiled: Callable[[int], None] = lambda policies: None) -> Plan:
    """Compile the programs of every stack.

    Args:
        plan: what is planned.
        pool: the threads that compile.
        compiled: called with the number of policies of each program that is compiled, from these threads.

    Returns:
        The plan, with a stack split into its configurations where its policy takes parameters only as numbers.
    """
    futures = _compile_all(plan, pool, compiled)
    failed = {number for number, future in enumerate(futures) if future.exception() is not None}
    for number in failed:
        if len(plan.stacks[number].configurations) == 1:
            futures[number].result()
    if failed:
        plan = plan.split(failed)
        finish(_compile_all(plan, pool, lambda policies: None))
    return plan


def _compile_all(plan: Plan, pool: Workers, compiled: Callable[[int], None]) -> list[Future[None]]:
    numbers = range(len(plan.stacks))
    made = [pool.submit(compile_stack, plan, number) for number in numbers]
    recorders = [pool.submit(_compile_recorder, plan, number) for number in numbers]
    for stack, future in zip(plan.stacks, made, strict=True):
        future.add_done_callback(functools.partial(_count, compiled, len(stack.configurations)))
    _wait(made)
    for future in recorders:
        future.cancel()  # no core was free for it, and `compile_stack` has compiled the recorder, too
    return made


def _count(compiled: Callable[[int], None], policies: int, _: Future[None]) -> None:
    compiled(policies)


def _wait(futures: list[Future[None]]) -> None:
    """Wait for all. `concurrent.futures.wait` would not return where another thread cancels the pool."""
    for future in futures:
        future.exception()


def compile_stack(plan: Plan, number: int) -> None:
    """Compile the program of a stack, by playing no rounds with it."""
    recorder, block = _one_round(plan, number)
    stack, rounds = plan.stacks[number], np.zeros(1, np.int64)
    how = plan.settings, plan.metrics, plan.mesh, recorder.recording
    with compat.without_lines():
        for chunk in chunks_of(stack, block, plan.calls(stack, block), rounds, *how):
            recorder.take(chunk)
        recorder.statistics(chunk)


def _compile_recorder(plan: Plan, number: int) -> None:
    """Compile the recorder of a stack, if it has a program of its own."""
    recorder, block = _one_round(plan, number)
    if recorder.recording is not None:
        return
    stack = plan.stacks[number]
    with compat.without_lines():
        recorder.take(empty_chunk(stack, block, plan.calls(stack, block), plan.metrics, plan.mesh))


def _one_round(plan: Plan, number: int) -> tuple[Recorder, Block]:
    """A recorder of one round of a stack's first block, and that block."""
    stack, size = plan.stacks[number], plan.sizes[number]
    block = cover(size.tall, slice(0, size.wide), size, plan.shards)[0]
    shape = dataclasses.replace(plan.result_shape(stack), rounds=1, traced=0)
    return plan.recorder(stack, block, shape), block


@contextlib.contextmanager
def compiled_ahead(plans: Sequence[Plan], pause: threading.Lock) -> Iterator[list[Future[float]]]:
    """Compile the programs of plans one after another while this thread does other work.

    Args:
        plans: the plans, in the order of their simulation.
        pause: nothing is compiled while another thread holds this lock.

    Yields:
        For each plan, the time that its compilation took, in seconds. A plan whose compilation fails is compiled
        again, and its failure raised, where it is simulated.
    """
    with ThreadPoolExecutor(1) as thread:
        try:
            with workers() as pool:
                yield [thread.submit(inherited(), _seconds_to_compile, plan, pool, pause) for plan in plans]
        finally:
            thread.shutdown(wait=False, cancel_futures=True)


def _seconds_to_compile(plan: Plan, pool: Workers, pause: threading.Lock) -> float:
    with pause:
        begun = time.perf_counter()
        compile_programs(plan, pool)
        return time.perf_counter() - begun
