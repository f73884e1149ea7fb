"""`tune`: a sweep of common values, a search along linear models of the goal, and a selection on fresh runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

from jaxbandit.core.errors import InputError, interruption_told, suggest_keywords, warn
from jaxbandit.core.input_values import boolean, finite_numbers, whole_number
from jaxbandit.engine.host.checkpoint import checkpoint_folder, forget, kept_in_words
from jaxbandit.engine.settings import SimulationSettings
from jaxbandit.environment.problem import Problem, problem_of
from jaxbandit.policies.base import Policy
from jaxbandit.policies.make_policy import policy as policy_of
from jaxbandit.tuning.estimators.gradient_program import softness_of
from jaxbandit.tuning.goal import Goal, make_goal
from jaxbandit.tuning.objective import Objective
from jaxbandit.tuning.parameters import Tunable, check_estimator, check_start, make_tunables, with_starts
from jaxbandit.tuning.search.steps import default_optimizer
from jaxbandit.tuning.tuned import Tuned
from jaxbandit.tuning.tuning_run import TuningRun

if TYPE_CHECKING:
    import optax


@suggest_keywords
def tune(
    problem: Problem | Mapping[str, object],
    policy: str | Mapping[str, object] | type[Policy] | Policy,
    parameters: Sequence[str] | Mapping[str, ArrayLike],
    *,
    objective: str | Mapping[str, object] | Objective | Goal = "penalized_regret",
    estimator: str = "perturbation",
    horizon: int,
    seeds: int = 1024,
    steps: int = 30,
    final_seeds: int = 8192,
    temperature: float | None = None,
    width: float | None = None,
    optimizer: optax.GradientTransformation | None = None,
    learning_rate: float = 0.2,
    key: Any = 0,
    keep: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Tuned:
    """Find the values of some of a policy's parameters with the best expected objective within given limits.

    All decisions rest on simulations of the policy itself. There are three parts:

    1. A sweep tries common values: all numbers of a parameter, such as the penalty rates of all arms, have one value.
    2. A search starts from the best common value, or from the start if that is better, and tries points at random
       around it. Then it takes steps. Each step simulates the policy at perturbed parameters, all with the same random
       numbers. The differences give the slopes of the objective and of the limited metrics. The step improves the
       objective along the limits that are reached, and moves back to limits that are exceeded. Where steps bring
       nothing more, it tries points at random once more.
    3. The start, the best common value and the best points of the search are simulated on fresh seeds. The result is
       the best of these points that meet every limit with confidence: the mean of the limited metric is within the
       limit by 1.96 standard errors, so that the upper end of its one-sided 97.5 % interval is. If no point does, the
       result is the one nearest to the limits. Where a common value, moved to the limits, is about as good (not
       significantly worse, or by less than 0.07 %), it is the result: arms have numbers of their own only where these
       are worth it.

    Python warnings say what the user should know, such as a limit that does not bind.

    Args:
        problem: a `Problem`, or a table (dict) with the keys of a config's `[problem]`. All instances have the same
            parameters, so that they are tuned on a distribution of problems.
        policy: a name, a table or a `Policy`.
        parameters: the names of the parameters, such as `["penalties"]` or, for a parameter of the merit function,
            `["merit.scale"]`: the start is the value of the policy or, if it has none, that of the problem. Or a
            mapping from names to starts, each a number or K numbers. A parameter with K numbers has one per arm. Up to
            about 100 numbers are practical. Whole numbers, such as a window, cannot be tuned: a grid compares them.
        objective: what is minimised or maximised, and the limits. One of

            - the name of a metric, "reward", "penalized_reward" or an `Objective`, without a limit;
            - `{"kind": "budget", "most": B}`: minimise the metric `metric` (default "regret") while the mean of the
              metric `limited` (default "unfairness") is at most B;
            - `{"minimize": {"regret": 1.0}, "subject_to": [{"metric": "unfairness", "at_most": B}], "over": "mean"}`:
              `minimize` has weights of metrics (a negative weight maximises), and each limit in `subject_to` has
              `at_most` or `at_least`. With `over` "mean" (the default) the objective and the limits are about means
              over the instances; with "worst" each is about the worst instance;
            - a `Goal`.
        estimator: where the slopes come from. "perturbation": from the policy itself, for every policy, parameter,
            delay and metric. "relaxed" and "score": from a soft policy, whose selections change gradually with the
            parameters (see `jaxbandit.tuning.estimators.gradients`); for the policies that `value_and_gradient`
            accepts, and for `over="mean"` only. With "relaxed", the cost of a step does not grow with the number of
            parameters, but its slopes differ somewhat from those of the policy.
        horizon: T, the number of rounds.
        seeds: runs per instance and point of the sweep and of the search, at least 2. A gradient of a soft policy takes
            a quarter of them.
        steps: the largest number of steps. The search ends earlier when three steps in a row bring no progress.
        final_seeds: fresh runs per instance and point, which select the result; at least 2. Up to four times as many
            are taken if the distance that confidence keeps from a limit costs much of the objective, or if the runs do
            not tell which of the last points is best.
        temperature, width: the softness of "relaxed" and "score", as in `value_and_gradient`.
        optimizer: an optimizer of optax. It moves the parameters on the scale of the search, on which 0 is the lower
            end of a parameter's range and 1 is its best common value. Default: steps in proportion to the gradient
            divided by its largest recent norm.
        learning_rate: the length of the default optimizer's longest steps on this scale, > 0. Once the search has tried
            several lengths, it follows those that did best.
        key: the only source of randomness, an integer or a key of `jax.random`. Run i gets the same rewards as run i of
            `jb.simulate`, whatever the parameters and the policy are.
        keep: a folder for progress. Finished simulations are saved in its subfolder `unfinished`. After an
            interruption the same call resumes from these; gradients of soft policies are computed again. When the call
            has finished, it removes the subfolder.
        progress: show a progress bar with the rounds done, the selections per second and the time left.

    Returns:
        A `Tuned`: the tuned policy, its parameters, what they are compared with, and the trajectory. It prints as a
        table.

    Raises:
        InputError: an argument is invalid; the error names it. For a parameter that cannot be tuned, it lists those
            that can.
        FloatingPointError: the objective or a limited metric is not finite at all points of the sweep, or a gradient
            is not finite.
        WriteError: a file cannot be written to `keep`.

    Example:
        >>> problem = jb.Problem([0.9, 0.5], fractions=0.2, penalties=0.3)
        >>> tuned = jb.tuning.tune(problem, "hard-threshold-ucb", ["penalties"], horizon=50)
        >>> tuned.values["penalties"].shape
        (2,)
    """
    arguments = {name: value for name, value in locals().items() if name not in ("keep", "progress")}
    run, folder = make_run(**arguments), checkpoint_folder(keep)
    with interruption_told(lambda: kept_in_words(folder)):
        try:
            tuned = run.carry_out(folder, shown=boolean(progress, "progress"))
        except InputError as error:
            if error.key != "--out":
                raise
            raise error.with_key("keep") from None
    if folder is not None:
        forget(folder)
    for sentence in tuned.warnings:
        warn(sentence)
    return tuned


def make_run(
    problem: Problem | Mapping[str, object],
    policy: str | Mapping[str, object] | type[Policy] | Policy,
    parameters: Sequence[str] | Mapping[str, ArrayLike],
    objective: object,
    estimator: str,
    horizon: int,
    seeds: int,
    steps: int,
    final_seeds: int,
    temperature: float | None,
    width: float | None,
    optimizer: optax.GradientTransformation | None,
    learning_rate: float,
    key: object,
) -> TuningRun:
    """The tuning that the arguments of `tune` describe, checked."""
    settings = SimulationSettings(horizon, _at_least_two(seeds, "seeds"), key, record=1)
    settings.check()
    problem = problem_of(problem, settings.key)
    if problem.changing is not None:
        words = "constant means: tuning needs them; a grid of `jb.simulate` compares parameters where means change"
        raise InputError("problem.means", problem.as_table()["means"], words)
    given = with_starts(policy_of(policy), parameters, problem.arms)
    prepared = given.prepare(problem, settings.horizon)
    check_estimator(given, prepared, estimator, problem)
    tunables = make_tunables(prepared, parameters, estimator, problem.arms)
    check_start(given, prepared, tunables, problem, settings.horizon)
    goal = make_goal(objective, problem)
    _check_names(tunables, goal)
    run = TuningRun(
        problem=problem,
        policy=given,
        goal=goal,
        tunables=tunables,
        settings=settings,
        estimator=estimator,
        softness=softness_of(estimator, temperature, width),
        steps=whole_number(steps, "steps"),
        final_seeds=_at_least_two(final_seeds, "final_seeds"),
        optimizer=_checked_optimizer(optimizer, learning_rate, sum(tunable.start.size for tunable in tunables)),
    )
    run.check()
    return run


def _check_names(tunables: list[Tunable], goal: Goal) -> None:
    """Refuse a limited metric with the name of a parameter: both are variables of the trajectory."""
    names = {tunable.name for tunable in tunables}
    for limit in goal.limits:
        if limit.metric in names:
            words = "a metric without the name of a tuned parameter: both would be one variable of `trajectory`"
            raise InputError("objective.subject_to.metric", limit.metric, words)


def _at_least_two(seeds: object, key: str) -> int:
    """A number of runs from which standard errors can be computed."""
    return whole_number(seeds, key, 2)


def _checked_optimizer(optimizer: Any, learning_rate: Any, size: int) -> optax.GradientTransformation:
    """The optimizer that is given, or the default one; it is tried on a gradient of `size` numbers."""
    if optimizer is None:
        if finite_numbers(learning_rate, "learning_rate", "a number > 0", 0.0).ndim or learning_rate == 0:
            raise InputError("learning_rate", learning_rate, "a number > 0")
        return default_optimizer(float(learning_rate))
    if not (callable(getattr(optimizer, "init", None)) and callable(getattr(optimizer, "update", None))):
        raise InputError("optimizer", optimizer, "an optimizer of optax, such as optax.adam(0.05)")
    zeros = jnp.zeros(size)
    try:
        with jax.numpy_dtype_promotion("standard"):
            updates, _ = optimizer.update(zeros, optimizer.init(zeros), zeros)
    except TypeError as error:
        words = f"an optimizer of optax that needs the gradient and the parameters alone ({error})"
        raise InputError("optimizer", optimizer, words) from None
    if not jnp.all(jnp.isfinite(updates)):
        raise InputError("optimizer", optimizer, "an optimizer whose updates are finite")
    return optimizer
