"""Measure speed and peak memory over runs, arms, plays and horizon, compile times, and the time to the first figure.

Every point is measured in a process of its own, since peak memory is a property of a process. The faster of two calls
counts.
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
from typing import TypedDict

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

POLICIES = ("ucb1", "hard-threshold-ucb", "kl-ucb", "thompson", "fair-mmab")
SWEEPS = {
    "runs": [10**power for power in range(8)],
    "arms": [2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000],
    "plays": [1, 2, 4, 8, 16],
    "horizon": [100, 1000, 10_000, 100_000, 1_000_000],
}
MOST_SEEDS = 5_000_000  # more runs are those of several equal instances
DEFAULT_RUNS, DEFAULT_ARMS = 4096, 10
MANY_ARMS = 32  # the number of arms in the sweep over plays
RELATIVE_COST = {"thompson": 20, "kl-ucb": 5}  # about the time of one of their rounds divided by that of ucb1
MARKERS = "osD^v"
ROOT = Path(__file__).parents[2]
QUICKSTART = ROOT / "configs" / "quickstart.toml"


class Size(TypedDict):
    """What one point simulates."""

    kind: str
    runs: int
    arms: int
    plays: int
    horizon: int


class Speed(Size):
    """What was measured at one point; `device_peak_mib` is None on a CPU."""

    seconds: float
    million_rounds_per_second: float
    compile_seconds: float
    peak_mib: float
    device_peak_mib: float | None


class Slope(TypedDict):
    """How the time of a round of all runs grows along a sweep: as value ** `exponent` from `first` to `last`."""

    kind: str
    sweep: str
    first: int
    last: int
    exponent: float


class Point(Speed):
    """A measured point of a sweep."""

    sweep: str
    value: int


def main() -> None:
    """Measure, print tables, and write a JSON file and a figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", nargs="+", default=list(POLICIES), metavar="KIND")
    parser.add_argument("--sweeps", nargs="*", default=list(SWEEPS), choices=list(SWEEPS), metavar="SWEEP")
    parser.add_argument(
        "--most", type=int, default=10**7, help="largest value of a sweep; the sweep over horizons ignores it"
    )
    parser.add_argument(
        "--rounds", type=float, default=1e8, help="time per point, as a number of rounds of ucb1 with ten arms (about)"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the JSON file and the figure")
    parser.add_argument("--point", help=argparse.SUPPRESS)  # a Size as JSON, to measure in this process
    parser.add_argument("--compile", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.point or chosen.compile:
        print(json.dumps(compile_times() if chosen.compile else measure(**json.loads(chosen.point))))
        return
    points = [point for sweep in chosen.sweeps for point in measure_sweep(sweep, chosen)]
    slopes = [slope for sweep in chosen.sweeps for slope in slopes_of(sweep, points)]
    print("\nexponents of time: a round of all runs takes a time that grows as value ** exponent")
    for slope in slopes:
        print("{kind:24}{sweep:>10} {first:>10,} to {last:>10,}: {exponent:5.2f}".format(**slope))
    compiled: dict[str, float] = json.loads(in_own_process("--compile"))
    print("\ncompile time, s")
    for label, seconds in compiled.items():
        print(f"{label:24}{seconds:8.2f}")
    quickstart = time_first_figure()
    print(f"\nseconds from process start to the first figure of {QUICKSTART.name}: ", end="")
    print(f"{quickstart['first_figure_seconds']:.1f}; to the end: {quickstart['seconds']:.1f}")
    path = save(
        {"points": points, "slopes": slopes, "compile_seconds": compiled, "quickstart": quickstart},
        chosen.out,
        "-scaling",
    )
    draw(points, compiled, path.with_suffix(".png"))
    print(f"written: {path.name} and {path.with_suffix('.png').name}")


def measure_sweep(sweep: str, chosen: argparse.Namespace) -> list[Point]:
    """Measure the points of one sweep, and print a line for each value."""
    print(f"\n{sweep:>10}" + "".join(f"{kind:>32}" for kind in chosen.policies))
    print(f"{'':10}" + f"{'M rounds/s':>16}{'peak MiB':>16}" * len(chosen.policies))
    points: list[Point] = []
    for value in (value for value in SWEEPS[sweep] if sweep == "horizon" or value <= chosen.most):
        sizes = [size_of_point(kind, sweep, value, chosen.rounds) for kind in chosen.policies]
        measured: list[Speed] = [json.loads(in_own_process("--point", json.dumps(size))) for size in sizes]
        points += [{"sweep": sweep, "value": value, **speed} for speed in measured]
        cells = (f"{speed['million_rounds_per_second']:16.3f}{speed['peak_mib']:16.0f}" for speed in measured)
        print(f"{value:10}" + "".join(cells), flush=True)
    return points


def slopes_of(sweep: str, points: list[Point]) -> list[Slope]:
    """The exponent of each policy from the third largest value of a sweep to the largest.

    More rounds do not change the time of one, so the exponent of a horizon should be 0; those of runs and arms 1.
    """
    found: list[Slope] = []
    own = [point for point in points if point["sweep"] == sweep]
    for kind in dict.fromkeys(point["kind"] for point in own):
        times = [(point["value"], point["seconds"] / point["horizon"]) for point in own if point["kind"] == kind]
        if len(times) < 2:
            continue
        (first, before), (last, after) = times[max(0, len(times) - 3)], times[-1]
        if sweep == "horizon":  # the runs differ: time per run
            runs = {point["value"]: point["runs"] for point in own if point["kind"] == kind}
            before, after = before / runs[first], after / runs[last]
        exponent = math.log(after / before) / math.log(last / first)
        found.append({"kind": kind, "sweep": sweep, "first": first, "last": last, "exponent": exponent})
    return found


def size_of_point(kind: str, sweep: str, value: int, rounds: float) -> Size:
    """The size of one point of a sweep: its horizon, or its number of runs, follows from the number of rounds."""
    cost = RELATIVE_COST.get(kind, 1)
    runs = value if sweep == "runs" else DEFAULT_RUNS
    arms = value if sweep == "arms" else MANY_ARMS if sweep == "plays" else DEFAULT_ARMS
    plays = value if sweep == "plays" else 1
    if sweep == "horizon":
        runs, horizon = max(16, min(DEFAULT_RUNS, round(rounds / cost / value))), value
    else:
        horizon = int(min(max(rounds / (runs * arms / 10 * cost), 100), 10_000))
    return {"kind": kind, "runs": runs, "arms": arms, "plays": plays, "horizon": horizon}


def measure(kind: str, runs: int, arms: int, plays: int, horizon: int) -> Speed:
    """Measure speed and peak memory of one size; call it in a process that has done nothing else."""
    fractions = round(0.5 * plays / arms, 6)
    instances = -(-runs // MOST_SEEDS)
    means = [np.linspace(0.9, 0.1, arms)] * instances
    problem = jb.Problem(means, plays=plays, fractions=fractions, penalties=0.45)
    calls = [
        jb.simulate(problem, kind, horizon=horizon, seeds=runs // instances, key=key, record=2, metrics=["regret"])
        for key in (0, 1)
    ]
    seconds = min(results.attrs["run_seconds"] for results in calls)
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes on macOS, in KiB elsewhere
    on_device = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use")  # a CPU has no such statistics
    return {
        "kind": kind,
        "runs": runs,
        "arms": arms,
        "plays": plays,
        "horizon": horizon,
        "seconds": seconds,
        "million_rounds_per_second": runs * horizon / seconds / 1e6,
        "compile_seconds": calls[0].attrs["compile_seconds"],
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20,
        "device_peak_mib": None if on_device is None else on_device / 2**20,
    }


def compile_times() -> dict[str, float]:
    """The seconds to compile each policy of `CASES`, one after the other in one process."""
    times = {}
    for label, case in CASES.items():
        results = jb.simulate(case.problem, case.policy, horizon=2, seeds=256, record=1, metrics=case.metrics)
        times[label] = float(results.attrs["compile_seconds"])
    return times


def in_own_process(*arguments: str) -> str:
    """Run this script with other arguments in a process of its own; returns the last line that it prints."""
    command = [sys.executable, "-m", "benchmarks.engine.scaling", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}:\n{done.stderr}")
    return done.stdout.splitlines()[-1]


def time_first_figure() -> dict[str, float]:
    """The seconds from the start of `jaxbandit run configs/quickstart.toml` to its first PNG, and to its end."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        command = [sys.executable, "-m", "jaxbandit", "run", str(QUICKSTART), "--out", folder]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        first_figure = None
        while process.poll() is None:
            if first_figure is None and any(Path(folder).rglob("*.png")):
                first_figure = time.perf_counter() - started
            time.sleep(0.01)
        seconds = time.perf_counter() - started
    if process.returncode:
        raise SystemExit(f"{' '.join(command[1:5])} failed")
    return {"first_figure_seconds": seconds if first_figure is None else first_figure, "seconds": seconds}


def draw(points: list[Point], compiled: dict[str, float], path: Path) -> None:
    """Draw speed over each sweep, peak memory over runs and arms, and compile times."""
    panels = [(sweep, "million_rounds_per_second", "million rounds per second") for sweep in SWEEPS]
    panels += [(sweep, "peak_mib", "peak memory, MiB") for sweep in ("runs", "arms")]
    with plt.rc_context(jb.plots.STYLE):
        figure = plt.figure(figsize=(11, 6.2), layout="constrained")
        grid = figure.add_gridspec(2, 4)
        for place, (sweep, quantity, title) in enumerate(panels):
            axes = figure.add_subplot(grid[place % 2, place // 2])
            draw_panel([point for point in points if point["sweep"] == sweep], quantity, axes)
            axes.set_xlabel(f"{sweep} (K = {MANY_ARMS})" if sweep == "plays" else sweep)
            axes.set_ylabel(title)
            if place == 0 and points:
                axes.legend(frameon=False)
        axes = figure.add_subplot(grid[:, 3])
        axes.barh(list(compiled)[::-1], list(compiled.values())[::-1], color="#0072B2")
        axes.margins(y=0.01)
        axes.set_xlabel("compile time, s")
        figure.savefig(path, bbox_inches="tight")
        plt.close(figure)


def draw_panel(points: list[Point], quantity: str, axes: Axes) -> None:
    """Draw one curve per policy. The memory axis starts at 0; the other axes are logarithmic."""
    kinds = dict.fromkeys(point["kind"] for point in points)
    heights = [point[quantity] for point in points]  # type: ignore[literal-required]
    for kind, marker in zip(kinds, MARKERS * len(kinds), strict=False):
        curve = [
            (point["value"], height) for point, height in zip(points, heights, strict=True) if point["kind"] == kind
        ]
        axes.plot(*zip(*curve, strict=True), marker=marker, markersize=4, color=jb.plots.COLOURS.get(kind), label=kind)
    if not points:
        return
    axes.set_xscale("log", base=2 if max(point["value"] for point in points) < 100 else 10)
    plain = [axes.xaxis]
    if quantity == "peak_mib":
        axes.set_ylim(0, 1.1 * max(heights))
    else:
        axes.set_yscale("log")
        axes.set_ylim(10 ** math.floor(math.log10(min(heights))), 10 ** math.ceil(math.log10(max(heights))))
        plain.append(axes.yaxis)  # type: ignore[arg-type]
    for axis in plain:
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())


if __name__ == "__main__":
    main()
