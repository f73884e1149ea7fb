"""Rounds that are played together, because their arms are known in all runs, against rounds played one by one."""

import numpy as np
import pytest
from sweeps import every

import jaxbandit as jb
from jaxbandit.engine.batch.blocks import on_device
from jaxbandit.engine.rollout import begin
from jaxbandit.engine.rounds.commitments import has_commitments
from jaxbandit.environment.world import world_of

OPPORTUNITIES = {"means": 0.2 + 0.15 * np.arange(6), "penalties": 0.4, "opportunity": "softmax"}
MANY = {"means": np.linspace(0.1, 0.9, 70), "penalties": 0.6, "opportunity": "softmax"}
GAUSSIAN = {"kind": "gaussian", "sd": 0.3}
GUARANTEES = {"means": {"random": "uniform", "arms": 4, "instances": 5}, "fractions": [0.1, 0.3, 0.0, 0.2]}
CASES = {
    "fairness-aware-etc": (OPPORTUNITIES | {"reward": GAUSSIAN}, {"rounds_per_arm": 60}, "random"),
    "explore-then-commit": (GUARANTEES, {"rounds_per_arm": 30}, "lowest"),
    "explore-then-commit, changes": (
        {"means": {"changes": [[1, [0.9, 0.5, 0.3, 0.2]], [77, [0.2, 0.9, 0.5, 0.3]]]}, "reward": GAUSSIAN},
        {"rounds_per_arm": 50},
        "random",
    ),
    "explore-then-commit, many arms": (
        {"means": {"random": "uniform", "arms": 70, "instances": 2}, "reward": GAUSSIAN},
        {"rounds_per_arm": 3},
        "random",
    ),
    "fairness-aware-etc, many arms": (MANY, {"rounds_per_arm": 4}, "lowest"),
    "self-regulated, many arms": (MANY | {"penalties": 0.3}, {"alpha": 0.6, "beta": 0.25}, "random"),
    "self-regulated": (OPPORTUNITIES, {"alpha": 0.5, "beta": 0.5, "black_box": "ucb-v"}, "lowest"),
    "self-regulated, whose runs sweep for long": (
        {"means": [0.9, 0.3, 0.2], "penalties": 0.3, "opportunity": "softmax"},
        {"alpha": 0.6, "beta": 0.25},
        "lowest",
    ),
    "self-regulated, unbounded rewards": (
        {"means": [0.9, 0.3, 0.2], "penalties": 0.3, "opportunity": "uniform", "reward": GAUSSIAN},
        {"alpha": 0.6, "beta": 0.25, "black_box": "ucb-v"},
        "random",
    ),
    "self-regulated, rewards received as 0 or 1": (
        {"means": [0.9, 0.3, 0.2], "penalties": 0.3, "opportunity": "uniform", "reward": "constant"},
        {"alpha": 0.6, "beta": 0.25, "black_box": "thompson"},
        "lowest",
    ),
    "self-regulated, changes": (
        {
            "means": {"changes": [[1, [0.9, 0.3, 0.2]], [77, [0.2, 0.9, 0.3]]]},
            "penalties": 0.3,
            "opportunity": "uniform",
            "reward": {"kind": "uniform"},
        },
        {"alpha": 0.6, "beta": 0.25},
        "random",
    ),
    "successive-elimination": (GUARANTEES | {"reward": "beta"}, {"exploration": 0.1}, "lowest"),
    "t-fucb": (
        {"means": [0.9, 0.5, 0.3], "fractions": [0.1, 0.3, 0.0], "reward": GAUSSIAN},
        {"base": "ucb-v"},
        "random",
    ),
    "constant-opportunity": (OPPORTUNITIES | {"opportunity": "uniform", "reward": GAUSSIAN}, {}, "random"),
}


@pytest.mark.cpu
@pytest.mark.parametrize("case", every(list(CASES), 3))
def test_results_are_those_of_rounds_one_by_one(case):
    """Traces keep what happens in every round, so with traces the rounds are played one by one."""
    problem, parameters, ties = CASES[case]
    problem, policy = jb.Problem(**problem), jb.policy(case.partition(",")[0], **parameters)
    assert has_commitments(*prepared(policy, problem))
    together, single = (
        jb.simulate(problem, policy, horizon=1500, seeds=40, key=3, ties=ties, trace=trace) for trace in (False, True)
    )
    names = set(together.data_vars) & set(single.data_vars)
    assert {"pulls", "regret", "regret_final"} < names
    for name in names:
        np.testing.assert_array_equal(together[name], single[name], err_msg=name)


@pytest.mark.parametrize(
    "other",
    [
        {"delay": {"kind": "geometric", "p": 0.1}},
        {"availability": 0.5},
        {"plays": 2},
        {"means": [0.5], "fractions": None},
    ],
    ids=lambda other: " ".join(other),
)
def test_where_more_happens_rounds_are_played_one_by_one(other):
    problem = jb.Problem(**{"means": [0.9, 0.5, 0.1], "fractions": 0.1, **other})
    assert not has_commitments(*prepared(jb.policy("explore-then-commit"), problem))


@pytest.mark.cpu
def test_with_many_arms_rounds_are_played_together_where_commitments_are_long():
    problem = jb.Problem(np.full(65, 0.5), fractions=0.01)
    assert has_commitments(*prepared(jb.policy("explore-then-commit"), problem))
    assert not has_commitments(*prepared(jb.policy("explore-then-commit"), problem, deficits_ever=True))
    assert not has_commitments(*prepared(jb.policy("successive-elimination"), problem))
    assert not has_commitments(*prepared(jb.policy("t-fucb"), problem))


@pytest.mark.cpu
def test_rounds_of_other_policies_and_with_deficits_of_groups_are_played_one_by_one():
    class Mine(jb.indices.ExploreThenCommit):
        """A subclass may play other arms."""

    problem = jb.Problem([0.9, 0.5, 0.1], groups=[[0, 1], [2]], group_fractions=[0.3, 0.2])
    assert has_commitments(*prepared(jb.policy("explore-then-commit"), problem))
    assert not has_commitments(*prepared(Mine(), problem))
    assert not has_commitments(*prepared(jb.policy("ucb1"), problem))
    assert not has_commitments(*prepared(jb.policy("explore-then-commit"), problem, deficits_ever=True))


def prepared(policy, problem, deficits_ever=False):
    """The arguments of `has_commitments` for a simulation of 100 rounds and 3 runs."""
    first = np.zeros(1, int)
    policy = on_device(policy.prepare(problem, 100), first)
    world = on_device(world_of(problem, False, 100), first)
    return policy, world, begin(policy, world, (problem.arms, 1, 3), deficits_ever)
