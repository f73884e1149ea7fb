"""Speed over runs, arms, plays and horizon, with peak memory; compile time of every policy; time to the first figure.

Every point is measured in a process of its own, so that its peak memory is its own; the fastest of two calls counts.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import matplotlib

matplotlib.use("Agg", force=False)
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

import jaxbandit as jb
from benchmarks.policies.problems import CASES
from benchmarks.report import RESULTS, save
from jaxbandit.experiments.plots.figures import COLOURS, STYLE

Point = dict[str, Any]

POLICIES = ("ucb1", "hard-threshold-ucb", "kl-ucb", "thompson", "fair-mmab")
SWEEPS = {
    "runs": [10**power for power in range(7)],
    "arms": [2, 5, 10, 20, 50, 100, 200, 500, 1000],
    "plays": [1, 2, 4, 8, 16],
    "horizon": [100, 1000, 10_000, 100_000],
}
USUAL = {"arms": 10, "plays": 1, "runs": 4096}
MANY_ARMS = 32  # of the sweep over plays
DEAR = {"thompson": 20, "kl-ucb": 5}  # how many rounds of ucb1 one of theirs takes, about
MARKERS = "osD^v"
ROOT = Path(__file__).parents[2]
QUICKSTART = ROOT / "configs" / "quickstart.toml"


def main() -> None:
    """Measure, print the tables, keep them and draw them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", nargs="+", default=list(POLICIES), metavar="KIND")
    parser.add_argument("--sweeps", nargs="*", default=list(SWEEPS), choices=list(SWEEPS), metavar="SWEEP")
    parser.add_argument("--most", type=int, default=10**6, help="largest value of any sweep but the horizon's")
    parser.add_argument(
        "--rounds", type=float, default=1e8, help="rounds of ucb1 of ten arms that a point takes, about"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the JSON file and the figure")
    parser.add_argument("--point", help=argparse.SUPPRESS)  # what a process of its own measures, as JSON
    parser.add_argument("--compile", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.point or chosen.compile:
        print(json.dumps(compile_times() if chosen.compile else measured(**json.loads(chosen.point))))
        return
    points = []
    for sweep in chosen.sweeps:
        print(f"\n{sweep:>10}" + "".join(f"{kind:>32}" for kind in chosen.policies))
        print(f"{'':10}" + f"{'M rounds/s':>16}{'peak MiB':>16}" * len(chosen.policies))
        for value in (value for value in SWEEPS[sweep] if sweep == "horizon" or value <= chosen.most):
            made = [
                apart("--point", json.dumps(setting(kind, sweep, value, chosen.rounds))) for kind in chosen.policies
            ]
            points += [{"sweep": sweep, "value": value, **point} for point in made]
            cells = (f"{point['million_rounds_per_second']:16.3f}{point['peak_mib']:16.0f}" for point in made)
            print(f"{value:10}" + "".join(cells), flush=True)
    compiled = apart("--compile")
    print("\ncompile time, s")
    for label, seconds in compiled.items():
        print(f"{label:24}{seconds:8.2f}")
    first = first_figure()
    print(
        f"\nfrom process start to the first figure of {QUICKSTART.name}: {first['first_figure_seconds']:.1f} s", end=""
    )
    print(f"; to the end: {first['seconds']:.1f} s")
    path = save({"points": points, "compile_seconds": compiled, "quickstart": first}, chosen.out, "-scaling")
    draw(points, compiled, path.with_suffix(".png"))
    print(f"kept in {path.name} and {path.with_suffix('.png').name}")


def setting(kind: str, sweep: str, value: int, rounds: float) -> Point:
    """The arguments of `measured` for one point of a sweep, its horizon what the rounds allow."""
    point = {"kind": kind, **USUAL, sweep: value}
    if sweep == "plays":
        point["arms"] = MANY_ARMS
    if sweep == "horizon":
        point["runs"] = max(16, min(USUAL["runs"], round(rounds / DEAR.get(kind, 1) / value)))
    else:
        each = point["runs"] * point["arms"] / 10 * DEAR.get(kind, 1)
        point["horizon"] = int(min(max(rounds / each, 100), 10_000))
    return point


def measured(kind: str, runs: int, arms: int, plays: int, horizon: int) -> Point:
    """Speed and peak memory of one setting, in a process that has done nothing else."""
    fractions = round(0.5 * plays / arms, 6)
    problem = jb.Problem(np.linspace(0.9, 0.1, arms), plays=plays, fractions=fractions, penalties=0.45)
    made = [
        jb.simulate(problem, kind, horizon=horizon, seeds=runs, key=key, record=2, metrics=["regret"]) for key in (0, 1)
    ]
    seconds = min(results.attrs["run_seconds"] for results in made)
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    on_device = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use")  # a CPU tells none
    return {
        "kind": kind,
        "runs": runs,
        "arms": arms,
        "plays": plays,
        "horizon": horizon,
        "seconds": seconds,
        "million_rounds_per_second": runs * horizon / seconds / 1e6,
        "compile_seconds": made[0].attrs["compile_seconds"],
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20,
        "device_peak_mib": None if on_device is None else on_device / 2**20,
    }


def compile_times() -> dict[str, float]:
    """Seconds to compile each policy of `CASES`, one after the other in one process."""
    times = {}
    for label, case in CASES.items():
        results = jb.simulate(case.problem, case.policy, horizon=2, seeds=256, record=1, metrics=case.metrics)
        times[label] = results.attrs["compile_seconds"]
    return times


def apart(*arguments: str) -> Any:
    """What this script prints with other arguments, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.engine.scaling", *arguments], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def first_figure() -> dict[str, float]:
    """Seconds from the start of `jaxbandit run` on the README's example to its first PNG, and to its end."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        command = [sys.executable, "-m", "jaxbandit", "run", str(QUICKSTART), "--out", folder]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seen = None
        while process.poll() is None:
            if seen is None and any(Path(folder).rglob("*.png")):
                seen = time.perf_counter() - begun
            time.sleep(0.01)
        seconds = time.perf_counter() - begun
    if process.returncode:
        raise SystemExit(f"{' '.join(command[1:5])} failed")
    return {"first_figure_seconds": seconds if seen is None else seen, "seconds": seconds}


def draw(points: list[Point], compiled: dict[str, float], path: Path) -> None:
    """Speed over each sweep, memory over runs and arms, and compile times."""
    panels = [(sweep, "million_rounds_per_second", "million rounds a second") for sweep in SWEEPS]
    panels += [(sweep, "peak_mib", "peak memory, MiB") for sweep in ("runs", "arms")]
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(11, 6.2), layout="constrained")
        grid = figure.add_gridspec(2, 4)
        for place, (sweep, quantity, words) in enumerate(panels):
            axes = figure.add_subplot(grid[place % 2, place // 2])
            curves([point for point in points if point["sweep"] == sweep], quantity, axes)
            axes.set_xlabel(f"{sweep} (K = {MANY_ARMS})" if sweep == "plays" else sweep)
            axes.set_ylabel(words)
            if place == 0 and points:
                axes.legend(frameon=False)
        axes = figure.add_subplot(grid[:, 3])
        axes.barh(list(compiled)[::-1], list(compiled.values())[::-1], color="#0072B2")
        axes.margins(y=0.01)
        axes.set_xlabel("compile time, s")
        figure.savefig(path, bbox_inches="tight")
        plt.close(figure)


def curves(points: list[Point], quantity: str, axes: Axes) -> None:
    """One curve a policy: memory from 0, speed and the sweep on logarithmic axes with whole decades of speed."""
    kinds = dict.fromkeys(point["kind"] for point in points)
    for kind, marker in zip(kinds, MARKERS * len(kinds), strict=False):
        own = [point for point in points if point["kind"] == kind]
        x, y = [point["value"] for point in own], [point[quantity] for point in own]
        axes.plot(x, y, marker=marker, markersize=4, color=COLOURS.get(kind), label=kind)
    if not points:
        return
    axes.set_xscale("log", base=2 if max(point["value"] for point in points) < 100 else 10)
    plain = [axes.xaxis]
    if quantity == "peak_mib":
        axes.set_ylim(0, 1.1 * max(point[quantity] for point in points))
    else:
        axes.set_yscale("log")
        decades = [math.log10(point[quantity]) for point in points]
        axes.set_ylim(10 ** math.floor(min(decades)), 10 ** math.ceil(max(decades)))
        plain.append(axes.yaxis)
    for axis in plain:
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())


if __name__ == "__main__":
    main()
