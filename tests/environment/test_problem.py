"""Problems: how they are shown, and their tables."""

import jax
import numpy as np
import pytest

import jaxbandit as jb

SHOWN = {
    "Problem(1 arm, means=[0.9])": {"means": [0.9]},
    "Problem(2 arms, means=[0.9, 0.333333], plays=2, fractions='1/3', penalties=0.45)": {
        "means": [0.9, 1 / 3],
        "plays": 2,
        "fractions": "1/3",
        "penalties": 0.45,
    },
    "Problem(2 arms, means=[0.5, 0.5], availability=[0.5, 1.0], fractions=[0.05, 0.1])": {
        "means": [0.5, 0.5],
        "availability": [0.5, 1],
        "fractions": [0.05, 0.1],
        "reward": {"kind": "bernoulli"},
        "delay": "none",
    },
    "Problem(2 arms, 3 instances, means=[[0.3, 0.2], [0.1, 0.2], ...], penalties=[[0.1, 0.2], [0.3, 0.1], ...])": {
        "means": [[0.3, 0.2], [0.1, 0.2], [0.4, 0.5]],
        "penalties": [[0.1, 0.2], [0.3, 0.1], [0, 0]],
    },
    "Problem(8 arms, means=[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, ...], reward='constant')": {
        "means": np.arange(8) / 10,
        "reward": "constant",
    },
    "Problem(2 arms, means=[1.5, 0.5], reward={'kind': 'gaussian', 'sd': [0.1, 0.2]})": {
        "means": [1.5, 0.5],
        "reward": {"kind": "gaussian", "sd": np.array([0.1, 0.2])},
    },
    """Problem(
    2 arms,
    means=[0.9, 0.5],
    delay={'kind': 'reward-dependent', 'one': {'kind': 'empirical', 'table': [9, 9, 9, 9, 9, 9, ...]}},
    merit={'kind': 'power', 'scale': 3.5},
    opportunity='linear',
)""": {
        "means": [0.9, 0.5],
        "delay": {"kind": "reward-dependent", "one": {"kind": "empirical", "table": [9] * 99}},
        "merit": {"kind": "power", "scale": 3.5},
        "opportunity": "linear",
    },
}


@pytest.mark.parametrize("text", SHOWN, ids=range(len(SHOWN)))
def test_the_repr_names_what_differs_from_the_defaults(text):
    assert repr(jb.Problem(**SHOWN[text])) == text


def test_a_component_of_the_users_is_shown_by_its_name():
    class Own(jb.Reward):
        """Has a field without a default."""

        sd: float

        def draw(self, mean, random):
            return mean

    assert repr(jb.Problem([0.5], reward=Own(0.5))) == "Problem(1 arm, means=[0.5], reward={'kind': 'Own', 'sd': 0.5})"


def test_a_notebook_shows_one_row_per_arm():
    problem = jb.Problem([0.9, 0.25], fractions=[0.05, 0.1], penalties=0.45, availability=0.5, opportunity="linear")
    shown = problem._repr_html_()
    headings = "<tr><th>arm</th><th>mean</th><th>availability</th><th>fraction</th><th>penalty rate</th>"
    assert f"{headings}<th>opportunity</th></tr>" in shown
    assert shown.count("<tr>") == 3
    assert "<tr><td>1</td><td>0.25</td><td>0.5</td><td>0.1</td><td>0.45</td><td>0.125</td></tr>" in shown
    line = "2 arms; plays = 1; reward = 'bernoulli'; delay = 'none'; opportunity = 'linear'"
    assert f"<p>Problem: {line}</p>" in shown


def test_a_notebook_shows_the_first_instance_and_mentions_the_others():
    problem = jb.Problem([[0.9, 0.25], [0.5, 0.5]], merit="power", reward="constant", delay={"kind": "fixed", "d": 3})
    shown = problem._repr_html_()
    line = "2 arms, 2 instances; plays = 1; reward = 'constant'; delay = {'kind': 'fixed', 'd': 3}; merit = 'power'; "
    assert f"<p>Problem: {line}the table shows instance 0 of 2</p>" in shown
    assert "<th>arm</th><th>mean</th><th>fair chance</th>" in shown
    assert f"<td>0.9</td><td>{problem.fair_chances()[0, 0]:.6g}</td>" in shown
    assert "<td>0.5</td>" not in shown


def test_a_notebook_shows_some_of_many_arms_and_escapes_text():
    class Angular(jb.Reward, name="<b>"):
        def draw(self, mean, random):
            return mean

    del jb.Reward.registry["<b>"]
    shown = jb.Problem(np.linspace(0, 1, 100), reward=Angular())._repr_html_()
    assert shown.count("<tr>") == 31
    assert (
        "<tr><td>27</td><td>0.272727</td></tr><tr><td>...</td><td>...</td></tr><tr><td>99</td><td>1</td></tr>" in shown
    )
    assert "reward = '&lt;b&gt;'" in shown


def test_the_table_describes_the_same_problem():
    problem = jb.Problem(
        {"random": "uniform", "arms": 3, "instances": 2},
        plays=2,
        fractions=["1/3", 0.05, 0],
        penalties={"gap_fraction": 0.5},
        availability=0.5,
        delay={"kind": "geometric", "p": [0.5, 0.2, 1]},
        key=3,
    )
    again = jb.Problem(**problem.as_table())
    for name in ("means", "fractions", "penalties", "availability"):
        np.testing.assert_array_equal(getattr(problem, name), getattr(again, name))
    assert repr(problem) == repr(again)
    np.testing.assert_allclose(problem.penalties, 0.5 * problem.gaps.max(axis=0) * np.ones((3, 1)))


def test_penalties_of_gaps_follow_new_means():
    problem = jb.Problem([0.9, 0.5, 0.3], fractions=0.1, penalties={"gap_fraction": 0.5})
    np.testing.assert_allclose(problem.replace(means=[0.6, 0.7, 0.2]).penalties, 0.25)
    np.testing.assert_array_equal(problem.replace(plays=2).penalties, problem.penalties)
    np.testing.assert_array_equal(problem.replace(means=[0.6, 0.7, 0.2], penalties=0.1).penalties, 0.1)
    simulator = jb.Simulator(problem, "hard-threshold-ucb", 20)
    with pytest.raises(
        jb.InputError, match=r"^means = .*: must be given with `penalties` where they are traced: the pen"
    ):
        jax.make_jaxpr(lambda means: simulator.replace(means=means).init(0))(np.ones(3))


def test_whole_floats_are_plays_and_functions_that_are_missing_are_named():
    assert jb.Problem([0.9, 0.5, 0.1], plays=2.0).plays == 2
    with pytest.raises(jb.InputError, match=r"^problem\.plays = 1\.5: must be a whole number"):
        jb.Problem([0.9, 0.5, 0.1], plays=1.5)
    with pytest.raises(jb.InputError, match=r"^problem\.merit is missing"):
        jb.Problem([0.9, 0.5]).fair_chances()
    with pytest.raises(jb.InputError, match=r"^problem\.opportunity is missing"):
        jb.Problem([0.9, 0.5]).opportunities()


@pytest.mark.parametrize("means", [[0.9, 0.5], {"random": "uniform", "arms": 2}])
@pytest.mark.parametrize("key", ["0", 1.5, -1])
def test_a_key_is_refused_by_its_name_whatever_the_means_are(means, key):
    with pytest.raises(jb.InputError, match=r"^problem\.key = .*: must be an integer from 0 to 2\^64 - 1, or one key"):
        jb.Problem(means, key=key)
    with pytest.raises(jb.InputError, match=r"^simulation\.key = .*: must be an integer from 0"):
        jb.simulate({"means": means}, "ucb1", horizon=2, seeds=1, key=key)
