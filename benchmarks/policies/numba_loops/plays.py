"""Numba loops of policies that select several arms per round without delay: the plays paper."""

from __future__ import annotations

import math

import numpy as np

import jaxbandit as jb
from benchmarks.policies.numba_loops.common import (
    Builder,
    Compiled,
    f32,
    inlined,
    never_selected_first,
    play_arm,
    select_by_dependent_rounding,
    select_highest_score,
)
from benchmarks.policies.numba_loops.indices import INDICES


@inlined
def keep_no_queues(arms: np.ndarray, t: int) -> None:
    """The update of a policy without queues."""


def several_arms_per_round(select: Compiled, update: Compiled = keep_no_queues) -> Compiled:
    """`play` of a policy that selects several arms per round.

    Args:
        select: compiled function (arms, t), with t from 1, that sets the fields `selected`; all are false before.
        update: compiled function (arms, t), called after the selected arms were played.
    """

    @inlined
    def play(arms: np.ndarray, horizon: int) -> tuple[float, float]:
        for t in range(1, horizon + 1):
            select(arms, t)
            for k in range(len(arms)):
                if arms[k].selected:
                    play_arm(arms, k)
            update(arms, t)
            for k in range(len(arms)):
                arms[k].selected = False
        return 0.0, 0.0

    return play


def scoring(policy: jb.Index, problem: jb.Problem, horizon: int) -> Compiled:
    """A compiled function (arms, t) that writes the indices to the fields `score`."""
    shared_term, index = INDICES[policy.name](policy, problem, horizon)
    if policy.name != "thompson":
        index = never_selected_first(index)

    @inlined
    def score(arms: np.ndarray, t: int) -> None:
        shared = shared_term(t)
        for k in range(len(arms)):
            arms[k].score = index(arms[k], t, shared)

    return score


def index_policy(policy: jb.Index, problem: jb.Problem, horizon: int) -> Compiled:
    """The L arms of highest index."""
    score, plays = scoring(policy, problem, horizon), problem.plays

    @inlined
    def select(arms: np.ndarray, t: int) -> None:
        score(arms, t)
        for _ in range(plays):
            select_highest_score(arms)

    return several_arms_per_round(select)


def fair_mmab(policy: jb.policies.FairMMAB, problem: jb.Problem, horizon: int) -> Compiled:
    """The L - J arms of highest index, then up to J arms below their quotas, then again by index."""
    score, plays = scoring(policy.base, problem, horizon), problem.plays
    fraction = max(problem.fractions.flat)
    reserved = next(
        j for j in range(1, plays + 1) if fraction * (problem.arms - plays + j) < j
    )  # J: plays paper, sec. 4

    @inlined
    def select_largest_deficit(arms: np.ndarray, t: int) -> bool:
        overdue, largest = -1, 0
        for k in range(len(arms)):
            deficit = arms[k].step * (t - 1) - arms[k].pulls * arms[k].unit
            if not arms[k].selected and deficit > largest:
                overdue, largest = k, deficit
        if overdue >= 0:
            arms[overdue].selected = True
        return overdue >= 0

    @inlined
    def select(arms: np.ndarray, t: int) -> None:
        if t == 1:
            for k in range(len(arms)):
                arms[k].score = f32(0)  # u(0) = 0
        else:
            score(arms, t)
        for _ in range(plays - reserved):
            select_highest_score(arms)
        for _ in range(reserved):
            if not select_largest_deficit(arms, t):
                select_highest_score(arms)

    return several_arms_per_round(select)


def ucb_lp(policy: jb.policies.UCBLP, problem: jb.Problem, horizon: int) -> Compiled:
    """L arms by dependent rounding, with tau_k or 1 as probabilities.

    The probabilities tau_k are raised to 1 in the order of min(index, 1), as long as they sum to at most L.
    """
    score, plays = scoring(policy.base, problem, horizon), problem.plays

    @inlined
    def select(arms: np.ndarray, t: int) -> None:
        score(arms, t)
        left = float(plays)
        for k in range(len(arms)):
            arms[k].score = min(arms[k].score, f32(1))
            arms[k].chance = arms[k].step / arms[k].unit
            left -= arms[k].chance
        for _ in range(len(arms)):
            if left <= 0.0:
                break
            k = select_highest_score(arms)
            room = 1.0 - arms[k].chance
            arms[k].chance = min(arms[k].chance + left, 1.0)
            left -= room
        select_by_dependent_rounding(arms)

    return several_arms_per_round(select)


def ucb_pllp(policy: jb.policies.UCBPLLP, problem: jb.Problem, horizon: int) -> Compiled:
    """The L arms of highest min(index, 1) + alpha Q / sqrt(t); Q = max(Q + tau + eps / sqrt(t) - [selected], 0)."""
    score, plays, alpha, eps = scoring(policy.base, problem, horizon), problem.plays, policy.alpha, policy.eps

    @inlined
    def select(arms: np.ndarray, t: int) -> None:
        score(arms, t)
        weight = alpha / math.sqrt(t)
        for k in range(len(arms)):
            arms[k].score = f32(min(arms[k].score, f32(1)) + weight * arms[k].queue)
        for _ in range(plays):
            select_highest_score(arms)

    @inlined
    def update(arms: np.ndarray, t: int) -> None:
        slack = eps / math.sqrt(t)
        for k in range(len(arms)):
            grown = arms[k].queue + arms[k].step / arms[k].unit + slack
            arms[k].queue = max(grown - (1.0 if arms[k].selected else 0.0), 0.0)

    return several_arms_per_round(select, update)


LOOPS: dict[str, Builder] = {
    **dict.fromkeys(INDICES, index_policy),
    "fair-mmab": fair_mmab,
    "ucb-lp": ucb_lp,
    "ucb-pllp": ucb_pllp,
}
