"""What an earlier run left in a folder of results: whose it is, and which files it lists as its own."""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w
import xarray as xr

from jaxbandit.core.errors import InputError
from jaxbandit.core.files.output_names import RESULTS, is_output
from jaxbandit.engine.host import fingerprint
from jaxbandit.engine.plan import Plan
from jaxbandit.experiments.configs import config as configs

LISTED = "files"  # the attribute of `results.nc` that names the files of its run, itself among them


@dataclass(frozen=True)
class Earlier:
    """The results in a folder.

    Attributes:
        config: the config that they record; None where there is none to read.
        files: the names of the files that their run wrote.
    """

    config: Mapping[str, Any] | None
    files: tuple[str, ...]


def earlier(out: Path) -> Earlier | None:
    """What an earlier run left in a folder; None where it has no `results.nc`."""
    path = out / RESULTS
    if not path.is_file():
        return Earlier(None, ()) if path.exists() or path.is_symlink() else None
    try:
        with xr.open_dataset(path, engine="h5netcdf") as found:
            about = dict(found.attrs)
        config = tomllib.loads(about["config"])
    except Exception:  # whatever the libraries say of a file that is none of ours, or damaged
        return Earlier(None, ())
    listed = str(about.get(LISTED, "")).split()
    return Earlier(config, tuple(name for name in listed if is_output(name)))  # no other file was ever ours


def check(out: Path, config: Mapping[str, Any], plan: Plan, force: bool) -> None:
    """Refuse to replace the results of another config, unless they are to be replaced.

    Raises:
        InputError: `force` is not set, and the results are another's, or cannot be read.
    """
    found = earlier(out)
    if found is None or force or same(config, found.config) or _digest(found.config) == fingerprint.digest(plan):
        return
    held = "the results of another config" if found.config is not None else f"a {RESULTS} that cannot be read"
    words = f"a folder without {held}; `--force` replaces them, and removes what else their run has written"
    raise InputError("--out", str(out), words)


def stamp(out: Path) -> tuple[int, ...]:
    """What tells the `results.nc` of a folder from one that is written later; empty where there is none."""
    try:
        found = (out / RESULTS).stat()
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size


def finished(out: Path, config: Mapping[str, Any], before: tuple[int, ...]) -> bool:
    """Whether a folder has the whole results of a config, every file of them, and not those of a stamp."""
    if stamp(out) in (before, ()):
        return False
    found = earlier(out)
    if found is None or not found.files or not same(config, found.config):
        return False
    return all((out / name).is_file() for name in found.files)


def same(config: Mapping[str, Any], other: Mapping[str, Any] | None) -> bool:
    """Whether two configs say the same of a run; how it is cut into blocks, and what is tuned, decides no results."""
    return other is not None and _deciding(config) == _deciding(other)


def _deciding(config: Mapping[str, Any]) -> Any:
    kept = {name: value for name, value in config.items() if name != "tuning"}
    if isinstance(kept.get("simulation"), Mapping):
        kept["simulation"] = {name: value for name, value in kept["simulation"].items() if name != "block"}
    return tomllib.loads(tomli_w.dumps(kept))  # as a file has them


def _digest(config: Mapping[str, Any] | None) -> str | None:
    """What tells the run of a config from others: two texts may say the same. None where it cannot be run here."""
    if config is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fingerprint.digest(configs.make_plan(config))
    except Exception:  # of another version, or of files that are gone
        return None
