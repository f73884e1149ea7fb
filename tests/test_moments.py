"""Means and errors over runs: right, and the same in every order."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbandit.moments import Moments


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 50), min_size=1, max_size=6), st.floats(1e-3, 1e7))
@settings(deadline=None, max_examples=60)
def test_any_cut_gives_the_same_bits(seed, cuts, scale):
    rng = np.random.default_rng(seed)
    values = rng.normal(scale / 3, scale, (2, sum(cuts)))
    whole, parts = Moments((2,)), Moments((2,))
    whole.add((slice(None),), values)
    edges = np.cumsum([0, *cuts])
    for i in rng.permutation(len(cuts)):
        parts.add((slice(None),), values[:, edges[i] : edges[i + 1]])
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
    moments.add((slice(None),), np.full((1, 1000), value))
    assert moments.stderr(1000)[0] == 0
    assert moments.mean(1000)[0] == pytest.approx(value, abs=1e-11)


def test_one_run_has_no_known_error():
    moments = Moments((1,))
    moments.add((slice(None),), np.ones((1, 1)))
    assert np.isnan(moments.stderr(1)[0])


def test_what_is_taken_over_from_another_is_as_if_added():
    values = np.random.default_rng(0).normal(3e5, 1e7, (4, 3, 20))
    whole, left, right = Moments((4, 3)), Moments((4, 3)), Moments((4, 2))
    whole.add((slice(None), slice(None)), values)
    left.add((slice(None), slice(0, 1)), values[:, :1])
    right.add((slice(None), slice(None)), values[:, 1:])
    left.merge((slice(None), slice(1, 3)), Moments.of((4, 2), right.arrays()))
    np.testing.assert_array_equal(left.mean(20), whole.mean(20))
    np.testing.assert_array_equal(left.stderr(20), whole.stderr(20))


@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.floats(-1e9, 1e9), st.floats(1e-9, 1e9))
@settings(deadline=None, max_examples=100)
def test_means_and_errors_are_those_of_exact_arithmetic(seed, runs, centre, spread):
    values = np.random.default_rng(seed).normal(centre, spread, (3, runs))
    moments = Moments((3,))
    moments.add((slice(None),), values)
    kept = [[Fraction(math.floor(Fraction(v) * 2**40), 2**40) for v in row] for row in values]
    for row, mean, stderr in zip(kept, moments.mean(runs), moments.stderr(runs), strict=True):
        exact = sum(row) / runs
        variance = sum((v - exact) ** 2 for v in row) / (runs - 1)
        assert mean == pytest.approx(float(exact), rel=1e-13, abs=2**-53 * max(map(abs, row)))
        assert stderr == pytest.approx(math.sqrt(variance / runs), rel=1e-12)
