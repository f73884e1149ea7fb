"""Programs of the engine that compile in half the time, for tests whose results do not depend on optimisation."""

import functools

import pytest

from jaxbandit.core.xla import compat
from jaxbandit.engine import rollout

COMPILE = rollout.compiled.__wrapped__
OPTIONS = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


@functools.cache
def compiled_quickly():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compat, "_OPTIONS", {**compat._OPTIONS, **OPTIONS})
        return COMPILE()


@pytest.fixture
def quick(monkeypatch):
    """Compile the engine's programs with few optimisations."""
    monkeypatch.setattr(rollout, "compiled", compiled_quickly)
