"""What recording and changing means cost: the speed of a bare simulation against the speed with them, in one process.

The bare simulation records one metric at two rounds. The others record the default metrics at the default rounds, or
simulate means that change. All run in turns, and the median over the repetitions of each ratio to bare is printed.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import jaxbandit as jb
from benchmarks.report import RESULTS, save

POLICIES = ("ucb1", "hard-threshold-ucb", "lfg")
MEANS = [0.9, 0.8, 0.7, 0.6, 0.6, 0.4, 0.3, 0.2, 0.1, 0.05]
OWED = {"fractions": 0.05, "penalties": 0.45}
SUMMED = ["regret", "r_regret", "unfairness"]  # defined where means change, too


def cases(horizon: int) -> dict[str, tuple[jb.Problem, dict[str, Any]]]:
    """By name: a problem, and the arguments of `simulate`."""
    constant = jb.Problem(MEANS, **OWED)
    changes = [[1, MEANS], [horizon // 3, MEANS[::-1]], [horizon // 2, MEANS]]
    walk = {"start": MEANS, "sd": 0.02, "every": 100}
    bare: dict[str, Any] = {"metrics": ["penalized_regret"], "record": [1], "pulls_mean": False}
    return {
        "bare": (constant, bare),
        "defaults": (constant, {}),
        "constant means": (constant, {"metrics": SUMMED}),
        "two changes": (jb.Problem({"changes": changes}, **OWED), {"metrics": SUMMED}),
        "a walk": (jb.Problem({"walk": walk}, key=1, **OWED), {"metrics": SUMMED}),
    }


AGAINST = {"defaults": "bare", "two changes": "constant means", "a walk": "constant means"}


def main() -> None:
    """Time all cases in turns and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", nargs="+", default=POLICIES, metavar="KIND")
    parser.add_argument("--runs", type=int, default=65_536, help="runs of each policy")
    parser.add_argument("--horizons", type=int, nargs="+", default=[2_000, 20_000], metavar="T")
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    rows = []
    for horizon in chosen.horizons:
        worlds = cases(horizon)
        for kind in chosen.policies:
            speeds: dict[str, list[float]] = {name: [] for name in worlds}
            for repeat in range(chosen.repeats + 1):
                for name, (problem, given) in worlds.items():
                    results = jb.simulate(problem, kind, horizon=horizon, seeds=chosen.runs, **given)
                    if repeat:  # the first one compiles
                        speeds[name].append(float(results.attrs["rounds_per_second"]))
            for name, base in AGAINST.items():
                ratio = float(np.median(np.divide(speeds[name], speeds[base])))
                rows.append({"policy": kind, "horizon": horizon, "case": name, "against": base, "ratio": ratio})
                speed = np.median(speeds[name]) / 1e6
                print(f"{kind}, T = {horizon}: {name} {speed:.0f} M rounds/s, {ratio:.3f} of {base}", flush=True)
    print(save({"runs": chosen.runs, "repeats": chosen.repeats, "ratios": rows}, RESULTS, "-extras"))


if __name__ == "__main__":
    main()
