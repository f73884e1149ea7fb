"""The registered policies: their structures and aliases, what they refuse, and that blocks do not matter to them."""

import jax
import numpy as np
import pytest
from harness import ALL, DISTINCT, ONE_PLAY, trajectory
from sweeps import every

import jaxbandit as jb
from jaxbandit.environment.delays import Delay
from jaxbandit.environment.merit import Merit
from jaxbandit.environment.opportunities import Opportunity
from jaxbandit.environment.rewards import Reward
from jaxbandit.policies.make_policy import kind_of

T, SEEDS = 120, 6
NEEDED = {
    "fractions": [0.1, 0.05, 0.2, 0.15],
    "penalties": [0.2, 0.5, 0.4, 0.3],
    "merit": "power",
    "opportunity": "uniform",
}
PROBLEM = jb.Problem([0.3, 0.6, 0.5, 0.8], **NEEDED)
MANY = [kind for kind in DISTINCT if kind not in ONE_PLAY]


def test_two_classes_are_two_structures():
    """A compiled program is looked up by its arguments' structure: that of one class must not pass for another's."""
    families = (jb.policy(kind).nested_policies() for kind in ALL)
    classes = {type(part) for family in families for part in family}
    classes |= {*Reward.registry.values(), *Delay.registry.values(), *Merit.registry.values()}
    classes |= {*Opportunity.registry.values()}
    structures = [jax.tree.structure(made()) for made in classes]
    for i, one in enumerate(structures):
        assert [other == one for other in structures] == [i == j for j in range(len(structures))]


@pytest.mark.parametrize("kind", every(DISTINCT, 6))
def test_zero_delay_is_no_delay(kind):
    late = jb.Problem(PROBLEM.means.T[0], **NEEDED, delay="fixed")
    np.testing.assert_array_equal(trajectory(late, kind, T, SEEDS), trajectory(PROBLEM, kind, T, SEEDS))


@pytest.mark.parametrize("kind", every(DISTINCT, 5))
def test_a_run_does_not_depend_on_the_block(kind):
    whole = jb.simulate(PROBLEM, kind, horizon=T, seeds=SEEDS, record=20)
    parts = jb.simulate(PROBLEM, kind, horizon=T, seeds=SEEDS, record=20, block=4)
    for name in whole.data_vars:
        np.testing.assert_array_equal(whole[name], parts[name], err_msg=name)


def test_an_alias_is_the_policy_with_its_parameters():
    assert jb.policy("fucb") == jb.policy("fair-learn", base="ucb1")
    assert jb.policy("f-ts", alpha=2.0) == jb.policy("fair-learn", base="thompson", alpha=2.0)
    assert jb.policy("mp-ts-d") == jb.policy("thompson")
    assert jb.policy("fairx-ucb") == jb.policy("fcucb-d")
    assert jb.policy("fairx-ts") == jb.policy("fcts-d")


def test_a_policy_is_made_from_a_name_a_class_a_table_or_a_policy():
    made = jb.policy("fair-learn", base="kl-ucb", a=3.0, alpha=1.0)
    table = {"kind": "fair-learn", "label": "mine", "base": "kl-ucb", "a": 3.0}
    assert jb.policy(table, alpha=1.0) == made
    assert jb.policy({**table, "alpha": 1.0, "base": {"kind": "kl-ucb"}}) == made
    assert jb.policy(type(made), base=jb.indices.KLUCB(), a=3.0, alpha=1.0) == made
    assert jb.policy(made) is made
    assert kind_of(made) == "fair-learn/kl-ucb"
    assert kind_of(jb.policy("fair-learn")) == "fair-learn"


@pytest.mark.parametrize(
    ("kind", "given", "says"),
    [
        ("fcubc", {}, r"policies\.kind = 'fcubc': must be one of .*did you mean 'fucb'"),
        ("ucb1", {"explore": 1.0}, r"unknown key policies\.explore .*exploration"),
        ("fucb", {"base": "moss"}, r"policies\.base = 'moss': must not be given: the name 'fucb' sets it to 'ucb1'"),
        ("fair-learn", {"base": "fair-mmab"}, r"policies\.base = 'fair-mmab': must be one of"),
        ("fair-learn", {"base": "naive"}, r"policies\.base = 'naive': must be one of"),
        ("fair-learn", {"a": 3.0}, r"unknown key policies\.a"),
        ("ucb1", {"exploration": -1.0}, r"policies\.exploration = -1\.0: must be"),
        (3, {}, r"policies\.kind = 3: must be the name of a policy, a `Policy` class or a"),
    ],
)
def test_what_makes_no_policy_is_refused(kind, given, says):
    with pytest.raises(jb.InputError, match=says):
        jb.policy(kind, **given)


def test_a_policy_takes_no_further_parameters():
    with pytest.raises(jb.InputError, match=r"policies\.exploration = 1\.0: must not be given with a `Policy` obj"):
        jb.policy(jb.policy("ucb1"), exploration=1.0)


@pytest.mark.parametrize("kind", every(MANY, 5))
def test_all_arms_can_be_played_at_once(kind):
    equal = {"kind": "power", "scale": 0.0}  # all arms are played for sure only where merit is the same
    everything = jb.Problem([0.3, 0.6], plays=2, fractions=0.1, penalties=0.2, merit=equal)
    assert jb.simulate(everything, kind, horizon=20, seeds=2).pulls.values.min() == 20


@pytest.mark.parametrize("kind", ["naive", "fair-random"])
def test_policies_of_one_play_say_so(kind):
    with pytest.raises(jb.InputError, match=r"problem\.plays = 2: must be 1 with"):
        jb.simulate(jb.Problem([0.3, 0.6, 0.1], plays=2, fractions=0.1), kind, horizon=20, seeds=2)


@pytest.mark.parametrize(
    ("kind", "reward", "says"),
    [
        ("kl-ucb", "gaussian", "must give rewards in \\[0, 1\\] with kl-ucb"),
        ("fcts-d", "gaussian", "must give rewards in \\[0, 1\\] with fcts-d"),
    ],
)
def test_policies_for_rewards_in_the_unit_interval_say_so(kind, reward, says):
    with pytest.raises(jb.InputError, match=says):
        jb.policy(kind).prepare(jb.Problem([0.3, 0.6], reward=reward, merit="power"), 20)
