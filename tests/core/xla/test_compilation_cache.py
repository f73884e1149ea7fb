"""The compilation cache of the command line."""

import os
import subprocess
import sys
import time

import jax
import pytest

from jaxbandit.core.xla import compilation_cache

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
    assert jax.config.jax_compilation_cache_max_size == 1 << 30


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


@pytest.mark.slow
def test_a_run_keeps_its_programs_unless_told_not_to(tmp_path):
    """And a second run of the same adds none. No line of XLA about loaded programs is printed."""
    cache = tmp_path / "cache"
    config = (
        'policies = [{ kind = "ucb1" }]\nproblem = { means = [0.9, 0.5] }\nsimulation = { horizon = 20, seeds = 3 }\n'
    )
    (tmp_path / "config.toml").write_text(config)
    settings = {name: value for name, value in os.environ.items() if name.upper() not in OF_THE_TESTS}
    settings |= {"XDG_CACHE_HOME": str(cache), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
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
