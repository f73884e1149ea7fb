"""`combine`: the datasets of two simulations, joined into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
import xarray as xr

from jaxbandit.core.errors import InputError, suggest_keywords, warn
from jaxbandit.experiments.joining import imported_files, joined_configs, programs, variables
from jaxbandit.experiments.joining.joined_configs import differing
from jaxbandit.experiments.joining.runs import KEY, NUMBER, Runs, Seed, read_runs, seeds_in_words

Held = TypeVar("Held", str, Seed)

_VERSIONS = ("jaxbandit_version", "jax_version")
_MACHINES = ("dtype", "device")  # what computed the results, beside versions
_SECONDS = ("compile_seconds", "run_seconds")


@suggest_keywords
def combine(results: xr.Dataset, more: xr.Dataset) -> xr.Dataset:
    """Join two datasets: other policies on the same runs, or more runs of the same policies.

    Both are of one problem, horizon and selection of rounds. Either

    - `more` has other policies, and the same seeds of the same key. The result is, bit for bit, that of one simulation
      of all policies on the same kind of device, with the same versions and dtype (a warning tells of others); or
    - `more` has the same policies, and other seeds: of another key, or seeds of the same key that `results` does not
      have (`first_seed` of `simulate`). The means and standard errors are those of all runs together. They can differ
      from those of one simulation in the last bits; all that is kept per run is equal.

    Metrics and variables that only one of the two has are left out, with a warning. Where labels of `more` are taken by
    other policies, change them first: `more.assign_coords(policy=["ucb1 (new)"])`.

    Args:
        results: as `simulate` returns them, as `results.nc` holds them, or joined by this function.
        more: likewise.

    Returns:
        A dataset like that of `simulate`. The seeds of one key keep their numbers. With several keys, `seed` numbers
        all runs, and the coordinates `key` and `key_seed` along `seed` hold the key and the number of each run. The
        attribute `config` is one config that gives all runs, where there is one; otherwise it has a list `joined` of
        configs. `compile_seconds` and `run_seconds` are sums.

    Raises:
        InputError: the datasets differ in something else, or have runs in common; the error names it, with both values.
            A policy of yours has other code in `more`.

    Example:
        >>> problem = jb.Problem([0.9, 0.5], fractions=0.1)
        >>> results = jb.simulate(problem, "ucb1", horizon=100, seeds=8)
        >>> more = jb.simulate(problem, "moss", horizon=100, seeds=8)
        >>> jb.combine(results, more).policy.values.tolist()
        ['ucb1', 'moss']
        >>> later = jb.simulate(problem, "ucb1", horizon=100, seeds=4, first_seed=8)
        >>> jb.combine(results, later).sizes["seed"]
        12
    """
    first, second = read_runs(results, "results"), read_runs(more, "more")
    joined_configs.check_same_problem(first.configs[0], second.configs[0])
    variables.check_same_problem(first.data, second.data)
    _warn_of_other_bits(first.data, second.data)
    metrics = [metric for metric in first.metrics if metric in second.metrics]
    if set(first.labels).isdisjoint(second.labels):
        _check_same_seeds(first.seeds, second.seeds)
        joined = variables.with_policies(first.data, second.data.isel(seed=_places(second.seeds, first.seeds)))
    else:
        joined_configs.check_same_policies(first.configs, second.configs)
        programs.check_same(first.data.attrs, second.data.attrs, first.metrics, second.metrics)
        _check_other_seeds(first, second)
        in_order = second.data.isel(policy=_places(second.labels, first.labels))
        joined = variables.with_seeds(first.data, in_order)
        joined = _numbered(joined, [*first.seeds, *second.seeds])
    _warn_of_variables(first.data, second.data, joined)
    parts = joined_configs.with_recorded([*first.configs, *second.configs], metrics, joined)
    return joined.assign_attrs(
        _attributes(first.data.attrs, second.data.attrs),
        seeds=joined.sizes["seed"],
        config=joined_configs.write_configs(joined_configs.merge_configs(parts)),
    )


def _places(held: Sequence[Held], order: Sequence[Held]) -> list[int]:
    """The place in `held` of each element of `order`."""
    places = {one: place for place, one in enumerate(held)}
    return [places[one] for one in order]


def _check_same_seeds(first: list[Seed], second: list[Seed]) -> None:
    """Raise an error unless both have the same runs of each policy."""
    if sorted(first) == sorted(second):
        return
    keys, other_keys = ([*dict.fromkeys(key for key, _ in seeds)] for seeds in (first, second))
    if len(keys) == len(other_keys) == 1 and keys != other_keys:
        raise differing("simulation.key", other_keys[0], keys[0])
    raise differing("seed", seeds_in_words(second), seeds_in_words(first))


def _check_other_seeds(first: Runs, second: Runs) -> None:
    """Raise an error unless both have the same policies, and no run twice."""
    labels = set(first.labels)
    shared = [label for label in second.labels if label in labels]
    twice = sorted(set(first.seeds) & set(second.seeds))
    if twice:
        words = f"must not be in both with the same runs (seeds {seeds_in_words(twice)})"
        if len(shared) < len(second.labels):
            words += f"; more.drop_sel(policy={shared}) has only the new policies"
        raise InputError("policy", shared, words)
    others = sorted({*first.labels} ^ {*second.labels})
    if others:
        words = "must be in both where the seeds differ, since each policy needs the same runs"
        raise InputError("policy", others, words)


def _numbered(joined: xr.Dataset, seeds: list[Seed]) -> xr.Dataset:
    """The dataset with its seeds in order; with several keys, numbered from 0."""
    keys = list(dict.fromkeys(key for key, _ in seeds))
    order = sorted(range(len(seeds)), key=lambda i: (keys.index(seeds[i][0]), seeds[i][1]))
    joined = joined.drop_vars([KEY, NUMBER], errors="ignore").isel(seed=order)
    numbers = np.array([seeds[i][1] for i in order], np.int64)
    if len(keys) == 1:
        return joined.assign_coords(seed=numbers)
    about = {"long_name": "the number of the run among the runs of its key"}
    own = np.array([seeds[i][0] for i in order], np.uint64)
    return joined.assign_coords(
        {
            "seed": np.arange(len(seeds)),
            KEY: ("seed", own, {"long_name": "the key of the run"}),
            NUMBER: ("seed", numbers, about),
        }
    )


def _warn_of_other_bits(first: xr.Dataset, second: xr.Dataset) -> None:
    """Warn about versions, dtypes and kinds of devices with which the same run may differ."""
    for name in _VERSIONS:
        one, two = first.attrs.get(name), second.attrs.get(name)
        if one != two:
            words = f"the results are of different versions ({name}: {one} and {two}), which may simulate differently"
            warn(words)
    for name in _MACHINES:
        kinds = [_kinds(data, name) for data in (first, second)]
        if all(kinds) and kinds[0] != kinds[1]:
            what = "dtypes" if name == "dtype" else "kinds of devices"
            both = f"{first.attrs[name]} and {second.attrs[name]}"
            warn(f"the results are of different {what} ({both}): the same run may differ between them")


def _kinds(data: xr.Dataset, name: str) -> set[str]:
    """The dtypes, or the kinds of devices, that computed results; empty where they do not say."""
    parts = str(data.attrs.get(name, "")).split(", ")
    return {part.partition(" x ")[2] if name == "device" else part for part in parts} - {""}


def _warn_of_variables(first: xr.Dataset, second: xr.Dataset, joined: xr.Dataset) -> None:
    """Warn about what only one dataset has, naming a metric once."""
    lost = [str(name) for data in (first, second) for name in data.data_vars if name not in joined]
    endings = ("_stderr", "_final", "_runs")
    named = [name for name in lost if not any(name.removesuffix(end) in lost for end in endings if name.endswith(end))]
    if named:
        words = f"only one of the two has {', '.join(dict.fromkeys(named))}, which the joined results leave out"
        warn(words)


def _attributes(first: Mapping[str, object], second: Mapping[str, object]) -> dict[str, object]:
    """The attributes of the joined dataset, but for `config`: sums of seconds, and all versions and devices."""
    made = {name: value for name, value in first.items() if second.get(name) == value and name != "files"}
    if "imports" in first or "imports" in second:
        made["imports"] = imported_files.joined(first.get("imports"), second.get("imports"))
    made |= programs.joined(first, second)
    for name in (*_VERSIONS, *_MACHINES):
        texts = [str(held[name]) for held in (first, second) if name in held]
        if texts:
            made[name] = ", ".join(dict.fromkeys(part for text in texts for part in text.split(", ")))
    if all(name in held for held in (first, second) for name in (*_SECONDS, "rounds_per_second")):
        made |= {name: _number(first[name]) + _number(second[name]) for name in _SECONDS}
        rounds = sum(_number(held["rounds_per_second"]) * _number(held["run_seconds"]) for held in (first, second))
        made["rounds_per_second"] = rounds / _number(made["run_seconds"])
    return made


def _number(value: object) -> float:
    return float(value)  # type: ignore[arg-type]
