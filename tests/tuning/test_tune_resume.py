"""A tuning that is interrupted goes on where it stopped, and gives bit for bit what it would have given."""

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from logged import logged
from small_problem import HORIZON, SEEDS, SMALL, START, TOML

import jaxbandit as jb
from jaxbandit import cli
from jaxbandit.core.errors import InputError
from jaxbandit.engine.host.checkpoint import Checkpoint
from jaxbandit.tuning.search import evaluation

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def tune(**changes):
    setting = {"horizon": HORIZON, "seeds": SEEDS, "steps": 3, "final_seeds": 256, **changes}
    objective = setting.pop("objective", {"kind": "budget", "most": 4.0})
    return jb.tuning.tune(SMALL, "hard-threshold-ucb", START, objective=objective, **setting)


@pytest.fixture(scope="module")
def uninterrupted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tune()


class KilledError(Exception):
    """Stands for whatever ends a process."""


@pytest.fixture
def simulations(monkeypatch):
    """Counts the simulations of points; raises `KilledError` before the one whose number is `last`."""
    done = {"count": 0, "last": None}
    run = evaluation.run

    def counted(plan):
        if done["count"] == done["last"]:
            raise KilledError
        done["count"] += 1
        return run(plan)

    monkeypatch.setattr(evaluation, "run", counted)
    return done


def kept(folder):
    return sorted(path.name for path in (folder / "unfinished").glob("*.block"))


def assert_same(found, expected):
    assert found.trajectory.identical(expected.trajectory)
    np.testing.assert_array_equal(found.values["penalties"], expected.values["penalties"])
    assert (repr(found), found.rounds, found.step) == (repr(expected), expected.rounds, expected.step)
    for one, other in zip(found.points, expected.points, strict=True):
        assert (one.objective, one.limited) == (other.objective, other.limited)


def begin(folder, simulations, last=7, **changes):
    """A tuning that ends before its simulation number `last`."""
    simulations["last"] = last
    with pytest.raises(KilledError):
        tune(keep=folder, **changes)
    simulations["last"] = None


@pytest.mark.slow
@pytest.mark.parametrize("last", [1, 7])
def test_an_exception_in_between(uninterrupted, tmp_path, simulations, last):
    begin(tmp_path, simulations, last)
    assert len(kept(tmp_path)) == last
    assert_same(tune(keep=tmp_path), uninterrupted)
    resumed, simulations["count"] = simulations["count"], 0
    tune()
    assert resumed == simulations["count"]  # nothing was simulated twice
    assert not (tmp_path / "unfinished").exists()


@pytest.mark.slow
def test_several_interruptions(uninterrupted, tmp_path, simulations):
    for last in (2, 3, 9):
        begin(tmp_path, simulations, last)
    assert_same(tune(keep=tmp_path), uninterrupted)


@pytest.mark.parametrize(
    "changes",
    [
        {"key": 1},
        {"objective": {"kind": "budget", "most": 5.0}},
        *(
            pytest.param(changes, marks=pytest.mark.slow)
            for changes in ({"seeds": 32}, {"horizon": 63}, {"steps": 4}, {"final_seeds": 128})
        ),
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_another_tuning_is_refused(tmp_path, simulations, changes):
    begin(tmp_path, simulations, 2)
    before = kept(tmp_path)
    with pytest.raises(InputError, match=r"^keep = .*must not hold the unfinished run of another config.* same call"):
        tune(keep=tmp_path, **changes)
    assert kept(tmp_path) == before


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["flipped", "cut", "empty"])
def test_a_damaged_file_is_warned_about_and_simulated_again(uninterrupted, tmp_path, simulations, damage):
    begin(tmp_path, simulations)
    path = tmp_path / "unfinished" / kept(tmp_path)[3]
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes({"cut": bytes(content[:-50]), "flipped": bytes(content), "empty": b""}[damage])
    with logged(r"is damaged or of another run; its runs are simulated again"):
        found = tune(keep=tmp_path)
    assert_same(found, uninterrupted)


def test_resume_says_what_to_do(tmp_path, simulations, capsys):
    begin(tmp_path, simulations, 2)
    assert cli.main(["resume", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "this is an unfinished tuning: repeat the command or the call that began it, with the same folder" in said
    assert len(kept(tmp_path)) == 2


@pytest.mark.slow
def test_a_full_disk_keeps_the_progress(uninterrupted, tmp_path, simulations, monkeypatch):
    save, saved = Checkpoint.save, []

    def failing(self, name, arrays):
        if len(saved) == 4:
            raise jb.WriteError(self.path / name, OSError(28, "No space left on device"))
        saved.append(name)
        save(self, name, arrays)

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", failing)
        with pytest.raises(jb.WriteError, match="No space left on device"):
            tune(keep=tmp_path)
    assert len(kept(tmp_path)) == 4
    assert_same(tune(keep=tmp_path), uninterrupted)


def test_a_tuning_that_is_refused_leaves_no_folder(tmp_path):
    with pytest.raises(InputError):
        tune(keep=tmp_path / "made", objective="fame")
    assert not (tmp_path / "made").exists()


@pytest.mark.slow
def test_a_process_that_is_killed(tmp_path):
    """`jaxbandit tune`, by SIGKILL once some simulations are kept; the files are those of an uninterrupted command."""
    config = tmp_path / "small.toml"
    config.write_text(TOML)
    names = ("tuned.toml", "tuning.nc")
    for out in ("whole", "killed"):
        command = [sys.executable, "-m", "jaxbandit", "tune", str(config), "--out", str(tmp_path / out)]
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(Path(jb.__file__).parents[1])})
        while out == "killed" and process.poll() is None:
            if len(list((tmp_path / out).glob("unfinished/*.block"))) >= 4:
                process.send_signal(signal.SIGKILL)
            time.sleep(0.001)
        assert process.wait() == (0 if out == "whole" else -9)
    assert len(kept(tmp_path / "killed")) >= 4
    assert cli.main(["tune", str(config), "--out", str(tmp_path / "killed")]) == 0
    assert not (tmp_path / "killed" / "unfinished").exists()
    for name in names:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "killed" / name).read_bytes(), name
