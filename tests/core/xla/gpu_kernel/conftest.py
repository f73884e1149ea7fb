"""Kernels for GPUs, played on a CPU by the interpreter of Pallas, or lowered for CUDA."""

import threading

import jax
import numpy as np
import pytest
from harness import MERIT, TRANSFER

import jaxbandit as jb
from jaxbandit.core.xla import compat, gpu_kernel
from jaxbandit.engine import rollout


def pytest_collection_modifyitems(items):
    """Tests of kernels are skipped where JAX has none."""
    why = compat.why_no_mosaic()
    for item in items:
        if why is not None and {"interpreted", "lowered", "played"}.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(autouse=True)
def logged_anew():
    """What is logged once per process is logged again in each test."""
    gpu_kernel._log_once.cache_clear()
    yield
    gpu_kernel._log_once.cache_clear()


@pytest.fixture
def played():
    """A function that plays rounds in an interpreted kernel, `rollout.advance` in its place."""
    play, one_at_a_time = jax.jit(gpu_kernel.as_gpu_kernel(rollout.play_on, interpret=True)), threading.Lock()

    def advance(*arguments):
        with one_at_a_time:  # the interpreter has one memory for all kernels
            return jax.block_until_ready(play(*arguments))

    return advance


@pytest.fixture
def interpreted(played, monkeypatch):
    """A function after whose call rounds are played in an interpreted kernel."""
    return lambda: monkeypatch.setattr(rollout, "advance", played)


class StoppedError(Exception):
    pass


@pytest.fixture
def lowered(monkeypatch):
    """The text of a program for CUDA, given a function that plays rounds."""

    def text(simulate):
        given = []

        def stop(*arguments):
            given.append(arguments)
            raise StoppedError

        monkeypatch.setattr(rollout, "advance", stop)
        with pytest.raises(StoppedError):
            simulate()
        kernel = jax.jit(gpu_kernel.as_gpu_kernel(rollout.play_on))
        return kernel.trace(*given[0]).lower(lowering_platforms=("cuda",)).as_text()

    return text


def problem_for(kind, arms=4):
    """A problem of some arms that a policy takes."""
    rng = np.random.default_rng(0)
    means = rng.uniform(0.1, 0.9, arms).round(2).tolist()
    if kind in MERIT:
        return jb.Problem(means, plays=2, merit="power")
    opportunity = "softmax" if kind in TRANSFER and kind != "constant-opportunity" else "uniform"
    fractions = (rng.uniform(0.2, 0.6, arms) / arms).round(3).tolist()
    return jb.Problem(means, fractions=fractions, penalties=0.3, opportunity=opportunity)


@pytest.fixture
def problem():
    """The function that makes the problem for a policy and a number of arms."""
    return problem_for
