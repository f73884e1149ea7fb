"""Reproducing papers: results are kept and checked, the report holds everything, bad requests are refused first."""

import json
import re

import h5py
import numpy as np
import pytest
from logged import logged

from jaxbandit import cli
from jaxbandit.core.errors import WriteError
from jaxbandit.engine.host.progress_bar import Parts
from jaxbandit.papers import PAPERS, Paper, Sizes, drawing, reproduce
from jaxbandit.papers.claim import Claim, Finding, PaperFigure
from jaxbandit.papers.evidence import UNDECIDED, decide, mean_over_runs
from jaxbandit.papers.experiment import Experiment
from jaxbandit.papers.report import other_papers
from jaxbandit.papers.reproduce import REPRODUCTIONS, Reproduction


def tiny(calls, full=(4, 6)):
    """The reproduction of a paper with two small experiments. Each drawing appends their names to `calls`.

    Args:
        full: the seeds at full size; at quick sizes they are 4 and 6.
    """

    def experiments(sizes):
        for name, seeds in zip((4, 6), (4, 6) if sizes.quick else full, strict=True):
            config = {
                "simulation": {"horizon": 20, "seeds": seeds, "record": 5, "metrics": ["regret"]},
                "problem": {"means": [0.9, 0.1]},
                "policies": [{"kind": "ucb1"}],
            }
            yield Experiment(f"seeds-{name}", config)

    def draw(data):
        calls.append(sorted(data.files))
        figure, axes = drawing.panels(1, 2)
        for axis, name in zip(axes[0], data.files, strict=True):
            drawing.curves(axis, data[name], "regret")
            drawing.theory(axis, data[name]["round"], data[name]["round"].values * 0.8, "linear")
        drawing.legend(figure, axes, drawing.sample_note(data["seeds-4"]))
        return figure

    def weigh(data):
        regret = data["seeds-6"].regret_final.values[0]
        evidence = decide("regret (rewards); below 1e-9", [mean_over_runs("ucb1", regret)], high=1e-9)
        return evidence.explained("it explores", "nowhere else")

    def first_run(data):
        figure, axes = drawing.panels(1, 1)
        drawing.curves(axes[0, 0], data["seeds-4"], "regret")
        return figure

    claim = Claim(
        "tiny-1",
        "UCB1 has no regret.",
        "UCB1 <never> errs",
        "sec. 1",
        "tiny-figure-1",
        weigh,
        setting="two arms",
        assumed="T = 20",
        tolerance="none is none",
    )
    missing = Claim("tiny-2", "About a log.", "a log", "sec. 1", "tiny-figure-1", weigh, needs=("log",))
    both = PaperFigure(
        "tiny-figure-1", "1", "Regret <of> two.", ("seeds-4", "seeds-6"), draw, assumed=("simulation.horizon",)
    )
    one = PaperFigure("tiny-figure-2", "2", "One.", ("seeds-4",), first_run)
    log = PaperFigure("tiny-figure-3", "3", "A log.", ("log",), draw, needs=("log",))
    finding = Finding("tiny-theorem", "Theorem 1", "1 = 2", "1 = 1", "one arm", lambda: ("1 is 1", True))
    paper = Paper("tiny", "A & B", "A tiny paper", 2026)
    return Reproduction(paper, experiments, (both, one, log), (claim, missing), (finding,))


@pytest.mark.slow
def test_an_interrupted_reproduction_runs_only_what_is_missing(tmp_path, monkeypatch, capsys):
    calls = []
    monkeypatch.setitem(REPRODUCTIONS, "tiny", tiny(calls))
    ran = []
    run = reproduce.Task.run

    def interrupted(task, *arguments):
        if len(ran) == 1:
            raise KeyboardInterrupt
        followed(task, *arguments)

    def followed(task, *arguments):
        ran.append(task.experiment.name)
        run(task, *arguments)

    monkeypatch.setattr(reproduce.Task, "run", interrupted)
    arguments = ["reproduce", "tiny", "--out", str(tmp_path)]
    assert cli.main(arguments) == 130
    assert ran == ["seeds-4"]
    assert not (tmp_path / "report.html").exists()

    monkeypatch.setattr(reproduce.Task, "run", followed)
    assert cli.main(arguments) == 0
    assert ran == ["seeds-4", "seeds-6"]
    assert cli.main(arguments) == 0
    assert len(ran) == 2
    assert calls == [["seeds-4", "seeds-6"]] * 2
    assert "\n1 not reproduced\n" in capsys.readouterr().out
    assert {path.suffix for path in (tmp_path / "tiny").iterdir() if path.is_file()} == {".png", ".pdf"}


@pytest.mark.slow
def test_quick_results_do_not_replace_full_ones(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(REPRODUCTIONS, "tiny", tiny([], full=(4, 9)))
    arguments = ["reproduce", "tiny", "--out", str(tmp_path)]
    assert cli.main(arguments) == 0
    files = {path.name: path.read_bytes() for path in (tmp_path / "tiny" / "data").iterdir()}
    assert cli.main([*arguments, "--quick"]) == 2
    message = "must be a folder without full-size results: --quick would replace those of seeds-6; name another folder"
    assert capsys.readouterr().err == f"jaxbandit: --out = {str(tmp_path)!r}: {message}\n"
    assert cli.main([*arguments, "--quick", "--figure", "1"]) == 2
    assert {path.name: path.read_bytes() for path in (tmp_path / "tiny" / "data").iterdir()} == files


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """A folder with a reproduction."""
    folder = tmp_path_factory.mktemp("reproduced")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(REPRODUCTIONS, "tiny", tiny([]))
        reproduce.reproduce(["tiny"], folder, Sizes(quick=True))
    return folder


def test_a_report_that_is_about_other_papers_is_told(reproduced, tmp_path):
    assert other_papers(reproduced, ["tiny", "merit"]) == []
    assert other_papers(reproduced, ["merit"]) == ["tiny"]
    for text in ("{}", "[1]", "not JSON"):
        (tmp_path / "claims.json").write_text(text)
        assert other_papers(tmp_path, ["merit"]) == []
    assert other_papers(tmp_path / "none", ["merit"]) == []


def test_claims_are_written_as_data(reproduced):
    """With the keys that other programs read."""
    (claim,) = json.loads((reproduced / "claims.json").read_text())
    low, high = claim.pop("interval")
    assert low <= claim.pop("number") <= high
    assert claim == {
        "paper": "tiny",
        "id": "tiny-1",
        "sentence": "UCB1 <never> errs",
        "statement": "UCB1 has no regret.",
        "place": "sec. 1",
        "figure": "tiny-figure-1",
        "setting": "two arms",
        "decided_by": "ucb1",
        "assumed": "T = 20",
        "invariant": None,
        "statistic": "regret (rewards); below 1e-9",
        "tolerance": [None, 1e-9],
        "tolerance_reason": "none is none",
        "other_tolerances": {},
        "compared": 1,
        "inside": 0,
        "ties": 0,
        "verdict": UNDECIDED,  # it is not reproduced, but the sizes are quick
        "quick": True,
        "finding": "at these quick sizes it is not reproduced, which may be due to fewer rounds or runs; it explores",
        "range": "nowhere else",
    }


def test_the_reports_hold_everything(reproduced):
    text = (reproduced / "report.md").read_text()
    page = (reproduced / "report.html").read_text()
    picture, _ = re.findall(r"!\[.*\]\((.*)\)", text)
    assert (reproduced / picture).exists()
    for words in (
        "Quick sizes",
        "A tiny paper (2026)",
        "it explores",
        "nowhere else",
        "T = 20 (not stated in the paper; numbers are those of full sizes)",
        "T = 20*; runs = 4 | 6; means = (0.9, 0.1); ucb1: exploration = 2, log_offset = 0 (* assumed",
        "jaxbandit reproduce tiny --figure 2 --quick",
        "cannot be told (quick)",
        "Left out: tiny-2, for which experiments of full sizes, or --conversion-log would be needed.",
        "1 is 1",
        "none is none",
    ):
        assert words in text
        assert words in page
    assert "&lt;of&gt;" in page
    assert "&lt;never&gt;" in page
    assert page.index("tiny-figure-1</h3>") < page.index("&lt;never&gt;") < page.index("tiny-figure-2</h3>")
    assert "data:image/png;base64," in page
    assert not re.search(r'(src|href)="(?!data:|#)', page), "everything is in the page"


def test_one_figure_is_drawn_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(REPRODUCTIONS, "tiny", tiny([]))
    arguments = ["reproduce", "tiny", "--out", str(tmp_path), "--figure"]
    assert cli.main([*arguments, "2"]) == 0
    folder = tmp_path / "tiny"
    files = [folder / f"tiny-figure-2{suffix}" for suffix in (".png", ".pdf")]
    assert capsys.readouterr().out == f"wrote {files[0]} and {files[1]}\n"
    assert sorted(path.name for path in (folder / "data").iterdir()) == ["seeds-4.nc", "seeds-4.nc.sha256"]
    assert sorted(path for path in folder.iterdir() if path.is_file()) == sorted(files)
    for label, error in (("4", "--figure = '4': must be one of 1, 2, 3"), ("3", "it needs --conversion-log")):
        assert cli.main([*arguments, label]) == 2
        assert error in capsys.readouterr().err


NAMES = "guarantees, merit, opportunities, penalties, plays"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["002"], f"PAPER = '002': must be one of {NAMES} (did you mean 'merit'?)"),
        (["000"], f"PAPER = '000': must be one of {NAMES} (did you mean 'penalties'?)"),
        (["penalty"], f"PAPER = 'penalty': must be one of {NAMES} (did you mean 'penalties'?)"),
        (["--figure", "7"], "--figure = '7': must be given with a PAPER"),
        (["penalties", "--out", __file__], f"--out = {__file__!r}: "),
        (["plays", "--conversion-log", "log.csv"], "--conversion-log = 'log.csv': must be given with the paper merit"),
    ],
)
def test_bad_requests_are_refused_before_work(arguments, error, capsys):
    assert cli.main(["reproduce", *arguments]) == 2
    assert error in capsys.readouterr().err


def test_the_help_lists_the_papers(capsys):
    with pytest.raises(SystemExit):
        cli.main(["reproduce", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    for name, paper in PAPERS.items():
        assert f" {name} {paper.citation}" in text
        assert paper.title in paper.citation
        assert paper.authors in paper.citation


# Data that were damaged or altered


@pytest.fixture
def data(reproduced, monkeypatch):
    """One of the data files. Changes to it are undone."""
    monkeypatch.setitem(REPRODUCTIONS, "tiny", tiny([]))
    path = reproduced / "tiny" / "data" / "seeds-6.nc"
    digest = path.with_name("seeds-6.nc.sha256")
    held = path.read_bytes(), digest.read_bytes()
    yield path
    for file in (path, digest):
        if file.is_symlink() or file.exists():
            file.unlink()
    path.write_bytes(held[0])
    digest.write_bytes(held[1])


def task_of(path):
    tasks = reproduce._tasks(REPRODUCTIONS["tiny"], path.parents[2], Sizes(quick=True))
    return next(task for task in tasks if task.path == path)


def tripled(path):
    """Other numbers in a sound file."""
    with h5py.File(path, "r+") as file:
        file["regret_final"][...] *= 3


DAMAGE = {
    "tripled": tripled,
    "short": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "text": lambda path: path.write_text("precious"),
    "of another experiment": lambda path: path.write_bytes(path.with_name("seeds-4.nc").read_bytes()),
    "no digest": lambda path: path.with_name("seeds-6.nc.sha256").unlink(),
    "an empty digest": lambda path: path.with_name("seeds-6.nc.sha256").write_text(""),
    "a digest that is no text": lambda path: path.with_name("seeds-6.nc.sha256").write_bytes(b"\xff" * 99),
}


def test_any_byte_that_is_flipped_is_noticed(data):
    task, held, rng = task_of(data), data.read_bytes(), np.random.default_rng(2)
    assert task.is_done()
    for place in rng.integers(len(held), size=70):
        damaged = bytearray(held)
        damaged[place] ^= 1 << rng.integers(8)
        data.write_bytes(damaged)
        with logged(r"seeds-6\.nc is damaged or was altered; its runs are simulated again$"):
            assert not task.is_done()


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_data_are_noticed(data, kind):
    DAMAGE[kind](data)
    words = "has no digest beside it" if kind == "no digest" else "is damaged or was altered"
    with logged(f"^{re.escape(str(data))} {words}; its runs are simulated again$"):
        assert not task_of(data).is_done()


def test_damaged_data_are_simulated_again_with_a_note(reproduced, data, capsys):
    before = (reproduced / "claims.json").read_text()
    tripled(data)
    assert cli.main(["reproduce", "tiny", "--quick", "--out", str(reproduced)]) == 0
    note = f"jaxbandit: note: {data} is damaged or was altered; its runs are simulated again\n"
    assert capsys.readouterr().err == note
    assert (reproduced / "claims.json").read_text() == before
    assert task_of(data).is_done()


def test_data_that_are_damaged_meanwhile_are_not_drawn(reproduced, data, capsys, monkeypatch):
    """Between the check of the files and the figures."""
    draw_and_decide = reproduce._results

    def later(*arguments):
        tripled(data)
        return draw_and_decide(*arguments)

    monkeypatch.setattr(reproduce, "_results", later)
    assert cli.main(["reproduce", "tiny", "--quick", "--out", str(reproduced)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "seeds-6.nc is damaged or was altered" in error
    assert "must be a folder whose files no other program changes" in error


def test_data_without_their_digest_are_simulated_again(data, monkeypatch):
    """A kill between the two writes leaves them so."""
    task = task_of(data)

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(reproduce.checksums, "write_checksum", interrupt)
        with pytest.raises(KeyboardInterrupt), Parts(1.0, False) as parts:
            task.run(parts)
    with logged("no digest"):
        assert not task.is_done()
    with Parts(1.0, False) as parts:
        task.run(parts)
    assert task.is_done()


def test_a_full_disk_is_reported(reproduced, data, capsys, monkeypatch):
    def full(path, *_):
        raise WriteError(path, OSError(28, "No space left on device"))

    monkeypatch.setattr(reproduce.report, "write_atomically", full)
    assert cli.main(["reproduce", "tiny", "--quick", "--out", str(reproduced)]) == 1
    assert (
        capsys.readouterr().err == f"jaxbandit: {reproduced}/report.html cannot be written: No space left on device\n"
    )
