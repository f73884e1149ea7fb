"""Soft choices: shares that sum to the plays, their derivatives, and draws without replacement."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.core import prng
from jaxbandit.engine import rollout
from jaxbandit.engine.stepping.relaxed import relaxed_round, soft_choice
from jaxbandit.environment.world import world_of

soft_shares, draw_arms = jax.jit(soft_choice.soft_shares), jax.jit(soft_choice.draw_arms)


def soft_view(score, plays, available=None):
    """What a soft choice sees, for scores `[K, runs]`."""
    score = jnp.asarray(score)
    key = tuple(jnp.asarray(w) for w in prng.run_keys(0, np.zeros(1, int), np.arange(score.shape[1])))
    world = world_of(jb.Problem([0.5] * len(score), plays=plays), False, 10)
    state = relaxed_round.ShareState(jnp.ones(score.shape, jnp.int32), *[jnp.zeros(score.shape)] * 4, (), {})
    t = jnp.asarray(1, jnp.int32)
    stream = prng.Stream(key, jnp.uint32(1))
    now = rollout.observe(state, world, t, t, None, None, stream)
    return now if available is None else dataclasses.replace(now, available=jnp.asarray(available))


def test_shares_of_several_plays_sum_to_the_plays():
    rng = np.random.default_rng(0)
    score = rng.normal(size=(6, 40))
    score[0, ::4] = np.inf  # chosen with certainty
    available = np.ones(score.shape, bool)
    available[2:, 1::4] = False  # two arms available for three plays
    now = soft_view(score, 3, available)
    for temperature in (1e-3, 0.1, 2.0):
        share = np.asarray(soft_shares(jnp.asarray(score), now, jnp.asarray(temperature)))
        np.testing.assert_allclose(share.sum(axis=0), np.minimum(available.sum(axis=0), 3), rtol=1e-5)
        assert np.all((share >= 0) & (share <= 1 + 1e-6))
        assert np.all(share[~available] == 0)
        assert np.all(share[np.isinf(score) & available] == 1)
    hard = np.argsort(np.argsort(-np.where(available, score, -np.inf), axis=0), axis=0) < 3
    share = np.asarray(soft_shares(jnp.asarray(score), now, jnp.asarray(1e-4)))
    np.testing.assert_allclose(share, hard & available, atol=1e-3)


def test_shares_of_one_play_are_a_softmax():
    score = np.array([[0.3, np.inf, 0.1, 0.3], [-0.2, 0.5, np.inf, np.inf], [0.5, 0.2, np.inf, np.inf]])
    available = np.array([[True, True, True, True], [True, True, False, True], [False, True, True, True]])
    now = soft_view(score, 1, available)
    share = np.asarray(soft_shares(jnp.asarray(score), now, jnp.asarray(0.4)))
    weight = np.exp(np.array([0.3, -0.2]) / 0.4)
    np.testing.assert_allclose(share[:, 0], [*(weight / weight.sum()), 0], rtol=1e-5)
    np.testing.assert_array_equal(share[:, 1:], [[1, 0, 0], [0, 0, 1], [0, 1, 0]])  # the lowest of two infinite scores


@pytest.mark.slow
def test_the_shares_of_several_plays_have_the_right_derivative(float64):
    score = np.random.default_rng(1).normal(size=(5, 1))
    now, temperature = soft_view(score, 2), jnp.asarray(0.4)
    slope = jax.jit(jax.jacobian(lambda s: soft_shares(s, now, temperature)[:, 0]))(jnp.asarray(score))[..., 0]
    h = 1e-6
    for k in range(5):
        up, down = (soft_shares(jnp.asarray(score).at[k].add(d), now, temperature)[:, 0] for d in (h, -h))
        np.testing.assert_allclose(slope[:, k], (up - down) / (2 * h), atol=1e-7)


def test_several_arms_are_drawn_one_after_the_other():
    """Chances of pairs by Plackett's rule; each within 4.5 standard errors (one false alarm in 10,000 for all six)."""
    scores, temperature, runs = [0.3, -0.2, 0.5, 0.0], 0.7, 1 << 14
    score = jnp.tile(jnp.asarray(scores)[:, None], (1, runs))
    drawn, log_chance = draw_arms(score, soft_view(score, 2), jnp.asarray(temperature))
    w = np.exp(np.array(scores) / temperature)
    w /= w.sum()
    drawn = np.asarray(drawn)
    for a in range(4):
        for b in range(a):
            chance = w[a] * w[b] / (1 - w[a]) + w[b] * w[a] / (1 - w[b])
            share = (drawn[a] & drawn[b]).mean()
            assert abs(share - chance) < 4.5 * np.sqrt(chance * (1 - chance) / runs)
    assert np.all(drawn.sum(axis=0) == 2)
    # The mean of the logarithm is that of the ordered pairs.
    pairs = [(w[a] * w[b] / (1 - w[a])) for a in range(4) for b in range(4) if a != b]
    spread = np.asarray(log_chance).std() / np.sqrt(runs)
    assert abs(np.asarray(log_chance).mean() - sum(p * np.log(p) for p in pairs)) < 4.5 * spread
