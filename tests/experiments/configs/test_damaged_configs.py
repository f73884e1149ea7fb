"""A thousand damaged and hostile configs: each is refused with one clear line, or simulated correctly."""

import os
import re
import resource
import signal
import time
import warnings
from collections import Counter
from pathlib import Path

import damaged_configs
import numpy as np
import pytest
from error_lines import assert_line

from jaxbandit import cli
from jaxbandit.core.errors import InputError
from jaxbandit.engine import simulation as engine
from jaxbandit.environment import conversion_log
from jaxbandit.experiments.configs import config
from jaxbandit.tuning import command as task
from jaxbandit.tuning.search import evaluation

SECONDS = 10  # after which what is checked counts as stuck; each takes some milliseconds


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory, with a conversion log, other files, and a pipe that nobody writes to."""
    monkeypatch.chdir(damaged_configs.furnish(tmp_path))
    os.mkfifo("fifo")
    yield tmp_path
    assert not os.path.exists("executed")  # the commands in configs and logs would make it


class Stuck(BaseException):
    """Not an Exception, so that no handler in the package catches it."""


def checked(check):
    """The key of the error that `check` raises, whose line is checked; or None and what `check` returns."""

    def stop(*_):
        raise Stuck

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        return None, check()
    except InputError as error:
        refused = error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert_line(refused)
    return refused.key, None


def planned(path, changes=()):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # caveats of metrics
        return config.make_plan(config.load(path, changes))


def size(plan):
    problem, settings = plan.problem, plan.settings
    return len(plan.configurations) * problem.means.size * settings.seeds * settings.horizon


def run_and_check(plan):
    """Run a plan. Every policy selects L arms in every round of every run where arms are always available."""
    horizon, made = plan.settings.horizon, engine.run(plan)
    for problem, pulls in zip(plan.problems, made.each(lambda block: block.pulls), strict=True):
        selections = pulls.sum(axis=-1)
        assert selections.shape == (problem.instances, made.seeds)
        assert pulls.min() >= 0
        assert pulls.max() <= horizon
        if problem.availability is None:
            np.testing.assert_array_equal(selections, horizon * problem.plays)
    for stack in made.statistics:
        for name, values in stack.runs.items():
            assert name == "rewards" or np.all(np.isfinite(values)), name


def through(folder, cases):
    """How often each key is named, and the plans of the configs that are good, of those that `damaged` gives."""
    path, keys, made = folder / "damaged.toml", Counter(), []
    for done, content in cases:
        path.write_bytes(content)
        try:
            key, plan = checked(lambda: planned(path))
        except BaseException as fault:
            fault.add_note(f"{done}: {content[:4000]!r}")
            raise
        if key is None:
            made.append((done, plan))
        else:
            keys[key] += 1
    return keys, made


def run_some(made, most, policies):
    """Run some of the plans: small ones with few policies, since each policy is a program to compile."""
    small = [one for one in made if size(one[1]) <= 20_000 and len(one[1].configurations) <= policies]
    chosen = small[:: max(1, len(small) // most)][:most]
    for done, plan in chosen:
        try:
            run_and_check(plan)
        except Exception as fault:
            fault.add_note(done)
            raise
    return len(chosen)


@pytest.mark.slow
def test_hundreds_of_damaged_configs(folder):
    begun, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    keys, made = through(folder, damaged_configs.damaged(seed=0, count=250))
    assert time.process_time() - begun < 15
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 512 << 10  # KiB on Linux
    assert len(made) + keys.total() == 250
    # Of different kinds: no TOML, no log, and most keys that a config has.
    assert len(made) >= 25
    assert len(keys) >= 50
    assert max(keys.values()) < 60
    assert {key.split(".")[0].split("[")[0] for key in keys} >= {"CONFIG", "simulation", "problem", "policies"}
    for name in ("means", "plays", "reward", "delay", "fractions", "penalties", "merit", "opportunity", "availability"):
        assert any(key.startswith(f"problem.{name}") for key in keys), name
    assert run_some(made, most=2, policies=1) == 2


@pytest.mark.slow
def test_more_damaged_configs(folder):
    keys, made = through(folder, damaged_configs.damaged(1, 700))
    assert len(made) >= 80
    assert len(keys) >= 100
    assert run_some(made, most=8, policies=4) == 8


def test_sizes_beyond_every_machine_are_refused_by_their_key(folder):
    """One hostile value at a time, so that no other key can be at fault."""
    path = folder / "hostile.toml"
    for dotted, value in [
        ("problem.means", {"random": "uniform", "arms": 10**9}),
        ("problem.means", {"random": "uniform", "arms": 3, "instances": 10**12}),
        ("problem.means", {"conversions": "fifo"}),
        ("problem.means", {"conversions": "/dev/zero"}),
        ("problem.means", {"conversions": "objects.npy"}),
        ("problem.means", {"conversions": "pickled"}),
        ("problem.delay", {"kind": "empirical", "table": [0, 2**63]}),
        ("simulation.horizon", 10**9),
        ("simulation.seeds", 10**12),
        ("simulation.record", [10**9]),
        ("policies", [{"kind": "lfg", "eta": {"scale": 1, "horizon_power": 1e9}}]),
        ("policies", [{"kind": "lfg", "eta": {"scale": 1, "horizon_power": -1e9}}]),
    ]:
        path.write_bytes(damaged_configs.toml(damaged_configs.small(**{dotted: value}), {}))
        key, _ = checked(lambda: planned(path))
        assert key is not None
        assert key.startswith(dotted)


def test_numbers_of_thousands_of_digits(folder):
    path = folder / "long.toml"
    for digits in ("1" * 5000, "0x" + "f" * 5000):
        path.write_text(f"[simulation]\nhorizon = {digits}\nseeds = 1\n")
        assert checked(lambda: planned(path))[0] == ("CONFIG" if digits[1] == "1" else "simulation.horizon")


def test_an_endless_config_is_refused():
    assert checked(lambda: config.load(Path("/dev/zero")))[0] == "CONFIG"


@pytest.mark.slow
def test_damaged_changes(folder):
    path, keys, accepted = folder / "changed.toml", Counter(), 0
    for text, changes in damaged_configs.changes(seed=0, count=400):
        path.write_text(text)
        key, simulation = checked(lambda changes=changes: planned(path, changes))
        accepted += simulation is not None
        keys[key] += 1
    assert accepted >= 24
    assert len(keys) >= 60
    assert keys["--set"] < 240


@pytest.mark.slow
def test_damaged_tuning_tables(folder, monkeypatch):
    """Everything about them is checked before the first simulation."""

    def accept(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluation.Evaluator, "__call__", accept)
    path, keys, accepted = folder / "tuned.toml", Counter(), 0
    for _, content in damaged_configs.tunings(seed=0, count=300):
        path.write_bytes(content)
        try:
            keys[checked(lambda: task.make_task(config.load(path)).run(folder))[0]] += 1
        except KeyboardInterrupt:
            accepted += 1
    assert accepted >= 24
    assert len(keys) >= 25
    assert {f"tuning.{name}" for name in task.KEYS} <= set(keys)


@pytest.mark.slow
def test_damaged_conversion_logs(folder):
    path, keys = folder / "damaged.tsv", Counter()
    for content in damaged_configs.logs(seed=0, count=1000):
        path.write_bytes(content)
        key, log = checked(lambda: conversion_log.read_log(path))
        keys[key] += 1
        if log is not None:
            assert log.counts.min() >= 1
            assert len(log.products) == len(log.clicks) == len(log.seconds) <= 6
            checked(log.delays)
    assert keys.keys() == {None, "problem.delay.table"}
    assert min(keys.values()) >= 200


@pytest.mark.parametrize("command", ["run", "tune"])
def test_the_command_ends_with_2_and_one_line(folder, capsys, command):
    path = folder / "damaged.toml"
    refused = 0
    for _, content in damaged_configs.damaged(seed=9, count=60):
        path.write_bytes(content)
        if checked(lambda: planned(path))[0] is not None:
            refused += 1
            assert cli.main([command, str(path), "--out", str(folder / "out")]) == 2
            said = capsys.readouterr()
            assert said.out == ""
            assert re.fullmatch(r"jaxbandit: .+\n", said.err)
            assert not (folder / "out").exists()
    assert refused >= 30
