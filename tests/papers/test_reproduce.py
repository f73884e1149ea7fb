"""Reproducing papers: verdicts follow from margins, what is done is not done again, the report says it all."""

import json
import math
import re
from statistics import NormalDist

import h5py
import matplotlib.pyplot as plt
import numpy as np
import pytest
import tomli_w

from jaxbandit import cli
from jaxbandit.engine.host.progress_bar import Parts
from jaxbandit.experiments.configs import config as configs
from jaxbandit.papers import PAPERS, Sizes, drawing, reproduce
from jaxbandit.papers.evidence import FAILED, REPRODUCED, UNDECIDED, Claim, Margin, decide, over_runs
from jaxbandit.papers.experiment import FOLDER, Drawn, Experiment, Paper

SIZES = [Sizes(), Sizes(quick=True)]


@pytest.mark.parametrize(
    ("values", "verdict", "shown"),
    [
        ([5.0, 4.0], REPRODUCED, 4.0),
        ([5.0, 2.0], UNDECIDED, 2.0),
        ([5.0, -2.0], UNDECIDED, -2.0),
        ([5.0, -4.0, -3.0], FAILED, -4.0),
        ([5.0, math.nan], UNDECIDED, 5.0),
    ],
)
def test_a_verdict_follows_from_the_margins(values, verdict, shown):
    evidence = decide("more than 0", [Margin(str(v), v, 1.0) for v in values], low=0.0)
    assert (evidence.verdict, evidence.number) == (verdict, shown)
    half = NormalDist().inv_cdf(1 - 0.05 / (2 * len(values)))  # Bonferroni
    assert (evidence.low, evidence.high) == pytest.approx((shown - half, shown + half))


def test_nothing_to_compare_decides_nothing():
    evidence = decide("", [], low=0.0)
    assert evidence.verdict == UNDECIDED
    assert math.isnan(evidence.number)


def test_both_ends_count_and_what_is_exact_needs_no_interval():
    assert decide("", [Margin("", 0.5)], 0.0, 1.0).verdict == REPRODUCED
    assert decide("", [Margin("", 1.5)], 0.0, 1.0).verdict == FAILED
    assert decide("", [Margin("", 1.5)], high=1.0).verdict == FAILED
    assert decide("", [Margin("", 0.9, 0.2)], high=1.0).verdict == UNDECIDED


def test_a_finding_stands_only_where_the_claim_does_not():
    holds, fails = (decide("", [Margin("", value)], low=0.0) for value in (1.0, -1.0))
    assert holds.explained("why", "where").finding == ""
    assert (fails.explained("why", "where").finding, fails.explained("why", "where").nearest) == ("why", "where")


def test_errors_are_over_instances_where_there_are_several():
    values = np.array([[1.0, 3.0], [5.0, 7.0], [12.0, 14.0]])
    means = [2.0, 6.0, 13.0]
    margin = over_runs("", values)
    assert margin.value == pytest.approx(7.0)
    assert margin.error == pytest.approx(np.std(means, ddof=1) / math.sqrt(3))
    assert over_runs("", values[:1]).error == pytest.approx(1.0)


@pytest.mark.parametrize("number", PAPERS)
@pytest.mark.parametrize("sizes", SIZES, ids=["paper", "quick"])
def test_every_experiment_is_a_config_that_can_run(number, sizes):
    experiments = PAPERS[number].experiments(sizes)
    assert len({made.name for made in experiments}) == len(experiments)
    for made in experiments:
        simulation = configs.make_plan(made.config)
        runs = simulation.problem.instances * simulation.setting.seeds
        assert runs >= (20 if sizes.quick else 100)
        assert tomli_w.dumps(made.config)


def worlds(config):
    """What each instance of a config is."""
    problem = configs.make_plan(config).problem
    rest = {key: value for key, value in config["problem"].items() if key not in ("means", "fractions")}
    for j in range(problem.instances):
        tau = problem.fractions
        owed = None if tau is None else [float(x) for x in tau[:, j if tau.shape[1] > 1 else 0]]
        yield problem.means[:, j].tolist(), owed, rest


@pytest.mark.parametrize("number", PAPERS)
def test_every_config_of_a_paper_is_reproduced(number):
    """But for what needs the conversion log, which is not here."""
    made = [world for experiment in PAPERS[number].experiments(Sizes()) for world in worlds(experiment.config)]
    for path in FOLDER.glob(f"{number}-*.toml"):
        if "conversion-log" not in path.stem:
            assert all(world in made for world in worlds(configs.load(path))), path.stem


def test_claims_have_names_of_their_own_and_a_figure():
    names = [claim.name for paper in PAPERS.values() for claim in paper.claims]
    assert len(set(names)) == len(names)
    assert all(claim.name.startswith(n) and claim.figure.startswith(n) for n, p in PAPERS.items() for claim in p.claims)


def tiny(calls):
    """A paper of two small experiments."""

    def experiments(sizes):
        for seeds in (4, 6):
            config = {
                "simulation": {"horizon": 20, "seeds": seeds, "record": 5, "metrics": ["regret"]},
                "problem": {"means": [0.9, 0.1]},
                "policies": [{"kind": "ucb1"}],
            }
            yield Experiment(f"seeds-{seeds}", config)

    def figures(data):
        calls.append(sorted(data.files))
        figure, axes = drawing.panels(1, 2)
        for axis, name in zip(axes[0], data.files, strict=True):
            drawing.curves(axis, data[name], "regret")
            drawing.theory(axis, data[name]["round"], data[name]["round"].values * 0.8, "linear")
        drawing.legend(figure, axes, drawing.note(data["seeds-4"]))
        yield Drawn("tiny-figure-1", "Regret <of> two runs.", figure)

    def weigh(data):
        regret = data["seeds-6"].regret_final.values[0]
        return decide("regret (rewards); below 1e-9", [over_runs("ucb1", regret)], high=1e-9).explained("it explores")

    claim = Claim("tiny-1", "UCB1 never regrets.", "nowhere", "tiny-figure-1", weigh)
    missing = Claim("tiny-2", "Of a log.", "nowhere", "tiny-figure-1", weigh, needs=("log",))
    return Paper("tiny", "A tiny paper", experiments, figures, (claim, missing))


def test_a_reproduction_goes_on_where_it_was_stopped(tmp_path, monkeypatch, capsys):
    calls = []
    monkeypatch.setitem(PAPERS, "tiny", tiny(calls))
    ran = []
    run = reproduce.Task.run

    def stopped(task, parts):
        if len(ran) == 1:
            raise KeyboardInterrupt
        ran.append(task.experiment.name)
        run(task, parts)

    monkeypatch.setattr(reproduce.Task, "run", stopped)
    arguments = ["reproduce", "tiny", "--out", str(tmp_path)]
    assert cli.main(arguments) == 130
    assert ran == ["seeds-4"]
    assert not (tmp_path / "report.html").exists()

    monkeypatch.setattr(reproduce.Task, "run", lambda task, parts: (ran.append(task.experiment.name), run(task, parts)))
    assert cli.main(arguments) == 0
    assert ran == ["seeds-4", "seeds-6"]
    damaged = tmp_path / "tiny" / "data" / "seeds-4.nc"
    damaged.write_bytes(damaged.read_bytes()[:1000])
    assert cli.main(arguments) == 0
    assert ran == ["seeds-4", "seeds-6", "seeds-4"]
    assert cli.main(arguments) == 0
    assert len(ran) == 3

    assert calls == [["seeds-4", "seeds-6"]] * 3
    (told,) = json.loads((tmp_path / "claims.json").read_text())
    assert (told["name"], told["verdict"], told["finding"]) == ("tiny-1", FAILED, "it explores")
    assert told["low"] <= told["number"] <= told["high"]
    assert "0 reproduced, 1 not reproduced, 0 undecided" in capsys.readouterr().out
    text = (tmp_path / "report.md").read_text()
    (picture,) = re.findall(r"!\[.*\]\((.*)\)", text)
    assert (tmp_path / picture).exists()
    page = (tmp_path / "report.html").read_text()
    assert "&lt;of&gt;" in page
    assert "data:image/png;base64," in page
    assert not re.search(r'(src|href)="(?!data:|#)', page), "everything is in the page"
    assert {path.suffix for path in (tmp_path / "tiny").iterdir() if path.is_file()} == {".png", ".pdf"}


def test_a_bound_out_of_reach_is_told_in_words():
    figure, (axis, far) = plt.subplots(1, 2)
    for one in (axis, far):
        one.plot([0, 10], [0, 10])
    drawing.theory(axis, [0, 10], [0, 12], "near")
    drawing.theory(far, [0, 10], [0, 1e5], "far")
    assert [line.get_label() for line in axis.lines][1:] == ["near"]
    assert axis.get_ylim()[1] >= 12
    assert len(far.lines) == 1
    assert [text.get_text() for text in far.texts] == ["far: 1e+05"]
    plt.close(figure)


@pytest.mark.parametrize(("arguments", "words"), [(["007"], "PAPER"), (["000", "--out", __file__], "--out")])
def test_bad_requests_are_refused_before_work(arguments, words, capsys):
    assert cli.main(["reproduce", *arguments]) == 2
    assert words in capsys.readouterr().err


# Data that were damaged or altered.


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """A folder with a reproduction in it."""
    place = tmp_path_factory.mktemp("reproduced")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PAPERS, "tiny", tiny([]))
        reproduce.reproduce(["tiny"], place, Sizes(quick=True))
    return place


@pytest.fixture
def data(reproduced, monkeypatch):
    """A file of its data; what is done to it is undone."""
    monkeypatch.setitem(PAPERS, "tiny", tiny([]))
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
    tasks = reproduce._tasks(PAPERS["tiny"], path.parents[2], Sizes(quick=True))
    return next(task for task in tasks if task.path == path)


def tripled(path):
    """Other numbers, by a sound hand."""
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
    assert task.done()
    for place in rng.integers(len(held), size=70):
        damaged = bytearray(held)
        damaged[place] ^= 1 << rng.integers(8)
        data.write_bytes(damaged)
        with pytest.warns(UserWarning, match=r"seeds-6\.nc is damaged or was altered: simulating it again$"):
            assert not task.done()


@pytest.mark.parametrize("kind", DAMAGE)
def test_data_that_were_damaged_are_simulated_again_and_it_is_said(reproduced, data, capsys, kind):
    before = (reproduced / "claims.json").read_text()
    DAMAGE[kind](data)
    assert cli.main(["reproduce", "tiny", "--quick", "--out", str(reproduced)]) == 0
    told = capsys.readouterr().err
    words = "has no digest beside it" if kind == "no digest" else "is damaged or was altered"
    assert told == f"jaxbandit: note: {data} {words}: simulating it again\n"
    assert (reproduced / "claims.json").read_text() == before
    assert cli.main(["reproduce", "tiny", "--quick", "--out", str(reproduced)]) == 0
    assert capsys.readouterr().err == ""


def test_data_that_are_damaged_meanwhile_are_not_drawn(reproduced, data, capsys, monkeypatch):
    """Between the first look and the figures."""
    chapter = reproduce._chapter

    def later(*arguments):
        tripled(data)
        return chapter(*arguments)

    monkeypatch.setattr(reproduce, "_chapter", later)
    assert cli.main(["reproduce", "tiny", "--quick", "--out", str(reproduced)]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "seeds-6.nc is damaged or was altered" in told


def test_a_kill_between_data_and_their_digest_is_gone_on_with(reproduced, data, monkeypatch):
    task = task_of(data)

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(reproduce.sealed, "write_checksum", interrupt)
        with pytest.raises(KeyboardInterrupt), Parts(1.0, False) as parts:
            task.run(parts)
    with pytest.warns(UserWarning, match="no digest"):
        assert not task.done()
    with Parts(1.0, False) as parts:
        task.run(parts)
    assert task.done()


def test_a_reproduction_on_a_disk_that_is_full_says_so(reproduced, data, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", str(reproduced / "report.md"))

    monkeypatch.setattr(reproduce.report, "write", full)
    assert cli.main(["reproduce", "tiny", "--quick", "--out", str(reproduced)]) == 1
    assert capsys.readouterr().err == f"jaxbandit: {reproduced}/report.md cannot be written: No space left on device\n"
