"""`until`: runs are added until a standard error is small enough, as if they had been asked for from the start."""

import numpy as np
import pytest
import xarray as xr

import jaxbandit as jb
from jaxbandit.cli import main
from jaxbandit.engine.batch import memory
from jaxbandit.engine.settings import SimulationSettings
from jaxbandit.engine.stopping import StoppingRule, stopping_rule
from jaxbandit.experiments.plots import figures

PROBLEM = {"means": [[0.9, 0.8, 0.7], [0.6, 0.5, 0.9]], "fractions": 0.1, "penalties": 0.4}
GRID = {"kind": "hard-threshold-ucb", "penalties": [0.1, 0.5]}


def simulate(seeds, **more):
    return jb.simulate(PROBLEM, GRID, horizon=200, seeds=seeds, record=5, metrics=["regret", "unfairness"], **more)


@pytest.fixture(scope="module")
def enough():
    """Results in which every configuration and instance is known well enough."""
    return simulate(20, until="regret_stderr<0.4")


def test_the_error_is_reached_in_every_configuration_and_instance(enough):
    assert float(enough.regret_stderr.isel(round=-1).max()) < 0.4
    assert float(simulate(20).regret_stderr.isel(round=-1).max()) > 0.4
    assert enough.sizes["seed"] > 20


def test_it_is_what_that_many_seeds_give(enough):
    seeds = enough.sizes["seed"]
    xr.testing.assert_identical(enough.drop_attrs(), simulate(seeds).drop_attrs())


@pytest.mark.parametrize("block", [8, pytest.param(50, marks=pytest.mark.slow)])
def test_how_many_seeds_there_are_does_not_depend_on_blocks(enough, block):
    parts = simulate(20, until="regret_stderr<0.4", block=block)
    xr.testing.assert_identical(enough.drop_attrs(), parts.drop_attrs())


def test_it_is_reached_from_a_single_seed(enough):
    one = simulate(1, until="stderr<0.4")
    assert one.sizes["seed"] > 1
    assert float(one.regret_stderr.isel(round=-1).max()) < 0.4


def test_what_is_reached_from_the_start_adds_nothing():
    assert simulate(20, until="unfairness_stderr<1e6").sizes["seed"] == 20


def test_it_goes_on_after_an_interruption(enough, tmp_path, monkeypatch):
    from jaxbandit.engine.host.checkpoint import Checkpoint

    save, left = Checkpoint.save, [15]

    def interrupted(self, name, arrays):
        save(self, name, arrays)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "save", interrupted)
    again = {"until": "regret_stderr<0.4", "block": 8, "keep": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        simulate(20, **again)
    kept = {path.name for path in (tmp_path / "unfinished").glob("*.block")}
    assert any("seeds20" in name for name in kept)  # in the midst of those added
    xr.testing.assert_identical(simulate(20, **again).drop_attrs(), enough.drop_attrs())


@pytest.mark.parametrize(
    ("stderr", "seeds", "wanted"),
    [
        ([0.5, 0.9], 100, 100),  # all below 1
        ([0.5, 2.0], 100, 440),  # 1.1 x 2^2
        ([0.5, 1.0], 100, 111),  # not below
        ([1e9], 100, 800),  # eight times as many at most
        ([np.nan], 1, 8),
    ],
)
def test_how_many_are_wanted(stderr, seeds, wanted):
    assert StoppingRule("regret", 1.0).wanted(np.array(stderr), seeds) in (wanted, wanted + 1)


@pytest.mark.parametrize("most", [1e-160, 5e-324])
def test_a_tiny_bound_is_as_good_as_any_other(most):
    assert StoppingRule("regret", most).wanted(np.array([2.0]), 100) == 800


def test_the_metric_is_named_or_the_first():
    assert stopping_rule("stderr<0.5", ["regret", "unfairness"]) == StoppingRule("regret", 0.5)
    assert stopping_rule(" unfairness_stderr < 1e-2 ", ["regret", "unfairness"]) == StoppingRule("unfairness", 0.01)
    assert stopping_rule(None, ["regret"]) is None
    assert SimulationSettings(10, 2, until="").until is None


@pytest.mark.parametrize(
    "text",
    [" ", "regret<1", "stderr>1", "stderr<0", "stderr<-1", "stderr<nan", "stderr<inf", "stderr<x", "gain_stderr<1", 5],
)
def test_anything_else_is_refused(text):
    with pytest.raises(jb.InputError, match=r"^simulation\.until = .*METRIC_stderr<x"):
        simulate(2, until=text)


@pytest.fixture
def undrawn(monkeypatch):
    """Figures are not drawn."""
    monkeypatch.setattr(figures, "draw_all", lambda results, folder: [])


TOML = """
[simulation]
horizon = 200
seeds = 20
metrics = ["regret"]
record = 5
{until}

[problem]
means = [0.9, 0.8, 0.7]

[[policies]]
kind = "ucb1"
"""


@pytest.mark.usefixtures("undrawn")
def test_the_command_line_takes_it_before_the_config(tmp_path):
    (tmp_path / "config.toml").write_text(TOML.format(until='until = "stderr<1e6"'))
    option = ["--until", "regret_stderr<0.2"]
    assert main(["run", str(tmp_path / "config.toml"), "--out", str(tmp_path / "out"), *option]) == 0
    with xr.open_dataset(tmp_path / "out" / "results.nc") as data:
        assert data.sizes["seed"] > 20
        assert float(data.regret_stderr.isel(round=-1).max()) < 0.2
        assert "stderr<0.2" in data.attrs["config"]


@pytest.mark.usefixtures("undrawn")
def test_where_more_do_not_fit_the_results_are_kept(tmp_path, capsys, monkeypatch):
    (tmp_path / "config.toml").write_text(TOML.format(until='until = "stderr<1e-9"'))
    real, asked = memory.check_results, []

    def full(stacks, shapes, seeds):
        asked.append(seeds)
        if seeds > 1000:
            monkeypatch.setattr(memory, "host_bytes", lambda: 1 << 10)
        real(stacks, shapes, seeds)

    monkeypatch.setattr(memory, "check_results", full)
    assert main(["run", str(tmp_path / "config.toml"), "--out", str(tmp_path / "out")]) == 1
    words = "jaxbandit: stopped after 160 seeds before the standard error was reached, because more do not fit: "
    assert f"{words}simulation.seeds = 1280" in capsys.readouterr().err
    assert asked == [20, 160, 1280]
    with xr.open_dataset(tmp_path / "out" / "results.nc") as data:
        assert data.sizes["seed"] == 160
    assert not (tmp_path / "out" / "unfinished").exists()


def test_runs_from_a_first_seed_on_are_those_of_the_whole_simulation(enough):
    some = simulate(3, first_seed=7, until="regret_stderr<2")
    assert some.sizes["seed"] > 3
    assert some.seed.values.tolist() == list(range(7, 7 + some.sizes["seed"]))
    assert "first_seed = 7" in some.attrs["config"]
    runs = [name for name in enough if "seed" in enough[name].dims]
    shared = np.intersect1d(some.seed, enough.seed)
    assert len(shared) > 3
    xr.testing.assert_equal(some[runs].sel(seed=shared), enough[runs].sel(seed=shared))
