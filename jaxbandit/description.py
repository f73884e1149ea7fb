"""The config that describes a simulation made in Python: it gives the same runs, pull by pull."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from numbers import Number
from typing import Any

from .component import writable
from .delays import Delay
from .exact import written
from .merit import Merit
from .opportunity import Opportunity
from .plain import plain
from .policy import Policy
from .problem import Problem
from .rewards import Reward
from .setting import Entry
from .simulate import Simulation

Given = list[tuple[Any, list[Entry]]]  # what was given for each policy, or grid of them, and what is simulated of it


def described(simulation: Simulation, problem: Any, given: Given, grid: Any) -> dict[str, Any]:
    """The config of a simulation.

    Args:
        problem: as it was given, a `Problem` or a table.
        given: what was given for each policy, or grid of them, and what is simulated of it.
        grid: the table of the grid over the problem, or None.
    """
    setting = simulation.setting
    simulated: dict[str, Any] = {name: getattr(setting, name) for name in ("horizon", "seeds", "key", "record")}
    simulated["metrics"] = simulation.metrics
    if setting.until is not None:
        simulated["until"] = setting.until
    made: dict[str, Any] = {"simulation": simulated}
    made["problem"] = problem.as_table() if isinstance(problem, Problem) else _table(problem, _exact_names())
    if grid is not None:
        made["grid"] = _table(grid, _exact_names())
    made["policies"] = [_policy(value, entries) for value, entries in given]
    return made


def policy_table(policy: Policy) -> dict[str, Any]:
    """The table `[[policies]]` of a policy; its index's parameters stand beside its own where no two have one name."""
    flat = policy.as_table()
    for name, part in policy.as_table().items():
        if isinstance(getattr(policy, name, None), Policy) and name in policy.parameters():
            beside = {key: held for key, held in part.items() if key != "kind"}
            if not set(beside) & set(policy.parameters()) and not any(isinstance(h, dict) for h in beside.values()):
                flat = {**beside, **flat, name: part["kind"]}
    return {name: [held] if isinstance(held, list) else held for name, held in flat.items()}  # a bare list is a grid


def settled(value: Any, key: str = "") -> Any:
    """A table given in Python with Python's own numbers in it, which are what is simulated and what is recorded.

    Fractions become what a config holds for exactly them. Components and classes stay.
    """
    if isinstance(value, Mapping):
        return {name: settled(part, str(name)) for name, part in value.items()}
    if isinstance(value, list):
        return [settled(part, key) for part in value]
    if value is not None and key.rpartition(".")[2] == "fractions":
        return written(value, "problem.fractions")
    return plain(value)


def settled_policy(given: Mapping[str, Any]) -> dict[str, Any]:
    """`settled` for the table of a policy, in which a list is a grid and any other row of numbers one point of it."""
    read = {name: plain(part) for name, part in given.items()}
    return {
        name: tuple(part) if isinstance(part, list) and not isinstance(given[name], list) else part
        for name, part in read.items()
    }


def _policy(value: Any, entries: list[Entry]) -> dict[str, Any]:
    """The table of a policy; of a grid its lists."""
    if len(entries) == 1:
        return {"label": entries[0].label, **policy_table(entries[0].policy)}
    fields = {name: field for part in entries[0].policy.components() for name, field in part.parameters().items()}
    exact = {name for name, field in fields.items() if field.metadata.get("exact")}
    points = {name: [part] if isinstance(part, tuple) else part for name, part in value.items()}
    return {**_table(points, exact), "label": entries[0].family}


def _exact_names() -> set[str]:
    """The keys of a problem whose numbers are read exactly."""
    known = [made for family in (Reward, Delay, Merit, Opportunity) for made in family.registry.values()]
    return {name for made in known for name, field in made.parameters().items() if field.metadata.get("exact")}


def _table(value: Mapping[str, Any], exact: Collection[str]) -> dict[str, Any]:
    """What was given as TOML writes it; `exact` are the keys whose numbers are read exactly."""
    made: dict[str, Any] = {}
    for name, part in value.items():
        if part is not None:
            own = str(name).rpartition(".")[2]
            made[str(name)] = _written(part, exact, own in exact or set(value) == {"scale", "horizon_power"})
    return made


def _written(part: Any, exact: Collection[str], exactly: bool) -> Any:
    if isinstance(part, Mapping):
        return _table(part, exact)
    if isinstance(part, list | tuple):
        return [_written(one, exact, exactly) for one in part]
    return written(part, "") if exactly and isinstance(part, Number) else writable(part)
