"""Compare tuning by gradients with searches that simulate five times as many rounds, on three problems.

The results of both are evaluated on the policy itself (not relaxed), with new seeds. The script also measures how the
relaxed objective converges to that of the policy as the temperature falls, and times gradient steps.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import TypedDict

import matplotlib

matplotlib.use("Agg", force=False)
import matplotlib.pyplot as plt
import numpy as np

import jaxbandit as jb
from benchmarks.report import RESULTS, save
from benchmarks.tuning.tasks import TASKS, Task, penalty_rates
from jaxbandit.experiments.statistics import CONFIDENCE
from jaxbandit.tuning.gradient_program import GradientProgram

SEARCH_ROUNDS = 5  # rounds of a search divided by those of tuning
BATCH = 50  # candidates simulated in one call
EVALUATION_KEY = 1  # tuning and searches use key 0


class Row(TypedDict):
    """A value of the parameter, the rounds and seconds it took to find, and its metrics as [mean, half-width]."""

    value: list[float]
    rounds: int
    seconds: float
    metrics: dict[str, list[float]]


class Comparison(TypedDict):
    """The start, tuning and the searches of one task; the step of the tuned value; the trajectory of tuning."""

    rows: dict[str, Row]
    step: int
    trajectory: dict[str, list[float]]


class Convergence(TypedDict):
    """The relaxed objective by temperature, and the objective of the policy itself as [mean, half-width].

    Each row of `relaxed` is [temperature, mean, half-width, median norm, largest norm], with the norms of the gradients
    of single runs.
    """

    relaxed: list[list[float]]
    policy: list[float]


def interval(values: np.ndarray) -> list[float]:
    """The mean of independent values, and the half-width of its 95 % confidence interval."""
    return [float(values.mean()), float(CONFIDENCE * values.std(ddof=1) / math.sqrt(len(values)))]


def simulate(task: Task, candidates: np.ndarray, seeds: int, key: int) -> dict[str, np.ndarray]:
    """The metrics of each run of each candidate, `[n, seeds]`."""
    parts = []
    for first in range(0, len(candidates), BATCH):
        policies = [task.policy(value) for value in candidates[first : first + BATCH]]
        results = jb.simulate(
            task.problem, policies, horizon=task.horizon, seeds=seeds, key=key, record=1, metrics=task.metrics
        )
        parts.append({name: results[f"{name}_final"].values[:, 0] for name in task.metrics})
    return {name: np.concatenate([part[name] for part in parts]) for name in task.metrics}


def compare(task: Task, steps: int, seeds: int, evaluation_seeds: int) -> Comparison:
    """Tune, search, and evaluate what they find with new seeds."""
    started = time.perf_counter()
    tuned = jb.tuning.tune(
        task.problem, task.policy(np.asarray(task.start)), {task.parameter: task.start}, objective=task.objective,
        horizon=task.horizon, seeds=seeds, steps=steps, check=1, progress=True, **task.options,
    )  # fmt: skip
    found = {"start": (np.asarray(task.start), 0, 0.0)}
    found["tune"] = (np.asarray(tuned.values[task.parameter]), tuned.rounds, time.perf_counter() - started)
    rng = np.random.default_rng(0)
    for name, draw_candidates in task.searches.items():
        started = time.perf_counter()
        count = SEARCH_ROUNDS * tuned.rounds // (seeds * task.horizon)
        candidates = draw_candidates(count, rng)
        metrics = simulate(task, candidates, seeds, key=0)
        means = [{metric: float(metrics[metric][i].mean()) for metric in task.metrics} for i in range(count)]
        best = min(range(count), key=lambda i: task.rank(means[i]))
        found[name] = (candidates[best], count * seeds * task.horizon, time.perf_counter() - started)
    rows: dict[str, Row] = {
        name: {
            "value": np.ravel(value).tolist(), "rounds": rounds, "seconds": seconds,
            "metrics": evaluate(task, value, evaluation_seeds),
        }
        for name, (value, rounds, seconds) in found.items()
    }  # fmt: skip
    path = tuned.trajectory
    kept = {str(n): path[n].values.tolist() for n in path if str(n).startswith("hard_") or n == "multiplier"}
    return {"rows": rows, "step": tuned.step, "trajectory": kept}


def evaluate(task: Task, value: np.ndarray, seeds: int) -> dict[str, list[float]]:
    """The metrics of a value with new seeds, as [mean, half-width].

    With a budget, "with excess" is the minimised metric, plus 1 per unit above the budget if the mean exceeds it.
    """
    runs = {name: values[0] for name, values in simulate(task, value[None], seeds, EVALUATION_KEY).items()}
    metrics = {name: interval(values) for name, values in runs.items()}
    if task.limited is not None:
        excess = runs[task.limited] - task.most
        metrics["with excess"] = interval(runs[task.minimised] + (excess if excess.mean() > 0 else 0.0))
    return metrics


def converge(seeds: int) -> Convergence:
    """The penalized regret of experiment D with T = 1000, relaxed at falling temperatures, and of the policy itself."""
    problem = jb.Problem(
        [0.9, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1],
        fractions=0.0625,
        penalties=0.45,
        reward={"kind": "gaussian", "sd": 0.125},
    )
    rows = []
    for temperature in np.geomspace(0.3, 1e-3, 10).tolist():
        program = GradientProgram(
            problem, "hard-threshold-ucb", ["penalties"], "penalized_regret", "relaxed",
            horizon=1000, temperature=temperature, width=10 * temperature, key=0,
        )  # fmt: skip
        runs = program.runs({"penalties": program.tunables[0].start}, np.arange(seeds))
        norms = np.linalg.norm(runs.gradient["penalties"], axis=1)
        rows.append([temperature, *interval(runs.value), float(np.median(norms)), float(np.max(norms))])
    hard = jb.simulate(problem, "hard-threshold-ucb", horizon=1000, seeds=seeds, record=1, metrics=["penalized_regret"])
    return {"relaxed": rows, "policy": interval(hard.penalized_regret_final.values[0, 0])}


def time_steps(steps: int) -> float:
    """The seconds of gradient steps for K = 8, T = 1000 and 256 runs, with compilation."""
    started = time.perf_counter()
    jb.tuning.tune(
        penalty_rates().problem, "hard-threshold-ucb", {"penalties": [0.3] * 8}, objective="regret", horizon=1000,
        seeds=256, steps=steps, progress=True,
    )  # fmt: skip
    return time.perf_counter() - started


def draw(convergence: Convergence, path: Path) -> None:
    """Draw the relaxed objective and the norms of its gradients over the temperature."""
    rows = np.array(convergence["relaxed"])
    mean, half_width = convergence["policy"]
    with plt.rc_context(jb.plots.STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(6, 2.2), layout="constrained")
        axes[0].axhline(mean, color="#D55E00", label="policy itself")
        axes[0].axhspan(mean - half_width, mean + half_width, color="#D55E00", alpha=0.2, linewidth=0)
        axes[0].errorbar(rows[:, 0], rows[:, 1], rows[:, 2], marker="o", markersize=3, color="#0072B2", label="relaxed")
        axes[0].set_ylabel("penalized regret")
        axes[0].legend(frameon=False)
        axes[1].loglog(rows[:, 0], rows[:, 3], marker="o", markersize=3, color="#0072B2", label="median of 256 runs")
        axes[1].loglog(rows[:, 0], rows[:, 4], marker="s", markersize=3, color="#009E73", label="largest")
        axes[1].set_ylabel("norm of the gradient of a run")
        axes[1].legend(frameon=False)
        for axis in axes:
            axis.set_xscale("log")
            axis.set_xlabel("temperature (width = 10 x temperature)")
        figure.savefig(path, bbox_inches="tight")
        plt.close(figure)


def print_comparison(title: str, rows: dict[str, Row]) -> None:
    """Print the rows of a task."""
    print(f"\n{title}")
    for name, row in rows.items():
        metrics = ", ".join(f"{metric} {mean:.1f} ± {half:.1f}" for metric, (mean, half) in row["metrics"].items())
        print(f"  {name:20} {row['rounds']:14,} rounds {row['seconds']:7.0f} s  {metrics}")
        print(f"  {'':20} {np.round(row['value'], 3).tolist()}", flush=True)


def main() -> None:
    """Compare tuning with searches, print tables, and write a JSON file and a figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), choices=list(TASKS), metavar="TASK",
                        help=f"tasks to compare: {', '.join(TASKS)} (default: all)")  # fmt: skip
    parser.add_argument("--steps", type=int, default=60, help="gradient steps")
    parser.add_argument("--seeds", type=int, default=32, help="runs per gradient step and per candidate of a search")
    parser.add_argument("--evaluation-seeds", type=int, default=1024, help="new runs that evaluate what was found")
    parser.add_argument("--timed-steps", type=int, default=1000, help="gradient steps to time; 0 for none")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the JSON file and the figure")
    chosen = parser.parse_args()
    comparisons = {}
    for name in chosen.tasks:
        task = TASKS[name]()
        comparisons[name] = compare(task, chosen.steps, chosen.seeds, chosen.evaluation_seeds)
        print_comparison(task.title, comparisons[name]["rows"])
    sizes = {"steps": chosen.steps, "seeds": chosen.seeds, "evaluation_seeds": chosen.evaluation_seeds}
    results: dict[str, object] = {**sizes, "tasks": comparisons}
    results["convergence"] = convergence = converge(256)
    if chosen.timed_steps:
        seconds = time_steps(chosen.timed_steps)
        results["timed_steps"] = {"steps": chosen.timed_steps, "seconds": seconds}
        print(f"{chosen.timed_steps} gradient steps for K = 8, T = 1000, 256 runs: {seconds:.0f} s")
    path = save(results, chosen.out, "-tuning")
    draw(convergence, path.with_suffix(".png"))
    print(f"written: {path.name} and {path.with_suffix('.png').name}")


if __name__ == "__main__":
    main()
