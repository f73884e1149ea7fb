"""Invariants that hold on every run, over random problems of one shape, so that little is compiled."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from harness import DISTINCT, ONE_PLAY, trajectory
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_rounds import ANY_PLAYS, play, standard
from sweeps import partly_fast, swept

import jaxbandit as jb
from jaxbandit.core.prng import AVAILABILITY, Stream, run_keys

K, T, SEEDS = 4, 150, 4
unit = st.floats(0, 1, allow_subnormal=False)
means = st.lists(unit, min_size=K, max_size=K)
penalties = st.lists(st.floats(0, 2), min_size=K, max_size=K)
fractions = st.lists(st.integers(0, 249), min_size=K, max_size=K).map(lambda xs: [x / 1000 for x in xs])
keys = st.integers(0, 2**64 - 1)
quick = settings(deadline=None, max_examples=12)


def rows(column, arms=5, instances=5):
    return st.lists(st.lists(column, min_size=arms, max_size=arms), min_size=instances, max_size=instances)


@pytest.mark.parametrize("kind", partly_fast(DISTINCT, DISTINCT[::6]))
@given(
    mu=rows(unit),
    tau=rows(st.integers(0, 199)),
    rates=rows(st.floats(0, 2)),
    awake=st.floats(0.0, 1.0),
    number=st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=5)
def test_available_arms_are_selected_one_for_each_play(kind, mu, tau, rates, awake, number):
    plays = 1 if kind in (*ONE_PLAY, *ANY_PLAYS) else 2
    problem = jb.Problem(
        mu,
        plays=plays,
        fractions=[[x / 1000 for x in row] for row in tau],
        penalties=rates,
        merit="power",
        opportunity="uniform" if kind == "constant-opportunity" else "softmax",
    )
    rng, script = np.random.default_rng(number), standard(plays)
    shape = script.rewards.shape
    random = dataclasses.replace(
        script,
        problem=problem,
        rewards=(rng.random(shape) < np.array(mu).T[:, :, None]).astype(float),
        available=rng.random(shape) < awake,
    )
    selected = play(jb.policy(kind), random, key=number)[0]
    assert not (selected & ~random.available).any()
    np.testing.assert_array_equal(selected.sum(axis=1), np.minimum(random.available.sum(axis=1), plays))


@given(mu=rows(unit), tau=rows(st.integers(0, 199)), number=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=6)
def test_hard_threshold_without_penalty_is_ucb1(mu, tau, number):
    zero = [[0.0] * 5] * 5
    problem = jb.Problem(mu, fractions=[[x / 1000 for x in row] for row in tau], penalties=zero)
    script = dataclasses.replace(standard(), problem=problem)
    with_rule, without = (play(jb.policy(kind), script, key=number)[0] for kind in ("hard-threshold-ucb", "ucb1"))
    np.testing.assert_array_equal(with_rule, without)


# With the engine


@pytest.mark.parametrize("kind", ["lfg", pytest.param("f-ts", marks=pytest.mark.slow)])
@given(mu=means, tau=fractions, key=keys, awake=st.lists(unit, min_size=K, max_size=K).filter(lambda a: min(a) < 1))
@settings(deadline=None, max_examples=4)
def test_an_unavailable_arm_is_never_selected(kind, mu, tau, key, awake):
    problem = jb.Problem(mu, fractions=tau, availability=awake)
    selected = trajectory(problem, kind, T, SEEDS, key)
    available = _available(problem, key)
    assert not np.any(selected & ~available)
    np.testing.assert_array_equal(selected.sum(axis=1), available.any(axis=1))


def _available(problem, key):
    """Which arms are available, bool `[T, K, 1, S]`, from the published meaning of the availability stream."""
    k = tuple(jnp.asarray(w) for w in run_keys(key, np.zeros((1, 1), int), np.arange(SEEDS)))
    return np.asarray(_awake(k)) < problem.availability.astype(np.float32)[:, :, None]


@jax.jit
def _awake(k):
    return jax.vmap(lambda t: Stream(k, t, AVAILABILITY).uniform(K))(jnp.arange(1, T + 1, dtype=jnp.uint32))


@pytest.mark.parametrize("reward", swept(["bernoulli", {"kind": "gaussian", "sd": 0.3}], ["bernoulli"]), ids=str)
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
@settings(deadline=None, max_examples=4)
def test_more_runs_leave_the_first_ones_alone(mu, key):
    few, many = (jb.simulate(jb.Problem(mu), "ucb1", horizon=T, seeds=n, key=key, metrics=["regret"]) for n in (3, 17))
    np.testing.assert_array_equal(few.pulls, many.pulls[:, :, :3])
