"""The process that makes the page and the figures: the same files, errors, and its end with the one that forked it."""

import signal
import subprocess
import sys
import time

import pytest

import jaxbandit as jb
from jaxbandit.experiments import dataset
from jaxbandit.experiments.output import view_process, views

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a process is only forked on Linux")

# JAX runs in the process of the tests, which therefore cannot be forked.
START = """
import os, signal, sys, time
from pathlib import Path

import xarray as xr

from jaxbandit.experiments.output import view_process, views
from jaxbandit.experiments.output.views import Outputs

view_process._cores = lambda: 2
folder = Path(sys.argv[1])
results = xr.load_dataset(folder / "results.nc")

def process(begin):
    return begin.func.__self__._process

def gone(pid):
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return True
    return False
"""

BESIDE = """
for outputs in (Outputs(), Outputs(figures=False), Outputs(page=False)):
    with view_process.views_beside(outputs) as begin:
        pid = process(begin).pid
        for title in ("first", "second"):
            made = folder / f"{title}-{outputs.figures}-{outputs.page}"
            made.mkdir()
            begun = begin(results, made, title)
            assert begun.finish() == begun.names
            assert sorted(path.name for path in made.iterdir()) == sorted(begun.names)
    assert gone(pid)
    assert "matplotlib" not in sys.modules
with view_process.views_beside(Outputs(figures=False, page=False)) as begin:
    assert begin(results, folder, "").names == begin(results, folder, "").finish() == []
assert "matplotlib" not in sys.modules
"""

FAILS = """
from jaxbandit.experiments.dashboard import page

def full(*_, **__):
    raise OSError(28, "No space left on device")

page.dashboard = full
(folder / "made").mkdir()
for outputs in (Outputs(), Outputs(figures=False)):
    sys.modules.pop("matplotlib.pyplot", None)
    with view_process.views_beside(outputs) as begin:
        pid = process(begin).pid
        begun = begin(results, folder / "made", "title")
        try:
            begun.finish()
        except OSError as error:
            assert error.errno == 28
        else:
            raise AssertionError
    assert gone(pid)
"""

STRANGE = """
from jaxbandit.core.errors import InputError
from jaxbandit.experiments.plots import figures

def refuse(*_, **__):
    raise InputError("key", 3, "above 3")  # which cannot be sent as it is

figures.save = refuse
(folder / "made").mkdir()
figures.draw_all = refuse
sys.modules.pop("matplotlib.pyplot", None)
with view_process.views_beside(Outputs()) as begin:
    begun = begin(results, folder / "made", "title")
    try:
        begun.finish()
    except InputError as error:
        assert "above 3" in str(error)
    else:
        raise AssertionError
"""

KILLED = """
(folder / "made").mkdir()
with view_process.views_beside(Outputs()) as begin:
    os.killpg(process(begin).pid, signal.SIGKILL)
    process(begin).join()
    begun = begin(results, folder / "made", "title")
    assert begun.finish() == begun.names
    assert sorted(path.name for path in (folder / "made").iterdir()) == sorted(begun.names)
"""

# A command of its own: the process is there before JAX is imported, and is asked for other outputs than were known
EARLY = """
import os, sys
from pathlib import Path

from jaxbandit.experiments.output import view_process
from jaxbandit.experiments.output.views import Outputs

view_process._cores = lambda: 2
folder = Path(sys.argv[1])
assert "jax" not in sys.modules
with view_process.begun_early(Outputs()):
    (early,) = view_process._EARLY
    assert "jax" not in sys.modules
    import xarray as xr

    results = xr.load_dataset(folder / "results.nc")
    with view_process.views_beside(Outputs(page=False)) as begin:
        assert begin.func.__self__ is early
        (folder / "made").mkdir()
        begun = begin(results, folder / "made", "title")
        assert begun.finish() == begun.names
    assert sorted(path.name for path in (folder / "made").iterdir()) == sorted(begun.names)
    assert not early._process.is_alive()
assert "matplotlib" not in sys.modules
with view_process.begun_early(Outputs()):
    (unasked,) = view_process._EARLY
assert not unasked._process.is_alive()
nothing = Outputs(figures=False, page=False)
with view_process.begun_early(nothing):
    assert not view_process._EARLY
with view_process.begun_early(Outputs()):
    (unasked,) = view_process._EARLY
    with view_process.views_beside(nothing) as begin:
        assert not unasked._process.is_alive()
        assert begin(results, folder, "").finish() == []
"""

WAITS = """
with view_process.views_beside(Outputs()) as begin:
    print(process(begin).pid, flush=True)
    time.sleep(60)
"""


@pytest.fixture(scope="module")
def results():
    problem = jb.Problem([0.3, 0.6, 0.9], fractions=0.2)
    return jb.simulate(problem, ["ucb1", "lfg"], horizon=60, seeds=20, metrics=["regret", "unfairness"])


@pytest.fixture
def script(results, tmp_path):
    """Runs a script in a new process of Python, with a folder that holds the results."""
    dataset.write(results, tmp_path / "results.nc")

    def start(text, begin=START):
        words = [sys.executable, "-W", "error", "-c", begin + text, str(tmp_path)]
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


@pytest.mark.slow
def test_the_files_are_those_of_one_process(script, results, tmp_path):
    ended = script(BESIDE)
    out, err = ended.communicate()
    assert (ended.returncode, out, err) == (0, "", "")
    here = tmp_path / "here"
    here.mkdir()
    names = views.begin(views.Outputs(), results, here, "second").finish()
    assert {"results.html", "curves.png", "pulls.pdf", "selection-fractions.png"} < set(names)
    for name in names:
        if not name.endswith(".pdf"):  # which hold the time
            assert (tmp_path / "second-True-True" / name).read_bytes() == (here / name).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("text", [FAILS, STRANGE, KILLED], ids=["fails", "an error", "killed"])
def test_what_the_process_cannot_do_is_raised_or_done_here(script, text):
    ended = script(text)
    out, err = ended.communicate()
    assert (ended.returncode, out, err) == (0, "", "")


@pytest.mark.slow
def test_a_process_may_be_begun_before_jax_is_imported(script):
    ended = script(EARLY, begin="")
    out, err = ended.communicate()
    assert (ended.returncode, out, err) == (0, "", "")


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_the_process_ends_with_the_one_that_forked_it(script, end):
    process = script(WAITS)
    pid = int(process.stdout.readline())
    process.send_signal(end)
    process.communicate()
    ends = time.monotonic() + 20
    while running(pid) and time.monotonic() < ends:
        time.sleep(0.05)
    assert not running(pid)


def running(pid):
    """Whether a process computes or waits; one that has ended may not have been waited for."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_process_with_threads_is_not_forked(results, tmp_path):
    with view_process.views_beside(views.Outputs(figures=False)) as begin:
        assert begin(results, tmp_path, "title").finish() == ["results.html"]
