"""Quotients that decide ties, as a GPU computes them: its own are up to two units in the last place wrong."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandit.policies.selection import quotients
from jaxbandit.policies.selection.quotients import rounded_quotient, with_remainder


@pytest.mark.parametrize("ulps", [-2, -1, 0, 1, 2])
def test_a_remainder_mends_quotients_that_are_not_the_nearest_number(ulps):
    a, b = (x.ravel().astype(np.float32) for x in np.meshgrid(np.arange(1, 600), np.arange(1, 600)))
    a, b = np.concatenate([a, [2**20 - 1, 2**20 - 3, 0.1]]), np.concatenate([b, [2**20 - 5, 3, 7]])
    a, b = np.concatenate([a, -a]).astype(np.float32), np.concatenate([b, b]).astype(np.float32)
    near = (a / b) + ulps * np.spacing(a / b)
    assert ulps == 0 or (near != a / b).all()
    np.testing.assert_array_equal(with_remainder(jnp.asarray(near), jnp.asarray(a), jnp.asarray(b)), a / b)


def test_quotients_for_a_gpu(monkeypatch):
    monkeypatch.setattr(quotients, "on_cpu", lambda: False)
    a = jnp.asarray([0.0, -0.0, 5.0, jnp.inf, -jnp.inf, jnp.nan, 3e38, 1e-37])
    b = jnp.asarray([3.0, 7.0, 3.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(rounded_quotient(a, b), np.asarray(a) / np.asarray(b))
    slopes = jax.grad(rounded_quotient, argnums=(0, 1))(jnp.float32(3.0), jnp.float32(4.0))
    np.testing.assert_allclose(slopes, (0.25, -3.0 / 16.0))
