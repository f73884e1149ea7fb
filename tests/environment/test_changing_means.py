"""Means that change and tables of availability: what problems hold, and what is refused."""

import math

import numpy as np
import pytest

import jaxbandit as jb

WALK = {"start": [0.1, 0.5, 0.9], "every": 10, "sd": 0.2}


def test_a_row_holds_from_its_round_until_the_next():
    problem = jb.Problem({"changes": [[1, [0.9, 0.1]], [5, [0.2, 0.8]]]})
    assert problem.means_at([1, 4, 5, 90])[:, :, 0].tolist() == [[0.9, 0.1]] * 2 + [[0.2, 0.8]] * 2
    rows = np.linspace(0, 1, 14).reshape(7, 2)
    np.testing.assert_array_equal(jb.Problem({"by_round": rows}).means_at(range(1, 8))[:, :, 0], rows)
    np.testing.assert_array_equal(jb.Problem({"by_round": rows.tolist()}).means_at([3])[0, :, 0], rows[2])


def test_changes_of_several_instances():
    problem = jb.Problem({"changes": [[1, [[0.9, 0.1], [0.3, 0.4]]], [5, [[0.2, 0.8], [0.5, 0.6]]]]})
    assert problem.instances == 2
    np.testing.assert_array_equal(problem.means_at([5])[0], [[0.2, 0.5], [0.8, 0.6]])


def test_a_walk_steps_at_its_rounds_with_its_deviation_and_stays_inside():
    problem = jb.Problem({"walk": {**WALK, "instances": 200}}, key=3)
    path = problem.means_at(range(1, 2002))
    steps = np.diff(path, axis=0)
    changed = np.flatnonzero(np.any(steps != 0, axis=(1, 2))) + 2
    np.testing.assert_array_equal(changed, np.arange(11, 2002, 10))
    assert path.min() >= 0
    assert path.max() <= 1
    first = steps[9, 1]  # from 0.5 no step of 200 with sd 0.2 reaches far beyond the ends
    assert abs(first.mean()) < 5 * 0.2 / math.sqrt(200)
    assert abs(first.std() / 0.2 - 1) < 5 / math.sqrt(400)
    np.testing.assert_array_equal(problem.means_at(range(1, 52)), path[:51])  # whatever the last round is
    assert (jb.Problem({"walk": {**WALK, "instances": 200}}, key=4).means_at([11]) != path[10]).any()


def test_a_walk_is_folded_back_as_often_as_needed():
    """A step of a wide walk lands where the mirrored line does."""
    wide = {"start": [0.5], "sd": 30.0, "every": 1, "instances": 4000}
    path = jb.Problem({"walk": wide}, key=1).means_at([2])[0, 0]
    assert path.min() >= 0
    assert path.max() <= 1
    assert abs(path.mean() - 0.5) < 5 * math.sqrt(1 / 12 / 4000)  # nearly uniform
    assert abs(path.var() - 1 / 12) < 0.005


def test_problems_are_described_as_they_were_given():
    for given in (
        {"means": {"changes": [[1, [0.9, 0.1, 0.5]], [5, [0.2, 0.8, 0.5]]]}},
        {"means": {"walk": WALK}, "key": 7},
        {"means": [0.1, 0.2, 0.3], "availability": {"table": [[1, 0, 1], [1, 1, 1]]}},
    ):
        problem = jb.Problem(**given)
        again = jb.Problem(**problem.as_table())
        for t in (1, 7, 31):
            np.testing.assert_array_equal(problem.means_at([t]), again.means_at([t]))
            np.testing.assert_array_equal(problem.means_at([t]), problem.replace(plays=2).means_at([t]))
        assert repr(problem) == repr(again)
    assert "the means change" in jb.Problem({"walk": WALK})._repr_html_()


CHANGES = "problem.means.changes"
BAD = [
    ({"changes": [[2, [0.1, 0.2]]]}, rf"{CHANGES}\[0\] = 'round 2': must be round 1"),
    (
        {"changes": [[1, [0.1, 0.2]], [9, [0.3, 0.4]], [9, [0.1, 0.4]]]},
        rf"{CHANGES}\[2\] = 'round 9': must be a round after",
    ),
    (
        {"changes": [[1, [0.1, 0.2]], [9, [0.3, 0.4]], [5, [0.1, 0.4]]]},
        rf"{CHANGES}\[2\] = 'round 5': must be a round after",
    ),
    (
        {"changes": [[1, [0.1, 0.2]], [3, [0.3]]]},
        rf"{CHANGES}\[1\] = '1 numbers': must be 2 numbers, as the first means",
    ),
    (
        {"changes": [[1, [0.1, 0.2]], [51, [0.3, 0.4]]]},
        rf"{CHANGES} = 'a change in round 51': must be changes up to round T",
    ),
    (
        {"changes": [[1, [0.1, 0.2]], [51, [0.1, 0.2]]]},
        rf"{CHANGES} = 'a change in round 51': must be changes up to round T",
    ),
    ({"changes": [[1, [0.1, 0.2]], [1.5, [0.3, 0.4]]]}, rf"{CHANGES}\[1\] = 1\.5: must be a round"),
    ({"changes": [0.1, 0.2]}, rf"{CHANGES} = .*: must be a list of pairs"),
    ({"changes": [[1, [0.1, 0.2]], [3, [0.3, 1.4]]]}, r"problem.means = .*: must be numbers from 0 to 1"),
    ({"by_round": np.full((20, 2), 0.5)}, r"problem.means.by_round = '20 rows': must be T = 50 rows"),
    ({"by_round": [[0.1, 0.2], [0.3]]}, r"problem.means.by_round\[1\] = '1 numbers': must be 2 numbers"),
    ({"by_round": 3}, r"problem.means.by_round = 3: must be T rows"),
    ({"walk": {"start": [0.1, 2]}}, r"problem.means.walk.start = .*: must be K numbers from 0 to 1"),
    ({"walk": {"start": [0.1], "evry": 3}}, r"unknown key problem.means.walk.evry \(did you mean 'every'"),
    ({"walk": {"start": [0.1], "every": 0}}, r"problem.means.walk.every = 0: must be a whole number >= 1"),
    ({"walk": {"start": [0.1], "sd": -1}}, r"problem.means.walk.sd = -1: must be a number >= 0"),
    ({"walk": {"sd": 0.1}}, r"problem.means.walk.start"),
    ({"walk": {"start": [0.1], "low": 2}}, r"problem.means.walk.high = 1.0: must be a number >= low = 2"),
    ({"changes": [[1, [0.1]]], "arms": 1}, r"unknown key problem.means.arms; valid keys: changes"),
]


@pytest.mark.parametrize(("means", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_means_are_refused(means, message):
    with pytest.raises(jb.InputError, match=message):
        jb.simulate(jb.Problem(means), "ucb1", horizon=50, seeds=1)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[1, 0]], r"problem.availability.table\[0\] = \[1, 0\]: must be 3 entries 0 or 1"),
        ([], r"problem.availability.table = \[\]: must be rows of 3 entries"),
        ([[1, 1, 1], [1, 0, 2]], r"problem.availability.table\[1\] = .*: must be 3 entries 0 or 1"),
        ([1, 0, 1], r"problem.availability.table\[0\] = 1: must be 3 entries"),
    ],
)
def test_bad_tables_of_availability_are_refused(table, message):
    with pytest.raises(jb.InputError, match=message):
        jb.Problem([0.1, 0.2, 0.3], availability={"table": table})


def test_what_needs_constant_means_refuses_others():
    problem = jb.Problem({"changes": [[1, [0.9, 0.1]], [5, [0.2, 0.8]]]}, fractions=0.1, penalties=0.3)
    with pytest.raises(jb.InputError, match=r"problem\.means = .*: must be constant means: tuning needs them"):
        jb.tuning.tune(problem, "hard-threshold-ucb", ["penalties"], horizon=20)
    with pytest.raises(jb.InputError, match=r"problem\.means = .*: must be constant means in relaxed runs"):
        jb.Simulator(problem, "hard-threshold-ucb", 20, relaxed={"temperature": 0.1})
    with pytest.raises(jb.InputError, match=r"means = .*: must be left out"):
        jb.Simulator(problem, "ucb1", 20).replace(means=[0.1, 0.2])
    with pytest.raises(jb.InputError, match=r"problem\.penalties = .*where means change"):
        problem.replace(penalties={"gap_fraction": 0.5})


def test_sleeping_arms_of_a_table_are_not_selected():
    table = [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    problem = jb.Problem([0.3, 0.9, 0.5], availability={"table": table}, plays=2)
    arms = jb.simulate(problem, "ucb1", horizon=30, seeds=3, trace=True, metrics=["regret"]).arms.values[0, 0]
    rounds = [sorted(k for k in arms[0, t] if k >= 0) for t in range(30)]
    assert rounds == [[0, 2], [], [1]] * 10


NOISE = {"kind": "gaussian", "sd": 0.1}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ucb1", "ucb-v", "explore-then-commit"])
def test_the_past_does_not_depend_on_the_future(kind):
    """Rewards are added up as deviations from a centre, which was the middle of all means that come."""
    pulls = []
    for last in (0.6, 1e6):
        problem = jb.Problem({"changes": [[1, [0.5, 0.49]], [2000, [last, last]]]}, reward=NOISE)
        made = jb.simulate(problem, kind, horizon=2000, seeds=8, record=[1999], metrics=["regret"])
        pulls.append(made.pulls_mean.values[0, 0, :, 0])
    np.testing.assert_array_equal(*pulls)


@pytest.mark.slow
@pytest.mark.parametrize("delay", ["none", {"kind": "geometric", "p": 0.3}])
def test_sums_of_rewards_far_from_the_first_means(delay):
    """Those of float64, but for the last digit."""
    problem = jb.Problem({"changes": [[1, [0.5, 0.4]], [100, [1000.0, 999.9]]]}, reward=NOISE, delay=delay)
    options = {"horizon": 4000, "trace": True, "metrics": ["regret"]}
    made = jb.simulate(problem, "uniform-random", seeds=4, **options)
    arms, rewards, delays = (made[name].values[0, 0, :, :, 0] for name in ("arms", "rewards", "delays"))
    run = jb.Simulator(problem, "uniform-random", horizon=4000).rollout(0, 4).run
    arrived = np.arange(4000) + np.maximum(delays, 0) < 4000
    for k, centre in enumerate(np.float32([0.5, 0.4])):
        terms = np.where((arms == k) & arrived, (rewards - centre).astype(float), 0.0)
        found = np.asarray(run.deviation)[0, :, k].ravel()
        np.testing.assert_allclose(found, terms.sum(axis=1), rtol=1.3e-7)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["ucb-v", {"kind": "explore-then-commit", "rounds_per_arm": 3}])
def test_sums_of_many_rewards_are_exact(policy):
    """Plain sums of such terms in float32 are off by up to 1e-3 of the sum after 100,000 rounds."""
    problem = jb.Problem({"changes": [[1, [0.3, 0.1]], [7, [0.7, 1.0]]]}, reward="constant")
    options = {"horizon": 100_000, "seeds": 1, "metrics": ["regret"]}
    before, pulls = jb.simulate(problem, policy, record=[6], **options).pulls_mean.values[0, 0].T
    run = jb.Simulator(problem, jb.policy(policy), horizon=100_000).rollout(0, 1).run
    first, later = np.float32([0.3, 0.1]), np.float32([0.7, 1.0])
    np.testing.assert_allclose(np.ravel(run.deviation), (pulls - before) * (later - first).astype(float), rtol=2e-7)
    if run.squares is not None:
        squares = ((later - first) ** 2).astype(float)
        np.testing.assert_allclose(np.ravel(run.squares), (pulls - before) * squares, rtol=2e-7)
