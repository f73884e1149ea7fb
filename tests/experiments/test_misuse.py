"""Wrong arguments in Python: one `InputError` that names the argument, its value and the rule."""

import math
import re
from decimal import Decimal
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from made_up import MEANS, made_up, one

import jaxbandit as jb
from jaxbandit.core.prng import key_words
from jaxbandit.metrics.bounds.table import bounds_for
from jaxbandit.policies.base import Policy

PROBLEM = jb.Problem([0.9, 0.5, 0.1], fractions=0.1, penalties=0.3)
TABLE = {"means": [0.9, 0.5, 0.1], "fractions": 0.1, "penalties": 0.3}
SMALL = {"horizon": 20, "seeds": 2}


def simulate(problem=PROBLEM, policies="ucb1", **more):
    return jb.simulate(problem, policies, **{**SMALL, **more})


def tune(problem=PROBLEM, policy="hard-threshold-ucb", **more):
    return jb.tuning.tune(problem, policy, ["penalties"], **{**SMALL, "seeds": 8, "steps": 2, **more})


def batch(make):
    return jax.random.split(make(3), 4)


MISUSE = {
    "means for a problem": (
        lambda: simulate([0.9, 0.5]),
        "problem",
        'Problem([0.9, 0.5]), or a table, such as {"means"',
    ),
    "problems": (lambda: simulate([PROBLEM]), "problem", "one Problem"),
    "no problem": (lambda: simulate(None), "problem", "one Problem"),
    "a word for a problem": (lambda: simulate("quickstart"), "problem", "one Problem"),
    "no policies": (lambda: simulate(policies={}), "policies", "a policy, a list of at least one, or a mapping from"),
    "labels twice": (
        lambda: simulate(policies={1: "ucb1", "1": "fucb"}),
        "policies.label",
        "must be unique (2 policies",
    ),
    "a metric's name": (
        lambda: simulate(metrics="regret"),
        "simulation.metrics",
        'a list of names, such as ["regret"]',
    ),
    "a number of metrics": (lambda: simulate(metrics=5), "simulation.metrics", 'a list of names, such as ["regret"]'),
    "metrics in a list": (lambda: simulate(metrics=[["regret"]]), "simulation.metrics", "a list of names"),
    "keep a number": (lambda: simulate(keep=5), "keep", "the path of a folder"),
    "keep with NUL": (lambda: simulate(keep="a\0b"), "keep", "the path of a folder"),
    "keep too long": (lambda: simulate(keep="x" * 300), "keep", "the path of a folder"),
    "progress a word": (lambda: simulate(progress="yes"), "progress", "true or false"),
    "Index itself": (lambda: simulate(policies=jb.Index), "policies.kind", "a class with a method `value`"),
    "a Rule itself": (
        lambda: simulate(policies=jb.Rule()),
        "policies.kind",
        "a class with a method `value`",
    ),
    "Policy itself": (lambda: jb.policy(jb.Policy), "policies.kind", "a class with a method `select` or `choose`"),
    "no exploration": (lambda: jb.policy("ucb1", exploration=None), "policies.exploration", "a number >= 0"),
    "no p": (lambda: jb.Problem([0.9, 0.5], delay={"kind": "geometric", "p": None}), "problem.delay.p", "from 0 to 1"),
    "masked means": (
        lambda: jb.Problem(np.ma.array([0.5, 0.2], mask=[0, 1])),
        "problem.means",
        "without masked entries",
    ),
    "masked fractions": (
        lambda: jb.Problem([0.9, 0.5], fractions=np.ma.array([0.5, 0.2], mask=[0, 1])),
        "problem.fractions",
        "without masked entries",
    ),
    "NaN fractions": (lambda: jb.Problem([0.9], fractions=Decimal("nan")), "problem.fractions", "finite numbers"),
    "infinite fractions": (lambda: jb.Problem([0.9], fractions=Decimal("inf")), "problem.fractions", "finite numbers"),
    "a ratio by 0": (lambda: jb.Problem([0.9], fractions="1/0"), "problem.fractions", 'ratios such as "1/3"'),
    "many keys": (lambda: simulate(key=batch(jax.random.key)), "simulation.key", "take one, as key[0]"),
    "many old keys": (lambda: simulate(key=batch(jax.random.PRNGKey)), "simulation.key", "take one, as key[0]"),
    "bounds of no policy": (lambda: bounds_for(PROBLEM, "fair-lern", "r_regret"), "kind", "did you mean 'fair-learn'?"),
    "bounds of no metric": (lambda: bounds_for(PROBLEM, "fucb", "r-regrets"), "metric", "did you mean 'r_regret'?"),
    "bounds of no problem": (lambda: bounds_for([0.9, 0.5], "fucb", "r_regret"), "problem", "one Problem"),
    "a bound at no horizon": (lambda: BOUND.value(PROBLEM, "x", [1]), "horizon", "a whole number >= 1"),
    "a bound beyond T": (lambda: BOUND.value(PROBLEM, 100, [200]), "rounds", "whole numbers from 1 to T = 100"),
    "a bound between rounds": (lambda: BOUND.value(PROBLEM, 100, [1.5]), "rounds", "whole numbers from 1 to T = 100"),
    "tuning no problem": (lambda: tune([0.9, 0.5]), "problem", "one Problem"),
    "an optimizer's name": (lambda: tune(optimizer="adam"), "optimizer", "optax.adam(0.05)"),
    "a cold temperature": (lambda: tune(temperature=1e-300, estimator="relaxed"), "temperature", "a number >= 1e-6"),
    "no steps": (lambda: tune(learning_rate=0), "learning_rate", "a number > 0"),
    "tuning with words": (lambda: tune(progress="yes"), "progress", "true or false"),
    "a table of numbers": (lambda: jb.grids.table(pd.DataFrame()), "results", "the dataset that `simulate` returns"),
    "several slopes": (lambda: jb.instances.lower_bound_family(3, 100, c=[0.1, 0.2]), "c", "a number >= 0"),
}
BOUND = bounds_for(PROBLEM, "fair-learn", "r_regret")[0]


@pytest.mark.parametrize("case", MISUSE)
def test_a_wrong_argument_is_named(case):
    call, key, allowed = MISUSE[case]
    with pytest.raises(jb.InputError) as caught:
        call()
    assert caught.value.key == key
    assert allowed in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


HINTS = {
    "case": (lambda: jb.policy("UCB1"), "'ucb1'"),
    "dashes": (lambda: jb.policy("Fair_Learn"), "'fair-learn'"),
    "ts": (lambda: jb.policy("ts"), "'thompson'"),
    "Thompson sampling": (lambda: jb.policy("thompson-sampling"), "'thompson'"),
    "ucb": (lambda: jb.policy("UCB"), "'ucb1'"),
    "eps-greedy": (lambda: jb.policy("eps-greedy"), "'epsilon-greedy'"),
    "random": (lambda: jb.policy("random"), "'uniform-random'"),
    "normal": (lambda: jb.Problem([0.9], reward="normal"), "'gaussian'"),
    "exp": (lambda: jb.Problem([0.9], opportunity="exp"), "'softmax'"),
    "fraction": (lambda: jb.Problem([0.9], fraction=0.1), "'fractions'"),
    "mean": (lambda: jb.Problem(mean=[0.9]), "'means'"),
    "T": (lambda: jb.simulate(PROBLEM, "ucb1", T=9, seeds=2), "'horizon'"),
    "n_seeds": (lambda: jb.simulate(PROBLEM, "ucb1", horizon=9, n_seeds=2), "'seeds'"),
    "seed": (lambda: simulate(seed=3), "'key'"),
    "tune(lr=)": (lambda: tune(lr=0.1), "'learning_rate'"),
    "value_and_gradient(T=)": (lambda: jb.tuning.value_and_gradient(PROBLEM, "lfg", ["eta"], T=9), "'horizon'"),
    "bounds_for(policy=)": (lambda: bounds_for(PROBLEM, kid="fucb", metric="regret"), "'kind'"),
    "table(metric=)": (lambda: jb.grids.table(None, metric=["regret"]), "'metrics'"),
    "curves(metric=)": (lambda: jb.plots.curves(None, metric=["regret"]), "'metrics'"),
    "lower_bound_family(T=)": (lambda: jb.instances.lower_bound_family(2, T=100), "'horizon'"),
}


@pytest.mark.parametrize("case", HINTS)
def test_the_intended_name_is_suggested(case):
    call, name = HINTS[case]
    with pytest.raises(jb.InputError) as caught:
        call()
    assert f"(did you mean {name}?)" in str(caught.value)


def test_arrays_in_errors_are_shown_in_one_line():
    with pytest.raises(jb.InputError) as caught:
        jb.Problem(np.full((2, 2, 2), 0.5))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: simulate(policies={"kind": "ucb1", "exploration": x}),
        lambda x: simulate({"means": [x, 0.1]}),
        lambda x: simulate(horizon=x),
    ],
    ids=["parameter", "problem", "setting"],
)
def test_numbers_that_jax_traces_are_refused_with_a_way_out(call):
    with pytest.raises(jax.errors.TracerArrayConversionError) as error:
        jax.jit(call)(0.5)
    assert "`jb.tuning.value_and_gradient`" in "".join(error.value.__notes__)


@pytest.mark.parametrize(
    "fractions",
    [
        np.array([0.1, 0.2, 0.3], np.float32),
        jnp.array([0.1, 0.2, 0.3], jnp.float32),
        [np.float32(0.1), jnp.float32(0.2), 0.3],
        ["1/10", " 2 / 10", Fraction(3, 10)],
        pd.Series([0.1, 0.2, 0.3], index=[5, 6, 7]),
        (np.float16(0.1), Decimal("0.2"), 0.3),
    ],
)
def test_fractions_are_the_shortest_decimals_of_their_type(fractions):
    held = jb.Problem([0.9, 0.5, 0.1], fractions=fractions).fractions
    assert held.ravel().tolist() == [Fraction(1, 10), Fraction(1, 5), Fraction(3, 10)]


@pytest.mark.parametrize("make", [jax.random.key, jax.random.PRNGKey])
def test_keys_of_jax_are_read_as_their_two_words(make):
    key = jax.random.split(make(3))[1]
    data = np.asarray(jax.random.key_data(key) if make is jax.random.key else key)
    number = int(data[0]) << 32 | int(data[1])
    for words in (key_words(key), key_words(number)):
        assert [int(word[0]) for word in words] == data.tolist()
    assert key_words(make(3)) == key_words(3)


def test_every_word_of_a_long_key_counts():
    data = np.asarray(jax.random.key_data(jax.random.key(3, impl="rbg")))
    assert len(data) == 4
    changed = [data ^ (np.arange(4) == place).astype(np.uint32) for place in range(4)]
    keys = [jax.random.wrap_key_data(jnp.asarray(words), impl="rbg") for words in [data, *changed]]
    assert len({tuple(int(word[0]) for word in key_words(key)) for key in keys}) == 5


@pytest.mark.parametrize("number", [np.int64(2), jnp.int32(2), np.array(2), jnp.array(2)])
def test_whole_numbers_may_have_any_type(number):
    assert jb.Problem([0.9, 0.5], plays=number).plays == 2
    assert jb.Problem({"random": "uniform", "arms": number, "instances": number}).means.shape == (2, 2)
    assert jb.instances.lower_bound_family(number, 100).arms == 2


def test_whole_numbers_of_settings_may_be_written_as_floats():
    results = jb.simulate(jb.Problem([0.9, 0.5]), "ucb1", horizon=1e1, seeds=2.0, record=2, metrics=["regret"])
    assert (results["round"].values[-1], results.sizes["seed"]) == (10, 2)


def test_a_table_is_accepted_wherever_a_problem_is():
    assert bounds_for(TABLE, "fucb", "r_regret") == bounds_for(PROBLEM, "fucb", "r_regret")
    np.testing.assert_array_equal(BOUND.value(TABLE, 9, [3, 9]), BOUND.value(PROBLEM, 9, [3, 9]))
    made = jb.tuning.value_and_gradient(TABLE, {"kind": "lfg", "eta": 2.0}, ["eta"], horizon=20, seeds=8)
    assert math.isfinite(made.value)


@pytest.mark.parametrize("kind", ["fucb", "fair-learn", jb.policy("fucb"), jb.indices.UCB1()])
def test_bounds_find_a_policy_by_each_of_its_names(kind):
    metric = "regret" if isinstance(kind, jb.indices.UCB1) else "r_regret"
    assert len(bounds_for(jb.Problem([0.9, 0.5], fractions=0.1), kind, metric)) >= 1
    assert bounds_for(PROBLEM, "f-ts", "r_regret") == bounds_for(PROBLEM, "fair-learn/thompson", "r_regret")


@pytest.fixture(scope="module")
def results():
    """A grid over the problem's penalty rates: variables of the problem with a dimension `policy` and without."""
    points = [
        {**one(f"ucb1 (problem.penalties={rate})", "ucb1", "ucb1"), "point": {"problem.penalties": rate}}
        for rate in (0.2, 0.5)
    ]
    made = made_up([*points, "fucb"], [MEANS, MEANS[::-1]], seeds=3)
    return made.assign(penalties=made.penalties * xr.DataArray([0.2, 0.5, 0.5], dims="policy"))


@pytest.mark.parametrize("part", [{"policy": 2}, {"instance": 1}, {"policy": 2, "instance": 1}])
def test_results_of_one_selected_policy_or_instance_are_accepted(results, part):
    alone = results.isel(part)
    kept = results.isel({name: [place] for name, place in part.items()})
    pd.testing.assert_frame_equal(jb.grids.table(alone), jb.grids.table(kept))
    per = ["problem.penalties"]
    pd.testing.assert_frame_equal(jb.grids.best(alone, "regret", per=per), jb.grids.best(kept, "regret", per=per))
    for draw in (jb.plots.curves, jb.plots.pulls):
        one, other = (draw(data) for data in (alone, kept))
        for axes in zip(
            *([axis for axis in figure.axes if axis.get_visible()] for figure in (one, other)), strict=True
        ):
            lines = [[np.asarray(line.get_ydata()).tolist() for line in axis.lines] for axis in axes]
            assert lines[0] == lines[1]
            assert axes[0].lines or axes[0].containers


def test_a_missing_dimension_is_asked_for(results):
    with pytest.raises(
        jb.InputError, match=r"results = .* must have the dimension 'round' .*; results\.isel\(round=\[0\]\) keeps"
    ):
        jb.grids.table(results.isel(round=-1))


# Names of classes


def define(family, name, module="a_notebook", qualname="Mine", **more):
    """A class, defined as in a notebook's cell."""

    def value(self, state, now):
        return now.mean

    body = {"value": value, "__module__": module, "__qualname__": qualname}
    return type(family)(qualname, (family,), body, name=name, **more)


FAMILIES = {
    jb.Index: "ucb1",
    jb.Reward: "bernoulli",
    jb.Delay: "fixed",
    jb.Merit: "power",
    jb.Opportunity: "linear",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_name_belongs_to_one_class(family, monkeypatch):
    name = FAMILIES[family]
    monkeypatch.setattr(family, "registry", dict(family.registry))
    theirs = family.registry[name]
    with pytest.raises(jb.InputError, match=rf"Mine\.name = '{name}': .*override=True"):
        define(family, name)
    assert family.registry[name] is theirs
    mine = define(family, name, override=True)
    assert family.registry[name] is mine
    again = define(family, name)  # the cell is run again
    assert family.registry[name] is again
    with pytest.raises(jb.InputError, match="override=True"):
        define(family, name, qualname="Other")


def test_an_alias_is_a_name_too():
    with pytest.raises(jb.InputError, match="'fucb' is an alias"):
        define(jb.Index, "fucb")
    assert "fucb" in Policy.registry


@pytest.mark.parametrize("name", [5, "", b"x", "a\nb"])
def test_a_name_is_a_string(name):
    with pytest.raises(jb.InputError, match=r"Mine\.name = .*: must be a printable string"):
        define(jb.Index, name)
    assert all(isinstance(known, str) for known in Policy.registry)


def test_a_mean_that_somebody_has_made_nan_is_not_left_out(results):
    edited = results.copy(deep=True)
    edited.regret.values[1, 0, -1] = np.nan
    label = re.escape(str(results.policy.values[1]))
    with pytest.raises(jb.InputError, match=rf'= "NaN at T for policy .{label}.": must be numbers for all compared'):
        jb.grids.best(edited, "regret", per=[])
    assert jb.grids.best(edited, "max_deficit", per=[]) is not None
