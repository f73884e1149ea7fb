"""Numba loops of policies that select several arms a round, without delay (003): SPEC.md section 3."""

from __future__ import annotations

import math
from typing import Any

import jaxbandit as jb

from .common import Compiled, f32, fast, mark_best, pull, rounded, unseen_first
from .indices import SCORES


@fast
def no_queues(arms: Any, t: int) -> None:
    """What a policy renews after a round that keeps no queues."""


def several_plays(choose: Compiled, after: Compiled = no_queues) -> Compiled:
    """`play` of a policy that selects several arms a round.

    Args:
        choose: of (arms, t), t from 1: sets the fields `selected`, all false before.
        after: of (arms, t), with `selected` as it was chosen.
    """

    @fast
    def play(arms: Any, horizon: int) -> tuple[float, float]:
        for t in range(1, horizon + 1):
            choose(arms, t)
            for k in range(len(arms)):
                if arms[k].selected:
                    pull(arms, k)
            after(arms, t)
            for k in range(len(arms)):
                arms[k].selected = False
        return 0.0, 0.0

    return play


def scoring(index: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """A function of (arms, t) that writes the indices into the fields `score`."""
    moment, value = SCORES[index.name](index, problem, horizon)
    if index.name != "thompson":
        value = unseen_first(value)

    @fast
    def score(arms: Any, t: int) -> None:
        now = moment(t)
        for k in range(len(arms)):
            arms[k].score = value(arms[k], t, now)

    return score


def top(index: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """The L highest indices."""
    score, plays = scoring(index, problem, horizon), problem.plays

    @fast
    def choose(arms: Any, t: int) -> None:
        score(arms, t)
        for _ in range(plays):
            mark_best(arms)

    return several_plays(choose)


def fair_mmab(rule: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """The L-J highest indices, at most J arms that are behind, and indices again."""
    score, plays = scoring(rule.base, problem, horizon), problem.plays
    most = max(problem.fractions.flat)
    spread = next(j for j in range(1, plays + 1) if most * (problem.arms - plays + j) < j)  # J of 003 sec. 4

    @fast
    def mark_behind(arms: Any, t: int) -> bool:
        late, deepest = -1, 0
        for k in range(len(arms)):
            deficit = arms[k].step * (t - 1) - arms[k].pulls * arms[k].unit
            if not arms[k].selected and deficit > deepest:
                late, deepest = k, deficit
        if late >= 0:
            arms[late].selected = True
        return late >= 0

    @fast
    def choose(arms: Any, t: int) -> None:
        if t == 1:
            for k in range(len(arms)):
                arms[k].score = f32(0)  # u(0) = 0
        else:
            score(arms, t)
        for _ in range(plays - spread):
            mark_best(arms)
        for _ in range(spread):
            if not mark_behind(arms, t):
                mark_best(arms)

    return several_plays(choose)


def ucb_lp(rule: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """tau, raised to 1 in order of min(index, 1) while L lasts; L arms with these marginals by dependent rounding."""
    score, plays = scoring(rule.base, problem, horizon), problem.plays

    @fast
    def choose(arms: Any, t: int) -> None:
        score(arms, t)
        left = float(plays)
        for k in range(len(arms)):
            arms[k].score = min(arms[k].score, f32(1))
            arms[k].chance = arms[k].step / arms[k].unit
            left -= arms[k].chance
        for _ in range(len(arms)):
            if left <= 0.0:
                break
            k = mark_best(arms)
            room = 1.0 - arms[k].chance
            arms[k].chance = min(arms[k].chance + left, 1.0)
            left -= room
        rounded(arms)

    return several_plays(choose)


def ucb_pllp(rule: Any, problem: jb.Problem, horizon: int) -> Compiled:
    """min(index, 1) + alpha Q / sqrt(t), Q = max(Q + tau + eps / sqrt(t) - [selected], 0)."""
    score, plays, alpha, eps = scoring(rule.base, problem, horizon), problem.plays, rule.alpha, rule.eps

    @fast
    def choose(arms: Any, t: int) -> None:
        score(arms, t)
        weight = alpha / math.sqrt(t)
        for k in range(len(arms)):
            arms[k].score = f32(min(arms[k].score, f32(1)) + weight * arms[k].queue)
        for _ in range(plays):
            mark_best(arms)

    @fast
    def after(arms: Any, t: int) -> None:
        slack = eps / math.sqrt(t)
        for k in range(len(arms)):
            grown = arms[k].queue + arms[k].step / arms[k].unit + slack
            arms[k].queue = max(grown - (1.0 if arms[k].selected else 0.0), 0.0)

    return several_plays(choose, after)


PLAYS = {**dict.fromkeys(SCORES, top), "fair-mmab": fair_mmab, "ucb-lp": ucb_lp, "ucb-pllp": ucb_pllp}
