"""Grids in a config: the configurations they expand to, their labels, and their coordinates in the results."""

import tomllib

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from plans import assert_recorded

import jaxbandit as jb
from jaxbandit.engine import simulation as engine
from jaxbandit.engine.result import SimulationResult
from jaxbandit.engine.settings import SimulationSettings
from jaxbandit.experiments import dataset
from jaxbandit.experiments.configs import config as configs
from jaxbandit.experiments.configs.grid import expanded
from jaxbandit.experiments.simulate import plan_and_config
from jaxbandit.metrics.block_statistics import BlockStatistics

PROBLEM = {"means": [0.9, 0.8, 0.7], "fractions": 0.1, "penalties": 0.4}
HARD = {"kind": "hard-threshold-ucb"}
SMALL = {"horizon": 40, "seeds": 3, "record": 4}


def simulation(problem=PROBLEM, policies=(HARD,), **more):
    return configs.make_plan({"simulation": SMALL, "problem": problem, "policies": list(policies), **more})


def simulate(problem=PROBLEM, policies=HARD, **more):
    return jb.simulate(problem, policies, **{**SMALL, **more})


def unsimulated(problem=PROBLEM, policies=HARD, grid=None):
    """The dataset of a simulation whose rounds are not simulated: zeros."""
    plan, config = plan_and_config(problem, policies, SimulationSettings(**SMALL), grid)
    blocks = [BlockStatistics.empty(plan.result_shape(stack), stack.rows, plan.settings.seeds) for stack in plan.stacks]
    result = SimulationResult(plan.rounds, plan.metrics, plan.stacks, blocks, plan.settings.seeds, 1.0, 1.0, None)
    return dataset.dataset(plan, result, config)


def points(problem, grid=None):
    return [point for point, _ in expanded(problem, grid)]


def test_a_grid_holds_every_combination_the_last_list_fastest():
    grid = {"problem": {"penalties": [0.1, 0.2], "delay": {"kind": ["fixed"], "d": [0, 3]}}}
    made = list(expanded(PROBLEM, grid))
    assert [point for point, _ in made] == [
        {"problem.penalties": a, "problem.delay.d": d} for a in (0.1, 0.2) for d in (0, 3)
    ]
    assert made[3][1] == {**PROBLEM, "penalties": 0.2, "delay": {"kind": "fixed", "d": 3}}
    assert PROBLEM["penalties"] == 0.4


@pytest.mark.parametrize(
    ("more", "key", "values"),
    [
        ({"plays": [1, 2]}, "plays", [1, 2]),
        ({"penalties": {"gap_fraction": [0.5, 2.0]}}, "penalties.gap_fraction", [0.5, 2.0]),
        ({"merit": {"kind": "power", "exponent": [2, 4]}}, "merit.exponent", [2, 4]),
        ({"opportunity": {"kind": "softmax", "c": [1.0, 2.0]}}, "opportunity.c", [1.0, 2.0]),
    ],
)
def test_a_list_under_some_keys_of_the_problem_is_a_grid(more, key, values):
    assert points({**PROBLEM, **more}) == [{f"problem.{key}": value} for value in values]


@pytest.mark.parametrize("more", [{"penalties": [0.1, 0.2, 0.3]}, {"delay": {"kind": "fixed", "d": [1, 2, 3]}}])
def test_a_list_under_other_keys_has_one_number_per_arm(more):
    assert points({**PROBLEM, **more}) == [{}]


def test_a_name_becomes_a_table_when_a_parameter_is_set():
    (_, table), _ = expanded({**PROBLEM, "reward": "gaussian"}, {"problem": {"reward": {"sd": [0.1, 0.2]}}})
    assert table["reward"] == {"kind": "gaussian", "sd": 0.1}


def test_labels_families_and_points():
    policies = [{**HARD, "penalties": [0.3, 0.6]}, {"kind": "ucb1", "label": "plain"}]
    made = simulation(policies=policies, grid={"problem": {"fractions": [0.1, 0.2]}}).configurations
    assert [configuration.label for configuration in made] == [
        "hard-threshold-ucb (penalties=0.3, problem.fractions=0.1)",
        "hard-threshold-ucb (penalties=0.3, problem.fractions=0.2)",
        "hard-threshold-ucb (penalties=0.6, problem.fractions=0.1)",
        "hard-threshold-ucb (penalties=0.6, problem.fractions=0.2)",
        "plain (problem.fractions=0.1)",
        "plain (problem.fractions=0.2)",
    ]
    assert [configuration.family for configuration in made] == ["hard-threshold-ucb"] * 4 + ["plain"] * 2
    assert made[1].point == {"policies.penalties": 0.3, "problem.fractions": 0.2}


@pytest.mark.parametrize(
    ("grid", "key", "allowed"),
    [
        (3, "grid", "a table"),
        (
            {"policies": {"eta": [1, 2]}},
            "grid.policies.eta",
            "cannot be in \\[grid\\], .* give the list in the table of the pol",
        ),
        ({"simulation": {"seeds": [1, 2]}}, "grid.simulation.seeds", "cannot be in .* one value in \\[simulation"),
        ({"problems": {"plays": [1, 2]}}, "grid.problems.plays", "problem"),
        ({"problem": [1, 2]}, "grid.problem", "problem"),
        ({"problem": {"penalties": 0.1}}, "grid.problem.penalties", "a list of values"),
        ({"problem": {"penalties": []}}, "grid.problem.penalties", "a list of values"),
        ({"problem": {"fractions": [0.1, None]}}, "grid.problem.fractions", "a list of values"),
        ({"problem": {"penalty": [0.1, 0.2]}}, "grid.problem.penalty", "did you mean 'penalties'"),
        ({"problem": {"means": {"arms": [2, 3]}}}, "grid.problem.means.arms", "cannot be set: problem.means is "),
        ({"problem": {"penalties": [0.1, -1.0]}}, "problem.penalties", r"a number >= 0 \(at problem.penalties=-1\)"),
        (
            {"problem": {"means": [[0.1, 0.2], [0.1, 0.2, 0.3]]}},
            "grid.problem.means",
            "means of 2 arms and 1 instances",
        ),
        ({"problem": {"penalties": [0.1, 0.1]}}, "policies.label", "must be unique"),
        (
            {"problem": {"fractions": [0.1 / (i + 1) for i in range(1001)], "penalties": list(range(1000))}},
            "grid",
            "at most 1000000 configurations; lists of these lengths make 1001000",
        ),
    ],
)
def test_a_bad_grid_is_refused(grid, key, allowed):
    problem = {name: value for name, value in PROBLEM.items() if name != "fractions" or "means" not in str(grid)}
    with pytest.raises(jb.InputError, match=allowed) as refused:
        simulation(problem, [{"kind": "ucb1"}], grid=grid)
    assert refused.value.key == key


def test_too_many_policies_for_a_grid_are_refused():
    policies = [{**HARD, "penalties": [0.001 * i for i in range(2000)]}]
    with pytest.raises(jb.InputError, match=r"at most 1000000 configurations; the product of these numbers is 1002000"):
        simulation(policies=policies, grid={"problem": {"fractions": [0.0001 * i for i in range(501)]}})


def test_parameters_are_coordinates_of_the_results():
    policies = [{**HARD, "exploration": [0.5, 2.0], "penalties": [0.1]}, "ucb1"]
    data = unsimulated(policies=policies, grid={"problem": {"penalties": [0.2, 0.6]}})
    np.testing.assert_array_equal(data["policies.exploration"], [0.5, 0.5, 2.0, 2.0, np.nan, np.nan])
    np.testing.assert_array_equal(data["problem.penalties"], [0.2, 0.6] * 3)
    assert data["policies.exploration"].attrs["key"] == "policies.exploration"
    assert data["problem.penalties"].attrs["key"] == "problem.penalties"
    assert "penalties" not in data.coords  # one value is no grid
    assert data.penalties.dims == ("policy", "instance", "arm")
    assert data.means.dims == ("instance", "arm")


def test_a_parameter_may_have_the_name_of_a_variable():
    data = unsimulated(policies={**HARD, "penalties": [0.1, 0.7]})
    np.testing.assert_array_equal(data["policies.penalties"], [0.1, 0.7])
    assert data.penalties.dims == ("instance", "arm")


class Seeded(jb.Index):
    """An index with a parameter whose name is also a dimension of the results."""

    seed: float = 0.0

    def value(self, state, now):
        return now.mean + self.seed


def test_a_parameter_may_have_the_name_of_a_dimension(monkeypatch):
    monkeypatch.setitem(jb.policy("ucb1").registry, "seeded", Seeded)
    data = unsimulated(policies={"kind": "seeded", "seed": [1.0, 2.0]})
    np.testing.assert_array_equal(data["policies.seed"], [1.0, 2.0])


def test_values_that_are_not_numbers_become_words():
    data = unsimulated(grid={"problem": {"reward": ["bernoulli", {"kind": "beta", "concentration": 2.0}]}})
    assert data["problem.reward"].values.tolist() == ["bernoulli", "beta concentration=2"]


@pytest.mark.slow
def test_plays_is_an_attribute_only_where_all_configurations_share_it():
    data = simulate({**PROBLEM, "plays": [1, 2]}, "ucb1")
    assert "plays" not in data.attrs
    np.testing.assert_array_equal(data.pulls.sum("arm").values[:, 0, 0], [40, 80])
    assert unsimulated().attrs["plays"] == 1


@pytest.mark.slow
def test_a_problem_object_with_a_grid_is_the_equal_table():
    grid = {"problem": {"penalties": [0.1, 0.7]}}
    one, other = (simulate(problem, HARD, grid=grid) for problem in (jb.Problem(**PROBLEM), PROBLEM))
    assert one.policy.values.tolist() == other.policy.values.tolist()
    np.testing.assert_array_equal(one.pulls, other.pulls)
    np.testing.assert_array_equal(one.penalized_regret_final, other.penalized_regret_final)
    with pytest.raises(jb.InputError, match=r"problem\.penaltes .did you mean 'penalties'"):
        simulate(jb.Problem(**PROBLEM), HARD, grid={"problem": {"penaltes": [0.1]}})


def test_what_a_problem_object_was_computed_from_varies_with_its_grid():
    table = {"means": [0.9, 0.5, 0.1], "penalties": {"gap_fraction": 0.5}}
    grid = {"problem": {"means": [[0.9, 0.5, 0.1], [0.6, 0.5, 0.4]]}}
    one, other = (unsimulated(problem, "ucb1", grid) for problem in (jb.Problem(**table), table))
    np.testing.assert_array_equal(one.penalties, other.penalties)
    np.testing.assert_allclose(one.penalties.values[:, 0, 0], [0.4, 0.1])
    drawn = jb.Problem({"random": "uniform", "arms": 3, "instances": 2}, key=3)
    keys = unsimulated(drawn, "ucb1", {"problem": {"key": [1, 3]}})
    np.testing.assert_array_equal(keys.means.values[1], drawn.means.T)
    assert not np.array_equal(keys.means.values[0], keys.means.values[1])


def test_a_key_of_the_problem_fixes_drawn_means():
    table = {"means": {"random": "uniform", "arms": 3, "instances": 2}}
    own = [simulate({**table, "key": 3}, "ucb1", key=key) for key in (0, 5)]
    np.testing.assert_array_equal(own[0].means, own[1].means)
    np.testing.assert_array_equal(own[0].means, jb.Problem(**table, key=3).means.T)
    assert not np.array_equal(own[0].pulls, own[1].pulls)  # rewards still follow the key of the simulation
    assert not np.array_equal(own[0].means, simulate(table, "ucb1", key=0).means)
    with pytest.raises(jb.InputError, match=r"^problem\.key = -1: must be an integer"):
        simulate({**table, "key": -1}, "ucb1")
    with pytest.raises(jb.InputError, match=r"^problem\.key = 3: must not be given: the means of the problem are not"):
        simulate({"means": [0.9, 0.5], "key": 3}, "ucb1")


@pytest.mark.parametrize(
    ("policies", "problem", "grid"),
    [
        (["ucb1", {**HARD, "penalties": [0.1, 0.7]}, "ucb1"], PROBLEM, {"problem": {"penalties": [0.2, 0.6]}}),
        (
            {"mine": {"kind": "fair-learn", "base": jb.policy("ucb1", exploration=1.0), "alpha": [0, 2.5]}},
            PROBLEM,
            None,
        ),
        (HARD, {**PROBLEM, "penalties": {"gap_fraction": [0.5, 2.0]}, "means": np.array([0.9, 0.8, 0.7])}, None),
        ([{**HARD, "penalties": np.array([0.1, 0.2, 0.3]), "exploration": [1, 2]}], jb.Problem(**PROBLEM), None),
        ([{**HARD, "exploration": [1, 2]}, {**HARD, "exploration": [2, 3]}], PROBLEM, None),
        ({"kind": "fair-learn", "base": {"kind": "ucb1", "exploration": [[1, 2, 3], [2, 2, 2]]}}, PROBLEM, None),
        ({"kind": "fair-learn", "base": jb.policy("ucb1", exploration=[1, 2, 3]), "alpha": (0, 1)}, PROBLEM, None),
    ],
)
def test_the_recorded_config_of_a_grid_gives_the_same_plan(policies, problem, grid):
    assert_recorded(problem, policies, grid, **SMALL)


@pytest.mark.slow
def test_the_recorded_config_of_a_grid_gives_the_same_results():
    policies, grid = ["ucb1", {**HARD, "penalties": [0.1, 0.7]}, "ucb1"], {"problem": {"penalties": [0.2, 0.6]}}
    data = simulate(PROBLEM, policies, grid=grid)
    made = configs.make_plan(tomllib.loads(data.attrs["config"]))
    again = dataset.dataset(made, engine.run(made), {})
    xr.testing.assert_identical(data.drop_attrs(), again.drop_attrs())


def test_a_second_grid_of_the_same_label_gets_a_number():
    data = unsimulated(policies=[{**HARD, "exploration": [1, 2]}, {**HARD, "exploration": [2, 3]}])
    assert data.family.values.tolist() == ["hard-threshold-ucb"] * 2 + ["hard-threshold-ucb #2"] * 2
    assert data.policy.values.tolist()[2] == "hard-threshold-ucb #2 (exploration=2)"


def test_set_makes_a_grid(tmp_path):
    text = """
[simulation]
horizon = 40
seeds = 3

[problem]
means = [0.9, 0.8, 0.7]
fractions = 0.1
penalties = 0.4

[[policies]]
kind = "hard-threshold-ucb"
"""
    (tmp_path / "config.toml").write_text(text)
    changes = ["grid.problem.penalties=[0.1,0.2]", "policies.0.exploration=[1.0,2.0]"]
    made = configs.make_plan(configs.load(tmp_path / "config.toml", changes)).configurations
    assert [tuple(configuration.point.values()) for configuration in made] == [
        (x, a) for x in (1.0, 2.0) for a in (0.1, 0.2)
    ]


ROWS = [np.array([0.1, 0.2, 0.7]), jnp.array([0.1, 0.2, 0.7]), (0.1, 0.2, 0.7), pd.Series([0.1, 0.2, 0.7])]


@pytest.mark.parametrize("values", [*ROWS, range(3)], ids=lambda values: type(values).__name__)
def test_an_array_a_tuple_or_a_range_is_a_grid_as_a_list_is(values):
    data = unsimulated(policies={**HARD, "penalties": values})
    np.testing.assert_array_equal(data["policies.penalties"], np.asarray(list(values), float))
    listed = unsimulated(policies={**HARD, "penalties": [float(value) for value in values]})
    assert data.policy.values.tolist() == listed.policy.values.tolist()


@pytest.mark.parametrize("row", ROWS, ids=lambda values: type(values).__name__)
def test_a_row_in_a_list_is_one_number_per_arm(row):
    policies = {**HARD, "penalties": [row]}
    (prepared,) = plan_and_config(PROBLEM, policies, SimulationSettings(**SMALL))[0].prepared
    (made,) = plan_and_config(PROBLEM, jb.policy(**HARD, penalties=row), SimulationSettings(**SMALL))[0].prepared
    np.testing.assert_allclose(prepared.penalties, [[0.1], [0.2], [0.7]], rtol=1e-6)
    np.testing.assert_array_equal(made.penalties, prepared.penalties)


def test_a_list_in_a_nested_base_is_a_grid():
    base = {"kind": "ucb1", "exploration": np.array([0.5, 1.0, 2.0])}  # as many as arms
    data = unsimulated(policies={"kind": "fair-learn", "alpha": [0, 5], "base": base})
    assert data.sizes["policy"] == 6
    assert jb.grids.parameters(data) == ["policies.alpha", "policies.base.exploration"]
    np.testing.assert_array_equal(data["policies.base.exploration"], [0.5, 1.0, 2.0] * 2)
    assert data.policy.values[1] == "fair-learn/ucb1 (alpha=0, base.exploration=1)"


@pytest.mark.parametrize(
    "policies", [jb.policy(**HARD, penalties=[0.1, 0.2]), {**HARD, "penalties": [[0.1, 0.2]]}], ids=["policy", "table"]
)
def test_a_row_of_the_wrong_length_tells_of_grids_and_of_arms(policies):
    words = (
        r"a number or 3 numbers, one per arm; in a table that is not in a list, \{penalties = \[...\]\} makes a grid"
    )
    with pytest.raises(jb.InputError, match=words):
        unsimulated(policies=policies)


@pytest.mark.parametrize(
    ("policies", "labels"),
    [
        (
            [jb.policy("fair-learn", base="ucb1"), jb.policy("fair-learn", base="thompson")],
            ["fair-learn (base=ucb1)", "fair-learn (base=thompson)"],
        ),
        (["lfg", {"kind": "lfg", "eta": 10}, jb.policy("lfg", eta=20)], ["lfg", "lfg (eta=10)", "lfg (eta=20)"]),
        (
            [jb.policy("fair-learn"), jb.policy("fair-learn", exploration=1.0), jb.policy("fair-learn", alpha=2)],
            [f"fair-learn (alpha={a}, exploration={c})" for a, c in ((0, 2), (0, 1), (2, 2))],
        ),
        ([{"kind": "lfg", "label": "mine"}, {"kind": "lfg", "eta": 10, "label": "mine"}], ["mine", "mine #2"]),
        (["ucb1", "ucb1", jb.policy("ucb1", exploration=1)], ["ucb1", "ucb1 #2", "ucb1 (exploration=1)"]),
        ([jb.policy(**HARD, penalties=[(i + 1) / 3] * 3) for i in range(2)], [HARD["kind"], f"{HARD['kind']} #2"]),
    ],
)
def test_policies_of_one_name_are_labelled_by_what_differs(policies, labels):
    assert unsimulated(policies=policies).policy.values.tolist() == labels


def test_labels_leave_out_the_rounding_of_floats():
    data = unsimulated(policies={**HARD, "penalties": [0.1 + 0.2, 1 / 3]})
    assert data.policy.values.tolist() == [
        f"{HARD['kind']} (penalties={text})" for text in ("0.3", "0.3333333333333333")
    ]
    np.testing.assert_array_equal(data["policies.penalties"], [0.1 + 0.2, 1 / 3])


def test_labels_tell_tables_apart():
    bases = ["kl-ucb", {"kind": "kl-ucb", "a": 3.0}, {"kind": "kl-ucb", "log_offset": 3.0}]
    rates = [{"gap_fraction": 0.5}, 0.5]
    given = {"problem": {"means": [0.9, 0.5], "fractions": 0.1}, "grid": {"problem": {"penalties": rates}}}
    data = unsimulated(policies={"kind": "fair-learn", "base": bases}, **given)
    assert data.policy.values[:2].tolist() == [
        "fair-learn (base=kl-ucb, problem.penalties={gap_fraction=0.5})",
        "fair-learn (base=kl-ucb, problem.penalties=0.5)",
    ]
    assert data.policy.values[2].item().startswith("fair-learn (base=kl-ucb a=3, ")
    with pytest.raises(jb.InputError, match=r"must be unique \(2 .*\): .*, or leave out what stands twice in a grid"):
        unsimulated(policies={"kind": "lfg", "eta": [1.0, 1]})


def test_keys_that_no_float_holds_stay_apart():
    drawn = {"means": {"random": "uniform", "arms": 3, "instances": 1}}
    data = unsimulated(problem=drawn, policies="ucb1", grid={"problem": {"key": [2**53, 2**53 + 1]}})
    assert data["problem.key"].values.tolist() == ["9007199254740992", "9007199254740993"]


def test_metrics_of_some_points_of_a_grid_only_are_left_out_with_a_warning():
    problem, grid = {"means": [0.9, 0.5]}, {"problem": {"availability": [1.0, 0.5]}}
    words = r"no awake_regret: at some points of the grid, awake_regret needs problem\.availability below 1$"
    with pytest.warns(UserWarning, match=words):
        data = unsimulated(problem, "ucb1", grid)
    assert "regret" in data
    assert "awake_regret" not in data
