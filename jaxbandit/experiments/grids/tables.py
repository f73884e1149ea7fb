"""Results as pandas tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.core.input_values import is_whole_number, to_python
from jaxbandit.experiments.grids.parameters import parameters
from jaxbandit.experiments.statistics import check_all_seeds, checked_results, chosen_metrics, mean_over_instances

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


@checked_results
def table(results: xr.Dataset, metrics: Sequence[str] | None = None, at: int | None = None) -> pd.DataFrame:
    """The results as a tidy table: one row for each policy and instance.

    Args:
        results: as `simulate` returns them.
        metrics: names of metrics in the results; default: all.
        at: a recorded round; default: the last, T.

    Returns:
        A pandas DataFrame with the columns `policy`, `family`, `kind`, the grid's parameters (NaN or "" where a policy
        does not have one), `instance`, `round`, and for each metric `<metric>`, its mean over seeds, and
        `<metric>_stderr`, the standard error of the mean.

    Raises:
        InputError: a metric that the results do not hold, a round that was not recorded, or seeds were selected from
            the results: the means are over all seeds.

    Example:
        >>> grid = {"kind": "ucb1", "exploration": [1, 2]}
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), grid, horizon=9, seeds=2)
        >>> jb.grids.table(results, ["regret"]).columns.tolist()
        ['policy', 'family', 'kind', 'policies.exploration', 'instance', 'round', 'regret', 'regret_stderr']
    """
    import pandas as pd

    names = chosen_metrics(results, metrics)
    check_all_seeds(results)
    position = _round_position(results, at)
    policies, instances = results.sizes["policy"], results.sizes["instance"]
    columns = {
        name: np.repeat(results[name].values, instances) for name in ("policy", "family", "kind", *parameters(results))
    }
    columns["instance"] = np.tile(results.instance.values, policies)
    columns["round"] = np.full(policies * instances, results["round"].values[position])
    for name in names:
        for column in (name, f"{name}_stderr"):
            values = results[column].isel(round=position).transpose("policy", "instance").values
            columns[column] = values.ravel()
    return pd.DataFrame(columns)


def _round_position(results: xr.Dataset, at: int | None) -> int:
    """The position of a round among the recorded ones; that of the last for None."""
    rounds = results["round"].values
    if at is None:
        return len(rounds) - 1
    at = to_python(at)
    if not is_whole_number(at):
        raise InputError("at", at, f"a recorded round, such as {rounds[-1]}")
    found = np.flatnonzero(rounds == at)
    if found.size == 0:
        near = sorted(set(rounds[np.argsort(np.abs(rounds - at), kind="stable")[:4]].tolist()) | {int(rounds[-1])})
        nearest = ", ".join(map(str, near))
        words = f"one of the {len(rounds)} recorded rounds; the nearest ones and the last are {nearest}"
        raise InputError("at", at, words)
    return int(found[0])


@checked_results
def pooled_table(results: xr.Dataset, metrics: Sequence[str] | None = None, at: int | None = None) -> pd.DataFrame:
    """The results as a table with one row per policy: means over instances and seeds.

    Args:
        results: as `simulate` returns them.
        metrics: names of metrics in the results; default: all.
        at: a recorded round; default: the last, T.

    Returns:
        A pandas DataFrame with the columns `policy`, `family`, `kind`, the grid's parameters, `instances` (their
        number), `round`, and for each metric `<metric>`, its mean over instances and seeds, and `<metric>_stderr`, the
        standard error of this mean for these instances; differences between instances do not count.

    Raises:
        InputError: as `table` does.

    Example:
        >>> problem = {"means": [[0.9, 0.5], [0.4, 0.6]]}
        >>> results = jb.simulate(problem, ["ucb1", "moss"], horizon=99, seeds=50)
        >>> jb.grids.pooled_table(results, ["regret"])[["policy", "instances"]].values.tolist()
        [['ucb1', 2], ['moss', 2]]
    """
    import pandas as pd

    names = chosen_metrics(results, metrics)
    position = _round_position(results, at)
    at_round = results.isel(round=[position])
    columns = {name: results[name].values for name in ("policy", "family", "kind", *parameters(results))}
    columns["instances"] = np.full(results.sizes["policy"], results.sizes["instance"])
    columns["round"] = np.full(results.sizes["policy"], results["round"].values[position])
    for name in names:
        mean, error = (
            values.transpose("policy", "round").values[:, 0] for values in mean_over_instances(at_round, name)
        )
        columns[name] = mean
        columns[f"{name}_stderr"] = error if results.sizes["seed"] > 1 else np.full_like(error, np.nan)
    return pd.DataFrame(columns)
