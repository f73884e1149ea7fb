"""Simulations are right, if slower, where JAX lacks what it does not promise."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

import jaxbandit as jb
from jaxbandit.core.xla import compat

POLICIES = ["ucb1", "fair-learn", "hard-threshold-ucb", "lfg", "thompson"]
PROBLEM = {"means": [0.3, 0.9, 0.7], "fractions": 0.1, "penalties": 0.4, "delay": {"kind": "geometric", "p": 0.3}}
PROGRAM = """
import sys

for name in {missing}:
    sys.modules[name] = None
sys.path[:0] = {path}
from test_compat import selections

print(selections())
"""


def selections():
    """A digest of all selections of some runs."""
    results = jb.simulate(PROBLEM, POLICIES, horizon=60, seeds=20, trace=True, ties="random", metrics=["unfairness"])
    return hashlib.sha256(results.arms.values.tobytes() + results.unfairness.values.tobytes()).hexdigest()


@pytest.mark.cpu
@pytest.mark.slow
@pytest.mark.parametrize(
    "missing", [["jax.extend.core"], ["jax.experimental.xla_metadata"]], ids=lambda names: names[0]
)
def test_selections_are_the_same_without(missing):
    path = [str(Path(__file__).parent), str(Path(jb.__file__).parents[1])]
    words = [sys.executable, "-c", PROGRAM.format(missing=missing, path=path)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == selections()
    assert ("not compiled as one kernel" in ended.stderr) == ("jax.experimental.xla_metadata" in missing)


@pytest.fixture
def unknown_version(monkeypatch):
    """A version of JAX that was not tried."""
    monkeypatch.setattr(compat, "_TRIED", ())
    compat.kernels_work.cache_clear()
    yield
    compat.kernels_work.cache_clear()


def test_a_version_that_was_not_tried_is_tried(unknown_version):
    assert compat.kernels_work()


@pytest.mark.cpu
def test_options_that_are_refused_mean_no_kernels(unknown_version, monkeypatch, caplog):
    monkeypatch.setattr(compat, "_OPTIONS", {"xla_no_such_option": 1})
    assert not compat.kernels_work()
    assert compat.kernel_options() is None
    assert f"not compiled as one kernel with JAX {jax.__version__}" in caplog.text


@pytest.mark.slow
def test_selections_are_the_same_without_the_options(tmp_path):
    program = """
import sys
from jaxbandit.core.xla import compat

compat._TRIED, compat._OPTIONS = (), {{"xla_no_such_option": 1}}
compat._KNOW_SMALL, compat._SMALL = "no version", {{"xla_nor_this_one": 1}}
sys.path[:0] = {path}
from test_compat import selections

print(selections())
"""
    words = [sys.executable, "-c", program.format(path=[str(Path(__file__).parent)])]
    root = Path(jb.__file__).parents[1]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, cwd=root)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == selections()


@pytest.mark.cpu
def test_quick_options_that_are_refused_are_left_out(monkeypatch):
    compat.quick_options.cache_clear()
    monkeypatch.setattr(compat, "_QUICK", {"xla_backend_optimization_level": 0, "xla_no_such_option": 1})
    assert compat.quick_options() == {"xla_backend_optimization_level": 0}
    compat.quick_options.cache_clear()


@pytest.fixture
def small_options():
    """`compat.small_options`, which forgets what it found before and after the test."""
    compat.small_options.cache_clear()
    yield compat.small_options
    compat.small_options.cache_clear()


@pytest.mark.cpu
def test_small_programs_are_compiled_with_options_that_jax_knows(small_options):
    assert bool(small_options()) or not jax.__version__.startswith(compat._KNOW_SMALL)
    assert all(compat._is_known(name, value) for name, value in small_options().items())


@pytest.mark.cpu
def test_options_of_small_programs_that_are_refused_are_left_out(small_options, monkeypatch):
    monkeypatch.setattr(compat, "_KNOW_SMALL", "no version")
    monkeypatch.setattr(compat, "_SMALL", {"xla_backend_optimization_level": 3, "xla_no_such_option": 1})
    assert small_options() == {"xla_backend_optimization_level": 3}


def test_other_devices_have_no_options_for_small_programs(small_options, monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "tpu")
    assert small_options() == {}


def lowered():
    """A lowered program in words, with the places in Python that it names."""
    return jax.jit(lambda x: x * 2.0).lower(1.0).as_text(debug_info=True)


def test_programs_name_no_lines_of_python_unless_the_user_chose_how_many():
    here = Path(__file__).name
    with compat._frames(compat._FRAMES):  # JAX's default
        assert here in lowered()
        with compat.without_lines():
            assert here not in lowered()
    with compat._frames(2), compat.without_lines():
        assert here in lowered()


def test_that_many_lines_is_the_default_of_jax():
    words = "from jaxbandit.core.xla import compat; assert compat._frames is None or compat._frames.value == {}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_TRACEBACK")}
    subprocess.run([sys.executable, "-c", words.format(compat._FRAMES)], check=True, env=environment)


def test_programs_name_lines_where_jax_has_no_such_setting(monkeypatch):
    with compat._frames(2):
        monkeypatch.setattr(compat, "_frames", None)
        with compat.without_lines():
            assert Path(__file__).name in lowered()


def test_loops_are_cuda_graphs_on_a_gpu_unless_the_user_chose(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    compat._graph_options.cache_clear()
    try:
        (name,) = compat.kernel_options()
        assert compat.kernel_options()[name].endswith("WHILE")
        jax.jit(lambda x: x + 1.0, compiler_options=compat.kernel_options()).lower(0.0).compile()  # JAX knows it
        monkeypatch.setenv("XLA_FLAGS", f"--{name}=")
        compat._graph_options.cache_clear()
        assert compat.kernel_options() is None
        monkeypatch.delenv("XLA_FLAGS")
        monkeypatch.setattr(compat, "_GRAPHS", {"xla_gpu_is_no_option": "WHILE"})
        compat._graph_options.cache_clear()
        assert compat.kernel_options() is None
    finally:
        compat._graph_options.cache_clear()
