"""Compare the speed of two checkouts of this repository.

Each checkout simulates in a process of its own, which compiles first. The two processes run in turns, and the order is
swapped after each pair of runs. Printed is the median over pairs of new / old rounds per second, with a confidence
interval for the median of at least 96 % (from the order statistics).
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys

import numpy as np

# By policy: changes to PROBLEM, the number of seeds, and the horizon
CASES: dict[str, tuple[dict[str, object], int, int]] = {
    "ucb1": ({}, 16384, 20_000),
    "hard-threshold-ucb": ({}, 16384, 20_000),
    "lfg": ({}, 16384, 12_000),
    "thompson": ({}, 8192, 2_000),
    "fair-mmab": ({"plays": 3}, 8192, 6_000),
    "fcts-d": ({"plays": 3, "delay": {"kind": "geometric", "p": 0.05}}, 4096, 1_500),
}
PROBLEM = {
    "means": [0.9, 0.8, 0.7, 0.6, 0.5, 0.45, 0.4, 0.3, 0.2, 0.1],
    "fractions": 0.05,
    "penalties": 0.4,
    "merit": {"kind": "power", "scale": 2.0, "exponent": 4.0},
}
CHILD = """
import json, sys
import jaxbandit as jb
for line in sys.stdin:
    problem, policy, seeds, horizon = json.loads(line)
    results = jb.simulate(problem, policy, horizon=horizon, seeds=seeds, record=20, metrics=["regret", "unfairness"])
    print(json.dumps(results.attrs["run_seconds"]), flush=True)
"""


class Checkout:
    """A process that simulates with the package of a checkout."""

    def __init__(self, folder: str):
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", CHILD]  # imports from the working directory first
        self._process = subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, text=True)

    def seconds(self, name: str) -> float:
        """The seconds of one simulation of a case, without compilation."""
        changes, seeds, horizon = CASES[name]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([{**PROBLEM, **changes}, name, seeds, horizon]), file=self._process.stdin, flush=True)
        return float(json.loads(self._process.stdout.readline()))


def interval(values: np.ndarray) -> tuple[float, float]:
    """The narrowest pair of order statistics that encloses the median with probability 96 %, or else the extremes."""
    # `outside`: the probability that the median lies below the value of this rank
    ordered, count, rank, outside = np.sort(values), len(values), 0, 0.5 ** len(values)
    while 2 * (outside + math.comb(count, rank + 1) * 0.5**count) <= 0.04 and rank + 1 < count // 2:
        rank += 1
        outside += math.comb(count, rank) * 0.5**count
    return float(ordered[rank]), float(ordered[count - 1 - rank])


def main() -> None:
    """Compare two checkouts, policy by policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", help="folder of a checkout")
    parser.add_argument("new", help="folder of another checkout")
    parser.add_argument("--pairs", type=int, default=9, help="pairs of runs per policy")
    parser.add_argument("--policies", nargs="+", default=list(CASES), choices=list(CASES))
    chosen = parser.parse_args()
    checkouts = Checkout(chosen.old), Checkout(chosen.new)
    for name in chosen.policies:
        for checkout in checkouts:
            checkout.seconds(name)  # compiles the program
        ratios = []
        for pair in range(chosen.pairs):
            order = (0, 1) if pair % 2 == 0 else (1, 0)
            taken = {which: checkouts[which].seconds(name) for which in order}
            ratios.append(taken[0] / taken[1])
        low, high = interval(np.array(ratios))
        print(f"{name}: new / old {np.median(ratios):.3f} ({low:.3f} to {high:.3f}), {chosen.pairs} pairs", flush=True)


if __name__ == "__main__":
    main()
