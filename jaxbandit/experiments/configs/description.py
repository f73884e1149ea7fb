"""From Python to a config: arguments converted to Python's own types, and the config that gives the same runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
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
from jaxbandit.experiments.configs.grid import Table
from jaxbandit.experiments.configs.policy_tables import is_policy_table
from jaxbandit.policies.base import Alias, Policy

_PARTS_OF_PROBLEMS = (Reward, Delay, Merit, Opportunity)


@dataclass(frozen=True)
class GivenPolicy:
    """A policy or a grid of policies, as the user gave it.

    Attributes:
        given: a name, a policy or its class, or a table with its values in Python's types.
        configurations: the configurations that are simulated: one, or one per point of the grid.
    """

    given: str | Policy | type[Policy] | Table | Configuration
    configurations: list[Configuration]

    @property
    def is_labelled(self) -> bool:
        """Whether the label is as the user wrote it: a name, or the key `label` of a table."""
        in_table = isinstance(self.given, Mapping) and "label" in self.given
        return in_table or isinstance(self.given, str | Configuration)


def config_of(
    plan: Plan, problem: Problem | Mapping[str, object], policies: Sequence[GivenPolicy], grid: object
) -> Table:
    """The config of a simulation, complete: as a file it gives the same runs.

    Args:
        plan: what is simulated.
        problem: as it was given, a `Problem` or a table.
        policies: as they were given.
        grid: the table of the grid over the problem, or None.
    """
    settings = plan.settings
    simulation: Table = {name: getattr(settings, name) for name in ("horizon", "seeds", "key", "record")}
    simulation["metrics"] = [*plan.metrics, *plan.instance_numbers]
    if plan.runs:
        simulation["runs"] = plan.runs
    if settings.trace:
        simulation["trace"] = True
    if settings.pulls_mean is not None:
        simulation["pulls_mean"] = settings.pulls_mean
    if settings.ties != "lowest":
        simulation["ties"] = settings.ties
    if settings.p_mean is not None:
        simulation["p_mean"] = settings.p_mean
    if settings.gpu_kernel is not None:
        simulation["gpu_kernel"] = settings.gpu_kernel
    if settings.until is not None:
        simulation["until"] = settings.until
    if settings.first_seed:
        simulation["first_seed"] = settings.first_seed
    config: Table = {"simulation": simulation}
    config["problem"] = problem.as_table() if isinstance(problem, Problem) else to_toml(problem)
    if grid is not None:
        config["grid"] = to_toml(grid)
    config["policies"] = [_table_of(policy) for policy in policies]
    return config


def _table_of(policy: GivenPolicy) -> Table:
    """The table `[[policies]]` of a policy; that of a grid has its lists."""
    first = policy.configurations[0]
    if len(policy.configurations) == 1:
        return {"label": first.label, **policy_table(first.policy)}
    assert isinstance(policy.given, Mapping)  # nothing else makes a grid
    return {**to_toml(policy.given), "label": first.family}


def policy_table(policy: Policy) -> Table:
    """The table `[[policies]]` of a policy. Parameters of its index stand beside its own where no name occurs twice."""
    flat = policy.as_table()
    for name, part in policy.as_table().items():
        if isinstance(getattr(policy, name, None), Policy) and name in policy.parameters():
            beside = {key: held for key, held in part.items() if key != "kind"}
            if not set(beside) & set(policy.parameters()) and not any(isinstance(h, dict) for h in beside.values()):
                flat = {**beside, **flat, name: part["kind"]}
    return _with_rows(flat)


def _with_rows(table: Mapping[str, Any]) -> Table:
    """The table with each list in a list, as a bare list is a grid."""
    return {
        name: [held] if isinstance(held, list) else _with_rows(held) if is_policy_table(held) else held
        for name, held in table.items()
    }


def in_python_types(value: Any, key: str, exact: Collection[str] = ("fractions",)) -> Any:
    """A value in Python's types, as a config holds it. This value is both simulated and recorded.

    Components and classes stay as they are, except policies that a config can name.

    Args:
        value: what the user gave.
        key: its dotted key, for errors.
        exact: the keys whose numbers are taken exactly as they were written.
    """
    if isinstance(value, Mapping):
        inner = _exact_keys(value) or exact
        return {name: in_python_types(part, f"{key}.{name}", inner) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [in_python_types(part, key, exact) for part in value]
    cls = value if isinstance(value, type) else type(value)
    if issubclass(cls, Policy) and Policy.registry.get(cls.name) is cls:
        return _with_rows(value.as_table()) if isinstance(value, Policy) else to_toml(value)
    if isinstance(value, str | Component) or value is None:
        return value
    if key.rpartition(".")[2] in exact:
        return shortest_decimals(value, key)
    held = to_python(value)
    return float(held) if isinstance(held, Fraction | Decimal) else held


def policy_in_python_types(given: Mapping[str, object]) -> Table:
    """The table of a policy in Python's types. Each array, tuple, range and series is a list, which makes a grid."""
    read: Table = in_python_types(given, "policies", exact=())
    return read


def _exact_keys(table: Mapping[str, object]) -> set[str]:
    """The keys of a component's table whose numbers are taken exactly; none for another table."""
    if set(table) == {"scale", "horizon_power"}:
        return set(table)
    kind = table.get("kind")
    named = [family.registry.get(kind) for family in (Policy, *_PARTS_OF_PROBLEMS)] if isinstance(kind, str) else [kind]
    named = [made.policy if isinstance(made, Alias) else made for made in named]
    classes = [made for made in named if isinstance(made, type) and issubclass(made, Component)]
    return {name for made in classes for name, field in made.parameters().items() if field.metadata.get("exact")}
