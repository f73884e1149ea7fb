"""Time every policy against a parallel Numba loop that does the same work, and against MABWiser and SMPyBandits.

Before the timing, the simulator and the Numba loop must agree: the mean number of selections of every arm, and with
merit both mean regrets, must be within 5 standard errors of their difference. Then the two run in turns, and the
fastest of the repeats counts. Compilation is timed separately.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import TypedDict

import jax
import matplotlib

matplotlib.use("Agg", force=False)
import matplotlib.pyplot as plt
import numba
import numpy as np
import xarray as xr
from matplotlib.axes import Axes

import jaxbandit as jb
from benchmarks.policies.numba_loops import Loop, loop_of
from benchmarks.policies.other_libraries.timing import Answer, ask
from benchmarks.policies.problems import CASES, Arguments, Case, untimed
from benchmarks.report import RESULTS, Machine, machine, save

MAX_ERRORS = 5.0  # the largest difference, in standard errors, with which two means agree
FALSE_ALARM = math.erfc(MAX_ERRORS / math.sqrt(2))  # probability per comparison of two normal means that are equal
COLOURS = {"jaxbandit": "#0072B2", "Numba": "#E69F00", "SMPyBandits": "#009E73", "MABWiser": "#CC79A7"}


class Row(TypedDict):
    """The measurements of one policy; times by "jaxbandit" and "numba"."""

    policy: str
    kind: str
    parameters: Arguments
    paper: str
    arms: int
    plays: int
    horizon: int
    runs: int
    seconds: dict[str, list[float]]
    million_rounds_per_second: dict[str, float]
    compile_seconds: dict[str, float]
    errors: float
    comparisons: int
    agrees: bool
    others: dict[str, Answer | None]


def main() -> None:
    """Time the policies, print a table and write a JSON file and a figure.

    The exit code is 1 if a policy and its Numba loop disagree.
    """
    chosen = parsed_arguments()
    pythons: dict[str, str | None] = {"MABWiser": chosen.mabwiser, "SMPyBandits": chosen.smpybandits}
    about = machine()
    print(f"{about['device']}, {about['processor']}, {numba.get_num_threads()} Numba threads; M rounds/s, all runs")
    columns = ("jaxbandit", "Numba", "ratio", *pythons)
    print(f"{'policy':24}{'paper':14}" + "".join(f"{name:>12}" for name in columns), end="")
    print(f"{'compile, s':>12}{'Numba':>7}   agreement: largest difference in standard errors")
    rows = []
    for label in chosen.policies:
        case = CASES[label]
        others = {name: other_library(name, python, case, chosen.seconds) for name, python in pythons.items()}
        row = measure(label, case, max(1, round(case.runs * chosen.runs_scale)), chosen.repeats, others)
        rows.append(row)
        print(table_line(row), flush=True)
    missing = [name for name, python in pythons.items() if python is None]
    if missing:
        print(f"not measured, because no interpreter was given: {', '.join(missing)}")
    if set(chosen.policies) == set(CASES) and untimed():
        print(f"policies of the registry that this script does not time: {', '.join(untimed())}")
    count = sum(row["comparisons"] for row in rows)
    print(f"{count} comparisons; probability of a false alarm in such a table: {count * FALSE_ALARM:.1e}")
    path = save({"repeats": chosen.repeats, "false_alarm": count * FALSE_ALARM, "rows": rows}, chosen.out)
    draw(rows, about, path.with_suffix(".png"))
    print(f"written: {path.name} and {path.with_suffix('.png').name}")
    wrong = [row["policy"] for row in rows if not row["agrees"]]
    if wrong:
        raise SystemExit(f"the simulator and the Numba loop disagree: {', '.join(wrong)}")


def parsed_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", nargs="+", default=list(CASES), choices=list(CASES), metavar="POLICY")
    parser.add_argument("--runs-scale", type=float, default=1.0, help="factor on the number of runs of every policy")
    parser.add_argument("--repeats", type=int, default=3, help="timed calls of each, in turns; the fastest counts")
    parser.add_argument("--mabwiser", metavar="PYTHON", help="an interpreter that has MABWiser")
    parser.add_argument("--smpybandits", metavar="PYTHON", help="an interpreter that has SMPyBandits")
    parser.add_argument(
        "--seconds", type=float, default=2.0, help="time for each policy of these two libraries (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the JSON file and the figure")
    return parser.parse_args()


def measure(label: str, case: Case, runs: int, repeats: int, others: dict[str, Answer | None]) -> Row:
    """Compare and time one policy and its Numba loop."""
    problem, policy = case.problem, case.policy

    def simulate(key: int) -> xr.Dataset:
        return jb.simulate(problem, policy, horizon=case.horizon, seeds=runs, key=key, record=2, metrics=case.metrics)

    started = time.perf_counter()
    loop = loop_of(policy, problem, case.horizon)
    loop(1, 0)
    numba_compilation = time.perf_counter() - started
    results = simulate(0)
    errors, count = disagreement(results, loop, case, runs)
    seconds: dict[str, list[float]] = {"jaxbandit": [], "numba": []}
    compilations = [results.attrs["compile_seconds"]]
    for repeat in range(1, repeats + 1):
        jax.clear_caches()  # so that the next call compiles again
        attributes = simulate(repeat).attrs
        compilations.append(attributes["compile_seconds"])
        seconds["jaxbandit"].append(attributes["run_seconds"])
        started = time.perf_counter()
        loop(runs, repeat * runs)
        seconds["numba"].append(time.perf_counter() - started)
    return {
        "policy": label,
        "kind": case.kind,
        "parameters": case.parameters,
        "paper": case.paper,
        "arms": problem.arms,
        "plays": problem.plays,
        "horizon": case.horizon,
        "runs": runs,
        "seconds": seconds,
        "million_rounds_per_second": {name: runs * case.horizon / min(s) / 1e6 for name, s in seconds.items()},
        "compile_seconds": {"jaxbandit": min(compilations), "numba": numba_compilation},
        "errors": errors,
        "comparisons": count,
        "agrees": errors <= MAX_ERRORS,
        "others": others,
    }


def disagreement(results: xr.Dataset, loop: Loop, case: Case, runs: int) -> tuple[float, int]:
    """The largest difference between means of the simulator and of the loop, in standard errors; and how many means.

    At most 1e6, since JSON has no infinity.
    """
    loop_pulls, loop_sums = loop(runs, 0)
    simulated, looped = [results["pulls"].values[0, 0]], [loop_pulls]
    if "merit" in case.problem_arguments:
        simulated.append(np.stack([results[f"{name}_final"].values[0, 0] for name in case.metrics], axis=1))
        looped.append(loop_sums)
    a, b = np.concatenate(simulated, axis=1, dtype=float), np.concatenate(looped, axis=1, dtype=float)
    difference = np.abs(a.mean(axis=0) - b.mean(axis=0))
    error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / max(runs - 1, 1))
    with np.errstate(divide="ignore", invalid="ignore"):  # the error is 0 for arms selected equally often in all runs
        errors = np.where(difference > 0, difference / error, 0.0)
    return min(float(np.max(errors)), 1e6), difference.size


def other_library(library: str, python: str | None, case: Case, seconds: float) -> Answer | None:
    """Time the same policy in another library; None without an interpreter or if the library has no such policy."""
    problem = case.problem
    if python is None or case.paper:
        return None
    return ask(library, python, case.kind, problem.means[:, 0].tolist(), case.horizon, seconds)


def table_line(row: Row) -> str:
    """One line of the printed table."""
    speed, compiled = row["million_rounds_per_second"], row["compile_seconds"]
    text = f"{row['policy']:24}{row['paper']:14}{speed['jaxbandit']:12.2f}{speed['numba']:12.2f}"
    text += f"{speed['jaxbandit'] / speed['numba']:12.2f}"
    for timed in row["others"].values():
        text += f"{'':12}" if timed is None else f"{timed['rounds'] / timed['seconds'] / 1e6:12.4f}"
    text += f"{compiled['jaxbandit']:12.1f}{compiled['numba']:7.1f}   "
    return text + (f"{row['errors']:.1f}" if row["agrees"] else f"FAILED: {row['errors']:.1f} standard errors")


def draw(rows: list[Row], about: Machine, path: Path) -> None:
    """Draw a bar per policy for jaxbandit and for Numba, with their ratio, and a mark for each other library."""
    with plt.rc_context(jb.plots.STYLE):
        figure, axes = plt.subplots(figsize=(7.2, 0.6 + 0.26 * len(rows)), layout="constrained")
        places = np.arange(len(rows))[::-1]
        for name, shift in (("jaxbandit", 0.2), ("Numba", -0.2)):
            speeds = [row["million_rounds_per_second"][name.lower()] for row in rows]
            axes.barh(places + shift, speeds, height=0.38, color=COLOURS[name], label=name)
        draw_other_libraries(axes, rows, places)
        for place, row in zip(places, rows, strict=True):
            speed = row["million_rounds_per_second"]
            note = f"{speed['jaxbandit'] / speed['numba']:.2g}x" if row["agrees"] else "disagree"
            axes.annotate(
                note, (max(speed.values()), place), (4, 0), textcoords="offset points", va="center", fontsize=7
            )
        axes.set_xscale("log")
        axes.set_yticks(
            places, [f"{row['policy']} ({row['paper']})" if row["paper"] else row["policy"] for row in rows]
        )
        axes.set_ylim(-0.7, len(rows) - 0.3)
        axes.margins(x=0.12)
        axes.set_xlabel("million rounds per second, summed over runs; beside the bars: speed of jaxbandit / Numba")
        axes.set_title(f"{about['device']}, {about['processor']}, {about['cores']} cores", loc="left")
        axes.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.06 if len(rows) > 12 else -0.25), ncols=4, frameon=False
        )
        figure.savefig(path, bbox_inches="tight")
        plt.close(figure)


def draw_other_libraries(axes: Axes, rows: list[Row], places: np.ndarray) -> None:
    """Draw a mark for every policy that another library was timed with."""
    for name, marker in (("SMPyBandits", "s"), ("MABWiser", "o")):
        timed = [(row["others"][name], place) for place, row in zip(places, rows, strict=True)]
        marks = [(found["rounds"] / found["seconds"] / 1e6, place) for found, place in timed if found]
        if marks:
            x, y = zip(*marks, strict=True)
            axes.plot(x, y, marker, markersize=5, color=COLOURS[name], markeredgecolor="white", label=name)


if __name__ == "__main__":
    main()
