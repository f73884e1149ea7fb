"""`tune`: steps down (or up) the gradient, the policy itself simulated now and then, the best it did kept."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.core.errors import InputError, suggest_keywords
from jaxbandit.core.input_values import LARGEST, boolean, finite_numbers, whole_number
from jaxbandit.engine.host.progress_bar import Progress
from jaxbandit.engine.plan import make_plan
from jaxbandit.engine.settings import Configuration, SimulationSettings
from jaxbandit.engine.simulation import run
from jaxbandit.environment.problem import Problem
from jaxbandit.policies.base import Policy
from jaxbandit.tuning.gradients import Estimate, Program, described
from jaxbandit.tuning.objective import Budget, Objective
from jaxbandit.tuning.parameters import Values, tuned

if TYPE_CHECKING:
    import optax
    import xarray as xr


@dataclass(frozen=True)
class Step:
    """One step: the parameters, and what was estimated there before they moved.

    Attributes:
        values: of the parameters.
        estimate: the objective and its gradient.
        objective: with the price of the step, where it is a `Budget`.
        hard: the objective and its metrics for the policy itself, by name; None in steps where it was not simulated.
    """

    values: Values
    estimate: Estimate
    objective: Objective
    hard: dict[str, float] | None


@dataclass(frozen=True)
class Tuned:
    """What tuning gave.

    Attributes:
        policy: the policy with the parameters chosen, ready for `jb.simulate`.
        values: these parameters by name, float64 `[]` or `[K]`.
        step: the step they are from: where the policy itself, simulated, did best.
        trajectory: an `xarray.Dataset` over `step`: the parameters by name (with `arm` where they have one number an
            arm), `objective` and `objective_stderr` of the soft policy, `gradient_norm`, `price` and the metrics of a
            `Budget`, and `hard_objective`, with `hard_` metrics: those of the policy itself, NaN where it was not
            simulated.
        rounds: rounds simulated in all, those of the policy itself among them.
    """

    policy: Policy
    values: Values
    step: int
    trajectory: xr.Dataset
    rounds: int


@suggest_keywords
def tune(
    problem: Problem | Mapping[str, Any],
    policy: Any,
    parameters: Any,
    *,
    objective: Any = "penalized_regret",
    estimator: str = "relaxed",
    horizon: int,
    seeds: int = 256,
    steps: int = 200,
    temperature: float = 0.05,
    width: float = 0.5,
    optimizer: optax.GradientTransformation | None = None,
    learning_rate: float = 0.05,
    constraint: Any = "projection",
    common: bool | None = None,
    check: int = 10,
    key: Any = 0,
    progress: bool = False,
) -> Tuned:
    """Tune some of a policy's parameters by gradients.

    Every `check` steps, and at the end, the policy itself (hard choices, hard thresholds) is simulated on the same
    seeds, and the parameters of the best of these are the result. The price of a `Budget` follows the policy itself,
    too, so that it is the policy that meets the budget, whatever the soft one does.

    A call that is interrupted keeps nothing: the next one starts anew.

    Args:
        problem, policy, parameters, objective, estimator, horizon, seeds, temperature, width, key: as for
            `value_and_gradient`; the parameters start from what the policy holds, or the values given.
        steps: gradient steps.
        optimizer: of optax; default: Adam, its steps falling to 0 along a cosine.
        learning_rate: of that Adam at first: how far a parameter, or the x that stands for it, moves in a step.
        constraint: "projection": after each step parameters are clipped to their range (A >= 0); "reparametrisation":
            they are low + exp(x), or a logistic function of x where both ends are there, and x moves; or a mapping
            from names to these.
        common: whether every step draws the same numbers (then the objective is a fixed function of the parameters), or
            new ones. Default: the same for the relaxed estimator; new ones for the score function, whose noise would
            else not average out.
        check: simulate the policy itself every so many steps.
        progress: show a bar with rounds done, selections a second and time left.

    Raises:
        InputError: naming the argument.
        FloatingPointError: the objective or its gradient is not a number, with the step and the parameters there.

    Example:
        >>> problem = jb.Problem([0.9, 0.5], fractions=0.2, penalties=0.3)
        >>> made = tune(problem, "hard-threshold-ucb", ["penalties"], horizon=50, seeds=16, steps=3)
        >>> made.trajectory.sizes["step"]
        4
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
        constraint=constraint,
    )
    problem, horizon, seeds = program.problem, program.horizon, program.checked_seeds(seeds)
    steps, check = whole_number(steps, "steps"), whole_number(check, "check")
    shown = boolean(progress, "progress")
    common = None if common is None else boolean(common, "common")
    if finite_numbers(learning_rate, "learning_rate", "a number >= 0", 0.0).ndim:
        raise InputError("learning_rate", learning_rate, "a number >= 0")
    common = estimator == "relaxed" if common is None else common
    ascent = _Ascent(program, optimizer, learning_rate, steps)
    made: list[Step] = []
    checks = 1 + -(-steps // check)
    with Progress((steps + 1 + checks) * seeds * problem.instances * horizon, problem.plays, shown=shown) as bar:
        each = seeds * problem.instances * horizon
        for number in range(steps + 1):
            values, first = ascent.values(), 0 if common else number * seeds
            runs = program.runs(values, np.arange(first, first + seeds), ascent.objective)
            estimate = Estimate.of(runs)
            estimate.check(f"in step {number}, at {described(values)}")
            hard = None
            if number % check == 0 or number == steps:
                hard = _hard(program, values, seeds, ascent.objective)
                bar.add(each)
            made.append(Step(values, estimate, ascent.objective, hard))
            if number < steps:
                ascent.move(estimate, hard)
            bar.add(each)
    best = _best(program, made)
    return Tuned(
        tuned(program.policy, program.prepared, program.tunables, made[best].values),
        made[best].values,
        best,
        _trajectory(program, made),
        (steps + 1 + checks) * each,
    )


class _Ascent:
    """The parameters as they move, and the price of a budget."""

    def __init__(self, program: Program, optimizer: Any, learning_rate: float, steps: int):
        import optax  # late: `import jaxbandit` does without

        self._pace = "optimizer", optimizer
        if optimizer is None:
            self._pace = "learning_rate", learning_rate
            optimizer = optax.adam(optax.cosine_decay_schedule(learning_rate, steps))
        if not (callable(getattr(optimizer, "init", None)) and callable(getattr(optimizer, "update", None))):
            raise InputError("optimizer", optimizer, "an optimizer of optax, as optax.adam(0.05)")
        self._optax, self._optimizer, self._program = optax, optimizer, program
        self._free = {one.name: one.free(one.start) for one in program.tunables}
        self._state = optimizer.init(self._free)
        self._sign = -1.0 if program.objective.maximised else 1.0
        self.objective = program.objective
        self._spent: float | None = None

    def values(self) -> Values:
        return {one.name: one.value(self._free[one.name]) for one in self._program.tunables}

    def move(self, estimate: Estimate, hard: dict[str, float] | None) -> None:
        """One step of the parameters, and of the price where the policy itself was simulated."""
        tunables = self._program.tunables
        slopes = {
            one.name: self._sign * estimate.gradient[one.name] * one.slope(self._free[one.name]) for one in tunables
        }
        with jax.numpy_dtype_promotion("standard"):  # as optax expects it
            updates, self._state = self._optimizer.update(slopes, self._state, self._free)
            moved = self._optax.apply_updates(self._free, updates)
        moved = {name: np.asarray(value, np.float64) for name, value in moved.items()}
        self._free = {one.name: one.kept(moved[one.name]) for one in tunables}
        if not all(np.all(np.abs(value) <= LARGEST) for value in self.values().values()):  # NaN is not
            raise InputError(*self._pace, f"what makes smaller steps: one went to {described(self.values())}")
        if isinstance(self.objective, Budget) and hard is not None:
            spent = hard[self.objective.limited]
            self.objective = self.objective.repriced(spent, spent if self._spent is None else self._spent)
            self._spent = spent


def _hard(program: Program, values: Values, seeds: int, objective: Objective) -> dict[str, float]:
    """The objective and its metrics for the policy itself, means over runs and instances."""
    names = objective.metrics()
    policy = tuned(program.policy, program.prepared, program.tunables, values)
    settings = SimulationSettings(program.horizon, seeds, program.key, record=1, metrics=names)
    plan = make_plan(program.problem, [Configuration(policy.name, policy, policy.name)], settings)
    tally = run(plan).statistics[0]
    measured = {name: tally.finals[name][None] for name in names}
    counts = tally.pulls.transpose(2, 0, 1)[None].astype(np.float64)
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
        value = np.asarray(objective.value(jnp.asarray(counts), *jax.tree.map(jnp.asarray, (program.inputs, measured))))
    return {"objective": float(value.mean()), **{name: float(part.mean()) for name, part in measured.items()}}


def _best(program: Program, made: list[Step]) -> int:
    """The step where the policy itself did best: of a budget, the best that meets it, else the one nearest to it."""
    checked = [(number, step.hard) for number, step in enumerate(made) if step.hard is not None]
    objective = program.objective

    def rank(hard: dict[str, float]) -> tuple[float, float]:
        if isinstance(objective, Budget):
            return max(hard[objective.limited] - objective.most, 0.0), hard[objective.metric]
        return 0.0, -hard["objective"] if objective.maximised else hard["objective"]

    return min(checked, key=lambda one: rank(one[1]))[0]


def _trajectory(program: Program, made: list[Step]) -> xr.Dataset:
    import xarray as xr

    def column(pick: Any) -> tuple[str, np.ndarray]:
        return "step", np.array([pick(step) for step in made], np.float64)

    arms = np.arange(program.problem.arms)
    data: dict[str, Any] = {}
    for one in program.tunables:
        rows = np.stack([step.values[one.name] for step in made])
        data[one.name] = (("step", "arm")[: rows.ndim], rows)
    data["objective"] = (*column(lambda step: step.estimate.value), {"long_name": program.objective.label})
    data["objective_stderr"] = column(lambda step: step.estimate.value_stderr)
    data["gradient_norm"] = column(lambda step: step.estimate.norm)
    for name in program.objective.metrics():
        data[name] = column(lambda step, name=name: step.estimate.metrics[name])
        data[f"hard_{name}"] = column(lambda step, name=name: step.hard[name] if step.hard else math.nan)
    data["hard_objective"] = column(lambda step: step.hard["objective"] if step.hard else math.nan)
    if isinstance(program.objective, Budget):
        data["price"] = column(lambda step: step.objective.multiplier)
    return xr.Dataset(data, coords={"step": np.arange(len(made)), "arm": arms})
