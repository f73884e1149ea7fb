"""Means and errors over runs: right, and the same in every order."""

import math
from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbandit.metrics.moments import Moments, integer_parts

_digits = jax.jit(integer_parts, static_argnames="parts")


def add(moments, values, parts=1):
    """Take in values `[..., runs]`, filled up to one of a few lengths by others that do not count."""
    runs = values.shape[-1]
    length = next(size for size in (64, 320, 1024) if size >= runs)
    filled = np.full((*values.shape[:-1], length), 1e11)
    filled[..., :runs] = values
    with jax.enable_x64(True):
        sums = np.asarray(_digits(filled, np.arange(length) < runs, parts))
    assert sums.shape[-1] == parts
    moments.add((slice(None),) * (values.ndim - 1), sums.sum(axis=-1))


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 50), min_size=1, max_size=6), st.floats(1e-3, 1e7))
@settings(deadline=None, max_examples=60)
def test_any_cut_gives_the_same_bits(seed, cuts, scale):
    rng = np.random.default_rng(seed)
    values = rng.normal(scale / 3, scale, (2, sum(cuts)))
    whole, parts = Moments((2,)), Moments((2,))
    add(whole, values)
    edges = np.cumsum([0, *cuts])
    for i in rng.permutation(len(cuts)):
        add(parts, values[:, edges[i] : edges[i + 1]], parts=2 ** int(rng.integers(4)))
    runs = values.shape[1]
    np.testing.assert_array_equal(whole.mean(runs), parts.mean(runs))
    np.testing.assert_array_equal(whole.stderr(runs), parts.stderr(runs))
    np.testing.assert_allclose(whole.mean(runs), values.mean(1), rtol=1e-9, atol=1e-11)
    if runs > 1:
        expected = values.std(1, ddof=1) / np.sqrt(runs)
        np.testing.assert_allclose(whole.stderr(runs), expected, rtol=1e-6, atol=1e-11)


@pytest.mark.parametrize("value", [0.1, 1e6 / 3, -12345.678901])
def test_runs_that_agree_have_no_error(value):
    moments = Moments((1,))
    add(moments, np.full((1, 1000), value))
    assert moments.stderr(1000)[0] == 0
    assert moments.mean(1000)[0] == pytest.approx(value, abs=1e-11)


def test_one_run_has_no_known_error():
    moments = Moments((1,))
    add(moments, np.ones((1, 1)))
    assert np.isnan(moments.stderr(1)[0])


def test_what_is_taken_over_from_another_is_as_if_added():
    values = np.random.default_rng(0).normal(3e5, 1e7, (4, 3, 20))
    whole, left, right = Moments((4, 3)), Moments((4, 3)), Moments((4, 2))
    add(whole, values)
    one = Moments((4, 1))
    add(one, values[:, :1])
    add(right, values[:, 1:])
    left.merge((slice(None), slice(0, 1)), one)
    left.merge((slice(None), slice(1, 3)), Moments.from_arrays((4, 2), right.arrays()))
    np.testing.assert_array_equal(left.mean(20), whole.mean(20))
    np.testing.assert_array_equal(left.stderr(20), whole.stderr(20))


@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.floats(-1e9, 1e9), st.floats(1e-9, 1e9))
@settings(deadline=None, max_examples=100)
def test_means_and_errors_are_those_of_exact_arithmetic(seed, runs, centre, spread):
    values = np.random.default_rng(seed).normal(centre, spread, (3, runs))
    moments = Moments((3,))
    add(moments, values)
    kept = [[Fraction(math.floor(Fraction(v) * 2**40), 2**40) for v in row] for row in values]
    for row, mean, stderr in zip(kept, moments.mean(runs), moments.stderr(runs), strict=True):
        exact = sum(row) / runs
        variance = sum((v - exact) ** 2 for v in row) / (runs - 1)
        assert mean == pytest.approx(float(exact), rel=1e-13, abs=2**-53 * max(map(abs, row)))
        assert stderr == pytest.approx(math.sqrt(variance / runs), rel=1e-12)


@given(st.lists(st.floats(-(2.0**39), 2.0**39, allow_subnormal=False), min_size=1, max_size=8))  # these count as 0
@settings(deadline=None, max_examples=100)
def test_digits_are_those_of_whole_numbers(values):
    """Each digit is below 2^40, and they make up the value and its square, whatever its size and sign."""
    with jax.enable_x64(True):
        found = np.asarray(_digits(np.resize(values, (8, 1)), np.ones(1, bool)))[..., 0].tolist()
    for value, *own in zip(values, *found, strict=False):
        whole = math.floor(Fraction(value) * 2**40)
        assert own[-1] == 0
        assert own[0] * 2**40 + own[1] == whole
        assert own[2] * 2**120 + own[3] * 2**80 + own[4] * 2**40 + own[5] == whole**2
        assert all(abs(digit) < 2**40 for digit in own)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 2.0**40, -1e300])
def test_values_that_have_no_place_in_a_mean_are_refused(value):
    values = np.ones((2, 3))
    values[1, 2] = value
    with pytest.raises(FloatingPointError, match="not finite, or beyond"):
        add(Moments((2,)), values)
