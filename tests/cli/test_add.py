"""`jaxbandit run --add`: policies and seeds joined with finished results, refusals, and interruptions."""

import functools
import shutil
import tomllib

import pytest
import tomli_w
import xarray as xr
from interruption import contents, opened, stopping

import jaxbandit as jb
from jaxbandit import cli
from jaxbandit.engine.batch import sharding
from jaxbandit.engine.host import checkpoint
from jaxbandit.engine.host.checkpoint import FOLDER
from jaxbandit.experiments import dataset
from jaxbandit.experiments.output import export
from jaxbandit.experiments.plots import figures

SIMULATION = {"horizon": 40, "seeds": 4, "key": 3, "record": 3, "runs": ["regret"], "trace": True, "block": 2}
PROBLEM = {"means": [0.9, 0.5, 0.1]}
ONE = {"kind": "ucb1"}
TWO = {"kind": "ucb1", "label": "wide", "exploration": [3, 4]}  # the same program


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A working folder with the finished results of one policy."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(figures, "draw_all", drawn)
        assert run([ONE], options=[]) == 0
    return folder


@pytest.fixture
def there(finished, tmp_path, monkeypatch):
    """A copy of this folder; figures are not drawn."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(figures, "draw_all", drawn)
    monkeypatch.setattr(sharding, "workers", lambda: 1)
    return tmp_path


def drawn(data, folder):
    (folder / "pulls.png").write_bytes(repr(data.sizes).encode())
    return [folder / "pulls.png"]


def run(policies, *changes, options=("--add",), problem=PROBLEM):
    config = {"simulation": SIMULATION, "problem": problem, "policies": policies}
    with open("small.toml", "wb") as file:
        tomli_w.dump(config, file)
    return cli.main(["run", "small.toml", "--out", "made", *options, "--set", "simulation.key=3", *changes])


@functools.cache
def simulated(config):
    """One simulation of a config."""
    config = tomllib.loads(config)
    return jb.simulate(config["problem"], config["policies"], **config["simulation"])


def assert_joined(folder, policies, seeds, curves=True):
    """The folder holds the results of one simulation, and describes them."""
    made = opened(folder)
    config = {"simulation": {**SIMULATION, "seeds": seeds}, "problem": PROBLEM, "policies": policies}
    expected = simulated(tomli_w.dumps(config))
    if curves:
        xr.testing.assert_equal(made, expected)
    runs = [name for name in expected if "seed" in expected[name].dims]
    xr.testing.assert_equal(made[runs], expected[runs])
    xr.testing.assert_allclose(made, expected, rtol=1e-12)
    settings = {name: value for name, value in config["simulation"].items() if name != "block"}
    assert tomllib.loads(made.attrs["config"]) == {**config, "simulation": {**settings, "metrics": ["regret"]}}
    assert (folder / "pulls.png").read_bytes() == repr(made.sizes).encode()
    assert not (folder / FOLDER).exists()


def test_policies_and_seeds_are_added(there, capsys):
    assert run([TWO]) == 0  # a config with the new policies only
    assert_joined(there / "made", [ONE, TWO], 4)
    assert "added runs of 2 policies, seeds 0 to 3; wrote results.nc, table.csv" in capsys.readouterr().out
    assert run([ONE, TWO], "simulation.seeds=7") == 0
    assert_joined(there / "made", [ONE, TWO], 7, curves=False)
    assert "added runs of 3 policies, seeds 4 to 6; wrote " in capsys.readouterr().out
    longer = {**TWO, "exploration": [3, 4, 5]}  # a longer grid, and more seeds, at once
    assert run([longer], "simulation.seeds=8") == 0
    assert_joined(there / "made", [ONE, longer], 8, curves=False)
    before = contents(there / "made")
    assert run([TWO], "simulation.seeds=8") == 0
    assert "nothing to add: made/results.nc has the policies and seeds of the config\n" in capsys.readouterr().out
    assert contents(there / "made") == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["simulation.horizon=50"], "simulation.horizon = 50: must be 40, as in made"),
        (["simulation.key=4"], "simulation.key = 4: must be 3, as in made"),
        (["simulation.record=4"], "simulation.record = 4: must be 3, as in made"),
        (["simulation.metrics=[1]"], "simulation.metrics = [1]: must be a list of names, such as "),
        (["simulation.runs=[]"], "simulation.runs = []: must be ['regret'], as in made"),
        (["simulation.trace=false"], "simulation.trace = False: must be True, as in made"),
        (["simulation.metrics=[]", "simulation.runs=[]"], "simulation.metrics = []: must be ['regret'], as in made"),
        (["simulation.first_seed=2"], "simulation.first_seed = 2: must be 0, as in made"),
        (["simulation.seeds=3"], "simulation.seeds = 3: must be a whole number >= 4, the number of seeds in made; "),
        (["simulation.until=stderr<1"], "simulation.until = 'stderr<1': cannot be used with --add; give "),
        (["problem.means=[0.9,0.5,0.2]"], "problem.means = [[0.9, 0.5, 0.2]]: must be [[0.9, 0.5, 0.1]], as in made"),
        (["problem.delay=fixed"], "problem.delay.kind = 'fixed': must be 'none', as in made"),
        (["problem.plays=[1,2]"], "grid = [{'problem.plays': 1}, {'problem.plays': 2}]: must be missing, as in made"),
        (
            ["policies.0.exploration=3"],
            "policies[ucb1] = {'kind': 'ucb1', 'exploration': 3, 'log_offset': 0.0}: must be ",
        ),
        (["policies.0.kind=ucb"], "policies[0].kind = 'ucb': must be one of "),
    ],
)
def test_what_does_not_fit_is_refused(there, capsys, changes, message):
    before = contents(there / "made")
    capsys.readouterr()
    assert run([ONE, TWO], *changes) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"jaxbandit: {message}")
    assert printed.count("\n") == 1
    assert contents(there / "made") == before


def test_folders_to_which_nothing_can_be_added(there, capsys):
    for content, message in [
        (None, "must hold the results of a finished run (results.nc); `jaxbandit run CONFIG.toml` without --add"),
        (b"precious", "must hold a results.nc that can be read"),
    ]:
        path = there / "made" / "results.nc"
        path.unlink()
        if content is not None:
            path.write_bytes(content)
        assert run([TWO]) == 2
        assert f"jaxbandit: --out = 'made': {message}" in capsys.readouterr().err
        path.write_bytes(content or b"")
    results = jb.simulate(PROBLEM, ONE, **SIMULATION)
    other = jb.simulate(PROBLEM, ONE, **{**SIMULATION, "key": 4})
    dataset.write(jb.combine(results, other), there / "made" / "results.nc")
    assert run([TWO]) == 2
    message = "--out = 'made': must hold the runs of one config; its results are joined from 2"
    assert message in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run([TWO], options=["--add", "--force"])


@pytest.mark.parametrize("again", ["resume", pytest.param("run", marks=pytest.mark.slow)])
def test_an_interrupted_addition_leaves_the_results_and_goes_on(there, capsys, again):
    before = contents(there / "made")
    with stopping(1):
        assert run([ONE, TWO], "simulation.seeds=7") == 130
    assert "`jaxbandit resume made` continues the run" in capsys.readouterr().err
    kept = {path: content for path, content in contents(there / "made").items() if FOLDER not in path.parts}
    assert kept == before
    assert run([ONE, {**TWO, "exploration": [3, 5]}]) == 2
    assert "must not hold the unfinished run of another config" in capsys.readouterr().err
    assert (cli.main(["resume", "made"]) if again == "resume" else run([ONE, TWO], "simulation.seeds=7")) == 0
    assert_joined(there / "made", [ONE, TWO], 7, curves=False)
    assert cli.main(["resume", "made"]) == 0


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (dataset, "write"),
        (figures, "draw_all"),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in [(export, "_move"), (checkpoint, "forget")]),
    ],
)
def test_an_addition_interrupted_while_it_is_written(there, monkeypatch, module, name):
    """Before and after `results.nc` is replaced; the first of the two steps, policies, is interrupted."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    before = contents(there / "made")
    with monkeypatch.context() as patch:
        patch.setattr(module, name, interrupt)
        assert run([ONE, TWO], "simulation.seeds=7") == 130
    if module in (dataset, export):
        assert {
            path: content for path, content in contents(there / "made").items() if FOLDER not in path.parts
        } == before
    assert opened(there / "made").sizes["seed"] == 4
    assert cli.main(["resume", "made"]) == 0
    assert_joined(there / "made", [ONE, TWO], 7, curves=False)


def test_what_another_process_has_added_is_kept(there, monkeypatch, capsys):
    """Another process finishes the same addition while this one simulates."""
    from jaxbandit.engine import simulation

    simulate = simulation.run

    def with_another(*arguments, **keywords):
        made = simulate(*arguments, **keywords)
        with monkeypatch.context() as patch:
            patch.setattr(simulation, "run", simulate)
            assert run([TWO]) == 0
        return made

    with monkeypatch.context() as patch:
        patch.setattr(simulation, "run", with_another)
        assert run([TWO]) == 0
    assert "another process has finished this run; its results are in made/" in capsys.readouterr().out
    assert_joined(there / "made", [ONE, TWO], 4)
