"""Numba loops of the policies of the opportunities paper, with uniform or softmax fairness functions."""

from __future__ import annotations

import math

import numpy as np

import jaxbandit as jb
from benchmarks.policies.numba_loops.common import Builder, Compiled, arm_of_highest_mean, inlined, play_arm
from benchmarks.policies.numba_loops.indices import index_policy


def fairness_function(problem: jb.Problem) -> tuple[Compiled, Compiled]:
    """Compiled functions share(means, k) = f_k(means), and its range over a box, share_bounds(low, high, k)."""
    name, arms = problem.opportunity.name, problem.arms
    if name not in ("uniform", "softmax"):
        raise ValueError(f"problem.opportunity = {name!r}: must be 'uniform' or 'softmax', which have loops")
    c = float(problem.opportunity.c) if name == "softmax" else 0.0

    @inlined
    def softmax(own: float, others: np.ndarray, k: int) -> float:
        odds = 0.0
        for j in range(len(others)):
            if j != k:
                odds += math.exp(c * (others[j] - own))
        return 1.0 / (1.0 + odds)

    @inlined
    def share(means: np.ndarray, k: int) -> float:
        return softmax(means[k], means, k)

    @inlined
    def share_bounds(low: np.ndarray, high: np.ndarray, k: int) -> tuple[float, float]:
        return softmax(low[k], high, k), softmax(high[k], low, k)  # opportunities paper, Prop. 1, for c >= 0

    if name == "softmax":
        return share, share_bounds
    uniform = 1.0 / arms

    @inlined
    def uniform_share(means: np.ndarray, k: int) -> float:
        return uniform

    @inlined
    def uniform_bounds(low: np.ndarray, high: np.ndarray, k: int) -> tuple[float, float]:
        return uniform, uniform

    return uniform_share, uniform_bounds


@inlined
def play_all_arms(arms: np.ndarray, played: int, horizon: int) -> int:
    """Play all arms once, within the horizon; `played` and the result are the rounds played before and after."""
    for k in range(len(arms)):
        if played < horizon:
            play_arm(arms, k)
            played += 1
    return played


@inlined
def mean_of(arm: np.record) -> float:
    return np.float64(arm.total) / max(arm.pulls, 1)


@inlined
def gap_bounds(arms: np.ndarray, k: int, log_horizon: float) -> tuple[float, float]:
    """Lower and upper bounds of the gap of arm k (opportunities paper, Alg. 4, lines 17-18)."""
    if arms[k].pulls == 0:
        return 0.0, 1.0
    highest = 0.0
    for j in range(len(arms)):
        highest = max(highest, mean_of(arms[j]))
    gap, radius = highest - mean_of(arms[k]), math.sqrt(2.0 * log_horizon / arms[k].pulls)
    return max(gap - 2.0 * radius, 0.0), min(gap + 2.0 * radius, 1.0)


@inlined
def play_quotas(arms: np.ndarray, quotas: np.ndarray, played: int, horizon: int) -> int:
    """Play each arm until it reaches its quota, arm after arm; `played` is as for `play_all_arms`."""
    for k in range(len(arms)):
        while arms[k].pulls < quotas[k] and played < horizon:
            play_arm(arms, k)
            played += 1
    return played


def black_box(policy: jb.Policy, problem: jb.Problem, horizon: int) -> Compiled:
    """A compiled function (arms, played, horizon): the index plays the remaining rounds, without earlier data."""
    play = index_policy(policy.black_box, problem, horizon)

    @inlined
    def finish(arms: np.ndarray, played: int, horizon: int) -> None:
        fresh = arms.copy()
        for k in range(len(arms)):
            fresh[k].pulls, fresh[k].total = 0, 0.0
        play(fresh, horizon - played)
        for k in range(len(arms)):
            arms[k].pulls += fresh[k].pulls

    return finish


def fairness_aware_etc(policy: jb.policies.FairnessAwareETC, problem: jb.Problem, horizon: int) -> Compiled:
    """N plays of each arm, then floor(T f(m)) of each whose gap is below its cost, then the arm of highest mean."""
    share, _ = fairness_function(problem)
    rounds = policy.rounds_per_arm
    if rounds is None:
        slope = problem.opportunity.lipschitz(problem.arms)
        recommended = 8 * (slope * horizon) ** (2 / 3) * math.log(horizon) ** (1 / 3)
        rounds = max(1, min(recommended, horizon // problem.arms))
    rounds_per_arm = int(rounds)

    @inlined
    def play(arms: np.ndarray, horizon: int) -> tuple[float, float]:
        means, quotas = np.empty(len(arms)), np.empty(len(arms), np.int64)
        quotas[:] = rounds_per_arm
        played = play_quotas(arms, quotas, 0, horizon)
        for k in range(len(arms)):
            means[k] = mean_of(arms[k])
        best = arm_of_highest_mean(arms)
        for k in range(len(arms)):
            # 1e-9: a gap equal to the transfer cost may be rounded to less
            below_cost = means[best] - means[k] < arms[k].penalty_rate - 1e-9
            quotas[k] = int(horizon * share(means, k)) if below_cost else 0
        played = play_quotas(arms, quotas, played, horizon)
        for _ in range(played, horizon):
            play_arm(arms, best)
        return 0.0, 0.0

    return play


def self_regulated(policy: jb.policies.SelfRegulated, problem: jb.Problem, horizon: int) -> Compiled:
    """All arms in turn until the gaps are known to beta, and then the shares to alpha; the shares; the black box."""
    share, share_bounds = fairness_function(problem)
    finish = black_box(policy, problem, horizon)
    log_horizon = math.log(horizon)
    rate = (log_horizon / horizon) ** (1 / 3)
    slope = problem.opportunity.lipschitz(problem.arms)
    alpha = (problem.arms * slope) ** (2 / 3) * rate if policy.alpha is None else policy.alpha
    beta = rate if policy.beta is None else policy.beta

    @inlined
    def gaps_unknown(arms: np.ndarray) -> bool:
        for k in range(len(arms)):
            lower, upper = gap_bounds(arms, k, log_horizon)
            if upper > arms[k].penalty_rate + beta and lower < arms[k].penalty_rate - beta:
                return True
        return False

    @inlined
    def shares_unknown(arms: np.ndarray, low: np.ndarray, high: np.ndarray) -> bool:
        for k in range(len(arms)):
            radius = math.sqrt(2.0 * log_horizon / max(arms[k].pulls, 1))
            observed = arms[k].pulls > 0
            low[k] = max(mean_of(arms[k]) - radius, 0.0) if observed else 0.0
            high[k] = min(mean_of(arms[k]) + radius, 1.0) if observed else 1.0
        for k in range(len(arms)):
            lower, upper = share_bounds(low, high, k)
            if upper - lower > alpha and gap_bounds(arms, k, log_horizon)[0] < arms[k].penalty_rate:
                return True
        return False

    @inlined
    def play(arms: np.ndarray, horizon: int) -> tuple[float, float]:
        low, high, quotas = np.empty(len(arms)), np.empty(len(arms)), np.empty(len(arms), np.int64)
        played = 0
        while played < horizon and gaps_unknown(arms):
            played = play_all_arms(arms, played, horizon)
        while played < horizon and shares_unknown(arms, low, high):
            played = play_all_arms(arms, played, horizon)
        for k in range(len(arms)):
            low[k] = mean_of(arms[k])
        for k in range(len(arms)):
            below_cost = gap_bounds(arms, k, log_horizon)[0] < arms[k].penalty_rate
            quotas[k] = int(horizon * share(low, k)) if below_cost else 0
        played = play_quotas(arms, quotas, played, horizon)
        finish(arms, played, horizon)
        return 0.0, 0.0

    return play


def constant_opportunity(policy: jb.policies.ConstantOpportunity, problem: jb.Problem, horizon: int) -> Compiled:
    """All active arms in turn, then the black box.

    An arm stays active while it is below its share and its gap may be below the transfer cost.
    """
    finish = black_box(policy, problem, horizon)
    log_horizon = math.log(horizon)
    shares = np.array([math.ceil(share * horizon) for share in problem.opportunity.constant_shares(problem.arms)])

    @inlined
    def play(arms: np.ndarray, horizon: int) -> tuple[float, float]:
        for k in range(len(arms)):
            arms[k].active = True
        played, any_active = 0, True
        while any_active and played < horizon:
            for k in range(len(arms)):
                if arms[k].active and played < horizon:
                    play_arm(arms, k)
                    played += 1
            any_active = False
            for k in range(len(arms)):
                if arms[k].pulls >= shares[k] or gap_bounds(arms, k, log_horizon)[0] > arms[k].penalty_rate:
                    arms[k].active = False
                any_active = any_active or arms[k].active
        finish(arms, played, horizon)
        return 0.0, 0.0

    return play


LOOPS: dict[str, Builder] = {
    "fairness-aware-etc": fairness_aware_etc,
    "self-regulated": self_regulated,
    "constant-opportunity": constant_opportunity,
}
