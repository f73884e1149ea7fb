"""The sweeps after which `self-regulated` need not look at its gaps: one is still unknown, whatever the rewards are."""

import dataclasses
import itertools

import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.environment.rewards import Reward
from jaxbandit.policies.opportunity.phases import PhaseState, view_before_round_1

HORIZON, PENALTIES, BETA = 20_000, np.array([0.4, 0.1, 0.7]), 0.15


class Wide(Reward):
    """Rewards of -1 or 2."""

    def draw(self, mean, random):
        return jnp.where(random.uniform(mean.shape[0]) < (mean + 1) / 3, 2.0, -1.0)

    def support(self, means):
        return -1.0, 2.0


def prepared(reward, black_box="ucb1"):
    problem = jb.Problem([0.5] * 3, penalties=PENALTIES, opportunity="softmax", reward=reward)
    return jb.policy("self-regulated", alpha=0.5, beta=BETA, black_box=black_box).prepare(problem, HORIZON)


def following_sweeps(policy, plays, means):
    """The policy's number, `[states]`, after `plays` plays of each arm with mean rewards `[K, states]`."""
    shape = means.shape
    counts = jnp.full(shape, plays, jnp.int32)
    start = view_before_round_1(shape, HORIZON)
    view = dataclasses.replace(start, pulls=counts, received=counts, deviation=jnp.asarray(means * plays, jnp.float32))
    none = jnp.zeros((1, shape[1]), jnp.int32)
    return np.asarray(policy.following_sweeps(PhaseState(counts, none, none, None, None), view))[0]


def is_unclear(plays, means):
    """Whether a gap is not known, `[states]`: opportunities paper, Alg. 4, lines 6, 17 and 18, in float64."""
    gap, radius = means.max(axis=0) - means, np.sqrt(2 * np.log(HORIZON) / plays)
    least, most = np.maximum(gap - 2 * radius, 0), np.minimum(gap + 2 * radius, 1)
    cost = PENALTIES[:, None]
    return ((most > cost + BETA) & (least < cost - BETA)).any(axis=0)


@pytest.mark.parametrize(
    ("policy", "low", "high"),
    [
        pytest.param(prepared("bernoulli"), 0, 1, id="unit"),
        pytest.param(prepared(Wide()), -1, 2, id="wide"),
        pytest.param(prepared("constant", "thompson"), 0, 1, id="received as 0 or 1"),
    ],
)
@pytest.mark.parametrize("plays", [3, 150, 1200, 3000])
def test_no_rewards_end_the_phase_earlier(policy, low, high, plays):
    means = np.random.default_rng(plays).uniform(low, high, (3, 400))
    found = following_sweeps(policy, plays, means)
    np.testing.assert_array_equal(found > 0, is_unclear(plays, means))
    extremes = [np.array(ends)[:, None] for ends in itertools.product((low, high), repeat=3)]
    longest = found.max()
    assert longest > 1 or plays < 150  # else the loop below checks nothing
    for sweeps in range(1, longest):  # after the last sweep a test follows
        more = found > sweeps
        for rewards in extremes:
            after = (means * plays + sweeps * rewards) / (plays + sweeps)
            assert is_unclear(plays + sweeps, after)[more].all(), sweeps


def test_with_unbounded_rewards_each_sweep_has_a_test():
    means = np.random.default_rng(0).uniform(0, 1, (3, 400))
    found = following_sweeps(prepared({"kind": "gaussian", "sd": 0.1}), 400, means)
    assert set(found) == {0, 1}
