"""`update` sees the feedback of its round: the numbers and the sums of the rewards that arrived in it, exactly."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from stepping import scanned

import jaxbandit as jb

ROUNDS = 40
DELAYS = {"none": "none", "late": {"kind": "geometric", "p": 0.3}, "reordered": {"kind": "fixed", "d": [0, 3, 7]}}


class Tenths(jb.Reward):
    """Rewards of .1, .2, ... .9, whose deviations from the means are not exact."""

    def draw(self, mean, random):
        return jnp.round(1 + 8 * random.uniform(len(mean))) / 10


class Remembers(jb.Policy):
    """Plays in turn, and keeps what arrived in each round."""

    def init(self, world, shape):
        return {"count": jnp.zeros((ROUNDS, *shape), jnp.int32), "total": jnp.zeros((ROUNDS, *shape))}

    def select(self, state, now):
        arm = jnp.arange(len(now.pulls)).reshape(-1, *[1] * (now.pulls.ndim - 1))
        return (arm + now.t) % len(now.pulls) < now.plays

    def update(self, state, after, selected):
        return {name: kept.at[after.t - 1].set(getattr(after.arrived, name)) for name, kept in state.items()}


def expected(info, arms):
    """The number and the sum of the rewards that arrive in each round, from what was sent."""
    count, total = np.zeros((2, ROUNDS, arms))
    for sent, (round_arms, rewards, delays) in enumerate(zip(info.arms, info.rewards, info.delays, strict=True)):
        for arm, reward, delay in zip(round_arms, rewards, delays, strict=True):
            if arm >= 0 and sent + delay < ROUNDS:
                count[sent + delay, arm] += 1
                total[sent + delay, arm] += reward
    return count, total


@pytest.mark.parametrize(
    ("plays", "delay"),
    [
        (1, "reordered"),
        (2, "late"),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in [(1, "none"), (1, "late"), (2, "none")]),
    ],
)
def test_update_sees_what_arrived_in_its_round(plays, delay):
    problem = jb.Problem([0.5, 0.4, 0.6], plays=plays, reward=Tenths(), delay=DELAYS[delay])
    simulator = jb.Simulator(problem, Remembers, horizon=ROUNDS)
    final, info = scanned(simulator, simulator.init(3), ROUNDS)
    count, total = expected(info, 3)
    assert count.max() == (2 if delay == "late" else 1)  # rewards that arrive together are tested, too
    kept = {name: np.asarray(part[..., 0]) for name, part in final.policy.items()}
    np.testing.assert_array_equal(kept["count"], count)
    single = count <= 1
    np.testing.assert_array_equal(kept["total"][single], total[single].astype(np.float32))  # to the last bit
    np.testing.assert_allclose(kept["total"], total, rtol=1e-6)
    np.testing.assert_array_equal(info.arrived.count, count)
    np.testing.assert_array_equal(info.arrived.total, kept["total"])


def test_an_agent_shows_what_it_observed_between_two_rounds():
    agent = jb.Agent(Remembers, arms=3, reward=Tenths())
    state = agent.init(0)
    for n in range(6):
        state, arms, _ = agent.select(state)
        if n % 2:
            state = agent.observe(state, [arms[0], 2], [0.1 * (n + 1), 0.3])
    state, *_ = agent.select(state)
    count = np.asarray(state.policy["count"][:6, :, 0])
    assert count.sum(axis=1).tolist() == [0, 2, 0, 2, 0, 2]
    assert state.policy["total"][5].sum() == pytest.approx(0.9)
    assert int(state.arrived.count.sum()) == 0


class Latest(jb.Policy):
    """Plays arm 0, and keeps its last reward."""

    def init(self, world, shape):
        return jnp.zeros(shape)

    def select(self, state, now):
        return jnp.zeros(now.pulls.shape[1:], jnp.int32)

    def update(self, state, after, selected):
        return after.arrived.total


def test_a_reward_is_exact_after_a_million_plays():
    simulator = jb.Simulator(jb.Problem([0.7, 0.3], reward={"kind": "gaussian", "sd": 0.1}), Latest, horizon=1_100_000)
    start = simulator.init(0)
    run = dataclasses.replace(start.run, pulls=start.run.pulls.at[0].set(10**6), deviation=start.run.deviation + 1234.5)
    late = dataclasses.replace(start, t=jnp.int32(10**6), run=run)
    state, info = simulator.step(late)
    assert float(state.policy[0, 0]) == float(info.rewards[0]) != 0
