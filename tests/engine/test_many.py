"""Configurations of a grid, simulated as more rows of one program, against each of them simulated alone."""

import copy

import jax.numpy as jnp
import numpy as np
import pytest
from harness import DISTINCT
from jax import lax
from sweeps import every

import jaxbandit as jb
from jaxbandit.engine import rollout
from jaxbandit.engine import simulation as engine
from jaxbandit.engine.host import fingerprint
from jaxbandit.engine.plan import make_plan
from jaxbandit.engine.settings import Configuration, SimulationSettings
from jaxbandit.experiments import dataset
from jaxbandit.experiments.configs import config as configs

MEANS = [[0.3, 0.6, 0.5, 0.8], [0.9, 0.2, 0.4, 0.45]]
FAIR = {"means": MEANS, "fractions": [0.1, 0.05, 0.2, 0.15], "penalties": 0.3}
MERIT = {"means": MEANS, "merit": {"kind": "power", "scale": 0.7}}
TRANSFER = {"means": MEANS, "penalties": 0.3, "opportunity": "softmax"}
EVERYTHING = {**FAIR, **MERIT, **TRANSFER}

# Three values of each parameter, whole numbers among them
NUMBERS = {
    "a": [0, 0.5, 3.0],
    "alpha": [0.3, 2, 0.75],
    "b": [1, 0.5, 2],
    "beta": [0.3, 0.5, 2],
    "c": [0.5, 1, 2],
    "decay": [0, 0.3333, 1],
    "delta": [0.05, 1, 0.5],
    "discount": [0.9, 1, 0.99],
    "mix": [0, 0.2, 0.5],
    "eps": [0.05, 0.5, 1],
    "eta": [0, 0.7, 20],
    "exploration": [0.3, 2, 4],
    "lipschitz": [0.1, 0.5, 1],
    "log_offset": [0, 1, 0.5],
    "merit": [{"kind": "power", "scale": scale, "exponent": 2} for scale in (0, 0.5, 2)],
    "penalties": [0, 0.3, 0.7],
    "rounds_per_arm": [1, 3.5, 7],
}


def numbers_of(kind):
    """The parameters of a policy and of its index that take numbers."""
    known = {name for part in jb.policy(kind).nested_policies() for name in part.parameters()}
    return sorted(known - {"base", "black_box", "sd"})  # Thompson's sd is for Gaussian rewards


NUMERIC = [kind for kind in DISTINCT if set(numbers_of(kind)) <= set(NUMBERS)]  # all parameters are numbers


def simulated(problem, policies, grid=None, horizon=150, seeds=5, **setting):
    """A simulation that a config describes, and its results."""
    given = {"horizon": horizon, "seeds": seeds, "record": 10, **setting}
    config = {"simulation": given, "problem": problem, "policies": policies}
    simulation = configs.make_plan(config if grid is None else {**config, "grid": grid})
    return simulation, dataset.dataset(simulation, engine.run(simulation), {})


def assert_same(row, alone):
    """A policy's row of a grid's results holds what it gives alone, bit for bit, in the metrics of all points."""
    for name in [name for name in alone.data_vars if name in row or not name.startswith("awake_regret")]:
        mine, own = row[name], alone[name].values
        per_policy = "policy" in mine.dims and "policy" not in alone[name].dims  # a fact that the grid varies
        np.testing.assert_array_equal(mine.values[0] if per_policy else mine.values, own, err_msg=name)


def assert_points(kind, problem=EVERYTHING, **setting):
    """Three points over all parameters of a policy at once: one stack, and each point as it is alone."""
    names = numbers_of(kind)
    tables = [
        {"kind": kind, "label": label, **{name: NUMBERS[name][i] for name in names}} for i, label in enumerate("abc")
    ]
    simulation, many = simulated(problem, tables, **setting)
    assert [stack.configurations for stack in simulation.stacks] == [(0, 1, 2)]
    for table in tables:
        assert_same(many.sel(policy=[table["label"]]), simulated(problem, [table], **setting)[1])
    if names and kind not in ("constant-opportunity", "self-regulated"):  # whose box comes late
        assert not np.array_equal(many.pulls[0], many.pulls[2])


@pytest.mark.slow
def test_points_of_a_grid_are_as_alone():
    assert_points("hard-threshold-ucb", FAIR, metrics=["regret", "unfairness"])


@pytest.mark.parametrize(  # seeds as lanes, and a run a cell
    ("kind", "seeds"),
    every([*((kind, 20) for kind in NUMERIC), ("hard-threshold-ucb", 5), ("fcts-d", 5), ("lfg", 5)], 17),
)
def test_points_of_many_policies_are_as_alone(kind, seeds):
    problem = EVERYTHING
    if kind == "constant-opportunity":
        problem = {**EVERYTHING, "opportunity": {"kind": "constant", "gamma": 0.02}}
    assert_points(kind, problem, seeds=seeds, horizon=400)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["thompson", "f-ts"])
def test_points_of_gaussian_thompson_are_as_alone(kind):
    problem = {**FAIR, "reward": {"kind": "gaussian", "sd": 0.5}}
    tables = [{"kind": kind, "label": str(sd), "sd": sd} for sd in (1, 0.5, 2.0)]
    simulation, many = simulated(problem, tables)
    assert len(simulation.stacks) == 1
    for table in tables:
        assert_same(many.sel(policy=[table["label"]]), simulated(problem, [table])[1])


def put(problem, key, value):
    """The problem with `value` under a dotted key."""
    changed = copy.deepcopy(problem)
    *path, last = key.split(".")
    table = changed
    for part in path:
        held = table.get(part, {})
        table[part] = {"kind": held} if isinstance(held, str) else held
        table = table[part]
    table[last] = value
    return changed


def assert_grid(key, values, problem, kind, stacks, **setting):
    grid = {"problem": put({}, key, values)}
    simulation, many = simulated(problem, [{"kind": kind}], grid, **setting)
    assert len(simulation.stacks) == stacks
    assert many.sizes["policy"] == len(values)
    for i, value in enumerate(values):
        assert_same(many.isel(policy=[i]), simulated(put(problem, key, value), [{"kind": kind}], **setting)[1])


GAUSSIAN, BARE = {**FAIR, "reward": "gaussian"}, {"means": MEANS, "fractions": 0.1}
LATE = {**FAIR, "delay": {"kind": "geometric", "p": 0.5}}
# Key, values, problem, policy, and stacks: 1, but where an availability of 1, the reach of a calendar, an exponent or L
# make another program
OVER_PROBLEMS = [
    ("penalties", [0, 0.25, [0.1, 0.2, 0.3, 0.4]], FAIR, "hard-threshold-ucb", 1),
    ("penalties", [0.1, [[0.1, 0.2, 0.3, 0.4], [0.5, 0.2, 0.3, 0.4]]], FAIR, "soft-threshold-ucb", 1),
    ("penalties.gap_fraction", [0.1, 0.5, 2], BARE, "soft-threshold-ucb", 1),
    ("fractions", [0.05, 0.1, [0.1, 0.05, 0.2, 0.15]], FAIR, "fair-learn", 1),
    *(("fractions", [0.05, 0.1, 0.2], FAIR, kind, 1) for kind in ("lfg", "naive", "fair-mmab", "ucb-lp", "t-fucb")),
    ("fractions", [0.05, 0.1, 0.2], FAIR, "fair-random", 1),
    ("availability", [0.5, 0.7, 1.0], FAIR, "eta-fucb", 2),
    ("means", [MEANS, [[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]]], FAIR, "kl-ucb", 1),
    ("reward.sd", [0.1, 1, 2.5], GAUSSIAN, "ucb1", 1),
    ("reward.sd", [0.1, 1, 2.5], GAUSSIAN, "thompson", 1),
    ("reward.concentration", [0.5, 1, 2.5], {**FAIR, "reward": "beta"}, "ucb-v", 1),
    ("reward.width", [0.1, 0.2, 0.05], {**FAIR, "reward": "uniform"}, "thompson", 1),
    ("delay.p", [0.1, 0.12, 1.0], LATE, "fair-learn", 2),
    ("delay.p", [0.1, 0.5, 1.0], {**FAIR, "delay": "packet-loss"}, "f-ts", 1),
    ("delay.d", [0, 4, 5], {**FAIR, "delay": "fixed"}, "ucb1", 2),
    ("delay.alpha", [0.5, 1.5], {**FAIR, "delay": "pareto"}, "ucb1", 1),
    ("merit.scale", [0, 0.5, 2], MERIT, "fcucb-d", 1),
    ("merit.scale", [0, 0.5, 2], MERIT, "fcts-d", 1),
    ("merit.exponent", [2.0, 4, 3.5], MERIT, "fgreedy-d", 3),
    ("opportunity.c", [0, 1, 2.5], TRANSFER, "self-regulated", 1),
    ("opportunity.c", [0, 1, 2.5], TRANSFER, "fairness-aware-etc", 1),
    ("opportunity.scale", [0.5, 1, 2.5], {**TRANSFER, "opportunity": "piecewise-linear"}, "self-regulated", 1),
    ("opportunity.gamma", [0.02, 0.03], {**TRANSFER, "opportunity": "constant"}, "constant-opportunity", 1),
    ("plays", [1, 2, 3], BARE, "fair-mmab", 3),
    ("plays", [1, 2], MERIT, "op-fcucb-d", 2),
]


@pytest.mark.slow
def test_a_grid_over_fractions_and_means_is_as_alone():
    assert_grid("fractions", [0.05, [0.1, 0.05, 0.2, 0.15]], FAIR, "fair-learn", 1)


@pytest.mark.parametrize(("key", "values", "problem", "kind", "stacks"), every(OVER_PROBLEMS, 7))
def test_a_grid_over_the_problem_is_as_alone(key, values, problem, kind, stacks):
    assert_grid(key, values, problem, kind, stacks)


@pytest.mark.slow
@pytest.mark.parametrize(("problem", "kind"), [(FAIR, "fair-learn"), (GAUSSIAN, "ucb-v")])
def test_a_grid_over_delays_is_as_alone(problem, kind):
    """Late rewards are summed in the same order, whatever the length of the calendar."""
    assert_grid("delay.d", [3, 20, 100], {**problem, "delay": "fixed"}, kind, 1, seeds=20)


def test_short_calendars_are_shared():
    """One program serves all delays whose calendar takes at most 4096 numbers, here 1024 rounds of four arms."""
    problem = {"means": MEANS, "delay": "fixed"}
    config = {
        "simulation": {"horizon": 5000, "seeds": 2},
        "problem": problem,
        "policies": [{"kind": "ucb1"}, {"kind": "thompson"}],
        "grid": {"problem": {"delay": {"d": [20, 0, 3, 1000, 1500, 3000, 1600]}}},
    }
    stacks = configs.make_plan(config).stacks
    found = [(type(one.policy).__name__, len(one.configurations), one.world.calendar_rounds) for one in stacks]
    assert sorted(found) == [
        (name, *part) for name in ("Thompson", "UCB1") for part in [(1, 1), (1, 4096), (2, 2048), (3, 1024)]
    ]
    del config["grid"]
    assert [one.world.calendar_rounds for one in configs.make_plan(config).stacks] == [1, 1]
    other = {**config, "problem": {**problem, "delay": {"kind": "fixed", "d": 20}}}
    assert [one.world.calendar_rounds for one in configs.make_plan(other).stacks] == [32, 32]


def test_a_grid_is_one_program_whatever_its_numbers():
    def simulate(values):
        tables = [{"kind": "hard-threshold-ucb", "exploration": values, "penalties": [0.1, 0.5]}]
        return simulated({**FAIR, "penalties": values[0]}, tables)[0]

    before = rollout.compiled()._cache_size()
    assert simulate([0.1 + 0.2 * i for i in range(20)]).stacks[0].rows == 80
    assert rollout.compiled()._cache_size() == before + 1
    simulate([1.1 + 0.1 * i for i in range(20)])
    assert rollout.compiled()._cache_size() == before + 1


class Alone(jb.Index):
    """An index whose branch needs one number, not one a run."""

    lift: float = 0.0

    def value(self, state, now):
        return lax.cond(self.lift > 0.5, lambda: now.mean + self.lift / now.samples, lambda: now.mean)


class AloneFromTheStart(jb.Index):
    """The same where its state is made."""

    lift: float = 0.0

    def init(self, world, shape):
        return lax.cond(self.lift > 0.5, lambda: jnp.ones(shape), lambda: jnp.zeros(shape))

    def value(self, state, now):
        return now.mean + state / now.samples


def of_instances(*policies):
    configurations = [Configuration(str(number), policy, str(number)) for number, policy in enumerate(policies)]
    simulation = make_plan(jb.Problem(**FAIR), configurations, SimulationSettings(150, 5, record=10))
    return simulation, dataset.dataset(simulation, engine.run(simulation), {})


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Alone, AloneFromTheStart])
def test_a_policy_that_takes_numbers_only_is_simulated_entry_by_entry(kind):
    policies = [kind(lift=0.0), kind(lift=1.0), kind(lift=3.0)]
    simulation, many = of_instances(*policies, jb.policy("ucb1"))
    assert [stack.configurations for stack in simulation.stacks] == [(0,), (1,), (2,), (3,)]
    programs = rollout.compiled()._cache_size()
    for i, policy in enumerate(policies):
        assert_same(many.isel(policy=[i]), of_instances(policy)[1])
    assert rollout.compiled()._cache_size() == programs  # one for all
    assert not np.array_equal(many.pulls[0], many.pulls[2])


class Branching(jb.Index):
    """No program can be made of it: it asks for the value of a number that is not there yet."""

    lift: float = 0.0

    def value(self, state, now):
        return now.mean + self.lift if self.lift > 0 else now.mean


def test_a_policy_that_cannot_be_compiled_says_so():
    with pytest.raises(Exception, match="boolean conversion of traced"):
        of_instances(Branching(lift=0.0), Branching(lift=1.0))


def test_the_digest_of_a_run_knows_all_that_metrics_ask_of_the_problem():
    def digest(**changes):
        problem = {**TRANSFER, **changes}
        config = {"simulation": {"horizon": 9, "seeds": 2}, "problem": problem, "policies": [{"kind": "ucb1"}]}
        return fingerprint.digest(configs.make_plan(config))

    made = [digest(), digest(opportunity="linear"), digest(penalties=0.2), digest(fractions=0.1), digest(plays=2)]
    assert len(set(made)) == len(made)
    assert digest() == made[0]
