"""Compare two processes with one process, for the same simulation; each process runs on one core.

The two results must be equal bit for bit.
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


def start_process(out: Path, core: int, number: int, processes: int, port: int) -> subprocess.Popen[bytes]:
    """Start one process of a run on one core."""
    distributed = ["--coordinator", f"127.0.0.1:{port}", "--processes", str(processes), "--process-id", str(number)]
    return subprocess.Popen(
        [sys.executable, "-m", "jaxbandit", "run", str(out.parent / "config.toml"), "--out", str(out)]
        + (distributed if processes > 1 else []),
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )


def timed_run(out: Path, cores: list[int]) -> tuple[float, xr.Dataset]:
    """Run the command with one process per core; returns the seconds from start to end, and the results."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started_at = time.perf_counter()
    running = [start_process(out, core, number, len(cores), port) for number, core in enumerate(cores)]
    if any(process.wait() for process in running):
        raise SystemExit("a process failed")
    seconds = time.perf_counter() - started_at
    with xr.open_dataset(out / "results.nc", engine="h5netcdf") as results:
        return seconds, results.load()


def main() -> None:
    """Run both, compare the results, and print the times as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20_000, help="runs of each policy")
    parser.add_argument("--repeats", type=int, default=2, help="runs of each command; the fastest counts")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    chosen = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))[:2]
    times: dict[str, list[dict[str, float]]] = {"one": [], "two": []}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.toml").write_text(CONFIG.format(seeds=chosen.seeds))
        for turn in range(chosen.repeats):  # in turns, because the load of the machine varies
            one_seconds, one_process = timed_run(Path(folder) / f"one{turn}", cores[:1])
            two_seconds, two_processes = timed_run(Path(folder) / f"two{turn}", cores)
            xr.testing.assert_identical(one_process.drop_attrs(deep=False), two_processes.drop_attrs(deep=False))
            for name, seconds, results in (("one", one_seconds, one_process), ("two", two_seconds, two_processes)):
                times[name].append({"run": float(results.attrs["run_seconds"]), "command": seconds})
    fastest = {name: min(runs, key=lambda run: run["run"]) for name, runs in times.items()}
    report = {
        "date": date.today().isoformat(),
        "device": one_process.attrs["device"],
        "seconds": times,
        "speedup": {part: fastest["one"][part] / fastest["two"][part] for part in ("run", "command")},
    }
    print(json.dumps(report, indent=2))
    if chosen.out is not None:
        chosen.out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
