"""Is tuning by gradients worth it? On three problems, beside searches that simulate five times as many rounds.

Both are judged on the policy itself (hard choices, hard thresholds), on seeds that neither has seen. Beside that: how
the relaxed objective goes to the policy's own as the temperature falls, and the time of 1000 steps.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg", force=False)
import matplotlib.pyplot as plt
import numpy as np

import jaxbandit as jb
from benchmarks.report import RESULTS, save
from jaxbandit.experiments.plots.style import STYLE
from jaxbandit.experiments.statistics import CONFIDENCE
from jaxbandit.tuning.gradient_program import GradientProgram

AHEAD = 5  # how many times the rounds of tuning a search is given
CHUNK = 50  # candidates simulated in one call
FRESH = 1  # the key of the seeds that judge; tuning and searches have key 0


@dataclass(frozen=True)
class Task:
    """A problem, what is tuned in it, and how it is searched.

    Attributes:
        made: a policy from the values of its parameters.
        minimised: the metric (maximised where it is `utility`).
        limited, most: the metric with a budget, and that budget; None where there is none.
        searches: by name, candidates from their number and a generator: an array `[n, ...]` of values.
        options: of `tune`.
    """

    problem: jb.Problem
    made: Callable[[Any], jb.Policy]
    start: dict[str, Any]
    minimised: str
    limited: str | None
    most: float
    searches: dict[str, Callable[[int, np.random.Generator], np.ndarray]]
    options: dict[str, Any]
    horizon: int = 10_000

    @property
    def objective(self) -> Any:
        """As `tune` takes it."""
        if self.limited is None:
            return self.minimised
        budget = {"metric": self.minimised, "limited": self.limited, "most": self.most, "multiplier": 0.5}
        return {"kind": "budget", **budget}

    @property
    def metrics(self) -> list[str]:
        return [self.minimised] if self.limited is None else [self.minimised, self.limited]

    def rank(self, means: dict[str, float]) -> tuple[float, float]:
        """What is better comes first: as `tune` chooses among its steps."""
        over = 0.0 if self.limited is None else max(means[self.limited] - self.most, 0.0)
        return over, -means[self.minimised] if self.minimised == "utility" else means[self.minimised]


def setting_d() -> Task:
    """000 D: eight penalties, one an arm, for the most reward with at most 1000 missed rounds."""
    means = [0.9, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
    return Task(
        problem=jb.Problem(means, fractions=0.0625, reward={"kind": "gaussian", "sd": 0.125}),
        made=lambda value: jb.policy("hard-threshold-ucb", penalties=np.broadcast_to(value, 8).tolist()),
        start={"penalties": [0.5] * 8},
        minimised="regret",
        limited="unfairness",
        most=1000.0,
        searches={
            "random": lambda n, rng: rng.uniform(0, 1, (n, 8)),
            "grid of one scale": lambda n, _: np.linspace(0, 1, n)[:, None],
        },
        options={"temperature": 0.01, "width": 2.0, "learning_rate": 0.03},
    )


def transfer_cost() -> Task:
    """004: the bonus of hard-threshold-ucb that is owed f(mu), for the most utility at transfer cost 0.4.

    The paper's own policy plays in phases, whose tests are not differentiable; its lambda is the price of a round
    withheld. Here a policy that is differentiable is told to keep f(mu), and its own price, A, is tuned for the utility
    at the paper's lambda: theory would take A = lambda.
    """
    means = np.array([0.2, 0.35, 0.5, 0.65, 0.8, 0.95])
    shares = np.floor(1e4 * np.exp(means) / np.exp(means).sum()) / 1e4
    return Task(
        problem=jb.Problem(means, fractions=shares.tolist(), penalties=0.4, opportunity={"kind": "softmax", "c": 1.0}),
        made=lambda value: jb.policy("hard-threshold-ucb", penalties=float(np.ravel(value)[0])),
        start={"penalties": 0.4},
        minimised="utility_regret",
        limited=None,
        most=0.0,
        searches={"grid": lambda n, _: np.linspace(0, 1, n)[:, None]},
        options={"temperature": 0.02, "width": 1.0, "learning_rate": 0.05},
    )


def queue_weight() -> Task:
    """003, theta1: the weight of rewards in lfg, for the least c-regret with at most 20 missed rounds."""
    return Task(
        problem=jb.Problem([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2], plays=3, fractions=0.1),
        made=lambda value: jb.policy("lfg", exploration=1.5, eta=float(np.ravel(value)[0])),
        start={"eta": 10.0},
        minimised="c_regret",
        limited="unfairness",
        most=20.0,
        searches={"grid": lambda n, _: np.geomspace(1, 1000, n)[:, None]},
        options={"temperature": 0.2, "width": 1.0, "learning_rate": 0.3, "constraint": "reparametrisation"},
    )


TASKS = {"000 D, 8 penalties": setting_d, "004, lambda": transfer_cost, "003 theta1, eta": queue_weight}


def simulated(task: Task, candidates: np.ndarray, seeds: int, key: int) -> dict[str, np.ndarray]:
    """The metrics of each run of each candidate, `[n, seeds]`."""
    parts = []
    for first in range(0, len(candidates), CHUNK):
        policies = [task.made(value) for value in candidates[first : first + CHUNK]]
        made = jb.simulate(
            task.problem, policies, horizon=task.horizon, seeds=seeds, key=key, record=1, metrics=task.metrics
        )
        parts.append({name: made[f"{name}_final"].values[:, 0] for name in task.metrics})
    return {name: np.concatenate([part[name] for part in parts]) for name in task.metrics}


def compared(task: Task, steps: int, seeds: int, fresh: int) -> dict[str, Any]:
    """Tuning and each search, and what they come to on fresh seeds."""
    begun = time.perf_counter()
    name = next(iter(task.start))
    made = jb.tuning.tune(
        task.problem, task.made(task.start[name]), task.start, objective=task.objective, horizon=task.horizon,
        seeds=seeds, steps=steps, check=1, progress=True, **task.options,
    )  # fmt: skip
    found = {"start": (np.asarray(task.start[name]), 0, 0.0)}
    found["tune"] = (made.values[name], made.rounds, time.perf_counter() - begun)
    rng = np.random.default_rng(0)
    for search, draw in task.searches.items():
        begun = time.perf_counter()
        count = AHEAD * made.rounds // (seeds * task.horizon)
        candidates = draw(count, rng)
        outcomes = simulated(task, candidates, seeds, key=0)
        means = [{metric: float(outcomes[metric][i].mean()) for metric in task.metrics} for i in range(count)]
        best = min(range(count), key=lambda i: task.rank(means[i]))
        found[search] = (candidates[best], count * seeds * task.horizon, time.perf_counter() - begun)
    rows = {}
    for label, (value, rounds, seconds) in found.items():
        runs = simulated(task, np.asarray(value)[None], fresh, FRESH)
        row = {"value": np.ravel(value).tolist(), "rounds": rounds, "seconds": seconds}
        for metric in task.metrics:
            half = CONFIDENCE * runs[metric][0].std(ddof=1) / math.sqrt(fresh)
            row[metric] = [float(runs[metric][0].mean()), float(half)]
        if task.limited is not None:  # a round above the budget costs 1, more than any round earns
            paid = runs[task.minimised][0]
            over = runs[task.limited][0] - task.most
            paid = paid + over if over.mean() > 0 else paid
            row["with overrun"] = [float(paid.mean()), float(CONFIDENCE * paid.std(ddof=1) / math.sqrt(fresh))]
        rows[label] = row
    path = made.trajectory
    kept = {str(n): path[n].values.tolist() for n in path if str(n).startswith("hard_") or n == "multiplier"}
    return {"rows": rows, "step": made.step, "trajectory": kept}


def temperatures(seeds: int) -> dict[str, Any]:
    """The relaxed penalised regret on 000 D with T = 1000 as the temperature falls, and the policy's own."""
    problem = jb.Problem(
        [0.9, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1],
        fractions=0.0625,
        penalties=0.45,
        reward={"kind": "gaussian", "sd": 0.125},
    )
    rows = []
    for temperature in np.geomspace(0.3, 1e-3, 10):
        program = GradientProgram(
            problem, "hard-threshold-ucb", ["penalties"], "penalized_regret", "relaxed",
            horizon=1000, temperature=float(temperature), width=float(10 * temperature), key=0,
        )  # fmt: skip
        runs = program.runs({"penalties": program.tunables[0].start}, np.arange(seeds))
        length = np.median(np.linalg.norm(runs.gradient["penalties"], axis=1))
        largest = np.max(np.linalg.norm(runs.gradient["penalties"], axis=1))
        half = CONFIDENCE * runs.value.std(ddof=1) / math.sqrt(seeds)
        rows.append([float(temperature), float(runs.value.mean()), float(half), float(length), float(largest)])
    hard = jb.simulate(problem, "hard-threshold-ucb", horizon=1000, seeds=seeds, record=1, metrics=["penalized_regret"])
    own = hard.penalized_regret_final.values[0, 0]
    return {"relaxed": rows, "hard": [float(own.mean()), float(CONFIDENCE * own.std(ddof=1) / math.sqrt(seeds))]}


def speed(steps: int) -> float:
    """Seconds of gradient steps for K = 8, T = 1000 and 256 runs, compiling included."""
    problem = setting_d().problem
    begun = time.perf_counter()
    jb.tuning.tune(
        problem, "hard-threshold-ucb", {"penalties": [0.3] * 8}, objective="regret", horizon=1000, seeds=256,
        steps=steps, progress=True,
    )  # fmt: skip
    return time.perf_counter() - begun


def draw(limit: dict[str, Any], path: Path) -> None:
    """The relaxed objective against the temperature, and the lengths of its gradient over runs."""
    rows = np.array(limit["relaxed"])
    hard, half = limit["hard"]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(6, 2.2), layout="constrained")
        axes[0].axhline(hard, color="#D55E00", label="the policy itself")
        axes[0].axhspan(hard - half, hard + half, color="#D55E00", alpha=0.2, linewidth=0)
        axes[0].errorbar(rows[:, 0], rows[:, 1], rows[:, 2], marker="o", markersize=3, color="#0072B2", label="relaxed")
        axes[0].set_ylabel("penalized regret")
        axes[0].legend(frameon=False)
        axes[1].loglog(rows[:, 0], rows[:, 3], marker="o", markersize=3, color="#0072B2", label="median of 256 runs")
        axes[1].loglog(rows[:, 0], rows[:, 4], marker="s", markersize=3, color="#009E73", label="largest")
        axes[1].set_ylabel("length of the gradient of a run")
        axes[1].legend(frameon=False)
        for axis in axes:
            axis.set_xscale("log")
            axis.set_xlabel("temperature (width: 10 times it)")
        figure.savefig(path, bbox_inches="tight")
        plt.close(figure)


def main() -> None:
    """Tune, search, judge, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), choices=list(TASKS), metavar="TASK")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=32, help="runs a step and candidate")
    parser.add_argument("--fresh", type=int, default=1024, help="runs that judge")
    parser.add_argument("--speed", type=int, default=1000, help="steps that are timed; 0: none")
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    results: dict[str, Any] = {"steps": chosen.steps, "seeds": chosen.seeds, "fresh": chosen.fresh, "tasks": {}}
    for label in chosen.tasks:
        task = TASKS[label]()
        results["tasks"][label] = made = compared(task, chosen.steps, chosen.seeds, chosen.fresh)
        print(f"\n{(TASKS[label].__doc__ or '').splitlines()[0]}")
        for row, cells in made["rows"].items():
            shown = ", ".join(
                f"{n} {v[0]:.1f} ± {v[1]:.1f}" for n, v in cells.items() if isinstance(v, list) and n != "value"
            )
            print(f"  {row:20} {cells['rounds']:14,} rounds {cells['seconds']:7.0f} s  {shown}", flush=True)
            print(f"  {'':20} {np.round(cells['value'], 3).tolist()}", flush=True)
    results["temperatures"] = temperatures(256)
    if chosen.speed:
        results["speed"] = {"steps": chosen.speed, "seconds": speed(chosen.speed)}
        print(f"{chosen.speed} steps for K = 8, T = 1000, 256 runs: {results['speed']['seconds']:.0f} s")
    path = save(results, chosen.out, "-tuning")
    draw(results["temperatures"], path.with_suffix(".png"))
    print(f"kept in {path.name} and {path.with_suffix('.png').name}")


if __name__ == "__main__":
    main()
