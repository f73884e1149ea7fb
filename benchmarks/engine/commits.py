"""The speed of two checkouts of this repository, in turns: `python benchmarks/commits.py OLD NEW [--pairs 9]`.

Each has a process of its own, which compiles first. They simulate a policy one after the other, the order turned with
each pair. What is printed is the median over pairs of new over old rounds per second, with an interval that holds the
true median with 96 % or more (order statistics of the binomial distribution).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys

import numpy as np

CASES = {
    "ucb1": ({}, 16384, 20_000),
    "hard-threshold-ucb": ({}, 16384, 20_000),
    "lfg": ({}, 16384, 12_000),
    "thompson": ({}, 8192, 2_000),
    "fair-mmab": ({"plays": 3}, 8192, 6_000),
    "fcts-d": ({"plays": 3, "delay": {"kind": "geometric", "p": 0.05}}, 4096, 1_500),
}
WORLD = {
    "means": [0.9, 0.8, 0.7, 0.6, 0.5, 0.45, 0.4, 0.3, 0.2, 0.1],
    "fractions": 0.05,
    "penalties": 0.4,
    "merit": {"kind": "power", "scale": 2.0, "exponent": 4.0},
}
CHILD = """
import json, sys
import jaxbandit as jb
for line in sys.stdin:
    world, policy, seeds, horizon = json.loads(line)
    made = jb.simulate(world, policy, horizon=horizon, seeds=seeds, record=20, metrics=["regret", "unfairness"])
    print(json.dumps(made.attrs["run_seconds"]), flush=True)
"""


class Checkout:
    """A process that simulates with the package of a checkout."""

    def __init__(self, folder: str):
        environment = {**os.environ, "PYTHONPATH": os.path.abspath(folder)}
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", CHILD]
        self._process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)

    def seconds(self, name: str) -> float:
        """What a simulation of a case takes, without compilation."""
        more, seeds, horizon = CASES[name]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([{**WORLD, **more}, name, seeds, horizon]), file=self._process.stdin, flush=True)
        return float(json.loads(self._process.stdout.readline()))


def interval(values: np.ndarray) -> tuple[float, float]:
    """Two of the values between which the median lies with 96 % or more, or the outermost."""
    ordered, count, rank, missed = np.sort(values), len(values), 0, 0.5 ** len(values)
    while 2 * (missed + math.comb(count, rank + 1) * 0.5**count) <= 0.04 and rank + 1 < count // 2:
        rank += 1
        missed += math.comb(count, rank) * 0.5**count
    return float(ordered[rank]), float(ordered[count - 1 - rank])


def main() -> None:
    """Compare two checkouts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--policies", nargs="+", default=list(CASES), choices=list(CASES))
    parsed = parser.parse_args()
    both = Checkout(parsed.old), Checkout(parsed.new)
    for name in parsed.policies:
        for one in both:
            one.seconds(name)  # compiles
        ratios = []
        for pair in range(parsed.pairs):
            order = (0, 1) if pair % 2 == 0 else (1, 0)
            taken = {which: both[which].seconds(name) for which in order}
            ratios.append(taken[0] / taken[1])
        low, high = interval(np.array(ratios))
        print(f"{name}: new / old {np.median(ratios):.3f} ({low:.3f} to {high:.3f}), {parsed.pairs} pairs", flush=True)


if __name__ == "__main__":
    main()
