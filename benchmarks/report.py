"""Where and with what a benchmark ran, and where its results are kept."""

from __future__ import annotations

import datetime
import json
import platform
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import jax

from benchmarks.policies.other_libraries.timing import cores
from jaxbandit.core.provenance import device_name

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("jaxbandit", "jax", "jaxlib", "numpy", "numba")


def surroundings() -> dict[str, Any]:
    """The date, the device, the processor with its cores, and versions."""
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
    """Its name, and where the system tells them its family and model: one name may stand for several generations."""
    info = Path("/proc/cpuinfo")
    text = info.read_text() if info.exists() else ""
    found = [re.search(rf"^{key}\s*: (.*)", text, re.MULTILINE) for key in ("model name", "cpu family", "model")]
    if not all(found):
        return platform.machine()
    name, family, model = (match[1] for match in found if match)
    return f"{name} (family {family}, model {model})"


def save(made: dict[str, Any], folder: Path, name: str = "") -> Path:
    """Write results with their surroundings as JSON, named by date and device; the path."""
    about = surroundings()
    kind = re.sub(r"[^a-z0-9]+", "-", jax.devices()[0].device_kind.lower()).strip("-")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{about['date']}-{kind}{name}.json"
    path.write_text(json.dumps({**about, **made}, indent=1) + "\n")
    return path
