"""The results of a previous run in an output directory: their config, and which files belong to them."""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import h5netcdf
import tomli_w

from jaxbandit.core.errors import InputError
from jaxbandit.core.files.output_names import RESULTS, is_output
from jaxbandit.engine.host import fingerprint
from jaxbandit.engine.plan import Plan
from jaxbandit.experiments.configs import config as configs
from jaxbandit.experiments.configs.grid import Table

FILES_ATTRIBUTE = "files"  # of `results.nc`: the names of its run's files, itself among them

Stamp = tuple[int, ...]  # tells a `results.nc` from one that is written later; empty where there is none


@dataclass(frozen=True)
class PreviousRun:
    """The results in an output directory.

    Attributes:
        config: the config that they record; None where none can be read.
        files: the names of the files that their run wrote.
    """

    config: Table | None
    files: tuple[str, ...]


def read_previous(out: Path, name: str = RESULTS) -> PreviousRun | None:
    """The previous run in an output directory, from a file that records its config; None where that is missing."""
    path = out / name
    if not path.is_file():
        return PreviousRun(None, ()) if path.exists() or path.is_symlink() else None
    try:
        with h5netcdf.File(path) as found:
            attributes = dict(found.attrs)
        config = tomllib.loads(attributes["config"])
    except Exception:  # of any kind, where the file is damaged or another program's
        return PreviousRun(None, ())
    names = str(attributes.get(FILES_ATTRIBUTE, "")).split()
    return PreviousRun(config, tuple(name for name in names if is_output(name)))  # no run writes other names


def check_replaceable(out: Path, config: Mapping[str, object], plan: Plan, force: bool) -> None:
    """Raise an error where a run would replace the results of another config, unless `force` is set.

    Raises:
        InputError: the results in the directory are of another config, or cannot be read.
    """
    found = read_previous(out)
    if found is None or force or is_same_run(config, found.config) or _digest(found.config) == fingerprint.digest(plan):
        return
    held = "the results of another config" if found.config is not None else f"a {RESULTS} that cannot be read"
    words = (
        f"a folder without {held}; `--force` replaces the old results and removes the other files of the earlier run"
    )
    if found.config is not None:
        words += ", `--add` keeps these results and adds the policies and seeds that they lack"
    raise InputError("--out", str(out), words)


def stamp(out: Path) -> Stamp:
    """The stamp of the `results.nc` in an output directory."""
    try:
        found = (out / RESULTS).stat()
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size


def is_finished(out: Path, config: Mapping[str, object], before: Stamp) -> bool:
    """Whether a directory holds all files of a run of the config, with a `results.nc` written since the stamp."""
    if stamp(out) in (before, ()):
        return False
    found = read_previous(out)
    if found is None or not found.files or not is_same_run(config, found.config):
        return False
    return all((out / name).is_file() for name in found.files)


def is_same_run(config: Mapping[str, object], other: Mapping[str, object] | None) -> bool:
    """Whether two configs describe the same run. The block size and [tuning] do not affect results."""
    return other is not None and _decisive(config) == _decisive(other)


def _decisive(config: Mapping[str, object]) -> Table:
    """The part of a config that affects results, as a file holds it."""
    kept = {name: value for name, value in config.items() if name != "tuning"}
    if isinstance(simulation := kept.get("simulation"), Mapping):
        kept["simulation"] = {name: value for name, value in simulation.items() if name != "block"}
    return tomllib.loads(tomli_w.dumps(kept))


def _digest(config: Mapping[str, object] | None) -> str | None:
    """The digest of a config's run, equal for two texts of the same run; None where the config cannot be run here."""
    if config is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fingerprint.digest(configs.make_plan(config))
    except Exception:  # of any kind, where it is a config of another version, or of files that are gone
        return None
