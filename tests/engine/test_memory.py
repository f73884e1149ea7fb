"""What cannot fit is refused before any work; blocks shrink to what fits; and estimates are those of what is taken."""

import contextlib
import json
import os
import platform
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import jaxbandit as jb
from jaxbandit.engine import plan
from jaxbandit.engine import simulation as engine
from jaxbandit.engine.batch import memory, sharding
from jaxbandit.experiments import dataset
from jaxbandit.experiments.configs import config as configs

PROBLEM = {"means": [0.9, 0.8, 0.7], "fractions": 0.1, "penalties": 0.4}


def simulation(problem=PROBLEM, policy="ucb1", **setting):
    table = policy if isinstance(policy, dict) else {"kind": policy}
    return configs.make_plan({"simulation": setting, "problem": problem, "policies": [table]})


@pytest.mark.parametrize(
    ("problem", "policy", "setting"),
    [
        ({"means": {"random": "uniform", "arms": 3, "instances": 5000}}, "ucb1", {"horizon": 100, "seeds": 8 * 10**6}),
        (
            PROBLEM,
            {"kind": "ucb1", "exploration": [0.01 * i for i in range(1, 10_001)]},
            {"horizon": 10**6, "seeds": 2, "record": "all"},
        ),
        ({"means": [0.5] * 5000}, "ucb1", {"horizon": 100, "seeds": 8 * 10**6}),
    ],
    ids=["seeds", "rounds", "arms"],
)
def test_results_that_cannot_fit_are_refused_at_once(problem, policy, setting):
    tracemalloc.start()
    begun = time.monotonic()
    try:
        with pytest.raises(jb.InputError, match=r"take .* GiB, and .* GiB are free") as refused:
            simulation(problem, policy, **setting)
        assert refused.value.key == "simulation.seeds"
        assert time.monotonic() - begun < 10
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("problem", "key", "words"),
    [
        ({"means": [0.5] * 5000}, "problem.means", "the state of 16 runs fits the memory"),
        ({**PROBLEM, "delay": {"kind": "pareto"}}, "problem.delay", "calendar of pending rewards fits the memory"),
    ],
)
def test_where_not_even_one_vector_of_runs_fits_it_is_said(monkeypatch, problem, key, words):
    monkeypatch.setattr(memory, "device_bytes", lambda: 1 << 20)
    with pytest.raises(jb.InputError, match=words) as refused:
        simulation(problem, "ucb1", horizon=10**5, seeds=2)
    assert refused.value.key == key


@pytest.mark.cpu  # elsewhere all recorded rounds take memory at once
@pytest.mark.slow
def test_blocks_shrink_to_the_device_and_results_stay(monkeypatch):
    def simulate():
        return jb.simulate({**PROBLEM, "delay": {"kind": "fixed", "d": 20}}, "ucb1", horizon=100, seeds=100, record=5)

    whole = simulate()
    setting = {"horizon": 100, "seeds": 100, "record": 5}
    blocks = [simulation(**setting).sizes[0].wide]
    monkeypatch.setattr(memory, "device_bytes", lambda: sharding.workers() << 16)  # room for some 20 runs each
    blocks.append(simulation(**setting).sizes[0].wide)
    assert blocks[1] < blocks[0]
    xr.testing.assert_identical(simulate().drop_attrs(), whole.drop_attrs())


def test_tables_of_fractions_that_differ_by_row_count_too(monkeypatch):
    """The table of quotas of 500 rows and 10 arms takes some 400 MB where one call plays 838 rounds."""

    def runs(fractions):
        problem = {"means": {"random": "uniform", "arms": 10, "instances": 500}, "fractions": fractions}
        block = simulation(problem, horizon=2000, seeds=4).blocks[0]
        return block.tall * block.wide

    rows = [[0.05 + i / 10**5] * 10 for i in range(500)]
    assert runs(rows) == runs(0.05)
    monkeypatch.setattr(memory, "device_bytes", lambda: 1 << 28)
    assert runs(rows) < runs(0.05)


def test_the_memory_of_a_host_is_what_its_limits_leave():
    assert 1 << 26 <= memory.host_bytes() < 1 << 50
    assert memory.device_bytes() <= memory.host_bytes() * 1.1


@pytest.mark.cpu
@pytest.mark.skipif(memory.resource is None, reason="no limits")
def test_a_limit_on_the_address_space_is_heeded_and_named(monkeypatch):
    setting = {"horizon": 100, "seeds": 2 * 10**6, "record": 5}
    simulation(**setting)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    limit = taken + (600 << 20)
    monkeypatch.setattr(memory.resource, "getrlimit", lambda which: (limit, limit))
    assert memory.host_bytes() < 1 << 28
    assert memory.device_bytes() < 1 << 28
    with pytest.raises(jb.InputError, match=rf"GiB are free under `ulimit -v {limit >> 10}`; fewer seeds"):
        simulation(**setting)
    simulation(**{**setting, "seeds": 1000})
    for most, fits in ((3_000_000 << 10, True), ((2 << 30) - 1, False)):
        monkeypatch.setattr(memory.resource, "getrlimit", lambda which, most=most: (most, most))
        with contextlib.nullcontext() if fits else pytest.raises(jb.InputError, match=r"^ulimit -v = 2097151: "):
            memory.check_limit()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "setting"),
    [
        ("ucb1", {"horizon": 100, "seeds": 30_000, "record": 10}),
        (
            {"kind": "ucb1", "exploration": [0.01 * i for i in range(1, 1001)]},
            {"horizon": 200, "seeds": 2, "record": 150, "metrics": ["regret", "unfairness"]},
        ),
    ],
    ids=["runs", "rounds"],
)
def test_results_take_what_was_estimated(tmp_path, policy, setting):
    made = simulation(policy=policy, **setting)
    estimate = memory.results_bytes(made.stacks, made.result_shapes, made.settings.seeds)
    tracemalloc.start()
    try:
        dataset.write(dataset.dataset(made, engine.run(made), {}), tmp_path / "results.nc")
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert taken / 3 < estimate < taken * 3


# The peak grows by what the first large block takes; the libraries and a program are loaded by then.
BLOCK = """
import json
from pathlib import Path
from jaxbandit.engine import simulation as engine
from jaxbandit.engine.batch import memory
from jaxbandit.experiments.configs import config as configs

def simulation(seeds):
    return configs.make_plan({
        "simulation": {"horizon": 200, "seeds": seeds, "block": seeds, "record": 16, "metrics": ["regret"]},
        "problem": {"means": [i / 10 for i in range(10)], "fractions": 0.01, "penalties": 0.4},
        "policies": [{"kind": "hard-threshold-ucb"}],
    })

def peak():  # not ru_maxrss, which begins with that of the program that started this one
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))

engine.run(simulation(16))
large = simulation(60_000)
before = peak()
engine.run(large)
memory.device_bytes = lambda: 1 << 30
fits = memory.runs_a_block(large.stacks[0], large.result_shapes[0], (), 10**9, 1, 1)[1]
print(json.dumps({"a run": (1 << 29) / fits, "taken": (peak() - before) / 60_000}))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="no /proc")
def test_a_block_takes_what_was_estimated():
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", BLOCK], env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["taken"] / 3 < said["a run"] < said["taken"] * 3


FREED = """
from pathlib import Path
from jaxbandit.engine.host import freed_memory

def taken():
    return int(Path("/proc/self/statm").read_text().split()[1]) >> 8  # MiB, of pages of 4 KiB

parts = [bytearray(1 << 16) for _ in range(2000)]
parts = parts[::50]  # those that stay keep the pool of the C library from shrinking
before = taken()
freed_memory.give_back()
print(before - taken())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_freed_memory_is_given_back():
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", FREED], env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 80  # of 122 MiB


def test_ten_thousand_configurations_are_one_group_and_checked_quickly():
    lists = {"exploration": np.linspace(0.1, 4, 100).tolist(), "penalties": np.linspace(0, 2, 100).tolist()}
    begun = time.process_time()
    made = simulation(policy={"kind": "hard-threshold-ucb", **lists}, horizon=1000, seeds=10)
    assert time.process_time() - begun < 5  # 0.5 s alone on a core
    assert len(made.stacks) == 1
    assert made.stacks[0].rows == 10_000


def test_there_are_at_most_a_number_of_blocks(monkeypatch):
    """40 seeds in blocks of 16 runs are 3 blocks per exploration constant."""

    def planned(most):
        monkeypatch.setattr(plan, "_MOST_BLOCKS", most)
        simulation(PROBLEM, {"kind": "moss"}, horizon=9, seeds=40, block=16)

    planned(3)
    with pytest.raises(jb.InputError, match=r"^simulation.block = 16: must be at least 20 runs, so that .* 2 blocks$"):
        planned(2)
