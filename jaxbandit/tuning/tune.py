"""`tune`: gradient steps of a soft policy, with simulations of the policy itself to select the best parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.core.errors import InputError, suggest_keywords
from jaxbandit.core.input_values import LARGEST, boolean, finite_numbers, whole_number
from jaxbandit.engine.host.progress_bar import Progress
from jaxbandit.engine.plan import make_plan
from jaxbandit.engine.settings import Configuration, SimulationSettings
from jaxbandit.engine.simulation import run
from jaxbandit.environment.problem import Problem
from jaxbandit.policies.base import Policy
from jaxbandit.tuning.gradient_program import GradientProgram
from jaxbandit.tuning.gradients import Estimate, in_words
from jaxbandit.tuning.objective import Budget, Objective
from jaxbandit.tuning.parameters import Values, tuned_policy

if TYPE_CHECKING:
    import optax
    import xarray as xr


@dataclass(frozen=True)
class TuningStep:
    """One step: the parameters before they are moved, and the estimates at them.

    Attributes:
        values: the parameters.
        estimate: the objective of the soft policy and its gradient.
        objective: the objective; a `Budget` has the multiplier of this step.
        hard: the objective and its metrics for the policy itself, by name; None in steps without a check.
    """

    values: Values
    estimate: Estimate
    objective: Objective
    hard: dict[str, float] | None


@dataclass(frozen=True, repr=False)
class Tuned:
    """The result of tuning.

    Attributes:
        policy: the policy with the tuned parameters, ready for `jb.simulate`.
        values: the tuned parameters by name, float64 `[]` or `[K]`.
        step: the number of the step whose parameters these are: of the steps in which the policy itself was simulated,
            the one in which it did best. 0 means that no step improved on the start.
        trajectory: an `xarray.Dataset` with the dimension `step`, and `arm` for parameters with one number per arm. Its
            variables are the parameters by name; `objective`, `objective_stderr`, `gradient_norm` and the metrics of
            the objective for the soft policy; `hard_objective` and `hard_<metric>` for the policy itself, NaN in steps
            in which it was not simulated; and the `multiplier` of a `Budget`.
        rounds: the number of simulated rounds over all runs, simulations of the policy itself included.

    Example:
        >>> problem = jb.Problem([0.9, 0.5], fractions=0.2, penalties=0.3)
        >>> tuned = jb.tuning.tune(problem, "hard-threshold-ucb", ["penalties"], horizon=50, seeds=8, steps=2)
        >>> print(str(tuned).partition(" =")[0])
        Tuned(hard-threshold-ucb: penalties
    """

    policy: Policy
    values: Values
    step: int
    trajectory: xr.Dataset
    rounds: int

    def __repr__(self) -> str:
        path = self.trajectory
        shown = {"objective": path.objective.attrs.get("long_name", "objective").partition(" (")[0]}
        if "multiplier" in path:  # the objective of a budget changes with its multiplier, so the metrics are shown
            names = [str(name) for name in path if str(name).startswith("hard_") and name != "hard_objective"]
            shown = {name.removeprefix("hard_"): name.removeprefix("hard_").replace("_", " ") for name in names}
        results = []
        for name, words in shown.items():
            before, after = (float(path[f"hard_{name}"][step]) for step in (0, self.step))
            results.append(f"{words} {before:.6g} before, {after:.6g} after")
        steps = f"step {self.step} of {len(path.step) - 1}"
        return f"Tuned({self.policy.name}: {in_words(self.values)}; {steps}; {'; '.join(results)})"


@suggest_keywords
def tune(
    problem: Problem | Mapping[str, object],
    policy: str | Mapping[str, object] | type[Policy] | Policy,
    parameters: Sequence[str] | Mapping[str, ArrayLike],
    *,
    objective: str | Mapping[str, object] | Objective = "penalized_regret",
    estimator: str = "relaxed",
    horizon: int,
    seeds: int = 256,
    steps: int = 200,
    temperature: float = 0.05,
    width: float = 0.5,
    optimizer: optax.GradientTransformation | None = None,
    learning_rate: float = 0.05,
    constraint: str | Mapping[str, str] = "projection",
    common: bool | None = None,
    check: int = 10,
    key: Any = 0,
    progress: bool = False,
) -> Tuned:
    """Tune some of a policy's parameters by gradients of an expected objective.

    A policy that selects the arms of highest score has no useful gradient. The gradients are therefore those of a soft
    policy: a version of the policy whose selections change gradually with its parameters. The soft policy only directs
    the steps. Every `check` steps, and after the last step, the policy itself is simulated on the same seeds. The
    result is the set of parameters with which the policy itself did best in these simulations.

    The objective `{"kind": "budget", "most": B}`, or a `Budget`, minimises one metric (key `metric`), by default
    regret, while the mean of another (the limited metric, key `limited`), by default unfairness, is to be at most B. It
    minimises metric + multiplier * (limited metric - B). After each simulation of the policy itself, the multiplier
    rises with the excess over the budget and with the increase since the last check; negative values lower it, but not
    below 0.
    The result is the best set of parameters with which the policy itself meets the budget or, if there is none, the
    set that exceeds the budget least.

    An interrupted call leaves no results.

    Args:
        problem: a `Problem`, or a table (dict) with the keys of a config's `[problem]`. All instances have the same
            parameters; the objective is the mean over instances.
        policy: a name, a table or a `Policy`.
        parameters: the names of the parameters, such as `["penalties"]` or, for a parameter of the merit function,
            `["merit.scale"]`: the steps start from the values of the policy, or, if it has none, from those of the
            problem. Or a mapping from names to starting values, each a number or K numbers.
        objective: the name of a metric, "reward", "penalized_reward", a table such as
            `{"kind": "budget", "most": 20.0}`, or an `Objective`.
        estimator: the soft policy and its gradient. "relaxed": each arm gets a share of each round; for policies that
            accept counts that are not integers, and problems without delay. "score": arms are drawn at random; for any
            delay, with more noise. The documentation of `jaxbandit.tuning.gradients` has the details.
        horizon: T, the number of rounds.
        seeds: runs per instance; at least 2 for "score".
        temperature: the softness of the choice between arms, in the unit of the scores (for `lfg`: of the queues), at
            least 1e-6. The smaller it is, the closer the soft policy is to the policy itself, and the noisier the
            gradient.
        width: the softness of thresholds, in rounds, at least 1e-6; for "relaxed" only. For a policy with a threshold,
            temperature * width should be above A / 32 for the largest penalty rate A, else the gradient can explode.
        steps: the number of gradient steps.
        optimizer: an optimizer of optax; default: Adam with a learning rate that falls to 0 along a cosine.
        learning_rate: the learning rate of the default optimizer in the first step, >= 0. It is about how far a
            parameter (with "reparametrisation": its x) moves per step.
        constraint: how parameters stay in their range, such as A >= 0. "projection": they are clipped to it after each
            step. "reparametrisation": a parameter is low + exp(x), or a logistic function of x if its range has two
            ends, and steps move x. Or a mapping from names to these.
        common: whether all steps use the same random numbers, which makes the objective a fixed function of the
            parameters. Default: True for "relaxed"; False for "score", whose noise then averages out over the steps.
        check: the number of steps from one simulation of the policy itself to the next.
        key: the only source of randomness, an integer or a key of `jax.random`. Run i gets the same rewards as run i of
            `jb.simulate`, whatever the parameters, the estimator and the policy are.
        progress: show a progress bar with the rounds done, the selections per second and the time left.

    Returns:
        A `Tuned`: the tuned policy, its parameters and the trajectory of the steps.

    Raises:
        InputError: an argument is invalid; the error names it. For a policy or a parameter that cannot be tuned, it
            lists those that can.
        FloatingPointError: the objective or its gradient is not finite; the error names the step and the parameters.

    Example:
        >>> problem = jb.Problem([0.9, 0.5], fractions=0.2, penalties=0.3)
        >>> tuned = jb.tuning.tune(problem, "hard-threshold-ucb", ["penalties"], horizon=50, seeds=8, steps=2)
        >>> tuned.trajectory.sizes["step"]
        3
    """
    program = GradientProgram(
        problem,
        policy,
        parameters,
        objective,
        estimator,
        horizon=horizon,
        temperature=temperature,
        width=width,
        key=key,
        constraint=constraint,
    )
    seeds = program.checked_seeds(seeds)
    steps, check = whole_number(steps, "steps"), whole_number(check, "check")
    shown = boolean(progress, "progress")
    common = estimator == "relaxed" if common is None else boolean(common, "common")
    if finite_numbers(learning_rate, "learning_rate", "a number >= 0", 0.0).ndim:
        raise InputError("learning_rate", learning_rate, "a number >= 0")
    made = _take_steps(
        program, _Optimisation(program, optimizer, learning_rate, steps), seeds, steps, check, common, shown
    )
    best = _best_step(program, made)
    return Tuned(
        tuned_policy(program.policy, program.prepared, program.tunables, made[best].values),
        made[best].values,
        best,
        _trajectory(program, made),
        _simulations(steps, check) * seeds * program.problem.instances * program.horizon,
    )


def _simulations(steps: int, check: int) -> int:
    """How often all runs are simulated: once per step, once at the end, and once per check."""
    return steps + 1 + 1 + -(-steps // check)


def _take_steps(
    program: GradientProgram,
    optimisation: _Optimisation,
    seeds: int,
    steps: int,
    check: int,
    common: bool,
    shown: bool,
) -> list[TuningStep]:
    made: list[TuningStep] = []
    each = seeds * program.problem.instances * program.horizon
    with Progress(_simulations(steps, check) * each, program.problem.plays, shown=shown) as bar:
        for number in range(steps + 1):
            values, first = optimisation.values(), 0 if common else number * seeds
            runs = program.runs(values, np.arange(first, first + seeds), optimisation.objective)
            estimate = Estimate.from_runs(runs)
            estimate.check(f"in step {number}, at {in_words(values)}")
            hard = None
            if number % check == 0 or number == steps:
                hard = _simulate_policy(program, values, seeds, optimisation.objective)
                bar.add(each)
            made.append(TuningStep(values, estimate, optimisation.objective, hard))
            if number < steps:
                optimisation.move(estimate, hard)
            bar.add(each)
    return made


class _Optimisation:
    """The parameters while they are moved, and the objective, which has the multiplier of a `Budget`."""

    def __init__(
        self,
        program: GradientProgram,
        optimizer: optax.GradientTransformation | None,
        learning_rate: float,
        steps: int,
    ):
        import optax  # late: `import jaxbandit` does not need it

        self._argument: tuple[str, object] = ("optimizer", optimizer)  # which decides how large steps are
        if optimizer is None:
            self._argument = "learning_rate", learning_rate
            optimizer = optax.adam(optax.cosine_decay_schedule(learning_rate, steps))
        if not (callable(getattr(optimizer, "init", None)) and callable(getattr(optimizer, "update", None))):
            raise InputError("optimizer", optimizer, "an optimizer of optax, such as optax.adam(0.05)")
        self._optax, self._optimizer, self._program = optax, optimizer, program
        self._free = {tunable.name: tunable.free_of(tunable.start) for tunable in program.tunables}
        self._state = optimizer.init(self._free)
        self._sign = -1.0 if program.objective.maximised else 1.0
        self.objective = program.objective
        self._limited: float | None = None  # the limited metric of a `Budget` at the last check

    def values(self) -> Values:
        """The parameters now."""
        return {tunable.name: tunable.value_of(self._free[tunable.name]) for tunable in self._program.tunables}

    def move(self, estimate: Estimate, hard: dict[str, float] | None) -> None:
        """One step of the parameters and, after a check, of the multiplier."""
        tunables = self._program.tunables
        slopes = {
            tunable.name: self._sign * estimate.gradient[tunable.name] * tunable.slope_of(self._free[tunable.name])
            for tunable in tunables
        }
        with jax.numpy_dtype_promotion("standard"):  # which optax expects
            updates, self._state = self._optimizer.update(slopes, self._state, self._free)
            moved = self._optax.apply_updates(self._free, updates)
        moved = {name: np.asarray(value, np.float64) for name, value in moved.items()}
        self._free = {tunable.name: tunable.project(moved[tunable.name]) for tunable in tunables}
        if not all(np.all(np.abs(value) <= LARGEST) for value in self.values().values()):  # False for NaN
            raise InputError(*self._argument, f"must make smaller steps: a step led to {in_words(self.values())}")
        if isinstance(self.objective, Budget) and hard is not None:
            limited = hard[self.objective.limited]
            before = limited if self._limited is None else self._limited
            self.objective = self.objective.with_updated_multiplier(limited, before)
            self._limited = limited


def _simulate_policy(program: GradientProgram, values: Values, seeds: int, objective: Objective) -> dict[str, float]:
    """The objective and its metrics for the policy itself, means over runs and instances."""
    names = objective.metrics()
    policy = tuned_policy(program.policy, program.prepared, program.tunables, values)
    settings = SimulationSettings(program.horizon, seeds, program.key, record=1, metrics=names, pulls_mean=False)
    plan = make_plan(program.problem, [Configuration(policy.name, policy, policy.name)], settings)
    statistics = run(plan).statistics[0]
    measured = {name: statistics.runs[f"final {name}"][None] for name in names}
    counts = statistics.pulls.transpose(2, 0, 1)[None].astype(np.float64)
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
        value = np.asarray(objective.value(jnp.asarray(counts), *jax.tree.map(jnp.asarray, (program.inputs, measured))))
    return {"objective": float(value.mean()), **{name: float(part.mean()) for name, part in measured.items()}}


def _best_step(program: GradientProgram, made: list[TuningStep]) -> int:
    """The checked step in which the policy itself did best; with a budget, the excess over it is compared first."""
    checked = [(number, step.hard) for number, step in enumerate(made) if step.hard is not None]
    objective = program.objective

    def rank(hard: dict[str, float]) -> tuple[float, float]:
        if isinstance(objective, Budget):
            return max(hard[objective.limited] - objective.most, 0.0), hard[objective.metric]
        return 0.0, -hard["objective"] if objective.maximised else hard["objective"]

    return min(checked, key=lambda step: rank(step[1]))[0]


def _trajectory(program: GradientProgram, made: list[TuningStep]) -> xr.Dataset:
    import xarray as xr

    def column(pick: Callable[[TuningStep], float]) -> tuple[str, np.ndarray]:
        return "step", np.array([pick(step) for step in made], np.float64)

    data: dict[str, Any] = {}  # as `xr.Dataset` takes it
    for tunable in program.tunables:
        rows = np.stack([step.values[tunable.name] for step in made])
        data[tunable.name] = (("step", "arm")[: rows.ndim], rows)
    data["objective"] = (*column(lambda step: step.estimate.value), {"long_name": program.objective.label})
    data["objective_stderr"] = column(lambda step: step.estimate.value_stderr)
    data["gradient_norm"] = column(lambda step: step.estimate.norm)
    for name in program.objective.metrics():
        data[name] = "step", np.array([step.estimate.metrics[name] for step in made], np.float64)
        data[f"hard_{name}"] = "step", np.array([step.hard[name] if step.hard else math.nan for step in made])
    data["hard_objective"] = column(lambda step: step.hard["objective"] if step.hard else math.nan)
    if any(isinstance(step.objective, Budget) for step in made):
        multipliers = [step.objective.multiplier for step in made if isinstance(step.objective, Budget)]
        data["multiplier"] = "step", np.array(multipliers, np.float64)
    return xr.Dataset(data, coords={"step": np.arange(len(made)), "arm": np.arange(program.problem.arms)})
