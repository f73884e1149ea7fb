"""Families of policies, their ranking by a metric, and which of many policies figures and summaries show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jaxbandit.experiments.grids.parameters import MOST_SHOWN, comparable_groups, problem_keys
from jaxbandit.experiments.statistics import check_all_seeds, larger_is_better, needed_keys, recorded_metrics

if TYPE_CHECKING:
    import xarray as xr


class Representative(NamedTuple):
    """A policy that a figure shows.

    Attributes:
        name: its label; in a large group, the group's name.
        role: its place in a large group, as "best of 10,000"; else empty.
    """

    name: str
    role: str


def ranked_positions(results: xr.Dataset, metric: str, positions: np.ndarray) -> np.ndarray:
    """The positions sorted from the best policy to the worst by a metric at T."""
    check_all_seeds(results)
    scores = results[metric].isel(round=-1, policy=positions).mean("instance").values
    order = np.argsort(-scores if larger_is_better(results, metric) else scores, kind="stable")
    ranked: np.ndarray = positions[order]
    return ranked


def ranked_within_problems(results: xr.Dataset, metric: str | None, positions: np.ndarray) -> np.ndarray:
    """The positions sorted from the best policy to the worst; as they are for no metric.

    Policies on different problems are ranked by their place among those on their own problem: the best of each problem
    come first.
    """
    if metric is None:
        return positions
    ranked, places = [], []
    for _, members in comparable_groups(results, positions, problem_keys(results, positions)):
        ranked.append(ranked_positions(results, metric, members))
        places.append(np.arange(len(members)) / len(members))
    together: np.ndarray = np.concatenate(ranked)[np.argsort(np.concatenate(places), kind="stable")]
    return together


def ranking_metric(results: xr.Dataset) -> str | None:
    """The metric that ranks policies by default: the first of those that need most of the problem; None without any.

    It is penalized regret where there are penalties, r-regret with fractions alone, utility with opportunities.
    """
    return max(recorded_metrics(results), key=needed_keys, default=None)


def policy_groups(results: xr.Dataset) -> dict[str, np.ndarray]:
    """The positions of each group's policies: a family of several policies, or the policies of one kind."""
    families = results.family.values.tolist()
    sizes = dict.fromkeys(families, 0)
    for family in families:
        sizes[family] += 1
    groups: dict[str, list[int]] = {}
    for position, (family, kind) in enumerate(zip(families, results.kind.values.tolist(), strict=True)):
        groups.setdefault(family if sizes[family] > 1 else kind, []).append(position)
    return {name: np.array(positions) for name, positions in groups.items()}


def representatives(results: xr.Dataset, metric: str | None, most: int = MOST_SHOWN) -> dict[int, Representative]:
    """The policies to show: all of a small group; the best, the median and the worst of a large one by a metric at T.

    Without a metric these are the first, the middle and the last.

    Args:
        most: the number of policies up to which a group is small.

    Returns:
        By position, in order; a group stands where its first policy does.
    """
    roles = ("first", "middle", "last") if metric is None else ("best", "median", "worst")
    labels = results.policy.values
    found: list[tuple[int, int, Representative]] = []  # the place in the order, the position, the policy
    for name, positions in policy_groups(results).items():
        if len(positions) <= most:
            for position in positions.tolist():
                found.append((position, position, Representative(str(labels[position]), "")))
            continue
        order = ranked_within_problems(results, metric, positions)
        picked = order[[0, (len(order) - 1) // 2, -1]].tolist()
        for position, role in zip(picked, roles, strict=True):
            found.append((int(positions[0]), position, Representative(name, f"{role} of {len(order):,}")))
    found.sort(key=lambda shown: shown[0])
    return {position: shown for _, position, shown in found}


def best_of_groups(results: xr.Dataset, metric: str, shown: Mapping[int, Representative]) -> dict[int, str]:
    """The best policy by a metric at T of each grid of at least three points on one problem, and of each large group.

    Returns:
        The name of the group, by position.
    """
    found = {}
    for name, positions in policy_groups(results).items():
        if len(positions) < 3 or problem_keys(results, positions):
            continue
        best = int(ranked_positions(results, metric, positions)[0])
        if shown[best].role or name in results.family.values:
            found[best] = name
    return found
