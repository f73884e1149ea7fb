"""Numba loops of the indices: SPEC.md section 2. `SCORES` are those that rules may bend, as (moment, value)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import jaxbandit as jb

from .common import Compiled, best_mean, f32, fast, highest, highest_lower_bound, one_play, pull

Score = tuple[Compiled, Compiled]  # moment(t), value(arm, t, moment): see `highest`

HALVINGS = 20  # of [mean, 1]: 1e-6


@fast
def no_moment(t: int) -> float:
    return 0.0


def ucb1(index: Any, problem: jb.Problem, horizon: int) -> Score:
    """m + sqrt(x log t / N)."""
    x, offset = index.exploration, index.log_offset

    @fast
    def moment(t: int) -> float:
        return f32(x * math.log(max(t - offset, 1.0)))

    @fast
    def value(arm: Any, t: int, now: float) -> float:
        n = f32(arm.pulls)
        return arm.total / n + math.sqrt(now / n)

    return moment, value


def moss(index: Any, problem: jb.Problem, horizon: int) -> Score:
    """m + sqrt(max(log(T / (K N)), 0) / N)."""
    ratio = f32(horizon / problem.arms)

    @fast
    def value(arm: Any, t: int, now: float) -> float:
        n = f32(arm.pulls)
        return arm.total / n + math.sqrt(max(math.log(ratio / n), f32(0)) / n)

    return no_moment, value


def ucb_v(index: Any, problem: jb.Problem, horizon: int) -> Score:
    """m + sqrt(2 V E / N) + 3 c b E / N, E = x log t."""
    x, linear = index.exploration, f32(3 * index.c * index.b)

    @fast
    def moment(t: int) -> float:
        return f32(x * math.log(t))

    @fast
    def value(arm: Any, t: int, now: float) -> float:
        inverse = f32(1) / f32(arm.pulls)
        mean = arm.total * inverse
        variance = max(arm.squares * inverse - mean * mean, f32(0))
        return mean + math.sqrt(f32(2) * variance * now * inverse) + linear * now * inverse

    return moment, value


def kl_ucb(index: Any, problem: jb.Problem, horizon: int) -> Score:
    """The largest q with N d(m, q) <= log t + a log log t, by bisection in float64."""
    a, offset = index.a, index.log_offset

    @fast
    def moment(t: int) -> float:
        log_t = math.log(max(t - offset, 1.0))
        return max(log_t + a * math.log(max(log_t, 1e-30)), 0.0)

    @fast
    def xlogy(x: float, y: float) -> float:
        return x * math.log(max(y, 1e-300))

    @fast
    def value(arm: Any, t: int, now: float) -> float:
        mean = np.float64(arm.total) / arm.pulls
        least = xlogy(mean, mean) + xlogy(1.0 - mean, 1.0 - mean) - now / arm.pulls
        low, high = mean, 1.0
        for _ in range(HALVINGS):
            q = 0.5 * (low + high)
            inside = xlogy(mean, q) + xlogy(1.0 - mean, 1.0 - q) >= least
            low, high = (q, high) if inside else (low, q)
        return low

    return moment, value


def thompson(index: Any, problem: jb.Problem, horizon: int) -> Score:
    """A draw from Beta(1 + S, 1 + N - S)."""

    @fast
    def value(arm: Any, t: int, now: float) -> float:
        return np.random.beta(1.0 + arm.total, 1.0 + arm.pulls - arm.total)

    return no_moment, value


SCORES = {"ucb1": ucb1, "moss": moss, "ucb-v": ucb_v, "kl-ucb": kl_ucb, "thompson": thompson}


@fast
def keep_squares(arms: Any, t: int, k: int, reward: float) -> None:
    arms[k].squares += reward * reward


def index_play(index: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """`play` of the arm of highest index, for the indices of `SCORES`."""
    choose = highest(*SCORES[index.name](index, problem, horizon), initial_pass=index.name != "thompson")
    return one_play(choose, keep_squares) if index.name == "ucb-v" else one_play(choose)


def uniform_random(index: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """Every arm with the same chance."""

    @fast
    def choose(arms: Any, t: int) -> int:
        return int(np.random.random() * len(arms))

    return one_play(choose)


def epsilon_greedy(index: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """With probability eps a random arm, else one never selected, else the highest mean."""
    eps = index.eps

    @fast
    def choose(arms: Any, t: int) -> int:
        if np.random.random() < eps:
            return int(np.random.random() * len(arms))
        best, top = 0, f32(-1)
        for k in range(len(arms)):
            if arms[k].pulls == 0:
                return k
            mean = arms[k].total / f32(arms[k].pulls)
            if mean > top:
                best, top = k, mean
        return best

    return one_play(choose)


def explore_then_commit(index: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """N plays of each arm in turn, then the highest mean."""
    given, arms_count = index.rounds_per_arm, problem.arms
    rounds = (horizon / arms_count) ** (2 / 3) * math.log(horizon) ** (1 / 3) if given is None else given
    explored = max(1, math.ceil(rounds)) * arms_count

    @fast
    def play(arms: Any, horizon: int) -> tuple[float, float]:
        for t in range(min(explored, horizon)):
            pull(arms, t % len(arms))
        best = best_mean(arms)
        for _ in range(explored, horizon):
            pull(arms, best)
        return 0.0, 0.0

    return play


def successive_elimination(index: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """Sweeps over the active arms; after each, those below the best by their radii leave."""
    weight = f32(index.exploration * math.log(horizon))

    @fast
    def eliminate(arms: Any) -> None:
        most = highest_lower_bound(arms, weight)
        for k in range(len(arms)):
            if arms[k].active:
                n = f32(arms[k].pulls)
                arms[k].active = arms[k].total / n + math.sqrt(weight / n) >= most

    @fast
    def play(arms: Any, horizon: int) -> tuple[float, float]:
        for k in range(len(arms)):
            arms[k].active = True
        t = 0
        while t < horizon:
            for k in range(len(arms)):
                if arms[k].active and t < horizon:
                    pull(arms, k)
                    t += 1
            eliminate(arms)
        return 0.0, 0.0

    return play


PLAYS = {
    **dict.fromkeys(SCORES, index_play),
    "uniform-random": uniform_random,
    "epsilon-greedy": epsilon_greedy,
    "explore-then-commit": explore_then_commit,
    "successive-elimination": successive_elimination,
}
