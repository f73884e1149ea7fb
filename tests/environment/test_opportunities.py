"""The fairness functions: values, the range over a box, Lipschitz constants, and what is refused."""

import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference_transfer
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxbandit as jb
from jaxbandit.environment.opportunities import Opportunity, share_bounds

K = 4
KINDS = [
    {"kind": "zero"},
    {"kind": "uniform"},
    {"kind": "linear"},
    {"kind": "softmax"},
    {"kind": "softmax", "c": 7.0},
    {"kind": "softmax", "c": -3.0},
    {"kind": "power", "c": 3.0},
    {"kind": "power", "c": 0.5},
    {"kind": "constant", "gamma": 0.2},
    {"kind": "piecewise-linear", "scale": 2.0, "eps": 0.3},
]
unit = st.floats(0, 1, allow_subnormal=False)
cubes = st.lists(st.tuples(unit, unit), min_size=K, max_size=K)


class Shy(Opportunity, name="shy"):
    """Falls with the best of the others; a user's own, that knows its Lipschitz constant and not its range."""

    weight: float = 0.5

    def value(self, mu):
        arms = jnp.arange(len(mu)).reshape(-1, *[1] * (mu.ndim - 1))
        top = jnp.sort(mu, axis=0)
        best = jnp.argmax(mu, axis=0)[None] == arms
        rival = jnp.where(best, top[-2], top[-1])
        return self.weight * mu * (1.0 - rival) / len(mu)

    def lipschitz(self, arms):
        return 2.0 * self.weight  # |df_k| <= w (|dmu_k| + |drival|) / K, summed over k


del Opportunity.registry["shy"]  # only for this file


def made(spec, arms=K):
    return jb.Problem(np.linspace(0.1, 0.9, arms), opportunity=spec).opportunity


def column(values):
    return np.asarray(values, np.float32)[:, None]


@pytest.mark.parametrize("spec", KINDS, ids=str)
@given(mu=st.lists(unit, min_size=K, max_size=K))
@settings(deadline=None, max_examples=30)
def test_values_are_the_papers(spec, mu):
    f = made(spec)
    given = {name: value for name, value in spec.items() if name != "kind"}
    expected = [float(x) for x in reference_transfer.plain(spec["kind"], K, **given).value(mu)]
    np.testing.assert_allclose(np.asarray(f.value(jnp.asarray(mu)))[:K], expected, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(f.values_float64(np.array(mu)[:, None])[:, 0], expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("spec", KINDS, ids=str)
@given(cube=cubes)
@settings(deadline=None, max_examples=40)
def test_bounds_are_exact(spec, cube):
    """Nothing in the box lies outside the bounds, and both are reached: at corners, where all of these are extreme."""
    f = made(spec)
    low, high = (column([pick(ends) for ends in cube]) for pick in (min, max))
    least, most = (np.asarray(x)[:, 0] for x in f.bounds(jnp.asarray(low), jnp.asarray(high)))
    grid = np.array(list(itertools.product(np.linspace(0, 1, 5), repeat=K))).T  # a dense search; 16 corners among it
    values = f.values_float64(low + grid * (high.astype(float) - low))
    np.testing.assert_allclose(values.min(axis=1), least, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(values.max(axis=1), most, rtol=2e-5, atol=2e-6)


def test_softmax_bounds_where_exponentials_overflow():
    f = made({"kind": "softmax", "c": 500.0}, arms=3)
    least, most = f.bounds(column([0.0, 0.3, 0.9]), column([1.0, 0.3, 0.9]))
    np.testing.assert_allclose(least[:, 0], [0, 0, 0], atol=1e-7)
    np.testing.assert_allclose(most[:, 0], [1, 0, 1], atol=1e-7)


@pytest.mark.parametrize("spec", [s for s in KINDS if s != {"kind": "power", "c": 0.5}] + [Shy()], ids=str)
@given(cube=cubes)
@settings(deadline=None, max_examples=60)
def test_lipschitz_constants_hold(spec, cube):
    f = made(spec)
    x, y = (np.array([pick(ends) for ends in cube])[:, None] for pick in (min, max))
    change = np.abs(f.values_float64(x) - f.values_float64(y)).sum()
    assert change <= f.lipschitz(K) * np.abs(x - y).sum() * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("arms", [2, 3, 6])
@pytest.mark.parametrize("c", [0.3, 1.0, 6.0, -2.0])
def test_softmax_lipschitz_constant_is_the_least(arms, c):
    """The largest column sum of the derivative over a dense set of means, the cube's corners among it."""
    f = made({"kind": "softmax", "c": c}, arms)
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.uniform(size=(20000, arms)), list(itertools.product([0.0, 1.0], repeat=arms))])
    line = np.stack([np.concatenate([np.linspace(0, 1, 2001)])] + [np.zeros(2001)] * (arms - 1), axis=1)
    p = f.values_float64(np.concatenate([points, line, 1 - line]).T)
    assert 2 * abs(c) * (p * (1 - p)).max() == pytest.approx(f.lipschitz(arms), rel=1e-3)


@given(cube=cubes)
@settings(deadline=None, max_examples=60)
def test_a_safe_range_holds_the_whole_box(cube):
    f = Shy()
    low, high = (column([pick(ends) for ends in cube]) for pick in (min, max))
    least, most = (np.asarray(x)[:, 0] for x in share_bounds(f, f.lipschitz(K), jnp.asarray(low), jnp.asarray(high)))
    inside = f.values_float64(low + np.random.default_rng(0).uniform(size=(K, 200)) * (high.astype(float) - low))
    assert np.all(inside >= least[:, None] - 1e-6)
    assert np.all(inside <= most[:, None] + 1e-6)


def test_constants_are_exact():
    assert made("uniform", 3).constant_shares(3) == [Fraction(1, 3)] * 3
    assert made({"kind": "constant", "gamma": 0.07}).constant_shares(K) == [Fraction(7, 100)] * K
    assert made("linear").constant_shares(K) is None


def test_numbers_of_softmax_compile_nothing_new():
    compiled = jax.jit(lambda f, mu: f.value(mu))
    for c in (0.5, 1.0, 2.0):
        compiled(made({"kind": "softmax", "c": c}), column([0.1, 0.2, 0.3, 0.4]))
    assert compiled._cache_size() == 1


class Greedy(Opportunity):
    def value(self, mu):
        return mu


class Negative(Opportunity):
    def value(self, mu):
        return mu - 0.5


class Flat(Opportunity):
    def value(self, mu):
        return mu[0]


class Broken(Opportunity):
    def value(self, mu):
        return mu / jnp.sum(mu, axis=0, keepdims=True)  # 0/0 at 0


class OfAllRuns(Opportunity):
    def value(self, mu):
        return 0.5 * mu / (jnp.sum(mu) + 0.01)


class OfTheLargest(Opportunity):
    def value(self, mu):
        return 0.2 * mu / jnp.maximum(jnp.max(mu), 0.1)


class OfTheBatch(Opportunity):
    def value(self, mu):
        return 0.2 * mu / mu.shape[-1]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (
            OfAllRuns(),
            r"a function of one run's means: reduce over axis 0, the arms, only; at the means \[",
        ),
        (OfTheLargest(), r"a function of one run's means: reduce over axis 0, the arms, only; at the means \["),
        (OfTheBatch(), r"a function of one run's means: reduce over axis 0, the arms, only"),
        (Greedy(), r"opportunity = 'Greedy': must be a function whose values sum to at most 1; at the means \["),
        (Negative(), r"a function whose values lie in \[0, 1\]; at the means .* they are \["),
        (Broken(), r"a function whose values lie in \[0, 1\]; at the means .* they are \[nan"),
        (Flat(), r"to shares of that shape, not of shape"),
        ("proportional", r"problem\.opportunity\.kind = 'proportional'.*constant.*linear.*uniform"),
        (
            {"kind": "constant", "gamma": 0.3},
            r"opportunity\.gamma = 0\.3: must be a number from 0 to 1/K = 1/4",
        ),
        ({"kind": "constant", "gamma": -0.1}, r"opportunity\.gamma = -0\.1"),
        ({"kind": "softmax", "c": [1.0, 2.0]}, r"opportunity\.c = \[1\.0, 2\.0\]: must be a number"),
        ({"kind": "softmax", "c": math.inf}, r"opportunity\.c = inf"),
        ({"kind": "power", "c": -1}, r"opportunity\.c = -1"),
        (
            {"kind": "piecewise-linear", "scale": 20.0},
            r"opportunity\.scale = 20\.0: must be at most 1/eps = 10",
        ),
        ({"kind": "piecewise-linear", "eps": 0.7}, r"opportunity\.eps = 0\.7"),
        ({"kind": "softmax", "gamma": 1}, r"unknown key problem\.opportunity\.gamma; valid keys: c, kind"),
        ({"c": 1.0}, r"problem\.opportunity ="),
        (3, r"problem\.opportunity = 3"),
    ],
    ids=str,
)
def test_what_is_no_fairness_function_is_refused(spec, says):
    with pytest.raises(jb.InputError, match=says):
        made(spec)


def test_means_outside_the_unit_interval_are_refused():
    with pytest.raises(jb.InputError, match=r"problem\.means = .*numbers from 0 to 1 in a problem with `opportunity`"):
        jb.Problem([0.5, 1.5], reward="gaussian", opportunity="uniform")


class Half(Opportunity):
    def value(self, mu):
        return 0.5 * mu / len(mu)

    def lipschitz(self, arms):
        return 0.5 / arms

    def bounds(self, low, high):
        return self.value(low), self.value(high)


def variant(parent, **methods):
    return type("Mine", (parent,), {**methods, "__module__": "users_module"})()


@pytest.mark.parametrize("constant", [0.125, 3, math.inf, np.float32(0.125), np.array(0.2)], ids=repr)
def test_a_function_whose_methods_agree_is_taken(constant):
    assert made(variant(Half, lipschitz=lambda self, arms: constant)).lipschitz(K) == constant


@pytest.mark.parametrize(
    ("methods", "says"),
    [
        *(
            ({"lipschitz": constant}, r"whose `lipschitz` returns a number >= 0, or infinity, not ")
            for constant in (-1.0, math.nan, None, "often", np.ones(2))
        ),
        ({"lipschitz": 1e-3}, r"whose `lipschitz`, 0\.001, is at least .*, which is 0\.125 for x = \[.* and y = \["),
        ({"bounds": lambda f, low, high: (low * math.nan, high * math.nan)}, r"whose `bounds` contain its values.*nan"),
        (
            {"bounds": lambda f, low, high: (f.value(high), f.value(low))},
            r"whose `bounds` contain its values: for means from",
        ),
        ({"bounds": lambda f, low, high: (f.value(low), f.value(low))}, r"whose `bounds` contain its values"),
        ({"constant_shares": [Fraction(1, 8)] * K}, r"whose values are its `constant_shares`; at the means \["),
    ],
)
def test_methods_that_contradict_each_other_are_refused(methods, says):
    given = {
        name: value if callable(value) else lambda self, arms, value=value: value for name, value in methods.items()
    }
    with pytest.raises(jb.InputError, match=r"problem\.opportunity = 'Mine': must be a function " + says):
        made(variant(Half, **given))


@pytest.mark.parametrize(
    ("spec", "value", "says"),
    [
        ("linear", lambda f, mu: 3.0 * mu, r"values lie in \[0, 1\]"),
        ("linear", lambda f, mu: (1.0 - mu) / len(mu), "whose `bounds` contain its values"),
        ("uniform", lambda f, mu: mu / len(mu), "values are its `constant_shares`"),
        ({"kind": "constant", "gamma": 0.1}, lambda f, mu: mu / len(mu), "values are its `constant_shares`"),
        ({"kind": "piecewise-linear"}, lambda f, mu: jnp.sqrt(mu) / len(mu), r"`lipschitz`, 0\.25, is at least"),
    ],
)
def test_subclasses_of_this_package_s_functions_are_checked(spec, value, says):
    parent = made(spec)
    given = {name: getattr(parent, name) for name in parent.parameters()}
    kind = type("Mine", (type(parent),), {"value": value, "__module__": "users_module"})
    with pytest.raises(jb.InputError, match=says):
        made(kind(**given))
