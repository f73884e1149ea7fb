"""Mean selections beyond the five papers against plain NumPy simulators, which share nothing with the library.

    python tests/full/beyond_mean_pulls.py [runs]

Each policy plays three instances, of their own means, changes, groups and delays. Both simulate `runs` runs (default
10^5) with random numbers of their own, so that the difference of the means of N_k has a known standard error. The
largest difference over all arms must be below 5 standard errors: with 132 comparisons, a false alarm has probability
1e-4.
"""

import sys

import numpy as np
import reference_arrays

import jaxbandit as jb

T = 200
LONGER = {"fair-bandits": 900}  # its intervals overlap for long
INSTANCES = [
    {"means": [0.3, 0.5, 0.45, 0.7], "delay": 0.0},
    {"means": [[1, [0.9, 0.2, 0.6, 0.4]], [81, [0.1, 0.8, 0.3, 0.7]]], "delay": 0.3},
    {"means": [[1, [0.55, 0.5, 0.45, 0.4]], [51, [0.2, 0.5, 0.9, 0.1]], [141, [0.6, 0.7, 0.2, 0.65]]], "delay": 0.1},
]
POLICIES = [
    {"kind": "discounted-ucb", "discount": 0.97, "exploration": 0.7},
    {"kind": "sliding-window-ucb", "window": 60, "exploration": 0.7},
    {"kind": "discounted-thompson", "discount": 0.98},
    {"kind": "exp3", "eta": 0.07, "mix": 0.05},
    {"kind": "tsallis-inf"},
    {"kind": "fair-bandits", "delta": 0.5},
    {"kind": "calibrated-thompson"},
    {"kind": "min-probability", "base": "exp3", "eta": 0.1, "floor": 0.08},
    {"kind": "fair-learn", "base": "discounted-ucb", "discount": 0.97},
    {"kind": "lfg", "base": "discounted-ucb", "discount": 0.97},
    {"kind": "hard-threshold-ucb", "base": "discounted-ucb", "discount": 0.97},
]
GROUPS = {"groups": [[0, 2], [1]], "group_fractions": [0.3, 0.25], "group_penalties": [0.4, 0.3]}


def library(policy, instance, runs):
    """The mean of N_k(T) and its standard error."""
    means, p = instance["means"], instance["delay"]
    means = {"changes": means} if isinstance(means[0], list) else means
    delay = {"kind": "geometric", "p": 1 - p} if p else "none"
    problem = jb.Problem(means, delay=delay, **GROUPS)
    horizon = LONGER.get(policy["kind"], T)
    results = jb.simulate(problem, policy, horizon=horizon, seeds=runs, record=1, metrics=["regret"], key=7)
    pulls = results.pulls.values[0, 0]
    return pulls.mean(axis=0), pulls.std(axis=0, ddof=1) / np.sqrt(runs)


def main(runs):
    worst = 0.0
    for policy in POLICIES:
        for number, instance in enumerate(INSTANCES):
            length = LONGER.get(policy["kind"], T)
            mine, error = library(policy, instance, runs)
            theirs, other = reference_arrays.simulate(policy, instance, GROUPS, length, runs, seed=1000 + number)
            apart = np.abs(mine - theirs) / np.maximum(np.hypot(error, other), 1e-9)
            worst = max(worst, float(apart.max()))
            print(
                f"{policy['kind']:22} instance {number}: {np.round(mine, 2)} {np.round(theirs, 2)} {apart.max():.2f} SE"
            )
    print(f"largest difference: {worst:.2f} standard errors")
    return worst < 5


if __name__ == "__main__":
    sys.exit(0 if main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000) else 1)
