"""Numba loops of the policies of the merit paper: several plays with geometric delay, and both regrets of each run.

Rewards that have not arrived yet are kept in a ring buffer of rounds. Merit is 1 + s mu^4.
"""

from __future__ import annotations

import math

import numpy as np

import jaxbandit as jb
from benchmarks.policies.numba_loops.common import (
    Builder,
    Compiled,
    f32,
    inlined,
    select_by_dependent_rounding,
    select_highest_score,
)

RING = 1024  # rounds; a geometric delay from 65 random bits is at most 879 for p = 0.05

DELAYED_ARM = np.dtype(
    [
        ("mean", "f8"),  # mu
        ("fair_chance", "f8"),  # p*
        ("low", "f8"),
        ("high", "f8"),
        ("estimate", "f8"),  # the estimate of mu whose merit is computed
        ("chance", "f8"),  # p
        ("pulls", "i4"),  # N
        ("received", "i4"),  # M
        ("total", "f4"),  # S
        ("score", "f4"),
        ("selected", "?"),
        ("active", "?"),
        ("to_play", "?"),  # not selected yet in the current sweep of opse
    ],
    align=True,
)


def arms_of(problem: jb.Problem) -> np.ndarray:
    """The arms of a problem of one instance before the first round."""
    arms = np.zeros(problem.arms, DELAYED_ARM)
    arms["mean"], arms["fair_chance"] = problem.means[:, 0], problem.fair_chances()[:, 0]
    arms["active"] = arms["to_play"] = True
    return arms


@inlined
def keep_nothing(arms: np.ndarray) -> None:
    """The update of a policy that keeps only counts and sums."""


def with_delay(problem: jb.Problem, select: Compiled, update: Compiled = keep_nothing) -> Compiled:
    """`play` of a policy under geometric delay; its sums are the reward regret and the fairness regret of the run.

    Args:
        select: compiled function (arms, t), with t from 1, that sets `chance` and `selected`; the latter is false
            before.
        update: compiled function (arms), called after the rewards that arrive in the round were counted.
    """
    log_loss = math.log1p(-float(np.max(problem.delay.p)))

    @inlined
    def play(arms: np.ndarray, horizon: int) -> tuple[float, float]:
        count, total = np.zeros((RING, len(arms)), np.int32), np.zeros((RING, len(arms)), np.float32)
        reward_regret = fairness_regret = 0.0
        for t in range(1, horizon + 1):
            select(arms, t)
            lost = 0.0
            now = t % RING
            for k in range(len(arms)):
                lost += (arms[k].fair_chance - arms[k].chance) * arms[k].mean
                fairness_regret += abs(arms[k].fair_chance - arms[k].chance)
                if arms[k].selected:
                    arms[k].selected = False
                    arms[k].pulls += 1
                    delay = int(math.log(1.0 - np.random.random()) / log_loss)
                    if delay < RING:
                        arrival = (t + delay) % RING
                        count[arrival, k] += 1
                        total[arrival, k] += f32(1) if np.random.random() < arms[k].mean else f32(0)
            reward_regret += max(lost, 0.0)
            for k in range(len(arms)):
                arms[k].received += count[now, k]
                arms[k].total += total[now, k]
                count[now, k], total[now, k] = 0, f32(0)
            update(arms)
        return reward_regret, fairness_regret

    return play


@inlined
def set_chances_of_selection(arms: np.ndarray) -> None:
    """Set the chances of a deterministic selection: 1 for selected arms, 0 for the others."""
    for k in range(len(arms)):
        arms[k].chance = 1.0 if arms[k].selected else 0.0


@inlined
def no_shared_term(t: int) -> np.float32:
    return f32(0)


def highest_scores(problem: jb.Problem, score: Compiled, shared_term: Compiled = no_shared_term) -> Compiled:
    """`select` of the L arms with the highest score(arm, shared_term(t))."""
    plays = problem.plays

    @inlined
    def select(arms: np.ndarray, t: int) -> None:
        shared = shared_term(t)
        for k in range(len(arms)):
            arms[k].score = score(arms[k], shared)
        for _ in range(plays):
            select_highest_score(arms)
        set_chances_of_selection(arms)

    return select


def in_proportion_to_merit(problem: jb.Problem, estimate: Compiled) -> Compiled:
    """`select` by dependent rounding of the chances L f(x) / sum f(x); estimate(arms, t) writes x to `estimate`."""
    plays, scale = problem.plays, float(problem.merit.scale)

    @inlined
    def select(arms: np.ndarray, t: int) -> None:
        estimate(arms, t)
        denominator = 0.0
        for k in range(len(arms)):
            arms[k].chance = 1.0 + scale * arms[k].estimate ** 4
            denominator += arms[k].chance
        for k in range(len(arms)):
            arms[k].chance *= plays / denominator
        select_by_dependent_rounding(arms)

    return select


def box_optimum(problem: jb.Problem) -> Compiled:
    """A compiled function (arms) that maximises sum f(x) x / sum f(x) over low <= x <= high by Dinkelbach's method.

    It writes x to the fields `estimate`.
    """
    s = float(problem.merit.scale)

    @inlined
    def merit(x: float) -> float:
        return 1.0 + s * x * x * x * x

    @inlined
    def maximiser(low: float, high: float, ratio: float) -> float:
        """The x in [low, high] of the largest f(x) (x - ratio): `high`, or the local maximum left of the valley."""
        valley = max(ratio, 0.0) * 0.6
        if 1.0 + s * valley**3 * (5.0 * valley - 4.0 * ratio) >= 0.0:
            return high
        left, right = 0.0, valley
        for _ in range(26):
            middle = 0.5 * (left + right)
            if 1.0 + s * middle**3 * (5.0 * middle - 4.0 * ratio) > 0.0:
                left = middle
            else:
                right = middle
        peak = min(max(left, low), high)
        return peak if merit(peak) * (peak - ratio) > merit(high) * (high - ratio) else high

    @inlined
    def solve(arms: np.ndarray) -> None:
        for k in range(len(arms)):
            arms[k].estimate = arms[k].high
        ratio = -1.0
        for _ in range(30):
            numerator = denominator = 0.0
            for k in range(len(arms)):
                f = merit(arms[k].estimate)
                numerator += f * arms[k].estimate
                denominator += f
            if numerator / denominator <= ratio:
                break
            ratio = numerator / denominator
            for k in range(len(arms)):
                arms[k].estimate = maximiser(arms[k].low, arms[k].high, ratio)

    return solve


def confidence_box(problem: jb.Problem, horizon: int, weight: float, optimistic: bool) -> Compiled:
    """`select` of fcucb-d, or of op-fcucb-d if `optimistic`. Each arm is selected once first."""
    arm_count, plays = problem.arms, problem.plays
    log_factor = math.log(weight * plays * arm_count * horizon)
    solve = box_optimum(problem)

    @inlined
    def estimate(arms: np.ndarray, t: int) -> None:
        for k in range(len(arms)):
            samples = max(arms[k].pulls if optimistic else arms[k].received, 1)
            missing = arms[k].pulls - arms[k].received if optimistic else 0
            radius = math.sqrt(log_factor / samples)
            arms[k].low = max(arms[k].total / samples - radius, 0.0)
            arms[k].high = min((arms[k].total + missing) / samples + radius, 1.0)
        solve(arms)

    select_by_merit = in_proportion_to_merit(problem, estimate)
    initial_rounds = -(-arm_count // plays)

    @inlined
    def select(arms: np.ndarray, t: int) -> None:
        if t > initial_rounds:
            select_by_merit(arms, t)
            return
        for k in range((t - 1) * plays, t * plays):
            arms[k if k < len(arms) else k - len(arms)].selected = True
        set_chances_of_selection(arms)

    return select


def fcucb_d(policy: jb.policies.FCUCBD, problem: jb.Problem, horizon: int) -> Compiled:
    """In proportion to the merit of the best means in a confidence box."""
    return with_delay(problem, confidence_box(problem, horizon, 4.0, False))


def op_fcucb_d(policy: jb.policies.OPFCUCBD, problem: jb.Problem, horizon: int) -> Compiled:
    """As fcucb-d, with missing rewards counted as 0 in the lower bound and as 1 in the upper bound."""
    return with_delay(problem, confidence_box(problem, horizon, 6.0, True))


def fcts_d(policy: jb.policies.FCTSD, problem: jb.Problem, horizon: int) -> Compiled:
    """In proportion to the merit of posterior draws."""

    @inlined
    def estimate(arms: np.ndarray, t: int) -> None:
        for k in range(len(arms)):
            arms[k].estimate = np.random.beta(1.0 + arms[k].total, 1.0 + arms[k].received - arms[k].total)

    return with_delay(problem, in_proportion_to_merit(problem, estimate))


def op_fcts_d(policy: jb.policies.OPFCTSD, problem: jb.Problem, horizon: int) -> Compiled:
    """As fcts-d, with the average of two draws: one with all missing rewards 1, one with all of them 0."""

    @inlined
    def estimate(arms: np.ndarray, t: int) -> None:
        for k in range(len(arms)):
            ones, missing = 1.0 + arms[k].total, arms[k].pulls - arms[k].received
            zeros = 1.0 + arms[k].received - arms[k].total
            arms[k].estimate = 0.5 * (np.random.beta(ones + missing, zeros) + np.random.beta(ones, zeros + missing))

    return with_delay(problem, in_proportion_to_merit(problem, estimate))


def fgreedy_d(policy: jb.policies.FGreedyD, problem: jb.Problem, horizon: int) -> Compiled:
    """L arms uniformly at random with probability eps / t^decay, otherwise in proportion to the merit of the means."""
    plays, eps, decay = problem.plays, policy.eps, policy.decay

    @inlined
    def estimate(arms: np.ndarray, t: int) -> None:
        for k in range(len(arms)):
            arms[k].estimate = arms[k].total / max(arms[k].received, 1)

    select_by_merit = in_proportion_to_merit(problem, estimate)

    @inlined
    def select(arms: np.ndarray, t: int) -> None:
        if np.random.random() >= eps * t**-decay:
            select_by_merit(arms, t)
            return
        left = plays
        for k in range(len(arms)):
            arms[k].chance = plays / len(arms)
            if np.random.random() * (len(arms) - k) < left:
                arms[k].selected = True
                left -= 1

    return with_delay(problem, select)


def cucb_d(policy: jb.policies.CUCBD, problem: jb.Problem, horizon: int) -> Compiled:
    """The L largest m + sqrt((L+1) log t / max(M, 1))."""
    weight = problem.plays + 1.0

    @inlined
    def shared_term(t: int) -> float:
        return weight * math.log(t)

    @inlined
    def score(arm: np.record, shared: float) -> np.float32:
        # In float64: with fastmath, square roots in float32 are approximate in vectors but exact in the remaining
        # iterations of a loop, so equal scores would differ.
        samples = float(max(arm.received, 1))
        return f32(arm.total / samples + math.sqrt(shared / samples))

    return with_delay(problem, highest_scores(problem, score, shared_term))


def mp_ts_d(policy: jb.indices.Thompson, problem: jb.Problem, horizon: int) -> Compiled:
    """The L largest posterior draws."""

    @inlined
    def score(arm: np.record, shared: float) -> np.float32:
        return f32(np.random.beta(1.0 + arm.total, 1.0 + arm.received - arm.total))

    return with_delay(problem, highest_scores(problem, score))


def opse(policy: jb.policies.OPSE, problem: jb.Problem, horizon: int) -> Compiled:
    """All active arms in turn; then arms whose upper bound is below the L highest lower bounds become inactive.

    A missing reward counts as 1 in upper bounds and as 0 in lower bounds.
    """
    weight, plays = f32(policy.exploration * math.log(horizon)), problem.plays

    @inlined
    def score(arm: np.record, shared: float) -> np.float32:
        return (f32(1) if arm.active else f32(0)) + (f32(1) if arm.to_play else f32(0))

    select_by_score = highest_scores(problem, score)

    @inlined
    def select(arms: np.ndarray, t: int) -> None:
        select_by_score(arms, t)
        for k in range(len(arms)):
            if arms[k].selected:
                arms[k].to_play = False

    @inlined
    def update(arms: np.ndarray) -> None:
        for k in range(len(arms)):
            if arms[k].to_play:
                return
        for k in range(len(arms)):
            n = f32(arms[k].pulls)
            arms[k].score = arms[k].total / n - math.sqrt(weight / n) if arms[k].active else f32(-1e30)
        floor = f32(0)
        for _ in range(plays):
            best = 0
            for k in range(1, len(arms)):
                if arms[k].score > arms[best].score:
                    best = k
            floor = arms[best].score
            arms[best].score = f32(-1e30)
        for k in range(len(arms)):
            if arms[k].active:
                n = f32(arms[k].pulls)
                upper = (arms[k].total + f32(arms[k].pulls - arms[k].received)) / n + math.sqrt(weight / n)
                arms[k].active = upper >= floor
            arms[k].to_play = arms[k].active

    return with_delay(problem, select, update)


LOOPS: dict[str, Builder] = {
    "fcucb-d": fcucb_d,
    "op-fcucb-d": op_fcucb_d,
    "fcts-d": fcts_d,
    "op-fcts-d": op_fcts_d,
    "fgreedy-d": fgreedy_d,
    "cucb-d": cucb_d,
    "thompson": mp_ts_d,
    "opse": opse,
}
