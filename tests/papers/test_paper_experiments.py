"""The experiments of all papers: each can be simulated, and every file of `configs/` is among them."""

import pytest
import tomli_w

from jaxbandit.experiments.configs import config
from jaxbandit.experiments.configs.grid import expanded
from jaxbandit.papers import PAPERS, Sizes
from jaxbandit.papers.experiment import CONFIGS, at_point, experiment, grid_values
from jaxbandit.papers.reproduce import REPRODUCTIONS
from jaxbandit.tuning.command import make_task

QUICK, FULL = Sizes(quick=True), Sizes()


@pytest.mark.parametrize("name", PAPERS)
@pytest.mark.parametrize("sizes", [pytest.param(FULL, marks=pytest.mark.slow), QUICK], ids=["full", "quick"])
def test_every_experiment_can_be_simulated(name, sizes):
    experiments = REPRODUCTIONS[name].experiments(sizes)
    assert len({made.name for made in experiments}) == len(experiments)
    for made in experiments:
        assert made.name.startswith(f"{name}-")
        plan = config.make_plan(made.config)
        runs = plan.problem.instances * plan.settings.seeds
        assert runs >= (20 if sizes.quick else 100)
        assert plan.settings.horizon <= (200_000 if sizes.quick else 3_000_000)
        assert tomli_w.dumps(made.config)


@pytest.mark.parametrize("name", PAPERS)
def test_every_point_of_every_config_is_simulated(name):
    """The conversion log is not here: figure 3 of the merit paper has a test of its own."""
    problems = [made.config["problem"] for made in REPRODUCTIONS[name].experiments(FULL)]
    files = [path for path in CONFIGS.glob(f"{name}/*.toml") if path.stem != "figure-3"]
    assert files
    for path in files:
        loaded = config.load(path)
        for point, table in expanded(loaded["problem"], loaded.get("grid")):
            assert table in problems, (path.name, point)


def test_experiments_are_points_of_a_grid_with_changes():
    file, point = "merit/figure-2-delays", {"problem.delay": "packet-loss"}
    changes = {"policies.1.label": "another", "problem.merit.scale": 3.0, "simulation.seeds": 7}
    made = experiment(file, FULL, "a name", point=point, changes=changes, quick={"simulation.horizon": 9}).config
    assert "grid" not in made
    assert made["problem"]["delay"]["kind"] == "packet-loss"
    assert made["problem"]["merit"] == {"kind": "power", "scale": 3.0, "exponent": 4.0}
    assert made["policies"][1] == {"kind": "fcts-d", "label": "another"}
    assert (made["simulation"]["seeds"], made["simulation"]["horizon"]) == (7, 40_000)
    quick = experiment(file, QUICK, "a name", point=point, changes=changes, quick={"simulation.horizon": 9}).config
    assert (quick["simulation"]["seeds"], quick["simulation"]["horizon"]) == (20, 9)
    assert grid_values("merit/figure-2-fixed-delay", "problem.delay.d") == [0, 100, 200, 300]


@pytest.mark.parametrize(("point", "count"), [({}, 2), ({"problem.delay": "fixed"}, 0)])
def test_a_point_that_does_not_select_one_point_is_refused(point, count):
    loaded = config.load(CONFIGS / "merit" / "figure-2-delays.toml")
    with pytest.raises(ValueError, match=f"selects {count} points of the grid"):
        at_point(loaded, point)


def test_papers_have_claims_with_names_and_figures_of_their_own():
    names = [claim.name for reproduction in REPRODUCTIONS.values() for claim in reproduction.claims]
    assert len(set(names)) == len(names)
    for name, reproduction in REPRODUCTIONS.items():
        assert reproduction.paper is PAPERS[name]
        drawn = [figure.name for figure in reproduction.figures]
        numbers = range(1, len(reproduction.claims) + 1)
        assert [claim.name for claim in reproduction.claims] == [f"{name}-{number}" for number in numbers]
        assert all(claim.figure in ("", *drawn) for claim in reproduction.claims)


def test_the_tuning_example_tunes_penalty_rates_under_a_budget():
    made = make_task(config.load(CONFIGS / "tuning.toml"))
    assert made.configuration.label == "hard-threshold-ucb"
    assert made.arguments["parameters"] == ["penalties"]
    assert made.arguments["objective"]["kind"] == "budget"
