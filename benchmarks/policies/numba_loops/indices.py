"""Numba loops of the indices. `INDICES` holds the indices that rules can wrap."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

import jaxbandit as jb
from benchmarks.policies.numba_loops.common import (
    Builder,
    Compiled,
    arm_of_highest_mean,
    f32,
    highest_index,
    inlined,
    one_arm_per_round,
    play_arm,
)

IndexFunctions: TypeAlias = tuple[Compiled, Compiled]  # shared_term(t) and index(arm, t, shared): see `highest_index`

HALVINGS = 20  # bisection of [mean, 1] to an error of 1e-6


@inlined
def no_shared_term(t: int) -> float:
    return 0.0


def ucb1(policy: jb.indices.UCB1, problem: jb.Problem, horizon: int) -> IndexFunctions:
    """m + sqrt(x log t / N)."""
    x, offset = policy.exploration, policy.log_offset

    @inlined
    def shared_term(t: int) -> np.float32:
        return f32(x * math.log(max(t - offset, 1.0)))

    @inlined
    def index(arm: np.record, t: int, shared: float) -> float:
        n = f32(arm.pulls)
        return arm.total / n + math.sqrt(shared / n)

    return shared_term, index


def moss(policy: jb.indices.MOSS, problem: jb.Problem, horizon: int) -> IndexFunctions:
    """m + sqrt(max(log(T / (K N)), 0) / N)."""
    ratio = f32(horizon / problem.arms)

    @inlined
    def index(arm: np.record, t: int, shared: float) -> float:
        n = f32(arm.pulls)
        return arm.total / n + math.sqrt(max(math.log(ratio / n), f32(0)) / n)

    return no_shared_term, index


def ucb_v(policy: jb.indices.UCBV, problem: jb.Problem, horizon: int) -> IndexFunctions:
    """m + sqrt(2 V E / N) + 3 c b E / N, E = x log t."""
    x, linear = policy.exploration, f32(3 * policy.c * policy.b)

    @inlined
    def shared_term(t: int) -> np.float32:
        return f32(x * math.log(t))

    @inlined
    def index(arm: np.record, t: int, shared: float) -> float:
        inverse = f32(1) / f32(arm.pulls)
        mean = arm.total * inverse
        variance = max(arm.squares * inverse - mean * mean, f32(0))
        return mean + math.sqrt(f32(2) * variance * shared * inverse) + linear * shared * inverse

    return shared_term, index


def kl_ucb(policy: jb.indices.KLUCB, problem: jb.Problem, horizon: int) -> IndexFunctions:
    """The largest q with N d(m, q) <= log t + a log log t, by bisection in float64."""
    a, offset = policy.a, policy.log_offset

    @inlined
    def shared_term(t: int) -> float:
        log_t = math.log(max(t - offset, 1.0))
        return max(log_t + a * math.log(max(log_t, 1e-30)), 0.0)

    @inlined
    def xlogy(x: float, y: float) -> float:
        return x * math.log(max(y, 1e-300))

    @inlined
    def index(arm: np.record, t: int, shared: float) -> float:
        mean = np.float64(arm.total) / arm.pulls
        smallest = xlogy(mean, mean) + xlogy(1.0 - mean, 1.0 - mean) - shared / arm.pulls
        low, high = mean, 1.0
        for _ in range(HALVINGS):
            q = 0.5 * (low + high)
            inside = xlogy(mean, q) + xlogy(1.0 - mean, 1.0 - q) >= smallest
            low, high = (q, high) if inside else (low, q)
        return low

    return shared_term, index


def thompson(policy: jb.indices.Thompson, problem: jb.Problem, horizon: int) -> IndexFunctions:
    """A draw from Beta(1 + S, 1 + N - S)."""

    @inlined
    def index(arm: np.record, t: int, shared: float) -> float:
        return np.random.beta(1.0 + arm.total, 1.0 + arm.pulls - arm.total)

    return no_shared_term, index


INDICES: dict[str, Callable[..., IndexFunctions]] = {
    "ucb1": ucb1,
    "moss": moss,
    "ucb-v": ucb_v,
    "kl-ucb": kl_ucb,
    "thompson": thompson,
}


@inlined
def add_square(arms: np.ndarray, t: int, k: int, reward: float) -> None:
    arms[k].squares += reward * reward


def index_policy(policy: jb.Index, problem: jb.Problem, horizon: int) -> Compiled:
    """The loop of the policy that selects the arm with the highest index, for `INDICES`."""
    functions = INDICES[policy.name](policy, problem, horizon)
    select = highest_index(*functions, initial_pass=policy.name != "thompson")
    return one_arm_per_round(select, add_square) if policy.name == "ucb-v" else one_arm_per_round(select)


def uniform_random(policy: jb.indices.UniformRandom, problem: jb.Problem, horizon: int) -> Compiled:
    """Every arm with the same probability."""

    @inlined
    def select(arms: np.ndarray, t: int) -> int:
        return int(np.random.random() * len(arms))

    return one_arm_per_round(select)


def epsilon_greedy(policy: jb.indices.EpsilonGreedy, problem: jb.Problem, horizon: int) -> Compiled:
    """A random arm with probability eps; otherwise an arm that was never selected, or else the highest mean."""
    eps = policy.eps

    @inlined
    def select(arms: np.ndarray, t: int) -> int:
        if np.random.random() < eps:
            return int(np.random.random() * len(arms))
        best, highest = 0, f32(-1)
        for k in range(len(arms)):
            if arms[k].pulls == 0:
                return k
            mean = arms[k].total / f32(arms[k].pulls)
            if mean > highest:
                best, highest = k, mean
        return best

    return one_arm_per_round(select)


def explore_then_commit(policy: jb.indices.ExploreThenCommit, problem: jb.Problem, horizon: int) -> Compiled:
    """Each arm equally often, in turn, and then the arm with the highest mean."""
    given, arm_count = policy.rounds_per_arm, problem.arms
    rounds = (horizon / arm_count) ** (2 / 3) * math.log(horizon) ** (1 / 3) if given is None else given
    explored = max(1, math.ceil(rounds)) * arm_count

    @inlined
    def play(arms: np.ndarray, horizon: int) -> tuple[float, float]:
        for t in range(min(explored, horizon)):
            play_arm(arms, t % len(arms))
        best = arm_of_highest_mean(arms)
        for _ in range(explored, horizon):
            play_arm(arms, best)
        return 0.0, 0.0

    return play


@inlined
def highest_lower_bound(arms: np.ndarray, weight: float) -> float:
    """The largest S / N - sqrt(weight / N) of the active arms."""
    highest = f32(-1e30)
    for k in range(len(arms)):
        if arms[k].active:
            n = f32(arms[k].pulls)
            highest = max(highest, arms[k].total / n - math.sqrt(weight / n))
    return highest


def successive_elimination(policy: jb.indices.SuccessiveElimination, problem: jb.Problem, horizon: int) -> Compiled:
    """All active arms in turn; then arms whose upper bound is below the highest lower bound become inactive."""
    weight = f32(policy.exploration * math.log(horizon))

    @inlined
    def eliminate(arms: np.ndarray) -> None:
        highest = highest_lower_bound(arms, weight)
        for k in range(len(arms)):
            if arms[k].active:
                n = f32(arms[k].pulls)
                arms[k].active = arms[k].total / n + math.sqrt(weight / n) >= highest

    @inlined
    def play(arms: np.ndarray, horizon: int) -> tuple[float, float]:
        for k in range(len(arms)):
            arms[k].active = True
        t = 0
        while t < horizon:
            for k in range(len(arms)):
                if arms[k].active and t < horizon:
                    play_arm(arms, k)
                    t += 1
            eliminate(arms)
        return 0.0, 0.0

    return play


LOOPS: dict[str, Builder] = {
    **dict.fromkeys(INDICES, index_policy),
    "uniform-random": uniform_random,
    "epsilon-greedy": epsilon_greedy,
    "explore-then-commit": explore_then_commit,
    "successive-elimination": successive_elimination,
}
