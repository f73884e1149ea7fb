"""The switch `gpu_kernel`: where it has an effect, and what is said where it has none."""

import logging
import subprocess
import sys
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.core.xla import compat, gpu_kernel
from jaxbandit.engine.host import fingerprint
from jaxbandit.experiments.configs import config

CONFIG = {
    "simulation": {"horizon": 20, "seeds": 4, "gpu_kernel": True},
    "problem": {"means": [0.9, 0.5]},
    "policies": [{"kind": "ucb1"}],
}


@pytest.mark.cpu
def test_a_cpu_says_once_that_it_has_no_effect(caplog):
    plain = jb.simulate({"means": [0.9, 0.5]}, "ucb1", horizon=20, seeds=4)
    with caplog.at_level(logging.WARNING, "jaxbandit"):
        for _ in range(2):
            found = jb.simulate({"means": [0.9, 0.5]}, "ucb1", horizon=20, seeds=4, gpu_kernel=True)
    (line,) = caplog.messages
    assert line.startswith("gpu_kernel has no effect: ")
    assert "cpu" in line
    np.testing.assert_array_equal(found.pulls, plain.pulls)
    assert "gpu_kernel = true" in found.attrs["config"]
    assert "gpu_kernel" not in plain.attrs["config"]


def test_only_true_and_false_are_taken():
    with pytest.raises(jb.InputError, match=r"simulation\.gpu_kernel"):
        jb.simulate({"means": [0.9, 0.5]}, "ucb1", horizon=20, seeds=4, gpu_kernel="yes")


def device(platform="gpu", **more):
    return [SimpleNamespace(platform=platform, device_kind="a device", **more)]


DEVICES = {
    "a device is no GPU": device("cpu"),
    "a device is no GPU by NVIDIA": device(compute_capability="gfx90a"),
    "a device is older than Hopper (its compute capability is 8.9)": device(compute_capability="8.9"),
    None: device(compute_capability="9.0"),
}


@pytest.mark.parametrize("why", DEVICES, ids=str)
def test_devices(why, monkeypatch):
    monkeypatch.setattr(compat, "why_no_mosaic", lambda: None)
    monkeypatch.setattr(jax, "local_devices", lambda backend=None: DEVICES[why])
    assert gpu_kernel.obstacle() == why
    assert gpu_kernel.works(True) == (why is None)
    assert gpu_kernel.works(None) == (why is None)
    assert not gpu_kernel.works(False)


@pytest.mark.parametrize(("version", "why"), [("0.10.2", "older than 0.11"), ("0.99.0", "no Pallas")])
def test_versions_of_jax(version, why, monkeypatch):
    monkeypatch.setattr(jax, "local_devices", lambda backend=None: DEVICES[None])
    monkeypatch.setattr(jax, "__version__", version)
    monkeypatch.setitem(sys.modules, "jax.experimental.pallas", None)
    compat._pallas.cache_clear()
    try:
        assert f"JAX {version}" in gpu_kernel.obstacle()
        assert why in gpu_kernel.obstacle()
    finally:
        compat._pallas.cache_clear()


def test_the_device_that_was_chosen_decides(monkeypatch):
    (chosen,) = jax.local_devices(backend="cpu")[:1]
    monkeypatch.setattr(compat, "why_no_mosaic", lambda: None)
    hopper, cpu = DEVICES[None], jax.local_devices(backend="cpu")
    monkeypatch.setattr(jax, "local_devices", lambda backend=None: cpu if backend == "cpu" else hopper)
    assert gpu_kernel.obstacle() is None
    for device in (chosen, "cpu"):
        with jax.default_device(device):
            assert gpu_kernel.obstacle() == "cpu is no GPU"


@pytest.mark.cpu
def test_by_default_nothing_is_said_of_a_cpu(caplog):
    with caplog.at_level(logging.INFO, "jaxbandit"):
        assert not gpu_kernel.works(None)
    assert not caplog.messages


def test_what_cannot_be_compiled_is_simulated_without(monkeypatch, caplog):
    """Once per policy; what fails without a kernel as well raises its own error."""
    monkeypatch.setattr(gpu_kernel, "obstacle", lambda: None)
    monkeypatch.setattr(gpu_kernel, "_NOT_COMPILED", set())
    tried = []

    def advance(fails=False):
        tried.append(gpu_kernel.WANTED.value)
        if gpu_kernel.WANTED.value:
            raise NotImplementedError("no rule\nfor this")
        if fails:
            raise ValueError("of the user")
        return "played"

    policy, state = jb.policy("ucb1"), np.zeros(3)
    with pytest.raises(ValueError, match="of the user"):
        gpu_kernel.played(lambda: advance(fails=True), True, policy, state)
    assert not caplog.messages
    for wanted in (True, None):
        assert gpu_kernel.played(advance, wanted, policy, state) == "played"
    (line,) = caplog.messages
    assert line == "gpu_kernel: ucb1 is simulated without, because of an error: NotImplementedError: no rule"
    assert tried == [True, False, True, False, False]


def test_an_error_that_took_the_state_is_raised(monkeypatch):
    monkeypatch.setattr(gpu_kernel, "obstacle", lambda: None)
    state = jax.numpy.zeros(3)

    def advance():
        state.delete()
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        gpu_kernel.played(advance, None, jb.policy("ucb1"), state)


@pytest.mark.cpu
def test_the_fingerprint_covers_it_where_it_has_an_effect(monkeypatch):
    without = {**CONFIG, "simulation": {**CONFIG["simulation"], "gpu_kernel": False}}
    default = {**CONFIG, "simulation": {"horizon": 20, "seeds": 4}}
    plans = [config.make_plan(table) for table in (CONFIG, without, default)]
    here = [fingerprint.digest(plan) for plan in plans]
    assert here[0] == here[1] == here[2]
    monkeypatch.setattr(gpu_kernel, "obstacle", lambda: None)
    there = [fingerprint.digest(plan) for plan in plans]
    assert there[1] == here[1]
    assert there[0] == there[2] != there[1]


PROGRAM = """
import sys
import jaxbandit as jb
jb.simulate({"means": [0.9, 0.5]}, "ucb1", horizon=20, seeds=4)
print([name for name in sys.modules if name.startswith("jax.experimental.pallas")])
"""


@pytest.mark.cpu
@pytest.mark.slow
def test_pallas_is_imported_only_where_it_is_used():
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
