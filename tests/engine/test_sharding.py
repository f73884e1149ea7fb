"""Results do not depend on how many devices there are: 8 CPU devices, in a program of their own, against one."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest
import xarray as xr
from on_devices import CASES, simulate
from sweeps import FULL, swept

from jaxbandit.engine.batch import sharding, span_totals

SOME = ["lanes", "cells", "late", "sums"]


def on_eight(folder, names):
    """The cases simulated on 8 devices."""
    here = Path(__file__).parents[1] / "support"
    environment = {
        **os.environ,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "JAX_NUMPY_DTYPE_PROMOTION": "strict",
        "JAX_NUMPY_RANK_PROMOTION": "raise",
        "PYTHONPATH": os.pathsep.join([str(here.parent), str(here)]),
    }
    command = [sys.executable, str(here / "on_devices.py"), str(folder), "8", *names]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def assert_same(folder, name):
    with xr.open_dataset(folder / f"{name}.nc") as eight:
        xr.testing.assert_identical(eight.load().drop_attrs(), simulate(name).drop_attrs())


@pytest.mark.cpu
@pytest.mark.parametrize("names", swept([SOME, [name for name in CASES if name not in SOME]], [SOME]))
def test_eight_devices_give_what_one_does(tmp_path, names):
    """And send nothing to each other, which `on_devices.py` asserts."""
    on_eight(tmp_path, names)
    for name in names:
        assert_same(tmp_path, name)


@pytest.mark.parametrize(("name", "block"), [("lanes", 7), pytest.param("cells", 64, marks=pytest.mark.slow)])
def test_any_size_of_blocks_gives_the_same(name, block):
    xr.testing.assert_identical(simulate(name, block=block).drop_attrs(), simulate(name).drop_attrs())


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        pytest.param("draws", (16,), marks=pytest.mark.slow),
        pytest.param("draws", (32, 48), marks=FULL),
        pytest.param("fair exposure", (16,), marks=pytest.mark.slow),
        pytest.param("fair exposure", (32, 48), marks=FULL),
        pytest.param("drawn rewards", (16, 32, 48), marks=FULL),
        pytest.param("families", (16,), marks=FULL),
    ],
)
def test_blocks_of_few_vectors_give_the_same(name, blocks):
    """`tests/full/same_bits.py` compares every policy under every reward."""
    whole = simulate(name).drop_attrs()
    for block in blocks:
        xr.testing.assert_identical(simulate(name, block=block).drop_attrs(), whole)


@pytest.mark.cpu
def test_where_there_is_no_float64_metrics_are_computed_on_the_host(monkeypatch):
    """As on a TPU; here a CPU that is taken for one."""
    moved, expected = [], simulate("lanes")
    monkeypatch.setattr(span_totals, "_EXACT", frozenset())
    monkeypatch.setattr(jax, "device_put", lambda values, device: moved.append(device) or values)
    xr.testing.assert_identical(simulate("lanes").drop_attrs(), expected.drop_attrs())
    assert {device.platform for device in moved} == {"cpu"}


@pytest.mark.cpu
def test_a_block_plays_on_each_core_that_the_process_may_use(monkeypatch):
    cores = {0: {0, 2, 3}, 1: {0, 1, 2, 3, 4}}
    monkeypatch.setattr(sharding.os, "sched_getaffinity", cores.get, raising=False)
    assert (sharding.at_play(), sharding.workers()) == (3, 4)
    monkeypatch.delattr(sharding.os, "sched_getaffinity")
    monkeypatch.setattr(sharding.os, "cpu_count", lambda: None)
    assert sharding.at_play() == 1
