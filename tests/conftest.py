"""Strict promotion everywhere, and problems that many tests share so that they share compiled programs."""

import jax
import pytest

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.fixture
def float64():
    """Run a test in float64."""
    with jax.enable_x64(True):
        yield
