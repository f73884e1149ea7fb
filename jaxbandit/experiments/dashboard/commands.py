"""The commands that reproduce single points of results, as parts from which the page makes them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxbandit.core.users_code.contracts import is_user_defined
from jaxbandit.engine.settings import short
from jaxbandit.experiments.configs.grid import problem_axes
from jaxbandit.experiments.configs.policy_tables import default_label, leaves, lists
from jaxbandit.experiments.joining import imported_files
from jaxbandit.policies.base import Policy

if TYPE_CHECKING:
    import xarray as xr


def command_parts(results: xr.Dataset) -> dict[str, object]:
    """The parts of the commands for the page: `--set` changes of the config that `results.nc` holds.

    Returns:
        `families`: by the family, its tables `[[policies]]`, each as pairs of a key and its value in TOML, None for a
        key that a grid varies (a policy and a grid may have one family); `values`: by the varied key, the value in TOML
        of each coordinate's text; `changes`: further changes of the config; `grid`: whether a grid over the problem has
        to be removed; `imports`: the files to import ("FILE.py" for one that is not known); `missing`: why there are no
        commands, else empty.
    """
    try:
        config = tomllib.loads(results.attrs["config"])
    except (KeyError, TypeError, ValueError):
        return {"missing": "The results hold no config."}
    if "joined" in config:
        return {"missing": "The results were joined from several simulations; no one config gives all of them."}
    families: dict[str, list[list[list[str | None]]]] = {}
    values: dict[str, dict[str, str]] = {}
    for given in config.get("policies", []):
        varied = {name: held for name, held in lists(given).items() if len(held) > 1}
        parts = leaves(given) if any("." in name for name in varied) else given.items()  # as in `base.exploration = 1`
        pairs = [[name, None if name in varied else in_toml(held)] for name, held in parts if name != "label"]
        family = given.get("label") or default_label(str(given.get("kind")), given)
        families.setdefault(family, []).append(pairs)
        for name, held in varied.items():
            # the list of one element is one point: a list alone would be a grid
            by_text = {text: f"[{value}]" if value.startswith("[") else value for text, value in _by_text(held).items()}
            values.setdefault(f"policies.{name}", {}).update(by_text)
    for name, held in problem_axes(config.get("problem", {}), config.get("grid")).items():
        values.setdefault(f"problem.{name}", {}).update(_by_text(held))
    files = list(imported_files.read(results.attrs.get("imports")))
    if not files and any(_is_users(given.get("kind")) for given in config.get("policies", [])):
        files = ["FILE.py"]
    changes = []
    if "until" in config.get("simulation", {}):  # alone, a policy could need fewer seeds
        changes = [f"simulation.seeds={results.sizes['seed']}", 'simulation.until=""']
    return {
        "families": families,
        "values": values,
        "changes": changes,
        "grid": "grid" in config,
        "imports": files,
        "missing": "",
    }


def _is_users(kind: object) -> bool:
    """Whether a policy's class is a user's, which a command has to import."""
    held = Policy.registry.get(str(kind))
    return held is None or (isinstance(held, type) and is_user_defined(held))


def _by_text(held: Sequence[object]) -> dict[str, str]:
    """Values in TOML by the text that a coordinate and a label show."""
    return {short(value): in_toml(value) for value in held}


def in_toml(value: Any) -> str:
    """A value of a config as TOML in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(name)} = {in_toml(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(in_toml, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _string(value) if isinstance(value, str) else repr(value)


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("-", "_").replace("_", "a").isalnum()
    return name if bare else _string(name)


def _string(text: str) -> str:
    """A basic string of TOML: as in JSON, except that DEL must be escaped and other characters need not be."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
