"""Whole commands that are killed, interrupted or out of disk space, and gone on with."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import tomli_w
import xarray as xr

CONFIG = {
    "simulation": {"horizon": 10_000, "seeds": 2048, "record": 20, "key": 5, "block": 64},
    "problem": {"means": [0.9, 0.8, 0.1], "fractions": 0.1, "delay": {"kind": "geometric", "p": 0.1}},
    "policies": [{"kind": "fucb"}],
}
SMALL = {**CONFIG, "simulation": {"horizon": 40, "seeds": 64, "record": 20, "block": 16}}
KEPT = "jaxbandit: finished blocks are kept; `jaxbandit resume made` continues the run"
KILLS = 6
LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
from jaxbandit.cli import main
sys.exit(main(sys.argv[2:]))
"""  # the command where files are no larger than so many bytes


@pytest.fixture
def there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text(tomli_w.dumps(CONFIG))
    (tmp_path / "small.toml").write_text(tomli_w.dumps(SMALL))
    return tmp_path


def started(*arguments, program=("-m", "jaxbandit")):
    command = [sys.executable, *program, *arguments]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ended(*arguments, program=("-m", "jaxbandit")):
    process = started(*arguments, program=program)
    out, err = process.communicate()
    return process.returncode, out, err


def run(out, config="config.toml"):
    return ["run", config, "--out", out]


def opened(folder):
    with xr.open_dataset(folder / "results.nc") as found:
        return found.load().drop_attrs(deep=False)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def held(out):
    """What a kill may leave: results that are whole, figures that are, and progress."""
    if not out.exists():
        return set()
    left = set(names(out))
    for path in out.glob("*.png"):
        assert path.read_bytes().rstrip().endswith(b"IEND\xaeB`\x82")
    for path in out.glob("*.pdf"):
        assert path.read_bytes().rstrip().endswith(b"%%EOF")
    return left


@pytest.mark.slow
def test_killed_at_any_moment_a_run_gives_the_same(there):
    """SIGKILL at 6 moments spread evenly over what a run takes, one drawn from each part, in random order."""
    assert ended(*run("cached"))[0] == 0  # programs compile once and for all
    begun = time.perf_counter()
    assert ended(*run("whole"))[0] == 0
    takes = time.perf_counter() - begun
    whole, files = opened(there / "whole"), set(names(there / "whole"))
    rng = np.random.default_rng(11)
    moments = rng.permutation((np.arange(KILLS) + rng.random(KILLS)) / KILLS)  # of what a run takes
    out, kills, done, most, ways = there / "made", 0, 0, 0, set()
    while kills < KILLS:
        resumable = (out / "unfinished" / "run.toml").exists()
        way = ["resume", "made"] if resumable and rng.random() < 0.7 else run("made")
        begun, process = time.perf_counter(), started(*way)
        try:
            process.wait(moments[kills] * takes)
        except subprocess.TimeoutExpired:
            process.kill()
        _, err = process.communicate()
        assert "Traceback" not in err
        if process.returncode == -signal.SIGKILL:
            kills += 1
            ways.add(way[0])
            assert held(out) <= files | {"unfinished", ".unfinished"}
            if (out / "results.nc").exists():
                xr.testing.assert_identical(opened(out), whole)
            kept = len(list((out / "unfinished").glob("*.block")))
            most = max(most, kept)
            continue
        assert process.returncode == 0, err
        if not resumable:  # a whole run before its moment came: the machine is less busy than it was
            takes = min(takes, time.perf_counter() - begun)
        xr.testing.assert_identical(opened(out), whole)
        assert set(names(out)) == files
        done += 1
        out.rename(there / f"done{done}")
    assert ended(*run("made"))[0] == 0
    xr.testing.assert_identical(opened(out), whole)
    assert set(names(out)) == files
    assert most > 5
    assert ways == {"run", "resume"}


def _waiting(process, out, blocks):
    """Wait until so many blocks are done."""
    while len(list((out / "unfinished").glob("*.block"))) < blocks:
        assert process.poll() is None
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_what_is_done(there, way):
    process = started(*run("made"))
    _waiting(process, there / "made", 3)
    process.send_signal(way)
    _, err = process.communicate(timeout=20)
    if way == signal.SIGINT:
        assert (process.returncode, err.splitlines()) == (130, [KEPT, "jaxbandit: interrupted"])
    else:  # the system's own end: at once and without a word
        assert (process.returncode, err) == (-signal.SIGTERM, "")
    kept = {path: path.stat().st_mtime_ns for path in (there / "made" / "unfinished").glob("*.block")}
    assert 3 <= len(kept) < 32
    again = started("resume", "made")
    _waiting(again, there / "made", len(kept) + 1)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept  # none was written again
    _, err = again.communicate()
    assert (again.returncode, err) == (0, "")
    assert "unfinished" not in names(there / "made")


@pytest.mark.slow
def test_a_disk_that_fills_up_at_a_figure(there):
    """Figures drawn in earnest; files no larger than results.nc may be."""
    assert ended(*run("made", "small.toml"), "--set", "simulation.key=1")[0] == 0
    before = {path.name: path.read_bytes() for path in (there / "made").iterdir()}
    most = len(before["results.nc"]) + 2000
    assert max(map(len, before.values())) > most

    code, out, err = ended(*run("made", "small.toml"), "--force", program=("-c", LIMITED, str(most)))
    assert (code, out) == (1, "")
    assert err.splitlines() == [KEPT, "jaxbandit: made cannot be written: File too large"]
    after = {path.name: path.read_bytes() for path in (there / "made").iterdir() if path.is_file()}
    assert {name for name, content in after.items() if content != before[name]} == {"results.nc"}
    code, out, err = ended("resume", "made")
    assert (code, err) == (0, "")
    assert set(names(there / "made")) == set(before)
    assert opened(there / "made").sizes["seed"] == 64
