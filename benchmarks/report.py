"""Writes the results of a benchmark, with the date, the machine and the versions of the packages."""

from __future__ import annotations

import datetime
import json
import platform
import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import TypedDict

import jax

from benchmarks.policies.other_libraries.timing import cores
from jaxbandit.core.provenance import device_name

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("jaxbandit", "jax", "jaxlib", "numpy", "numba")


class Machine(TypedDict):
    """When and where a benchmark ran. A package that is not installed has version None."""

    date: str
    device: str
    processor: str
    cores: int
    versions: dict[str, str | None]


def machine() -> Machine:
    """The date, the device, the processor with its number of cores, and the versions."""
    return {
        "date": datetime.date.today().isoformat(),
        "device": device_name(),
        "processor": _processor(),
        "cores": cores(),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    """The name of the processor, with family and model on Linux: several generations may share one name."""
    info = Path("/proc/cpuinfo")
    text = info.read_text() if info.exists() else ""
    found = [re.search(rf"^{key}\s*: (.*)", text, re.MULTILINE) for key in ("model name", "cpu family", "model")]
    if not all(found):
        return platform.machine()
    name, family, model = (match[1] for match in found if match)
    return f"{name} (family {family}, model {model})"


def save(results: Mapping[str, object], folder: Path, suffix: str = "") -> Path:
    """Write results with `machine()` to `FOLDER/DATE-DEVICE-SUFFIX.json`, and return the path."""
    about = machine()
    kind = re.sub(r"[^a-z0-9]+", "-", jax.devices()[0].device_kind.lower()).strip("-")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{about['date']}-{kind}{suffix}.json"
    path.write_text(json.dumps({**about, **results}, indent=1) + "\n")
    return path
