"""Simulations of the policy itself at many values of its parameters, on the same random numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.core.errors import InputError, ReturnedError
from jaxbandit.core.rationals import QuotaTable
from jaxbandit.engine.batch.blocks import Size
from jaxbandit.engine.host.checkpoint import Checkpoint
from jaxbandit.engine.host.progress_bar import Progress
from jaxbandit.engine.plan import Plan, make_plan
from jaxbandit.engine.settings import Configuration, SimulationSettings
from jaxbandit.engine.simulation import run
from jaxbandit.environment.ground_truth import ground_truth_of
from jaxbandit.environment.problem import Problem
from jaxbandit.metrics import definitions as metrics
from jaxbandit.metrics.block_statistics import BlockStatistics
from jaxbandit.policies.base import Policy
from jaxbandit.tuning.goal import Goal, WeightedSum
from jaxbandit.tuning.objective import MetricObjective
from jaxbandit.tuning.parameters import Tunable, Values, in_words, tuned_policy

Arrays = dict[str, np.ndarray]
_BLOCK = 1024  # runs per block on CPU: enough to pay for a call
_FEW_POINTS, _FEW_SEEDS = 4, 64  # points that have blocks of their own where seeds suffice; least seeds per block
_SHORT = 1 << 15  # rounds times arms up to which runs that nobody needs take less time than a program (measured)


@dataclass(frozen=True)
class Evaluation:
    """The objective and the metrics of P points, over the same runs; NaN for points that the policy refuses.

    Attributes:
        objective: float64 `[P, J, S]`, of J instances and S seeds, as the objective gives it.
        metrics: by name, likewise.
    """

    objective: np.ndarray
    metrics: dict[str, np.ndarray]


class Evaluator:
    """Simulates a policy at points: values of its parameters.

    Args:
        problem, policy, horizon, key: what is simulated.
        tunables: the parameters of the policy.
        goal: the metrics that are computed.
        bar: the bar that counts the rounds.

    Attributes:
        prepared: the policy, prepared for the problem.
        rounds: the number of rounds simulated so far, over all runs.
        simulated: the number of points so far.
        refusals: why the policy refused points, one error per refused point.
        failures: the errors of points at which a number of a run was not finite.
        not_finite: the number of other points at which the objective or a metric is not finite.
        checkpoint: keeps every evaluation, if it is set.
    """

    def __init__(
        self,
        problem: Problem,
        policy: Policy,
        tunables: Sequence[Tunable],
        goal: Goal,
        horizon: int,
        key: object,
        bar: Progress,
    ):
        self._problem, self._policy, self._tunables = problem, policy, tunables
        self._goal, self._horizon, self._key, self._bar = goal, horizon, key, bar
        self.prepared = policy.prepare(problem, horizon)
        self.rounds = self.simulated = self.not_finite = self._calls = 0
        self.refusals: list[str] = []
        self.failures: list[str] = []
        self.checkpoint: Checkpoint | None = None
        owed = problem.guarantees()
        quota = None if owed is None else QuotaTable(owed, 1).rows(horizon, 1)
        names = goal.objective.metrics()
        self._inputs = metrics.metric_inputs(names, np.array([horizon]), ground_truth_of(problem, horizon), quota, {})
        self._counts_matter = not isinstance(goal.objective, MetricObjective | WeightedSum)
        self._needs_pulls = self._counts_matter or not goal.metrics

    def policy(self, values: Values) -> Policy:
        """The policy with some values of its parameters."""
        return tuned_policy(self._policy, self.prepared, self._tunables, values)

    def plan(self, points: Sequence[Values], seeds: int, first: int = 0) -> Plan:
        """The simulation of points, each with runs `first`, ..., `first + seeds - 1` of every instance.

        Raises:
            InputError: the policy refuses a point.
        """
        labels = [str(number) for number in range(len(points))]
        if len(points) == 1:  # whose errors name the policy with its values
            labels = [f"{self._policy.name} at {in_words(points[0])}"]
        configurations = [
            Configuration(label, self.policy(values), label) for label, values in zip(labels, points, strict=True)
        ]
        settings = SimulationSettings(
            self._horizon, seeds, self._key, record=1, metrics=self._goal.metrics, first_seed=first, pulls_mean=False
        )
        return _with_shared_blocks(make_plan(self._problem, configurations, settings, warns=False), len(points), seeds)

    def __call__(self, points: Sequence[Values], seeds: int, first: int = 0) -> Evaluation:
        """Simulate points.

        Raises:
            InputError, FloatingPointError: the policy refuses all of them, or fails at all of them, in the first call.
                Later such points have values that are NaN.
        """
        self._calls += 1
        name, identity = f"evaluation{self._calls}", _identity(points, seeds, first)
        arrays = None if self.checkpoint is None else self.checkpoint.load(name, partial(_checked, identity=identity))
        if arrays is None:
            arrays = {**self._simulated(points, seeds, first), "identity": identity}
            if self.checkpoint is not None:
                self.checkpoint.save(name, arrays)
        self.refusals += arrays["refusals"].tolist()
        self.failures += arrays["failures"].tolist()
        self.simulated += len(points)
        self.count(len(points) * self._problem.instances * seeds * self._horizon)
        measured = {name: arrays[name] for name in self._goal.metrics}
        objective = self._objective(arrays.get("pulls"), measured)
        finite = np.all([np.isfinite(part).all(axis=(1, 2)) for part in (objective, *measured.values())], axis=0)
        self.not_finite += int(np.sum(~finite)) - len(arrays["refusals"])
        return Evaluation(objective, measured)

    def count(self, rounds: int) -> None:
        """Count rounds as done."""
        self.rounds += rounds
        self._bar.add(rounds)

    def _simulated(self, points: Sequence[Values], seeds: int, first: int) -> Arrays:
        """The metrics by name, `pulls` where counts matter, and the errors of points, `refusals` and `failures`."""
        none = np.array([], str)
        try:
            return {**self._run(self.plan(points, seeds, first)), "refusals": none, "failures": none}
        except (InputError, FloatingPointError):  # such as a merit function that is too steep at some point
            arrays, errors = self._one_by_one(points, seeds, first)
            if not arrays and not self.simulated:
                raise errors[0] from None
        runs = (self._problem.instances, seeds)
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(self._goal.metrics, runs)
        if self._needs_pulls:
            shapes["pulls"] = (*runs, self._problem.arms)
        made = {}
        for name, shape in shapes.items():
            made[name] = np.full((len(points), *shape), np.nan)
            for place, part in arrays.items():
                made[name][place] = part[name][0]
        told: dict[bool, list[str]] = {True: [], False: []}
        for error in errors:
            told[isinstance(error, InputError)].append(str(error))
        return {**made, "refusals": np.array(told[True], str), "failures": np.array(told[False], str)}

    def _one_by_one(
        self, points: Sequence[Values], seeds: int, first: int
    ) -> tuple[dict[int, Arrays], list[InputError | FloatingPointError]]:
        """The arrays of the points that can be simulated, by their places, and the errors of the others."""
        arrays: dict[int, Arrays] = {}
        errors: list[InputError | FloatingPointError] = []
        for place, values in enumerate(points):
            try:
                arrays[place] = self._run(self.plan([values], seeds, first))
            except InputError as error:  # whose key begins with the label of the point
                errors.append(error.with_key(re.sub(r"^policies\[.*\]\.", "", error.key)))
            except FloatingPointError as error:
                errors.append(error)
        return arrays, errors

    def _run(self, plan: Plan) -> Arrays:
        result = run(plan)
        names = self._goal.metrics
        made = {name: result.each(partial(_finals, name=name)) for name in names}
        return {**made, "pulls": result.each(lambda part: part.pulls)} if self._needs_pulls else made

    def _objective(self, pulls: np.ndarray | None, measured: dict[str, np.ndarray]) -> np.ndarray:
        """The objective of each run, `[P, J, S]`, from N_k(T), `[P, J, S, K]`, and metrics `[P, J, S]`."""
        objective = self._goal.objective
        if pulls is None or not self._counts_matter:
            return np.asarray(objective.value(None, None, measured))  # type: ignore[arg-type]
        made = []
        with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
            for point in range(len(pulls)):
                counts = pulls[point].transpose(2, 0, 1)[None].astype(np.float64)
                known = {name: values[point][None] for name, values in measured.items()}
                arguments = jax.tree.map(jnp.asarray, (counts, self._inputs, known))
                made.append(self._checked_value(objective.value(*arguments), pulls[point].shape[:-1]))
        return np.stack(made)

    def _checked_value(self, value: object, shape: tuple[int, ...]) -> np.ndarray:
        """The values `[J, S]` of an objective, from `[1, J, S]`."""
        array = np.asarray(value)
        if array.shape != (1, *shape):
            owner = f"objective {type(self._goal.objective).__name__!r}"
            raise ReturnedError(owner, "value", f"an array of shape {array.shape}", f"float {(1, *shape)}")
        return np.asarray(array[0], np.float64)


def _with_shared_blocks(plan: Plan, points: int, seeds: int) -> Plan:
    """The plan with blocks of few shapes, so that simulations of a search share programs."""
    if jax.default_backend() != "cpu" or plan.shards > 1:
        return plan
    enough = _FEW_POINTS * seeds >= _BLOCK
    if not enough and plan.settings.horizon * plan.problem.arms > _SHORT:
        return plan
    together = 1 if enough and points <= _FEW_POINTS else _FEW_POINTS
    wide = min(_BLOCK // together, max(seeds, _FEW_SEEDS))
    return plan.with_sizes([Size(_BLOCK // wide, wide)] * len(plan.stacks))


def _finals(part: BlockStatistics, name: str) -> np.ndarray:
    return part.runs[f"final {name}"]


def _identity(points: Sequence[Values], seeds: int, first: int) -> np.ndarray:
    """The numbers that tell one evaluation from another."""
    parts = [np.ravel(value) for values in points for value in values.values()]
    return np.concatenate([[seeds, first, len(points)], *parts])


def _checked(arrays: Arrays, identity: np.ndarray) -> Arrays:
    """The arrays of a file.

    Raises:
        ValueError: the file is of another evaluation.
    """
    if not np.array_equal(arrays["identity"], identity):
        raise ValueError("the points or seeds differ")
    return arrays


@dataclass(frozen=True)
class Scores:
    """The goal at P points; smaller is better.

    Attributes:
        value: the objective's mean, negated if it is maximised, float64 `[P]`.
        excess: how far the mean of each limited metric is beyond its limit, `[P, limits]`; negative within it.
        value_runs, excess_runs: the same seed by seed, `[P, S]` and `[P, limits, S]`. With `over="worst"` those of the
            worst instance.
    """

    value: np.ndarray
    excess: np.ndarray
    value_runs: np.ndarray
    excess_runs: np.ndarray

    @classmethod
    def of(cls, evaluation: Evaluation, goal: Goal) -> Scores:
        """The scores of simulated points."""
        value, value_runs = _over_instances(goal.sign * evaluation.objective, goal.over)
        pairs = [_over_instances(limit.excess(evaluation.metrics[limit.metric]), goal.over) for limit in goal.limits]
        if not pairs:
            return cls(value, np.zeros((len(value), 0)), value_runs, np.zeros((len(value), 0, value_runs.shape[1])))
        excess, runs = (np.stack(parts, axis=1) for parts in zip(*pairs, strict=True))
        return cls(value, excess, value_runs, runs)

    def best(self, confidence: float = 0.0) -> int:
        """The point of least value among those within all limits; if there is none, the one nearest to the limits.

        Args:
            confidence: a point is within a limit if its excess, plus this many standard errors, is at most 0.
        """
        margin = confidence * self.excess_stderr if confidence else 0.0
        beyond = np.maximum(self.excess + margin, 0.0).sum(axis=1)
        beyond = np.where(np.isfinite(self.value) & np.isfinite(beyond), beyond, np.inf)
        if beyond.min() > 0:
            return int(beyond.argmin())
        return int(np.where(beyond <= 0, self.value, np.inf).argmin())

    def joined(self, other: Scores) -> Scores:
        """These points, then others on the same runs."""
        return Scores(*(np.concatenate(pair) for pair in zip(vars(self).values(), vars(other).values(), strict=True)))

    def reordered(self, order: np.ndarray) -> Scores:
        """The points in another order."""
        return Scores(*(part[order] for part in vars(self).values()))

    @property
    def excess_stderr(self) -> np.ndarray:
        """The standard errors of `excess`, `[P, limits]`."""
        return _stderr(self.excess_runs)

    @property
    def value_stderr(self) -> np.ndarray:
        """The standard errors of `value`, `[P]`."""
        return _stderr(self.value_runs)


def _over_instances(values: np.ndarray, over: str) -> tuple[np.ndarray, np.ndarray]:
    """Means `[P]` and values per seed `[P, S]`, of values `[P, J, S]`: over all instances, or of the worst one."""
    if over == "mean":
        runs = values.mean(axis=1)
    else:
        worst = values.mean(axis=2).argmax(axis=1)
        runs = values[np.arange(len(values)), worst]
    return runs.mean(axis=1), runs


def _stderr(runs: np.ndarray) -> np.ndarray:
    count = runs.shape[-1]
    return np.asarray(runs.std(axis=-1, ddof=1) / np.sqrt(count)) if count > 1 else np.full(runs.shape[:-1], np.inf)
