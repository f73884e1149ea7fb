"""The generator against its published vectors, and its distributions against SciPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxbandit.core import prng
from jaxbandit.core.prng import Stream, rejection, run_keys, threefry2x32

# The published test vectors of Random123 (Salmon et al. 2011): rounds, counter, key, words.
KNOWN = [
    (13, (0, 0), (0, 0), (0x9D1C5EC6, 0x8BD50731)),
    (13, (0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0xFD36D048, 0x2D17272C)),
    (13, (0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xBA3E4725, 0xF27D669E)),
    (20, (0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    (20, (0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    (20, (0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]
ALARM = 1e-6  # false-alarm rate of each Kolmogorov-Smirnov test; the seeds are fixed, so a pass stays a pass


@pytest.mark.parametrize(("rounds", "counter", "key", "words"), KNOWN)
@pytest.mark.parametrize("array", [np.array, jnp.array])
def test_threefry_gives_the_published_words(rounds, counter, key, words, array):
    counter, key = (tuple(array([w], np.uint32) for w in pair) for pair in (counter, key))
    assert tuple(int(w[0]) for w in threefry2x32(key, counter, rounds)) == words


def stream(runs, t=1, purpose=prng.POLICY, key=0):
    k0, k1 = run_keys(key, np.array(0), np.arange(runs))
    return Stream((jnp.asarray(k0), jnp.asarray(k1)), jnp.uint32(t), purpose)


# Compiled: operation by operation the draws would take ten times as long.
words, uniform, normal = (
    jax.jit(lambda s, slots, attempt=0, draw=draw: draw(s, slots, attempt), static_argnums=1)
    for draw in (Stream.words, Stream.uniform, Stream.normal)
)
beta, small_beta = jax.jit(Stream.beta), jax.jit(Stream.small_beta)


def test_no_two_purposes_rounds_slots_attempts_or_runs_share_words():
    seen = set()
    for purpose in (0, 3, prng.POLICY, prng.POLICY + 1):
        for t in (1, 2, 77):
            for attempt in (0, 1, 255):
                w0, w1 = words(stream(5, t, purpose), 4, attempt)
                seen |= {(int(a), int(b)) for a, b in zip(np.ravel(w0), np.ravel(w1), strict=True)}
    assert len(seen) == 4 * 3 * 3 * 20


def test_a_run_draws_the_same_numbers_beside_any_other_runs():
    few = run_keys(7, np.array(3), np.arange(10, 12))
    many = run_keys(7, np.arange(5)[:, None], np.arange(40))
    for a, b in zip(few, many, strict=True):
        np.testing.assert_array_equal(a[0], b[0, 3, 10:12])
    assert not np.array_equal(
        run_keys(7, np.arange(2), np.arange(2))[0], run_keys(7 + 2**40, np.arange(2), np.arange(2))[0]
    )


@pytest.mark.parametrize("draw", [uniform, normal], ids=["uniform", "normal"])
def test_an_arm_draws_for_a_play_what_all_arms_draw_together(draw):
    """The numbers of arm k's n-th play are the same alone and beside other arms, and for any number of slots."""
    arms, runs = 3, 5
    base = stream(runs)
    number = np.random.default_rng(0).integers(0, 9, (arms, runs)).astype(np.int32)
    together = np.asarray(draw(base.for_play(number, None, arms), 2 * arms))
    first = np.asarray(draw(base.for_play(number, None, arms), arms))
    np.testing.assert_array_equal(first, together[:arms])
    for k in range(arms):
        arm = np.full((1, runs), k, np.int32)
        alone = np.asarray(draw(base.for_play(number[k : k + 1], arm, arms), 2))
        np.testing.assert_array_equal(alone, together[[k, arms + k]])
    assert len(np.unique(together[:arms].T, axis=0)) == runs


def test_keys_of_jax_random_are_accepted():
    a = run_keys(jax.random.key(3), np.array(0), np.arange(2))
    b = run_keys(jax.random.key(4), np.array(0), np.arange(2))
    assert not np.array_equal(a[0], b[0])


@pytest.mark.parametrize("key", [-1, 2**64, 1.5, "a", None, True])
def test_other_keys_are_refused(key):
    with pytest.raises(ValueError, match=r"simulation\.key (= .*|is missing): must be an integer from 0 to 2\^64"):
        run_keys(key, np.arange(1), np.arange(1))


def test_uniform_and_normal_numbers_have_their_distributions():
    s = stream(20000)
    u = np.ravel(uniform(s, 5))
    assert stats.kstest(u, "uniform").pvalue > ALARM
    assert stats.kstest(np.ravel(normal(s, 5)), "norm").pvalue > ALARM
    assert u.min() >= 0
    assert u.max() < 1


def test_float64_numbers_begin_with_the_bits_of_float32_numbers():
    single = np.asarray(uniform(stream(1000), 3))
    with jax.enable_x64(True):
        double = np.asarray(uniform(stream(1000), 3))
    assert double.dtype == np.float64
    assert np.all((double >= single) & (double < single + 2.0**-24))


@pytest.mark.parametrize("a", [0.01, 0.3, 1.0, 1.5, 7.0, 300.0, 2e5])
@pytest.mark.parametrize("b", [0.02, 1.0, 4.0, 1000.0])
def test_beta_draws_are_beta(a, b):
    draw = beta if min(a, b) >= 1 else small_beta
    x = np.ravel(draw(stream(20000, key=11), np.full((2, 1), a, np.float32), np.full((2, 1), b, np.float32)))
    assert np.all((x >= 0) & (x <= 1))
    # Near 1 neighbouring floats are 6e-8 apart, which 40000 draws would show: spread each over its interval.
    spread = np.random.default_rng(0).uniform(-0.5, 0.5, x.shape) * np.spacing(x).astype(float)
    smeared = np.clip(x.astype(float) + spread, 0, 1)
    ends = np.array([1e-30, 1 - 1e-5])  # beyond these float32 has too few numbers
    inside = (x > ends[0]) & (x < ends[1])
    low, high = stats.beta.cdf(ends, a, b)
    share = high - low
    assert abs(inside.mean() - share) < 5 * np.sqrt(share * (1 - share) / len(x)) + 1e-9
    if share > 1e-3:
        conditional = (stats.beta.cdf(smeared[inside], a, b) - low) / share
        assert stats.kstest(conditional, "uniform").pvalue > ALARM


@pytest.mark.slow
@pytest.mark.parametrize("draw", [beta, small_beta], ids=["beta", "small_beta"])
def test_many_beta_draws_at_once_are_beta(draw):
    """More slots than one column has, each with its own parameters."""
    rng = np.random.default_rng(0)
    a, b = rng.uniform(1, 9, (2, 62, 1)).astype(np.float32)
    x = np.asarray(draw(stream(4000), a, b))
    exact = stats.beta.cdf(x, a, b)
    assert min(stats.kstest(row, "uniform").pvalue for row in exact) > ALARM / len(a)
    assert abs(np.corrcoef(exact) - np.eye(len(a))).max() < 6 / np.sqrt(x.shape[1])


def test_random_instances_do_not_change_when_there_are_more():
    few, many = prng.uniform_table(5, 3, 4), prng.uniform_table(5, 30, 4)
    np.testing.assert_array_equal(few, many[:3])
    assert stats.kstest(prng.uniform_table(5, 300, 20).ravel(), "uniform").pvalue > ALARM


def test_beta_draws_of_nan_end():
    """Not a loop without end; the other numbers are not touched."""
    a = np.float32([[np.nan], [2.0]])
    x, y = (np.asarray(beta(stream(50), first, np.full_like(a, 3.0))) for first in (a, np.float32([[7.0], [2.0]])))
    np.testing.assert_array_equal(x[1], y[1])


@pytest.mark.parametrize("shape", [1.0, 1.01, 1.7, 3.0, 40.0, 1e5])
def test_the_bound_accepts_no_candidate_that_the_exact_test_refuses(shape):
    """Whatever the finer bits of the uniform number are. The bound leaves less than 10 % of the candidates to test."""
    d = np.float32(shape - 1 / 3)
    x = np.linspace(-6.77, 6.77, 20001).astype(np.float32)[:, None]
    y, coarse = x / np.sqrt(9 * d), np.arange(256, dtype=np.float32)[None]
    surely = np.asarray(rejection._surely_accepted(d, y, coarse))
    wide = np.maximum(y, -0.9999).astype(float)
    exact = 3 * float(d) * (np.log1p(wide) - wide + wide**2 / 2 - wide**3 / 3)
    assert not np.any(surely & ~((y > -1) & (np.log((coarse + 1) / 256) < exact)))
    weight = stats.norm.pdf(x)
    assert np.sum(weight * surely.mean(1, keepdims=True)) / weight.sum() > 0.9


def test_the_remainder_of_a_logarithm():
    remainder = jax.jit(rejection._log1p_remainder)
    small = np.float32([-0.02, -1e-3, 1e-5, 0.01, 0.0])
    y = np.concatenate([np.linspace(-0.999, 2.7, 5001), [-0.25, 0.25]]).astype(np.float32)
    found = np.asarray(remainder(np.concatenate([y, small])))
    wide = y.astype(np.longdouble)
    exact = (np.log1p(wide) - wide + wide**2 / 2 - wide**3 / 3).astype(float)
    far, near = np.abs(y) >= 0.25, (np.abs(y) < 0.25) & (np.abs(y) > 0.02)
    np.testing.assert_allclose(found[: len(y)][near], exact[near], rtol=1e-6)
    np.testing.assert_allclose(found[: len(y)][far], exact[far], atol=2e-6)
    leading = -(small.astype(float) ** 4) / 4 + small.astype(float) ** 5 / 5 - small.astype(float) ** 6 / 6
    np.testing.assert_allclose(found[len(y) :], leading, rtol=1e-4)
