"""Every policy against a parallel Numba loop of the same work, and against MABWiser and SMPyBandits where they have it.

First the two must agree: the mean pulls of every arm, and under merit both mean regrets, within 5 standard errors of
their difference. Then they take turns, and the fastest of the repeats counts; compilation stands apart.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import Any

import jax
import matplotlib

matplotlib.use("Agg", force=False)
import matplotlib.pyplot as plt
import numba
import numpy as np
import xarray as xr

import jaxbandit as jb
from benchmarks.policies.numba_loops import Loop, loop_of
from benchmarks.policies.other_libraries import timing as others
from benchmarks.policies.problems import CASES, Case, untimed
from benchmarks.report import RESULTS, save, surroundings
from jaxbandit.experiments.plots.figures import STYLE

Row = dict[str, Any]

MOST_ERRORS = 5.0
ONE_SIDE = math.erfc(MOST_ERRORS / math.sqrt(2))  # chance that one comparison of normal means is a false alarm
COLOURS = {"jaxbandit": "#0072B2", "Numba": "#E69F00", "SMPyBandits": "#009E73", "MABWiser": "#CC79A7"}


def main() -> None:
    """Compare, print the table, keep it and draw it; exit with 1 where a loop and the simulator disagree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", nargs="+", default=list(CASES), choices=list(CASES), metavar="POLICY")
    parser.add_argument("--runs-scale", type=float, default=1.0, help="multiplies the number of runs of every policy")
    parser.add_argument("--repeats", type=int, default=3, help="timed calls of each, in turns; the fastest counts")
    parser.add_argument("--mabwiser", metavar="PYTHON", help="an interpreter that has MABWiser")
    parser.add_argument("--smpybandits", metavar="PYTHON", help="an interpreter that has SMPyBandits")
    parser.add_argument("--seconds", type=float, default=2.0, help="that each of those two plays a policy")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the JSON file and the figure")
    chosen = parser.parse_args()
    pythons = {"MABWiser": chosen.mabwiser, "SMPyBandits": chosen.smpybandits}
    about = surroundings()
    print(f"{about['device']}, {about['processor']}, {numba.get_num_threads()} Numba threads; M rounds/s, all runs")
    columns = ("jaxbandit", "Numba", "ratio", *pythons)
    print(f"{'policy':24}{'paper':6}" + "".join(f"{name:>12}" for name in columns), end="")
    print(f"{'compile, s':>12}{'Numba':>7}   agreement: largest difference in standard errors")
    rows = []
    for label in chosen.policies:
        case = CASES[label]
        row = measured(label, case, max(1, round(case.runs * chosen.runs_scale)), chosen.repeats)
        row["others"] = {name: elsewhere(name, python, case, chosen.seconds) for name, python in pythons.items()}
        rows.append(row)
        print(line(row), flush=True)
    absent = [name for name, python in pythons.items() if python is None]
    if absent:
        print(f"not measured, for want of an interpreter: {', '.join(absent)}")
    if set(chosen.policies) == set(CASES) and untimed():
        print(f"policies of the registry that nothing here times: {', '.join(untimed())}")
    count = sum(row["comparisons"] for row in rows)
    print(f"{count} comparisons at {MOST_ERRORS:g} errors: a false alarm in {count * ONE_SIDE:.1e} of such tables")
    path = save({"repeats": chosen.repeats, "false_alarm": count * ONE_SIDE, "rows": rows}, chosen.out)
    draw(rows, about, path.with_suffix(".png"))
    print(f"kept in {path.name} and {path.with_suffix('.png').name}")
    wrong = [row["policy"] for row in rows if not row["agrees"]]
    if wrong:
        raise SystemExit(f"the simulator and its loop disagree: {', '.join(wrong)}")


def measured(label: str, case: Case, runs: int, repeats: int) -> Row:
    """One line of the table."""
    problem, policy = case.problem, case.policy

    def ours(key: int) -> xr.Dataset:
        return jb.simulate(problem, policy, horizon=case.horizon, seeds=runs, key=key, record=2, metrics=case.metrics)

    begun = time.perf_counter()
    loop = loop_of(policy, problem, case.horizon)
    loop(1, 0)
    compiled = time.perf_counter() - begun
    first = ours(0)
    worst, count = disagreement(first, loop, case, runs)
    seconds: dict[str, list[float]] = {"jaxbandit": [], "numba": []}
    compilations = [first.attrs["compile_seconds"]]
    for repeat in range(1, repeats + 1):
        jax.clear_caches()  # it is compiled again
        made = ours(repeat).attrs
        compilations.append(made["compile_seconds"])
        seconds["jaxbandit"].append(made["run_seconds"])
        begun = time.perf_counter()
        loop(runs, repeat * runs)
        seconds["numba"].append(time.perf_counter() - begun)
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
        "compile_seconds": {"jaxbandit": min(compilations), "numba": compiled},
        "errors": worst,
        "comparisons": count,
        "agrees": worst <= MOST_ERRORS,
    }


def disagreement(results: xr.Dataset, loop: Loop, case: Case, runs: int) -> tuple[float, int]:
    """The largest difference of the means of both sides in its standard errors, and how many means were compared."""
    pulls, sums = loop(runs, 0)
    ours, theirs = [results["pulls"].values[0, 0]], [pulls]
    if "merit" in case.world:
        ours.append(np.stack([results[f"{name}_final"].values[0, 0] for name in case.metrics], axis=1))
        theirs.append(sums)
    a, b = np.concatenate(ours, axis=1, dtype=float), np.concatenate(theirs, axis=1, dtype=float)
    difference = np.abs(a.mean(axis=0) - b.mean(axis=0))
    error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / max(runs - 1, 1))
    with np.errstate(divide="ignore", invalid="ignore"):  # arms that all runs play alike have no error
        errors = np.where(difference > 0, difference / error, 0.0)
    return min(float(np.max(errors)), 1e6), difference.size  # JSON knows no infinity


def elsewhere(library: str, python: str | None, case: Case, seconds: float) -> Row | None:
    """The same policy in another library; None where that has no interpreter or no such policy."""
    problem = case.problem
    if python is None or case.paper:
        return None
    return others.ask(library, python, case.kind, problem.means[:, 0].tolist(), case.horizon, seconds)


def line(row: Row) -> str:
    """A line of the table as text."""
    speed, compiled = row["million_rounds_per_second"], row["compile_seconds"]
    text = f"{row['policy']:24}{row['paper']:6}{speed['jaxbandit']:12.2f}{speed['numba']:12.2f}"
    text += f"{speed['jaxbandit'] / speed['numba']:12.2f}"
    for made in row["others"].values():
        text += f"{'':12}" if made is None else f"{made['rounds'] / made['seconds'] / 1e6:12.4f}"
    text += f"{compiled['jaxbandit']:12.1f}{compiled['numba']:7.1f}   "
    return text + (f"{row['errors']:.1f}" if row["agrees"] else f"FAILED: {row['errors']:.1f} errors apart")


def draw(rows: list[Row], about: dict[str, Any], path: Path) -> None:
    """Speeds as bars, one pair a policy, the ratio beside; the other libraries as marks."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(7.2, 0.6 + 0.26 * len(rows)), layout="constrained")
        places = np.arange(len(rows))[::-1]
        for name, shift in (("jaxbandit", 0.2), ("Numba", -0.2)):
            speeds = [row["million_rounds_per_second"][name.lower()] for row in rows]
            axes.barh(places + shift, speeds, height=0.38, color=COLOURS[name], label=name)
        for name, marker in (("SMPyBandits", "s"), ("MABWiser", "o")):
            found = [(place, row["others"][name]) for place, row in zip(places, rows, strict=True)]
            marks = [(made["rounds"] / made["seconds"] / 1e6, place) for place, made in found if made]
            if marks:
                x, y = zip(*marks, strict=True)
                axes.plot(x, y, marker, markersize=5, color=COLOURS[name], markeredgecolor="white", label=name)
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
        axes.set_xlabel("million rounds a second, all runs together; beside the bars: jaxbandit over Numba")
        axes.set_title(f"{about['device']}, {about['processor']}, {about['cores']} cores", loc="left")
        axes.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.06 if len(rows) > 12 else -0.25), ncols=4, frameon=False
        )
        figure.savefig(path, bbox_inches="tight")
        plt.close(figure)


if __name__ == "__main__":
    main()
