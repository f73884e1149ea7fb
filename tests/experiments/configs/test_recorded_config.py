"""The config in the attributes of results gives the same runs, whatever types the arguments had."""

import tomllib
from decimal import Decimal
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from plans import assert_recorded

import jaxbandit as jb
from jaxbandit.engine import simulation as engine
from jaxbandit.experiments.configs import config

MEANS = [[0.9, 0.5, 0.1], [0.2, 0.3, 0.4], [0.5, 0.6, 0.7]]  # J = K: rows and columns are easily confused
ROWS = np.array([[0.0, 0.1, 0.25], [0.3, 0.0, 0.1], [0.1, 0.2, 0.0]])
THIRD = Fraction(1, 3)
LONG = Decimal("0.1234567890123456789")  # no float is it
SINGLE = np.float32(0.1)  # 0.1 as it prints, 0.10000000149 as a float64


class Eager(jb.Index, name="recorded-eager"):
    """A policy of a user."""

    weight: float = 1.0

    def value(self, state, now):
        return now.mean + self.weight / now.samples


class Scaled(jb.Reward, name="recorded-scaled"):
    """A reward of a user."""

    top: float = 1.0

    def draw(self, mean, random):
        return mean * self.top * random.uniform(mean.shape[0])


del jb.Reward.registry["recorded-scaled"]  # other tests know which names there are


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(jb.Reward.registry, "recorded-scaled", Scaled)


def owing(**more):
    return jb.Problem(MEANS, **{"fractions": 0.1, "penalties": 0.2, **more})


HARD = "hard-threshold-ucb"
CASES = {
    "rows of a problem": (
        jb.Problem(
            MEANS,
            fractions=ROWS,
            penalties=3 * ROWS,
            availability=1 - ROWS,
            delay={"kind": "geometric", "p": ROWS + 0.1},
            reward={"kind": "gaussian", "sd": ROWS + 0.1},
        ),
        HARD,
    ),
    "rows of a policy": (owing(), jb.policy(HARD, penalties=9 * ROWS)),
    "rows in a policy's table": (owing(), {"kind": HARD, "penalties": jnp.asarray(9 * ROWS)}),
    "a grid over rows": (owing(), {"kind": HARD, "penalties": [9 * ROWS, [1, 2, 3], SINGLE, (0.1, 0.2, 0.3)]}),
    "numbers of every kind in a grid": (
        owing(),
        {"kind": HARD, "penalties": pd.Series([0.1, 2.0, 3.0]), "exploration": [SINGLE, jnp.float32(0.7), THIRD, LONG]},
    ),
    "fractions of every kind": (owing(fractions=[Fraction(1, 7), LONG, SINGLE]), ["fucb", "lfg"]),
    "a third": (owing(fractions=THIRD), "fucb"),
    "fractions in a table": ({"means": MEANS, "fractions": [Fraction(1, 7), LONG, SINGLE], "penalties": SINGLE}, HARD),
    "fractions in float32": ({"means": MEANS, "fractions": jnp.array([0.1, 0.2, 0.3]), "penalties": 0.1}, "fucb"),
    "numbers read exactly": (
        owing(),
        [
            jb.policy("fair-learn", alpha=THIRD),
            jb.policy("fair-learn", alpha=[THIRD, SINGLE, 1]),
            {"kind": "fair-learn", "alpha": [THIRD, 0.5]},
            {"kind": "lfg", "eta": [{"scale": THIRD, "horizon_power": Fraction(1, 2)}, 2.0]},
        ],
    ),
    "aliases, twice": (owing(), ["fucb", "f-ts", "mp-ts-d", "fucb"]),
    "bases": (
        owing(),
        [
            jb.policy("fair-learn", base="thompson", alpha=2.0),
            jb.policy("fair-learn", base=jb.policy("kl-ucb", a=1.0)),
            jb.policy("lfg", base=jb.policy(HARD, base="thompson", penalties=[0.1, 0.2, 0.3])),
            jb.policy(HARD, base=jb.policy("soft-threshold-ucb", penalties=0.7)),
        ],
    ),
    "a grid over bases": (
        owing(),
        {"kind": "fair-learn", "base": [jb.policy("kl-ucb", a=1.0), "thompson"], "alpha": [0.0, 1.0]},
    ),
    "classes of the user's": (
        lambda: owing(reward=Scaled(top=0.5)),  # drawn from, when it is made
        {
            "x": jb.policy("fair-learn", base=Eager, weight=3.0),
            "y": Eager,
            "z": {"kind": "recorded-eager", "weight": [1, 2]},
        },
    ),
    "merit": (owing(merit={"kind": "power", "scale": SINGLE}), ["fcucb-d", jb.policy("fcucb-d", merit="power")]),
    "a share read exactly": (
        jb.Problem([0.9, 0.5, 0.1], penalties=0.1, opportunity={"kind": "constant", "gamma": THIRD}),
        "self-regulated",
    ),
    "tables of delays": (
        {"means": [0.9, 0.5], "delay": {"kind": "empirical", "table": np.array([[1, 2], [3, 40]])}},
        "ucb1",
    ),
    "delays by reward": (
        owing(delay={"kind": "reward-dependent", "one": {"kind": "fixed", "d": np.array([1, 2, 3])}, "zero": "pareto"}),
        "ucb1",
    ),
    "one arm": (jb.Problem([[0.9], [0.2], [0.1]], fractions=[[0.1], [0.2], [0.3]], penalties=0.2), HARD),
    "means that were drawn": (jb.Problem({"random": "uniform", "arms": 3, "instances": 3}, key=7), "thompson"),
    "means to draw": ({"means": {"random": "uniform", "arms": np.int64(3), "high": np.float32(0.7)}}, "thompson"),
}


SMALL = {"horizon": 40, "seeds": 3, "record": 3}


@pytest.mark.filterwarnings("ignore:c_regret grows")
@pytest.mark.parametrize("case", CASES)
def test_the_recorded_config_plans_the_same_runs(case):
    problem, policies = CASES[case]
    assert_recorded(problem() if callable(problem) else problem, policies, key=3, **SMALL)


@pytest.mark.slow
def test_the_recorded_config_gives_the_same_runs():
    results = jb.simulate(owing(), ["ucb1", {"kind": HARD, "penalties": [0.1, (0.1, 0.2, 0.3)]}], key=3, **SMALL)
    made = config.make_plan(tomllib.loads(results.attrs["config"]))
    assert [configuration.label for configuration in made.configurations] == results.policy.values.tolist()
    np.testing.assert_array_equal(engine.run(made).each(lambda block: block.pulls), results.pulls)


KEYS = {
    "a large one": np.uint64(2**63 + 5),
    "jax": lambda: jax.random.split(jax.random.key(5))[0],
    "old": lambda: jax.random.split(jax.random.PRNGKey(5))[1],
    "rbg": lambda: jax.random.key(5, impl="rbg"),
}


@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_every_type_are_recorded(kind):
    key = KEYS[kind]() if callable(KEYS[kind]) else KEYS[kind]
    means = {"means": {"random": "uniform", "arms": 3}}
    assert_recorded(means, "thompson", key=key, **SMALL)


@pytest.mark.filterwarnings("ignore:c_regret grows")
def test_a_grid_over_the_problem_is_recorded():
    axes = {"fractions": [THIRD, [Fraction(1, 7), 0.1, 0.2], SINGLE], "penalties": np.array([0.5, 2.0], np.float32)}
    assert_recorded({"means": MEANS}, ["fucb", HARD], {"problem": axes}, **SMALL)


@pytest.mark.parametrize(
    "record",
    [np.array([3, 9]), pd.Series([3, 9]), range(3, 10, 6), (3, 9), jnp.array([3, 9]), [np.int64(3), np.int8(9)]],
)
def test_settings_may_have_any_numeric_type(record):
    numbers = {"horizon": np.int64(40), "seeds": jnp.int32(3), "block": np.array(2), "key": jnp.uint32(7)}
    recorded = assert_recorded(owing(), HARD, record=record, metrics=np.array(["regret"]), **numbers)["simulation"]
    assert recorded == {"horizon": 40, "seeds": 3, "key": 7, "record": [3, 9], "metrics": ["regret"]}


def test_a_config_with_an_unregistered_class_is_refused_when_it_is_read():
    class Nameless(jb.Index):
        def value(self, state, now):
            return now.mean

    with pytest.raises(jb.InputError, match=r"policies\[0\]\.kind = 'Nameless': must be one of"):
        assert_recorded(owing(), Nameless(), **SMALL)


def test_rows_keep_their_order():
    """As many instances as arms: a transposed table would have the same shape."""
    problem = jb.Problem([MEANS[0]] * 3, fractions=0.3)
    dear = np.array([[0.0, 0.0, 5.0], [5.0, 0.0, 0.0], [0.0, 5.0, 0.0]])
    recorded = assert_recorded(problem, jb.policy(HARD, penalties=dear), **SMALL)
    assert recorded["policies"][0]["penalties"] == [dear.tolist()]


@pytest.mark.filterwarnings("ignore:c_regret grows")
@pytest.mark.parametrize("given", [THIRD, LONG, [THIRD, LONG, SINGLE]])
def test_fractions_are_recorded_exactly(given):
    problem = jb.Problem(MEANS, fractions=given)
    for one in (problem, {"means": MEANS, "fractions": given}):
        recorded = assert_recorded(one, "ucb1", **SMALL)
        assert config.make_plan(recorded).problem.fractions.ravel().tolist() == problem.fractions.ravel().tolist()
