"""The folder of compiled programs of the command line."""

import os
import subprocess
import sys
import time

import jax
import pytest
import xarray as xr
from sweeps import swept

import jaxbandit as jb
from jaxbandit.core.xla import compilation_cache
from jaxbandit.engine import rollout
from jaxbandit.engine.batch import chunks, kept_programs, recorder, sharding

PROGRAM = """
import sys
from pathlib import Path

from jaxbandit.cli import main

cache, out, *options = sys.argv[1:]
config = str(Path(cache).with_name("config.toml"))
words = ["run", config, "--out", out, "--no-html", "--no-figures", "--quiet", *options]
assert main(words) == 0
programs = sorted(path.name for path in Path(cache).rglob("*-cache"))
print(len(programs))
"""


@pytest.fixture
def no_settings(monkeypatch, tmp_path):
    """The user has set nothing in JAX; the folder of caches is a temporary one."""
    before = {name: getattr(jax.config, name) for name in ("jax_compilation_cache_dir", *LIMITS)}
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compilation_cache, "_folder", None)  # and afterwards, for the other tests of this process
    for name in LIMITS:
        monkeypatch.delenv(name.upper(), raising=False)
    jax.config.update("jax_compilation_cache_dir", None)
    yield tmp_path
    for name, value in before.items():
        jax.config.update(name, value)


LIMITS = ("jax_compilation_cache_max_size", "jax_persistent_cache_min_compile_time_secs")


def test_the_folder_is_named_after_jax_and_the_processor(no_settings):
    folder = compilation_cache.keep_programs()
    assert folder is not None
    assert folder.is_relative_to(no_settings)
    assert folder.name.startswith(f"jax-{jax.__version__}-")
    assert jax.config.jax_compilation_cache_dir == str(folder)
    assert jax.config.jax_compilation_cache_max_size + kept_programs._BYTES == 1 << 30


def test_settings_of_the_user_win(no_settings, monkeypatch):
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "7")
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 7.0)
    jax.config.update("jax_enable_compilation_cache", False)
    try:
        assert compilation_cache.keep_programs() is None
    finally:
        jax.config.update("jax_enable_compilation_cache", True)
    assert compilation_cache.keep_programs() is not None
    assert jax.config.jax_persistent_cache_min_compile_time_secs == 7.0
    jax.config.update("jax_compilation_cache_dir", str(no_settings / "own"))
    assert compilation_cache.keep_programs() is None
    assert jax.config.jax_compilation_cache_dir == str(no_settings / "own")


def test_a_folder_that_cannot_be_written_means_no_cache(no_settings):
    (no_settings / "jaxbandit").write_text("a file")
    assert compilation_cache.keep_programs() is None
    assert jax.config.jax_compilation_cache_dir is None


def test_programs_that_were_written_in_part_are_removed(no_settings):
    """A full disk leaves the first of two files, and JAX writes no other program beside it."""
    folder = compilation_cache.keep_programs()
    for name in ("whole-cache", "whole-atime", "part-1-cache", "part_2-atime", "new-cache"):
        (folder / name).write_bytes(b"x")
        if name != "new-cache":  # which another process may be writing
            os.utime(folder / name, (time.time() - 60,) * 2)
    assert compilation_cache.keep_programs() is None  # JAX has a folder
    jax.config.update("jax_compilation_cache_dir", None)
    compilation_cache.keep_programs()
    kept = {path.name for path in folder.iterdir()} - {"used"}
    assert kept == {"whole-cache", "whole-atime", "new-cache"}


def test_folders_without_use_are_removed(no_settings):
    now = compilation_cache.keep_programs()
    old, recent, foreign = (now.parent / name for name in ("jax-0.9.0-a", "jax-0.9.1-a", "jax-own"))
    for folder in (old, recent, foreign):
        folder.mkdir()
        (folder / "program-cache").write_text("")
    long_ago = time.time() - 91 * 24 * 3600
    for folder in (old, recent):
        (folder / "used").touch()
    os.utime(old / "used", (long_ago, long_ago))
    jax.config.update("jax_compilation_cache_dir", None)
    assert compilation_cache.keep_programs() == now
    assert [folder.exists() for folder in (old, recent, foreign)] == [False, True, True]


@pytest.mark.parametrize("devices", swept([1, 2], [1]))
def test_a_run_keeps_its_programs_unless_told_not_to(tmp_path, devices):
    """And a second run of the same adds none. No line of XLA about loaded programs is printed."""
    cache = tmp_path / "cache"
    config = (
        'policies = [{ kind = "ucb1" }]\nproblem = { means = [0.9, 0.5] }\nsimulation = { horizon = 20, seeds = 3 }\n'
    )
    (tmp_path / "config.toml").write_text(config)
    settings = {name: value for name, value in os.environ.items() if name.upper() not in OF_THE_TESTS}
    settings |= {"XDG_CACHE_HOME": str(cache), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    settings |= {"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}
    counts = []
    for options in (["--no-cache"], [], []):
        words = [sys.executable, "-c", PROGRAM, str(cache), str(tmp_path / "out"), *options]
        words.append("--force")
        ended = subprocess.run(words, env=settings, capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (0, "")
        counts.append(int(ended.stdout))
    assert counts[0] == 0 < counts[1] == counts[2]


OF_THE_TESTS = {
    "JAX_COMPILATION_CACHE_DIR",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES",
}


# The package's own programs


@pytest.fixture
def kept(no_settings, monkeypatch):
    """The folder of the package's own programs. Programs of this process are forgotten, before and after."""
    forget(monkeypatch)
    compilation_cache.keep_programs()
    return compilation_cache.kept_in()


def forget(monkeypatch):
    for program in (chunks._start, sharding._ROUNDS, recorder._records_at):
        monkeypatch.setitem(program.__dict__, "_programs", {})


def simulated(**settings):
    problem = jb.Problem([0.9, 0.6, 0.4], fractions=0.2, penalties=0.3, reward="beta")
    return jb.simulate(problem, "hard-threshold-ucb", horizon=60, seeds=5, ties="random", **settings)


@pytest.mark.cpu
@pytest.mark.slow
def test_a_program_from_the_folder_gives_the_same_results(kept, monkeypatch):
    monkeypatch.setattr(compilation_cache, "_folder", None)
    without = simulated()
    monkeypatch.setattr(compilation_cache, "_folder", kept.parent)
    traced = []
    monkeypatch.setattr(rollout, "play_on", lambda *arguments: traced.append(1) or play_on(*arguments))
    xr.testing.assert_identical(drop_times(simulated()), drop_times(without))
    assert traced
    assert {path.name.partition("-")[0] for path in kept.glob("*.bin")} == {"start", "rounds", "records"}
    forget(monkeypatch)
    traced.clear()
    xr.testing.assert_identical(drop_times(simulated()), drop_times(without))
    assert not traced  # neither traced nor lowered


play_on = rollout.play_on


def drop_times(results):
    return results.drop_attrs()


@pytest.mark.cpu
@pytest.mark.slow
def test_a_damaged_file_is_made_again(kept, monkeypatch):
    first = simulated()
    files = sorted(kept.glob("*.bin"))
    for file, damage in zip(files, (lambda _: b"not a program", flipped, flipped), strict=True):
        file.write_bytes(damage(file.read_bytes()))
    damaged = [file.read_bytes() for file in files]
    forget(monkeypatch)
    xr.testing.assert_identical(drop_times(simulated()), drop_times(first))
    assert all(file.read_bytes() != content for file, content in zip(files, damaged, strict=True))


def flipped(content):
    """With one bit that is another."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.cpu
@pytest.mark.slow
def test_files_of_the_oldest_use_are_removed(kept, monkeypatch):
    simulated()
    (old,) = kept.glob("rounds-*.bin")
    os.utime(old, (0, 0))
    monkeypatch.setattr(kept_programs, "_BYTES", sum(file.stat().st_size for file in kept.glob("*.bin")) + 1)
    simulated(key=1)  # the same programs: nothing is written
    assert old.exists()
    jb.simulate(jb.Problem([0.9, 0.5]), "ucb1", horizon=60, seeds=5)
    assert not old.exists()
    assert list(kept.glob("rounds-*.bin"))


@pytest.mark.cpu
@pytest.mark.slow
def test_other_shapes_static_values_and_precisions_have_files_of_their_own(kept):
    counts = []
    for settings in ({}, {"key": 1}, {"seeds": 17}, {"ties": "lowest"}):
        problem = jb.Problem([0.9, 0.6, 0.4], fractions=0.2, penalties=0.3)
        jb.simulate(problem, "ucb1", **{"horizon": 60, "seeds": 5, "ties": "random", **settings})
        counts.append(len(list(kept.glob("rounds-*.bin"))))
    with jax.enable_x64(True):
        jb.simulate(problem, "ucb1", horizon=60, seeds=5, ties="random")
    counts.append(len(list(kept.glob("rounds-*.bin"))))
    assert counts == [1, 1, 2, 3, 4]


def test_programs_with_users_code_are_not_kept(kept):
    class Own(jb.Index):
        def value(self, state, now):
            return now.mean

    jb.simulate(jb.Problem([0.9, 0.5]), Own(), horizon=20, seeds=3)
    assert not list(kept.glob("rounds-*.bin"))
