"""The table that a run prints: one line a policy, each metric at the horizon with its 95 % confidence."""

from __future__ import annotations

import math

import numpy as np
import xarray as xr

from jaxbandit.experiments.statistics import CONFIDENCE, mean_over_instances, recorded, sample_size, with_error
from jaxbandit.experiments.tables import MANY, groups, leading, ranked

_BEST = 10  # policies listed of a large group


def table(results: xr.Dataset, rest: str = "jaxbandit.grids.table(results)") -> str:
    """The summary of a results dataset as text, numbers aligned.

    Of a group of more than `grids.MANY` policies it lists the best by one metric, the best first.

    Args:
        results: as `simulate` returns them.
        rest: where all policies are, for the line that says so.
    """
    metric = leading(results)
    shown, omitted = _listed(results, metric)
    names = recorded(results)
    columns = {}
    last = results.isel(round=-1, policy=shown)
    for name in names:
        mean, error = (a.values for a in mean_over_instances(last, name))
        half = CONFIDENCE * error if results.sizes["seed"] > 1 else np.full(error.shape, math.nan)
        columns[name] = [with_error(m, h) for m, h in zip(mean, half, strict=True)]
    if "max_deficit" in names:
        ever = last.max_deficit_ever.max(("instance", "seed")).values
        columns["max_deficit_ever"] = [f"{value:.2f}" for value in ever]
    head = ["policy", *(name.replace("_", " ") for name in columns)]
    body = [list(row) for row in zip(last.policy.values.tolist(), *columns.values(), strict=True)]
    widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in [head, *body]
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    note = f"at T = {int(results['round'][-1]):,}: mean ± 95 % confidence over {sample_size(results)}"
    if "max_deficit_ever" in columns:
        note += "; max deficit ever is the largest of all runs"
    return "\n".join([*lines, note, *(f"{line} {rest}" for line in omitted)])


def _listed(results: xr.Dataset, metric: str | None) -> tuple[list[int], list[str]]:
    """Where the policies to list stand, and for each large group the beginning of a line on what it lacks."""
    listed, lines = [], []
    for name, places in groups(results).items():
        if len(places) <= MANY:
            listed += [(int(place), int(place)) for place in places]
            continue
        listed += [(int(places[0]), int(place)) for place in ranked(results, metric, places)[:_BEST]]
        most = "first" if metric is None else f"best by {metric.replace('_', ' ')}"
        lines.append(f"{name}: the {_BEST} {most} of {len(places):,}; all are in")
    listed.sort(key=lambda one: one[0])  # a group stands where its first policy does
    return [place for _, place in listed], lines
