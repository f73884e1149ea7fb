"""Show which share of a policy's time draws rewards: with Bernoulli rewards, against rewards that are not drawn.

The engine does the same work per round whatever the rewards are, so the difference in time is that of the draws. Both
run in turns, and the median over the repetitions of each share is printed.
"""

from __future__ import annotations

import argparse

import numpy as np

import jaxbandit as jb
from benchmarks.policies.problems import CASES
from benchmarks.report import RESULTS, machine, save

POLICIES = ("explore-then-commit", "successive-elimination", "uniform-random", "ucb1")


def main() -> None:
    """Time the policies, print the shares and write a JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", nargs="+", default=POLICIES, choices=list(CASES), metavar="POLICY")
    parser.add_argument("--repeats", type=int, default=7, help="timed calls of each, in turns")
    chosen = parser.parse_args()
    about = machine()
    print(f"{about['device']}, {about['processor']}; million rounds/s, all runs")
    print(f"{'policy':24}{'Bernoulli':>12}{'constant':>12}{'share of draws':>18}")
    rows = []
    for label in chosen.policies:
        case = CASES[label]
        drawn = case.problem
        problems = {"bernoulli": drawn, "constant": drawn.replace(reward="constant")}
        seconds: dict[str, list[float]] = {name: [] for name in problems}
        for repeat in range(chosen.repeats + 1):
            for name, problem in problems.items():
                results = jb.simulate(
                    problem, case.policy, horizon=case.horizon, seeds=case.runs, record=2, metrics=case.metrics
                )
                if repeat:  # the first one compiles
                    seconds[name].append(float(results.attrs["run_seconds"]))
        share = float(np.median(1 - np.divide(seconds["constant"], seconds["bernoulli"])))
        rounds = case.runs * case.horizon / 1e6
        speeds = {name: round(rounds / min(times), 1) for name, times in seconds.items()}
        print(f"{label:24}{speeds['bernoulli']:12.1f}{speeds['constant']:12.1f}{share:18.2f}", flush=True)
        rows.append({"policy": label, "million_rounds_per_second": speeds, "share of draws": round(share, 3)})
    print(f"written: {save({'repeats': chosen.repeats, 'rows': rows}, RESULTS, '-reward-draws').name}")


if __name__ == "__main__":
    main()
