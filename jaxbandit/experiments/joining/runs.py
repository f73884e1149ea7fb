"""What identifies the runs of a dataset: its configs, its policies, and the key and number of each seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from jaxbandit.core.errors import InputError
from jaxbandit.experiments.configs.grid import Table
from jaxbandit.experiments.joining import joined_configs
from jaxbandit.experiments.statistics import check_all_seeds, restore_dimensions

KEY, NUMBER = "key", "key_seed"  # coordinates along `seed` of results of several keys

Seed = tuple[int, int]  # a key, and the number of a run among the runs of this key


@dataclass(frozen=True)
class Runs:
    """A dataset, and what identifies its runs.

    Attributes:
        data: the dataset, with all dimensions; the family of a policy outside grids is its label.
        configs: the configs that give the runs, without keys that affect no result.
        labels: the labels of the policies.
        seeds: the seeds, in order.
        metrics: the recorded metrics, in order.
    """

    data: xr.Dataset
    configs: list[Table]
    labels: list[str]
    seeds: list[Seed]
    metrics: list[str]


def read_runs(results: object, name: str) -> Runs:
    """The runs of a dataset.

    Args:
        results: as `simulate` returns it.
        name: the argument, for errors.

    Raises:
        InputError: not a dataset of `simulate`, or not with all runs that its means are over.
    """
    try:
        data = restore_dimensions(results)
    except InputError as error:
        raise error.with_key(name) from None
    try:
        parts = joined_configs.read_configs(data.attrs["config"])
    except (KeyError, TypeError, AttributeError, ValueError):
        words = "must have the attribute `config` of the dataset of `simulate`, which describes its runs"
        raise InputError(name, tuple(data.attrs), words) from None
    metrics = [str(metric) for metric in data.data_vars if f"{metric}_final" in data]
    _check_all_runs(data, metrics, name)
    try:
        check_all_seeds(data)
    except InputError as error:
        raise error.with_key(f"{name}.seed") from None
    labels = [str(label) for label in data.policy.values]
    if len({*labels}) < len(labels):
        raise InputError(f"{name}.policy", labels, "labels of which no two are the same")
    families = data.family.values.tolist()
    parts = [joined_configs.with_policies_of(part, labels, families) for part in parts]
    if len(parts) == 1:
        first = int(data.seed.values[0])
        parts = [joined_configs.with_seeds(parts[0], first, data.sizes["seed"])]
    if KEY in data.coords:
        pairs = zip(data[KEY].values.tolist(), data[NUMBER].values.tolist(), strict=True)
        seeds = [(int(key), int(number)) for key, number in pairs]
    else:
        seeds = [(parts[0]["simulation"]["key"], int(number)) for number in data.seed.values]
    parts = joined_configs.with_recorded(parts, metrics, data)
    return Runs(_with_families(data, labels, families), parts, labels, seeds, metrics)


def _check_all_runs(data: xr.Dataset, metrics: list[str], name: str) -> None:
    """Raise an error where the dimension `seed` lacks runs that the means are over, because it was selected from."""
    for metric in metrics:
        finals = data[f"{metric}_final"]
        last = data[metric].isel(round=-1, drop=True)
        scale = 1e-9 * (1 + float(np.abs(finals).max()))
        if not np.allclose(finals.mean("seed"), last.transpose(*finals.isel(seed=0).dims), rtol=0, atol=scale):
            words = f"must have every seed and the last round: the mean of {metric} is not the mean over these seeds"
            raise InputError(f"{name}.seed", data.seed.values.tolist(), words)


def grid_coordinates(data: xr.Dataset) -> list[str]:
    """The coordinates for the parameters that grids vary."""
    return [str(name) for name, values in data.coords.items() if values.dims == ("policy",) and "key" in values.attrs]


def _with_families(data: xr.Dataset, labels: list[str], families: list[str]) -> xr.Dataset:
    """The dataset where a policy outside grids is its own family, also after users have changed its label."""
    varied = np.zeros(len(labels), bool)
    for name in grid_coordinates(data):
        varied |= [value not in ("", None) and value == value for value in data[name].values.tolist()]
    own = [family if point else label for label, family, point in zip(labels, families, varied, strict=True)]
    return data.assign_coords(family=("policy", own))


def seeds_in_words(seeds: list[Seed]) -> str:
    """Seeds in words: "0 to 99 and 150 of key 0"."""
    texts = []
    for key in dict.fromkeys(key for key, _ in seeds):
        ranges: list[list[int]] = []
        for number in sorted(number for own, number in seeds if own == key):
            if ranges and ranges[-1][1] == number - 1:
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
        listed = [str(low) if low == high else f"{low} to {high}" for low, high in ranges]
        texts.append(f"{' and '.join(listed)} of key {key}")
    return ", ".join(texts)
