"""`simulate`: the engine from Python, the same as `jaxbandit run`."""

from __future__ import annotations

import dataclasses
import errno
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w
import xarray as xr

from jaxbandit.core.errors import InputError, suggest_keywords
from jaxbandit.core.input_values import boolean
from jaxbandit.engine.host.checkpoint import forget
from jaxbandit.engine.plan import make_plan
from jaxbandit.engine.settings import Configuration, SimulationSettings
from jaxbandit.engine.simulation import run
from jaxbandit.environment.problem import Problem, problem_table
from jaxbandit.experiments.configs import config as configs
from jaxbandit.experiments.configs.description import Given, described, settled, settled_policy
from jaxbandit.experiments.dataset import dataset
from jaxbandit.policies.base import Policy, policy


@suggest_keywords
def simulate(
    problem: Problem | Mapping[str, Any],
    policies: Any,
    *,
    horizon: int,
    seeds: int,
    key: Any = 0,
    record: int | str | list[int] = 200,
    metrics: list[str] | None = None,
    block: int | None = None,
    grid: Mapping[str, Any] | None = None,
    until: str | None = None,
    keep: str | Path | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """Simulate policies on a problem.

    Args:
        problem: a `Problem`, or the keys of a config's `[problem]` table.
        policies: a name, a `Policy`, a table `{"kind": ..., ...}`, a list of these, or a mapping from labels to them.
        horizon: T, rounds.
        seeds: runs of each policy and instance.
        key: the only source of randomness, an integer in [0, 2^64) or one key of `jax.random`. Run i of instance j
            draws the same numbers whatever the batch, the block or the device, and under every policy.
        record: how many rounds are recorded, log-spaced and always with the last; "all" for every round; or a list
            of rounds, an array, a Series or a range among them.
        metrics: names of `jaxbandit.metrics.METRICS`; default: all that the problem defines.
        block: runs simulated together; default: what suits the device. Results do not depend on it.
        grid: lists of values for keys of the problem, which is then given as a table, as
            {"problem": {"penalties": [0.1, 0.2]}}: every policy is simulated on every combination, labelled and under
            coordinates of their names.
        until: "regret_stderr<0.5": runs are added until the standard error of a metric's mean at T is below that, in
            every configuration and instance.
        keep: a folder where what is done is kept block by block while this works; the same call goes on with it after
            an interruption, and removes it (its folder `unfinished`) when all is done. Edited code of a class of one's
            own, its parents, helpers and constants included, makes another run, for which the folder is refused.
        progress: show a bar with rounds done, selections a second and time left.

    Returns:
        The dataset that `jaxbandit.results.dataset` describes.

    Raises:
        InputError: naming the argument, what it holds and what it may hold.
        WriteError: `keep` cannot be written to; what was there before still is.
        ReturnedError: an `InputError`; a method of one of your classes returned what cannot be used.
        FloatingPointError: an index is not a number, or a metric or a sum of rewards is not finite, or a metric is too
            large for an exact mean; the error names the policy, the round and the metric or the arm.

    Example:
        >>> results = simulate(Problem(means=[0.9, 0.5]), "ucb1", horizon=100, seeds=8)
        >>> int(results.pulls.sum("arm").max())
        100
    """
    shown = boolean(progress, "progress")
    settings = SimulationSettings(horizon, seeds, key, record, metrics, block, until)
    settings.check()
    folder = _folder(keep)
    if isinstance(problem, Problem):
        if grid is not None:
            raise InputError("grid", grid, "nothing beside a Problem: give the problem as a table")
        worlds: list[tuple[dict[str, Any], Problem]] = [({}, problem)]
    else:
        table, grid = settled(problem_table(problem), "problem"), settled(grid, "grid")
        problem, worlds = table, configs.problems(table, grid, settings.key)
    given = _configurations(policies, settings.horizon)
    made = configs.crossed(
        configs.distinct([configuration for _, configurations in given for configuration in configurations]), worlds
    )
    plan = make_plan(worlds[0][1], made, settings)
    config = described(plan, problem, given, grid)
    text = tomli_w.dumps(config)  # before the run: what fails here is known by now
    if folder is None:
        result = run(plan, shown)
    else:
        try:
            result = run(plan, shown, folder, {"config": text})
        except InputError as error:
            if error.key != "--out":
                raise
            raise error.with_key("keep") from None
    if result.short is not None:
        warnings.warn(result.short, stacklevel=3)
    results = dataset(plan, result, config)
    if folder is not None:
        forget(folder)
    return results


def _folder(keep: Any) -> Path | None:
    """The folder that `keep` names, if any.

    Raises:
        InputError: no name of a folder, or one that the system does not take.
    """
    if keep is None:
        return None
    if not isinstance(keep, str | os.PathLike):
        raise InputError("keep", keep, "the path of a folder")
    path = Path(keep)
    try:
        os.lstat(path)
    except ValueError as error:  # a NUL
        raise InputError("keep", keep, f"the path of a folder ({error})") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError("keep", keep, f"the path of a folder ({error.strerror})") from None
    return path


def _configurations(policies: Any, horizon: int) -> Given:
    """What was given for each policy, or grid of them, and what is simulated of it."""
    if isinstance(policies, str | Policy | type) or (isinstance(policies, Mapping) and "kind" in policies):
        policies = [policies]
    if isinstance(policies, Mapping) and policies:
        every = [(str(label), *_one(value, horizon)) for label, value in policies.items()]
        return [
            (value, [_relabelled(label, configuration) for configuration in configurations])
            for label, value, configurations in every
        ]
    if isinstance(policies, Mapping) or not isinstance(policies, Sequence) or not policies:
        raise InputError("policies", policies, "a policy, a list of one or more, or a mapping from labels to them")
    made: Given = []
    taken: set[str] = set()
    for one in policies:
        value, plain = _one(one, horizon)
        configurations = plain
        number = 1
        while not taken.isdisjoint(one.label for one in configurations):  # a second ucb1 is "ucb1 #2"
            number += 1
            configurations = [_relabelled(f"{one.family} #{number}", one) for one in plain]
        taken.update(configuration.label for configuration in configurations)
        made.append((value, configurations))
    return made


def _relabelled(label: str, configuration: Configuration) -> Configuration:
    grid = configuration.label.removeprefix(configuration.family)
    return dataclasses.replace(configuration, label=label + grid, family=label)


def _one(value: Any, horizon: int) -> tuple[Any, list[Configuration]]:
    """What was given for a policy, its numbers settled, and what is simulated of it."""
    if isinstance(value, Configuration):
        return value, [value]
    if isinstance(value, Mapping):
        value = settled_policy(value)
        return value, configs.configurations([value], horizon)
    made = policy(value)
    label = value if isinstance(value, str) else made.name
    return value, [Configuration(label, made, label)]
