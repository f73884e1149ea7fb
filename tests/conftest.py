"""Strict promotion everywhere, and problems that many tests share so that they share compiled programs."""

import gc
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import jax
import pytest
from hypothesis import settings

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")


# The same examples in every run, so that what passes here passes everywhere; others with --hypothesis-profile=explore.
settings.register_profile("same", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile("same")


# What one worker has compiled the others, and the programs that tests start, need not compile again. Programs do not
# name the lines of Python that they come from: they are lowered in less time.
SETTINGS = {
    "jax_traceback_in_locations_limit": 0,
    "jax_compilation_cache_dir": None,
    "jax_persistent_cache_min_compile_time_secs": 0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}


MADE_HERE = "jaxbandit-tests-"


def pytest_configure(config):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell; programs inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):  # workers have it from here, by the environment
        given = os.environ.get("JAX_COMPILATION_CACHE_DIR")  # as `.ci/run` does, whose parts share programs
        SETTINGS["jax_compilation_cache_dir"] = given or tempfile.mkdtemp(prefix=MADE_HERE)
        for name, value in SETTINGS.items():
            os.environ[name.upper()] = str(value)
            jax.config.update(name, value)


def pytest_unconfigure(config):
    folder = SETTINGS["jax_compilation_cache_dir"]
    if not hasattr(config, "workerinput") and Path(folder).name.startswith(MADE_HERE):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config, log):
    """Files as a whole, so that their tests share programs, but notebooks one by one: their file takes minutes.

    Units of few tests come last, so that no worker waits for another one's notebooks.
    """
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class NotebooksApart(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return nodeid if "test_notebooks.py" in nodeid else super()._split_scope(nodeid)

    return NotebooksApart(config, log)


def pytest_runtest_setup(item):
    if item.get_closest_marker("cpu") and jax.default_backend() != "cpu":
        pytest.skip("it is done on CPUs alone")


@pytest.fixture(autouse=True)
def metrics_end_with_their_test():
    """Metrics that a test or an example defines are not computed in other tests."""
    from jaxbandit.metrics.metric import METRICS

    before = dict(METRICS)
    yield
    METRICS.clear()
    METRICS.update(before)


@pytest.fixture(autouse=True)
def figures_end_with_their_test():
    """Figures that a test or an example leaves open are closed."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


MAPS = 40_000  # memory maps of a process, of which Linux allows 65,530; each compiled program takes some


@pytest.fixture(scope="module", autouse=True)
def few_programs():
    """Forget compiled programs when there are many; otherwise the next file of tests may use them again.

    What stays is frozen: the garbage collector need not look at a million objects over and over.
    """
    yield
    maps = Path("/proc/self/maps")
    if not maps.exists() or maps.read_bytes().count(b"\n") > MAPS:
        gc.unfreeze()
        jax.clear_caches()
    gc.collect()
    gc.freeze()


@pytest.fixture
def float64():
    """Run a test in float64."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="session")
def browser():
    """Chromium, for tests of pages; they are skipped where it or Playwright is missing."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("needs Chromium")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()
