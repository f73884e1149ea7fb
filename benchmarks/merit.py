"""fcucb-d and fcts-d under geometric delay against the same rounds as a parallel Numba loop over runs.

Seven arms, three plays, merit 1 + 2 mu^4, p = 0.05 (002, figure 1). Both sides choose by the same formulas, keep
rewards under way in a ring of rounds and add up both regrets of every round; they draw from generators of their own, so
their mean regrets are compared too, in standard errors. The OP variants, whose loops would differ in one line, are
timed without one (002, figure 9).
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import jaxbandit as jb
from jaxbandit.results import device_name

try:
    import numba
    from numba import njit, prange
except ImportError as error:
    raise SystemExit("this benchmark compares with Numba, which is not installed: pip install numba") from error

MEANS = np.array([0.3, 0.5, 0.7, 0.9, 0.8, 0.6, 0.4])
PLAYS, SCALE, P = 3, 2.0, 0.05
RING = 1024  # rounds; the largest geometric delay of 65 random bits is 879
POLICIES = ("fcucb-d", "fcts-d", "op-fcucb-d", "op-fcts-d")


@njit(inline="always")
def merit(x: float) -> float:
    return 1.0 + SCALE * x * x * x * x


@njit
def peak(low: float, high: float, ratio: float) -> float:
    """The x of the largest f(x) (x - ratio) in [low, high], as `jaxbandit.merit.Power.peak` has it."""
    valley = max(ratio, 0.0) * 0.6
    if 1.0 + SCALE * valley**3 * (5.0 * valley - 4.0 * ratio) >= 0.0:
        return high
    left, right = 0.0, valley
    for _ in range(26):
        middle = 0.5 * (left + right)
        if 1.0 + SCALE * middle**3 * (5.0 * middle - 4.0 * ratio) > 0.0:
            left = middle
        else:
            right = middle
    top = min(max(left, low), high)
    return top if merit(top) * (top - ratio) > merit(high) * (high - ratio) else high


@njit
def box_optimum(low: np.ndarray, high: np.ndarray, x: np.ndarray) -> None:
    """Dinkelbach's method, into `x`."""
    x[:] = high
    ratio = -1.0
    for _ in range(30):
        above = below = 0.0
        for k in range(len(x)):
            f = merit(x[k])
            above += f * x[k]
            below += f
        if above / below <= ratio:
            break
        ratio = above / below
        for k in range(len(x)):
            x[k] = peak(low[k], high[k], ratio)


@njit
def rounded(chances: np.ndarray, selected: np.ndarray) -> None:
    """Dependent rounding (Gandhi et al. 2006), arm after arm, into `selected`."""
    held, p = 0, chances[0]
    for k in range(1, len(chances)):
        q = chances[k]
        total = p + q
        first = np.random.random()
        if total <= 1.0:
            loser, winner, rest = (k, held, total) if first * total < p else (held, k, total)
            selected[loser] = False
        else:
            winner, loser, rest = (k, held, total - 1.0) if first * (2.0 - total) < 1.0 - q else (held, k, total - 1.0)
            selected[loser] = True
        held, p = winner, rest
    selected[held] = p > 0.5


@njit(parallel=True, fastmath=True)
def simulate(means: np.ndarray, fair: np.ndarray, thompson: bool, runs: int, horizon: int, seed: int) -> np.ndarray:
    """Reward regret and fairness regret of each run, `[runs, 2]`."""
    arms = len(means)
    regrets = np.zeros((runs, 2))
    log_loss, log_all = math.log1p(-P), math.log(4.0 * PLAYS * arms * horizon)
    for run in prange(runs):
        np.random.seed(seed + run)
        number, total = np.zeros(arms, np.int32), np.zeros(arms, np.float32)
        ring_number, ring_total = np.zeros((RING, arms), np.int32), np.zeros((RING, arms), np.float32)
        low, high, x, chances = np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms)
        selected = np.empty(arms, np.bool_)
        for t in range(horizon):
            if not thompson and t * PLAYS < arms:
                for k in range(arms):
                    selected[k] = t * PLAYS <= k < (t + 1) * PLAYS
                for k in range((t + 1) * PLAYS - arms):
                    selected[k] = True
                for k in range(arms):
                    chances[k] = 1.0 if selected[k] else 0.0
            else:
                if thompson:
                    for k in range(arms):
                        x[k] = np.random.beta(1.0 + total[k], 1.0 + number[k] - total[k])
                else:
                    for k in range(arms):
                        mean = total[k] / max(number[k], 1)
                        radius = math.sqrt(log_all / max(number[k], 1))
                        low[k], high[k] = max(mean - radius, 0.0), min(mean + radius, 1.0)
                    box_optimum(low, high, x)
                below = 0.0
                for k in range(arms):
                    chances[k] = merit(x[k])
                    below += chances[k]
                for k in range(arms):
                    chances[k] *= PLAYS / below
                rounded(chances, selected)
            lost = unfair = 0.0
            here = t % RING
            for k in range(arms):
                lost += (fair[k] - chances[k]) * means[k]
                unfair += abs(fair[k] - chances[k])
                if selected[k]:
                    delay = int(math.log(np.random.random()) / log_loss)
                    if delay < RING:
                        then = (t + delay) % RING
                        ring_number[then, k] += 1
                        ring_total[then, k] += 1.0 if np.random.random() < means[k] else 0.0
            regrets[run, 0] += max(lost, 0.0)
            regrets[run, 1] += unfair
            for k in range(arms):
                number[k] += ring_number[here, k]
                total[k] += ring_total[here, k]
                ring_number[here, k], ring_total[here, k] = 0, 0.0
    return regrets


def seconds_of(call: Callable[[], Any]) -> tuple[float, Any]:
    """How long a call takes, and what it returns."""
    begun = time.perf_counter()
    made = call()
    return time.perf_counter() - begun, made


def main() -> None:
    """Compare the mean regrets, then the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="runs of each policy")
    parser.add_argument("--horizon", type=int, default=20_000, help="rounds of each run")
    parser.add_argument("--repeats", type=int, default=3, help="calls of each, in turns; the fastest counts")
    chosen = parser.parse_args()
    problem = jb.Problem(MEANS, plays=PLAYS, merit="power", delay={"kind": "geometric", "p": P})
    fair = problem.fair_chances()[:, 0]
    rounds = chosen.runs * chosen.horizon
    print(f"{chosen.runs} runs of {chosen.horizon} rounds on {device_name()}, {numba.get_num_threads()} Numba threads")
    print(f"{'':12}{'jaxbandit':>12}{'Numba':>12}{'ratio':>8}   M rounds/s; differences of the mean regrets in errors")
    for kind in POLICIES:
        loops = kind in ("fcucb-d", "fcts-d")
        simulate(MEANS, fair, kind == "fcts-d", 2, 10, 0)  # compiles
        ours, theirs = [], []
        for repeat in range(chosen.repeats):
            results = jb.simulate(problem, kind, horizon=chosen.horizon, seeds=chosen.runs, record=10, key=repeat)
            ours.append(results.attrs["run_seconds"])
            if loops:
                seed = repeat * chosen.runs
                spent, regrets = seconds_of(
                    lambda kind=kind, seed=seed: simulate(
                        MEANS, fair, kind == "fcts-d", chosen.runs, chosen.horizon, seed
                    )
                )
                theirs.append(spent)
        speed = rounds / min(ours) / 1e6
        if not loops:
            print(f"{kind:12}{speed:12.2f}")
            continue
        both = [results[f"{name}_final"].values[0, 0] for name in ("reward_regret", "fairness_regret")]
        off = [
            (a.mean() - b.mean()) / math.sqrt((a.var() + b.var()) / chosen.runs)
            for a, b in zip(both, regrets.T, strict=True)
        ]
        other = rounds / min(theirs) / 1e6
        print(f"{kind:12}{speed:12.2f}{other:12.2f}{speed / other:8.2f}   {off[0]:+.1f} {off[1]:+.1f}", flush=True)
        if max(map(abs, off)) > 5:
            raise SystemExit(f"{kind}: the mean regrets differ; these loops do not do the same work")


if __name__ == "__main__":
    main()
