"""Exact fractions of rounds, against Python's fractions."""

import math
from decimal import Decimal
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbandit.core.rationals import (
    QuotaTable,
    exact_fraction,
    exact_fractions,
    floor_and_fraction,
    rounded_down,
    rounded_product,
)

tau = st.one_of(
    st.decimals(0, 1, places=2),
    st.decimals(0, 1, places=9),
    st.floats(0, 1, allow_subnormal=False).filter(lambda x: x == 0 or x > 1e-6),
    st.fractions(0, 1, max_denominator=50),
)


@pytest.mark.parametrize("written", [0.05, np.float32(0.05), np.float64(0.05), Decimal("0.05"), Fraction(1, 20)])
def test_a_number_is_the_decimal_that_was_written(written):
    assert exact_fraction(written, "tau") == Fraction(1, 20)


@pytest.mark.parametrize("bad", ["0.1", None, float("nan"), float("inf"), True, [0.1]])
def test_values_that_are_no_finite_numbers_are_refused(bad):
    with pytest.raises(ValueError, match=r"tau (= .*|is missing): must be finite numbers"):
        exact_fraction(bad, "tau")


alike = tau.map(lambda fraction: [fraction] * 3)


@given(st.lists(st.lists(tau, min_size=3, max_size=3) | alike, min_size=1, max_size=3), st.integers(0, 2**24))
@settings(deadline=None, max_examples=60)
def test_quotas_are_exact(rows, first):
    fractions = exact_fractions(rows, "tau").T
    quota = QuotaTable(fractions, 9).rows(first, 7)
    for i in range(7):
        exact = fractions * (first + i)
        for (k, j), value in np.ndenumerate(exact):
            assert quota.floor[i, k, j] == math.floor(value)
            part = value - math.floor(value)
            assert Fraction(float(quota.fraction[i, k, j])) == pytest.approx(part, abs=1e-15)
            assert (quota.fraction[i, k, j] > 0) == (part > 0)
            for other in range(3):
                difference = quota.fraction_rank[i, k, j] - quota.fraction_rank[i, other, j]
                assert np.sign(difference) == _sign(part - exact[other, j] % 1)


def _sign(value):
    return (value > 0) - (value < 0)


def test_products_that_floats_round_wrongly():
    """0.29 x 100 is 28.999999999999996 in float64, and 0.07 x 100 is 7.000000000000001."""
    rows = QuotaTable(exact_fractions([[0.29, 0.07]], "tau").T, 101).rows(0, 101)
    assert rows.floor[100, 0, 0] == 29
    assert rows.fraction[100, 0, 0] == 0
    assert rows.floor[100, 1, 0] + (rows.fraction[100, 1, 0] > 0) == 7


@given(st.floats(0, 1, exclude_max=True))
def test_rounding_down_never_goes_up(value):
    low = rounded_down(np.array([value]), np.float32)[0]
    assert low <= value < 1
    assert low < 1


@given(st.fractions(0, 1000, max_denominator=10**12))
def test_floor_and_fraction_add_up(value):
    floor, fraction = floor_and_fraction(value)
    assert floor == math.floor(value)
    assert 0 <= value - floor - Fraction(fraction) < 1e-15


def test_a_rounded_product_of_an_infinite_number_is_infinite():
    """As the index of an arm that a user's index never selects."""
    np.testing.assert_array_equal(rounded_product(jnp.float32(2.0), jnp.array([-jnp.inf, jnp.inf])), [-np.inf, np.inf])


@pytest.mark.parametrize("value", [0.0, 4.0])
def test_a_rounded_product_has_the_derivatives_of_a_product(value):
    product, slopes = jax.value_and_grad(rounded_product, argnums=(0, 1))(jnp.float32(3.0), jnp.float32(value))
    assert (product, *slopes) == (3 * value, value, 3)
