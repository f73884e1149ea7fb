"""Queues that are equal as ratios tie, whatever the denominators of the fractions are."""

from fractions import Fraction

import numpy as np
import pytest
from sweeps import first_fast

import jaxbandit as jb

T = 300
ROUND = [
    ["1/10", "3/25", "1/15", "1/15"],
    ["7/30", "2/25", "1/5", "10/53"],
    ["1/15", "1/5", "2/15", "3/10"],
    ["5/18", "1/6", "1/21", "3/7"],
    ["1/25", "1/5", "2/45", "4/9"],
]
LARGE = [[*values, "1/99991", "1/99989"] for values in ROUND]  # the least common multiple is above 2^31


def selections(fractions):
    """The selected arms of lfg if only queues count (Li et al., eq. 4), exactly; ties go to the lowest arm."""
    tau = [Fraction(value) for value in fractions]
    queue, selected = list(tau), []
    for _ in range(T):
        arm = max(range(len(tau)), key=lambda k: (queue[k], -k))
        selected.append(arm)
        queue = [max(q + f - (k == arm), 0) for k, (q, f) in enumerate(zip(queue, tau, strict=True))]
    return selected


@pytest.mark.parametrize("fractions", first_fast([ROUND, LARGE]), ids=["common", "own"])
def test_lfg_without_weight_of_rewards_plays_the_longest_queue(fractions):
    policy = jb.policy("lfg", eta=0.0)
    for values in fractions:  # as one instance each: XLA divides by a number per arm in another way than by one per run
        problem = jb.Problem([0.5] * len(values), fractions=values)
        results = jb.simulate(problem, policy, horizon=T, seeds=16, metrics=["regret"], record=2, trace=True)
        arms = results["arms"].transpose("t", ...).values.reshape(T, -1)
        assert (arms == np.array(selections(values))[:, None]).all(), values
