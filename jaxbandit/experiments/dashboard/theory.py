"""The theorems that bound the curves of results."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.environment.problem import Problem
from jaxbandit.experiments.configs.grid import expanded
from jaxbandit.experiments.configs.policy_tables import labels_of_policy, tables_of_policy
from jaxbandit.experiments.statistics import recorded_metrics
from jaxbandit.metrics.bounds.table import Bound, bounds_for
from jaxbandit.metrics.definitions import METRICS
from jaxbandit.policies.make_policy import policy

if TYPE_CHECKING:
    import xarray as xr


class Theorem(NamedTuple):
    """A bound on the curve of a policy.

    Attributes:
        position: the policy's position.
        metric: the bounded metric.
        name: paper and theorem.
        text: what the theorem says and assumes, in words.
        values: the bound in the recorded rounds, `[instance, round]`, in the metric's unit; not finite in rounds about
            which the theorem says nothing.
    """

    position: int
    metric: str
    name: str
    text: str
    values: np.ndarray


def theorems(results: xr.Dataset, positions: Sequence[int]) -> tuple[list[Theorem], str]:
    """The bounds on the recorded metrics of some policies; where there are none, also the reason in words."""
    try:
        config = tomllib.loads(results.attrs["config"])
        problems = _problems(config, [str(results.policy.values[position]) for position in positions])
    except (InputError, KeyError, TypeError, ValueError):
        return [], "There is no one config that gives these results, or its problem needs classes not defined here."
    rounds, horizon = results["round"].values, int(config["simulation"]["horizon"])
    instances = results.instance.values
    metrics = [name for name in recorded_metrics(results) if name in METRICS]
    found = []
    for position in positions:
        problem, table = problems.get(str(results.policy.values[position]), (None, {}))
        if problem is None or not np.isin(instances, np.arange(problem.instances)).all():
            continue
        for metric in metrics:
            for bound in _bounds(problem, table, metric):
                values = bound.value(problem, horizon, rounds).T[instances]
                found.append(Theorem(position, metric, bound.source, repr(bound).strip("<>"), values))
    return found, "" if found else "No theorem of the five papers applies to these policies on this problem."


def _bounds(problem: Problem, table: Mapping[str, Any], metric: str) -> list[Bound]:
    """The bounds on a metric of the policy of a table; none where its class or a parameter is not defined here."""
    try:
        return bounds_for(problem, policy(table), metric)
    except InputError:
        return []


def _problems(config: Mapping[str, Any], labels: Sequence[str]) -> dict[str, tuple[Problem, Mapping[str, Any]]]:
    """The problem that each of some policies was simulated on, and the table of the policy, by label."""
    points, tables = zip(*expanded(config["problem"], config.get("grid")), strict=True)
    wanted = set(labels)
    key = int(config["simulation"].get("key", 0))
    made: dict[int, Problem] = {}
    found: dict[str, tuple[Problem, Mapping[str, Any]]] = {}
    for given in config["policies"]:
        own = list(tables_of_policy(given))
        for number, label in enumerate(labels_of_policy(given, points)):
            if label in wanted:
                place, at = divmod(number, len(points))  # the points of the problem change fastest
                if at not in made:
                    made[at] = Problem.from_table(tables[at], key)
                found[label] = made[at], own[place]
    return found
