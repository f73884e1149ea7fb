"""Papers, the simulations behind their figures (files of `configs/` with changes), and the results of these."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxbandit.core.files import checksums
from jaxbandit.environment.problem import Problem
from jaxbandit.experiments.configs import config as configs
from jaxbandit.experiments.configs.grid import expanded
from jaxbandit.experiments.configs.installed_configs import CONFIGS

if TYPE_CHECKING:
    import xarray as xr

Config = dict[str, Any]  # TOML: the values of its tables are of any type
Changes = Mapping[str, object]  # by dotted config key, the value to set


@dataclass(frozen=True)
class Paper:
    """A paper that `jaxbandit reproduce` reproduces.

    Attributes:
        name: its name on the command line, in `configs/` and in reports.
        authors: as they are cited.
        title: its title.
        year: of its publication; None where there is none yet.
    """

    name: str
    authors: str
    title: str
    year: int | None = None

    @property
    def citation(self) -> str:
        """Authors, title and year in a line."""
        return f"{self.authors}: {self.title}" + ("" if self.year is None else f" ({self.year})")


@dataclass(frozen=True)
class Experiment:
    """One simulation.

    Attributes:
        name: the name of its results.
        config: its config in full.
        timed: whether its running time is a result, so that nothing else is computed beside it.
    """

    name: str
    config: Config
    timed: bool = False


@dataclass(frozen=True)
class Sizes:
    """How large a reproduction is.

    Attributes:
        quick: simulate smaller problems and fewer runs.
        conversion_log: the file that figure 3 of the merit paper needs; without it that figure is left out.
    """

    quick: bool = False
    conversion_log: Path | None = None


class Data:
    """The results of a paper's experiments. A file is read when its results are first asked for.

    Attributes:
        files: by the name of the experiment, the file of its results.
    """

    def __init__(self, files: Mapping[str, Path]):
        self.files = files
        self._read: dict[str, xr.Dataset] = {}

    def __getitem__(self, name: str) -> xr.Dataset:
        if name not in self._read:
            self._read[name] = checksums.load_checked(self.files[name])
        return self._read[name]

    def __contains__(self, name: str) -> bool:
        return name in self.files

    def config(self, name: str) -> Config:
        """The config of an experiment."""
        return tomllib.loads(self[name].attrs["config"])

    def problem(self, name: str) -> Problem:
        """The problem of an experiment."""
        return configs.make_plan(self.config(name)).problem


def experiment(
    file: str,
    sizes: Sizes,
    name: str,
    *,
    point: Changes | None = None,
    changes: Changes | None = None,
    quick: Changes | None = None,
) -> Experiment:
    """An experiment from a file of `configs/`.

    Args:
        file: its path below `configs/` without `.toml`, such as "merit/figure-1".
        sizes: the sizes of the reproduction.
        name: the name of the results.
        point: of a config with a `[grid]`, the point to simulate: the value of each varied key. A table may be given
            by its `kind`.
        changes: by dotted key, values that replace those of the file; `policies.4.eps` is a key of policy number 4.
        quick: likewise for the quick sizes alone, after `changes`. Quick sizes have 20 seeds where this sets no other.
    """
    config = at_point(configs.load(CONFIGS / f"{file}.toml"), point or {})
    small = {"simulation.seeds": 20, **(quick or {})} if sizes.quick else {}
    for key, value in {**(changes or {}), **small}.items():
        _set(config, key, value)
    return Experiment(name, config)


def at_point(config: Config, point: Changes) -> Config:
    """A config with one point of its `[grid]` in place of the grid.

    Raises:
        ValueError: `point` does not select exactly one point of the grid.
    """
    tables = [
        table
        for at, table in expanded(config["problem"], config.get("grid"))
        if all(_selects(value, at.get(key)) for key, value in point.items())
    ]
    if len(tables) != 1:
        raise ValueError(f"{dict(point)} selects {len(tables)} points of the grid")
    return {**{key: value for key, value in config.items() if key != "grid"}, "problem": tables[0]}


def grid_values(file: str, key: str) -> list[object]:
    """The values that a config's `[grid]` lists for a dotted key."""
    values = configs.load(CONFIGS / f"{file}.toml")["grid"]
    for part in key.split("."):
        values = values[part]
    return list(values)


def _selects(given: object, held: object) -> bool:
    return given == held or (isinstance(held, Mapping) and given == held.get("kind"))


def _set(config: Config, key: str, value: object) -> None:
    """Set the value of a dotted key."""
    *path, last = key.split(".")
    table: Any = config
    for part in path:
        table = table[int(part)] if isinstance(table, list) else table.setdefault(part, {})
    table[last] = value
