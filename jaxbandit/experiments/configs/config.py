"""Configs: TOML to a checked simulation. Every complaint names the key, what it holds and what it may hold."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxbandit.core.errors import InputError, UnreadableError, short_repr, unknown_key, unknown_name
from jaxbandit.core.input_values import LARGEST
from jaxbandit.core.rationals import exact_fraction
from jaxbandit.engine import plan
from jaxbandit.engine.plan import Plan
from jaxbandit.engine.settings import Configuration, SimulationSettings, short
from jaxbandit.environment.problem import Problem
from jaxbandit.experiments.configs.grid import MOST, expanded
from jaxbandit.policies.base import Policy, policy

SECTIONS = ("simulation", "problem", "policies", "grid", "tuning")  # the last for `jaxbandit tune` alone
SIMULATION = ("horizon", "seeds", "key", "record", "metrics", "block", "until")
_LONGEST = 1 << 26  # bytes of a config
_PARTS = 100  # of a dotted key; TOML's own reader takes the square of the time of what they are
_STRING = r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\''
_APART = re.compile(rf"(?P<string>{_STRING})|#[^\n]*", re.DOTALL)  # strings and comments, in which dots part no keys
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{_PARTS}}}")
_PLACE = 80  # characters of a point of a grid, in an error


def load(path: Path, changes: Sequence[str] = ()) -> dict[str, Any]:
    """Read a config file and apply `--set` changes.

    Args:
        path: a TOML file.
        changes: `section.key=value` each, the value in TOML (a bare word is a string).

    Raises:
        InputError: no such file, no TOML, or a change that cannot be read.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_LONGEST + 1)
    except OSError as error:
        raise UnreadableError("CONFIG", str(path), (error.strerror or "no such file").lower()) from None
    except ValueError:  # a name that no file may have
        raise UnreadableError("CONFIG", str(path), "no file can have this name") from None
    if len(text) > _LONGEST:
        raise UnreadableError("CONFIG", str(path), f"larger than {_LONGEST >> 20} MiB")
    try:
        config = _parsed(text.decode())
    except ValueError as error:
        raise UnreadableError("CONFIG", str(path), f"not TOML: {error}") from None
    for change in changes:
        _apply(config, change)
    return config


def _parsed(text: str) -> dict[str, Any]:
    """TOML; a ValueError in words of one line for any other text."""
    if _LONG_KEY.search(_APART.sub(lambda found: "s" if found["string"] else "", text)):
        raise ValueError(f"a key has more than {_PARTS} parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # Python reads no decimal number of thousands of digits
        raise ValueError("a whole number has too many digits") from None
    except RecursionError:
        raise ValueError("lists or tables are nested too deep") from None


def _apply(config: dict[str, Any], change: str) -> None:
    dotted, equals, text = change.partition("=")
    if not equals or not dotted.strip():
        raise InputError("--set", change, "section.key=value")
    *path, last = [part.strip() for part in dotted.split(".")]
    if not all([*path, last]):
        raise InputError("--set", change, "section.key=value, a name between any two dots")
    if len(path) >= _PARTS:
        raise InputError("--set", change, f"section.key=value, the key of at most {_PARTS} parts")
    place: Any = config
    for part in path:
        if isinstance(place, list):  # policies.0.eta: by number, as they stand in the file
            places = {str(number): number for number in range(len(place))}
            if part not in places:
                raise InputError("--set", change, f"a number from 0 to {len(place) - 1} for {short_repr(dotted)}")
            held = place[places[part]]
        else:
            held = place.setdefault(part, {})
            if isinstance(held, str):  # reward = "gaussian" grows into a table when a parameter is set
                held = place[part] = {"kind": held}
        if not isinstance(held, dict | list):
            raise InputError("--set", change, f"a key of a table; {part} holds {short_repr(held)}")
        place = held
    if not isinstance(place, dict):
        raise InputError("--set", change, "section.key=value")
    place[last] = _value(text)


def _value(text: str) -> Any:
    """What stands behind the = of a change: TOML, else a string, as a bare word is."""
    try:
        parsed = _parsed(f"value = {text}")
    except ValueError:
        return text.strip()
    return parsed["value"] if list(parsed) == ["value"] else text.strip()


def make_plan(config: Mapping[str, Any]) -> Plan:
    """The plan of the simulation that a config describes, everything about it checked.

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
    made = problems(table(config, "problem"), config.get("grid"), settings.key)
    return plan.make_plan(made[0][1], crossed(configurations(config.get("policies"), settings.horizon), made), settings)


def table(config: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    """The table of a section.

    Raises:
        InputError: there is none.
    """
    held = config.get(section)
    if not isinstance(held, Mapping):
        raise InputError(section, held, f"a table [{section}]")
    return held


def problems(given: Mapping[str, Any], grid: Any, key: Any) -> list[tuple[dict[str, Any], Problem]]:
    """The problems of a `[problem]` table and a `[grid]` over it, each with its point: by key, the value there.

    Raises:
        InputError: a key at fault, or problems that differ in their numbers of arms or instances.
    """
    made: list[tuple[dict[str, Any], Problem]] = []
    for point, one in expanded(given, grid):
        try:
            problem = Problem.from_table(one, key)
        except InputError as error:
            where = _at(point)
            at = f" (at {where if len(where) <= _PLACE else where[:_PLACE] + '...'})" if point else ""
            raise error.with_key(error.key, at) from None
        shape = made[0][1].means.shape if made else problem.means.shape
        if problem.means.shape != shape:
            words = f"means of {shape[0]} arms and {shape[1]} instances throughout a grid"
            raise InputError("grid.problem.means", problem.means.T.tolist(), words)
        made.append((point, problem))
    return made


def crossed(policies: list[Configuration], problems: list[tuple[dict[str, Any], Problem]]) -> list[Configuration]:
    """Every policy on every problem of a grid."""
    if len(problems) == 1:
        return policies
    _few(len(policies) * len(problems), "grid", None)
    return distinct(
        [
            dataclasses.replace(
                configuration,
                label=f"{_name(configuration)} ({_at({**configuration.point, **point})})",
                problem=problem,
                point={**configuration.point, **point},
            )
            for configuration in policies
            for point, problem in problems
        ]
    )


def _name(configuration: Configuration) -> str:
    """What labels of a grid begin with."""
    return configuration.family if configuration.point else configuration.label


def configurations(tables: Any, horizon: int) -> list[Configuration]:
    """The labelled policies of `[[policies]]`; a list where a policy takes a number makes a grid.

    Args:
        tables: one table a policy.
        horizon: T, for parameters that scale with it.
    """
    if not isinstance(tables, Sequence) or isinstance(tables, str) or not tables:
        raise InputError("policies", tables, "one or more tables [[policies]], each with a kind")
    made = []
    for number, table in enumerate(tables):
        key = f"policies[{number}]"
        if not isinstance(table, Mapping):
            raise InputError(key, table, 'a table with a kind, as { kind = "ucb1" }')
        made += list(_grid(dict(table), key, horizon))
    return distinct(made)


def distinct(made: list[Configuration]) -> list[Configuration]:
    """The entries, if no two have one label.

    Raises:
        InputError: naming the label.
    """
    for label, times in Counter(configuration.label for configuration in made).items():
        if times > 1:
            raise InputError("policies.label", label, "a name of its own for each policy")
    return made


def _grid(table: dict[str, Any], key: str, horizon: int) -> Iterator[Configuration]:
    kind, label = table.pop("kind", None), table.pop("label", None)
    if not isinstance(kind, str):
        raise unknown_name(f"{key}.kind", kind, Policy.registry)
    if label is not None and not isinstance(label, str):
        raise InputError(f"{key}.label", label, "a string")
    label = label or _default_label(kind, table)
    lists = {name: value for name, value in table.items() if isinstance(value, list)}
    for name, values in lists.items():
        if not values:
            raise InputError(f"{key}.{name}", values, "at least one value")
    _few(math.prod(map(len, lists.values())), key, {name: len(values) for name, values in lists.items()})
    for chosen in itertools.product(*lists.values()):
        point = dict(zip(lists, chosen, strict=True))
        given = {name: _scaled(value, f"{key}.{name}", horizon) for name, value in {**table, **point}.items()}
        try:
            made = policy(kind, **given)
        except InputError as error:
            raise error.with_key(error.key.replace("policies", key, 1)) from None
        varied = {f"policies.{name}": value for name, value in point.items() if len(lists[name]) > 1}
        yield Configuration(f"{label} ({_at(varied)})" if varied else label, made, label, point=varied)


def _at(point: Mapping[str, Any]) -> str:
    """A point of a grid, as labels show it."""
    return ", ".join(f"{key.rpartition('.')[2]}={short(value)}" for key, value in point.items())


def _few(configurations: int, key: str, held: Any) -> None:
    if configurations > MOST:
        words = f"lists of at most {MOST} combinations, not {configurations}"
        raise InputError(key, held, words)


def _default_label(kind: str, table: Mapping[str, Any]) -> str:
    bases = [table[slot] for slot in ("base", "black_box") if isinstance(table.get(slot), str)]
    return "/".join([kind, *bases])


def _scaled(value: Any, key: str, horizon: int) -> Any:
    """A parameter that grows with the horizon: { scale = s, horizon_power = p } is s T^p."""
    if not isinstance(value, Mapping) or "kind" in value:  # a component has a kind
        return value
    words = "a number, or { scale = s, horizon_power = p } for s T^p"
    if set(value) != {"scale", "horizon_power"}:
        raise InputError(key, dict(value), words)
    scale, power = (exact_fraction(value[name], f"{key}.{name}") for name in ("scale", "horizon_power"))
    try:
        grows = abs(power * math.log(horizon)) < 700  # and T^p is a float; its digits may fill the memory else
        scaled = scale * horizon**power if grows else math.inf
    except OverflowError:
        scaled = math.inf
    if abs(scaled) > LARGEST:
        raise InputError(key, dict(value), f"{words} below {LARGEST:g}")
    return int(scaled) if scaled == int(scaled) else float(scaled)
