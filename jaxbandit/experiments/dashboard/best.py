"""Which policies the page marks as the best ones, and whose curves it shows at first."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from jaxbandit.experiments.grids.confidence_sets import confidence_set
from jaxbandit.experiments.grids.parameters import MOST_SHOWN, comparable_groups, problem_keys
from jaxbandit.experiments.grids.ranking import (
    Representative,
    policy_groups,
    ranked_positions,
    ranked_within_problems,
    ranking_metric,
)

if TYPE_CHECKING:
    import xarray as xr

_MOST_COMPARED = 1000  # policies; the confidence set of more takes seconds


def marked_policies(results: xr.Dataset) -> dict[str, object]:
    """The best policy by the ranking metric at T, in the mean over instances, and those that may be the best at 95 %.

    Returns:
        `best`: the positions of the best policy on each problem; `possible`: those of the confidence sets, None where
        the results have too many policies for them, or one seed.
    """
    metric = ranking_metric(results)
    if metric is None:
        return {"best": [], "possible": None}
    every = np.arange(results.sizes["policy"])
    keys = problem_keys(results, every)
    groups = [positions for _, positions in comparable_groups(results, every, keys)]
    best = [int(ranked_positions(results, metric, positions)[0]) for positions in groups]
    possible = None
    if len(every) <= _MOST_COMPARED and results.sizes["seed"] > 1 and f"{metric}_final" in results:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of skewness; `jb.grids.confidence_set` gives it
            kept = confidence_set(results, metric, per=keys)
        place = {label: position for position, label in enumerate(results.policy.values.tolist())}
        possible = sorted(place[label] for label in kept.policy)
    return {"best": best, "possible": possible}


def ticked_places(results: xr.Dataset, shown: Mapping[int, Representative], most: int = MOST_SHOWN) -> list[int]:
    """The places in `shown` of the policies that are on at first.

    They are all of at most `most`; of more, the best, the median and the worst of each group by the ranking metric.
    """
    places = {position: place for place, position in enumerate(shown)}
    if len(shown) <= most:
        return list(places.values())
    ticked: set[int] = set()
    for positions in policy_groups(results).values():
        order = [p for p in ranked_within_problems(results, ranking_metric(results), positions).tolist() if p in places]
        if order:
            ticked |= {order[0], order[(len(order) - 1) // 2], order[-1]}
    return sorted(places[position] for position in ticked)
