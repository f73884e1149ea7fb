"""Strict promotion everywhere, and problems that many tests share so that they share compiled programs."""

import jax
import pytest
from hypothesis import settings

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")


# The same examples in every run, so that what passes here passes everywhere; others with --hypothesis-profile=explore.
settings.register_profile("same", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile("same")


@pytest.fixture
def float64():
    """Run a test in float64."""
    with jax.enable_x64(True):
        yield
