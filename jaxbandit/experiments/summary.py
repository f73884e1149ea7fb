"""Results as a text table: one line per policy, each metric at T with its 95 % confidence interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from jaxbandit.experiments.grids.parameters import MOST_SHOWN, problem_keys
from jaxbandit.experiments.grids.range_ends import notes_on_families
from jaxbandit.experiments.grids.ranking import policy_groups, ranked_within_problems, ranking_metric
from jaxbandit.experiments.statistics import (
    check_last_round,
    checked_results,
    distinct_metrics,
    mean_over_instances,
    metric_words,
    rounded,
    sample_size,
    t_quantile,
    with_error,
)

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["table"]

_LISTED = 10  # policies of a large group
_LARGEST = "max_deficit_ever", "group_max_deficit_ever"  # the metrics of which the largest of all runs is shown


def __dir__() -> list[str]:
    return list(__all__)


@checked_results
def table(results: xr.Dataset, full_table: str = "jaxbandit.grids.table(results)") -> str:
    """The results at T as text: one line per policy, one column per metric, numbers aligned.

    Metrics that need most of the problem come first, and r-regret and c-regret share a column with one play,
    where they differ only in the rounding of tau_k t.

    A number is the mean over instances and runs with the half width of its 95 % confidence interval, that of Student's
    t for the number of runs. If a group (a grid, or policies of one kind) has more than 24 policies, the table lists
    its ten best, the best first. The ranking metric is the recorded metric that uses most of the problem's keys
    (`penalized_regret` in a problem with penalties), and a line below the table names it. Another line says where the
    best value of a parameter is an end of the range that its grid covers, and clearly better than the value next to it.

    Args:
        results: as `simulate` returns them.
        full_table: the place of the table of all policies, for the line that refers to it.

    Returns:
        The text, without a line break at its end.

    Raises:
        InputError: `results` is not a dataset of `simulate`, or seeds or rounds before T were selected from it.

    Example:
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), ["ucb1", "moss"], horizon=99, seeds=50)
        >>> print(jb.summary.table(results).splitlines()[-1])
        at T = 99: mean ± 95 % confidence over 50 runs
    """
    check_last_round(results)
    shown, notes = _listed(results, ranking_metric(results))
    columns = _columns(results.isel(round=-1, policy=shown))
    header = ["policy", *columns]
    rows = [list(row) for row in zip(results.policy.values[shown].tolist(), *columns.values(), strict=True)]
    what = "mean ± 95 % confidence" if results.sizes["seed"] > 1 else "mean"
    note = f"at T = {int(results['round'][-1]):,}: {what} over {sample_size(results)}"
    largest = [words for words in map(metric_words, _LARGEST) if words in columns]
    if largest:
        note += f"; {' and '.join(largest)} {'is' if len(largest) == 1 else 'are'} the largest of all runs"
    ends = notes_on_families(results, ranking_metric(results))
    return "\n".join([*_aligned(header, rows), note, *(f"{line} {full_table}" for line in notes), *ends])


def _columns(last: xr.Dataset) -> dict[str, list[str]]:
    """The numbers of each metric as text, one per policy."""
    columns = {}
    for name, equal in distinct_metrics(last).items():
        mean, error = (a.values for a in mean_over_instances(last, name))
        half = t_quantile(last) * error if last.sizes["seed"] > 1 else np.full(error.shape, math.nan)
        heading = " ≈ ".join(map(metric_words, equal))
        columns[heading] = [with_error(m, h) for m, h in zip(mean, half, strict=True)]
    for name in _LARGEST:
        if name in last:
            ever = last[name].max(("instance", "seed")).values
            columns[metric_words(name)] = [rounded(value) for value in ever]
    return columns


def _aligned(header: list[str], rows: list[list[str]]) -> list[str]:
    """Lines with the first column aligned to the left and the others to the right, a rule below the header."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in [header, *rows]
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return lines


def _listed(results: xr.Dataset, metric: str | None) -> tuple[list[int], list[str]]:
    """The positions of the policies to list, and for each large group the beginning of a line about the others."""
    listed: list[tuple[int, int]] = []  # the place in the order, the position
    notes = []
    for name, positions in policy_groups(results).items():
        if len(positions) <= MOST_SHOWN:
            listed += [(int(position), int(position)) for position in positions]
            continue
        best = ranked_within_problems(results, metric, positions)[:_LISTED]
        listed += [(int(positions[0]), int(position)) for position in best]
        ranking = "first" if metric is None else f"best by {metric_words(metric)}"
        if metric is not None and problem_keys(results, positions):
            ranking += ", each compared with those on the same problem,"
        notes.append(f"{name}: the {_LISTED} {ranking} of {len(positions):,} policies; all are in")
    listed.sort(key=lambda place: place[0])  # a group stands where its first policy does
    return [position for _, position in listed], notes
