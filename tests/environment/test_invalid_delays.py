"""Delay models that are refused, and the error that says why."""

import pytest

import jaxbandit as jb

MEANS = [0.35, 0.62, 0.5, 0.81]


@pytest.mark.parametrize(
    ("delay", "message"),
    [
        ({"kind": "geometric", "p": 0}, r"problem\.delay\.p = 0: must be a number above 0 and at most 1"),
        ({"kind": "geometric", "p": [0.5, 0.1, 1.1, 0.2]}, r"problem\.delay\.p = .*numbers from 0 to 1"),
        ({"kind": "geometric", "p": [0.5, 0.1]}, r"problem\.delay\.p = .*a number or 4 numbers"),
        ({"kind": "geometric", "p": "often"}, r"problem\.delay\.p = 'often'"),
        ({"kind": "pareto", "alpha": -1}, r"problem\.delay\.alpha = -1: must be a number above 0"),
        ({"kind": "empirical"}, r"problem\.delay\.table is missing: must be recorded delays"),
        ({"kind": "empirical", "table": []}, r"problem\.delay\.table = \[\]: must be recorded delays"),
        ({"kind": "empirical", "table": [0.5]}, r"problem\.delay\.table = .*whole numbers from 0"),
        ({"kind": "empirical", "table": [[1], [2]]}, r"problem\.delay\.table = .*4 lists"),
        ({"kind": "empirical", "table": [1, 2], "clicks": [3]}, r"problem\.delay\.clicks = .*one for each delay"),
        ({"kind": "empirical", "table": [1], "clicks": [3], "click_rate": 0}, r"problem\.delay\.click_rate = 0"),
        (
            {"kind": "empirical", "table": "no such log"},
            r"problem\.delay\.table = 'no such log': cannot be read: no such file",
        ),
        (
            {"kind": "empirical", "table": "log", "clicks": [3]},
            r"problem\.delay\.clicks = \[3\]: must not be given with a conversion log",
        ),
        ({"kind": "packet-loss", "p": 2}, r"problem\.delay\.p = 2: must be a number from 0 to 1"),
        ({"kind": "reward-dependent", "one": "soon"}, r"problem\.delay\.one\.kind = 'soon'"),
        ({"kind": "reward-dependent", "zero": {"kind": "geometric", "p": 0}}, r"problem\.delay\.zero\.p = 0"),
        ({"kind": "reward-dependent", "zero": {"kind": "fixed", "d": 0.5}}, r"problem\.delay\.zero\.d = 0\.5"),
        (
            {"kind": "reward-dependent", "one": {"kind": "reward-dependent"}},
            r"one = .*does not itself depend on the rew",
        ),
    ],
)
def test_bad_delays_are_refused(delay, message):
    with pytest.raises(jb.InputError, match=message):
        jb.Problem(MEANS, delay=delay)


def test_a_delay_that_depends_on_the_reward_needs_rewards_of_0_and_1():
    words = r"problem\.reward = 'gaussian': must be 'bernoulli', or a `jb\.Reward` with `zero_one = True`, because the"
    with pytest.raises(jb.InputError, match=words):
        jb.Problem(MEANS, reward="gaussian", delay={"kind": "reward-dependent"})


def test_a_model_that_draws_delays_is_not_immediate():
    class Late(type(jb.Problem(MEANS).delay)):
        def draw(self, reward, random):
            return 3 + 0 * reward.astype(int)

    with pytest.raises(jb.InputError, match=r"whose class has `immediate = False`, since it defines `draw`"):
        jb.Problem(MEANS, delay=Late())
