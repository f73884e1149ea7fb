"""Families of policies, their ranking by a metric, and which of many policies figures and summaries show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jaxbandit.core.errors import InputError, unknown_name
from jaxbandit.experiments.statistics import check_all_seeds, larger_is_better, needed_keys, recorded_metrics

if TYPE_CHECKING:
    import xarray as xr

MOST_SHOWN = 24  # policies of a group that a figure or summary shows one by one; of a larger group it shows a few


class Representative(NamedTuple):
    """A policy that a figure shows.

    Attributes:
        name: its label; in a large group, the group's name.
        role: its place in a large group, as "best of 10,000"; else empty.
    """

    name: str
    role: str


def family_names(results: xr.Dataset) -> list[str]:
    """The families, in order."""
    return list(dict.fromkeys(results.family.values.tolist()))


def family_positions(results: xr.Dataset, family: str | None) -> np.ndarray:
    """The positions of a family's policies along `policy`; of all policies for None.

    Raises:
        InputError: no such family.
    """
    if family is None:
        return np.arange(results.sizes["policy"])
    if family not in family_names(results):
        raise unknown_label("family", family, family_names(results))
    return np.flatnonzero(results.family.values == family)


def unknown_label(key: str, label: object, labels: Iterable[str]) -> InputError:
    """The error for a label that is not one of `labels`; where these are many, it names some that are alike."""
    known = list(labels)
    if len(known) <= MOST_SHOWN:
        return unknown_name(key, label, known)
    alike = [name for name in known if str(label).lower() in name.lower()][:5] or known[:5]
    return InputError(key, label, f"one of {len(known):,} labels, such as {', '.join(map(repr, alike))}")


def ranked_positions(results: xr.Dataset, metric: str | None, positions: np.ndarray) -> np.ndarray:
    """The positions sorted from the best policy to the worst by a metric at T; as they are for None."""
    if metric is None:
        return positions
    check_all_seeds(results)
    scores = results[metric].isel(round=-1, policy=positions).mean("instance").values
    return positions[np.argsort(-scores if larger_is_better(results, metric) else scores, kind="stable")]


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
        order = ranked_positions(results, metric, positions)
        picked = order[[0, (len(order) - 1) // 2, -1]].tolist()
        for position, role in zip(picked, roles, strict=True):
            found.append((int(positions[0]), position, Representative(name, f"{role} of {len(order):,}")))
    found.sort(key=lambda shown: shown[0])
    return {position: shown for _, position, shown in found}
