"""Time policies that select several arms per round, with 50 to 5000 arms, in nanoseconds per arm, round and run."""

from __future__ import annotations

import argparse

import numpy as np

import jaxbandit as jb
from jaxbandit.core.provenance import device_name

POLICIES = ("ucb1", "kl-ucb", "thompson", "fair-learn", "lfg", "fair-mmab", "ucb-lp", "ucb-pllp")
SIZES = ((50, 1), (50, 5), (500, 5), (5000, 50))  # (arms, plays)


def main() -> None:
    """Time the policies and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=16, help="runs of each policy")
    parser.add_argument("--horizon", type=int, default=1000, help="rounds of each run")
    parser.add_argument("--policies", nargs="+", default=POLICIES, metavar="KIND")
    chosen = parser.parse_args()
    print(f"{chosen.runs} runs of {chosen.horizon} rounds on {device_name()}; ns per arm, round and run")
    print(f"{'policy':14}" + "".join(f"{f'K={arms}, L={plays}':>16}" for arms, plays in SIZES))
    for kind in chosen.policies:
        times = [shortest_time(kind, arms, plays, chosen.runs, chosen.horizon) for arms, plays in SIZES]
        print(f"{kind:14}" + "".join(f"{time:16.1f}" for time in times), flush=True)


def shortest_time(kind: str, arms: int, plays: int, runs: int, horizon: int) -> float:
    """The shortest of three timings, in nanoseconds per arm, round and run."""
    means = np.random.default_rng(0).uniform(size=arms)
    problem = jb.Problem(means, plays=plays, fractions=0.5 * plays / arms)
    seconds = [
        jb.simulate(problem, kind, horizon=horizon, seeds=runs, record=2, metrics=["regret"]).attrs["run_seconds"]
        for _ in range(3)
    ]
    return 1e9 * float(min(seconds)) / (arms * runs * horizon)


if __name__ == "__main__":
    main()
