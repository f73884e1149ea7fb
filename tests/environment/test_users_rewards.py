"""Users' reward distributions: their support and some of their draws are checked when a problem is made."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sweeps import first_fast

import jaxbandit as jb
from jaxbandit.core.errors import ReturnedError

MEANS = [[0.8, 0.5, 0.3], [0.4, 0.6, 0.7]]


class Spread(jb.Reward):
    width: float = jb.parameter(0.1, low=0)

    def draw(self, mean, random):
        u = random.uniform(2 * len(mean))
        return mean + self.width * (u[: len(mean)] - u[len(mean) :])

    def support(self, means):
        return means.min() - self.width, means.max() + self.width


def variant(parent=Spread, **attributes):
    return type("Mine", (parent,), {**attributes, "__module__": "users_module"})


@pytest.mark.parametrize("means", [MEANS, MEANS[0]])
@pytest.mark.parametrize("width", [0.1, [0.1, 0.02, 0.05]])
def test_rewards_within_their_support_are_taken(means, width):
    widths = np.broadcast_to(width, 3)
    low, high = np.min(means) - widths.max(), np.max(means) + widths.max()
    assert jb.Problem(means, reward=Spread(width=width)).reward_support() == pytest.approx((low, high))


@pytest.mark.parametrize("support", [(1, 0), (np.nan, 1), (0,), (0, 1, 2), None, 0.5, ("low", "high")], ids=repr)
def test_a_support_that_is_no_interval_is_refused(support):
    kind = variant(support=lambda self, means: support)
    says = r"problem\.reward = 'Mine': must be a distribution whose `support` returns the smallest and the largest "
    with pytest.raises(jb.InputError, match=says):
        jb.Problem(MEANS, reward=kind())


@pytest.mark.parametrize("means", [MEANS, pytest.param(MEANS[0], marks=pytest.mark.slow)])
def test_rewards_outside_their_support_are_refused(means):
    kind = variant(support=lambda self, means: (0.0, means.max() + 0.01))
    says = r"rewards lie in its `support`, \[0, 0\.81\]; for the mean 0\.8 it drew 0\.8[1-9]"
    with pytest.raises(jb.InputError, match=says):
        jb.Problem(means, reward=kind())


def test_rewards_that_are_not_0_or_1_are_refused():
    kind = variant(jb.Reward, zero_one=True, draw=lambda self, mean, random: 0.0 * mean + random.uniform(len(mean)))
    with pytest.raises(jb.InputError, match=r"rewards are 0 or 1, as `zero_one` says; for the mean 0\.\d it drew 0\."):
        jb.Problem(MEANS, reward=kind())
    kind = variant(jb.Reward, zero_one=True, draw=lambda self, mean, random: (random.uniform(len(mean)) < mean) * 1.0)
    assert jb.Problem(MEANS, reward=kind()).reward_support() == (0.0, 1.0)


def test_edited_helpers_are_looked_at_anew():
    """The check of a class is compiled once, but it refuses nothing that has been mended since."""
    shift = 5.0

    class Shifted(jb.Reward):
        def draw(self, mean, random):
            return shift * mean

        def support(self, means):
            return 0.0, 1.0

    with pytest.raises(jb.InputError, match="it drew 4"):
        jb.Problem(MEANS, reward=Shifted())
    shift = 1.0
    jb.Problem(MEANS, reward=Shifted())


@pytest.mark.slow
def test_the_least_integer_is_no_delay():
    """It has no negative, and was taken for a delay of 0."""

    class Late(jb.Delay):
        def draw(self, reward, random):
            return jnp.where(random.uniform(len(reward)) < 0.5, -jnp.inf, 3.0).astype(jnp.int32)

        def longest(self):
            return 3

    with pytest.raises(ReturnedError, match="draw returned a delay of -2147483647 rounds"):
        jb.simulate({"means": MEANS, "delay": Late()}, "ucb1", horizon=20, seeds=3)


def _numpys(self, mean, random):
    return mean + 0.2 * (np.random.default_rng().random(mean.shape) - 0.5)


def _own_key(self, mean, random):
    return (jax.random.uniform(jax.random.key(1), mean.shape) < mean).astype(mean.dtype)


def _own_key_per_arm(self, mean, random):
    return mean + jax.random.normal(jax.random.key(1), (len(mean), *(1,) * (mean.ndim - 1)))


@pytest.mark.parametrize("draw", first_fast([_own_key, _numpys, _own_key_per_arm]))
def test_draws_that_do_not_depend_on_the_seed_are_refused(draw):
    kind = type("Mine", (jb.Reward,), {"draw": draw, "__module__": "users_module"})
    with pytest.raises(jb.InputError, match="whose `draw` takes its random numbers from its argument `random`; it"):
        jb.Problem(MEANS, reward=kind())


def _from_words(self, mean, random):
    keys = jax.vmap(jax.random.key)(random.words(len(mean))[0].ravel())
    return mean + 0.1 * jax.vmap(jax.random.normal)(keys).reshape(mean.shape)


def _sparse(self, mean, random):
    return jnp.where(random.uniform(len(mean)) < 0.04, mean / 0.04, 0.0)


@pytest.mark.parametrize("draw", [_from_words, _sparse, lambda self, mean, random: mean])
def test_keys_from_the_stream_and_rewards_without_spread_are_taken(draw, recwarn):
    kind = type("Mine", (jb.Reward,), {"draw": draw, "__module__": "users_module"})
    jb.Problem(MEANS, reward=kind())
    assert not list(recwarn)


def test_certain_rewards_from_keys_of_the_stream_are_taken():
    def draw(self, mean, random):
        keys = jax.vmap(jax.random.key)(random.words(len(mean))[0].ravel())
        return jax.vmap(jax.random.bernoulli)(keys, mean.ravel()).reshape(mean.shape).astype(mean.dtype)

    kind = type("Mine", (jb.Reward,), {"draw": draw, "__module__": "users_module"})
    assert jb.Problem([1.0, 0.0], reward=kind()).arms == 2


def test_a_mean_far_from_the_problems_is_told():
    kind = variant(draw=lambda self, mean, random: 0.5 * mean + 0.1 * random.uniform(len(mean)))
    kind.support = lambda self, means: (-1.0, 2.0)
    with pytest.warns(UserWarning, match=r"256 rewards of 'Mine' for the mean 0\.8 have the mean 0\.45"):
        jb.Problem(MEANS, reward=kind())
