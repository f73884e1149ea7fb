"""Numba loops of paper 002: several plays under geometric delay, and both regrets of every round.

Rewards under way lie in a ring of rounds. Merit is 1 + s mu^4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import jaxbandit as jb

from .common import Compiled, f32, fast, highest_lower_bound, mark_best, rounded

RING = 1024  # rounds; the largest geometric delay of 65 random bits is 879 for p = 0.05

DELAYED = np.dtype(
    [
        ("mean", "f8"),  # mu
        ("fair", "f8"),  # p*
        ("low", "f8"),
        ("high", "f8"),
        ("x", "f8"),  # the estimate that merit is taken of
        ("chance", "f8"),  # p
        ("pulls", "i4"),  # N
        ("received", "i4"),  # M
        ("total", "f4"),  # S
        ("score", "f4"),
        ("selected", "?"),
        ("active", "?"),
        ("left", "?"),
    ],
    align=True,
)


def arms_of(problem: jb.Problem) -> np.ndarray:
    """The arms of a problem of one instance, nothing played."""
    arms = np.zeros(problem.arms, DELAYED)
    arms["mean"], arms["fair"] = problem.means[:, 0], problem.fair_chances()[:, 0]
    arms["active"] = arms["left"] = True
    return arms


@fast
def no_news(arms: Any) -> None:
    """What a policy learns at the end of a round that keeps nothing beside counts and sums."""


def delayed(problem: jb.Problem, choose: Compiled, after: Compiled = no_news) -> Compiled:
    """`play` of a policy under geometric delay: both regrets of the run.

    Args:
        choose: of (arms, t), t from 1: sets the fields `selected`, all false before, and `chance`.
        after: of (arms), when what arrived at the round's end has been counted.
    """
    log_loss = math.log1p(-float(np.max(problem.delay.p)))

    @fast
    def play(arms: Any, horizon: int) -> tuple[float, float]:
        number, total = np.zeros((RING, len(arms)), np.int32), np.zeros((RING, len(arms)), np.float32)
        reward_regret = fairness_regret = 0.0
        for t in range(1, horizon + 1):
            choose(arms, t)
            lost = 0.0
            here = t % RING
            for k in range(len(arms)):
                lost += (arms[k].fair - arms[k].chance) * arms[k].mean
                fairness_regret += abs(arms[k].fair - arms[k].chance)
                if arms[k].selected:
                    arms[k].selected = False
                    arms[k].pulls += 1
                    delay = int(math.log(1.0 - np.random.random()) / log_loss)
                    if delay < RING:
                        then = (t + delay) % RING
                        number[then, k] += 1
                        total[then, k] += f32(1) if np.random.random() < arms[k].mean else f32(0)
            reward_regret += max(lost, 0.0)
            for k in range(len(arms)):
                arms[k].received += number[here, k]
                arms[k].total += total[here, k]
                number[here, k], total[here, k] = 0, f32(0)
            after(arms)
        return reward_regret, fairness_regret

    return play


@fast
def sure(arms: Any) -> None:
    """Chances of 0 and 1: the selection itself."""
    for k in range(len(arms)):
        arms[k].chance = 1.0 if arms[k].selected else 0.0


@fast
def nothing_shared(t: int) -> float:
    return f32(0)


def highest(problem: jb.Problem, score: Compiled, moment: Compiled = nothing_shared) -> Compiled:
    """`choose` of the L highest of score(arm, moment(t)), the moment being what a round's scores share."""
    plays = problem.plays

    @fast
    def choose(arms: Any, t: int) -> None:
        now = moment(t)
        for k in range(len(arms)):
            arms[k].score = score(arms[k], now)
        for _ in range(plays):
            mark_best(arms)
        sure(arms)

    return choose


def in_proportion(problem: jb.Problem, estimate: Compiled) -> Compiled:
    """`choose` by dependent rounding of L f(x) / sum f(x), x the fields that estimate(arms, t) writes."""
    plays, scale = problem.plays, float(problem.merit.scale)

    @fast
    def choose(arms: Any, t: int) -> None:
        estimate(arms, t)
        below = 0.0
        for k in range(len(arms)):
            arms[k].chance = 1.0 + scale * arms[k].x ** 4
            below += arms[k].chance
        for k in range(len(arms)):
            arms[k].chance *= plays / below
        rounded(arms)

    return choose


def box_optimum(problem: jb.Problem) -> Compiled:
    """A function of (arms) that maximises sum f(x) x / sum f(x) over [low, high] into `x`, by Dinkelbach's method."""
    s = float(problem.merit.scale)

    @fast
    def merit(x: float) -> float:
        return 1.0 + s * x * x * x * x

    @fast
    def peak(low: float, high: float, ratio: float) -> float:
        """The x of the largest f(x) (x - ratio), as `jaxbandit.merit.Power.peak` has it."""
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
        top = min(max(left, low), high)
        return top if merit(top) * (top - ratio) > merit(high) * (high - ratio) else high

    @fast
    def solve(arms: Any) -> None:
        for k in range(len(arms)):
            arms[k].x = arms[k].high
        ratio = -1.0
        for _ in range(30):
            above = below = 0.0
            for k in range(len(arms)):
                f = merit(arms[k].x)
                above += f * arms[k].x
                below += f
            if above / below <= ratio:
                break
            ratio = above / below
            for k in range(len(arms)):
                arms[k].x = peak(arms[k].low, arms[k].high, ratio)

    return solve


def boxed(problem: jb.Problem, horizon: int, weight: float, optimistic: bool) -> Compiled:
    """fcucb-d, or op-fcucb-d where `optimistic`: `choose` after a first play of each arm."""
    arms_count, plays = problem.arms, problem.plays
    log_all = math.log(weight * plays * arms_count * horizon)
    solve = box_optimum(problem)

    @fast
    def estimate(arms: Any, t: int) -> None:
        for k in range(len(arms)):
            samples = max(arms[k].pulls if optimistic else arms[k].received, 1)
            missing = arms[k].pulls - arms[k].received if optimistic else 0
            radius = math.sqrt(log_all / samples)
            arms[k].low = max(arms[k].total / samples - radius, 0.0)
            arms[k].high = min((arms[k].total + missing) / samples + radius, 1.0)
        solve(arms)

    drawn = in_proportion(problem, estimate)
    first = -(-arms_count // plays)

    @fast
    def choose(arms: Any, t: int) -> None:
        if t > first:
            drawn(arms, t)
            return
        for k in range((t - 1) * plays, t * plays):
            arms[k if k < len(arms) else k - len(arms)].selected = True
        sure(arms)

    return choose


def fcucb_d(policy: Any, problem: jb.Problem, horizon: int) -> Compiled:
    return delayed(problem, boxed(problem, horizon, 4.0, False))


def op_fcucb_d(policy: Any, problem: jb.Problem, horizon: int) -> Compiled:
    return delayed(problem, boxed(problem, horizon, 6.0, True))


def fcts_d(policy: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """In proportion to the merit of posterior draws."""

    @fast
    def estimate(arms: Any, t: int) -> None:
        for k in range(len(arms)):
            arms[k].x = np.random.beta(1.0 + arms[k].total, 1.0 + arms[k].received - arms[k].total)

    return delayed(problem, in_proportion(problem, estimate))


def op_fcts_d(policy: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """The average of a draw with all missing rewards 1 and one with all 0."""

    @fast
    def estimate(arms: Any, t: int) -> None:
        for k in range(len(arms)):
            ones, late = 1.0 + arms[k].total, arms[k].pulls - arms[k].received
            zeros = 1.0 + arms[k].received - arms[k].total
            arms[k].x = 0.5 * (np.random.beta(ones + late, zeros) + np.random.beta(ones, zeros + late))

    return delayed(problem, in_proportion(problem, estimate))


def fgreedy_d(policy: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """With probability eps / t^decay L arms evenly, else in proportion to the merit of the means."""
    plays, eps, decay = problem.plays, policy.eps, policy.decay

    @fast
    def estimate(arms: Any, t: int) -> None:
        for k in range(len(arms)):
            arms[k].x = arms[k].total / max(arms[k].received, 1)

    drawn = in_proportion(problem, estimate)

    @fast
    def choose(arms: Any, t: int) -> None:
        if np.random.random() >= eps * t**-decay:
            drawn(arms, t)
            return
        left = plays
        for k in range(len(arms)):
            arms[k].chance = plays / len(arms)
            if np.random.random() * (len(arms) - k) < left:
                arms[k].selected = True
                left -= 1

    return delayed(problem, choose)


def cucb_d(policy: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """The L largest m + sqrt((L+1) log t / max(M, 1))."""
    weight = problem.plays + 1.0

    @fast
    def moment(t: int) -> float:
        return weight * math.log(t)

    @fast
    def score(arm: Any, now: float) -> float:
        # In float64: fastmath approximates roots of float32 in vectors, not in what is left of them, and ties break.
        samples = float(max(arm.received, 1))
        return f32(arm.total / samples + math.sqrt(now / samples))

    return delayed(problem, highest(problem, score, moment))


def mp_ts_d(policy: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """The L largest posterior draws."""

    @fast
    def score(arm: Any, now: float) -> float:
        return f32(np.random.beta(1.0 + arm.total, 1.0 + arm.received - arm.total))

    return delayed(problem, highest(problem, score))


def opse(policy: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """Sweeps over the active arms; after each, those below the best leave, missing rewards 1 above and 0 below."""
    weight = f32(policy.exploration * math.log(horizon))

    @fast
    def score(arm: Any, now: float) -> float:
        return (f32(1) if arm.active else f32(0)) + (f32(1) if arm.left else f32(0))

    chosen = highest(problem, score)

    @fast
    def choose(arms: Any, t: int) -> None:
        chosen(arms, t)
        for k in range(len(arms)):
            if arms[k].selected:
                arms[k].left = False

    @fast
    def after(arms: Any) -> None:
        for k in range(len(arms)):
            if arms[k].left:
                return
        most = highest_lower_bound(arms, weight)
        for k in range(len(arms)):
            if arms[k].active:
                n = f32(arms[k].pulls)
                above = (arms[k].total + f32(arms[k].pulls - arms[k].received)) / n + math.sqrt(weight / n)
                arms[k].active = above >= most
            arms[k].left = arms[k].active

    return delayed(problem, choose, after)


PLAYS = {
    "fcucb-d": fcucb_d,
    "op-fcucb-d": op_fcucb_d,
    "fcts-d": fcts_d,
    "op-fcts-d": op_fcts_d,
    "fgreedy-d": fgreedy_d,
    "cucb-d": cucb_d,
    "thompson": mp_ts_d,
    "opse": opse,
}
