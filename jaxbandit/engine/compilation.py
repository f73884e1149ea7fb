"""Compiling the programs of a plan before its runs are played."""

from __future__ import annotations

import dataclasses
from concurrent.futures import Future, wait

import numpy as np

from jaxbandit.engine.batch.blocks import Block, cover
from jaxbandit.engine.batch.chunks import chunks_of, empty_chunk
from jaxbandit.engine.batch.recorder import Recorder
from jaxbandit.engine.host.workers import Workers, finish
from jaxbandit.engine.plan import Plan


def compile_programs(plan: Plan, workers: Workers) -> Plan:
    """Compile the programs of every stack.

    Returns:
        The plan, with a stack split into its configurations where its policy takes parameters only as numbers.
    """
    compiled = _compile_all(plan, workers)
    failed = {number for number, future in enumerate(compiled) if future.exception() is not None}
    for number in failed:
        if len(plan.stacks[number].configurations) == 1:
            compiled[number].result()
    if failed:
        plan = plan.split(failed)
        finish(_compile_all(plan, workers))
    return plan


def _compile_all(plan: Plan, workers: Workers) -> list[Future[None]]:
    numbers = range(len(plan.stacks))
    made = [workers.submit(compile_stack, plan, number) for number in numbers]
    recorders = [workers.submit(_compile_recorder, plan, number) for number in numbers]
    wait(made)
    for future in recorders:
        future.cancel()  # no core was free for it, and `compile_stack` has compiled the recorder, too
    return made


def compile_stack(plan: Plan, number: int) -> None:
    """Compile the program of a stack, by playing no rounds with it."""
    recorder, block = _one_round(plan, number)
    rounds = np.zeros(1, np.int64)
    for chunk in chunks_of(plan.stacks[number], block, rounds, plan.settings, plan.metrics, plan.mesh):
        recorder.take(chunk)
    recorder.statistics(chunk)


def _compile_recorder(plan: Plan, number: int) -> None:
    """Compile the recorder of a stack."""
    recorder, block = _one_round(plan, number)
    recorder.take(empty_chunk(plan.stacks[number], block, plan.metrics, plan.mesh))


def _one_round(plan: Plan, number: int) -> tuple[Recorder, Block]:
    """A recorder of one round of a stack's first block, and that block."""
    stack, size = plan.stacks[number], plan.sizes[number]
    block = cover(size.tall, slice(0, size.wide), size, plan.shards)[0]
    shape = dataclasses.replace(plan.result_shape(stack), rounds=1, traced=0)
    return Recorder(stack, shape, block, plan.shards, plan.labels(stack)), block
