"""Policies of the plays paper in the engine, with several plays: references, what the paper proves, errors."""

import functools
from fractions import Fraction

import harness
import numpy as np
import pytest
import scripted_rounds
from harness import trajectory
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_rounds import Script, play
from sweeps import every, swept

import jaxbandit as jb

# No instance of the paper: arms neither sorted nor evenly spaced, tau with and without equal entries.
MEANS = [0.35, 0.62, 0.5, 0.81, 0.12, 0.44, 0.91, 0.3]
TAU = [0.07, 0.29, 0.1, 0.1, 0.07, 0.36, 0.0, 0.21]
FAIR = ["fair-mmab", "ucb-lp", "ucb-pllp", "lfg", "fair-learn"]
TOP = ["ucb1", "kl-ucb", "thompson"]

assert_same = functools.partial(harness.assert_same, horizon=250)


def weights(kind):
    """For ucb-pllp growth that does not tie with tau by chance, as 0.2/sqrt(4) with 0.1: rounding settles such ties."""
    return {"eps": 0.2137} if kind == "ucb-pllp" else {}


def problem(**changes):
    return jb.Problem(**{"means": MEANS, "fractions": TAU, "plays": 3, **changes})


@pytest.mark.parametrize(("kind", "plays"), every([(kind, plays) for kind in FAIR + TOP for plays in (3, 6)], 5))
def test_selections_are_those_of_the_reference(kind, plays):
    assert_same(problem(plays=plays), kind, **weights(kind))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["successive-elimination", "opse"])
def test_the_best_arms_stay_active(kind):
    """Arms are eliminated against the L-th best one: at last the L best arms are played in every round."""
    late = {"delay": {"kind": "fixed", "d": 2}} if kind == "opse" else {}
    world = problem(reward="beta", **late)
    assert_same(world, kind, exploration=0.05)
    last = trajectory(world, jb.policy(kind, exploration=0.2), 2500, 4)[-1, :, 0].any(axis=1)
    assert np.flatnonzero(last).tolist() == np.sort(np.argsort(MEANS)[-3:]).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAIR)
def test_sleeping_arms_and_late_feedback(kind):
    late = problem(delay={"kind": "fixed", "d": 7}, availability=[0.9, 0.3, 0.7, 0.5, 1.0, 0.6, 0.8, 0.2])
    assert_same(late, kind, **weights(kind))


@pytest.mark.parametrize("kind", swept(FAIR, ["lfg", "ucb-lp"]))
def test_constant_rewards_make_whole_runs_predictable(kind):
    for tau in (0.1, 0.15, [0.0, 0.35, 0.25, 0.125, 0.125, 0.3, 1 / 3, 0.1]):
        assert_same(problem(fractions=tau, reward="constant"), kind, seeds=1, horizon=800, **weights(kind))


@pytest.mark.parametrize("kind", swept(FAIR, ["fair-mmab", "ucb-pllp"]))
def test_a_random_instance(kind):
    rng = np.random.default_rng(0)
    arms, plays = int(rng.integers(4, 12)), int(rng.integers(2, 8))
    plays = min(plays, arms - 1)
    tau = np.floor(rng.dirichlet(np.ones(arms)) * 1000 * plays * 0.9) / 1000
    tau = np.minimum(tau, np.floor(999 * plays / arms) / 1000)
    world = problem(means=rng.uniform(size=arms), fractions=tau, plays=plays)
    assert_same(world, kind, horizon=500, **weights(kind))


# Uniform fairness (plays paper, Theorem 4.1)

ROUNDS, INSTANCES = 150, 5


def within_the_bound(arms, plays):
    """Fractions below L/K, some of them as near to it as 12 decimals come."""
    bound = Fraction(plays, arms)
    near = bound - Fraction(1, 10**12)
    any_tau = st.integers(0, 10**4 - 1).map(lambda n: bound * Fraction(n, 10**4))
    equal = any_tau.map(lambda tau: [tau] * arms)
    each = st.lists(st.one_of(any_tau, st.just(near)), min_size=arms, max_size=arms)
    return st.one_of(equal, each, st.just([near] * arms))


def assert_fair(policy, arms, plays, tau, number):
    """N_k(t) > tau_k t - 1 in every round, decided in fractions, with rewards of 0 and 1 drawn from a number."""
    rng = np.random.default_rng(number)
    shape = ROUNDS, arms, INSTANCES, 2
    rewards = (rng.random(shape) < rng.random((arms, INSTANCES, 1))).astype(float)
    world = jb.Problem(rng.random((INSTANCES, arms)), fractions=tau, plays=plays, penalties=[[0.0] * arms] * INSTANCES)
    selected = play(policy, Script(world, rewards, np.zeros(shape, int), np.ones(shape, bool)), key=number)[0]
    pulls = selected.cumsum(axis=0)
    # the least count above tau t - 1 is floor(tau t)
    least = [[[t * share // 1 for share in row] for row in tau] for t in range(1, ROUNDS + 1)]
    assert (pulls >= np.array(least, int).transpose(0, 2, 1)[..., None]).all()


SIZES = [(5, 2), (2, 1), (9, 8), (20, 6)]


@pytest.mark.parametrize(
    ("arms", "plays"), [size if size == (5, 2) else pytest.param(*size, marks=pytest.mark.slow) for size in SIZES]
)
@pytest.mark.parametrize("base", ["ucb1", "kl-ucb"])
@given(data=st.data())
@settings(deadline=None, max_examples=10)
def test_fair_mmab_is_fair_on_every_run_and_round(arms, plays, base, data):
    tau = data.draw(st.lists(within_the_bound(arms, plays), min_size=INSTANCES, max_size=INSTANCES))
    assert_fair(jb.policy("fair-mmab", base=base), arms, plays, tau, data.draw(st.integers(0, 2**32 - 1)))


@pytest.mark.parametrize("kind", ["fucb", "f-ts"])
@given(tau=st.lists(st.integers(0, 199), min_size=INSTANCES, max_size=INSTANCES), number=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=10)
def test_fair_learn_is_fair_on_every_run_and_round(kind, tau, number):
    """Guarantees paper, Theorem 4, for equal tau < 1/K: N_k(t) > tau t - 1, always."""
    assert_fair(jb.policy(kind), 5, 1, [[Fraction(share, 1000)] * 5 for share in tau], number)


@pytest.mark.parametrize("base", ["ucb1", pytest.param("kl-ucb", marks=pytest.mark.slow)])
def test_one_play_is_fair_learn(base):
    script = scripted_rounds.standard()
    equal = jb.Problem([MEANS[:5]] * 5, fractions=0.12, penalties=[[0.0] * 5] * 5)
    script = Script(equal, script.rewards, script.delays, script.available)
    one, other = (play(jb.policy(kind, base=base), script)[0] for kind in ("fair-mmab", "fair-learn"))
    np.testing.assert_array_equal(one, other)


# What is refused


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"fractions": 0.375}, "fair-mmab", r"problem\.fractions = .*below plays / arms = 3/8 with fair-mmab"),
        ({"fractions": [0.4] + [0.0] * 7}, "fair-mmab", r"plays / arms = 3/8 with fair-mmab .*the largest is 0\.4"),
        ({"fractions": 0.376}, "ucb-lp", r"sum to at most plays = 3 .*3\.008"),
        ({"fractions": [1.1] + [0.0] * 7}, "ucb-lp", r"problem\.fractions = .*from 0 to 1"),
        ({"plays": 9}, "ucb1", r"problem\.plays = 9: must be a whole number from 1 to the number of arms, 8"),
        ({"plays": 0}, "ucb1", r"problem\.plays = 0: must be a whole number from 1"),
        ({"plays": 2.5}, "ucb1", r"problem\.plays = 2\.5: must be a whole number"),
        ({"fractions": None}, "fair-mmab", r"problem\.fractions is missing.*fair-mmab needs it"),
        ({"fractions": None}, "ucb-lp", r"ucb-lp needs it"),
        ({"fractions": None}, "ucb-pllp", r"ucb-pllp needs it"),
    ],
)
def test_what_cannot_be_is_refused(changes, kind, message):
    with pytest.raises(jb.InputError, match=message):
        jb.simulate(problem(**changes), kind, horizon=20, seeds=2)


@pytest.mark.parametrize("plays", [4, 1.5, [1, 2], 0, float("nan")])
def test_reserved_plays_are_a_whole_number_up_to_all(plays):
    words = r"policies.*\.J = .*: must be (finite, and )?a whole number (>= 1|from 1 to plays = 3)"
    with pytest.raises(jb.InputError, match=words):
        jb.simulate(problem(), jb.policy("fair-mmab", J=plays), horizon=20, seeds=2)


@pytest.mark.slow
def test_reserved_plays_are_replaced_and_swept():
    world = problem()
    swept = jb.simulate(world, [jb.policy("fair-mmab", J=plays) for plays in (1, 2, 3)], horizon=200, seeds=4)
    simulator = jb.Simulator(world, jb.policy("fair-mmab", J=3), horizon=200)
    one, two, three = (swept.pulls.isel(policy=place, instance=0).values for place in range(3))
    np.testing.assert_array_equal(simulator.replace(J=1).rollout(0, 4).pulls[0], one)
    np.testing.assert_array_equal(simulator.rollout(0, 4).pulls[0], three)
    assert (one != two).any()
    assert (two != three).any()
    default = jb.simulate(world, "fair-mmab", horizon=200, seeds=4).pulls.isel(policy=0, instance=0).values
    np.testing.assert_array_equal(default, three)  # max tau, 0.36, is from 2/7 to 3/8


def test_c_regret_warns_where_it_grows_for_the_optimum():
    tau = [0.05, 0.10, 0.20, 0.15, 0.10, 0.15, 0.20, 0.25]  # of the third best arm and below: 1.05
    means = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    with pytest.warns(UserWarning, match=r"c_regret grows .*L-th best arm .*L = 3.* sum to 1\.05"):
        jb.simulate(problem(means=means, fractions=tau), "uniform-random", horizon=20, seeds=2, metrics=["c_regret"])


@pytest.mark.parametrize("kind", swept(FAIR + TOP, ["fair-mmab", "kl-ucb"]))
def test_thousands_of_arms(kind):
    rng = np.random.default_rng(0)
    world = jb.Problem(rng.uniform(size=5000), plays=50, fractions=0.005)
    results = jb.simulate(world, kind, horizon=300, seeds=16, record=5)
    np.testing.assert_array_equal(results.pulls.sum("arm"), 15_000)
    assert float(results.pulls.max()) <= 300
    if kind == "fair-mmab":
        assert float(results.max_deficit_ever.max()) < 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fair-mmab", "fair-learn"])
def test_the_engine_is_fair_on_every_run_and_round(kind):
    world = problem(fractions=0.12, plays=1 if kind == "fair-learn" else 3)
    results = jb.simulate(world, kind, horizon=2000, seeds=16, metrics=["max_deficit"])
    assert float(results.max_deficit_ever.max()) < 1
    assert trajectory(world, kind, 300, 4).sum() == 300 * 4 * world.plays
