"""Comparisons of policies: differences run by run, and the best policy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jaxbandit.core.errors import InputError, warn
from jaxbandit.core.input_values import to_python
from jaxbandit.experiments.grids.parameters import comparisons, unknown_label, varying
from jaxbandit.experiments.grids.range_ends import notes_on_ends
from jaxbandit.experiments.grids.ranking import ranked_positions
from jaxbandit.experiments.statistics import (
    CONFIDENCE,
    check_last_round,
    check_metric,
    checked_results,
    mean_of_runs,
    sample_size,
    t_quantile,
    with_error,
)
from jaxbandit.metrics.definitions import METRICS

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


@dataclass(frozen=True, repr=False)
class Difference:
    """The difference of a metric at T between two policies, run by run.

    Attributes:
        first, second: the labels of the policies.
        metric: the name of the metric.
        mean: the mean of the metric of `first` minus that of `second`, in the metric's unit.
        stderr: the standard error of the mean for these instances; differences between instances do not count. NaN for
            one seed.
        sample: the number of instances and runs, in words.
        width: the standard errors on each side of the mean in its 95 % confidence interval, those of Student's t for
            the number of runs; default: 1.96, for many runs.

    Example:
        >>> jb.grids.Difference("ucb1", "moss", "regret", 4.0, 0.5, "50 runs")
        Difference(regret (reward), ucb1 minus moss: 4.00 ± 0.98 (95 % confidence, 50 runs))
    """

    first: str
    second: str
    metric: str
    mean: float
    stderr: float
    sample: str
    width: float = CONFIDENCE

    @property
    def low(self) -> float:
        """The lower end of the 95 % confidence interval."""
        return self.mean - self.width * self.stderr

    @property
    def high(self) -> float:
        """The upper end of the 95 % confidence interval."""
        return self.mean + self.width * self.stderr

    def __str__(self) -> str:
        number = with_error(self.mean, self.width * self.stderr)
        spread = "" if math.isnan(self.stderr) else "95 % confidence, "
        known = self.metric in METRICS  # else its class is not defined here
        label = METRICS[self.metric].label if known else self.metric
        return f"{label}, {self.first} minus {self.second}: {number} ({spread}{self.sample})"

    def __repr__(self) -> str:
        return f"Difference({self})"


@checked_results
def difference(results: xr.Dataset, first: str, second: str, metric: str) -> Difference:
    """The difference of a metric at T between two policies, run by run.

    Run i of instance j draws the same random numbers under every policy. The differences of runs therefore vary less
    than the runs themselves, and the standard error is mostly smaller than those of the two means suggest.

    Args:
        results: as `simulate` returns them.
        first, second: labels of policies.
        metric: the name of a metric in the results.

    Returns:
        The mean of `first` minus `second`, with its standard error and 95 % confidence interval.

    Raises:
        InputError: a label or a metric that the results do not hold; or rounds before T were selected from them.

    Example:
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), ["ucb1", "uniform-random"], horizon=99, seeds=50)
        >>> jb.grids.difference(results, "uniform-random", "ucb1", "regret").low > 0
        True
    """
    check_metric(results, metric)
    check_last_round(results)
    positions = [_policy_position(results, key, label) for key, label in (("first", first), ("second", second))]
    runs = results[f"{metric}_final"].transpose("policy", "instance", "seed").values[positions]
    mean, error = mean_of_runs(runs[0] - runs[1])
    return Difference(first, second, metric, float(mean), float(error), sample_size(results), t_quantile(results))


def _policy_position(results: xr.Dataset, key: str, label: str) -> int:
    label = to_python(label)  # it may be a coordinate of the results
    found = np.flatnonzero(results.policy.values == label)
    if found.size == 0:
        raise unknown_label(key, label, results.policy.values.tolist())
    return int(found[0])


@checked_results
def best(
    results: xr.Dataset, metric: str, family: str | None = None, per: str | Sequence[str] | None = None
) -> str | pd.DataFrame:
    """The best policy by a metric at T, in the mean over instances; of equal ones, the first.

    Larger is better for `utility`, smaller for every other built-in metric. Numbers on different problems are not
    comparable: where a grid varies the problem, `per` has to name the keys of the problem that it varies.

    A warning says where the best value of a parameter is an end of the range that the grid covers, and clearly better
    than the value next to it: values beyond the range may be better.

    Args:
        results: as `simulate` returns them.
        metric: the name of a metric in the results.
        family: compare only the policies of this family; default: all policies.
        per: a parameter or several, such as `["problem.penalties"]`, or "instance": the best policy for each
            combination of their values. An empty list compares all policies, whatever their problems. Default: one
            comparison of policies on one problem, in the mean over instances.

    Returns:
        The label of the best policy. With `per` a pandas DataFrame: one row per combination, with the columns `per`,
        `policy`, the parameters that the grids vary, the metric and `<metric>_stderr`, the standard error of its mean.

    Raises:
        InputError: a metric, a family or a parameter that the results do not hold; a value of the metric is NaN; seeds
            or rounds before T were selected from the results; or policies on different problems would be compared
            unasked.

    Example:
        >>> grid = {"kind": "ucb1", "exploration": [0.5, 4.0]}
        >>> results = jb.simulate({"means": [0.9, 0.5]}, grid, horizon=99, seeds=50,
        ...                       grid={"problem": {"reward": ["bernoulli", "constant"]}})
        >>> table = jb.grids.best(results, "regret", per=["problem.reward"])
        >>> table.columns.tolist()
        ['problem.reward', 'policy', 'policies.exploration', 'regret', 'regret_stderr']
        >>> jb.grids.best(results.sel(policy=results["problem.reward"] == "constant"), "regret")
        'ucb1 (exploration=0.5, problem.reward=constant)'
    """
    import pandas as pd

    check_metric(results, metric)
    check_last_round(results)
    varied = dict.fromkeys(name for names in varying(results).values() for name in names)
    rows = []
    for point, part, positions in comparisons(results, family, per):
        check_for_nan(part, metric, positions)
        first = int(ranked_positions(part, metric, positions)[0])
        for note in notes_on_ends(part, metric, first, positions):
            warn(f"{results.family.values[first]}: {note}")
        mean, error = mean_of_runs(part[f"{metric}_final"].transpose("policy", "instance", "seed").values[first])
        found = {metric: float(mean), f"{metric}_stderr": float(error)}
        parameters = {name: results[name].values[first] for name in varied if name not in point}
        rows.append({**point, "policy": str(results.policy.values[first]), **parameters, **found})
    return str(rows[0]["policy"]) if per is None else pd.DataFrame(rows)


def check_for_nan(results: xr.Dataset, metric: str, positions: np.ndarray) -> None:
    """Refuse policies of which there is no mean; simulations return none, but whoever edits results may."""
    missing = np.zeros(len(positions), bool)
    for numbers in (results[metric].isel(round=-1), results[f"{metric}_final"]):
        values = numbers.isel(policy=positions).transpose("policy", ...).values
        missing |= np.isnan(values).reshape(len(positions), -1).any(axis=1)
    if missing.any():
        label = str(results.policy.values[positions[missing]][0])
        raise InputError(f"results[{metric!r}]", f"NaN at T for policy {label!r}", "numbers for all compared policies")
