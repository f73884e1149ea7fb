"""Plans: what a simulation will compute, checked before any work.

A problem, configurations and settings become a `Plan`, which `jaxbandit.engine.simulation.run` carries out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import jax
import numpy as np
from jax.sharding import Mesh

from jaxbandit.core.errors import InputError, warn
from jaxbandit.core.xla import compat
from jaxbandit.core.xla.tiling import LANES, is_costly
from jaxbandit.engine.advice import arm_order, faults, tie_use, users_rounds
from jaxbandit.engine.batch import memory, sharding, traced_programs
from jaxbandit.engine.batch.blocks import Block, Calls, Size, cover, long_calls, recorded_rounds, size, usual_calls
from jaxbandit.engine.batch.recorder import Recorder
from jaxbandit.engine.batch.stacking import Stack, one_per_stack, stacked_configurations
from jaxbandit.engine.settings import Configuration, SimulationSettings
from jaxbandit.engine.stopping import StoppingRule, stopping_rule
from jaxbandit.environment.problem import Problem
from jaxbandit.metrics import definitions, exact_range, formulas
from jaxbandit.metrics.block_statistics import ResultShape
from jaxbandit.metrics.metric import METRICS, is_users
from jaxbandit.metrics.moments import LARGEST, NARROW, SHORT
from jaxbandit.metrics.welfare import INSTANCE_NUMBERS
from jaxbandit.policies.base import Policy

_MOST_BLOCKS = 10**6
_IN_ROUNDS = 1 << 26  # runs x recorded rounds x arms where faster recording pays for longer compilation (measured)
_FEW_ARMS = 8  # fewer arms are not recorded faster
_PULLS_MEAN = 64 << 20  # bytes of `pulls_mean` and its standard error that a dataset has by default


@dataclass(frozen=True)
class BlockTask:
    """One block to simulate.

    Attributes:
        stack: the number of its stack in the plan.
        block: its runs.
    """

    stack: int
    block: Block

    @property
    def name(self) -> str:
        """The name of its file in a checkpoint folder."""
        rows, seeds = self.block.rows, self.block.seeds
        return f"stack{self.stack}-rows{rows.start}-{rows.stop}-seeds{seeds.start}-{seeds.stop}"


@dataclass(frozen=True)
class Plan:
    """What a simulation will compute.

    Attributes:
        problem: the problem, or the first one if configurations have their own.
        configurations: the labelled policies.
        settings: horizon, seeds, key and what is recorded.
        problems: the problem of each configuration.
        prepared: the policy of each configuration, prepared for its problem and the horizon.
        metrics: the names of the metrics that are recorded.
        runs: the names of those whose curve is kept for every run.
        stopping_rule: the standard error to reach; None to simulate `settings.seeds` seeds.
        rounds: the recorded rounds, int64, increasing, the horizon last.
        mesh: the devices that every block is spread over; None for one device.
        stacks: the stacks; each holds the configurations that one compiled program simulates.
        sizes: the size of the blocks of each stack.
    """

    problem: Problem
    configurations: Sequence[Configuration]
    settings: SimulationSettings
    problems: Sequence[Problem]
    prepared: Sequence[Policy]
    metrics: list[str]
    runs: list[str]
    stopping_rule: StoppingRule | None
    rounds: np.ndarray
    mesh: Mesh | None
    stacks: tuple[Stack, ...] = ()
    sizes: tuple[Size, ...] = ()

    @property
    def instance_numbers(self) -> list[str]:
        """The names of the numbers per instance that were asked for."""
        return [name for name in INSTANCE_NUMBERS if name in (self.settings.metrics or [])]

    @property
    def shards(self) -> int:
        """The number of devices that a block is spread over."""
        return 1 if self.mesh is None else self.mesh.size

    def result_shape(self, stack: Stack) -> ResultShape:
        """The shape of the results of a stack's runs."""
        return ResultShape(
            stack.arms,
            len(self.rounds),
            tuple(self.metrics),
            len(stack.policy.phases),
            tuple(self.runs),
            self.pulls_mean,
            self.settings.horizon if self.settings.trace else 0,
            stack.world.plays,
            self.settings.p_mean if "p_mean_regret" in self.metrics else None,
            self._from_lost(stack),
        )

    def _from_lost(self, stack: Stack) -> tuple[str, ...]:
        """The metrics that are the lost reward plus a number per row and round: where each round plays one arm."""
        world = stack.world
        if world.plays > 1 or world.sleeping or stack.ground_truth.path is not None:
            return ()
        return tuple(name for name in self.metrics if name in formulas.LOST_REWARD_PLUS and not is_users(METRICS[name]))

    def recorder(self, stack: Stack, block: Block, result_shape: ResultShape | None = None) -> Recorder:
        """A recorder of a block of a stack. `result_shape` is that of the stack by default."""
        shape = self.result_shape(stack) if result_shape is None else result_shape
        below = self._metrics_below(stack) if self._records_in_rounds(stack, block) else None
        return Recorder(stack, shape, block, self.shards, partial(self.labels, stack), self.settings.horizon, below)

    def _records_in_rounds(self, stack: Stack, block: Block) -> bool:
        """Whether the program of the rounds computes what is recorded, which decides times, not results."""
        return (
            stack.rows * self.settings.seeds * len(self.rounds) * max(stack.arms, _FEW_ARMS) >= _IN_ROUNDS
            and bool(self.metrics)  # XLA ends the process where arrays without entries are arguments of the kernel
            and jax.default_backend() == "cpu"
            and compat.kernels_work()
            and self.mesh is None
            and stack.ground_truth.path is None
            and not self.settings.trace
            and block.wide >= LANES
            and not any(is_users(METRICS[name]) for name in self.metrics)
        )

    def calls(self, stack: Stack, block: Block) -> Calls:
        """How the rounds of a block are divided into calls of the compiled program."""
        shape = stack.arms, len(block.cells()), block.lanes().shape[1]
        alone = jax.default_backend() == "cpu" and self.mesh is None
        if not alone or self.settings.trace or stack.ground_truth.path is not None:
            return usual_calls(*shape)
        keeps_counts = not self._records_in_rounds(stack, block)
        costly = stack.program is not None or is_costly(stack.policy)  # the first: users' code
        return long_calls(*shape, self.settings.horizon, len(self.rounds), keeps_counts, costly)

    def _metrics_below(self, stack: Stack) -> float:
        """The least bound of `moments.integer_parts` that all metrics of a stack are certainly below in magnitude."""
        if "reward" in definitions.required_sums(self.metrics):
            return LARGEST
        most = exact_range.largest_metric(stack.ground_truth, self.settings.horizon)
        return next((bound for bound in (SHORT, NARROW) if most < bound), LARGEST)

    @property
    def pulls_mean(self) -> bool:
        """Whether the means of N_k at the recorded rounds are kept."""
        wanted = self.settings.pulls_mean
        arms, instances = self.problem.means.shape
        numbers = 2 * len(self.configurations) * instances * arms * len(self.rounds)  # means and standard errors
        return 8 * numbers <= _PULLS_MEAN if wanted is None else wanted

    def labels(self, stack: Stack) -> list[str]:
        """The labels of a stack's configurations."""
        return [self.configurations[number].label for number in stack.configurations]

    def tasks(self, seeds: slice) -> list[BlockTask]:
        """All blocks of a seed range, stack by stack."""
        return [
            BlockTask(number, block)
            for number, (stack, one) in enumerate(zip(self.stacks, self.sizes, strict=True))
            for block in cover(stack.rows, seeds, one, self.shards)
        ]

    def seed_range(self, start: int, stop: int) -> slice:
        """The seeds of the runs number `start` to `stop` - 1 of the plan."""
        first = self.settings.first_seed
        return slice(first + start, first + stop)

    def count_rounds(self, seeds: slice) -> int:
        """The rounds of all runs of a seed range."""
        return sum(stack.rows for stack in self.stacks) * (seeds.stop - seeds.start) * self.settings.horizon

    @property
    def blocks(self) -> list[Block]:
        """All blocks of the planned seeds."""
        return [task.block for task in self.tasks(self.seed_range(0, self.settings.seeds))]

    @property
    def result_shapes(self) -> list[ResultShape]:
        """The shape of the results of each stack."""
        return [self.result_shape(stack) for stack in self.stacks]

    def check_memory(self, seeds: int) -> None:
        """Refuse a number of seeds whose results do not fit the host's memory.

        Raises:
            InputError: naming `simulation.seeds`, with the memory that is needed and the memory that is free.
        """
        memory.check_results(self.stacks, self.result_shapes, seeds)

    def results_bytes(self) -> int:
        """The host memory that the results will take, in bytes, about."""
        return memory.results_bytes(self.stacks, self.result_shapes, self.settings.seeds)

    def with_sizes(self, sizes: Sequence[Size]) -> Plan:
        """The plan with other block sizes."""
        return dataclasses.replace(self, sizes=tuple(sizes))

    def split(self, numbers: Collection[int]) -> Plan:
        """The plan with some stacks, by number, split into one stack per configuration.

        Programs of such stacks take numbers as parameters, where a stack of several configurations has arrays.
        """
        stacks: list[Stack] = []
        for number, stack in enumerate(self.stacks):
            horizon, ties = self.settings.horizon, self.settings.ties
            alone = one_per_stack(stack.configurations, self.prepared, self.problems, horizon, ties)
            stacks += alone if number in numbers else [stack]
        return _with_blocks(self, stacks)


def metrics_and_runs(settings: SimulationSettings, problem: Problem) -> tuple[list[str], list[str]]:
    """The names of the metrics that settings record, and of those whose curve is kept for every run.

    Raises:
        InputError: a metric that does not exist, or that the problem does not define.
    """
    runs = definitions.resolve_metrics(settings.runs, problem, "simulation.runs")
    return list(dict.fromkeys([*definitions.resolve_metrics(settings.metrics, problem), *runs])), runs


def make_plan(
    problem: Problem, configurations: Sequence[Configuration], settings: SimulationSettings, warns: bool = True
) -> Plan:
    """Check what is to be simulated, and plan it.

    Args:
        problem: the problem of the configurations that have none of their own.
        configurations: what to simulate.
        settings: how much of it.
        warns: whether to give warnings about ties and misleading metrics.

    Raises:
        InputError: something cannot be simulated; the error names the key.
    """
    settings.check()
    problems = [problem if one.problem is None else one.problem for one in configurations]
    different = list(_different(problems))
    runs = metrics_and_runs(settings, problem)[1]
    own = [metrics_and_runs(settings, one)[0] for one in different]  # refuses metrics that a problem does not define
    metrics = [name for name in own[0] if all(name in names for names in own)]
    left_out = list(dict.fromkeys(name for names in own for name in names if name not in metrics))
    for one in different:
        exact_range.check_exact_range(one, settings.horizon, "reward" in definitions.required_sums(metrics))
    prepared = [_prepared(one, own, settings.horizon) for one, own in zip(configurations, problems, strict=True)]
    made = Plan(
        problem=problem,
        configurations=configurations,
        settings=settings,
        problems=problems,
        prepared=prepared,
        metrics=metrics,
        runs=runs,
        stopping_rule=stopping_rule(settings.until, metrics),
        rounds=recorded_rounds(settings.horizon, settings.record),
        mesh=sharding.mesh(),
    )
    made = _with_blocks(made, stacked_configurations(prepared, problems, settings.horizon, settings.ties))
    if warns and left_out:
        name = left_out[0]
        why = next(words for one in different if (words := METRICS[name].refusal(one)))
        warn(f"the results have no {', '.join(left_out)}: at some points of the grid, {name} {why}")
    if warns:
        _warn(made, different)
    return made


def _warn(made: Plan, problems: Sequence[Problem]) -> None:
    """Give the warnings about misleading metrics, rounded means and ties."""
    caveats = [words for one in problems for words in definitions.caveats(made.metrics, one)]
    if caveats:
        warn(caveats[0])
    if made.metrics and (rounded := next(filter(None, map(exact_range.rounded_away, problems)), None)):
        warn(rounded)
    if made.settings.ties == "random":
        about_ties = tie_use.ignored_by(made.stacks)
    else:
        way_out = "simulate with ties='random', or list the arms in another order"
        about_ties = arm_order.helped_by_order(made.prepared, made.problems, way_out)
    if about_ties:
        warn(about_ties)


def _different(problems: Sequence[Problem]) -> Iterator[Problem]:
    """Each problem once."""
    yield from {id(problem): problem for problem in problems}.values()


def _prepared(configuration: Configuration, problem: Problem, horizon: int) -> Policy:
    try:
        configuration.policy.check("policies")
        return configuration.policy.prepare(problem, horizon)
    except InputError as error:
        raise error.with_key(error.key.replace("policies", f"policies[{configuration.label}]", 1)) from None


def _with_blocks(unfinished: Plan, stacks: Sequence[Stack]) -> Plan:
    """The plan with these stacks, cut into blocks that fit the memory."""
    made = dataclasses.replace(unfinished, stacks=tuple(stacks), sizes=())
    made.check_memory(made.settings.seeds)
    seeds, sizes, traced = made.settings.seeds, [], []
    share = -(-sharding.at_play() * jax.process_count() // len(stacks))
    for number, stack in enumerate(stacks):
        try:
            stack = traced_programs.told_apart(stack, made.metrics)
            users_rounds.check(stack)
            pay, fit = memory.runs_a_block(
                stack,
                made.result_shape(stack),
                definitions.required_sums(made.metrics),
                seeds,
                made.shards,
                sharding.workers(),
            )
        except InputError as error:
            raise faults.about_metric(error, made.settings, made.metrics) from error.__cause__
        except Exception as error:  # the policy's own code cannot take arrays for its parameters
            if len(stack.configurations) == 1:
                raise faults.about_metric(error, made.settings, made.metrics) from error.__cause__
            return made.split({number})
        traced.append(stack)
        sizes.append(size(stack.rows, seeds, made.settings.block, share, pay, fit, stack.arms))
    _check_count(made, sizes)
    return dataclasses.replace(made, stacks=tuple(traced), sizes=tuple(sizes))


def _check_count(made: Plan, sizes: Sequence[Size]) -> None:
    seeds = made.settings.seeds
    count = sum(one.count(stack.rows, seeds) for stack, one in zip(made.stacks, sizes, strict=True))
    if count > _MOST_BLOCKS:
        runs = seeds * sum(stack.rows for stack in made.stacks)
        words = f"at least {-(-runs // _MOST_BLOCKS)} runs, so that there are at most {_MOST_BLOCKS} blocks"
        raise InputError("simulation.block", made.settings.block, words)
