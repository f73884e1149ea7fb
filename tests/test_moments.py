"""Means and errors over runs: right, and the same in every order."""

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
    np.testing.assert_array_equal(whole.mean(), parts.mean())
    np.testing.assert_array_equal(whole.stderr(), parts.stderr())
    np.testing.assert_allclose(whole.mean(), values.mean(1), rtol=1e-9, atol=1e-11)
    if values.shape[1] > 1:
        expected = values.std(1, ddof=1) / np.sqrt(values.shape[1])
        np.testing.assert_allclose(whole.stderr(), expected, rtol=1e-6, atol=1e-11)


@pytest.mark.parametrize("value", [0.1, 1e6 / 3, -12345.678901])
def test_runs_that_agree_have_no_error(value):
    moments = Moments((1,))
    moments.add((slice(None),), np.full((1, 1000), value))
    assert moments.stderr()[0] == 0
    assert moments.mean()[0] == pytest.approx(value, abs=1e-11)


def test_one_run_has_no_known_error():
    moments = Moments((1,))
    moments.add((slice(None),), np.ones((1, 1)))
    assert np.isnan(moments.stderr()[0])
