"""The command line: exit codes, files and printed text."""

import contextlib
import io
import re
import subprocess
import sys
import tempfile
import tomllib
from importlib import metadata

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import jaxbandit as jb
from jaxbandit import cli
from jaxbandit.engine import simulation
from jaxbandit.experiments.output import view_process, views
from jaxbandit.experiments.plots import figures
from jaxbandit.policies.base import Policy

TOML = """
[simulation]
horizon = 200
seeds = 5
key = 3
record = 20

[problem]
means = [0.5, 0.9, 0.1]
fractions = 0.1
penalties = 0.2

[[policies]]
kind = "hard-threshold-ucb"

[[policies]]
kind = "lfg"
label = "LFG"
eta = [1, 10, 100]
"""
LABELS = ["hard-threshold-ucb", "LFG (eta=1)", "LFG (eta=10)", "LFG (eta=100)"]
METRICS = ["regret", "penalized_regret", "r_regret", "c_regret", "unfairness", "max_deficit"]
FIGURES = ["curves", "pulls", "selection-fractions", "tradeoff", "sweep"]
QUICK = ["--set", "simulation.record=1", 'simulation.metrics=["regret"]']  # little to draw
CURVE, RUNS = ("policy", "instance", "round"), ("policy", "instance", "seed")


@pytest.fixture
def there(tmp_path, monkeypatch):
    """A working folder with a config in it; figures are not drawn."""
    (tmp_path / "small.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(figures, "draw_all", lambda results, folder: [])
    return tmp_path


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The output directory of a run, and the text it printed."""
    place = tmp_path_factory.mktemp("done")
    (place / "small.toml").write_text(TOML)
    streams = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with pytest.MonkeyPatch.context() as patch, streams[0] as out, streams[1] as err:
        patch.setitem(figures.STYLE, "figure.dpi", 80)  # less to draw
        assert cli.main(["run", str(place / "small.toml"), "--out", str(place / "made")]) == 0
    return place / "made", out.getvalue(), err.getvalue()


def run(*arguments):
    return cli.main(["run", "small.toml", *arguments])


def opened(folder):
    with xr.open_dataset(folder / "results.nc") as results:
        return results.load()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_run_writes_results_and_figures(done):
    folder, out, err = done
    suffixes = (".png", ".pdf")
    assert names(folder) == sorted(
        [*(f + s for f in FIGURES for s in suffixes), "results.html", "results.nc", "table.csv"]
    )
    for figure in FIGURES:
        png, pdf = ((folder / f"{figure}{suffix}").read_bytes() for suffix in suffixes)
        assert png.startswith(b"\x89PNG\r\n\x1a\n")
        assert png.rstrip().endswith(b"IEND\xaeB`\x82")
        assert min(len(png), len(pdf)) > 3000
        assert pdf.startswith(b"%PDF")
    assert err == ""
    lines = out.splitlines()
    assert lines[0].split()[:2] == ["policy", "penalized"]
    assert [line.split("  ")[0] for line in lines[2:6]] == LABELS
    assert lines[6].startswith("at T = 200: mean ± 95 % confidence over 5 runs")
    assert lines[7].startswith("LFG: by penalized regret the best eta is the largest of the grid (100)")
    assert "million rounds per second on " in lines[8]
    files = ", ".join(["results.nc", "table.csv", "results.html", *(f + s for f in FIGURES for s in suffixes)])
    assert lines[9:] == [f"wrote {files} to {folder}/"]


def test_results_nc_is_what_the_interface_says(done):
    results = opened(done[0])
    assert dict(results.sizes) == {"policy": 4, "instance": 1, "seed": 5, "arm": 3, "round": 20}
    assert results.policy.values.tolist() == LABELS
    assert results["round"].values[[0, -1]].tolist() == [1, 200]
    assert np.all(np.diff(results["round"]) > 0)
    assert np.issubdtype(results["round"].dtype, np.integer)

    expected = {"pulls": (*RUNS, "arm"), "max_deficit_ever": RUNS}
    for name in METRICS:
        expected |= {name: CURVE, f"{name}_stderr": CURVE, f"{name}_final": RUNS}
    expected |= dict.fromkeys(("pulls_mean", "pulls_mean_stderr"), ("policy", "instance", "arm", "round"))
    inputs = {"means", "fractions", "penalties"}
    assert set(results.data_vars) == {*expected, *inputs}
    for name, dimensions in expected.items():
        assert results[name].dims == dimensions, name
        assert results[name].dtype == (np.int32 if name == "pulls" else np.float64), name
        assert not results[name].isnull().any(), name
    np.testing.assert_array_equal(results.pulls.sum("arm"), 200)
    for name in METRICS:
        final = results[f"{name}_final"]
        np.testing.assert_allclose(final.mean("seed"), results[name].isel(round=-1), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(results.fractions, [[0.1, 0.1, 0.1]])

    about = results.attrs
    names_of_attributes = {
        "config",
        "jaxbandit_version",
        "jax_version",
        "dtype",
        "device",
        "compile_seconds",
        "run_seconds",
        "rounds_per_second",
        "files",
    }
    assert set(about) == names_of_attributes | {"horizon", "plays", "seeds"}
    assert tomllib.loads(about["config"]) == tomllib.loads(TOML)
    assert about["jaxbandit_version"] == metadata.version("jaxbandit")
    assert about["jax_version"] == jax.__version__
    assert about["dtype"] == "float32"
    assert jax.devices()[0].platform in about["device"]
    assert sorted(about["files"].split()) == names(done[0])
    assert about["run_seconds"] > 0
    assert about["compile_seconds"] >= 0
    assert about["rounds_per_second"] == pytest.approx(4 * 5 * 200 / about["run_seconds"])


def test_the_file_equals_the_dataset_from_python(done):
    config = tomllib.loads(TOML)
    results = jb.simulate(config["problem"], config["policies"], **config["simulation"])
    xr.testing.assert_equal(opened(done[0]), results)


@pytest.mark.slow
def test_running_twice_gives_the_same_data(there, done):
    assert run("--out", "two", "--set", "simulation.block=2") == 0
    one, two = opened(done[0]), opened(there / "two")
    xr.testing.assert_identical(one.drop_attrs(deep=False), two.drop_attrs(deep=False))
    assert run("--force", "--out", "two", *QUICK, "simulation.key=4") == 0  # over what is there
    assert not opened(there / "two").pulls.equals(one.pulls)


def test_results_go_to_a_folder_of_the_config_s_name(there):
    assert run(*QUICK) == 0
    assert names(there) == ["results", "small.toml"]
    assert names(there / "results") == ["small"]
    assert opened(there / "results" / "small").sizes["seed"] == 5


def test_out_may_be_a_folder_that_is_not_there_yet(there):
    assert run("--out", "deep/er/still", *QUICK) == 0
    assert opened(there / "deep/er/still").sizes["seed"] == 5


def test_set_changes_the_config_and_its_record_in_the_file(there, capsys):
    changes = ["simulation.seeds=4", "simulation.horizon=90", 'simulation.metrics=["regret"]']
    more = ["policies.1.eta=7", "policies.0.label=hard"]
    assert run("--set", *changes, "--out", "made", "--set", *more) == 0
    results = opened(there / "made")
    assert results.sizes["seed"] == 4
    assert results["round"].values[-1] == 90
    assert results.policy.values.tolist() == ["hard", "LFG"]
    assert [name for name in METRICS if name in results] == ["regret"]
    recorded = tomllib.loads(results.attrs["config"])
    assert recorded["simulation"] == {"horizon": 90, "seeds": 4, "key": 3, "record": 20, "metrics": ["regret"]}
    assert recorded["policies"][1]["eta"] == 7
    assert "at T = 90: mean ± 95 % confidence over 4 runs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        (["--set", "simulation.seeds=none"], "simulation.seeds = 'none': must be a whole number >= 1"),
        (
            ["--set", "simulation.seedz=3"],
            "unknown key simulation.seedz (did you mean 'seeds'?); valid keys: block, first_seed, gpu_kernel, ",
        ),
        (
            ["--set", "problem.fractions=0.5"],
            "problem.fractions = 0.5: must sum to at most plays = 1 (they sum to 1.5)",
        ),
        (["--set", "policies.1.eta=-1"], "policies[1].eta = -1: must be a number >= 0"),
        (["--set", "policies.1.kind=lgf"], "policies[1].kind = 'lgf': must be one of "),
        (["--set", 'simulation.metrics=["joy"]'], "simulation.metrics = 'joy': must be one of "),
        (["--set", "seeds"], "--set = 'seeds': must have the form section.key=value"),
        (["--out", "small.toml"], "--out = 'small.toml': must be a folder, or a name that is not in use"),
        (["--out", "small.toml/made"], "--out = 'small.toml/made': must be a folder that can be written to ("),
    ],
)
def test_bad_input_exits_with_2_and_one_line(there, capsys, arguments, start):
    assert run(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"jaxbandit: {start}")
    assert printed.err.endswith("\n")
    assert printed.err.count("\n") == 1
    assert names(there) == ["small.toml"]
    assert (there / "small.toml").read_text() == TOML


def test_a_folder_that_cannot_be_written_to_is_refused(there, capsys, monkeypatch):
    """The system's refusal is simulated, since root may write anywhere."""

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert run("--out", "made") == 2
    message = "jaxbandit: --out = 'made': must be a folder that can be written to (Permission denied)\n"
    assert capsys.readouterr().err == message
    assert names(there) == ["small.toml"]


@pytest.mark.parametrize("content", [None, "[simulation\n", "", "x = 1"])
def test_a_config_that_cannot_be_read_exits_with_2(there, capsys, content):
    if content is not None:
        (there / "other.toml").write_text(content)
    before = names(there)
    assert cli.main(["run", "other.toml", "--out", "made"]) == 2
    printed = capsys.readouterr().err
    starts = {"": "simulation is missing: must be a table", "x = 1": "unknown key x; valid keys: "}
    assert printed.startswith(f"jaxbandit: {starts.get(content, 'cannot read other.toml: ')}")
    assert printed.count("\n") == 1
    assert names(there) == before


@pytest.mark.parametrize(
    "arguments", [[], ["run"], ["stroll"], ["run", "small.toml", "--seeds", "3"], ["run", "small.toml", "--set"]]
)
def test_an_unknown_command_exits_with_2(there, capsys, arguments):
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == 2
    assert capsys.readouterr().err.startswith("usage: jaxbandit")
    assert names(there) == ["small.toml"]


def test_an_interrupted_run_exits_with_130_and_writes_nothing(there, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(simulation, "run", interrupt)
    assert run("--out", "made") == 130
    assert capsys.readouterr().err == "jaxbandit: interrupted\n"
    assert names(there) == ["small.toml"]


def test_policies_lists_every_policy_with_its_parameters(capsys):
    assert cli.main(["policies"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line and not line.startswith(" ") and line in Policy.registry] == list(
        Policy.registry
    )
    assert "    eta = 1 (>= 0): weight of fairness against reward" in lines
    assert '    base = "ucb1": the index to which penalty rates are added' in lines
    assert "    rounds_per_arm (>= 1): N; default (T/K)^(2/3) log(T)^(1/3), rounded up" in lines
    assert "    source: penalties paper, eq. 12, Alg. 1" in lines


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"jaxbandit {metadata.version('jaxbandit')}\n"


def test_the_version_needs_no_jax():
    program = "import sys; from jaxbandit import cli; cli.main(['--version']); assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


class Broken(jb.Index):
    """An index that is NaN from some round on."""

    since: float = 5.0

    def value(self, state, now):
        return now.mean + jnp.where(now.t.astype(now.mean.dtype) < self.since, 0.0, jnp.nan)


def test_an_index_that_is_nan_stops_the_simulation():
    problem = jb.Problem([0.9, 0.5, 0.1])
    for since in (1.0, 5.0, 200.0):
        with pytest.raises(FloatingPointError, match=r"^policy 'Broken': .* not a number, in round \d+ or before; jb"):
            jb.simulate(problem, Broken(since=since), horizon=200, seeds=5, record=20)
    assert jb.simulate(problem, Broken(since=201.0), horizon=200, seeds=5, record=20).pulls.sum() == 1000


def test_a_simulation_that_fails_exits_with_1_and_writes_nothing(there, capsys, monkeypatch):
    monkeypatch.setitem(Policy.registry, "ucb1", Broken)
    assert run("--out", "made", "--set", 'policies=[{kind = "ucb1", label = "torn"}]') == 1
    printed = capsys.readouterr()
    assert printed.err.startswith("jaxbandit: policy 'torn': an index was not a number, in round ")
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert names(there) == ["small.toml"]


@pytest.mark.parametrize("out", ["taken", "nowhere"])
def test_an_output_directory_that_cannot_be_used_is_refused_before_work(there, capsys, out):
    (there / "taken" / "results.nc").mkdir(parents=True)
    (there / "nowhere").symlink_to(there / "missing")
    assert cli.main(["run", "small.toml", "--out", out]) == 2
    assert re.match(f"jaxbandit: --out = '{out}': must (not hold|be) a folder", capsys.readouterr().err)


@pytest.mark.parametrize(("kind", "hinted"), [("my-own-thing", True), ("ucb", False)])
def test_an_unknown_kind_hints_at_import(kind, hinted, capsys):
    assert cli.main(["run", "quickstart", "--set", f"policies.0.kind={kind}"]) == 2
    line = capsys.readouterr().err
    assert f"policies[0].kind = '{kind}': must be one of" in line
    assert ("--import FILE.py makes classes of your own known" in line) == hinted


@pytest.mark.parametrize(
    ("words", "outputs"),
    [
        (["run", "config.toml"], views.Outputs()),
        (["resume", "folder", "--quiet"], views.Outputs()),
        (["run", "config.toml", "--no-figures"], views.Outputs(figures=False)),
        (["run", "--no-html", "config.toml"], views.Outputs(page=False)),
        (["run", "config.toml", "--import", "own.py"], None),
        (["run", "config.toml", "--import=own.py"], None),
        (["run", "config.toml", "--coordinator", "host:1"], None),
        (["run", "-h"], None),
        (["policies"], None),
        ([], None),
    ],
)
def test_commands_that_may_draw_begin_a_process_for_it(monkeypatch, words, outputs):
    """Before their words are parsed, which imports JAX."""
    begun = []

    @contextlib.contextmanager
    def begin(outputs):
        begun.append(outputs)
        yield

    monkeypatch.setattr(view_process, "begun_early", begin)
    monkeypatch.setattr(cli, "_carried_out", lambda words: 0)
    monkeypatch.setattr(sys, "argv", ["jaxbandit", *words])
    assert cli._main(None) == 0
    assert begun == ([] if outputs is None else [outputs])
    assert cli._main(words) == 0  # called by a program, which may have threads
    assert len(begun) == (outputs is not None)
