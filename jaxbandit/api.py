"""`simulate`: the engine from Python, the same as `jaxbandit run`."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
import xarray as xr

from . import config as configs
from .component import Component
from .errors import InputError
from .policy import Policy, policy
from .problem import Problem
from .progress_folder import forget
from .results import dataset
from .setting import Entry, Setting
from .simulate import Simulation


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
        key: the only source of randomness, an integer in [0, 2^64) or a key of `jax.random`. Run i of instance j
            draws the same numbers whatever the batch, the block or the device, and under every policy.
        record: how many rounds are recorded, log-spaced and always with the last; "all" for every round; or a list
            of rounds.
        metrics: names of `jaxbandit.metrics.METRICS`; default: all that the problem defines.
        block: runs simulated together; default: what suits the device. Results do not depend on it.
        grid: lists of values for keys of the problem, which is then given as a table, as
            {"problem": {"penalties": [0.1, 0.2]}}: every policy is simulated on every combination, labelled and under
            coordinates of their names.
        until: "regret_stderr<0.5": runs are added until the standard error of a metric's mean at T is below that, in
            every configuration and instance.
        keep: a folder where what is done is kept block by block while this works; the same call goes on with it after
            an interruption, and removes it (its folder `unfinished`) when all is done. A policy of one's own whose
            class was edited is another; what its class calls is not looked at.
        progress: show a bar with rounds done, selections a second and time left.

    Returns:
        The dataset that `jaxbandit.results.dataset` describes.

    Raises:
        InputError: naming the argument, what it holds and what it may hold.
        WriteError: `keep` cannot be written to; what was there before still is.

    Example:
        >>> results = simulate(Problem(means=[0.9, 0.5]), "ucb1", horizon=100, seeds=8)
        >>> int(results.pulls.sum("arm").max())
        100
    """
    setting = Setting(horizon, seeds, key, record, metrics, block, until)
    setting.check()
    if isinstance(problem, Problem):
        if grid is not None:
            raise InputError("grid", grid, "nothing beside a Problem: give the problem as a table")
        worlds: list[tuple[dict[str, Any], Problem]] = [({}, problem)]
    else:
        worlds = configs.problems(problem, grid, key)
    given = _entries(policies, horizon)
    made = configs.crossed([entry for _, entries in given for entry in entries], worlds)
    simulation = Simulation(worlds[0][1], made, setting)
    config = _config(simulation, problem, given, grid)
    if keep is None:
        outcome = simulation.run(progress)
    else:
        try:
            outcome = simulation.run(progress, Path(keep), {"config": tomli_w.dumps(config)})
        except InputError as error:
            key = "keep" if error.key == "--out" else error.key
            raise InputError(key, error.held, error.allowed) from None
    if outcome.short is not None:
        warnings.warn(outcome.short, stacklevel=2)
    results = dataset(simulation, outcome, config)
    if keep is not None:
        forget(Path(keep))
    return results


def _entries(policies: Any, horizon: int) -> list[tuple[Any, list[Entry]]]:
    """What was given for each policy, or grid of them, and what is simulated of it."""
    if isinstance(policies, str | Policy | type) or (isinstance(policies, Mapping) and "kind" in policies):
        policies = [policies]
    if isinstance(policies, Mapping):
        every = [(value, str(label), _one(value, horizon)) for label, value in policies.items()]
        return [(value, [_relabelled(label, entry) for entry in entries]) for value, label, entries in every]
    if not isinstance(policies, Sequence) or not policies:
        raise InputError("policies", policies, "a policy, a list of them, or a mapping from labels to them")
    made: list[tuple[Any, list[Entry]]] = []
    taken: set[str] = set()
    for value in policies:
        entries = plain = _one(value, horizon)
        number = 1
        while not taken.isdisjoint(entry.label for entry in entries):  # a second ucb1 is "ucb1 #2"
            number += 1
            entries = [_relabelled(f"{entry.family} #{number}", entry) for entry in plain]
        taken.update(entry.label for entry in entries)
        made.append((value, entries))
    return made


def _relabelled(label: str, entry: Entry) -> Entry:
    grid = entry.label.removeprefix(entry.family)
    return dataclasses.replace(entry, label=label + grid, family=label)


def _one(value: Any, horizon: int) -> list[Entry]:
    if isinstance(value, Entry):
        return [value]
    if isinstance(value, Mapping):
        return configs.entries([value], horizon)
    made = policy(value)
    label = value if isinstance(value, str) else made.name
    return [Entry(label, made, label)]


def _config(simulation: Simulation, problem: Any, given: list[tuple[Any, list[Entry]]], grid: Any) -> dict[str, Any]:
    """The config that describes a simulation made in Python, as far as TOML can."""
    setting = simulation.setting
    simulated: dict[str, Any] = {"horizon": setting.horizon, "seeds": setting.seeds, "record": setting.record}
    simulated["key"] = setting.key if isinstance(setting.key, int) else str(setting.key)
    simulated["metrics"] = simulation.metrics
    if setting.until is not None:
        simulated["until"] = setting.until
    made: dict[str, Any] = {"simulation": simulated}
    made["problem"] = _problem(problem) if isinstance(problem, Problem) else _plain(problem)
    if grid is not None:
        made["grid"] = _plain(grid)
    made["policies"] = [_policy(value, entries) for value, entries in given]
    return made


def _problem(problem: Problem) -> dict[str, Any]:
    plain: dict[str, Any] = {"means": problem.means.T.tolist(), "plays": problem.plays}
    plain["reward"] = table(problem.reward)
    plain["delay"] = table(problem.delay)
    for name in ("availability", "fractions", "penalties"):
        values = getattr(problem, name)
        if values is not None:
            plain[name] = _rows(values)
    for name in ("merit", "opportunity"):
        if getattr(problem, name) is not None:
            plain[name] = table(getattr(problem, name))
    return plain


def _policy(value: Any, entries: list[Entry]) -> dict[str, Any]:
    """The table of a policy; of a grid its lists."""
    if len(entries) == 1:
        return {"label": entries[0].label, **table(entries[0].policy)}
    bases = {name: part for name, part in value.items() if isinstance(part, Policy)}
    beside = {key: held for part in bases.values() for key, held in table(part).items() if key != "kind"}
    names = {name: part.name for name, part in bases.items()}
    # A list is a grid: anything else that holds numbers is one point of it.
    rest = {name: [part] if isinstance(part, np.ndarray | tuple) else part for name, part in value.items()}
    return {**beside, **_plain({**rest, **names}), "label": entries[0].family}


def _plain(value: Any) -> Any:
    """What was given in Python, as TOML writes it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items() if part is not None}
    if isinstance(value, Component):
        return table(value)
    if isinstance(value, type):
        return value.__dict__.get("name", value.__name__)
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, str | bool | int | float):
        return value
    return float(value) if isinstance(value, Decimal | Fraction) else str(value)


def _rows(values: np.ndarray) -> Any:
    """Prepared numbers, `[]`, `[K or 1, J or 1]`, as a config writes them: a number, K numbers, or rows of them."""
    rows = values.astype(float).T.tolist() if values.dtype.kind != "i" else values.T.tolist()
    while isinstance(rows, list) and len(rows) == 1:
        rows = rows[0]
    return rows


def table(component: Component) -> dict[str, Any]:
    """The table of a config that describes a component."""
    made: dict[str, Any] = {"kind": component.name}
    for name in component.parameters():
        value = getattr(component, name)
        if isinstance(value, Component) and not isinstance(value, Policy):
            made[name] = table(value)
        elif isinstance(value, Component):  # an index's parameters stand beside the rule's
            inner = table(value)
            made = {**{k: v for k, v in inner.items() if k != "kind"}, **made, name: inner["kind"]}
        elif value is not None:
            plain = _rows(value) if isinstance(value, np.ndarray) else value
            # In a policy's table a list of numbers is a grid: one point of it is a list in a list.
            grid = isinstance(component, Policy) and not isinstance(plain, int | float)
            made[name] = [np.asarray(plain, float).tolist()] if grid else plain
    return made
