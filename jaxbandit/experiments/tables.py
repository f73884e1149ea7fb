"""Results of grids: their parameters, tables, differences between policies, and the best policy.

    lfg = {"kind": "lfg", "eta": [1.0, 10.0, 100.0]}
    results = jb.simulate(problem, lfg, horizon=1000, seeds=100)
    jb.grids.table(results)
    jb.grids.difference(results, "lfg (eta=10)", "lfg (eta=100)", "regret")

A parameter has the name of its config key: `policies.eta` is the key `eta` of a policy's table, `problem.delay.p` the
key `delay.p` of the problem. Results hold the parameters of grids as coordinates of these names. Labels leave out the
prefix `policies.`: "lfg (eta=10, problem.delay.p=0.1)".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jaxbandit.core.errors import InputError, unknown_name
from jaxbandit.core.input_values import is_whole_number, to_python
from jaxbandit.experiments.ranking import family_names, family_positions, ranked_positions, unknown_label
from jaxbandit.experiments.statistics import (
    CONFIDENCE,
    check_all_seeds,
    check_metric,
    checked_results,
    chosen_metrics,
    mean_of_runs,
    sample_size,
    with_error,
)
from jaxbandit.metrics.definitions import METRICS

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["Difference", "best", "difference", "families", "parameters", "table", "varying"]

Value = float | str  # of a parameter: NaN or "" where a policy does not have it


def __dir__() -> list[str]:
    return list(__all__)


@checked_results
def parameters(results: xr.Dataset) -> list[str]:
    """The parameters that grids vary, by their config keys.

    Args:
        results: as `simulate` returns them.

    Returns:
        Names of coordinates along `policy`: `policies.` and the key in the policy's table, or `problem.` and the key
        in the problem's.

    Raises:
        InputError: `results` is not a dataset of `simulate`.

    Example:
        >>> grid = {"kind": "ucb1", "exploration": [1, 2]}
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), grid, horizon=9, seeds=2)
        >>> jb.grids.parameters(results)
        ['policies.exploration']
    """
    return [str(name) for name, c in results.coords.items() if c.dims == ("policy",) and "key" in c.attrs]


@checked_results
def families(results: xr.Dataset) -> list[str]:
    """The families of policies, in order: all points of a grid are one family, any other policy is a family by itself.

    Args:
        results: as `simulate` returns them.

    Raises:
        InputError: `results` is not a dataset of `simulate`.

    Example:
        >>> grid = {"kind": "ucb1", "exploration": [1, 2]}
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), [grid, "moss"], horizon=9, seeds=2)
        >>> jb.grids.families(results)
        ['ucb1', 'moss']
    """
    return family_names(results)


@checked_results
def varying(results: xr.Dataset) -> dict[str, list[str]]:
    """The parameters that take several values within a family, by family; families without any are left out.

    Args:
        results: as `simulate` returns them.

    Raises:
        InputError: `results` is not a dataset of `simulate`.

    Example:
        >>> grid = {"kind": "ucb1", "exploration": [1, 2]}
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), [grid, "moss"], horizon=9, seeds=2)
        >>> jb.grids.varying(results)
        {'ucb1': ['policies.exploration']}
    """
    columns = {name: results[name].values for name in parameters(results)}
    found: dict[str, list[str]] = {}
    for family in family_names(results):
        positions = family_positions(results, family)
        names = [name for name, values in columns.items() if len(parameter_values(values[positions])) > 1]
        if names:
            found[family] = names
    return found


def parameter_values(values: np.ndarray) -> list[Value]:
    """The different values of a parameter, without missing ones: numbers sorted, words in order of appearance."""
    different = [value for value in dict.fromkeys(values.tolist()) if not is_missing(value)]
    return sorted(different) if all(isinstance(value, int | float) for value in different) else different


def is_missing(value: Value) -> bool:
    """Whether a parameter's coordinate holds this for a policy that does not have the parameter."""
    return value is None or value == "" or value != value


def unknown_parameter(key: str, name: object, known: Sequence[str]) -> InputError:
    """The error for a parameter that no grid varies; a key without its prefix suggests the whole key."""
    if not known:
        return InputError(key, name, "must not be given: the results have no grid")
    whole = next((parameter for parameter in known if parameter.endswith(f".{name}")), None)
    if whole is not None:
        return InputError(key, name, f"one of {', '.join(known)} (did you mean {whole!r}?)")
    return unknown_name(key, name, known)


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

    @property
    def low(self) -> float:
        """The lower end of the 95 % confidence interval."""
        return self.mean - CONFIDENCE * self.stderr

    @property
    def high(self) -> float:
        """The upper end of the 95 % confidence interval."""
        return self.mean + CONFIDENCE * self.stderr

    def __str__(self) -> str:
        number = with_error(self.mean, CONFIDENCE * self.stderr)
        spread = "" if math.isnan(self.stderr) else "95 % confidence, "
        return f"{METRICS[self.metric].label}, {self.first} minus {self.second}: {number} ({spread}{self.sample})"

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
        InputError: a label or a metric that the results do not hold.

    Example:
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), ["ucb1", "uniform-random"], horizon=99, seeds=50)
        >>> jb.grids.difference(results, "uniform-random", "ucb1", "regret").low > 0
        True
    """
    check_metric(results, metric)
    positions = [_policy_position(results, key, label) for key, label in (("first", first), ("second", second))]
    runs = results[f"{metric}_final"].transpose("policy", "instance", "seed").values[positions]
    mean, error = mean_of_runs(runs[0] - runs[1])
    return Difference(first, second, metric, float(mean), float(error), sample_size(results))


def _policy_position(results: xr.Dataset, key: str, label: str) -> int:
    label = to_python(label)  # it may be a coordinate of the results
    found = np.flatnonzero(results.policy.values == label)
    if found.size == 0:
        raise unknown_label(key, label, results.policy.values.tolist())
    return int(found[0])


@checked_results
def best(results: xr.Dataset, metric: str, family: str | None = None) -> str:
    """The label of the best policy by a metric at T, in the mean over instances; of equal ones, the first.

    Larger is better for `utility`, smaller for every other metric. Where a grid varies the problem, values on
    different problems are not comparable: select one problem first.

    Args:
        results: as `simulate` returns them.
        metric: the name of a metric in the results.
        family: compare only the policies of this family; default: all policies.

    Raises:
        InputError: a metric or a family that the results do not hold, or seeds were selected from the results.

    Example:
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), ["ucb1", "uniform-random"], horizon=99, seeds=50)
        >>> jb.grids.best(results, "regret")
        'ucb1'
    """
    check_metric(results, metric)
    return str(results.policy.values[ranked_positions(results, metric, family_positions(results, family))[0]])
