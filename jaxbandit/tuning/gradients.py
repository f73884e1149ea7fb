"""Gradients of an expected objective in a policy's parameters.

`relaxed`: pathwise. Arms get shares of each round (`softening.shares`), counts are sums of shares, thresholds are
sigmoids of a width; the objective is then a smooth function of the parameters for given random numbers, and its
derivative goes through the scan. Unbiased for the gradient of the *relaxed* objective, which is another one than the
policy's own: it goes to that as temperature and width go to 0. But a share moves with a score by at most
1 / (4 temperature), and a score with a count, at the threshold, by -A / (4 width): where temperature * width is below
A / 32, the count of an arm that is kept at its quota overshoots from round to round, and the derivative explodes.

`score`: the score function (Glynn 1990; Williams 1992). Whole plays are drawn from the soft choice, thresholds are
hard, and the gradient is the mean of (objective - baseline) times the derivative of the log chance of the run's
choices, the baseline of a run the mean of the others' objectives (leave one out; Kool, van Hoof & Welling 2019).
Unbiased for the gradient of the expected objective of the *softened* policy, the one that draws; that goes to the
policy's own as the temperature goes to 0. Its variance grows with the horizon and with 1 / temperature.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core import prng
from jaxbandit.core.component import is_user_defined
from jaxbandit.core.errors import InputError, suggest_keywords
from jaxbandit.core.input_values import finite_numbers
from jaxbandit.core.rationals import QuotaTable
from jaxbandit.core.xla.tiling import LANES
from jaxbandit.engine import rollout
from jaxbandit.engine.batch.blocks import on_device, quota_on_device
from jaxbandit.engine.batch.sharding import workers
from jaxbandit.engine.batch.traced_programs import PROGRAM, kept_by
from jaxbandit.engine.host.workers import inherited
from jaxbandit.engine.settings import SimulationSettings
from jaxbandit.environment.ground_truth import ground_truth_of
from jaxbandit.environment.problem import Problem, problem_of
from jaxbandit.environment.world import world_of
from jaxbandit.metrics import definitions as metrics
from jaxbandit.metrics.definitions import MetricInputs
from jaxbandit.policies.base import Policy
from jaxbandit.policies.base import policy as policy_of
from jaxbandit.tuning import soft_rollouts
from jaxbandit.tuning.objective import Objective
from jaxbandit.tuning.objective import objective as objective_of
from jaxbandit.tuning.parameters import Tunable, Values, check_estimator, started, tunables, with_values
from jaxbandit.tuning.soft_rollouts import RunInputs

_BLOCK = 128  # runs a block on CPU: two blocks keep two cores busy with a few hundred runs
_MOST_OWED = 1 << 25  # rounds x arms x instances of what arms are owed, held at once: some 1.5 GB
_MOST_RUNS = 10**7
_RUNS = {"relaxed": soft_rollouts.relaxed, "score": soft_rollouts.sampled}


@dataclass(frozen=True)
class Runs:
    """What some runs gave, seed by seed, means over instances; float64.

    Attributes:
        value: the objective, `[S]`.
        metrics: the metrics it is made of, by name, `[S]`.
        gradient: of each parameter by name, `[S]` or `[S, K]`; its mean estimates the gradient.
    """

    value: np.ndarray
    metrics: dict[str, np.ndarray]
    gradient: dict[str, np.ndarray]


@dataclass(frozen=True)
class Estimate:
    """An expected objective and its gradient.

    Attributes:
        value, value_stderr: the objective's mean over runs and its standard error.
        metrics: means of the metrics it is made of, by name.
        gradient, gradient_stderr: by the parameter's name, float64 `[]` or `[K]`.
    """

    value: float
    value_stderr: float
    metrics: dict[str, float]
    gradient: dict[str, np.ndarray]
    gradient_stderr: dict[str, np.ndarray]

    @property
    def norm(self) -> float:
        """The gradient's Euclidean norm."""
        return math.sqrt(sum(float(np.sum(slope**2)) for slope in self.gradient.values()))

    def check(self, where: str) -> None:
        """Refuse what is not a number, saying where it arose."""
        if not all(np.isfinite(self.value) and np.all(np.isfinite(slope)) for slope in self.gradient.values()):
            raise FloatingPointError(f"the objective or its gradient is not a number {where}")

    @classmethod
    def of(cls, runs: Runs) -> Estimate:
        """The means over runs."""
        root = math.sqrt(len(runs.value))
        spread = 1 if len(runs.value) > 1 else 0  # of one run no spread is known
        return cls(
            float(runs.value.mean()),
            float(runs.value.std(ddof=spread) / root),
            {name: float(values.mean()) for name, values in runs.metrics.items()},
            {name: values.mean(axis=0) for name, values in runs.gradient.items()},
            {name: values.std(axis=0, ddof=spread) / root for name, values in runs.gradient.items()},
        )


class Program:
    """Runs of one policy on one problem and their derivatives; everything checked when made.

    Args: those of `value_and_gradient`.

    Raises:
        InputError: naming the argument.
    """

    def __init__(
        self,
        problem: Problem | Mapping[str, Any],
        policy: Any,
        parameters: Any,
        objective: Any,
        estimator: str,
        *,
        horizon: int,
        temperature: float,
        width: float,
        key: Any,
        constraint: Any = "projection",
    ):
        settings = SimulationSettings(horizon, 1, key)
        settings.check()
        problem, horizon, key = problem_of(problem, settings.key), settings.horizon, settings.key
        configurations = (horizon + 1) * problem.means.size
        if problem.fractions is not None and configurations > _MOST_OWED:
            most = _MOST_OWED // problem.means.size - 1
            words = f"at most {most} rounds for tuning with {problem.arms} arms and {problem.instances} instance(s)"
            raise InputError("horizon", horizon, words)
        self.problem, self.horizon, self.estimator, self.key = problem, horizon, estimator, key
        self.objective: Objective = objective_of(objective, problem)
        self.policy: Policy = started(policy_of(policy), parameters, problem.arms)
        self.prepared = self.policy.prepare(problem, horizon)
        check_estimator(self.policy, self.prepared, estimator, problem)
        self.tunables: list[Tunable] = tunables(self.prepared, parameters, constraint, problem.arms)
        for name, number in (("temperature", temperature), ("width", width)):
            if finite_numbers(number, name, "a number >= 1e-6", 1e-6).ndim:
                raise InputError(name, number, "a number >= 1e-6")
        self.temperature, self.width = float(temperature), float(width)
        self._cells = np.arange(problem.instances)
        world = world_of(problem, self.prepared.wants_binary_feedback, horizon)
        columns = None if problem.fractions is None else problem.fractions.shape[1]
        self._program = kept_by(self.prepared, world, problem.arms, columns)
        if is_user_defined(type(self.objective)):
            self._program = object()
        self._world = on_device(world, self._cells)
        self._placed = on_device(self.prepared, self._cells)
        quota = None
        self._quotas = None
        if problem.fractions is not None:
            rows = QuotaTable(problem.fractions, horizon + 1).rows(0, horizon + 1)
            self._quotas = quota_on_device(rows, self._cells)
            quota = jax.tree.map(lambda part: part[-1:], rows)
        names = self.objective.metrics()
        self.inputs: MetricInputs = metrics.metric_inputs(
            names, np.array([horizon]), ground_truth_of(problem), quota, {}
        )
        self._inputs = jax.tree.map(lambda part: jnp.asarray(part, jnp.result_type(float)), self.inputs)
        self._asked = metrics.required_sums(names)

    def checked_seeds(self, seeds: Any) -> int:
        """A number of runs; what is none, or too few, is refused."""
        settings = SimulationSettings(self.horizon, seeds, self.key)
        settings.check()
        seeds = settings.seeds
        if seeds * self.problem.instances > _MOST_RUNS:
            raise InputError(
                "seeds", seeds, f"a number of runs of {self.problem.instances} instance(s), {_MOST_RUNS} in all"
            )
        if self.estimator == "score" and seeds < 2:
            raise InputError("seeds", seeds, "2 or more with the score function: a run's baseline is the others' mean")
        return settings.seeds

    def runs(self, values: Values, seeds: np.ndarray, objective: Objective | None = None) -> Runs:
        """Runs at some values of the parameters.

        Args:
            values: by name, `[]` or `[K]`.
            seeds: the runs' numbers, int64 `[S]`; at least two for the score function.
            objective: the program's, with other numbers; default: as it was made.
        """
        placed = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.result_type(float)), objective or self.objective)
        parts = np.array_split(seeds, _blocks(len(seeds)))
        lanes = len(parts[0]) + -len(parts[0]) % LANES
        inherit = inherited()
        with ThreadPoolExecutor(min(workers(), len(parts))) as pool:
            made = list(pool.map(lambda part: inherit(self._block, values, part, lanes, placed), parts))
        value, measured, scores, slopes = (
            [np.concatenate(parts, axis=-1) for parts in zip(*group, strict=True)] for group in zip(*made, strict=True)
        )
        if scores:
            total, count = value[0].sum(axis=-1, keepdims=True), len(seeds)
            weight = value[0] - (total - value[0]) / (count - 1)  # leave one out
            explicit = slopes or [np.zeros(())] * len(scores)
            slopes = [score * weight + own for score, own in zip(scores, explicit, strict=True)]
        gradient = {
            one.name: np.moveaxis(slope.mean(axis=-2), -1, 0).reshape(-1, *one.start.shape)
            for one, slope in zip(self.tunables, slopes, strict=True)
        }
        names = self.objective.metrics()
        means = {name: values.mean(axis=0) for name, values in zip(names, measured, strict=True)}
        return Runs(value[0].mean(axis=0), means, gradient)

    def _block(self, values: Values, seeds: np.ndarray, lanes: int, placed: Objective) -> list[list[np.ndarray]]:
        """What `derivatives` gives for some runs, float64."""
        with PROGRAM(self._program):
            made = derivatives(*self.arguments(values, seeds, lanes, placed), **self.structure)
        return [[np.asarray(part, np.float64)[..., : len(seeds)] for part in group] for group in made]

    @property
    def structure(self) -> dict[str, Any]:
        """What `derivatives` is compiled for."""
        paths = tuple(one.path for one in self.tunables)
        return {"paths": paths, "rounds": self.horizon, "estimator": self.estimator, "asked": self._asked}

    def arguments(self, values: Values, seeds: np.ndarray, lanes: int, placed: Objective) -> tuple[Any, ...]:
        """The arrays that `derivatives` takes for some runs, repeated to fill the lanes."""
        padded = np.pad(seeds, (0, lanes - len(seeds)), mode="edge")
        k0, k1 = prng.run_keys(self.key, self._cells[:, None], padded[None])
        dtype, runs = jnp.result_type(float), (len(self._cells), lanes)
        columns = [np.reshape(values[one.name], (-1, 1, 1)) for one in self.tunables]
        theta = tuple(jnp.asarray(np.broadcast_to(column, (len(column), *runs)), dtype) for column in columns)
        soft = jnp.asarray(self.temperature, dtype), jnp.asarray(self.width, dtype)
        run_inputs = RunInputs(self._world, (jnp.asarray(k0), jnp.asarray(k1)), self._quotas, *soft)
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
    """The objective of each run and its derivatives, or those of the logarithm of its chance.

    Args:
        theta: the parameters that `paths` lead to, a copy for each run, `[K or 1, C, S]`: so the derivative of a sum
            over runs has every run's own.
        policy, course, truth, objective: on the device.
        rounds: T.
        asked: of `engine.SUMS`.

    Returns:
        The objective `[C, S]` (one); its metrics, likewise; the derivatives of the log chance of each run's choices,
        `[K or 1, C, S]` a parameter (none for the relaxed estimator); and those of the objective itself (none for the
        score function where the objective depends on the choices alone).
    """
    shape = (len(inputs.means), *theta[0].shape[1:])
    names = objective.metrics()

    def ends(theta: tuple[Array, ...]) -> tuple[tuple[Array, Array], list[Array]]:
        placed = with_values(policy, dict(zip(paths, theta, strict=True)))
        end = _RUNS[estimator](placed, run_inputs, shape, rounds, asked)
        known = dataclasses.replace(inputs, sums=end.sums)
        with jax.numpy_rank_promotion("allow"):  # metrics broadcast as NumPy does
            measured = {name: metrics.METRICS[name].compute(end.counts[None], known) for name in names}
            value = objective.value(end.counts[None], known, measured)[0]
        return (end.log_chance[0], value), [measured[name][0] for name in names]

    (_, value), back, measured = jax.vjp(ends, theta, has_aux=True)
    one, none = jnp.ones_like(value), jnp.zeros_like(value)
    scores = [] if estimator == "relaxed" else list(back((one, none))[0])
    direct = estimator == "relaxed" or rollout.CHANCES.intersection(asked)
    return [value], measured, scores, list(back((none, one))[0]) if direct else []


def _blocks(runs: int) -> int:
    """How many blocks runs are cut into."""
    return -(-runs // _BLOCK) if jax.default_backend() == "cpu" else 1


@suggest_keywords
def value_and_gradient(
    problem: Problem | Mapping[str, Any],
    policy: Any,
    parameters: Any,
    *,
    objective: Any = "penalized_regret",
    estimator: str = "relaxed",
    horizon: int,
    seeds: int = 256,
    temperature: float = 0.05,
    width: float = 0.5,
    key: Any = 0,
) -> Estimate:
    """An expected objective and its gradient in some of a policy's parameters.

    Args:
        problem: a `Problem`, or the keys of a config's `[problem]` table; instances share the parameters, and the
            objective is the mean over them.
        policy: a name, a table or a `Policy`, its parameters where the gradient is taken.
        parameters: names, as `["penalties"]`; `merit.scale` for one of the merit function; or a mapping from names to
            values, a number or K numbers. A parameter of which the policy holds one number an arm has K derivatives.
        objective: the name of a metric, "reward", "penalized_reward", a table as `{"kind": "budget", "most": 20.0}`,
            or an `Objective`.
        estimator: "relaxed" or "score"; the module says what each is unbiased for.
        horizon: T, rounds.
        seeds: runs of each instance.
        temperature: of the soft choice, in the unit of scores (for lfg, of queues).
        width: of the soft threshold of the relaxed policy, in rounds; where there is one, temperature * width is best
            kept above A / 32 (the module says why).
        key: the only source of randomness, as for `simulate`; run i meets the same rewards as there, whatever the
            parameters, the estimator and the policy.

    Raises:
        InputError: naming the argument; for a policy or parameter that cannot be tuned, those that can.
        FloatingPointError: the objective or its gradient is not a number.

    Example:
        >>> problem = jb.Problem([0.9, 0.5], fractions=0.2, penalties=0.3)
        >>> made = value_and_gradient(problem, "hard-threshold-ucb", ["penalties"], horizon=50, seeds=8)
        >>> made.gradient["penalties"].shape
        (2,)
    """
    program = Program(
        problem,
        policy,
        parameters,
        objective,
        estimator,
        horizon=horizon,
        temperature=temperature,
        width=width,
        key=key,
    )
    seeds = program.checked_seeds(seeds)
    values = {one.name: one.start for one in program.tunables}
    made = Estimate.of(program.runs(values, np.arange(seeds)))
    made.check(f"at {described(values)}")
    return made


def described(values: Values) -> str:
    """Values of parameters in words."""
    return ", ".join(f"{name} = {np.round(value, 6).tolist()}" for name, value in values.items())
