"""Output directories: which files are removed, which results are replaced, and several processes in one directory."""

import os

import numpy as np
import pytest
import tomli_w
import xarray as xr
from interruption import assert_same, blocks, contents, interrupted, names, opened
from logged import logged

import jaxbandit as jb
from jaxbandit import cli
from jaxbandit.core.files.output_names import FIGURES, is_output
from jaxbandit.engine.host.checkpoint import FOLDER, Checkpoint, kept
from jaxbandit.experiments import dataset
from jaxbandit.experiments.output import export
from jaxbandit.experiments.plots import figures

CONFIG = {
    "simulation": {"horizon": 40, "seeds": 6, "record": 1, "metrics": ["regret"], "block": 2},
    "problem": {"means": [0.9, 0.5, 0.1]},
    "policies": [{"kind": "ucb1"}],
}
MINE = ["pulls.pdf", "pulls.png", "results.html", "results.nc"]  # what a run of this config writes
GRID = "policies.0.exploration=[1.0,2.0,3.0]"
GRIDS = sorted([*MINE, "sweep.pdf", "sweep.png", "table.csv"])  # and of this grid
HEX = "0123456789abcdef" * 2
BLOCK = "stack0-rows0-1-seeds0-2.block"


@pytest.fixture
def there(tmp_path, monkeypatch):
    """A working folder with a config in it; figures are not drawn."""
    (tmp_path / "small.toml").write_text(tomli_w.dumps(CONFIG))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(figures, "draw_all", drawn)
    return tmp_path


def drawn(data, folder):
    files = [folder / name for name in figures.file_names(data)]
    for path in files:
        path.write_bytes(b"drawn")
    return files


def run(*changes, out="made", options=()):
    changes = ["--set", *changes] if changes else []
    return cli.main(["run", "small.toml", "--out", out, *options, *changes])


def error_line(capsys):
    """The one line on standard error."""
    line = capsys.readouterr().err
    assert line.startswith("jaxbandit: ")
    assert line.count("\n") == 1
    return line


# What is removed.


@pytest.mark.parametrize("folder", [FOLDER, f".{FOLDER}"])
@pytest.mark.parametrize(
    "path",
    [
        "thesis.txt",
        "files/thesis.txt",
        "files/results.nc",
        ".git/HEAD",
        ".hidden",
        "mine.block",
        "run.toml",
        f"{BLOCK}/thesis.txt",
        f".run.toml.{HEX}/thesis.txt",
        f"deeper/{BLOCK}",
    ],
)
def test_a_checkpoint_folder_of_another_program_is_refused_and_kept(there, capsys, folder, path):
    place = there / "made" / folder / path
    place.parent.mkdir(parents=True)
    place.write_text("precious")
    before = contents(there)
    assert run() == 2
    line = error_line(capsys)
    assert f"--out = 'made': must be another folder: made/{folder} holds " in line
    assert repr(path.split("/")[0]) in line
    assert contents(there) == before


@pytest.mark.parametrize("folder", [FOLDER, f".{FOLDER}"])
@pytest.mark.parametrize("target", ["elsewhere", "nowhere", "elsewhere/files"])
def test_a_symbolic_link_to_a_checkpoint_folder_is_refused_and_not_followed(there, capsys, folder, target):
    (there / "elsewhere" / "files").mkdir(parents=True)
    (there / "elsewhere" / "files" / "p.txt").write_text("precious")
    (there / "made").mkdir()
    (there / "made" / folder).symlink_to(there / target)
    before = contents(there)
    assert run() == 2
    assert f"made/{folder} is a symbolic link, which jaxbandit did not make" in error_line(capsys)
    assert contents(there) == before
    assert names(there / "made") == [folder]
    with pytest.raises(jb.InputError, match=r"^keep = .* is a symbolic link, which jaxbandit did not make$"):
        jb.simulate(CONFIG["problem"], "ucb1", **CONFIG["simulation"], keep=there / "made")
    assert cli.main(["resume", "made"]) == 2
    assert names(there / "made") == [folder]
    assert not (there / "nowhere").exists()


def test_a_symbolic_link_in_a_checkpoint_folder_is_not_followed(there, capsys):
    (there / "elsewhere").mkdir()
    (there / "elsewhere" / "results.nc").write_text("precious")
    (there / "made" / FOLDER).mkdir(parents=True)
    (there / "made" / FOLDER / f"files-{HEX}").symlink_to(there / "elsewhere")
    assert run() == 2
    assert f"holds 'files-{HEX}', which jaxbandit did not make" in error_line(capsys)
    assert (there / "elsewhere" / "results.nc").read_text() == "precious"


def test_files_that_another_program_adds_are_kept(there, monkeypatch):
    save = Checkpoint.save

    def joined(folder, name, arrays):
        save(folder, name, arrays)
        (folder.path / "notes.txt").write_text("precious")
        (folder.path / f"files-{HEX}").mkdir(exist_ok=True)
        (folder.path / f"files-{HEX}" / "thesis.txt").write_text("precious")

    monkeypatch.setattr(Checkpoint, "save", joined)
    assert run() == 0
    assert names(there / "made") == [*MINE, FOLDER]
    left = {str(path) for path in contents(there / "made" / FOLDER)}
    assert left == {"notes.txt", f"files-{HEX}/thesis.txt"}


def test_remains_of_killed_runs_are_removed(there):
    remains = [f"{FOLDER}/{BLOCK}", f"{FOLDER}/.{BLOCK}.{HEX}", f"{FOLDER}/.run.toml.{HEX}"]
    remains += [
        f"{FOLDER}/files-{HEX}/{name}" for name in ("results.nc", ".results.nc.77", "table.csv", "sweep-eta.pdf")
    ]
    remains += [f".{FOLDER}/{BLOCK}", f".{FOLDER}/files-{HEX}/pulls.png"]
    for path in remains:
        (there / "made" / path).parent.mkdir(parents=True, exist_ok=True)
        (there / "made" / path).write_bytes(b"half")
    with logged("damaged or of another run"):
        jb.simulate(CONFIG["problem"], "ucb1", **CONFIG["simulation"], keep=there / "made")
    assert names(there / "made") == []


@pytest.mark.parametrize("folder", [FOLDER, f".{FOLDER}"])
def test_a_file_in_the_place_of_a_checkpoint_folder_is_refused(there, capsys, folder):
    (there / "made").mkdir()
    (there / "made" / folder).write_text("precious")
    assert run() == 2
    assert f"made/{folder} is a file, which jaxbandit did not make" in error_line(capsys)
    assert (there / "made" / folder).read_text() == "precious"


# Results of another config.


def test_results_of_another_config_are_replaced_only_with_force(there, capsys):
    assert run(GRID) == 0
    assert names(there / "made") == GRIDS
    for name in ("thesis.txt", "sweep-mine.png", ".results.nc.5"):
        (there / "made" / name).write_text("precious")
    before = contents(there)
    capsys.readouterr()
    for changes in ([], ["simulation.key=4"], [GRID, "simulation.horizon=41"], [GRID, "policies.0.label=other"]):
        assert run(*changes) == 2
        line = error_line(capsys)
        assert "--out = 'made': must be a folder without the results of another config; `--force`" in line
        assert "`--add` keeps these results and adds the policies and seeds that they lack" in line
        assert contents(there) == before
    assert run(options=["--force"]) == 0
    assert names(there / "made") == sorted([*MINE, "thesis.txt", "sweep-mine.png", ".results.nc.5"])
    assert opened(there / "made").sizes["policy"] == 1


@pytest.mark.parametrize("changes", [[], ["simulation.block=3"], ["simulation.key=0"], ["problem.plays=1"]])
def test_the_same_run_needs_no_force(there, changes):
    assert run() == 0
    first = opened(there / "made")
    assert run(*changes) == 0
    assert_same(opened(there / "made"), first)
    assert names(there / "made") == MINE


def test_listed_files_that_a_run_no_longer_writes_are_removed(there, monkeypatch):
    drawings = figures.drawings

    def more(data):
        yield from drawings(data)
        yield "phases", None

    with monkeypatch.context() as patch:
        patch.setattr(figures, "drawings", more)
        assert run() == 0
    assert names(there / "made") == sorted([*MINE, "phases.pdf", "phases.png"])
    assert run() == 0
    assert names(there / "made") == MINE


@pytest.mark.parametrize("kind", ["text", "damaged", "foreign", "link", "pipe"])
def test_results_that_cannot_be_read_need_force(there, capsys, kind):
    made = there / "made"
    made.mkdir()
    path = made / "results.nc"
    if kind == "text":
        path.write_text("precious")
    elif kind == "damaged":
        assert run() == 0
        path.write_bytes(path.read_bytes()[:3000])
    elif kind == "foreign":
        xr.Dataset({"x": ("y", np.arange(3))}).to_netcdf(path, engine="h5netcdf")
    elif kind == "link":
        path.symlink_to(there / "nowhere")
    else:
        os.mkfifo(path)
    (made / "sweep.png").write_text("precious")
    capsys.readouterr()
    assert run() == 2
    assert "a folder without a results.nc that cannot be read; `--force` replaces" in error_line(capsys)
    assert run(options=["--force"]) == 0
    assert names(made) == sorted([*MINE, "sweep.png"])
    assert opened(made).sizes["policy"] == 1
    assert not (there / "nowhere").exists()


def test_a_forged_list_of_files_removes_nothing_else(there):
    assert run() == 0
    found = opened(there / "made")
    listed = "results.nc thesis.txt ../small.toml /etc/passwd sweep/../thesis.txt .git curves.png"
    dataset.write(found.assign_attrs(files=listed), there / "made" / "results.nc")
    for name in ("thesis.txt", "curves.png"):
        (there / "made" / name).write_text("x")
    assert run("simulation.key=5", options=["--force"]) == 0
    assert names(there / "made") == sorted([*MINE, "thesis.txt"])
    assert (there / "small.toml").exists()


@pytest.mark.parametrize(("module", "name"), [(dataset, "write"), (export, "_move"), (figures, "draw_all")])
def test_an_interrupted_replacement_is_resumed(there, monkeypatch, module, name):
    """Interrupted at the results, after listed files are removed, and at the figures; `--force` is remembered."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    assert run(GRID) == 0
    with monkeypatch.context() as patch:
        patch.setattr(module, name, interrupt)
        assert run(options=["--force"]) == 130
    assert FOLDER in names(there / "made")
    assert cli.main(["resume", "made"]) == 0
    assert names(there / "made") == MINE
    assert opened(there / "made").sizes["policy"] == 1


@pytest.mark.parametrize("kind", FIGURES)
def test_names_of_figures_are_recognised(kind):
    labels = ["eta", "η", "../../x", "</script>", "a b/c", "." * 80, "W" * 500, "ETA", "eta", ""]
    for found in (figures._distinct_names(kind, labels), figures._distinct_names(kind, labels[:1])):
        assert all(is_output(f"{name}{suffix}") for name in found for suffix in (".png", ".pdf"))
    for name in (
        f"{kind}.svg",
        f"my-{kind}.png",
        f"{kind}.png.bak",
        f"{kind}s.png",
        f"{kind}-a/b.png",
        f"../{kind}.png",
    ):
        assert not is_output(name)


@pytest.mark.parametrize(
    "name", ["results.nc", "results.html", "table.csv", "pulls.png", "curves.pdf", "heat-maps-lfg.png"]
)
def test_a_folder_in_the_place_of_an_output_is_refused_before_work(there, capsys, name):
    (there / "made" / name).mkdir(parents=True)
    assert run() == 2
    assert f"--out = 'made': must not hold a folder {name}, since a file of this name is written" in error_line(capsys)
    assert names(there / "made") == [name]


# Several processes of one command.


def meanwhile(monkeypatch, module, name, call):
    """Before the first call of a function, call another one."""
    before, calls = getattr(module, name), []

    def first(*arguments, **options):
        if not calls:
            calls.append(True)
            call()
        return before(*arguments, **options)

    monkeypatch.setattr(module, name, first)


OTHER = "another process has finished this run; its results are in made/\n"
SAME = "wrote results.nc, results.html, pulls.png, pulls.pdf to made/\n"


@pytest.mark.parametrize(
    ("module", "name", "says"),
    [
        (Checkpoint, "save", OTHER),
        (dataset, "dataset", SAME),
        (dataset, "write", SAME),
        (export, "read_previous", OTHER),
        (figures, "draw_all", OTHER),
    ],
)
def test_if_another_process_finishes_first_the_later_one_succeeds(there, capsys, monkeypatch, module, name, says):
    """The other process runs completely while this one is at that call."""
    ended = []

    def other():
        ended.append(run())
        ended.append(capsys.readouterr())

    meanwhile(monkeypatch, module, name, other)
    assert run() == 0
    assert ended[0] == 0
    assert ended[1].out.endswith(SAME)
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.endswith(says)
    assert names(there / "made") == MINE
    regret = jb.simulate(CONFIG["problem"], "ucb1", **CONFIG["simulation"])
    assert_same(opened(there / "made"), regret)


def test_two_processes_write_their_files_separately(there, capsys, monkeypatch):
    """The other process has begun to write, and continues after this one has ended."""
    draw = figures.draw_all

    def later(data, folder):
        held = {path.name: path.read_bytes() for path in folder.iterdir()}
        monkeypatch.setattr(figures, "draw_all", draw)
        monkeypatch.setattr("jaxbandit.engine.host.checkpoint.forget", lambda out: None)  # it is still at work
        assert run() == 0
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == held
        monkeypatch.undo()
        monkeypatch.chdir(there)
        monkeypatch.setattr(figures, "draw_all", drawn)
        return draw(data, folder)

    monkeypatch.setattr(figures, "draw_all", later)
    assert run() == 0
    assert capsys.readouterr().err == ""
    assert names(there / "made") == MINE


def test_earlier_results_are_not_those_of_another_process(there, capsys, monkeypatch):
    """On a full disk a run fails, although the same results are there."""
    assert run() == 0
    capsys.readouterr()

    def full(folder, name, arrays):
        raise jb.WriteError(folder.path / name, OSError(28, "No space left on device"))

    monkeypatch.setattr(Checkpoint, "save", full)
    assert run() == 1
    assert "No space left on device" in error_line(capsys)
    assert names(there / "made") == MINE


def test_blocks_are_counted_by_their_names(there):
    with interrupted(2):
        jb.simulate(CONFIG["problem"], "ucb1", **CONFIG["simulation"], keep=there / "made")
    assert len(blocks(there / "made")) == kept(there / "made") == 2
