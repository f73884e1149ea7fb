"""Every policy against the plain reference of `reference.py`, written from the SPEC alone: the same random numbers
in, the same selections out, round by round."""

import jax
import numpy as np
import pytest
import reference
from harness import ALL, ALSO, INDICES, ONE_PLAY, PLAIN, RULES, assert_same

import jaxbandit as jb

# An instance that is in no paper: arms neither sorted nor evenly spaced, tau with and without equal entries.
MEANS = [0.35, 0.62, 0.5, 0.81, 0.12]
TAU = [0.07, 0.29, 0.1, 0.1, 0.07]
PENALTIES = [0.4, 0.1, 0.35, 0.2, 0.75]


def problem(kind=None, **changes):
    plays = 2 if kind == "fair-mmab" else 1  # it needs tau below L/K
    return jb.Problem(**{"means": MEANS, "fractions": TAU, "penalties": PENALTIES, "plays": plays, **changes})


def test_every_registered_policy_has_a_reference():
    assert set(ALL) <= {*reference.POLICIES, *ALSO}


@pytest.mark.parametrize("kind", PLAIN)
def test_bernoulli_rewards(kind):
    assert_same(problem(kind), kind)


@pytest.mark.parametrize("kind", [kind for kind in PLAIN if kind != "kl-ucb"])
def test_gaussian_rewards(kind):
    assert_same(problem(kind, reward={"kind": "gaussian", "sd": 0.3}), kind)


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.slow
@pytest.mark.parametrize("reward", ["beta", "uniform"])
def test_other_rewards_in_the_unit_interval(kind, reward):
    assert_same(problem(kind, reward=reward), kind, seeds=1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLAIN)
def test_constant_rewards_make_whole_runs_predictable(kind, float64):  # indices come within a rounding of float32
    assert_same(problem(kind, reward="constant"), kind, seeds=1, horizon=2000)


@pytest.mark.parametrize("kind", PLAIN)
def test_sleeping_arms(kind):
    assert_same(problem(kind, availability=[0.9, 0.3, 0.7, 0.5, 1.0]), kind)


@pytest.mark.parametrize("kind", PLAIN)
def test_feedback_that_comes_late(kind):
    assert_same(problem(kind, delay={"kind": "fixed", "d": 7}), kind, seeds=1)


@pytest.mark.parametrize("kind", [kind for kind in PLAIN if kind not in ONE_PLAY])
def test_two_plays_a_round(kind):
    assert_same(problem(plays=2), kind)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("base", INDICES)
def test_any_index_under_any_rule(rule, base):
    # A weight with which sums of whole numbers and deficits do not tie: such ties are settled by rounding.
    weight = {"eta": 0.7317} if rule in ("lfg", "eta-fucb") else {}
    assert_same(problem(rule), rule, seeds=1, base=base, **weight)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("ucb1", {"exploration": 0.5, "log_offset": 1.0}),
        ("kl-ucb", {"a": 3.0}),
        ("epsilon-greedy", {"eps": 0.5}),
        ("ucb-v", {"exploration": 0.3, "c": 0.1, "b": 0.5}),
        ("explore-then-commit", {"rounds_per_arm": 4}),
        ("successive-elimination", {"exploration": 0.1}),
        ("hard-threshold-ucb", {"penalties": 0.15, "exploration": 0.2}),
        ("soft-threshold-ucb", {"penalties": 2.5}),
        ("lfg", {"eta": 30.0, "exploration": 1.5}),
        ("fair-learn", {"alpha": 1.3}),
        ("fair-learn", {"alpha": 2.0, "base": "thompson"}),
        ("eta-fucb", {"eta": 0.03}),
        ("naive", {"eps": 0.29}),
        ("naive", {"eps": 0.0}),
        ("naive", {"eps": 1.0}),
    ],
)
def test_parameters(kind, parameters):
    assert_same(problem(kind), kind, **parameters)


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLAIN)
def test_float64(kind, float64):
    assert_same(problem(kind), kind, seeds=1)
    assert_same(problem(kind, availability=0.6), kind, seeds=1, horizon=100)


@pytest.mark.slow
@pytest.mark.parametrize("tau", [0.05, 0.2, [0.0, 0.5, 0.25, 0.125, 0.125], [1 / 3, 1 / 7, 0.0, 1 / 9, 0.29]])
@pytest.mark.parametrize(
    "kind", ["hard-threshold-ucb", "soft-threshold-ucb", "lfg", "fair-learn", "eta-fucb", "ucb-lp", "ucb-pllp"]
)
def test_other_fractions_with_constant_rewards(kind, tau):
    assert_same(problem(fractions=tau, reward="constant"), kind, seeds=1, horizon=1000)


@pytest.mark.parametrize("kind", PLAIN)
def test_equal_arms_tie_to_the_lowest(kind):
    assert_same(problem(kind, means=[0.5] * 5, fractions=0.1, reward="constant"), kind, seeds=1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in PLAIN if kind != "fair-mmab"])
@pytest.mark.parametrize("number", range(4))
def test_random_instances(kind, number):
    rng = np.random.default_rng(number)
    tau = np.floor(rng.dirichlet(np.ones(6))[:5] * 1000) / 1000
    world = problem(kind, means=rng.uniform(size=5), fractions=tau, penalties=rng.uniform(0, 1, 5).round(2))
    assert_same(world, kind, horizon=600, key=number)
    jax.clear_caches()
