"""Configs: from TOML files and tables to a checked plan. Each error names the key, its value and the rule."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxbandit.core.errors import InputError, UnreadableError, short_repr, unknown_key, unknown_name
from jaxbandit.core.input_values import LARGEST
from jaxbandit.core.rationals import exact_fraction
from jaxbandit.engine import plan
from jaxbandit.engine.host import garbage_collection
from jaxbandit.engine.plan import Plan
from jaxbandit.engine.settings import Configuration, SimulationSettings
from jaxbandit.environment.problem import Problem
from jaxbandit.experiments.configs.grid import MOST, Point, Table, expanded
from jaxbandit.experiments.configs.installed_configs import installed_file, near_name
from jaxbandit.experiments.configs.policy_tables import default_label, label_at, lists, point_text, with_values
from jaxbandit.experiments.configs.recorded_config import recorded_config
from jaxbandit.policies.base import Policy
from jaxbandit.policies.make_policy import policy

SECTIONS = ("simulation", "problem", "policies", "grid", "tuning")  # only `jaxbandit tune` reads the last
SIMULATION = (
    *("horizon", "seeds", "first_seed", "key", "record", "metrics", "runs", "trace", "pulls_mean", "ties"),
    "p_mean",
    *("block", "until", "gpu_kernel"),
)
_LONGEST = 1 << 26  # bytes of a config
_MOST_PARTS = 100  # of a dotted key; the time of TOML's own reader grows with their square
_STRING = r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\''
_NO_KEYS = re.compile(rf"(?P<string>{_STRING})|#[^\n]*", re.DOTALL)  # strings and comments: their dots part no keys
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{_MOST_PARTS}}}")
_LONGEST_POINT = 80  # characters of a grid's point in an error


class ProblemPoint(NamedTuple):
    """A problem of a grid.

    Attributes:
        point: the value of each varied config key; empty outside grids.
        problem: the problem there.
    """

    point: Point
    problem: Problem


def load(path: Path, changes: Sequence[str] = ()) -> Table:
    """Read a config and apply `--set` changes.

    Args:
        path: a TOML file, results (`results.nc`), which hold the config of their simulation, or the name of an
            installed config, such as "penalties/figure-2-k5".
        changes: `section.key=value` each, the value in TOML (a bare word is a string).

    Raises:
        InputError: the file is missing or not TOML, or a change cannot be applied.
    """
    try:
        if not path.exists():
            path = installed_file(path.as_posix()) or path
        text = recorded_config(path) if path.suffix == ".nc" else _content(path)
    except OSError as error:
        hint = near_name(path) if isinstance(error, FileNotFoundError) else ""
        raise UnreadableError("CONFIG", str(path), (error.strerror or "no such file").lower() + hint) from None
    except InputError:
        raise
    except ValueError:  # a name that no file may have
        raise UnreadableError("CONFIG", str(path), "no file can have this name") from None
    if len(text) > _LONGEST:
        raise UnreadableError("CONFIG", str(path), f"larger than {_LONGEST >> 20} MiB")
    try:
        config = _parse(text.decode("utf-8-sig"))  # editors of Windows begin files with a mark
    except ValueError as error:
        raise UnreadableError("CONFIG", str(path), f"not TOML: {error}") from None
    for change in changes:
        _apply_change(config, change)
    return config


def _content(path: Path) -> bytes:
    """The content of a file; of a larger one than a config may be, the beginning."""
    with path.open("rb") as file:
        return file.read(_LONGEST + 1)


def _parse(text: str) -> Table:
    """The tables of a TOML text.

    Raises:
        ValueError: no TOML; the message is one line.
    """
    if _LONG_KEY.search(_NO_KEYS.sub(lambda found: "s" if found["string"] else "", text)):
        raise ValueError(f"a key has more than {_MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # Python reads no decimal number of thousands of digits
        raise ValueError("a whole number has too many digits") from None
    except RecursionError:
        raise ValueError("lists or tables are nested too deep") from None


def _apply_change(config: Table, change: str) -> None:
    """Apply one `--set` change to a config."""
    form = "must have the form section.key=value"
    dotted, equals, text = change.partition("=")
    if not equals or not dotted.strip():
        raise InputError("--set", change, form)
    *path, last = [part.strip() for part in dotted.split(".")]
    if not all([*path, last]):
        raise InputError("--set", change, f"{form}, with a name between any two dots")
    if len(path) >= _MOST_PARTS:
        raise InputError("--set", change, f"{form}, with a key of at most {_MOST_PARTS} parts")
    place: Any = config
    for part in path:
        if isinstance(place, list):  # policies.0.eta: by number, as they stand in the file
            numbers = {str(number): number for number in range(len(place))}
            if part not in numbers:
                words = f"must name an entry of the list in {short_repr(dotted)} by a number from 0 to {len(place) - 1}"
                raise InputError("--set", change, words)
            held = place[numbers[part]]
        else:
            held = place.setdefault(part, {})
            if isinstance(held, str):  # reward = "gaussian" becomes a table when a parameter is set
                held = place[part] = {"kind": held}
        if not isinstance(held, dict | list):
            raise InputError("--set", change, f"cannot set a key of {part}: it is {short_repr(held)}, not a table")
        place = held
    if not isinstance(place, dict):
        words = "cannot set an entry of a list; set the list, such as problem.means=[0.9, 0.5]"
        raise InputError("--set", change, words)
    place[last] = _change_value(text)


def _change_value(text: str) -> Any:
    """The value of a change: TOML, else a string, so that a bare word is one."""
    try:
        parsed = _parse(f"value = {text}")
    except ValueError:
        return text.strip()
    return parsed["value"] if list(parsed) == ["value"] else text.strip()


def make_plan(config: Mapping[str, object]) -> Plan:
    """The plan of the simulation that a config describes, completely checked.

    Raises:
        InputError: naming the key at fault.
    """
    with garbage_collection.paused():
        return plan.make_plan(*read(config))


def read(config: Mapping[str, object]) -> tuple[Problem, list[Configuration], SimulationSettings]:
    """The problem, the configurations and the settings that a config describes: the arguments of `plan.make_plan`.

    Raises:
        InputError: naming the key at fault.
    """
    for section in config:
        if section not in SECTIONS:
            raise unknown_key(section, config[section], SECTIONS)
    given = table(config, "simulation")
    for name in given:
        if name not in SIMULATION:
            raise unknown_key(f"simulation.{name}", given[name], SIMULATION)
    for name in ("horizon", "seeds"):
        if name not in given:
            raise InputError(f"simulation.{name}", None, "a whole number >= 1")
    settings = SimulationSettings(**given)
    settings.check()
    points = problem_points(table(config, "problem"), config.get("grid"), settings.key)
    policies = policy_configurations(config.get("policies"), settings.horizon)
    return points[0].problem, on_every_problem(policies, points), settings


def table(config: Mapping[str, object], section: str) -> Mapping[str, Any]:
    """The table of a section.

    Raises:
        InputError: the section is missing or not a table.
    """
    held = config.get(section)
    if not isinstance(held, Mapping):
        raise InputError(section, held, f"a table [{section}]")
    return held


def problem_points(given: Mapping[str, object], grid: object, key: int) -> list[ProblemPoint]:
    """The problems of a `[problem]` table and a `[grid]` over it.

    Raises:
        InputError: a key at fault, or problems that differ in their numbers of arms or instances.
    """
    made: list[ProblemPoint] = []
    for point, one in expanded(given, grid):
        try:
            problem = Problem.from_table(one, key)
        except InputError as error:
            where = point_text(point)
            where = where if len(where) <= _LONGEST_POINT else where[:_LONGEST_POINT] + "..."
            raise error.with_key(error.key, f" (at {where})" if point else "") from None
        shape = made[0].problem.means.shape if made else problem.means.shape
        if problem.means.shape != shape:
            words = f"means of {shape[0]} arms and {shape[1]} instances, as at the other points of the grid"
            raise InputError("grid.problem.means", problem.means.T.tolist(), words)
        made.append(ProblemPoint(point, problem))
    return made


def on_every_problem(policies: list[Configuration], points: list[ProblemPoint]) -> list[Configuration]:
    """A configuration for each policy on each problem of a grid.

    Raises:
        InputError: there are too many.
    """
    if len(points) == 1:
        return policies
    _check_count(len(policies) * len(points), "grid", {"policies": len(policies), "problems": len(points)})
    return check_labels([_on_problem(configuration, at) for configuration in policies for at in points])


def _on_problem(configuration: Configuration, at: ProblemPoint) -> Configuration:
    """A policy on a problem of a grid. Its label shows the point in the policy's grid and in the problem's grid."""
    point = {**configuration.point, **at.point}
    name = configuration.family if configuration.point else configuration.label
    return dataclasses.replace(configuration, label=label_at(name, point), problem=at.problem, point=point)


def policy_configurations(tables: object, horizon: int) -> list[Configuration]:
    """The labelled policies of `[[policies]]`; a list where a policy takes a number makes a grid.

    Args:
        tables: one table per policy.
        horizon: T, for parameters that scale with it.

    Raises:
        InputError: a key at fault, or a label that occurs twice.
    """
    if not isinstance(tables, Sequence) or isinstance(tables, str) or not tables:
        raise InputError("policies", tables, "one or more tables [[policies]], each with a kind")
    made: list[Configuration] = []
    for number, one in enumerate(tables):
        key = f"policies[{number}]"
        if not isinstance(one, Mapping):
            raise InputError(key, one, 'a table with a kind, such as { kind = "ucb1" }')
        made += _expand_policy(dict(one), key, horizon)
    return check_labels(made)


def check_labels(configurations: list[Configuration]) -> list[Configuration]:
    """The configurations, if no two have the same label.

    Raises:
        InputError: naming the label.
    """
    for label, times in Counter(configuration.label for configuration in configurations).items():
        if times > 1:
            words = f"must be unique ({times} policies have this label): give one of them another `label`"
            raise InputError("policies.label", label, f"{words}, or leave out what stands twice in a grid")
    return configurations


def _expand_policy(given: Table, key: str, horizon: int) -> Iterator[Configuration]:
    """The configurations of a policy's table: one, or one per point of its grid."""
    kind, label = given.pop("kind", None), given.pop("label", None)
    if not isinstance(kind, str):
        raise unknown_name(f"{key}.kind", kind, Policy.registry)
    if label is not None and not isinstance(label, str):
        raise InputError(f"{key}.label", label, "a string")
    label = label or default_label(kind, given)
    axes = lists(given)
    for name, values in axes.items():
        if not values:
            raise InputError(f"{key}.{name}", values, "must have at least one value")
    _check_count(math.prod(map(len, axes.values())), key, {name: len(values) for name, values in axes.items()})
    for chosen in itertools.product(*axes.values()):
        varied = dict(zip(axes, chosen, strict=True))
        table = with_values(given, varied)
        parameters = {name: _scaled(value, f"{key}.{name}", horizon) for name, value in table.items()}
        try:
            made = policy(kind, **parameters)
        except InputError as error:
            raise error.with_key(error.key.replace("policies", key, 1)) from None
        point = {f"policies.{name}": value for name, value in varied.items() if len(axes[name]) > 1}
        yield Configuration(label_at(label, point), made, label, point=point)


def _check_count(count: int, key: str, lengths: Mapping[str, int]) -> None:
    """Raise an error if a grid has too many configurations; their number is the product of `lengths`."""
    if count > MOST:
        words = f"must make at most {MOST} configurations; the product of these numbers is {count}"
        raise InputError(key, dict(lengths), words)


def _scaled(value: Any, key: str, horizon: int) -> Any:
    """A parameter, at the horizon: { scale = s, horizon_power = p } is s T^p; any other value stays as it is."""
    if not isinstance(value, Mapping) or "kind" in value:  # a component has a kind
        return value
    words = "a number, or { scale = s, horizon_power = p } for s T^p"
    if set(value) != {"scale", "horizon_power"}:
        raise InputError(key, dict(value), words)
    scale, power = (exact_fraction(value[name], f"{key}.{name}") for name in ("scale", "horizon_power"))
    try:
        is_float = abs(power * math.log(horizon)) < 700  # else the digits of T^p may fill the memory
        scaled = scale * horizon**power if is_float else math.inf
    except OverflowError:
        scaled = math.inf
    if abs(scaled) > LARGEST:
        raise InputError(key, dict(value), f"{words} below {LARGEST:g}")
    return int(scaled) if scaled == int(scaled) else float(scaled)
