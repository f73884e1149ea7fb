"""Invariants that hold on every run, over random problems of one shape (so that little is compiled)."""

import numpy as np
import pytest
from harness import DISTINCT, ONE_PLAY, trajectory
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxbandit as jb

K, T, SEEDS = 4, 150, 4
unit = st.floats(0, 1, allow_subnormal=False)
means = st.lists(unit, min_size=K, max_size=K)
penalties = st.lists(st.floats(0, 2), min_size=K, max_size=K)
fractions = st.lists(st.integers(0, 249), min_size=K, max_size=K).map(lambda xs: [x / 1000 for x in xs])
keys = st.integers(0, 2**64 - 1)
quick = settings(deadline=None, max_examples=12)


@pytest.mark.parametrize("kind", DISTINCT)
@pytest.mark.parametrize("plays", [pytest.param(1, marks=pytest.mark.slow), 2])
@given(mu=means, tau=fractions, a=penalties, key=keys)
@quick
def test_pulls_sum_to_rounds_times_plays(kind, plays, mu, tau, a, key):
    plays = 1 if kind in ONE_PLAY else plays
    problem = jb.Problem(mu, plays=plays, fractions=tau, penalties=a, merit="power", opportunity="uniform")
    chunks_of = trajectory(problem, kind, T, SEEDS, key)
    np.testing.assert_array_equal(chunks_of.sum(axis=1), plays)


@pytest.mark.parametrize("kind", DISTINCT)
@given(
    mu=means,
    tau=fractions,
    awake=st.lists(unit, min_size=K, max_size=K).filter(lambda a: min(a) < 1),
    key=keys,
)
@quick
def test_an_unavailable_arm_is_never_selected(kind, mu, tau, awake, key):
    problem = jb.Problem(mu, fractions=tau, penalties=0.5, availability=awake, merit="power", opportunity="uniform")
    chunks_of = trajectory(problem, kind, T, SEEDS, key)
    available = _available(problem, key)
    assert not np.any(chunks_of & ~available)
    np.testing.assert_array_equal(chunks_of.sum(axis=1), available.any(axis=1))


def _available(problem, key):
    """Which arms are awake, `[T, K, 1, S]`, from the published meaning of the availability stream."""
    import jax
    import jax.numpy as jnp

    from jaxbandit.core.prng import AVAILABILITY, Stream, run_keys

    k = tuple(jnp.asarray(w) for w in run_keys(key, np.zeros((1, 1), int), np.arange(SEEDS)))
    awake = jax.vmap(lambda t: Stream(k, t, AVAILABILITY).uniform(K))(jnp.arange(1, T + 1, dtype=jnp.uint32))
    return np.asarray(awake) < problem.availability.astype(np.float32)[:, :, None]


@given(mu=means, tau=st.integers(0, 249), key=keys, reward=st.sampled_from(["bernoulli", "constant"]))
@settings(deadline=None, max_examples=40)
def test_fucb_is_fair_on_every_run_and_round(mu, tau, key, reward):
    """001 Theorem 4, equal tau < 1/K: N_k(t) > tau t - 1, always."""
    problem = jb.Problem(mu, fractions=tau / 1000, reward=reward)
    results = jb.simulate(problem, ["fucb", "f-ts"], horizon=2000, seeds=8, key=key, metrics=["max_deficit"])
    assert float(results.max_deficit_ever.max()) < 1


@given(mu=means, tau=fractions, key=keys)
@quick
def test_hard_threshold_without_penalty_is_ucb1(mu, tau, key):
    problem = jb.Problem(mu, fractions=tau, penalties=0.0)
    bent, plain = (trajectory(problem, kind, T, SEEDS, key) for kind in ("hard-threshold-ucb", "ucb1"))
    np.testing.assert_array_equal(bent, plain)


@pytest.mark.parametrize(
    "reward",
    ["bernoulli", *(pytest.param(r, marks=pytest.mark.slow) for r in ({"kind": "gaussian", "sd": 0.3}, "beta"))],
)
@given(mu=means, tau=fractions, key=keys, block=st.sampled_from([1, 2, 3, 5, 8, 10, 24, 100]))
@quick
def test_results_do_not_depend_on_the_block(reward, mu, tau, key, block):
    problem = jb.Problem([mu, mu[::-1], [0.5] * K], fractions=tau, penalties=0.3, reward=reward)
    common = {"horizon": 90, "seeds": 8, "key": key, "record": 7}
    kinds = ["hard-threshold-ucb", "lfg", "f-ts"]
    whole = jb.simulate(problem, kinds, **common)
    parts = jb.simulate(problem, kinds, block=block, **common)
    for name in whole.data_vars:
        np.testing.assert_array_equal(whole[name], parts[name], err_msg=name)


@given(mu=means, key=keys)
@quick
def test_more_runs_leave_the_first_ones_alone(mu, key):
    few, many = (jb.simulate(jb.Problem(mu), "ucb1", horizon=T, seeds=n, key=key) for n in (3, 17))
    np.testing.assert_array_equal(few.pulls, many.pulls[:, :, :3])
