"""What every Numba loop shares: an arm's record, one play of it, choosing arms, and the parallel loop over runs.

Arms are records, constants and counts side by side: of what was tried (an array a quantity, named tuples of arrays) it
compiled to the fastest scalar loop. A policy is a compiled `play(arms, horizon)` that plays all rounds of one run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import jaxbandit as jb

try:
    from numba import njit, prange
except ImportError as error:
    raise SystemExit("this benchmark compares with Numba, which is not installed: pip install numba") from error

Compiled = Callable[..., Any]  # a function that Numba compiled
f32 = np.float32
BIG = f32(1e30)  # the index of an arm never selected; fastmath knows no infinity

fast = njit(fastmath=True, forceinline=True)

ARM = np.dtype(
    [
        ("mean", "f8"),  # mu
        ("step", "i8"),  # tau = step / unit; unit is the same for all arms, so deficits compare as integers
        ("unit", "i8"),
        ("price", "f8"),  # A
        ("pulls", "i4"),  # N
        ("total", "f4"),  # S
        ("squares", "f4"),
        ("score", "f4"),
        ("queue", "f8"),
        ("chance", "f8"),
        ("active", "?"),
        ("selected", "?"),
    ],
    align=True,
)


def arms_of(problem: jb.Problem) -> np.ndarray:
    """The arms of a problem of one instance, nothing played."""
    arms = np.zeros(problem.arms, ARM)
    arms["mean"], arms["unit"] = problem.means[:, 0], 1
    if problem.fractions is not None:
        tau = np.broadcast_to(problem.fractions, problem.means.shape)[:, 0]
        unit = math.lcm(*(value.denominator for value in tau))
        arms["step"], arms["unit"] = [int(value * unit) for value in tau], unit
    if problem.penalties is not None:
        arms["price"] = np.broadcast_to(problem.penalties, problem.means.shape)[:, 0]
    return arms


def parallel(play: Compiled) -> Compiled:
    """`simulate(given, runs, horizon, seed)` -> N_k(T) `[runs, K]`, and what `play` returns, two sums a run."""

    @fast
    def one_run(given: Any, horizon: int, pulls: Any, sums: Any) -> None:
        arms = given.copy()
        sums[0], sums[1] = play(arms, horizon)
        for k in range(len(arms)):
            pulls[k] = arms[k].pulls

    @njit(parallel=True, fastmath=True)
    def simulate(given: Any, runs: int, horizon: int, seed: int) -> Any:
        pulls, sums = np.zeros((runs, len(given)), np.int32), np.zeros((runs, 2))
        for run in prange(runs):
            np.random.seed(seed + run)
            one_run(given, horizon, pulls[run], sums[run])
        return pulls, sums

    return simulate


@fast
def pull(arms: Any, k: int) -> Any:
    """Play arm k once; its Bernoulli reward."""
    reward = f32(1) if np.random.random() < arms[k].mean else f32(0)
    arms[k].pulls += 1
    arms[k].total += reward
    return reward


@fast
def nothing(arms: Any, t: int, k: int, reward: float) -> None:
    """What a policy learns that keeps nothing beside counts and sums."""


@fast
def highest_lower_bound(arms: Any, weight: float) -> float:
    """The largest S / N - sqrt(weight / N) of the active arms, by which elimination goes."""
    most = f32(-1e30)
    for k in range(len(arms)):
        if arms[k].active:
            n = f32(arms[k].pulls)
            most = max(most, arms[k].total / n - math.sqrt(weight / n))
    return most


@fast
def best_mean(arms: Any) -> int:
    """The arm of highest mean; one never selected has mean 0."""
    best, top = 0, f32(-1)
    for k in range(len(arms)):
        mean = arms[k].total / f32(max(arms[k].pulls, 1))
        if mean > top:
            best, top = k, mean
    return best


def one_play(choose: Compiled, learn: Compiled = nothing) -> Compiled:
    """`play` of a policy that selects one arm a round.

    Args:
        choose: of (arms, t), t from 1: the arm.
        learn: of (arms, t, arm, reward), after counts and sums have been renewed.
    """

    @fast
    def play(arms: Any, horizon: int) -> tuple[float, float]:
        for t in range(1, horizon + 1):
            k = choose(arms, t)
            learn(arms, t, k, pull(arms, k))
        return 0.0, 0.0

    return play


def highest(moment: Compiled, value: Compiled, initial_pass: bool = True) -> Compiled:
    """`choose` of the arm of highest index.

    Args:
        moment: of (t): what a round's indices share.
        value: of (arm, t, moment): the index.
        initial_pass: each arm once first.
    """

    @fast
    def choose(arms: Any, t: int) -> int:
        if initial_pass and t <= len(arms):
            return t - 1
        now = moment(t)
        best, top = 0, value(arms[0], t, now)
        for k in range(1, len(arms)):
            score = value(arms[k], t, now)
            if score > top:
                best, top = k, score
        return best

    return choose


def unseen_first(value: Compiled) -> Compiled:
    """The index, `BIG` for an arm never selected."""

    @fast
    def score(arm: Any, t: int, now: float) -> float:
        return f32(value(arm, t, now)) if arm.pulls > 0 else BIG

    return score


@fast
def mark_best(arms: Any) -> int:
    """Select the arm of highest score among those not selected yet, and return it."""
    best, top = -1, f32(0)
    for k in range(len(arms)):
        if not arms[k].selected and (best < 0 or arms[k].score > top):
            best, top = k, arms[k].score
    arms[best].selected = True
    return best


@fast
def rounded(arms: Any) -> None:
    """Dependent rounding (Gandhi et al. 2006) of the fields `chance`, arm after arm, into `selected`."""
    held, p = 0, arms[0].chance
    for k in range(1, len(arms)):
        q = arms[k].chance
        total = p + q
        first = np.random.random()
        if total <= 1.0:
            loser, winner, rest = (k, held, total) if first * total < p else (held, k, total)
            arms[loser].selected = False
        else:
            winner, loser, rest = (k, held, total - 1.0) if first * (2.0 - total) < 1.0 - q else (held, k, total - 1.0)
            arms[loser].selected = True
        held, p = winner, rest
    arms[held].selected = p > 0.5
