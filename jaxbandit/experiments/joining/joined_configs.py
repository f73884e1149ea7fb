"""The configs of joined results: compared, and merged into one config where one config gives all runs."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator, Mapping, Sequence

import tomli_w
import xarray as xr

from jaxbandit.core.errors import InputError, short_repr
from jaxbandit.engine.settings import SimulationSettings
from jaxbandit.experiments.configs import config as configs
from jaxbandit.experiments.configs.grid import Point, Table, expanded
from jaxbandit.experiments.configs.policy_tables import labels_of_policy

OTHER = "as in the other results"  # the end of errors about what differs
SEVERAL = "joined"  # the key of the list of configs, where one config cannot give all runs
RECORDING = ("runs", "trace", "pulls_mean")  # keys for what is kept beside the means of metrics
_COMPARED_ELSEWHERE = ("seeds", "first_seed", "key", "metrics", "record", *RECORDING)
_DECIDE_NOTHING = ("block", "until")  # when the runs are given


def read_configs(text: str) -> list[Table]:
    """The configs in the attribute `config` of a dataset.

    Raises:
        ValueError: not TOML, or no config.
    """
    config = tomllib.loads(text)
    parts = config.get(SEVERAL, [config])
    if not parts or not all(isinstance(part.get(name), dict) for part in parts for name in ("simulation", "problem")):
        raise ValueError("no config of a simulation")
    return parts


def write_configs(parts: Sequence[Table]) -> str:
    """The text for the attribute `config`: of one config, or of a list of them under the key `joined`."""
    return tomli_w.dumps(parts[0] if len(parts) == 1 else {SEVERAL: list(parts)})


def with_seeds(config: Table, first: int, count: int) -> Table:
    """The config that gives the runs `first`, ..., `first + count - 1`, without keys that affect no result."""
    given = {name: value for name, value in config["simulation"].items() if name not in _DECIDE_NOTHING}
    given = {"horizon": given["horizon"], **given, "seeds": count, "key": given.get("key", 0)}
    given.pop("first_seed", None)
    if first:
        given["first_seed"] = first
    kept = {name: value for name, value in config.items() if name != "tuning"}
    return {**kept, "simulation": given}


def with_policies_of(config: Table, labels: Sequence[str], families: Sequence[str]) -> Table:
    """The config without the policies that are not among `labels`, and with the labels that users have changed."""
    points = _points(config)
    own = [(table, labels_of_policy(table, points)) for table in config["policies"]]
    known, present = {label for _, of_table in own for label in of_table}, set(labels)
    renamed = {
        family: label for label, family in zip(labels, families, strict=True) if label not in known and family in known
    }
    kept = []
    for table, of_table in own:
        if len(of_table) == 1 and of_table[0] in renamed and of_table[0] not in present:
            kept.append({**table, "label": renamed[of_table[0]]})
        elif not present.isdisjoint(of_table):
            kept.append(table)
    return {**config, "policies": kept or config["policies"]}


def with_recorded(parts: Sequence[Table], metrics: Sequence[str], data: xr.Dataset) -> list[Table]:
    """The configs, made to record what a dataset has: these metrics, curves of runs, traces and mean pulls."""
    recorded: dict[str, object] = {"metrics": list(metrics)}
    if runs := [metric for metric in metrics if f"{metric}_runs" in data]:
        recorded["runs"] = runs
    if "arms" in data:
        recorded["trace"] = True
    means = [part["simulation"].get("pulls_mean") for part in parts]
    if any(held is not None for held in means):
        recorded["pulls_mean"] = "pulls_mean" in data
    names = ("metrics", *RECORDING)
    others = [{name: held for name, held in part["simulation"].items() if name not in names} for part in parts]
    return [{**part, "simulation": {**one, **recorded}} for part, one in zip(parts, others, strict=True)]


def labels(config: Table) -> list[str]:
    """The labels of all configurations of a config."""
    points = _points(config)
    return [label for table in config["policies"] for label in labels_of_policy(table, points)]


def _points(config: Table) -> list[Point]:
    """The points of the grid over the problem."""
    return [point for point, _ in expanded(config["problem"], config.get("grid"))]


# Comparison


def check_same_problem(first: Table, second: Table) -> None:
    """Raise an error unless two configs are of one problem and one horizon.

    Raises:
        InputError: naming a key of `second` that differs, with both values.
    """
    defaults = {field.name: field.default for field in dataclasses.fields(SimulationSettings)}
    one, two = (
        {name: part["simulation"].get(name, defaults.get(name)) for name in _other_settings(first, second)}
        for part in (first, second)
    )
    _check_equal(one, two, "simulation")
    _check_equal(_problems(first), _problems(second), "")


def _other_settings(first: Table, second: Table) -> list[str]:
    """The keys of `[simulation]` that have to be equal, the horizon first."""
    names = dict.fromkeys(["horizon", *first["simulation"], *second["simulation"]])
    return [name for name in names if name not in (*_COMPARED_ELSEWHERE, *_DECIDE_NOTHING)]


def _problems(config: Table) -> Table:
    """The problem of a config with all its values; as it is written where its classes are not known here."""
    given = {"problem": config["problem"], "grid": config.get("grid")}
    try:
        points = configs.problem_points(given["problem"], given["grid"], config["simulation"].get("key", 0))
    except InputError:
        return given
    if len(points) == 1:
        return {"problem": points[0].problem.as_table()}
    return {"grid": [point for point, _ in points], "problem": points[0].problem.as_table()}


def check_same_policies(first: Sequence[Table], second: Sequence[Table]) -> None:
    """Raise an error if a label stands for one policy in the first configs and for another one in the second.

    Raises:
        InputError: naming the label, with both policies.
    """
    one, two = _policies(first), _policies(second)
    for label in one.keys() & two.keys():
        if one[label] != two[label]:
            words = f"must be {short_repr(one[label], 160)}, {OTHER}; another policy needs another label"
            raise InputError(f"policies[{label}]", two[label], words)


def _policies(parts: Sequence[Table]) -> dict[str, Table]:
    """The table of each policy by its label, outside grids over the problem."""
    made = {}
    for part in parts:
        for table in part["policies"]:
            try:
                expanded_tables = configs.policy_configurations([table], part["simulation"]["horizon"])
            except InputError:  # its class is not known here
                made[str(table.get("label", table.get("kind")))] = dict(table)
            else:
                made |= {one.label: one.policy.as_table() for one in expanded_tables}
    return made


def _check_equal(first: Mapping[str, object], second: Mapping[str, object], key: str) -> None:
    for name in dict.fromkeys([*first, *second]):
        one, two = first.get(name), second.get(name)
        dotted = f"{key}.{name}" if key else name
        if isinstance(one, Mapping) and isinstance(two, Mapping):
            _check_equal(one, two, dotted)
        elif (
            isinstance(one, list)
            and isinstance(two, list)
            and any(short_repr(held) != repr(held) for held in (one, two))
        ):
            _check_equal_lists(one, two, dotted)
        elif one != two:
            raise differing(dotted, two, one)


def _check_equal_lists(first: list[object], second: list[object], key: str) -> None:
    """Raise an error that names the first place at which two lists differ, which are too long to be shown."""
    pairs = list(zip(first, second, strict=False))
    place = next((place for place, (one, two) in enumerate(pairs) if one != two), len(pairs))
    if len(first) == len(second) == place:
        return
    if place == len(pairs):
        held = f"{len(second)} values"
        raise InputError(key, held, f"must have {len(first)} values, {OTHER}; only policies and seeds can be added")
    one, two = pairs[place]
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        _check_equal(one, two, f"{key}[{place}]")
    elif isinstance(one, list) and isinstance(two, list):
        _check_equal_lists(one, two, f"{key}[{place}]")
    raise differing(f"{key}[{place}]", two, one)


def differing(key: str, held: object, expected: object) -> InputError:
    """The error about a value that has to be that of the results with which these are joined."""
    words = "must be missing" if expected is None else f"must be {short_repr(expected, 160)}"
    return InputError(key, held, f"{words}, {OTHER}")


# Merging


def merge_configs(parts: Sequence[Table]) -> list[Table]:
    """The configs, of one problem and horizon, merged while two of them describe the runs of one simulation."""
    merged = list(parts)
    while (found := next(_pairs(merged), None)) is not None:
        i, j, config = found
        merged[i] = config
        del merged[j]
    return merged


def _pairs(parts: Sequence[Table]) -> Iterator[tuple[int, int, Table]]:
    """The pairs that can be merged, each with its config."""
    for j in range(len(parts)):
        for i in range(j):
            config = _merged(parts[i], parts[j])
            if config is not None:
                yield i, j, config


def _merged(first: Table, second: Table) -> Table | None:
    """One config with the runs of both; None where there is none."""
    one, two = first["simulation"], second["simulation"]
    if one["key"] != two["key"]:
        return None
    (start, stop), (other_start, other_stop) = (
        (part.get("first_seed", 0), part.get("first_seed", 0) + part["seeds"]) for part in (one, two)
    )
    if (start, stop) == (other_start, other_stop):
        policies = _merged_policies(first, second)
        return None if policies is None else {**first, "policies": policies}
    if (stop != other_start and other_stop != start) or sorted(labels(first)) != sorted(labels(second)):
        return None
    return with_seeds(first, min(start, other_start), one["seeds"] + two["seeds"])


def _merged_policies(first: Table, second: Table) -> list[Table] | None:
    """The policies of both; a table with more points of a grid takes the place of a table with fewer."""
    points = _points(first)
    merged = [(dict(table), set(labels_of_policy(table, points))) for table in first["policies"]]
    for table in second["policies"]:
        own = set(labels_of_policy(table, points))
        shared = [i for i, (_, others) in enumerate(merged) if own & others]
        if not shared:
            merged.append((dict(table), own))
        elif all(merged[i][1] <= own for i in shared):
            merged[shared[0]] = dict(table), own
            merged = [pair for i, pair in enumerate(merged) if i not in shared[1:]]
        elif len(shared) > 1 or not own <= merged[shared[0]][1]:
            return None
    return [table for table, _ in merged]
