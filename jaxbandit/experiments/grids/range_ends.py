"""The best point of a grid at the end of a range: values beyond it may be better."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jaxbandit.experiments.grids.parameters import parameter_values, problem_keys, short_name, varying
from jaxbandit.experiments.grids.ranking import ranked_positions
from jaxbandit.experiments.statistics import larger_is_better, mean_of_runs, metric_words, t_quantile
from jaxbandit.policies.base import Policy

if TYPE_CHECKING:
    import xarray as xr

_FEWEST = 3  # values of a parameter that are a range


def notes_on_families(results: xr.Dataset, metric: str | None) -> list[str]:
    """`notes_on_ends` of the best point of each family that is a grid on one problem; none without a metric's runs."""
    notes: list[str] = []
    for family in varying(results):
        positions = np.flatnonzero(results.family.values == family)
        if metric is not None and f"{metric}_final" in results and not problem_keys(results, positions):
            best = int(ranked_positions(results, metric, positions)[0])
            notes += [f"{family}: {note}" for note in notes_on_ends(results, metric, best, positions)]
    return notes


def notes_on_ends(results: xr.Dataset, metric: str, best: int, positions: np.ndarray) -> list[str]:
    """Sentences about the parameters of policies of which the best point has an end of the range that its grid covers.

    A parameter is named if the grid has at least three values of it, if its class allows values beyond this end, and if
    the best point is significantly better (95 %, run by run) than the one that differs from it in the next value alone.

    Args:
        results: as `simulate` returns them, of the compared instances.
        metric: the name of a metric in the results.
        best: the position of the best policy.
        positions: those of the policies that it was compared with.
    """
    family = str(results.family.values[best])
    same = positions[results.family.values[positions] == family]
    names = varying(results).get(family, [])
    notes = []
    for name in (one for one in names if one.startswith("policies.")):
        values = parameter_values(results[name].values[same])
        here = results[name].values[best].item()
        if len(values) < _FEWEST or isinstance(here, str) or here not in (values[0], values[-1]):
            continue
        largest = here == values[-1]
        neighbour = _with_value(results, best, same, name, values[-2 if largest else 1], names)
        if neighbour is None or _is_limit(str(results.kind.values[best]), name, float(here)):
            continue
        runs = results[f"{metric}_final"].transpose("policy", "instance", "seed").values[[best, neighbour]]
        mean, error = mean_of_runs(runs[0] - runs[1])
        gain = mean if larger_is_better(results, metric) else -mean
        if gain > t_quantile(results) * error:
            end, beyond = ("largest", "larger") if largest else ("smallest", "smaller")
            notes.append(
                f"by {metric_words(metric)} the best {short_name(name)} is the {end} of the grid ({here:.4g}); "
                f"{beyond} values may be better"
            )
    return notes


def _with_value(
    results: xr.Dataset, best: int, positions: np.ndarray, name: str, value: object, names: list[str]
) -> int | None:
    """The position of the policy that has another value of one parameter and shares the others; None without one."""
    same = results[name].values[positions] == value
    for other in names:
        if other != name:
            same &= results[other].values[positions] == results[other].values[best]
    found = positions[same]
    return int(found[0]) if len(found) else None


def _is_limit(kind: str, name: str, value: float) -> bool:
    """Whether a parameter's class allows no values beyond this one; 0 is the limit of parameters of other classes."""
    policy = Policy.registry.get(kind.partition("/")[0])
    field = policy.parameters().get(short_name(name)) if policy is not None else None
    limits = (0.0,) if field is None else (field.metadata.get("low"), field.metadata.get("high"))
    return value in limits
