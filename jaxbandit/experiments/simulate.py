"""`simulate`: simulations from Python, by the same engine as `jaxbandit run`."""

from __future__ import annotations

import dataclasses
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from jaxbandit.core.errors import InputError, interruption_told, suggest_keywords
from jaxbandit.core.input_values import boolean
from jaxbandit.engine import simulation
from jaxbandit.engine.host import garbage_collection
from jaxbandit.engine.host.checkpoint import checkpoint_folder, forget, kept_in_words
from jaxbandit.engine.plan import Plan, make_plan
from jaxbandit.engine.result import SimulationResult
from jaxbandit.engine.settings import Configuration, SimulationSettings
from jaxbandit.environment.problem import Problem, problem_table
from jaxbandit.experiments.configs import config as configs
from jaxbandit.experiments.configs.config import ProblemPoint
from jaxbandit.experiments.configs.description import (
    GivenPolicy,
    config_of,
    in_python_types,
    policy_in_python_types,
)
from jaxbandit.experiments.configs.grid import Table
from jaxbandit.experiments.configs.policy_tables import labels_by_difference
from jaxbandit.experiments.dataset import dataset
from jaxbandit.policies.base import Policy
from jaxbandit.policies.make_policy import policy

if TYPE_CHECKING:
    import xarray as xr

LOG = logging.getLogger("jaxbandit")
PolicyLike = str | Policy | type[Policy] | Mapping[str, object]


@suggest_keywords
def simulate(
    problem: Problem | Mapping[str, object],
    policies: PolicyLike | Sequence[PolicyLike] | Mapping[str, PolicyLike],
    *,
    horizon: int,
    seeds: int,
    key: Any = 0,  # an integer of Python, NumPy or JAX, or a key of `jax.random`
    record: int | str | Sequence[int] = 200,
    metrics: Sequence[str] | None = None,
    block: int | None = None,
    grid: Mapping[str, object] | None = None,
    until: str | None = None,
    first_seed: int = 0,
    runs: Sequence[str] = (),
    trace: bool = False,
    pulls_mean: bool | None = None,
    ties: str = "lowest",
    p_mean: float | None = None,
    gpu_kernel: bool | None = None,
    keep: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """Simulate policies on a problem.

    Args:
        problem: a `Problem`, or a table (dict) with the arguments of `Problem`, such as
            `{"means": [0.9, 0.5], "fractions": 0.1}`.
        policies: a name ("ucb1"), a `Policy` (`jb.policy("lfg", eta=10.0)`) or its class, or a table
            `{"kind": "lfg", "eta": 10.0}`; a list of these; or a mapping from labels to these. A list of values in a
            table makes a grid: `{"kind": "lfg", "eta": [1.0, 10.0]}` gives two policies. So does an array, a tuple or a
            range; one number per arm is a list in a list, as in `{"kind": "lfg", "eta": [[1.0, 5.0, 9.0]]}`. Policies
            of one name that differ are labelled by what differs, as in "lfg (eta=10)".
        horizon: T, rounds per run, from 1 to 2^24 (in float64 to 2^31 - 2).
        seeds: runs per policy and instance, from 1 to 2^23.
        key: the only source of randomness, an integer from 0 to 2^64 - 1 or one key of `jax.random`. Run i of instance
            j gets the same random numbers under every policy, whatever the number of runs, the block size or the
            device.
        record: the number of recorded rounds, which are log-spaced and include the last round; "all" for every round;
            or the rounds themselves, as a list, array, Series or range.
        metrics: names of `jb.metrics.METRICS`, or classes of `jb.Metric`; default: all metrics that the problem
            defines, your own among them.
        block: the number of runs that are simulated together; default: a number that suits the device. Results do not
            depend on it.
        grid: a grid over the problem: lists of values under keys of the problem, such as
            `{"problem": {"penalties": [0.1, 0.2]}}`. Every policy is simulated on every combination. Means of a
            `Problem` that were drawn are drawn at every point with the problem's own key.
        until: a stopping rule, such as "regret_stderr<0.5". After `seeds` runs per policy and instance, more seeds are
            added until the standard error of the metric's mean at T is below the number for every policy and every
            instance. "stderr<0.5" takes the first recorded metric. If the memory is full before, a warning says so.
        first_seed: the number of the first run, from 0. `seeds=100, first_seed=100` gives runs 100 to 199, which
            `jb.combine` joins with runs 0 to 99.
        runs: names of metrics whose curve is kept for every run, as `<metric>_runs`. They are recorded even if
            `metrics` lacks them.
        trace: keep every selection, its reward and its delay, as `arms`, `rewards` and `delays`. They take 12 bytes per
            selection (16 in float64).
        pulls_mean: keep the mean number of selections of each arm at the recorded rounds, `pulls_mean`; default: only
            if it takes at most 64 MiB together with its standard error.
        ties: where ties between equal arms go: "lowest", to the arm of lowest number, or "random", by an order of the
            arms that is drawn anew in each round of each run. With "lowest", a problem that lists its best arms first
            helps policies whose indices are often equal. Arms that are played in turn keep their order.
        p_mean: p, the exponent of the metric `p_mean_regret`; 0 is Nash regret. Needed by this metric alone.
        gpu_kernel: on an NVIDIA GPU of the generation Hopper or later, with JAX 0.11 or later, play many rounds in one
            kernel, in which each thread plays a run; 2 to 9 times as fast (measured on an H200). Default: yes, where
            the device, the policy and the problem allow it. With True, a warning says once why it has no effect. With
            False, XLA makes several kernels per round. At most 0.01 % of runs of 300 rounds differed between both.
        keep: a folder for progress. Finished blocks of runs are saved in its subfolder `unfinished`. After an
            interruption, the same call resumes from these blocks; when it has finished, it removes the subfolder. A
            call with other arguments, or with edited code of your classes, is refused.
        progress: show a progress bar with rounds done, selections per second and time left.

    Returns:
        An `xarray.Dataset`, as `jaxbandit run` writes it to `results.nc`. Its variables:

        - `pulls(policy, instance, seed, arm)`: the number of selections of each arm in rounds 1 to T, int32;
        - `<metric>(policy, instance, round)`: the mean of a metric over seeds; `<metric>_stderr`: its standard error;
        - `<metric>_final(policy, instance, seed)`: the metric of each run at T;
        - `<metric>_runs(policy, instance, seed, round)`, for the metrics in `runs`: the metric of each run;
        - `pulls_mean(policy, instance, arm, round)`: the mean over seeds of the number of selections of each arm;
          `pulls_mean_stderr`: its standard error;
        - `arms`, `rewards` and `delays` `(policy, instance, seed, t, play)`, with `trace`: the arms selected in round
          t, their rewards and the delays of these in rounds; -1, NaN and -1 where fewer than L arms were available;
          delay -1 also for a reward that never arrives;
        - `max_deficit_ever(policy, instance, seed)`, if `max_deficit` is a metric: its maximum over rounds 1 to T;
        - `phase_rounds(policy, instance, seed, phase)`, if policies have phases: the number of rounds in each phase, -1
          for a phase that the policy does not have;
        - `means`, and `fractions`, `penalties`, `opportunities` if the problem has them, `(instance, arm)`, or
          `(policy, instance, arm)` if a grid varies them. Where means change, `means` are averages, and
          `means_of_round` has them in the recorded rounds.

        The coordinate `policy` holds the labels, and `round` the recorded rounds. Each parameter that a grid varies is
        a coordinate along `policy`, named by its config key, such as `policies.eta`. The attribute `config` is a config
        in TOML that gives the same runs.

    Raises:
        InputError: an argument is invalid; the error names it, its value and the rule.
        ReturnedError: a method of one of your classes returned a value that cannot be used. It is an `InputError`.
        WriteError: a file cannot be written to `keep`; the files that were there before are unchanged.
        KeyboardInterrupt: the call was interrupted; the message says what is kept.
        FloatingPointError: an index is not a number, a metric or a sum of rewards is not finite, or a metric is too
            large for an exact mean. The error names the policy, the metric or the arm, and the round; for an index a
            round until which it happened (`jb.check_policy` finds the round and the cause).

    Example:
        >>> results = jb.simulate(jb.Problem(means=[0.9, 0.5]), "ucb1", horizon=100, seeds=8)
        >>> int(results.pulls.sum("arm").max())
        100
    """
    show = boolean(progress, "progress")
    recorded = {"record": record, "metrics": metrics, "runs": runs, "trace": trace, "pulls_mean": pulls_mean}
    settings = SimulationSettings(
        horizon,
        seeds,
        key,
        block=block,
        until=until,
        ties=ties,
        p_mean=p_mean,
        gpu_kernel=gpu_kernel,
        first_seed=first_seed,
        **recorded,  # type: ignore[arg-type]
    )
    settings.check()
    folder = checkpoint_folder(keep)
    with garbage_collection.paused():
        plan, config = plan_and_config(problem, policies, settings, grid)
    with interruption_told(lambda: kept_in_words(folder)):
        result = _run(plan, show, folder, tomli_w.dumps(config))
    if result.short is not None:
        LOG.warning("%s", result.short)
    results = dataset(plan, result, config)
    if folder is not None:
        forget(folder)
    return results


def plan_and_config(
    problem: object, policies: object, settings: SimulationSettings, grid: object = None
) -> tuple[Plan, Table]:
    """The checked plan of a simulation and the config that describes it. Arguments and errors are as in `simulate`."""
    problem, grid, points = _problem_points(problem, grid, settings.key)
    given = _given_policies(policies, settings.horizon)
    configurations = configs.check_labels([made for one in given for made in one.configurations])
    plan = make_plan(points[0].problem, configs.on_every_problem(configurations, points), settings)
    return plan, config_of(plan, problem, given, grid)


def _problem_points(
    problem: object, grid: object, key: int
) -> tuple[Problem | Mapping[str, object], object, list[ProblemPoint]]:
    """The problem and the grid over it in Python's types, and the problems of the grid's points."""
    if isinstance(problem, Problem):
        if grid is None:
            return problem, None, [ProblemPoint({}, problem)]
        problem = problem.as_given_table()
    table, axes = in_python_types(problem_table(problem), "problem"), in_python_types(grid, "grid")
    return table, axes, configs.problem_points(table, axes, key)


def _given_policies(policies: object, horizon: int) -> list[GivenPolicy]:
    """The policies that `simulate` was given, each with the configurations that are simulated of it."""
    if isinstance(policies, str | Policy | type) or (isinstance(policies, Mapping) and "kind" in policies):
        policies = [policies]
    if isinstance(policies, Mapping) and policies:
        return [_relabelled(_given_policy(one, horizon), str(label)) for label, one in policies.items()]
    if isinstance(policies, Mapping) or not isinstance(policies, Sequence) or not policies:
        raise InputError("policies", policies, "a policy, a list of at least one, or a mapping from labels to policies")
    made: list[GivenPolicy] = []
    taken: set[str] = set()
    for one in _labelled_by_difference([_given_policy(one, horizon) for one in policies]):
        new = _with_free_labels(one, taken)
        taken.update(configuration.label for configuration in new.configurations)
        made.append(new)
    return made


def _given_policy(given: Any, horizon: int) -> GivenPolicy:
    """One policy, or the policies of a table with lists."""
    if isinstance(given, Configuration):
        return GivenPolicy(given, [given])
    if isinstance(given, Mapping):
        table = policy_in_python_types(given)
        return GivenPolicy(table, configs.policy_configurations([table], horizon))
    made = policy(given)
    label = given if isinstance(given, str) else made.name
    return GivenPolicy(given, [Configuration(label, made, label)])


def _labelled_by_difference(given: list[GivenPolicy]) -> list[GivenPolicy]:
    """Policies whose labels would be equal get labels that show what differs, unless the user wrote the label."""
    same: dict[str, list[int]] = {}
    for number, one in enumerate(given):
        if not one.configurations[0].point:
            same.setdefault(one.configurations[0].label, []).append(number)
    made = list(given)
    for label, numbers in same.items():
        policies = [given[number].configurations[0].policy for number in numbers]
        new = labels_by_difference(label, policies) if len(numbers) > 1 else []
        for number, own in zip(numbers, new, strict=False):
            if not given[number].is_labelled:
                made[number] = _relabelled(given[number], own)
    return made


def _with_free_labels(one: GivenPolicy, taken: set[str]) -> GivenPolicy:
    """The policy with labels that are not taken yet: a second ucb1 is "ucb1 #2"."""
    made, number = one, 1
    while not taken.isdisjoint(configuration.label for configuration in made.configurations):
        number += 1
        made = _relabelled(one, f"{one.configurations[0].family} #{number}")
    return made


def _relabelled(one: GivenPolicy, label: str) -> GivenPolicy:
    """The policy with another label. In a grid, each label still ends with its point."""
    configurations = [
        dataclasses.replace(
            configuration, label=label + configuration.label.removeprefix(configuration.family), family=label
        )
        for configuration in one.configurations
    ]
    return GivenPolicy(one.given, configurations)


def _run(plan: Plan, show: bool, folder: Path | None, config: str) -> SimulationResult:
    """Carry out the plan. Errors about the folder name the argument `keep`."""
    if folder is None:
        return simulation.run(plan, show)
    try:
        return simulation.run(plan, show, folder, {"config": config})
    except InputError as error:
        if error.key != "--out":
            raise
        raise error.with_key("keep") from None
