"""Policies in the engine against the plain references: the same selections, under its rewards, delays, sleeping arms.

Fast tests hold one policy for each way in which the engine and a policy meet; `test_against_references.py` holds all
policies, in a scripted world.
"""

import jax
import numpy as np
import pytest
from harness import ONE_PLAY, PLAIN, assert_same
from reference_beyond import CHANCES
from sweeps import every

import jaxbandit as jb

# An instance that is in no paper: arms neither sorted nor evenly spaced, tau with and without equal entries.
MEANS = [0.35, 0.62, 0.5, 0.81, 0.12]
TAU = [0.07, 0.29, 0.1, 0.1, 0.07]
PENALTIES = [0.4, 0.1, 0.35, 0.2, 0.75]
AWAKE = [0.9, 0.3, 0.7, 0.5, 1.0]
T = 120
# Their references go through the history of the run in every round
WHOLE_HISTORY = {"discounted-thompson", "discounted-ucb", "sliding-window-ucb", *CHANCES}


def problem(kind=None, **changes):
    plays = 2 if kind == "fair-mmab" else 1  # it needs tau below L/K
    return jb.Problem(**{"means": MEANS, "fractions": TAU, "penalties": PENALTIES, "plays": plays, **changes})


FAST = [
    ("hard-threshold-ucb", {}),
    pytest.param(
        "ucb-v",
        {"delay": {"kind": "geometric", "p": [0.1, 0.5, 0.05, 0.2, 1.0]}, "availability": AWAKE},
        marks=pytest.mark.slow,
    ),
    ("thompson", {"reward": {"kind": "gaussian", "sd": 0.3}}),
    pytest.param("f-ts", {"reward": "uniform", "plays": 2, "delay": {"kind": "fixed", "d": 7}}, marks=pytest.mark.slow),
    pytest.param("constant-opportunity", {"opportunity": {"kind": "constant", "gamma": 0.11}}, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("kind", "changes"), FAST, ids=str)
def test_the_engine_plays_as_the_reference(kind, changes):
    assert_same(problem(kind, **changes), kind, horizon=T)


@pytest.mark.parametrize(
    ("kind", "reward"), every([(kind, reward) for kind in PLAIN for reward in ("bernoulli", "uniform")], 12)
)
def test_rewards_in_the_unit_interval(kind, reward):
    assert_same(problem(kind, reward=reward), kind, seeds=1, horizon=300)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ucb1", "moss", "ucb-v", "successive-elimination", "lfg", "ucb-lp", "naive"])
def test_gaussian_rewards(kind):
    assert_same(problem(kind, reward={"kind": "gaussian", "sd": 0.3}), kind, horizon=300)


@pytest.mark.parametrize("kind", every(PLAIN, 8))
def test_constant_rewards_make_whole_runs_predictable(kind, float64):  # indices come within a rounding of float32
    horizon = 200 if kind in WHOLE_HISTORY else 2000
    assert_same(problem(kind, reward="constant"), kind, seeds=1, horizon=horizon)


@pytest.mark.parametrize("kind", every(PLAIN, 7))
def test_sleeping_arms_late_feedback_and_two_plays(kind):
    plays = 1 if kind in ONE_PLAY else 2
    awake = 1.0 if kind == "min-probability" else AWAKE
    world = problem(plays=plays, availability=awake, delay={"kind": "fixed", "d": 7}, reward="beta")
    # Key 0 gives ucb-v two indices that differ by 7e-21, a reward, which the reference's sum in float64 rounds away.
    assert_same(world, kind, horizon=200, key=int(kind == "ucb-v"))


@pytest.mark.slow
@pytest.mark.parametrize("tau", [0.2, [1 / 3, 1 / 7, 0.0, 1 / 9, 0.29]])
@pytest.mark.parametrize(
    "kind", ["hard-threshold-ucb", "soft-threshold-ucb", "lfg", "fair-learn", "eta-fucb", "ucb-lp", "ucb-pllp"]
)
def test_other_fractions_with_constant_rewards(kind, tau):
    assert_same(problem(fractions=tau, reward="constant"), kind, seeds=1, horizon=1000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "arms", "late"), [("ucb1", 40, True), ("fair-learn", 70, False), ("fair-mmab", 70, True)]
)
def test_several_of_many_arms(kind, arms, late):
    """Sets of arms that do not fit a word, and arms that are more than are written out one by one."""
    rng = np.random.default_rng(arms)
    changes = {"delay": {"kind": "geometric", "p": 0.1}} if late else {}
    world = problem(
        means=rng.uniform(size=arms).round(2),
        plays=3,
        fractions=rng.uniform(0, 2.5 / arms, arms).round(3),
        penalties=0.3,
        availability=[0.9, 0.02][kind == "ucb1"],  # with the latter, often fewer arms than plays
        **changes,
    )
    assert_same(world, kind, horizon=400)


@pytest.mark.parametrize("kind", every([kind for kind in PLAIN if kind != "fair-mmab"], 8))
def test_random_instances(kind):
    for number in range(2):  # other numbers, the same program
        rng = np.random.default_rng(number)
        tau = np.floor(rng.dirichlet(np.ones(6))[:5] * 1000) / 1000
        world = problem(kind, means=rng.uniform(size=5), fractions=tau, penalties=rng.uniform(0, 1, 5).round(2))
        assert_same(world, kind, horizon=200 if kind in WHOLE_HISTORY else 600, key=number)
    jax.clear_caches()
