"""What policies with phases schedule before round 1 is what their test makes of no plays."""

import jax
import numpy as np
import pytest
from sweeps import partly_fast

import jaxbandit as jb
from jaxbandit.engine.batch.blocks import on_device
from jaxbandit.engine.rollout import begin
from jaxbandit.environment.world import world_of
from jaxbandit.experiments.configs import config as configs
from jaxbandit.policies.opportunity.phases import PhasedPolicy

MEANS, COSTS = [[0.9, 0.3, 0.2], [0.1, 0.5, 0.4]], [0.3, 0.4, 0.0]
CASES = {
    "gaps are unknown": ("self-regulated", {"alpha": 0.3, "beta": 0.2}, "softmax", 0),
    "gaps are unknown, f is not": ("self-regulated", {"alpha": 1.0, "beta": 0.2}, "softmax", 0),
    "f is unknown": ("self-regulated", {"alpha": 0.3, "beta": 1.0}, "softmax", 1),
    "nothing is unknown": ("self-regulated", {"alpha": 1.0, "beta": 1.0}, "softmax", 2),
    "nothing is unknown, no opportunities": ("self-regulated", {"alpha": 1.0, "beta": 1.0}, "zero", 3),
    "all arms are entitled": ("constant-opportunity", {}, "uniform", 0),
    "no arm is entitled": ("constant-opportunity", {}, "zero", 1),
    "exploration": ("fairness-aware-etc", {"rounds_per_arm": 3}, "softmax", 0),
}


@pytest.mark.parametrize("case", partly_fast(CASES, {"f is unknown", "all arms are entitled"}))
def test_the_first_schedule_is_that_of_the_test(case, monkeypatch):
    kind, parameters, function, phase = CASES[case]
    problem = jb.Problem(MEANS, penalties=COSTS, opportunity=function)
    policy = jb.policy(kind, **parameters).prepare(problem, 400)
    cells = np.arange(2)
    placed, world = on_device(policy, cells), on_device(world_of(problem, False, 400), cells)

    def started():
        return begin(placed, world, (3, 2, 16), False).policy

    known = started()
    monkeypatch.setattr(type(policy), "first_schedule", PhasedPolicy.first_schedule)
    tested = started()
    assert jax.tree.structure(known) == jax.tree.structure(tested)
    jax.tree.map(np.testing.assert_array_equal, known, tested)
    assert np.all(np.asarray(known.phase) == phase)


def test_a_test_of_the_users_is_called_before_round_1():
    class Mine(jb.policies.ConstantOpportunity):
        def next_schedule(self, state, after):
            raise RuntimeError("called")

    problem = jb.Problem(MEANS, penalties=COSTS, opportunity="uniform")
    with pytest.raises(RuntimeError, match="called"):
        jb.simulate(problem, Mine(), horizon=9, seeds=2)


def test_a_grid_over_a_parameter_that_decides_the_first_phase_is_one_program():
    config = {
        "problem": {"means": [0.9, 0.3, 0.2], "penalties": 0.3, "opportunity": "softmax"},
        "policies": [{"kind": "self-regulated", "alpha": 0.3, "beta": [0.2, 1.0, 2.0]}],
        "simulation": {"horizon": 50, "seeds": 2},
    }
    assert len(configs.make_plan(config).stacks) == 1
