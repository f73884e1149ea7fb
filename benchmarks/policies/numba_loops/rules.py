"""Numba loops of policies of the penalties and guarantees papers, which select one arm per round."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

import jaxbandit as jb
from benchmarks.policies.numba_loops.common import (
    Builder,
    Compiled,
    arm_of_highest_mean,
    arms_of,
    f32,
    highest_index,
    inlined,
    never_selected_first,
    one_arm_per_round,
    play_arm,
)
from benchmarks.policies.numba_loops.indices import INDICES


def hard_threshold(policy: jb.policies.HardThreshold, problem: jb.Problem, horizon: int) -> Compiled:
    """index + A [N < tau t], after each arm once."""
    shared_term, base_index = INDICES[policy.base.name](policy.base, problem, horizon)

    @inlined
    def index(arm: np.record, t: int, shared: float) -> float:
        bonus = f32(arm.penalty_rate) if arm.pulls * arm.unit < arm.step * t else f32(0)
        return base_index(arm, t, shared) + bonus

    return one_arm_per_round(highest_index(shared_term, index))


def soft_threshold(policy: jb.policies.SoftThreshold, problem: jb.Problem, horizon: int) -> Compiled:
    """index + A max(tau t - N, 0) / (tau t), after each arm once."""
    shared_term, base_index = INDICES[policy.base.name](policy.base, problem, horizon)

    @inlined
    def index(arm: np.record, t: int, shared: float) -> float:
        quota = arm.step * t
        missing = max(quota - arm.pulls * arm.unit, 0)
        return base_index(arm, t, shared) + f32(arm.penalty_rate) * f32(missing) / f32(max(quota, 1))

    return one_arm_per_round(highest_index(shared_term, index))


def eta_fucb(policy: jb.policies.EtaFUCB, problem: jb.Problem, horizon: int) -> Compiled:
    """index + eta (tau (t-1) - N), after each arm once."""
    shared_term, base_index = INDICES[policy.base.name](policy.base, problem, horizon)
    weight = f32(policy.eta / arms_of(problem)["unit"][0])

    @inlined
    def index(arm: np.record, t: int, shared: float) -> float:
        return base_index(arm, t, shared) + weight * f32(arm.step * (t - 1) - arm.pulls * arm.unit)

    return one_arm_per_round(highest_index(shared_term, index))


def fair_learn(policy: jb.policies.FairLearn, problem: jb.Problem, horizon: int) -> Compiled:
    """The arm of the largest deficit tau (t-1) - N if that exceeds alpha, otherwise the highest index."""
    shared_term, index = INDICES[policy.base.name](policy.base, problem, horizon)
    score = never_selected_first(index) if policy.base.name != "thompson" else index
    select_by_index = highest_index(shared_term, score, initial_pass=False)
    numerator, denominator = Fraction(str(policy.alpha)).as_integer_ratio()

    @inlined
    def select(arms: np.ndarray, t: int) -> int:
        overdue, largest = -1, arms[0].unit * numerator // denominator
        for k in range(len(arms)):
            deficit = arms[k].step * (t - 1) - arms[k].pulls * arms[k].unit
            if deficit > largest:
                overdue, largest = k, deficit
        return overdue if overdue >= 0 else select_by_index(arms, t)

    return one_arm_per_round(select)


def lfg(policy: jb.policies.LFG, problem: jb.Problem, horizon: int) -> Compiled:
    """Q + eta min(index, 1) with Q = max(Q + tau - [selected], 0).

    Queues are kept in units of 1 / unit, so that equal queues are exactly equal.
    """
    shared_term, base_index = INDICES[policy.base.name](policy.base, problem, horizon)
    score = never_selected_first(base_index)
    eta, inverse = f32(policy.eta), f32(1 / arms_of(problem)["unit"][0])

    @inlined
    def index(arm: np.record, t: int, shared: float) -> float:
        return f32(arm.queue) * inverse + eta * (min(score(arm, t, shared), f32(1)) - f32(1))

    select = highest_index(shared_term, index, initial_pass=False)

    @inlined
    def play(arms: np.ndarray, horizon: int) -> tuple[float, float]:
        for k in range(len(arms)):
            arms[k].queue = arms[k].step
        for t in range(1, horizon + 1):
            selected = select(arms, t)
            play_arm(arms, selected)
            arms[selected].queue -= arms[selected].unit
            for k in range(len(arms)):
                arms[k].queue = max(arms[k].queue + arms[k].step, 0.0)
        return 0.0, 0.0

    return play


@inlined
def draw_arm(arms: np.ndarray) -> int:
    """Draw an arm with the probabilities of the fields `chance`, which sum to 1."""
    left = np.random.random()
    for k in range(len(arms) - 1):
        left -= arms[k].chance
        if left < 0.0:
            return k
    return len(arms) - 1


def fair_random(policy: jb.policies.FairRandom, problem: jb.Problem, horizon: int) -> Compiled:
    """Arm k with probability tau_k + (1 - sum tau) / K."""

    @inlined
    def play(arms: np.ndarray, horizon: int) -> tuple[float, float]:
        spare = 1.0
        for k in range(len(arms)):
            spare -= arms[k].step / arms[k].unit
        for k in range(len(arms)):
            arms[k].chance = arms[k].step / arms[k].unit + spare / len(arms)
        for _ in range(horizon):
            play_arm(arms, draw_arm(arms))
        return 0.0, 0.0

    return play


def naive(policy: jb.policies.Naive, problem: jb.Problem, horizon: int) -> Compiled:
    """Exploration and exploitation.

    In the first eps T rounds each arm is selected in turn until its share of these rounds is reached. Then arm k is
    drawn with probability tau_k, and the arm with the highest mean after exploration with the remaining probability.
    """
    tau = [Fraction(value) for value in np.broadcast_to(problem.fractions, problem.means.shape)[:, 0]]
    explored = math.floor(Fraction(str(policy.eps)) * horizon)
    spare = 1 - sum(tau)
    shares = [(value + spare / len(tau)) * explored for value in tau]
    quota = np.array([math.floor(share) for share in shares])
    largest_remainders = sorted(range(len(tau)), key=lambda k: quota[k] - shares[k])
    quota[largest_remainders[: explored - quota.sum()]] += 1
    best_chance = float(spare)

    @inlined
    def play(arms: np.ndarray, horizon: int) -> tuple[float, float]:
        played = 0
        while played < explored:
            for k in range(len(arms)):
                if arms[k].pulls < quota[k] and played < explored:
                    play_arm(arms, k)
                    played += 1
        for k in range(len(arms)):
            arms[k].chance = arms[k].step / arms[k].unit
        arms[arm_of_highest_mean(arms)].chance += best_chance
        for _ in range(explored, horizon):
            play_arm(arms, draw_arm(arms))
        return 0.0, 0.0

    return play


def t_fucb(policy: jb.policies.TFUCB, problem: jb.Problem, horizon: int) -> Compiled:
    """max(1, ceil(tau T)) plays of each arm, arm after arm, and then the highest index."""
    select = highest_index(*INDICES[policy.base.name](policy.base, problem, horizon), initial_pass=False)

    @inlined
    def play(arms: np.ndarray, horizon: int) -> tuple[float, float]:
        t = 0
        for k in range(len(arms)):
            quota = max(1, -(-arms[k].step * horizon // arms[k].unit))
            for _ in range(min(quota, horizon - t)):
                play_arm(arms, k)
                t += 1
        while t < horizon:
            t += 1
            play_arm(arms, select(arms, t))
        return 0.0, 0.0

    return play


LOOPS: dict[str, Builder] = {
    "hard-threshold-ucb": hard_threshold,
    "soft-threshold-ucb": soft_threshold,
    "eta-fucb": eta_fucb,
    "fair-learn": fair_learn,
    "lfg": lfg,
    "fair-random": fair_random,
    "naive": naive,
    "t-fucb": t_fucb,
}
