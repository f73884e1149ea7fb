"""Parallel Numba loops that simulate the policies, written from the papers' formulas with NumPy's random numbers.

`loop_of` compiles the loop of a policy on a problem, for fixed parameters and a fixed horizon.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import jaxbandit as jb
from benchmarks.policies.numba_loops import common, indices, merit, phases, plays, rules

# (runs, seed) -> the number of selections of each arm, [runs, K], and two sums per run, [runs, 2]
Loop = Callable[[int, int], tuple[np.ndarray, np.ndarray]]


def loop_of(policy: jb.Policy, problem: jb.Problem, horizon: int) -> Loop:
    """The Numba loop of a policy on a problem of one instance.

    With merit, the two sums of a run are the reward regret and the fairness regret; otherwise they are 0.

    Raises:
        KeyError: there is no loop for this policy.
    """
    if problem.merit is not None:
        arms, loops = merit.arms_of(problem), merit.LOOPS
    else:
        arms = common.arms_of(problem)
        loops = plays.LOOPS if problem.plays > 1 else {**indices.LOOPS, **rules.LOOPS, **phases.LOOPS}
    simulate = common.parallel(loops[policy.name](policy, problem, horizon))
    return lambda runs, seed: simulate(arms, runs, horizon, seed)
