"""Policies with groups of arms: their selections against the plain references, their metrics, and what is refused."""

import itertools
from fractions import Fraction

import jax
import numpy as np
import plain_metrics
import pytest
from harness import reference_run, trajectory
from reference_beyond import BY_GROUPS
from sweeps import every

import jaxbandit as jb

T, SEEDS = 150, 3
MEANS = [0.35, 0.62, 0.5, 0.81, 0.12, 0.55]
GROUPS = {
    "two groups": {"groups": [[0, 4], [1, 2]], "group_fractions": ["1/3", 0.29]},
    "equal groups": {"groups": [[3, 2], [0, 1, 4]], "group_fractions": 0.3},
    "all arms": {"groups": [[0, 5], [1, 4], [2, 3]], "group_fractions": [0.1, 0.5, "2/7"]},
}
OF_ARMS = {"none": None, "some": [0.05, 0, 0.07, 0, 0.11, 0.0], "equal": 0.04}
LATE = {"kind": "geometric", "p": 0.3}


def problem(groups, fractions=None, plays=1, **given):
    return jb.Problem(
        MEANS, plays=plays, fractions=fractions, penalties=[0.313, 0.117, 0.211, 0.0, 0.419, 0.257], **GROUPS[groups],
        group_penalties=0.37, **given,
    )  # fmt: skip


QUICK = [("fair-learn", "all arms", "none", 2)]  # in fast tests
MOST_SLOW = [pytest.param(kind, marks=[pytest.mark.slow] * (kind != "fair-learn")) for kind in BY_GROUPS]
EVERY = list(itertools.product(BY_GROUPS, GROUPS, OF_ARMS, [1, 2, 3]))


@pytest.mark.parametrize(
    ("kind", "groups", "fractions", "plays"),
    [*QUICK, *every([case for case in EVERY if case not in QUICK], 19)],
)
def test_selections_are_those_of_the_reference(kind, groups, fractions, plays):
    played = problem(groups, OF_ARMS[fractions], plays, delay=LATE if plays == 2 else "none")
    selected = trajectory(played, kind, T, SEEDS)
    zeros = played if played.fractions is not None else played.replace(fractions=0.0)
    for seed in range(SEEDS):
        expected = reference_run(zeros, BY_GROUPS[kind], T, seed)
        mine = [np.flatnonzero(row).tolist() for row in selected[:, :, 0, seed]]
        assert mine == expected, next(t + 1 for t in range(T) if mine[t] != expected[t])


@pytest.mark.parametrize("kind", MOST_SLOW)
def test_sleeping_arms(kind):
    table = [[1, 0, 1, 1, 0, 1], [0, 0, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1], [0, 1, 0, 0, 1, 0]]
    played = problem("two groups", OF_ARMS["some"], 2, availability={"table": table})
    selected = trajectory(played, kind, T, 1)
    mine = [np.flatnonzero(row).tolist() for row in selected[:, :, 0, 0]]
    assert mine == reference_run(played, BY_GROUPS[kind], T, 0)


@pytest.mark.slow
@pytest.mark.parametrize("plays", [1, 2])
def test_metrics_of_groups(plays):
    played = problem("all arms", plays=plays)
    names = ["group_unfairness", "group_max_deficit"]
    results = jb.simulate(played, ["ucb1", "lfg"], horizon=T, seeds=SEEDS, runs=names, trace=True, record=[1, 5, 77, T])
    given = GROUPS["all arms"]["groups"], [Fraction(text) for text in ("1/10", "1/2", "2/7")], plays
    for policy in range(2):
        for seed in range(SEEDS):
            chosen = (results.arms.values[policy, 0, seed][..., None] == np.arange(len(MEANS))).any(axis=1)
            for name in names:
                expected = getattr(plain_metrics, name)(chosen, *given)[[0, 4, 76, T - 1]]
                np.testing.assert_allclose(results[f"{name}_runs"].values[policy, 0, seed], expected, atol=1e-12)
            ever = plain_metrics.group_max_deficit_ever(chosen, *given)[-1]
            assert results.group_max_deficit_ever.values[policy, 0, seed] == pytest.approx(ever, abs=1e-5)


@pytest.mark.slow
def test_fair_learn_keeps_groups_within_their_plays():
    """No group falls behind by more than the plays of a round."""
    results = jb.simulate(problem("all arms", OF_ARMS["equal"], 2), "fair-learn", horizon=2000, seeds=20)
    assert results.group_max_deficit_ever.max() <= 2
    assert results.max_deficit_ever.max() <= 2


@pytest.mark.slow
def test_simulators_and_agents_know_groups():
    played = problem("two groups", OF_ARMS["some"])
    pulls = jb.simulate(played, list(BY_GROUPS), horizon=T, seeds=2, metrics=["group_unfairness"]).pulls.values
    for number, kind in enumerate(BY_GROUPS):
        simulator = jb.Simulator(played, kind, T)
        np.testing.assert_array_equal(simulator.rollout(0, 2).pulls[0], pulls[number, 0])
    given = {name: value for name, value in played.as_table().items() if "group" in name}
    agent = jb.Agent("fair-learn", arms=6, fractions=OF_ARMS["some"], **given)
    simulator = jb.Simulator(played, "fair-learn", T)
    step, mine, theirs = jax.jit(simulator.step), agent.init(key=0), simulator.init(key=0)
    for _ in range(40):
        mine, arms, _ = agent.select(mine)
        theirs, info = step(theirs)
        assert arms.tolist() == info.arms.tolist()
        mine = agent.observe(mine, arms, info.rewards)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MOST_SLOW)
def test_groups_of_one_arm_are_arms(kind):
    """With one play; also in relaxed runs, which share the bonus of a group."""
    shares, rates = [0.1, 0.05, 0.2, 0.0, 0.11, 0.3], [0.313, 0.117, 0.211, 0.0, 0.419, 0.257]
    arms = jb.Problem(MEANS, fractions=shares, penalties=rates)
    ones = [[k] for k in range(6)]
    groups = jb.Problem(MEANS, groups=ones, group_fractions=shares, group_penalties=rates)
    pulls = [jb.Simulator(played, kind, 200).rollout(0, 4).pulls for played in (arms, groups)]
    np.testing.assert_array_equal(*pulls)
    if kind != "fair-learn":
        soft = {"temperature": 0.05}
        pulls = [jb.Simulator(played, kind, 60, relaxed=soft).rollout(0, 2).pulls for played in (arms, groups)]
        np.testing.assert_allclose(*pulls, rtol=1e-4)


BAD = [
    ({"groups": [[0, 1], [1, 2]]}, r"problem\.groups\[1\] = 1: must be arms that are in no other place"),
    ({"groups": [[0, 3]]}, r"problem\.groups\[0\] = 3: must be arms from 0 to 2"),
    ({"groups": [[0, -1]]}, r"problem\.groups\[0\] = -1: must be arms from 0 to 2"),
    ({"groups": [[]]}, r"problem\.groups\[0\] = \[\]: must be a list of at least one arm"),
    ({"groups": 3}, r"problem\.groups = 3: must be lists of arms"),
    ({"group_fractions": 0.1}, r"problem\.group_fractions = 0.1: must be given only with `groups`"),
    ({"groups": [[0], [1]], "group_fractions": 0.6}, r"problem\.group_fractions = 0.6: must sum to at most 1"),
    ({"groups": [[0], [1]], "group_fractions": [0.1, 0.2, 0.3]}, r"group_fractions = .*: must be one number for all"),
    ({"groups": [[0], [1]], "group_fractions": -0.1}, r"group_fractions = -0.1: must be a number from 0 to 1"),
    ({"groups": [[0], [1, 2]], "group_fractions": 0.4, "plays": 3}, r"group_fractions\[0\] = 0.4: must be at most 1/3"),
    ({"groups": [[0], [1]], "group_fractions": 0.4, "fractions": [0, 0, 0.3]}, r"together they ask for 1.1 of 1 plays"),
    ({"groups": [[0], [1]], "group_penalties": -1}, r"group_penalties = -1: must be a number >= 0"),
]


@pytest.mark.parametrize(("given", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_groups_are_refused(given, message):
    with pytest.raises(jb.InputError, match=message):
        jb.Problem([0.1, 0.2, 0.3], **given)


def test_what_policies_and_metrics_of_groups_need():
    without = jb.Problem(MEANS, groups=[[0, 1]], group_fractions=0.2)
    with pytest.raises(jb.InputError, match=r"problem\.group_penalties is missing: must be given .*hard-threshold-ucb"):
        jb.simulate(without, "hard-threshold-ucb", horizon=5, seeds=1)
    for kind in ("fair-learn", "lfg"):
        with pytest.raises(jb.InputError, match=r"problem\.fractions is missing"):
            jb.simulate(without.replace(groups=None, group_fractions=None), kind, horizon=5, seeds=1)
    with pytest.raises(jb.InputError, match=r"group_unfairness needs problem\.group_fractions"):
        jb.simulate(jb.Problem(MEANS, groups=[[0, 1]]), "ucb1", horizon=5, seeds=1, metrics=["group_unfairness"])
