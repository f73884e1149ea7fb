"""Numba loops of paper 004, policies in phases, over uniform or softmax fairness: SPEC.md section 3."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import jaxbandit as jb

from .common import Compiled, best_mean, fast, pull
from .indices import index_play


def fairness(problem: jb.Problem) -> tuple[Compiled, Compiled]:
    """f(means, k), and its range over a box, bounds(low, high, k)."""
    name, arms = problem.opportunity.name, problem.arms
    if name not in ("uniform", "softmax"):
        raise NotImplementedError(f"no loop for the fairness function {name}")
    c = float(problem.opportunity.c) if name == "softmax" else 0.0  # softmax with c = 0 is uniform

    @fast
    def share(own: float, others: Any, k: int) -> float:
        odds = 0.0
        for j in range(len(others)):
            if j != k:
                odds += math.exp(c * (others[j] - own))
        return 1.0 / (1.0 + odds)

    @fast
    def value(means: Any, k: int) -> float:
        return share(means[k], means, k)

    @fast
    def bounds(low: Any, high: Any, k: int) -> tuple[float, float]:
        return share(low[k], high, k), share(high[k], low, k)  # 004 Prop. 1, c >= 0

    if name == "softmax":
        return value, bounds
    even = 1.0 / arms

    @fast
    def even_value(means: Any, k: int) -> float:
        return even

    @fast
    def even_bounds(low: Any, high: Any, k: int) -> tuple[float, float]:
        return even, even

    return even_value, even_bounds


@fast
def sweep(arms: Any, chunks_of: int, horizon: int) -> int:
    """Play all arms once, while rounds last; the rounds played by then."""
    for k in range(len(arms)):
        if chunks_of < horizon:
            pull(arms, k)
            chunks_of += 1
    return chunks_of


@fast
def mean_of(arm: Any) -> float:
    return np.float64(arm.total) / max(arm.pulls, 1)


@fast
def gap_bounds(arms: Any, k: int, log_horizon: float) -> tuple[float, float]:
    """What the gap of arm k is above and below (004 Alg. 4, lines 17-18)."""
    if arms[k].pulls == 0:
        return 0.0, 1.0
    most = 0.0
    for j in range(len(arms)):
        most = max(most, mean_of(arms[j]))
    gap, radius = most - mean_of(arms[k]), math.sqrt(2.0 * log_horizon / arms[k].pulls)
    return max(gap - 2.0 * radius, 0.0), min(gap + 2.0 * radius, 1.0)


@fast
def work_off(arms: Any, owed: Any, chunks_of: int, horizon: int) -> int:
    """Play each arm until it has what it is owed, arm after arm; the rounds played by then."""
    for k in range(len(arms)):
        while arms[k].pulls < owed[k] and chunks_of < horizon:
            pull(arms, k)
            chunks_of += 1
    return chunks_of


def black_box(policy: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """A function of (arms, played, horizon): the index plays the rounds left with fresh counts, sums and clock."""
    play = index_play(policy.black_box, problem, horizon)

    @fast
    def finish(arms: Any, chunks_of: int, horizon: int) -> None:
        fresh = arms.copy()
        for k in range(len(arms)):
            fresh[k].pulls, fresh[k].total = 0, 0.0
        play(fresh, horizon - chunks_of)
        for k in range(len(arms)):
            arms[k].pulls += fresh[k].pulls

    return finish


def fairness_aware_etc(policy: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """N plays of each arm, then floor(T f(m)) of those worth it, then the arm of highest m."""
    value, _ = fairness(problem)
    rounds = policy.rounds_per_arm
    if rounds is None:
        slope = problem.opportunity.lipschitz(problem.arms)
        most = 8 * (slope * horizon) ** (2 / 3) * math.log(horizon) ** (1 / 3)
        rounds = max(1, min(most, horizon // problem.arms))
    each = int(rounds)

    @fast
    def play(arms: Any, horizon: int) -> tuple[float, float]:
        means, owed = np.empty(len(arms)), np.empty(len(arms), np.int64)
        owed[:] = each
        chunks_of = work_off(arms, owed, 0, horizon)
        for k in range(len(arms)):
            means[k] = mean_of(arms[k])
        best = best_mean(arms)
        for k in range(len(arms)):
            worth = means[best] - means[k] < arms[k].price - 1e-9  # a gap that rounds to just below the price is it
            owed[k] = int(horizon * value(means, k)) if worth else 0
        chunks_of = work_off(arms, owed, chunks_of, horizon)
        for _ in range(chunks_of, horizon):
            pull(arms, best)
        return 0.0, 0.0

    return play


def self_regulated(policy: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """Sweeps until gaps are known to beta, sweeps until f is to alpha, opportunities, the black box."""
    value, bounds = fairness(problem)
    finish = black_box(policy, problem, horizon)
    log_horizon = math.log(horizon)
    rate = (log_horizon / horizon) ** (1 / 3)
    slope = problem.opportunity.lipschitz(problem.arms)
    alpha = (problem.arms * slope) ** (2 / 3) * rate if policy.alpha is None else policy.alpha
    beta = rate if policy.beta is None else policy.beta

    @fast
    def unclear(arms: Any) -> bool:
        for k in range(len(arms)):
            least, most = gap_bounds(arms, k, log_horizon)
            if most > arms[k].price + beta and least < arms[k].price - beta:
                return True
        return False

    @fast
    def vague(arms: Any, low: Any, high: Any) -> bool:
        for k in range(len(arms)):
            radius = math.sqrt(2.0 * log_horizon / max(arms[k].pulls, 1))
            seen = arms[k].pulls > 0
            low[k] = max(mean_of(arms[k]) - radius, 0.0) if seen else 0.0
            high[k] = min(mean_of(arms[k]) + radius, 1.0) if seen else 1.0
        for k in range(len(arms)):
            below, above = bounds(low, high, k)
            if above - below > alpha and gap_bounds(arms, k, log_horizon)[0] < arms[k].price:
                return True
        return False

    @fast
    def play(arms: Any, horizon: int) -> tuple[float, float]:
        low, high, owed = np.empty(len(arms)), np.empty(len(arms)), np.empty(len(arms), np.int64)
        chunks_of = 0
        while chunks_of < horizon and unclear(arms):
            chunks_of = sweep(arms, chunks_of, horizon)
        while chunks_of < horizon and vague(arms, low, high):
            chunks_of = sweep(arms, chunks_of, horizon)
        for k in range(len(arms)):
            low[k] = mean_of(arms[k])
        for k in range(len(arms)):
            worth = gap_bounds(arms, k, log_horizon)[0] < arms[k].price
            owed[k] = int(horizon * value(low, k)) if worth else 0
        chunks_of = work_off(arms, owed, chunks_of, horizon)
        finish(arms, chunks_of, horizon)
        return 0.0, 0.0

    return play


def constant_opportunity(policy: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """Sweeps over the arms that lack plays and may be worth their price, then the black box."""
    finish = black_box(policy, problem, horizon)
    log_horizon = math.log(horizon)
    shares = np.array([math.ceil(share * horizon) for share in problem.opportunity.constant_shares(problem.arms)])

    @fast
    def play(arms: Any, horizon: int) -> tuple[float, float]:
        for k in range(len(arms)):
            arms[k].active = True
        chunks_of, some = 0, True
        while some and chunks_of < horizon:
            for k in range(len(arms)):
                if arms[k].active and chunks_of < horizon:
                    pull(arms, k)
                    chunks_of += 1
            some = False
            for k in range(len(arms)):
                if arms[k].pulls >= shares[k] or gap_bounds(arms, k, log_horizon)[0] > arms[k].price:
                    arms[k].active = False
                some = some or arms[k].active
        finish(arms, chunks_of, horizon)
        return 0.0, 0.0

    return play


PLAYS = {
    "fairness-aware-etc": fairness_aware_etc,
    "self-regulated": self_regulated,
    "constant-opportunity": constant_opportunity,
}
