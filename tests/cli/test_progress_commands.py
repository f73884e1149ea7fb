"""`jaxbandit run` and `resume`: kept progress, refusals, messages and full disks."""

import contextlib
import resource
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
import tomli_w
from damaged_progress import flipped, gone, link, noise, pipe, truncated, zeros
from interruption import assert_same, blocks, contents, names, opened, rewrite, stopping

import jaxbandit as jb
from jaxbandit import cli
from jaxbandit.engine.batch import sharding
from jaxbandit.engine.host import checkpoint
from jaxbandit.engine.host.checkpoint import FOLDER
from jaxbandit.experiments import dataset, summary
from jaxbandit.experiments.plots import figures

# The command line.

CLI = {
    "simulation": {"horizon": 40, "seeds": 6, "record": 1, "metrics": ["regret"], "block": 2},
    "problem": {"means": [0.9, 0.5, 0.1]},
    "policies": [{"kind": "ucb1"}],
}


HEX = "0123456789abcdef" * 2  # as in names of which each is given once


@pytest.fixture
def there(tmp_path, monkeypatch):
    """A working folder with a config in it; figures are not drawn."""
    (tmp_path / "small.toml").write_text(tomli_w.dumps(CLI))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(figures, "draw_all", _drawn)
    monkeypatch.setattr(sharding, "workers", lambda: 1)
    return tmp_path


def _drawn(data, folder):
    (folder / "pulls.png").write_bytes(bytes(500))
    return [folder / "pulls.png"]


@pytest.fixture(scope="module")
def regret():
    return jb.simulate(CLI["problem"], "ucb1", **CLI["simulation"])


def run(*changes, out="made", options=()):
    return cli.main(["run", "small.toml", *options, "--out", out, "--set", "simulation.key=0", *changes])


KEPT = "jaxbandit: finished blocks are kept; `jaxbandit resume made` continues the run\n"


def begun(saved=2, *changes):
    """Interrupt a run after a number of saved blocks."""
    with stopping(saved):
        assert run(*changes) == 130


def error_lines(capsys, lines=1):
    """The text on standard error, which has a number of lines."""
    text = capsys.readouterr().err
    assert text.startswith("jaxbandit: ")
    assert text.count("\n") == lines
    return text


def test_resume_finishes_an_interrupted_run(there, regret, capsys):
    begun(2)
    assert capsys.readouterr().err == f"{KEPT}jaxbandit: interrupted\n"
    assert names(there / "made") == [FOLDER]
    assert len(blocks(there / "made")) == 2
    block, staging = "stack0-rows0-1-seeds2-4.block", f"files-{HEX}"
    # What a kill leaves.
    for name in (f".{block}.{HEX}", f"{staging}/.results.nc.5", f"{staging}/results.nc", f"{staging}/pulls.png"):
        path = there / "made" / FOLDER / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"half")
    assert cli.main(["resume", "made"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "wrote results.nc, results.html, pulls.png to made/" in printed.out
    assert names(there / "made") == ["pulls.png", "results.html", "results.nc"]
    assert_same(opened(there / "made"), regret)
    assert cli.main(["resume", "made"]) == 0
    assert capsys.readouterr().out == "nothing to resume: made/results.nc is complete\n"
    results = there / "made" / "results.nc"
    results.write_bytes(results.read_bytes()[:1000])
    assert cli.main(["resume", "made"]) == 2
    assert "must hold an unfinished run or results; its results.nc cannot be read, and" in capsys.readouterr().err


def test_a_run_without_finished_blocks_leaves_nothing(there, capsys):
    for made in (False, True):
        if made:
            (there / "made").mkdir()
        begun(0)
        assert error_lines(capsys) == "jaxbandit: interrupted\n"
        assert names(there) == ["made", "small.toml"] if made else ["small.toml"]
    assert names(there / "made") == []
    assert cli.main(["resume", "made"]) == 2
    assert "a folder with an unfinished run (`jaxbandit run CONFIG.toml` starts one)" in error_lines(capsys)
    assert cli.main(["resume", "nowhere"]) == 2
    assert "DIR = 'nowhere'" in error_lines(capsys)


def test_blocks_before_a_failure_are_kept(there, capsys):
    with stopping(2, FloatingPointError("an index was not a number")):
        assert run() == 1
    kept = f"finished blocks are kept in made/{FOLDER}, but `jaxbandit resume` would end with the same error:"
    assert error_lines(capsys, 2) == f"jaxbandit: {kept}\njaxbandit: an index was not a number\n"
    assert len(blocks(there / "made")) == 2
    assert not (there / "made" / "results.nc").exists()
    assert cli.main(["resume", "made"]) == 0  # here nothing fails a second time


@pytest.mark.parametrize(
    ("module", "name"),
    [(dataset, "write"), (figures, "draw_all"), (summary, "table"), (checkpoint, "forget")],
    ids=["results", "figures", "summary", "the end"],
)
def test_interrupted_while_writing(there, regret, monkeypatch, module, name):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, name, interrupt)
        assert run() == 130
    assert len(blocks(there / "made")) == 3
    assert cli.main(["resume", "made"]) == 0
    assert names(there / "made") == ["pulls.png", "results.html", "results.nc"]
    assert_same(opened(there / "made"), regret)


def test_progress_is_removed_at_once(there, regret, capsys, monkeypatch):
    """After a kill during the removal, the results count as complete."""

    class Killed(BaseException):
        pass

    unlink = Path.unlink

    def killed(path, missing_ok=False):
        unlink(path, missing_ok)
        if path.suffix == ".block":
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", killed)
        with pytest.raises(Killed):
            run()
    assert len(list((there / "made" / f".{FOLDER}").glob("*.block"))) == 2
    assert cli.main(["resume", "made"]) == 0
    assert "nothing to resume" in capsys.readouterr().out
    assert run("simulation.key=1", options=["--force"]) == 0
    assert names(there / "made") == ["pulls.png", "results.html", "results.nc"]


def test_another_run_is_refused_and_the_progress_is_kept(there, capsys):
    begun(1)
    capsys.readouterr()
    before = contents(there / "made")
    assert run("simulation.key=1") == 2
    text = error_lines(capsys)
    assert "--out = 'made': must not hold the unfinished run of another config" in text
    assert "version or device (what differs: the horizon, the key or the seeds); resume it" in text
    assert "resume it with the code, version and device that began it (by the same call or command" in text
    assert contents(there / "made") == before
    assert run("simulation.block=3") == 0  # that is no other run
    assert names(there / "made") == ["pulls.png", "results.html", "results.nc"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"jaxbandit": "0.0.1"},
            "must hold a run of the installed jaxbandit 0.1.0; resume this one with version 0.0.1, or run",
        ),
        ({"jax": "0.9"}, "resume this one with version 0.9"),
        ({"jaxbandit": None}, "must hold a run that `jaxbandit run` began; `jb.simulate`"),
        ({"config": None}, "must hold an unfinished run with its config"),
        ({"config": 5}, "must hold an unfinished run with its config"),
        ({"config": "a = ["}, "must hold an unfinished run with its config"),
        ({"config": "a = " + "[" * 5000}, "must hold an unfinished run with its config"),
        ({"config": "a = 5"}, "unknown key a;"),
        ({"config": tomli_w.dumps({**CLI, "problem": {"means": [0.1, 0.2]}})}, "(what differs: the problem)"),
        ({"run": "0" * 64}, "the unfinished run of another config"),
        ({"run": None}, "the unfinished run of another config"),
    ],
)
def test_a_run_that_cannot_be_resumed_is_refused(there, capsys, changes, words):
    def change(about):
        for name, value in changes.items():
            about.update({name: value}) if value is not None else about.pop(name)

    begun(1)
    capsys.readouterr()
    rewrite(there / "made", change)
    before = contents(there / "made")
    assert cli.main(["resume", "made"]) == 2
    assert words in error_lines(capsys)
    assert contents(there / "made") == before


@pytest.mark.parametrize("damage", [truncated, flipped, zeros, noise, gone, link, pipe])
def test_a_damaged_checkpoint_folder_is_used_as_far_as_possible(there, regret, capsys, damage):
    begun(2)
    capsys.readouterr()
    folder = there / "made" / FOLDER
    held = type("Held", (), {"folder": folder, "files": {p.name: p.read_bytes() for p in folder.iterdir()}})
    block = min(name for name in held.files if name.endswith(".block"))
    rng = np.random.default_rng(5)
    damage(held, rng, "run.toml")
    assert cli.main(["resume", "made"]) == 2
    error_lines(capsys)
    damage(held, rng, block)
    assert run() == 0  # the command goes on where `resume` cannot know the config
    text = capsys.readouterr().err
    lost = f"jaxbandit: note: made/{FOLDER}/{block} is damaged or of another run; its runs are simulated again\n"
    assert text == ("" if damage in (gone, link, pipe) else lost)
    assert_same(opened(there / "made"), regret)


# A disk that takes no more.


@contextlib.contextmanager
def full(most):
    """Limit the size of files, in bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


@pytest.mark.parametrize(("most", "done", "path"), [(100, 0, "run.toml"), (1500, 0, "block"), (5000, 3, "results.nc")])
def test_a_full_disk_is_reported_and_existing_files_are_kept(there, regret, capsys, monkeypatch, most, done, path):
    assert run("simulation.key=1") == 0
    before = contents(there / "made")
    capsys.readouterr()
    with full(most):
        assert run(options=["--force"]) == 1
    text = capsys.readouterr().err.splitlines(keepends=True)
    assert text[-1].startswith("jaxbandit: made/")
    assert text[-1].endswith(f"{path} cannot be written: File too large\n")
    assert text[:-1] == ([KEPT] if done else [])
    after = contents(there / "made")
    assert before.items() <= after.items()
    assert len(blocks(there / "made")) == done
    assert not [name for name in after if name.name.startswith(".")]
    assert cli.main(["resume", "made"] if done else ["run", "small.toml", "--force", "--out", "made"]) == 0
    assert_same(opened(there / "made"), regret)
    assert names(there / "made") == ["pulls.png", "results.html", "results.nc"]


def test_a_disk_that_is_full_at_the_figures_holds_the_results(there, regret, capsys, monkeypatch):
    def large(data, folder):
        (folder / "pulls.png").write_bytes(bytes(10**6))
        return [folder / "pulls.png"]

    assert run("simulation.key=1") == 0
    figure = (there / "made" / "pulls.png").read_bytes()
    capsys.readouterr()
    monkeypatch.setattr(figures, "draw_all", large)
    with full(10**5):
        assert run(options=["--force"]) == 1
    assert capsys.readouterr().err == f"{KEPT}jaxbandit: made cannot be written: File too large\n"
    assert_same(opened(there / "made"), regret)
    assert (there / "made" / "pulls.png").read_bytes() == figure
    assert names(there / "made") == ["pulls.png", "results.html", "results.nc", FOLDER]
    assert cli.main(["resume", "made"]) == 0
    assert len((there / "made" / "pulls.png").read_bytes()) == 10**6
    assert names(there / "made") == ["pulls.png", "results.html", "results.nc"]


@pytest.mark.parametrize("fate", ["gone", "a file", "read-only", "out is a file"])
def test_a_folder_that_disappears_during_a_run(there, regret, capsys, monkeypatch, fate):
    """It disappears after the second block."""
    made, count, open_file = there / "made", [0], Path.open

    def lost(path, mode="r", *arguments, **options):
        if path.name.startswith(".stack") and mode == "wb":
            count[0] += 1
            if count[0] == 3:
                if fate == "read-only":
                    raise OSError(30, "Read-only file system", str(path))
                shutil.rmtree(made if fate.startswith("out") else made / FOLDER, ignore_errors=True)
                if fate != "gone":
                    (made if fate.startswith("out") else made / FOLDER).write_bytes(b"")
        return open_file(path, mode, *arguments, **options)

    (made).mkdir()
    (made / "mine.txt").write_text("kept")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lost)
        assert run() == 1
    text = capsys.readouterr().err.splitlines(keepends=True)
    assert text[:-1] == ([KEPT] if fate == "read-only" else [])
    assert " cannot be written: " in text[-1]
    if fate == "out is a file":
        made.unlink()
    elif fate == "a file":
        assert (made / FOLDER).is_file()
        (made / FOLDER).unlink()
    if fate != "out is a file":
        assert (made / "mine.txt").read_text() == "kept"
        (made / "mine.txt").unlink()
    assert run() == 0
    assert_same(opened(made), regret)
    assert names(made) == ["pulls.png", "results.html", "results.nc"]
