"""Numba loops of the policies of papers 000 and 001, one play a round: SPEC.md section 3."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

import jaxbandit as jb

from .common import Compiled, arms_of, best_mean, f32, fast, highest, one_play, pull, unseen_first
from .indices import SCORES


def hard_threshold(rule: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """index + A [N < tau t], after each arm once."""
    moment, index = SCORES[rule.base.name](rule.base, problem, horizon)

    @fast
    def value(arm: Any, t: int, now: float) -> float:
        bonus = f32(arm.price) if arm.pulls * arm.unit < arm.step * t else f32(0)
        return index(arm, t, now) + bonus

    return one_play(highest(moment, value))


def soft_threshold(rule: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """index + A max(tau t - N, 0) / (tau t), after each arm once."""
    moment, index = SCORES[rule.base.name](rule.base, problem, horizon)

    @fast
    def value(arm: Any, t: int, now: float) -> float:
        owed = arm.step * t
        missing = max(owed - arm.pulls * arm.unit, 0)
        return index(arm, t, now) + f32(arm.price) * f32(missing) / f32(max(owed, 1))

    return one_play(highest(moment, value))


def eta_fucb(rule: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """index + eta (tau (t-1) - N), after each arm once."""
    moment, index = SCORES[rule.base.name](rule.base, problem, horizon)
    weight = f32(rule.eta / arms_of(problem)["unit"][0])

    @fast
    def value(arm: Any, t: int, now: float) -> float:
        return index(arm, t, now) + weight * f32(arm.step * (t - 1) - arm.pulls * arm.unit)

    return one_play(highest(moment, value))


def fair_learn(rule: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """The largest deficit tau (t-1) - N while one exceeds alpha, else the highest index."""
    moment, index = SCORES[rule.base.name](rule.base, problem, horizon)
    by_index = highest(moment, unseen_first(index) if rule.base.name != "thompson" else index, initial_pass=False)
    above, below = Fraction(str(rule.alpha)).as_integer_ratio()

    @fast
    def choose(arms: Any, t: int) -> int:
        late, most = -1, arms[0].unit * above // below
        for k in range(len(arms)):
            deficit = arms[k].step * (t - 1) - arms[k].pulls * arms[k].unit
            if deficit > most:
                late, most = k, deficit
        return late if late >= 0 else by_index(arms, t)

    return one_play(choose)


def lfg(rule: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """Q + eta min(index, 1), Q = max(Q + tau - [selected], 0) in units of 1/unit, so that queues tie exactly."""
    moment, index = SCORES[rule.base.name](rule.base, problem, horizon)
    score = unseen_first(index)
    eta, inverse = f32(rule.eta), f32(1 / arms_of(problem)["unit"][0])

    @fast
    def value(arm: Any, t: int, now: float) -> float:
        return f32(arm.queue) * inverse + eta * (min(score(arm, t, now), f32(1)) - f32(1))

    choose = highest(moment, value, initial_pass=False)

    @fast
    def play(arms: Any, horizon: int) -> tuple[float, float]:
        for k in range(len(arms)):
            arms[k].queue = arms[k].step
        for t in range(1, horizon + 1):
            chosen = choose(arms, t)
            pull(arms, chosen)
            arms[chosen].queue -= arms[chosen].unit
            for k in range(len(arms)):
                arms[k].queue = max(arms[k].queue + arms[k].step, 0.0)
        return 0.0, 0.0

    return play


@fast
def sampled(arms: Any) -> int:
    """An arm with the probabilities of the fields `chance`, which sum to 1."""
    left = np.random.random()
    for k in range(len(arms) - 1):
        left -= arms[k].chance
        if left < 0.0:
            return k
    return len(arms) - 1


def fair_random(policy: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """Arm k with probability tau_k + (1 - sum tau) / K."""

    @fast
    def play(arms: Any, horizon: int) -> tuple[float, float]:
        spare = 1.0
        for k in range(len(arms)):
            spare -= arms[k].step / arms[k].unit
        for k in range(len(arms)):
            arms[k].chance = arms[k].step / arms[k].unit + spare / len(arms)
        for _ in range(horizon):
            pull(arms, sampled(arms))
        return 0.0, 0.0

    return play


def naive(policy: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """A round robin of quotas in eps T rounds, then tau_k each and the rest for the arm of highest mean by then."""
    tau = [Fraction(value) for value in np.broadcast_to(problem.fractions, problem.means.shape)[:, 0]]
    explored = math.floor(Fraction(str(policy.eps)) * horizon)
    spare = 1 - sum(tau)
    shares = [(value + spare / len(tau)) * explored for value in tau]
    quota = np.array([math.floor(share) for share in shares])
    largest_remainders = sorted(range(len(tau)), key=lambda k: quota[k] - shares[k])
    quota[largest_remainders[: explored - quota.sum()]] += 1
    rest = float(spare)

    @fast
    def play(arms: Any, horizon: int) -> tuple[float, float]:
        chunks_of = 0
        while chunks_of < explored:
            for k in range(len(arms)):
                if arms[k].pulls < quota[k] and chunks_of < explored:
                    pull(arms, k)
                    chunks_of += 1
        for k in range(len(arms)):
            arms[k].chance = arms[k].step / arms[k].unit
        arms[best_mean(arms)].chance += rest
        for _ in range(explored, horizon):
            pull(arms, sampled(arms))
        return 0.0, 0.0

    return play


def t_fucb(rule: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """max(1, ceil(tau T)) plays of each arm, arm after arm, then the highest index."""
    choose = highest(*SCORES[rule.base.name](rule.base, problem, horizon), initial_pass=False)

    @fast
    def play(arms: Any, horizon: int) -> tuple[float, float]:
        t = 0
        for k in range(len(arms)):
            share = max(1, -(-arms[k].step * horizon // arms[k].unit))
            for _ in range(min(share, horizon - t)):
                pull(arms, k)
                t += 1
        while t < horizon:
            t += 1
            pull(arms, choose(arms, t))
        return 0.0, 0.0

    return play


PLAYS = {
    "hard-threshold-ucb": hard_threshold,
    "soft-threshold-ucb": soft_threshold,
    "eta-fucb": eta_fucb,
    "fair-learn": fair_learn,
    "lfg": lfg,
    "fair-random": fair_random,
    "naive": naive,
    "t-fucb": t_fucb,
}
