"""Rounds a second of every policy, compilation apart."""

from __future__ import annotations

import argparse

import numpy as np

import jaxbandit as jb
from jaxbandit.policy import Policy
from jaxbandit.results import device_name


def main() -> None:
    """Time the policies and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4096, help="runs of each policy")
    parser.add_argument("--horizon", type=int, default=5000, help="rounds of each run")
    chosen = parser.parse_args()
    problem = jb.Problem(np.linspace(0.9, 0.1, 10), fractions=0.05, penalties=0.45)
    print(f"{chosen.runs} runs of {chosen.horizon} rounds, K = 10, on {device_name()}")
    print(f"{'policy':24}{'M rounds/s':>12}{'compile, s':>12}")
    for kind in Policy.registry:
        results = jb.simulate(problem, kind, horizon=chosen.horizon, seeds=chosen.runs, record=10, metrics=["regret"])
        speed, compiled = results.attrs["rounds_per_second"] / 1e6, results.attrs["compile_seconds"]
        print(f"{kind:24}{speed:12.1f}{compiled:12.2f}", flush=True)


if __name__ == "__main__":
    main()
