"""Means and standard errors over runs: right, and the same in every order."""

import functools
import math
from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbandit.metrics.moments import LARGEST, NARROW, SHORT, Moments, count_bits, count_parts, integer_parts


@functools.partial(jax.jit, static_argnames=("segments", "below"))
def _integer_parts(values, counted, segments=1, below=LARGEST):
    """The integer parts of one metric."""
    return integer_parts([values], counted, segments, below)[:, 0]


_count_parts = jax.jit(count_parts, static_argnames=("segments", "bits"))


def add(moments, values, segments=1):
    """Add values `[..., runs]`, padded with values that do not count to one of a few lengths."""
    runs = values.shape[-1]
    length = next(size for size in (64, 320, 1024) if size >= runs)
    padded = np.full((*values.shape[:-1], length), 1e11)
    padded[..., :runs] = values
    with jax.enable_x64(True):
        parts = np.asarray(_integer_parts(padded, np.arange(length) < runs, segments))
    assert parts.shape[-1] == segments
    moments.add((slice(None),) * (values.ndim - 1), parts.sum(axis=-1))


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 50), min_size=1, max_size=6), st.floats(1e-3, 1e7))
@settings(deadline=None, max_examples=60)
def test_runs_in_blocks_of_any_size_give_the_same_bits(seed, sizes, scale):
    rng = np.random.default_rng(seed)
    values = rng.normal(scale / 3, scale, (2, sum(sizes)))
    at_once, in_blocks = Moments((2,)), Moments((2,))
    add(at_once, values)
    edges = np.cumsum([0, *sizes])
    for i in rng.permutation(len(sizes)):
        add(in_blocks, values[:, edges[i] : edges[i + 1]], segments=2 ** int(rng.integers(4)))
    runs = values.shape[1]
    np.testing.assert_array_equal(at_once.mean(runs), in_blocks.mean(runs))
    np.testing.assert_array_equal(at_once.stderr(runs), in_blocks.stderr(runs))
    np.testing.assert_allclose(at_once.mean(runs), values.mean(1), rtol=1e-9, atol=1e-11)
    if runs > 1:
        expected = values.std(1, ddof=1) / np.sqrt(runs)
        np.testing.assert_allclose(at_once.stderr(runs), expected, rtol=1e-6, atol=1e-11)


@pytest.mark.parametrize("value", [0.1, 1e6 / 3, -12345.678901])
def test_equal_runs_have_no_standard_error(value):
    moments = Moments((1,))
    add(moments, np.full((1, 1000), value))
    assert moments.stderr(1000)[0] == 0
    assert moments.mean(1000)[0] == pytest.approx(value, abs=1e-11)


def test_the_standard_error_of_one_run_is_nan():
    moments = Moments((1,))
    add(moments, np.ones((1, 1)))
    assert np.isnan(moments.stderr(1)[0])


def test_merging_is_like_adding():
    values = np.random.default_rng(0).normal(3e5, 1e7, (4, 3, 20))
    added, merged, rest = Moments((4, 3)), Moments((4, 3)), Moments((4, 2))
    add(added, values)
    first = Moments((4, 1))
    add(first, values[:, :1])
    add(rest, values[:, 1:])
    merged.merge((slice(None), slice(0, 1)), first)
    merged.merge((slice(None), slice(1, 3)), Moments.from_arrays((4, 2), rest.arrays()))
    np.testing.assert_array_equal(merged.mean(20), added.mean(20))
    np.testing.assert_array_equal(merged.stderr(20), added.stderr(20))


@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.floats(-1e9, 1e9), st.floats(1e-9, 1e9))
@settings(deadline=None, max_examples=100)
def test_means_and_standard_errors_are_those_of_exact_arithmetic(seed, runs, centre, spread):
    values = np.random.default_rng(seed).normal(centre, spread, (3, runs))
    moments = Moments((3,))
    add(moments, values)
    kept = [[Fraction(round(Fraction(v) * 2**40), 2**40) for v in row] for row in values]
    for row, mean, stderr in zip(kept, moments.mean(runs), moments.stderr(runs), strict=True):
        exact = sum(row) / runs
        variance = sum((v - exact) ** 2 for v in row) / (runs - 1)
        assert mean == pytest.approx(float(exact), rel=1e-13, abs=2**-53 * max(map(abs, row)))
        assert stderr == pytest.approx(math.sqrt(variance / runs), rel=1e-12)


@given(st.lists(st.floats(-(2.0**39), 2.0**39, allow_subnormal=False), min_size=1, max_size=8))  # these count as 0
@settings(deadline=None, max_examples=100)
def test_integer_parts_make_up_the_value_and_its_square(values):
    """Each part is below 2^40 in magnitude, whatever the size and sign of the value."""
    with jax.enable_x64(True):
        parts = np.asarray(_integer_parts(np.resize(values, (8, 1)), np.ones(1, bool)))[..., 0].tolist()
    for value, *own in zip(values, *parts, strict=False):
        scaled = round(Fraction(value) * 2**40)
        assert own[-1] == 0
        assert own[0] * 2**40 + own[1] == scaled
        assert own[2] * 2**120 + own[3] * 2**80 + own[4] * 2**40 + own[5] == scaled**2
        assert all(abs(part) < 2**40 for part in own)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 2.0**40, -1e300])
def test_values_that_are_not_finite_or_too_large_are_refused(value):
    values = np.ones((2, 3))
    values[1, 2] = value
    with pytest.raises(FloatingPointError, match="not finite, or beyond"):
        add(Moments((2,)), values)


@pytest.mark.parametrize("bits", [11, 15, 22, 31])
@pytest.mark.parametrize("runs", [511, 512, 2**16 - 1, 2**16])  # up to which sums fit int32, and from which they do not
def test_sums_of_the_largest_counts_do_not_overflow(bits, runs):
    most = (1 << bits) - 1
    with jax.enable_x64(True):
        total, high, low = np.asarray(_count_parts(np.full((1, runs), most, np.int32), np.ones(runs, bool), 1, bits))
    assert total.item() == runs * most
    assert (high.item() << 40) + low.item() == runs * most**2


@pytest.mark.parametrize("most", [9, 2**15 - 1, 2**22 - 1, 2**24, 2**31 - 2])
def test_counts_have_exact_moments(most):
    counts = np.random.default_rng(most).integers(0, most + 1, (2, 64), dtype=np.int32)
    counts[0] = most
    counts[0, 0] = most - 1
    with jax.enable_x64(True):
        parts = np.asarray(count_parts(jax.numpy.asarray(counts), np.arange(64) < 50, 4, count_bits(most)))
    moments = Moments((2,))
    moments.add_counts((...,), parts.sum(axis=-1))
    for row, mean, stderr in zip(counts[:, :50].tolist(), moments.mean(50), moments.stderr(50), strict=True):
        exact = Fraction(sum(row), 50)
        assert mean == float(exact)
        variance = sum((value - exact) ** 2 for value in row) / 49
        assert stderr == pytest.approx(math.sqrt(variance / 50), rel=1e-14)


@pytest.mark.parametrize("below", [NARROW, SHORT])
@given(data=st.data())
@settings(deadline=None, max_examples=100)
def test_parts_of_small_values_add_up_to_the_same_numbers(data, below):
    numbers = st.floats(-below, below, exclude_min=True, exclude_max=True)
    values = np.resize(data.draw(st.lists(numbers, min_size=1, max_size=64)), (1, 64))
    assert_same_totals(values, below)


def assert_same_totals(values, below):
    """Assert that the parts of values below a bound add up to the same numbers as those of values of any size."""
    counted = np.ones(values.shape[-1], bool)
    with jax.enable_x64(True):
        wide, fast = (np.asarray(_integer_parts(values, counted, 1, bound)) for bound in (LARGEST, below))
    for parts in (slice(0, 2), slice(2, 6)):
        totals = [
            sum(int(part) << 40 * place for place, part in enumerate(made[parts, 0, 0][::-1])) for made in (wide, fast)
        ]
        assert totals[0] == totals[1]
    assert wide[-1].item() == fast[-1].item() == 0


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("runs", [1024, 1025])  # the most short values whose sums int64 holds, and one more
@pytest.mark.parametrize("below", [NARROW, SHORT])
def test_sums_of_the_largest_values_do_not_overflow(below, runs, sign):
    assert_same_totals(np.full((1, runs), sign * np.nextafter(below, 0.0)), below)


@pytest.mark.parametrize("below", [NARROW, SHORT])
@pytest.mark.parametrize("value", [1.0, -1.0, np.inf, np.nan])
def test_parts_count_the_values_that_are_not_below_the_bound(value, below):
    values = np.resize([value * below, 1.0], (1, 64))
    with jax.enable_x64(True):
        parts = np.asarray(_integer_parts(values, np.ones(64, bool), 1, below))
    assert parts[-1].item() == 32
