"""Problems for simulators and agents, and their runs by `jax.lax.scan`."""

import jax
import numpy as np
from harness import DISTINCT, ONE_PLAY

import jaxbandit as jb

ARMS = 4
PROBLEM = {
    "means": [0.9, 0.8, 0.7, 0.4],
    "fractions": [0.1, 0.05, 0.2, 0.15],
    "penalties": 0.4,
    "merit": {"kind": "power", "scale": 0.4},
    "opportunity": {"kind": "constant", "gamma": 0.1},
}
DELAYS = {
    "none": "none",
    "geometric": {"kind": "geometric", "p": 0.3},
    "reward-dependent": {"kind": "reward-dependent", "one": {"kind": "fixed", "d": 5}, "zero": "none"},
}


def every_case():
    """Every policy with one and three plays, where it takes them, and with every delay."""
    plays = {kind: (1,) if kind in ONE_PLAY else (1, 3) for kind in DISTINCT}
    return [(kind, number, delay) for kind in DISTINCT for number in plays[kind] for delay in DELAYS]


def some_cases(part):
    """One case for every third policy, from policy `part`. The plays and delays take turns.

    `tests/full/stepping.py` tries every case.
    """
    chosen = [[case for case in every_case() if case[0] == kind][n % 3 :: 3][-1] for n, kind in enumerate(DISTINCT)]
    return [case for n, case in enumerate(chosen) if (n + n // 3) % 3 == part]


def problem_for(**changes):
    return jb.Problem(**PROBLEM | changes)


def scanned(simulator, state, rounds):
    """The final state, and what happened in each round: arrays `[rounds, ...]`."""
    play = jax.jit(lambda state: jax.lax.scan(lambda state, _: simulator.step(state), state, length=rounds))
    final, info = play(state)
    return final, jax.tree.map(np.asarray, info)
