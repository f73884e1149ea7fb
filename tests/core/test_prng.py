"""The generator against its published vectors, and its distributions against SciPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxbandit.core import prng
from jaxbandit.core.prng import Stream, run_keys, threefry2x32

# Known-answer vectors of Random123 (Salmon et al. 2011): rounds, counter, key, words.
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


def test_no_two_purposes_rounds_slots_attempts_or_runs_share_words():
    seen = set()
    for purpose in (0, 3, prng.POLICY, prng.POLICY + 1):
        for t in (1, 2, 77):
            for attempt in (0, 1, 255):
                w0, w1 = stream(5, t, purpose).words(4, attempt)
                seen |= {(int(a), int(b)) for a, b in zip(np.ravel(w0), np.ravel(w1), strict=True)}
    assert len(seen) == 4 * 3 * 3 * 20


def test_a_run_has_its_numbers_whatever_stands_beside_it():
    few = run_keys(7, np.array(3), np.arange(10, 12))
    many = run_keys(7, np.arange(5)[:, None], np.arange(40))
    for a, b in zip(few, many, strict=True):
        np.testing.assert_array_equal(a[0], b[0, 3, 10:12])
    assert not np.array_equal(
        run_keys(7, np.arange(2), np.arange(2))[0], run_keys(7 + 2**40, np.arange(2), np.arange(2))[0]
    )


@pytest.mark.parametrize("method", ["uniform", "normal"])
def test_an_arm_draws_for_a_play_what_all_arms_draw_together(method):
    """Alone or beside others, and whichever the slot: the numbers of arm k's n-th play are the same."""
    arms, runs = 3, 5
    base = stream(runs)
    number = jnp.asarray(np.random.default_rng(0).integers(0, 9, (arms, runs)), jnp.int32)
    together = np.asarray(getattr(base.for_play(number, None, arms), method)(2 * arms))
    first = np.asarray(getattr(base.for_play(number, None, arms), method)(arms))
    np.testing.assert_array_equal(first, together[:arms])
    for k in range(arms):
        arm = jnp.full((1, runs), k, jnp.int32)
        alone = np.asarray(getattr(base.for_play(number[k : k + 1], arm, arms), method)(2))
        np.testing.assert_array_equal(alone, together[[k, arms + k]])
    assert len(np.unique(together[:arms].T, axis=0)) == runs


def test_a_key_of_jax_random_will_do():
    a = run_keys(jax.random.key(3), np.array(0), np.arange(2))
    b = run_keys(jax.random.key(4), np.array(0), np.arange(2))
    assert not np.array_equal(a[0], b[0])


@pytest.mark.parametrize("key", [-1, 2**64, 1.5, "a", None, True])
def test_other_keys_are_refused(key):
    with pytest.raises(ValueError, match=r"simulation\.key (= .*|is missing): must be an integer from 0 to 2\^64"):
        run_keys(key, np.arange(1), np.arange(1))


def test_uniform_and_normal_are_what_they_say():
    s = stream(20000)
    assert stats.kstest(np.ravel(s.uniform(5)), "uniform").pvalue > ALARM
    assert stats.kstest(np.ravel(s.normal(5)), "norm").pvalue > ALARM
    u = np.asarray(s.uniform(5))
    assert u.min() >= 0
    assert u.max() < 1


def test_float64_numbers_begin_as_the_float32_ones():
    single = np.asarray(stream(1000).uniform(3))
    with jax.enable_x64(True):
        double = np.asarray(stream(1000).uniform(3))
    assert double.dtype == np.float64
    assert np.all((double >= single) & (double < single + 2.0**-24))


@pytest.mark.parametrize("a", [0.01, 0.3, 1.0, 1.5, 7.0, 300.0, 2e5])
@pytest.mark.parametrize("b", [0.02, 1.0, 4.0, 1000.0])
def test_beta_draws_are_beta(a, b):
    method = "beta" if min(a, b) >= 1 else "small_beta"
    draw = jax.jit(lambda s, a, b: getattr(s, method)(a, b))
    x = np.ravel(draw(stream(20000, key=11), jnp.full((2, 1), a), jnp.full((2, 1), b)))
    assert np.all((x >= 0) & (x <= 1))
    # A float stands for the numbers that round to it: near 1 they lie 6e-8 apart, which 40000 draws would notice.
    spread = np.random.default_rng(0).uniform(-0.5, 0.5, x.shape) * np.spacing(x).astype(float)
    smeared = np.clip(x.astype(float) + spread, 0, 1)
    ends = np.array([1e-30, 1 - 1e-5])  # beyond, float32 has no room
    inside = (x > ends[0]) & (x < ends[1])
    low, high = stats.beta.cdf(ends, a, b)
    share = high - low
    assert abs(inside.mean() - share) < 5 * np.sqrt(share * (1 - share) / len(x)) + 1e-9
    if share > 1e-3:
        conditional = (stats.beta.cdf(smeared[inside], a, b) - low) / share
        assert stats.kstest(conditional, "uniform").pvalue > ALARM


def test_random_instances_do_not_change_when_there_are_more():
    few, many = prng.uniform_table(5, 3, 4), prng.uniform_table(5, 30, 4)
    np.testing.assert_array_equal(few, many[:3])
    assert stats.kstest(prng.uniform_table(5, 300, 20).ravel(), "uniform").pvalue > ALARM
