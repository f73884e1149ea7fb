"""The forms that the values of a config may have."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from plans import assert_same_plan
from small_config import DROP, TABLES, TWO_INSTANCES, make_plan

from jaxbandit.engine.settings import SimulationSettings
from jaxbandit.experiments.configs import config
from jaxbandit.experiments.simulate import plan_and_config


def test_defaults():
    made = make_plan()
    assert [configuration.label for configuration in made.configurations] == ["lfg", "ucb1"]
    assert (made.settings.horizon, made.settings.seeds, made.settings.key, made.settings.record) == (400, 3, 0, 200)
    assert made.problem.plays == 1
    assert made.problem.availability is None
    assert (made.problem.reward.name, made.problem.delay.name) == ("bernoulli", "none")


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ([0.9, 0.5, 0.1], [[0.9], [0.5], [0.1]]),
        ([[0.9, 0.5, 0.1]], [[0.9], [0.5], [0.1]]),
        (TWO_INSTANCES, np.transpose(TWO_INSTANCES)),
    ],
)
def test_means(means, expected):
    problem = make_plan(problem__means=means).problem
    np.testing.assert_array_equal(problem.means, expected)
    assert (problem.arms, problem.instances) == np.shape(expected)


def test_whole_numbers_are_numbers():
    problem = make_plan(problem__means=[1, 0, 1], problem__fractions=0, problem__penalties=1).problem
    np.testing.assert_array_equal(problem.means.ravel(), [1, 0, 1])
    assert problem.means.dtype == np.float64
    assert problem.fractions.ravel().tolist() == [0, 0, 0]


def test_random_means_depend_on_the_key():
    def drawn(key, **table):
        table = {"random": "uniform", "arms": 3, **table}
        return make_plan(problem__means=table, simulation__key=key).problem.means

    first = drawn(7, instances=40)
    assert first.shape == (3, 40)
    assert len(np.unique(first)) == first.size
    assert first.min() >= 0
    assert 0.9 < first.max() < 1
    np.testing.assert_array_equal(first, drawn(7, instances=40))
    np.testing.assert_array_equal(first[:, :5], drawn(7, instances=5))
    np.testing.assert_array_equal(first[:, :1], drawn(7))
    assert not np.any(first == drawn(8, instances=40))
    np.testing.assert_allclose(drawn(7, instances=40, low=0.2, high=0.4), 0.2 + 0.2 * first, rtol=1e-12)
    np.testing.assert_array_equal(drawn(7, low=0.5, high=0.5), np.full((3, 1), 0.5))


@pytest.mark.parametrize(
    ("fractions", "expected"),
    [
        (0.05, [["1/20"]] * 3),
        ([0.1, 0.29, 0.07], [["1/10"], ["29/100"], ["7/100"]]),
        ([[0.1, 0.2, 0.3], [0, 0.5, 0.5]], [["1/10", "0"], ["1/5", "1/2"], ["3/10", "1/2"]]),
        ([0.2, 0.3, 0.5], [["1/5"], ["3/10"], ["1/2"]]),
    ],
)
def test_fractions_are_exactly_the_written_decimals(fractions, expected):
    problem = make_plan(problem__means=TWO_INSTANCES, problem__fractions=fractions).problem
    assert problem.fractions.tolist() == [[Fraction(tau) for tau in row] for row in expected]


@pytest.mark.parametrize(
    ("penalties", "expected"),
    [
        (0.45, [[0.45, 0.45]] * 3),
        ([0.1, 0.2, 0.3], [[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]]),
        ([[0.1, 0.2, 0.3], [4, 5, 6]], [[0.1, 4], [0.2, 5], [0.3, 6]]),
        ({"gap_fraction": 0.5}, [[0.4, 0.1]] * 3),
        ({"gap_fraction": 0}, [[0, 0]] * 3),
    ],
)
def test_penalties(penalties, expected):
    problem = make_plan(problem__means=TWO_INSTANCES, problem__penalties=penalties).problem
    np.testing.assert_allclose(np.broadcast_to(problem.penalties, (3, 2)), expected, rtol=1e-12)


def test_a_policy_may_have_its_own_penalties():
    made = make_plan(problem__penalties=DROP, policies=[{"kind": "hard-threshold-ucb", "penalties": 0.3}])
    assert made.prepared[0].penalties == 0.3
    assert "penalized_regret" not in made.metrics


@pytest.mark.parametrize(
    ("reward", "name", "value"),
    [
        ("gaussian", "sd", 1.0),
        ({"kind": "gaussian"}, "sd", 1.0),
        ({"kind": "gaussian", "sd": 0.1}, "sd", 0.1),
        ({"kind": "gaussian", "sd": [0.1, 0.2, 0.3]}, "sd", [[0.1], [0.2], [0.3]]),
        ({"kind": "beta", "concentration": 5}, "concentration", 5),
        ({"kind": "uniform", "width": 0.1}, "width", 0.1),
    ],
)
def test_rewards(reward, name, value):
    np.testing.assert_array_equal(getattr(make_plan(problem__reward=reward).problem.reward, name), value)


def test_availability():
    assert make_plan(problem__availability=1).problem.availability is None
    sleepy = make_plan(problem__availability=[0.5, 1, 0]).problem.availability
    np.testing.assert_array_equal(sleepy, [[0.5], [1], [0]])


@pytest.mark.parametrize("delay", [4, [4, 4, 4], [[4, 4, 4], [4, 4, 4]]])
def test_delays_are_a_number_or_one_per_arm_or_one_row_per_instance(delay):
    made = make_plan(problem__means=TWO_INSTANCES, problem__delay={"kind": "fixed", "d": delay}).problem.delay
    np.testing.assert_array_equal(np.broadcast_to(made.d, (3, 2)), np.full((3, 2), 4))


def labels(*tables):
    return [
        (configuration.label, configuration.family) for configuration in make_plan(policies=list(tables)).configurations
    ]


def test_the_default_label_is_the_kind():
    tables = [
        {"kind": "fair-learn", "base": "thompson"},
        {"kind": "fucb"},
        {"kind": "ucb1", "label": "Auer's"},
        {"kind": "ucb1", "exploration": 0.5},
    ]
    names = ["fair-learn/thompson", "fucb", "Auer's", "ucb1"]
    assert labels(*tables) == [(name, name) for name in names]


def test_a_list_makes_a_grid():
    assert labels({"kind": "lfg", "eta": [1, 0.5, 1e-9], "label": "LFG"}) == [
        ("LFG (eta=1)", "LFG"),
        ("LFG (eta=0.5)", "LFG"),
        ("LFG (eta=1e-09)", "LFG"),
    ]
    made = make_plan(policies=[{"kind": "lfg", "eta": [1, 2.5], "exploration": [1.5, 2.0]}]).configurations
    assert [(e.policy.eta, e.policy.base.exploration) for e in made] == [(1, 1.5), (1, 2.0), (2.5, 1.5), (2.5, 2.0)]
    assert [e.label for e in made][1] == "lfg (eta=1, exploration=2)"
    assert len({e.label for e in made}) == 4
    assert {e.family for e in made} == {"lfg"}


@pytest.mark.parametrize(
    ("scale", "power", "value"),
    [(1, 0.5, 20), (1.5, 1, 600), (0.001, 1, 0.4), (3, 0, 3), (1, -1, 1 / 400), (2, 0.25, 2 * 400**0.25)],
)
def test_a_parameter_may_grow_with_the_horizon(scale, power, value):
    table = {"kind": "lfg", "eta": {"scale": scale, "horizon_power": power}}
    assert make_plan(policies=[table]).configurations[0].policy.eta == pytest.approx(value, rel=1e-15)


def test_a_grid_of_parameters_that_grow_with_the_horizon():
    etas = [{"scale": s, "horizon_power": 0.5} for s in (1, 2)] + [7.0]
    made = make_plan(policies=[{"kind": "lfg", "eta": etas}]).configurations
    assert [configuration.policy.eta for configuration in made] == [20, 40, 7]
    assert len({configuration.label for configuration in made}) == 3


def test_parameters_of_the_base_stand_beside_those_of_the_rule():
    table = {"kind": "fair-learn", "alpha": 1.5, "base": "kl-ucb", "a": 3.0, "log_offset": 1.0}
    made = make_plan(policies=[table]).configurations[0].policy
    assert (made.name, made.alpha, made.base.name, made.base.a, made.base.log_offset) == (
        "fair-learn",
        1.5,
        "kl-ucb",
        3,
        1,
    )


def test_python_takes_the_tables_of_a_config():
    """`jb.simulate` with the tables of a config is the simulation of that config."""
    plan, _ = plan_and_config(TABLES["problem"], TABLES["policies"], SimulationSettings(**TABLES["simulation"]))
    assert_same_plan(plan, make_plan())


CONFIGS = sorted((Path(__file__).parents[3] / "configs").rglob("*.toml"))


def test_every_paper_has_its_configs():
    assert {"penalties", "guarantees", "merit", "plays", "opportunities"} <= {path.parent.name for path in CONFIGS}


@pytest.fixture
def beside_a_log(tmp_path, monkeypatch):
    """The working directory holds a conversion log of ten products, for the config that reads one."""
    lines = [f"1\t{60 * line}\t{7 * line}\tid\tproduct {arm}\n" for arm in range(10) for line in range(12 - arm)]
    (tmp_path / "conversions.tsv").write_text("".join(lines))
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("beside_a_log")
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_configs_of_the_repository_can_be_simulated(path):
    plan = config.make_plan(config.load(path, ["simulation.horizon=16000", "simulation.seeds=2"]))
    assert plan.metrics
    assert len(plan.prepared) >= 1
