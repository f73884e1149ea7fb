"""Tune random problems with the defaults of `jb.tuning.tune`, and compare with a sweep and a CMA-ES.

    python -m benchmarks.tuning [--problems 40] [--first 0] [--only rivals|tune] [--quick] [--many]

The rivals are computed once per problem and kept in `results/tuning-rivals.json`. All results are judged on the same
fresh seeds. A problem is lost where

- the mean of the limited metric is above 1.005 times its budget plus 3 standard errors, or
- the objective is above 1.005 times that of the better rival that meets the budget, and above it by more than 3
  standard errors of the difference, seed by seed.

`--many` compares on hard-threshold-ucb with 50 penalty rates, against a CMA-ES of population 4 + 3 ln 50 and 200
generations; there a problem is also lost where tuning took longer than the CMA-ES. The exit code is 1 if any problem is
lost. With the full sizes, the rivals of a problem take about a minute on two cores, those of `--many` several minutes.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar

import jax
import numpy as np

import jaxbandit as jb
from benchmarks.report import RESULTS, machine, save
from benchmarks.tuning import rivals
from benchmarks.tuning.problem_generator import TuningProblem, draw_many_parameters, draw_problem
from benchmarks.tuning.rivals import Sizes

Found = TypeVar("Found")
JUDGE_KEY = 77
TOLERANCE, ERRORS = 0.005, 3.0  # a problem is lost by more than 0.5 % and by more than 3 standard errors


class Result(TypedDict):
    """What one method found on one problem. The standard errors are those of means over the judge's seeds."""

    value: list[float]
    minimised: float
    minimised_error: float
    limited: float
    limited_error: float
    seconds: float
    cpu_seconds: float
    notes: list[str]


class Row(TypedDict):
    """A problem with the results of the methods by name, and the verdict on `tune`."""

    task: dict[str, Any]
    results: dict[str, Result]
    lost: str


def tune_with_defaults(task: TuningProblem) -> jb.Policy:
    """The policy that `jb.tuning.tune` returns with its defaults. All that depends on its arguments stands here."""
    objective: str | dict[str, object] = task.minimised
    if task.limited is not None:
        objective = {"kind": "budget", "metric": task.minimised, "limited": task.limited, "most": task.budget}
    start = [task.start] * task.size if task.size else task.start
    tuned = jb.tuning.tune(
        task.bandit(), jb.policy(**task.policy), {task.parameter: start}, objective=objective, horizon=task.horizon
    )
    return tuned.policy


def read_value(policy: jb.Policy, parameter: str) -> list[float]:
    """The numbers of a policy's parameter, which may be one of its base or of its merit function."""
    owner, _, name = parameter.rpartition(".")
    holder: Any = getattr(policy, owner) if owner else policy
    if isinstance(holder, Mapping):  # a merit function that is described by a table
        return np.ravel(holder[name]).tolist()
    return np.ravel(getattr(holder if hasattr(holder, name) else holder.base, name)).tolist()


@dataclasses.dataclass(frozen=True)
class Timed(Generic[Found]):
    """What a search found, its wall time and processor time in seconds with compilation, and its warnings."""

    found: Found
    seconds: float
    cpu_seconds: float
    notes: list[str]


@dataclasses.dataclass(frozen=True)
class Judged:
    """The metrics of some policies on the judge's seeds, float64 `[policies, seeds]`; 0 without a budget."""

    minimised: np.ndarray
    limited: np.ndarray

    @staticmethod
    def of(task: TuningProblem, policies: Sequence[jb.Policy], seeds: int) -> Judged:
        """Simulate policies, all with the same fresh seeds."""
        labelled = {str(i): policy for i, policy in enumerate(policies)}
        results = jb.simulate(
            task.bandit(), labelled, horizon=task.horizon, seeds=seeds, key=JUDGE_KEY, record=1, metrics=task.metrics,
            pulls_mean=False,
        )  # fmt: skip
        minimised, *limited = (results[f"{name}_final"].isel(instance=0).values for name in task.metrics)
        return Judged(minimised, limited[0] if limited else np.zeros_like(minimised))

    def result(self, number: int, value: Sequence[float], search: Timed[Any]) -> Result:
        """The result of one of the policies, which has this value of its parameter."""
        (minimised, minimised_error), (limited, limited_error) = (
            mean_and_error(part[number]) for part in (self.minimised, self.limited)
        )
        return {
            "value": list(value), "minimised": minimised, "minimised_error": minimised_error, "limited": limited,
            "limited_error": limited_error, "seconds": search.seconds, "cpu_seconds": search.cpu_seconds,
            "notes": search.notes,
        }  # fmt: skip


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """The mean of numbers, one per seed, and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


def meets_budget(limited: np.ndarray, budget: float | None) -> bool:
    """Whether the mean of the limited metric is within the budget, up to the tolerance and the standard errors."""
    if budget is None:
        return True
    mean, error = mean_and_error(limited)
    return mean <= budget + TOLERANCE * abs(budget) + ERRORS * error


def verdict(judged: Judged, budget: float | None) -> str:
    """Why the first policy loses to the others: "budget", "objective", or "" if it does not."""
    if not meets_budget(judged.limited[0], budget):
        return "budget"
    feasible = [i for i in range(1, len(judged.minimised)) if meets_budget(judged.limited[i], budget)]
    if not feasible:
        return ""
    rival = judged.minimised[min(feasible, key=lambda i: judged.minimised[i].mean())]
    above, error = mean_and_error(judged.minimised[0] - rival)
    return "objective" if above > TOLERANCE * abs(rival.mean()) and above > ERRORS * error else ""


def timed(search: Callable[[], Found]) -> Timed[Found]:
    """Run a search and time it."""
    jax.clear_caches()  # every method compiles its own programs
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        wall, cpu = time.perf_counter(), time.process_time()
        found = search()
        seconds = time.perf_counter() - wall, time.process_time() - cpu
    return Timed(found, *seconds, list(dict.fromkeys(str(warning.message) for warning in caught)))


def compute_rivals(seed: int, many: bool, quick: bool) -> Row:
    """The results of the rivals on the problem of a seed."""
    prepare_process()
    task, sizes = (draw_many_parameters if many else draw_problem)(seed, quick=quick), sizes_of(many, quick)
    searches = {"sweep": rivals.sweep, "cma-es": rivals.cma_es}
    made = {name: timed(partial(search, task, sizes)) for name, search in searches.items()}
    judged = Judged.of(task, [task.policy_at(search.found) for search in made.values()], sizes.judge_seeds)
    results = {name: judged.result(i, made[name].found.tolist(), made[name]) for i, name in enumerate(made)}
    return {"task": dataclasses.asdict(task), "results": results, "lost": ""}


def tune_against(row: Row, many: bool, quick: bool) -> Row:
    """The row of a problem with the result of tuning, and the verdict."""
    prepare_process()
    task = TuningProblem(**row["task"])
    try:
        search = timed(partial(tune_with_defaults, task))
    except (jb.InputError, FloatingPointError) as error:
        return {**row, "lost": f"error: {error}"}
    others = [task.policy_at(np.array(result["value"])) for result in row["results"].values()]
    judged = Judged.of(task, [search.found, *others], sizes_of(many, quick).judge_seeds)
    lost = verdict(judged, task.budget)
    if many and not lost and search.seconds > row["results"]["cma-es"]["seconds"]:
        lost = "time"
    result = judged.result(0, read_value(search.found, task.parameter), search)
    return {**row, "results": {**row["results"], "tune": result}, "lost": lost}


def prepare_process() -> None:
    """Start JAX's backend, without programs kept on disk: times of all methods include compilation."""
    jax.config.update("jax_enable_compilation_cache", False)
    jax.devices()


def sizes_of(many: bool, quick: bool) -> Sizes:
    """The sizes of the rivals and of the judge."""
    if many:
        return rivals.MANY_QUICK if quick else rivals.MANY
    return rivals.QUICK if quick else rivals.FULL


def in_processes(work: Callable[[Any], Row], inputs: Sequence[Any], workers: int) -> Iterator[Row]:
    """The results of `work`, in the order of the inputs; with several workers, times are not comparable."""
    if workers == 1:
        yield from map(work, inputs)
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(work, inputs)


def line(row: Row) -> str:
    """A line of the table."""
    task = row["task"]
    budget = "no budget" if task["budget"] is None else f"{task['limited']} <= {task['budget']:g}"
    delay = task["problem"].get("delay", {"kind": "no delay"})["kind"]
    text = f"{task['seed']:4} {task['family']:11} {len(task['problem']['means']):2} arms, T {task['horizon']:4}, "
    text += f"{delay:11} {task['minimised']:16} {budget:22}"
    for name, result in row["results"].items():
        limited = "" if task["budget"] is None else f" at {result['limited']:.2f}"
        text += f" | {name} {result['minimised']:.2f}{limited}, {result['seconds']:.0f} s"
    return text + (f" | LOST: {row['lost'].splitlines()[0][:80]}" if row["lost"] else "")


def print_summary(rows: Sequence[Row]) -> None:
    """How many problems are lost, and how the times compare with those of the CMA-ES."""
    lost = [row["task"]["seed"] for row in rows if row["lost"]]
    print(f"lost: {len(lost)} of {len(rows)}" + (f" (seeds {', '.join(map(str, lost))})" if lost else ""))
    pairs = [(row["results"]["tune"], row["results"]["cma-es"]) for row in rows if "tune" in row["results"]]
    if pairs:
        wall = np.median([tuned["seconds"] / other["seconds"] for tuned, other in pairs])
        cpu = np.median([tuned["cpu_seconds"] / other["cpu_seconds"] for tuned, other in pairs])
        print(f"time of tuning / time of the CMA-ES, median: {wall:.2f} (processor time {cpu:.2f})")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=40, metavar="N", help="the number of problems (default: 40)")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the seed of the first (default: 0)")
    parser.add_argument("--only", choices=["rivals", "tune"], help="compute the rivals only, or tune against kept ones")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes; times need 1 (default)")
    parser.add_argument("--many", action="store_true", help="50 parameters instead of random problems")
    parser.add_argument("--quick", action="store_true", help="small problems, and rivals that simulate little")
    parser.add_argument("--again", action="store_true", help="compute kept rivals again")
    parser.add_argument("--rivals", type=Path, default=RESULTS / "tuning-rivals.json", help="the file of the rivals")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder of the results of tuning")
    return parser.parse_args()


def main() -> int:
    """Compute the rivals that are not kept yet, tune, print the table and write the results."""
    given = arguments()
    seeds = range(given.first, given.first + given.problems)
    part = ("many" if given.many else "random") + ("-quick" if given.quick else "")
    kept: dict[str, Any] = json.loads(given.rivals.read_text()) if given.rivals.exists() else {}
    rows: dict[str, Row] = kept.setdefault(part, {})
    missing = [seed for seed in seeds if given.again or str(seed) not in rows]
    if given.only == "tune" and missing:
        sys.exit(f"{given.rivals} has no rivals for seeds {missing}; run with --only rivals first")
    for row in in_processes(partial(compute_rivals, many=given.many, quick=given.quick), missing, given.workers):
        rows[str(row["task"]["seed"])] = row
        given.rivals.parent.mkdir(parents=True, exist_ok=True)
        given.rivals.write_text(json.dumps({**kept, **machine()}, indent=1) + "\n")
        print(line(row), flush=True)
    if given.only == "rivals":
        return 0
    tuned = []
    work = partial(tune_against, many=given.many, quick=given.quick)
    for row in in_processes(work, [rows[str(seed)] for seed in seeds], given.workers):
        tuned.append(row)
        print(line(row), flush=True)
    print_summary(tuned)
    print(f"written: {save({part: tuned}, given.out, f'-tuning-{part}').name}")
    return int(any(row["lost"] for row in tuned))


if __name__ == "__main__":
    sys.exit(main())
