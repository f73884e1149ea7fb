"""The simulations that a paper's figures are drawn from: files of `configs/`, and what is changed in them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from jaxbandit.core.files import checksums
from jaxbandit.environment.problem import Problem
from jaxbandit.experiments.configs import config as configs
from jaxbandit.papers.evidence import Claim

_PACKAGE = Path(__file__).parents[1]
FOLDER = next(place for place in (_PACKAGE / "configs", _PACKAGE.parent / "configs") if place.is_dir())


@dataclass(frozen=True)
class Experiment:
    """One simulation.

    Attributes:
        name: of its results.
        config: the config in full.
    """

    name: str
    config: dict[str, Any]


@dataclass(frozen=True)
class Drawn:
    """A figure of a report.

    Attributes:
        name: of its files.
        caption: what it shows, where the paper has it, and the sizes.
        figure: drawn.
    """

    name: str
    caption: str
    figure: Figure


@dataclass(frozen=True)
class Sizes:
    """How large a reproduction is.

    Attributes:
        quick: the same figures, small.
        log: the conversion log of 002 figure 3; None leaves that figure out.
    """

    quick: bool = False
    log: Path | None = None


class Data:
    """The results of a paper's experiments, read when they are asked for.

    Attributes:
        files: the results of each experiment by its name.
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

    def problem(self, name: str) -> Problem:
        """The problem of an experiment."""
        return configs.make_plan(tomllib.loads(self[name].attrs["config"])).problem


@dataclass(frozen=True)
class Paper:
    """What is reproduced of a paper.

    Attributes:
        number: "000" to "004".
        title: of the paper.
        experiments: what to simulate.
        figures: what to draw from the results.
        claims: what to weigh.
    """

    number: str
    title: str
    experiments: Callable[[Sizes], list[Experiment]]
    figures: Callable[[Data], Iterator[Drawn]]
    claims: tuple[Claim, ...]


def experiment(
    file: str, sizes: Sizes, quick: Sequence[str] = (), changes: Sequence[str] = (), name: str = ""
) -> Experiment:
    """An experiment from a file of `configs/`.

    Args:
        file: without its `.toml`.
        quick: changes for the small size, as for `--set`.
        changes: changes at any size; the small size's come after them.
        name: of the results; the file's by default.
    """
    small = ("simulation.seeds=20", *quick) if sizes.quick else ()
    return Experiment(name or file, configs.load(FOLDER / f"{file}.toml", [*changes, *small]))


def together(made: Sequence[Experiment], name: str) -> Experiment:
    """Experiments that differ in means, fractions and penalties alone, as the instances of one: vectors are fuller.

    Raises:
        ValueError: they differ in more.
    """
    rows = ("means", "fractions", "penalties")
    first = made[0].config
    arms = len(first["problem"]["means"])

    def rest(config: Mapping[str, Any]) -> dict[str, Any]:
        return {**config, "problem": {key: value for key, value in config["problem"].items() if key not in rows}}

    problem = dict(rest(first)["problem"])
    for key in rows:
        values = [one.config["problem"].get(key) for one in made]
        if values[0] is not None:
            problem[key] = [value if isinstance(value, list) else [value] * arms for value in values]
    if any(rest(one.config) != rest(first) for one in made):
        raise ValueError(f"{[one.name for one in made]} differ in more than {', '.join(rows)}")
    return Experiment(name, {**first, "problem": problem})
