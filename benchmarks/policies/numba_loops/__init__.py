"""Parallel Numba loops of the policies, doing the same work by the same formulas with generators of their own.

`loop_of` gives the loop of a policy on a problem; what is compiled into it are the policy's parameters and the horizon.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import jaxbandit as jb

from . import common, indices, merit, phases, plays, rules

Loop = Callable[[int, int], tuple[np.ndarray, np.ndarray]]  # (runs, seed) -> N_k(T) [runs, K], two sums [runs, 2]


def loop_of(policy: jb.Policy, problem: jb.Problem, horizon: int) -> Loop:
    """The Numba loop of a policy on a problem of one instance; the sums are both regrets of 002 where there is merit.

    Raises:
        KeyError: no such loop is written.
    """
    if problem.merit is not None:
        given, known = merit.arms_of(problem), merit.PLAYS
    else:
        given = common.arms_of(problem)
        known = plays.PLAYS if problem.plays > 1 else {**indices.PLAYS, **rules.PLAYS, **phases.PLAYS}
    simulate = common.parallel(known[policy.name](policy, problem, horizon))
    return lambda runs, seed: simulate(given, runs, horizon, seed)
