"""What the Numba loops share: the record of an arm, one play of it, the choice of arms, and the loop over runs.

The loop of a policy is a compiled function `play(arms, horizon)` that plays all rounds of one run and returns two
sums. Arms are an array of records, each with its constants and its counts side by side. Records compiled to the fastest
code; an array per quantity and named tuples of arrays were slower.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

import jaxbandit as jb

try:
    from numba import njit, prange
except ImportError as error:
    raise SystemExit("this benchmark compares with Numba, which is not installed: pip install numba") from error

Compiled: TypeAlias = Callable[..., Any]  # a function compiled by Numba, which infers the types at each call
Builder: TypeAlias = Callable[..., Compiled]  # (policy, problem, horizon) -> `play`
f32 = np.float32
HUGE = f32(1e30)  # the index of an arm that was never selected; fastmath does not support infinity

inlined = njit(fastmath=True, forceinline=True)

ARM = np.dtype(
    [
        ("mean", "f8"),  # mu
        ("step", "i8"),  # tau = step / unit; unit is the same for all arms, so deficits compare as integers
        ("unit", "i8"),
        ("penalty_rate", "f8"),  # A
        ("pulls", "i4"),  # N
        ("total", "f4"),  # S
        ("squares", "f4"),  # the sum of squared rewards
        ("score", "f4"),
        ("queue", "f8"),
        ("chance", "f8"),  # the probability of being selected
        ("active", "?"),
        ("selected", "?"),
    ],
    align=True,
)


def arms_of(problem: jb.Problem) -> np.ndarray:
    """The arms of a problem of one instance before the first round."""
    arms = np.zeros(problem.arms, ARM)
    arms["mean"], arms["unit"] = problem.means[:, 0], 1
    if problem.fractions is not None:
        tau = np.broadcast_to(problem.fractions, problem.means.shape)[:, 0]
        unit = math.lcm(*(value.denominator for value in tau))
        arms["step"], arms["unit"] = [int(value * unit) for value in tau], unit
    if problem.penalties is not None:
        arms["penalty_rate"] = np.broadcast_to(problem.penalties, problem.means.shape)[:, 0]
    return arms


def parallel(play: Compiled) -> Compiled:
    """A function (arms, runs, horizon, seed) -> the selections of each arm, `[runs, K]`, and the sums of `play`."""

    @inlined
    def play_run(initial_arms: np.ndarray, horizon: int, pulls: np.ndarray, sums: np.ndarray) -> None:
        arms = initial_arms.copy()
        sums[0], sums[1] = play(arms, horizon)
        for k in range(len(arms)):
            pulls[k] = arms[k].pulls

    @njit(parallel=True, fastmath=True)
    def simulate(arms: np.ndarray, runs: int, horizon: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        pulls, sums = np.zeros((runs, len(arms)), np.int32), np.zeros((runs, 2))
        for run in prange(runs):
            np.random.seed(seed + run)
            play_run(arms, horizon, pulls[run], sums[run])
        return pulls, sums

    return simulate


@inlined
def play_arm(arms: np.ndarray, k: int) -> np.float32:
    """Play arm k once and return its Bernoulli reward."""
    reward = f32(1) if np.random.random() < arms[k].mean else f32(0)
    arms[k].pulls += 1
    arms[k].total += reward
    return reward


@inlined
def keep_nothing(arms: np.ndarray, t: int, k: int, reward: float) -> None:
    """The update of a policy that keeps only counts and sums."""


@inlined
def arm_of_highest_mean(arms: np.ndarray) -> int:
    """The arm with the highest mean; an arm that was never selected has mean 0."""
    best, highest = 0, f32(-1)
    for k in range(len(arms)):
        mean = arms[k].total / f32(max(arms[k].pulls, 1))
        if mean > highest:
            best, highest = k, mean
    return best


def one_arm_per_round(select: Compiled, update: Compiled = keep_nothing) -> Compiled:
    """`play` of a policy that selects one arm per round.

    Args:
        select: compiled function (arms, t) -> the arm, with t from 1.
        update: compiled function (arms, t, arm, reward), called after counts and sums were updated.
    """

    @inlined
    def play(arms: np.ndarray, horizon: int) -> tuple[float, float]:
        for t in range(1, horizon + 1):
            k = select(arms, t)
            update(arms, t, k, play_arm(arms, k))
        return 0.0, 0.0

    return play


def highest_index(shared_term: Compiled, index: Compiled, initial_pass: bool = True) -> Compiled:
    """`select` of the arm with the highest index.

    Args:
        shared_term: compiled function t -> the term that the indices of all arms share in round t.
        index: compiled function (arm, t, shared term) -> the index of an arm.
        initial_pass: whether each arm is selected once first.
    """

    @inlined
    def select(arms: np.ndarray, t: int) -> int:
        if initial_pass and t <= len(arms):
            return t - 1
        shared = shared_term(t)
        best, highest = 0, index(arms[0], t, shared)
        for k in range(1, len(arms)):
            score = index(arms[k], t, shared)
            if score > highest:
                best, highest = k, score
        return best

    return select


def never_selected_first(index: Compiled) -> Compiled:
    """The index, and `HUGE` for an arm that was never selected."""

    @inlined
    def score(arm: np.record, t: int, shared: float) -> np.float32:
        return f32(index(arm, t, shared)) if arm.pulls > 0 else HUGE

    return score


@inlined
def select_highest_score(arms: np.ndarray) -> int:
    """Select the arm of the highest score among those not selected yet, and return it."""
    best, highest = -1, f32(0)
    for k in range(len(arms)):
        if not arms[k].selected and (best < 0 or arms[k].score > highest):
            best, highest = k, arms[k].score
    arms[best].selected = True
    return best


@inlined
def select_by_dependent_rounding(arms: np.ndarray) -> None:
    """Round the fields `chance` to the fields `selected` (dependent rounding of Gandhi et al. 2006), arm by arm."""
    pending, p = 0, arms[0].chance
    for k in range(1, len(arms)):
        q = arms[k].chance
        total = p + q
        u = np.random.random()
        if total <= 1.0:
            decided, next_pending, p_next = (k, pending, total) if u * total < p else (pending, k, total)
            arms[decided].selected = False
        else:
            remainder = total - 1.0
            next_pending, decided, p_next = (
                (k, pending, remainder) if u * (2.0 - total) < 1.0 - q else (pending, k, remainder)
            )
            arms[decided].selected = True
        pending, p = next_pending, p_next
    arms[pending].selected = p > 0.5
