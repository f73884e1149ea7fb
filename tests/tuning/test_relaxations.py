"""Soft choices: shares that sum to the plays, their derivatives, and draws without replacement."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

import jaxbandit as jb
from jaxbandit.core import prng
from jaxbandit.engine import rollout
from jaxbandit.environment.world import world_of
from jaxbandit.tuning import relaxations, soft_rollouts


def soft_view(score, plays, available=None):
    """What a choice looks at, for scores `[K, runs]`."""
    score = jnp.asarray(score)
    key = tuple(jnp.asarray(w) for w in prng.run_keys(0, np.zeros(1, int), np.arange(score.shape[1])))
    world = world_of(jb.Problem([0.5] * len(score), plays=plays), False, 10)
    state = soft_rollouts.Shared(jnp.ones(score.shape, jnp.int32), *[jnp.zeros(score.shape)] * 4, (), {})
    t = jnp.asarray(1, jnp.int32)
    stream = prng.Stream(key, jnp.uint32(1))
    now = rollout.observe(state, world, t, t, None, None, stream)
    return now if available is None else dataclasses.replace(now, available=jnp.asarray(available))


def test_shares_of_several_plays_sum_to_them():
    rng = np.random.default_rng(0)
    score = rng.normal(size=(6, 40))
    score[0, ::4] = np.inf  # for sure
    available = np.ones(score.shape, bool)
    available[2:, 1::4] = False  # two arms there for three plays
    now = soft_view(score, 3, available)
    for temperature in (1e-3, 0.1, 2.0):
        share = np.asarray(relaxations.shares(jnp.asarray(score), now, jnp.asarray(temperature)))
        np.testing.assert_allclose(share.sum(axis=0), np.minimum(available.sum(axis=0), 3), rtol=1e-5)
        assert np.all((share >= 0) & (share <= 1 + 1e-6))
        assert np.all(share[~available] == 0)
        assert np.all(share[np.isinf(score) & available] == 1)
    hard = np.argsort(np.argsort(-np.where(available, score, -np.inf), axis=0), axis=0) < 3
    share = np.asarray(relaxations.shares(jnp.asarray(score), now, jnp.asarray(1e-4)))
    np.testing.assert_allclose(share, hard & available, atol=1e-3)


def test_the_shares_of_several_plays_have_the_right_derivative(float64):
    score = np.random.default_rng(1).normal(size=(5, 1))
    now, temperature = soft_view(score, 2), jnp.asarray(0.4)
    slope = jax.jacobian(lambda s: relaxations.shares(s, now, temperature)[:, 0])(jnp.asarray(score))[..., 0]
    h = 1e-6
    for k in range(5):
        up, down = (relaxations.shares(jnp.asarray(score).at[k].add(d), now, temperature)[:, 0] for d in (h, -h))
        np.testing.assert_allclose(slope[:, k], (up - down) / (2 * h), atol=1e-7)


def test_several_arms_are_drawn_one_after_the_other():
    """Chances of pairs by Plackett's rule; each within 4.5 standard errors (a false alarm in 10,000 of six)."""
    score, temperature, runs = [0.3, -0.2, 0.5, 0.0], 0.7, 1 << 14
    taken, log_chance = relaxations.drawn(
        *(lambda s: (s, soft_view(s, 2)))(jnp.tile(jnp.asarray(score)[:, None], (1, runs))), jnp.asarray(temperature)
    )
    w = np.exp(np.array(score) / temperature)
    w /= w.sum()
    taken = np.asarray(taken)
    for a in range(4):
        for b in range(a):
            chance = w[a] * w[b] / (1 - w[a]) + w[b] * w[a] / (1 - w[b])
            share = (taken[a] & taken[b]).mean()
            assert abs(share - chance) < 4.5 * np.sqrt(chance * (1 - chance) / runs)
    assert np.all(taken.sum(axis=0) == 2)
    # The mean of the logarithm is that of the ordered pairs.
    pairs = [(w[a] * w[b] / (1 - w[a])) for a in range(4) for b in range(4) if a != b]
    spread = np.asarray(log_chance).std() / np.sqrt(runs)
    assert abs(np.asarray(log_chance).mean() - sum(p * np.log(p) for p in pairs)) < 4.5 * spread
