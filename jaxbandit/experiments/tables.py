"""What to do with a grid's results: its parameters, a table, its best point, and how sure one is of a difference.

results = jb.simulate(problem, {"kind": "lfg", "eta": [1.0, 10.0, 100.0]}, horizon=1000, seeds=100)
jb.grids.table(results)
jb.grids.difference(results, "lfg (eta=10)", "lfg (eta=100)", "regret")
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from jaxbandit.core.errors import InputError, unknown_name
from jaxbandit.core.input_values import is_whole_number, to_python
from jaxbandit.experiments.statistics import (
    CONFIDENCE,
    check,
    chosen,
    mean_of_runs,
    of_results,
    recorded,
    sample_size,
    with_error,
)
from jaxbandit.metrics.definitions import METRICS

MANY = 24  # policies of a group that a figure or summary shows one by one; of larger groups it shows a few


@of_results
def parameters(results: xr.Dataset) -> list[str]:
    """The coordinates along `policy` that hold the parameters of grids, `problem.` before those of the problem."""
    return [str(name) for name, c in results.coords.items() if c.dims == ("policy",) and "key" in c.attrs]


@of_results
def varying(results: xr.Dataset) -> dict[str, list[str]]:
    """The parameters that differ within each family in which any does."""
    names = parameters(results)
    columns = {name: pd.Series(results[name].values).replace("", np.nan) for name in names}
    values = pd.DataFrame(columns, index=range(results.sizes["policy"]))
    differ = values.groupby(results.family.values, sort=False).nunique() > 1
    held = {str(family): differ.columns[row].tolist() for family, row in zip(differ.index, differ.values, strict=True)}
    return {family: found for family, found in held.items() if found}


def levels(values: np.ndarray) -> list[Any]:
    """The values of a parameter: numbers sorted, anything else as it appears; what is missing left out."""
    held = [value for value in dict.fromkeys(values.tolist()) if not missing(value)]
    return sorted(held) if all(isinstance(value, int | float) for value in held) else held


def missing(value: Any) -> bool:
    """Whether a value of a parameter's coordinate stands for a policy that does not have the parameter."""
    return value is None or value == "" or value != value


def families(results: xr.Dataset) -> list[str]:
    """The labels that policies share, in order."""
    return list(dict.fromkeys(results.family.values.tolist()))


@of_results
def table(results: xr.Dataset, metrics: Sequence[str] | None = None, at: int | None = None) -> pd.DataFrame:
    """The results as a tidy table: one row for each policy and instance.

    Args:
        results: as `simulate` returns them.
        metrics: names of metrics in the results; default: all.
        at: the recorded round; default: the last, T.

    Returns:
        Columns `policy`, `family`, `kind`, the grid's parameters (NaN where a policy does not have one), `instance`,
        `round`, and for each metric `<metric>`, its mean over seeds, and `<metric>_stderr`, its standard error.

    Raises:
        InputError: a metric that the results do not hold, or a round that was not recorded.

    Example:
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), {"kind": "ucb1", "exploration": [1, 2]}, horizon=9, seeds=2)
        >>> table(results, ["regret"]).columns.tolist()
        ['policy', 'family', 'kind', 'exploration', 'instance', 'round', 'regret', 'regret_stderr']
    """
    names = chosen(results, metrics)
    place = _place(results, at)
    policies, instances = results.sizes["policy"], results.sizes["instance"]
    columns = {
        name: np.repeat(results[name].values, instances) for name in ("policy", "family", "kind", *parameters(results))
    }
    columns["instance"] = np.tile(results.instance.values, policies)
    columns["round"] = np.full(policies * instances, results["round"].values[place])
    for name in names:
        for column in (name, f"{name}_stderr"):
            values = results[column].isel(round=place).transpose("policy", "instance").values
            columns[column] = values.ravel()
    return pd.DataFrame(columns)


def _place(results: xr.Dataset, at: int | None) -> int:
    """Where a round stands among those recorded."""
    rounds = results["round"].values
    if at is None:
        return len(rounds) - 1
    at = to_python(at)
    if not is_whole_number(at):
        raise InputError("at", at, f"a recorded round, as {rounds[-1]}")
    found = np.flatnonzero(rounds == at)
    if found.size == 0:
        near = sorted(set(rounds[np.argsort(np.abs(rounds - at), kind="stable")[:4]].tolist()) | {int(rounds[-1])})
        words = ", ".join(map(str, near))
        raise InputError("at", at, f"one of the {len(rounds)} recorded rounds; the nearest, and the last: {words}")
    return int(found[0])


@dataclass(frozen=True)
class Difference:
    """How a metric at T differs between two policies, run by run.

    Attributes:
        first, second: their labels.
        metric: its name.
        mean: of the metric of `first_arm` less that of `second`, in the metric's unit.
        stderr: the standard error of the mean, given the instances; NaN for one seed.
        sample: what the mean is over, in words.
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
        return f"{METRICS[self.metric].label}, {self.first} less {self.second}: {number} ({spread}{self.sample})"


@of_results
def difference(results: xr.Dataset, first: str, second: str, metric: str) -> Difference:
    """How much more of a metric one policy has at T than another, run by run.

    Run i of instance j meets the same draws under every policy, so that what differs is the policies' doing: the
    standard error of the difference is mostly smaller than either mean suggests.

    Args:
        results: as `simulate` returns them.
        first, second: labels of policies.
        metric: of the results.

    Raises:
        InputError: a label or a metric that the results do not hold.

    Example:
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), ["ucb1", "uniform-random"], horizon=99, seeds=50)
        >>> difference(results, "uniform-random", "ucb1", "regret").low > 0
        True
    """
    check(results, metric)
    places = [_position(results, key, label) for key, label in (("first", first), ("second", second))]
    runs = results[f"{metric}_final"].transpose("policy", "instance", "seed").values[places]
    mean, error = mean_of_runs(runs[0] - runs[1])
    return Difference(first, second, metric, float(mean), float(error), sample_size(results))


def _position(results: xr.Dataset, key: str, label: str) -> int:
    label = to_python(label)  # it may be a coordinate of the results
    found = np.flatnonzero(results.policy.values == label)
    if found.size == 0:
        raise unknown_label(key, label, results.policy.values.tolist())
    return int(found[0])


def unknown_label(key: str, label: Any, labels: Iterable[str]) -> InputError:
    """The error for a label that is not one of `labels`; of many it names those alike."""
    held = list(labels)
    if len(held) <= MANY:
        return unknown_name(key, label, held)
    alike = [name for name in held if str(label).lower() in name.lower()][:5] or held[:5]
    return InputError(key, label, f"one of {len(held):,} labels, as {', '.join(map(repr, alike))}")


@of_results
def best(results: xr.Dataset, metric: str, family: str | None = None) -> str:
    """The label of the policy that is best by a metric at T, in the mean over instances; ties go to the first.

    Of utility the most is best, of every other metric the least. Where a grid varies the problem, so may what a metric
    can reach: then select one problem first.

    Args:
        results: as `simulate` returns them.
        metric: of the results.
        family: look among the policies of this family alone.

    Raises:
        InputError: a metric or a family that the results do not hold.

    Example:
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), ["ucb1", "uniform-random"], horizon=99, seeds=50)
        >>> best(results, "regret")
        'ucb1'
    """
    check(results, metric)
    return str(results.policy.values[ranked(results, metric, members(results, family))[0]])


def members(results: xr.Dataset, family: str | None) -> np.ndarray:
    """Where the policies of a family stand, or all."""
    if family is None:
        return np.arange(results.sizes["policy"])
    if family not in families(results):
        raise unknown_label("family", family, families(results))
    return np.flatnonzero(results.family.values == family)


def ranked(results: xr.Dataset, metric: str | None, positions: np.ndarray) -> np.ndarray:
    """The positions of policies from the best to the worst by a metric at T; as they are without a metric."""
    if metric is None:
        return positions
    scores = results[metric].isel(round=-1, policy=positions).mean("instance").values
    return positions[np.argsort(-scores if METRICS[metric].larger_is_better else scores, kind="stable")]


def leading(results: xr.Dataset) -> str | None:
    """The metric to rank by where none is asked for: the first of those that need most of the problem, if any.

    So it is penalized regret where there are penalties, r-regret with fractions alone, utility with opportunities.
    """
    return max(recorded(results), key=lambda name: len(METRICS[name].needs), default=None)


def groups(results: xr.Dataset) -> dict[str, np.ndarray]:
    """Where the policies of each group stand: those of a family, or of a kind where each is a family of its own."""
    shared = results.family.values.tolist()
    sizes = dict.fromkeys(shared, 0)
    for family in shared:
        sizes[family] += 1
    found: dict[str, list[int]] = {}
    for place, (family, kind) in enumerate(zip(shared, results.kind.values.tolist(), strict=True)):
        found.setdefault(family if sizes[family] > 1 else kind, []).append(place)
    return {name: np.array(places) for name, places in found.items()}


def few(results: xr.Dataset, metric: str | None) -> dict[int, tuple[str, str]]:
    """Policies to show for all: every one of a small group; of a large one the best, the median and the worst at T.

    Returns:
        By position, in order: the name of the group where it is large, else the label; and its place in a large group
        in words (`best of 10,000`), else nothing. Without a metric these are the first, the middle and the last.
    """
    places = ("first", "middle", "last") if metric is None else ("best", "median", "worst")
    labels, found = results.policy.values, []
    for name, positions in groups(results).items():
        if len(positions) <= MANY:
            found += [(place, place, str(labels[place]), "") for place in positions.tolist()]
            continue
        order = ranked(results, metric, positions)
        picked = order[[0, (len(order) - 1) // 2, -1]].tolist()
        words = [f"{place} of {len(order):,}" for place in places]
        found += [(int(positions[0]), place, name, word) for place, word in zip(picked, words, strict=True)]
    found.sort(key=lambda one: one[0])  # a group stands where its first policy does
    return {place: (name, word) for _, place, name, word in found}
