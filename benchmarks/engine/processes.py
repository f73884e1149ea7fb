"""Two processes on two cores against one process on one core: the same simulation, each process held to its own core.

python benchmarks/processes.py [--seeds 20000]
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import xarray as xr

CONFIG = """
[simulation]
horizon = 20000
seeds = {seeds}
record = 50

[problem]
means = [0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
fractions = 0.05
penalties = 0.4

[[policies]]
kind = "hard-threshold-ucb"

[[policies]]
kind = "fucb"
"""


def start(out: Path, core: int, number: int, processes: int, port: int) -> subprocess.Popen[bytes]:
    """One process, on one core."""
    several = ["--coordinator", f"127.0.0.1:{port}", "--processes", str(processes), "--process-id", str(number)]
    return subprocess.Popen(
        [sys.executable, "-m", "jaxbandit", "run", str(out.parent / "config.toml"), "--out", str(out)]
        + (several if processes > 1 else []),
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )


def timed(out: Path, cores: list[int]) -> tuple[float, xr.Dataset]:
    """Seconds from start to end with a process a core, and the results."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    begun = time.perf_counter()
    started = [start(out, core, number, len(cores), port) for number, core in enumerate(cores)]
    if any(process.wait() for process in started):
        raise SystemExit("a process failed")
    seconds = time.perf_counter() - begun
    with xr.open_dataset(out / "results.nc", engine="h5netcdf") as results:
        return seconds, results.load()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a JSON file")
    asked = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))[:2]
    made: dict[str, list[dict[str, float]]] = {"one": [], "two": []}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.toml").write_text(CONFIG.format(seeds=asked.seeds))
        for turn in range(asked.repeats):  # in turns: the machine may be busier at times
            one, alone = timed(Path(folder) / f"one{turn}", cores[:1])
            two, both = timed(Path(folder) / f"two{turn}", cores)
            xr.testing.assert_identical(alone.drop_attrs(deep=False), both.drop_attrs(deep=False))
            for name, wall, results in (("one", one, alone), ("two", two, both)):
                made[name].append({"run": float(results.attrs["run_seconds"]), "whole": wall})
    best = {name: min(times, key=lambda t: t["run"]) for name, times in made.items()}
    report = {
        "date": date.today().isoformat(),
        "device": alone.attrs["device"],
        "seconds": made,
        "times as fast": {part: best["one"][part] / best["two"][part] for part in ("run", "whole")},
    }
    print(json.dumps(report, indent=2))
    if asked.out is not None:
        asked.out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
