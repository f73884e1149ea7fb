"""The config that describes a simulation made in Python: it gives the same runs, pull by pull."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from jaxbandit.core.component import Component, to_toml
from jaxbandit.core.input_values import to_python
from jaxbandit.core.rationals import shortest_decimals
from jaxbandit.engine.plan import Plan
from jaxbandit.engine.settings import Configuration
from jaxbandit.environment.delays import Delay
from jaxbandit.environment.merit import Merit
from jaxbandit.environment.opportunities import Opportunity
from jaxbandit.environment.problem import Problem
from jaxbandit.environment.rewards import Reward
from jaxbandit.policies.base import Alias, Policy

_OF_PROBLEMS = (Reward, Delay, Merit, Opportunity)

Given = list[
    tuple[Any, list[Configuration]]
]  # what was given for each policy, or grid of them, and what is simulated of it


def described(plan: Plan, problem: Any, given: Given, grid: Any) -> dict[str, Any]:
    """The config of a simulation.

    Args:
        problem: as it was given, a `Problem` or a table.
        given: what was given for each policy, or grid of them, and what is simulated of it.
        grid: the table of the grid over the problem, or None.
    """
    settings = plan.settings
    simulated: dict[str, Any] = {name: getattr(settings, name) for name in ("horizon", "seeds", "key", "record")}
    simulated["metrics"] = plan.metrics
    if settings.until is not None:
        simulated["until"] = settings.until
    made: dict[str, Any] = {"simulation": simulated}
    made["problem"] = problem.as_table() if isinstance(problem, Problem) else to_toml(problem)
    if grid is not None:
        made["grid"] = to_toml(grid)
    made["policies"] = [_policy(value, configurations) for value, configurations in given]
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


def settled(value: Any, key: str, exact: Collection[str] = ("fractions",)) -> Any:
    """What was given in Python, as a config holds it: this is what is simulated, and what is recorded.

    Components and classes stay as they are, but for the policies that a config can name.

    Args:
        key: the dotted key that it stands under, for errors.
        exact: the keys whose numbers count as they were written.
    """
    if isinstance(value, Mapping):
        below = _read_exactly(value) or exact
        return {name: settled(part, f"{key}.{name}", below) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [settled(part, key, exact) for part in value]
    kind = value if isinstance(value, type) else type(value)
    if issubclass(kind, Policy) and Policy.registry.get(kind.name) is kind:
        return to_toml(value)
    if isinstance(value, str | Component) or value is None:
        return value
    if key.rpartition(".")[2] in exact:
        return shortest_decimals(value, key)
    held = to_python(value)
    return float(held) if isinstance(held, Fraction | Decimal) else held


def settled_policy(given: Mapping[str, Any]) -> dict[str, Any]:
    """`settled` for the table of a policy, in which a list is a grid and any other row of numbers one point of it."""
    read: dict[str, Any] = settled(given, "policies", exact=())
    return {
        name: tuple(part) if isinstance(part, list) and not isinstance(given[name], list) else part
        for name, part in read.items()
    }


def _read_exactly(table: Mapping[str, Any]) -> set[str]:
    """The keys of a table whose numbers count as they were written; none where it is not a table that tells."""
    if set(table) == {"scale", "horizon_power"}:
        return set(table)
    kind = table.get("kind")
    named = [family.registry.get(kind) for family in (Policy, *_OF_PROBLEMS)] if isinstance(kind, str) else [kind]
    named = [made.policy if isinstance(made, Alias) else made for made in named]
    classes = [made for made in named if isinstance(made, type) and issubclass(made, Component)]
    return {name for made in classes for name, field in made.parameters().items() if field.metadata.get("exact")}


def _policy(value: Any, configurations: list[Configuration]) -> dict[str, Any]:
    """The table of a policy; of a grid its lists."""
    if len(configurations) == 1:
        return {"label": configurations[0].label, **policy_table(configurations[0].policy)}
    points = {name: [part] if isinstance(part, tuple) else part for name, part in value.items()}
    return {**to_toml(points), "label": configurations[0].family}
