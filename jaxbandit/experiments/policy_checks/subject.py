"""The policy under check, and the cases and runs that several checks use, each computed at most once."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.errors import ReturnedError
from jaxbandit.engine.batch.blocks import Block, for_cells
from jaxbandit.engine.batch.chunks import chunks_of
from jaxbandit.engine.batch.traced_programs import PROGRAM
from jaxbandit.engine.plan import Plan, make_plan
from jaxbandit.engine.settings import Configuration, SimulationSettings
from jaxbandit.engine.stepping.simulator import Simulator
from jaxbandit.environment.problem import Problem
from jaxbandit.experiments.policy_checks import cases
from jaxbandit.experiments.policy_checks.cases import HORIZON, Case
from jaxbandit.policies import make_policy
from jaxbandit.policies.base import Policy

RUNS = 3  # runs per instance in the simulations of the checks
SETTINGS: dict[str, Any] = {"metrics": ["regret"], "record": 2}


class DoesNotHoldError(Exception):
    """A check does not hold; the message says what was seen and what to do."""


class NotApplicableError(Exception):
    """A check does not apply; the message says why."""


class Subject:
    """What the checks look at.

    Attributes:
        given: the policy, its class, its name or its table, as the user gave it.
        table: the keys of the problem.
    """

    def __init__(self, given: Any, table: Mapping[str, Any]):
        self.given, self.table = given, table

    @functools.cached_property
    def policy(self) -> Policy:
        """The policy with its parameters."""
        return make_policy.policy(self.given)

    @functools.cached_property
    def plain(self) -> Case:
        """No delay, and all arms available."""
        return Case.of(self.policy, cases.plain(self.table))

    @functools.cached_property
    def varied(self) -> Case:
        """Delays of zero, late rewards, sleeping arms, and lost rewards."""
        return Case.of(self.policy, cases.varied(self.table, sleeping=not self.policy.needs_all_arms))

    @functools.cached_property
    def several_plays(self) -> Case:
        """The same with two plays.

        Raises:
            InputError: the policy refuses several plays.
        """
        return Case.of(self.policy, cases.varied(self.table, 2, not self.policy.needs_all_arms))

    @functools.cached_property
    def first_trace(self) -> Callable[[], str]:
        """A function that returns the digest of the program of a round, or raises the error of tracing it."""
        try:
            digest = self.plain.digest()
        except Exception as error:
            return functools.partial(_raise, error)
        return lambda: digest

    @property
    def update_error(self) -> ReturnedError | None:
        """The error about a new state that is not like the old one; None if there is none."""
        try:
            self.first_trace()
        except ReturnedError as error:
            return error if error.key.endswith(": update") else None
        except Exception:
            return None
        return None

    @functools.cached_property
    def instances(self) -> Problem:
        """The problem of the simulations: several instances, no delay, and all arms available."""
        return cases.several_instances(self.table)

    @functools.cached_property
    def plan(self) -> Plan:
        """A plan of the simulation of these instances."""
        return planned(self.policy, self.instances)

    @functools.cached_property
    def engine_batch(self) -> np.ndarray:
        """The selections of all runs, played together by the engine, bool `[T, K, J, RUNS]`."""
        return engine_rounds(self.plan)

    @functools.cached_property
    def simulator(self) -> Simulator:
        """A simulator of the same runs."""
        return Simulator(self.instances, self.policy, HORIZON)

    @functools.cached_property
    def single_runs(self) -> dict[tuple[int, int], Any]:
        """The `StepInfo` of some runs, by instance and seed, each played alone; arrays `[T, ...]`."""
        last = self.instances.instances - 1
        runs = [(0, 0), (last, RUNS - 1)]
        return {run: self.stepped(*(jnp.int32(index) for index in run)) for run in runs}

    def stepped(self, instance: Array, seed: Array) -> Any:
        """The `StepInfo` of the rounds of a run, from a `lax.scan` over `Simulator.step`; arrays `[T, ...]`.

        With indices `[n]`, those of n runs under `jax.vmap`; arrays `[n, T, ...]`.
        """
        made, case = self.simulator, Case.of(self.policy, self.instances)
        template = _Template(made, self.instances.arms, self.instances.instances)
        with PROGRAM(case.key_of_program):
            info = _stepped(template, (made._policy, made._world, made._quotas), instance, seed)
        return jax.tree.map(np.asarray, info)

    def arms_of_run(self, run: tuple[int, int]) -> np.ndarray:
        """The arms of a single run as masks, bool `[T, K]`."""
        arms = self.single_runs[run].arms
        selected: np.ndarray = (arms[..., None] == np.arange(self.instances.arms)).any(axis=1)
        return selected


@dataclass(frozen=True)
class _Template:
    """A simulator whose arrays are replaced, so that simulators of the same shapes share a program."""

    simulator: Simulator = field(compare=False)
    arms: int
    instances: int


@functools.partial(jax.jit, static_argnums=0)
def _stepped(template: _Template, arrays: tuple[Any, Any, Any], instance: Array, seed: Array) -> Any:
    made = copy.copy(template.simulator)
    made._policy, made._world, made._quotas = arrays

    def play(instance: Array, seed: Array) -> Any:
        state = made.init(0, instance, seed)
        return jax.lax.scan(lambda state, _: made.step(state), state, length=HORIZON)[1]

    return jax.vmap(play)(instance, seed) if instance.ndim else play(instance, seed)


def planned(
    policy: Policy, problem: Problem, *, horizon: int = HORIZON, runs: int = RUNS, key: int = 0, ties: str = "lowest"
) -> Plan:
    """The plan of a simulation that records every round.

    Args:
        runs: the number of runs per instance.
    """
    # Without a kernel of a GPU, which computes each run by itself: there no run could depend on others
    given = {**SETTINGS, "record": "all", "gpu_kernel": False}
    settings = SimulationSettings(horizon, runs, key=key, ties=ties, **given)
    return make_plan(problem, [Configuration(policy.name, policy, policy.name)], settings)


def engine_rounds(plan: Plan, run: tuple[int, int] | None = None) -> np.ndarray:
    """The selections of runs that the engine plays in one block, bool `[T, K, J, runs]`.

    Args:
        plan: a plan of one policy.
        run: an instance and a seed, to play only this run, `[T, K, 1, 1]`. A block of one run has the shape of a block
            of all runs: the engine repeats the run.
    """
    (stack,) = plan.stacks
    block = _block(plan)
    if run is not None:
        rows, seeds = (slice(index, index + 1) for index in run)
        block = Block(rows, seeds, 1, 1)
    calls = plan.calls(stack, block)
    counts = [
        np.asarray(chunk.at_stops.counts)[: len(chunk.rounds)]
        for chunk in chunks_of(stack, block, calls, plan.rounds, plan.settings, plan.metrics, None)
        if chunk.at_stops is not None
    ]
    selected: np.ndarray = np.diff(block.unpack(np.concatenate(counts)), axis=0, prepend=0).astype(bool)
    return selected


def engine_program(plan: Plan) -> Hashable:
    """What decides with which compiled program the engine plays a plan, whatever is compiled in this process so far."""
    (stack,) = plan.stacks
    block = _block(plan)
    cells, lanes = block.cells(), block.lanes()
    leaves, structure = jax.tree.flatten(for_cells((stack.policy, stack.world), cells))
    return structure, tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves), len(cells), lanes.shape, stack.program


def _block(plan: Plan) -> Block:
    """All runs of a plan of one policy."""
    (stack,) = plan.stacks
    seeds = plan.settings.seeds
    return Block(slice(0, stack.rows), slice(0, seeds), stack.rows, seeds)


def arms_in_words(mask: np.ndarray) -> str:
    """Selected arms, from a mask `[K]`: "arm 2", "arms 0, 3" or "no arm"."""
    arms = np.flatnonzero(mask).tolist()
    return f"arm{'s' * (len(arms) > 1)} {', '.join(map(str, arms))}" if arms else "no arm"


def _raise(error: Exception) -> str:
    raise error
