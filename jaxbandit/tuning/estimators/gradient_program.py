"""The runs of one policy on one problem under a soft choice, with the derivatives of each run's objective."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypedDict

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core import prng
from jaxbandit.core.errors import InputError
from jaxbandit.core.rationals import Quota, QuotaTable
from jaxbandit.core.users_code.contracts import is_user_defined
from jaxbandit.core.xla.tiling import LANES
from jaxbandit.engine import rollout
from jaxbandit.engine.batch.blocks import on_device, quota_on_device
from jaxbandit.engine.batch.sharding import workers
from jaxbandit.engine.batch.traced_programs import PROGRAM, kept_by, recorder_kept_by
from jaxbandit.engine.host.workers import inherited
from jaxbandit.engine.settings import SimulationSettings
from jaxbandit.engine.stepping.relaxed.relaxed_runs import RunInputs
from jaxbandit.engine.stepping.relaxed.softness import Softness, softness_number
from jaxbandit.environment.ground_truth import ground_truth_of
from jaxbandit.environment.problem import Problem, problem_of
from jaxbandit.environment.world import world_of
from jaxbandit.metrics import definitions as metrics
from jaxbandit.metrics.definitions import MetricInputs
from jaxbandit.policies.base import Policy
from jaxbandit.policies.make_policy import policy as policy_of
from jaxbandit.tuning.estimators import soft_rollouts
from jaxbandit.tuning.goal import make_objective_only
from jaxbandit.tuning.objective import Objective
from jaxbandit.tuning.parameters import Values, check_estimator, make_tunables, with_starts, with_values

_BLOCK = 128  # runs per block on CPU: with a few hundred runs, two blocks use two cores
_MAX_QUOTAS = 1 << 25  # rounds x arms x instances of the table of quotas, which takes some 1.5 GB
_MAX_RUNS = 10**7
TEMPERATURE, WIDTH = 0.05, 0.5  # the default softness
_RUN = {"relaxed": soft_rollouts.run_relaxed, "score": soft_rollouts.run_sampled}


@dataclass(frozen=True)
class RunGradients:
    """The objective of runs and its gradient, seed by seed: means over instances, float64.

    Attributes:
        value: the objective, `[S]`.
        metrics: the metrics of the objective, by name, `[S]`.
        gradient: by parameter, `[S]` or `[S, K]`; its mean over seeds estimates the gradient.
    """

    value: np.ndarray
    metrics: dict[str, np.ndarray]
    gradient: dict[str, np.ndarray]


class _Structure(TypedDict):
    """What `derivatives` is compiled for."""

    paths: tuple[tuple[str, ...], ...]
    rounds: int
    estimator: str
    asked: tuple[str, ...]


class GradientProgram:
    """Runs of one policy on one problem and their derivatives; all arguments are checked when it is made.

    The arguments are those of `tune`.

    Raises:
        InputError: naming the argument.
    """

    def __init__(
        self,
        problem: Problem | Mapping[str, object],
        policy: str | Mapping[str, object] | type[Policy] | Policy,
        parameters: object,
        objective: object,
        estimator: str,
        *,
        horizon: int,
        temperature: float,
        width: float,
        key: object,
    ):
        settings = SimulationSettings(horizon, 1, key)
        settings.check()
        self.problem = problem_of(problem, settings.key)
        self.horizon, self.key, self.estimator = settings.horizon, settings.key, estimator
        self._check_size()
        self.objective = make_objective_only(objective, self.problem)
        self.policy = with_starts(policy_of(policy), parameters, self.problem.arms)
        self.prepared = self.policy.prepare(self.problem, self.horizon)
        check_estimator(self.policy, self.prepared, estimator, self.problem)
        self.tunables = make_tunables(self.prepared, parameters, estimator, self.problem.arms)
        self.temperature, self.width = softness_number(temperature, "temperature"), softness_number(width, "width")
        self._place_on_device()

    def _check_size(self) -> None:
        cells, owed = self.problem.means.size, self.problem.guarantees()
        if owed is not None and (self.horizon + 1) * cells > _MAX_QUOTAS:
            words = f"at most {_MAX_QUOTAS // cells - 1} rounds for tuning with {self.problem.arms} arms"
            raise InputError("horizon", self.horizon, f"{words} and {self.problem.instances} instance(s)")

    def _place_on_device(self) -> None:
        """The problem, the policy and the quotas as device arrays, and the inputs of the metrics at the horizon."""
        problem, horizon = self.problem, self.horizon
        self._cells = np.arange(problem.instances)
        world = world_of(problem, self.prepared.wants_binary_feedback, horizon)
        owed = problem.guarantees()
        columns = None if owed is None else owed.shape[1]
        truth = ground_truth_of(problem, horizon)
        recorder = recorder_kept_by(truth, self.objective.metrics())
        self._program: Hashable = (kept_by(self.prepared, world, problem.arms, columns), recorder)
        if is_user_defined(type(self.objective)):
            self._program = object()
        self._world = on_device(world, self._cells)
        self._placed = on_device(self.prepared, self._cells)
        self._quotas: Quota | None = None
        quota = None
        if owed is not None:
            rows = QuotaTable(owed, horizon + 1).rows(0, horizon + 1)
            self._quotas = quota_on_device(rows, self._cells)
            quota = jax.tree.map(lambda part: part[-1:], rows)
        names = self.objective.metrics()
        self.inputs = metrics.metric_inputs(names, np.array([horizon]), truth, quota, {})
        self._inputs = jax.tree.map(lambda part: jnp.asarray(part, jnp.result_type(float)), self.inputs)
        self._asked = metrics.required_sums(names)

    def checked_seeds(self, seeds: int) -> int:
        """The number of runs of each instance, as an int.

        Raises:
            InputError: not a whole number >= 1, too many runs, or a single run with the estimator "score".
        """
        settings = SimulationSettings(self.horizon, seeds, self.key)
        settings.check()
        seeds, instances = settings.seeds, self.problem.instances
        if seeds * instances > _MAX_RUNS:
            words = f"at most {_MAX_RUNS // instances} with {instances} instance(s)"
            raise InputError("seeds", seeds, words)
        if self.estimator == "score" and seeds < 2:
            words = "at least 2 with the estimator 'score': the baseline of a run is the mean of the other runs"
            raise InputError("seeds", seeds, words)
        return seeds

    def runs(self, values: Values, seeds: np.ndarray, objective: Objective | None = None) -> RunGradients:
        """Runs at some values of the parameters.

        Args:
            values: by name, `[]` or `[K]`.
            seeds: the runs' numbers, int64 `[S]`; at least two for the estimator "score".
            objective: the program's objective with other numbers; default: as it was given.
        """
        placed = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.result_type(float)), objective or self.objective)
        parts = np.array_split(seeds, _blocks(len(seeds)))
        lanes = len(parts[0]) + -len(parts[0]) % LANES
        call = inherited()
        with ThreadPoolExecutor(min(workers(), len(parts))) as pool:
            blocks = list(pool.map(lambda part: call(self._block, values, part, lanes, placed), parts))
        value, measured, scores, slopes = (
            [np.concatenate(parts, axis=-1) for parts in zip(*group, strict=True)]
            for group in zip(*blocks, strict=True)
        )
        if scores:
            total, count = value[0].sum(axis=-1, keepdims=True), len(seeds)
            weight = value[0] - (total - value[0]) / (count - 1)  # leave one out
            explicit = slopes or [np.zeros(())] * len(scores)
            slopes = [score * weight + own for score, own in zip(scores, explicit, strict=True)]
        gradient = {
            tunable.name: np.moveaxis(slope.mean(axis=-2), -1, 0).reshape(-1, *tunable.start.shape)
            for tunable, slope in zip(self.tunables, slopes, strict=True)
        }
        names = self.objective.metrics()
        means = {name: values.mean(axis=0) for name, values in zip(names, measured, strict=True)}
        return RunGradients(value[0].mean(axis=0), means, gradient)

    def _block(self, values: Values, seeds: np.ndarray, lanes: int, placed: Objective) -> list[list[np.ndarray]]:
        """The results of `derivatives` for some runs, float64."""
        with PROGRAM(self._program):
            groups = derivatives(*self.arguments(values, seeds, lanes, placed), **self.structure)
        return [[np.asarray(part, np.float64)[..., : len(seeds)] for part in group] for group in groups]

    @property
    def structure(self) -> _Structure:
        """The static arguments of `derivatives`."""
        paths = tuple(tunable.path for tunable in self.tunables)
        return {"paths": paths, "rounds": self.horizon, "estimator": self.estimator, "asked": self._asked}

    def arguments(
        self, values: Values, seeds: np.ndarray, lanes: int, placed: Objective
    ) -> tuple[tuple[Array, ...], Policy, RunInputs, MetricInputs, Objective]:
        """The array arguments of `derivatives` for some runs, repeated to fill the lanes."""
        padded = np.pad(seeds, (0, lanes - len(seeds)), mode="edge")
        k0, k1 = prng.run_keys(self.key, self._cells[:, None], padded[None])
        dtype, runs = jnp.result_type(float), (len(self._cells), lanes)
        columns = [np.reshape(values[tunable.name], (-1, 1, 1)) for tunable in self.tunables]
        theta = tuple(jnp.asarray(np.broadcast_to(column, (len(column), *runs)), dtype) for column in columns)
        softness = Softness(jnp.asarray(self.temperature, dtype), jnp.asarray(self.width, dtype))
        run_inputs = RunInputs(self._world, (jnp.asarray(k0), jnp.asarray(k1)), self._quotas, softness)
        return theta, self._placed, run_inputs, self._inputs, placed


@functools.partial(jax.jit, static_argnames=("paths", "rounds", "estimator", "asked"))
def derivatives(
    theta: tuple[Array, ...],
    policy: Policy,
    run_inputs: RunInputs,
    inputs: MetricInputs,
    objective: Objective,
    *,
    paths: tuple[tuple[str, ...], ...],
    rounds: int,
    estimator: str,
    asked: tuple[str, ...],
) -> tuple[list[Array], list[Array], list[Array], list[Array]]:
    """The objective of each run and its derivatives, and those of the logarithm of the run's chance.

    Args:
        theta: the parameters that `paths` lead to, one copy per run, `[K or 1, C, S]`: so the derivative of a sum over
            runs contains the derivative of each run.
        policy, run_inputs, inputs, objective: on the device.
        paths: the paths of the parameters.
        rounds: T.
        estimator: "relaxed" or "score".
        asked: the names of the sums of `rollout.SUMS` to keep.

    Returns:
        The objective `[C, S]` (a list of one); its metrics, each `[C, S]`; the derivatives of the logarithm of the
        chance of each run's choices, `[K or 1, C, S]` per parameter (empty for "relaxed"); and the derivatives of the
        objective itself (empty for "score" where the objective depends on the choices alone).
    """
    shape = (len(inputs.means), *theta[0].shape[1:])
    names = objective.metrics()

    def totals(theta: tuple[Array, ...]) -> tuple[tuple[Array, Array], list[Array]]:
        placed = with_values(policy, dict(zip(paths, theta, strict=True)))
        end = _RUN[estimator](placed, run_inputs, shape, rounds, asked)
        known = dataclasses.replace(inputs, sums=end.sums)
        with jax.numpy_rank_promotion("allow"):  # metrics broadcast as NumPy does
            measured = {name: metrics.METRICS[name].compute(end.counts[None], known) for name in names}
            value = objective.value(end.counts[None], known, measured)[0]
        return (end.log_chance[0], value), [measured[name][0] for name in names]

    (_, value), pull_back, measured = jax.vjp(totals, theta, has_aux=True)
    one, zero = jnp.ones_like(value), jnp.zeros_like(value)
    scores = [] if estimator == "relaxed" else list(pull_back((one, zero))[0])
    depends = estimator == "relaxed" or rollout.CHANCES.intersection(asked)
    return [value], measured, scores, list(pull_back((zero, one))[0]) if depends else []


def softness_of(estimator: str, temperature: object, width: object) -> dict[str, float]:
    """The softness of a soft policy, by the names of the arguments; empty for the estimator "perturbation".

    Args:
        estimator: one of `ESTIMATORS`.
        temperature, width: as given; None for the defaults, `TEMPERATURE` and `WIDTH`.

    Raises:
        InputError: below 1e-6, or given for an estimator that has no softness.
    """
    given = {"temperature": (temperature, TEMPERATURE), "width": (width, WIDTH)}
    if estimator == "perturbation":
        for name, (value, _) in given.items():
            if value is not None:
                words = "must not be given with the estimator 'perturbation', which simulates the policy itself"
                raise InputError(name, value, words)
        return {}
    return {
        name: default if value is None else softness_number(value, name) for name, (value, default) in given.items()
    }


def _blocks(runs: int) -> int:
    """The number of blocks that runs are cut into."""
    return -(-runs // _BLOCK) if jax.default_backend() == "cpu" else 1
