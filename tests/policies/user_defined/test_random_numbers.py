"""What `random` offers to users' policies, rewards and delays, as the docstring of `jb.Stream` says it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.environment.delays import Delay
from jaxbandit.environment.rewards import Reward

T = 30


class Alternating(jb.Policy):
    """In round t the arms from t mod K on; `random.t` is t."""

    def select(self, state, now):
        arm = jnp.arange(len(now.pulls), dtype=jnp.int32)[:, None]
        first = (now.random.t % len(now.pulls)).astype(jnp.int32)
        return jnp.broadcast_to((arm - first) % len(now.pulls) < now.plays, now.pulls.shape)


class PlayNumber(Reward):
    """The number of earlier plays of the arm."""

    def draw(self, mean, random):
        assert random.t.dtype == jnp.uint32
        assert random.t.shape[0] == len(mean)
        return random.t.astype(jnp.float32)


class PlayDelay(Delay):
    """The same, in rounds, up to 7."""

    def draw(self, reward, random):
        return jnp.minimum(random.t.astype(jnp.int32), 7)

    def longest(self):
        return 7


@pytest.mark.parametrize("plays", [1, 2])
def test_the_counter_is_the_round_in_a_policy_and_the_number_of_the_play_elsewhere(plays):
    problem = jb.Problem([0.5, 0.4, 0.3], plays=plays, reward=PlayNumber(), delay=PlayDelay())
    simulator = jb.Simulator(problem, Alternating, horizon=T)
    info = jax.jit(lambda s: jax.lax.scan(lambda s, _: simulator.step(s), s, length=T))(simulator.init(3))[1]
    played = np.zeros(3, int)
    for t in range(1, T + 1):
        arms = sorted((t + i) % 3 for i in range(plays))
        assert info.arms[t - 1].tolist() == arms
        assert info.rewards[t - 1].tolist() == played[arms].tolist()
        assert info.delays[t - 1].tolist() == np.minimum(played[arms], 7).tolist()
        played[arms] += 1


def streams(arms=None):
    keys = jnp.full((1, 5), 7, jnp.uint32), jnp.arange(5, dtype=jnp.uint32)[None]
    stream = jb.Stream(keys, t=jnp.uint32(4))
    return stream if arms is None else stream.for_play(jnp.arange(arms, dtype=jnp.int32)[:, None], None, arms)


@pytest.mark.slow
def test_shapes_ranges_and_equal_calls():
    random = streams()
    uniform, normal = random.uniform(1000), random.normal(1000)
    assert uniform.shape == normal.shape == (1000, 5)
    assert uniform.dtype == normal.dtype == jnp.float32
    assert 0 <= uniform.min() < 0.01
    assert 0.99 < uniform.max() < 1
    assert np.all(np.asarray(uniform, float) * 2**24 % 1 == 0)
    assert np.abs(normal).max() < 6.77
    np.testing.assert_array_equal(uniform, random.uniform(1000))
    np.testing.assert_array_equal(uniform[:10], random.uniform(10))
    assert (random.for_purpose(9).uniform(1000) != uniform).mean() > 0.999
    with jax.enable_x64(True):
        assert random.uniform(2).dtype == random.normal(2).dtype == jnp.float64


@pytest.mark.slow
def test_beta_numbers_lie_between_0_and_1():
    random = streams()
    weights = jnp.full((6, 5), 0.5)
    for drawn in (random.beta(1 + weights, 1 + weights), random.small_beta(weights, weights)):
        assert drawn.shape == (6, 5)
        assert ((drawn >= 0) & (drawn <= 1)).all()


@pytest.mark.slow
def test_two_numbers_per_play_are_in_turn():
    """Rows i and n + i of `uniform(2 n)` belong to play i: they do not depend on the other plays."""
    both, arms = streams(arms=3).uniform(6), 3
    for i in range(arms):
        number, arm = jnp.full((1, 5), i, jnp.int32), jnp.full((1, 5), i, jnp.int32)
        alone = streams().for_play(number, arm, arms).uniform(2)
        np.testing.assert_array_equal(both[jnp.array([i, arms + i])], alone)
