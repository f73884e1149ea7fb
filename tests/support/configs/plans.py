"""Whether two plans simulate the same runs."""

import tomllib

import jax
import numpy as np
import tomli_w

from jaxbandit.engine.settings import SimulationSettings
from jaxbandit.experiments.configs import config
from jaxbandit.experiments.simulate import plan_and_config


def assert_same_plan(one, other):
    """Two plans have the same labels, policies, problems, settings and records: every number, bit for bit."""
    for name in ("horizon", "seeds", "key"):
        assert getattr(one.settings, name) == getattr(other.settings, name), name
    assert one.metrics == other.metrics
    np.testing.assert_array_equal(one.rounds, other.rounds)
    ours, theirs = (
        [(made.label, made.family, list(made.point)) for made in plan.configurations] for plan in (one, other)
    )
    assert ours == theirs
    assert [stack.configurations for stack in one.stacks] == [stack.configurations for stack in other.stacks]
    for mine, theirs in zip(one.stacks, other.stacks, strict=True):
        parts = [(stack.policy, stack.world, *vars(stack.ground_truth).values()) for stack in (mine, theirs)]
        assert_same_arrays(*parts)


def assert_same_arrays(one, other):
    """Two trees have the same structure and the same arrays, as the devices take them."""
    leaves, structure = jax.tree.flatten(one)
    others, same = jax.tree.flatten(other)
    assert structure == same
    for mine, theirs in zip(leaves, others, strict=True):
        np.testing.assert_array_equal(*(_on_device(np.asarray(leaf)) for leaf in (mine, theirs)), strict=True)


def _on_device(array):
    return array.astype(np.float32) if array.dtype.kind == "f" else array


def assert_recorded(problem, policies, grid=None, **settings):
    """The config that results would carry plans the same simulation; returns that config."""
    plan, recorded = plan_and_config(problem, policies, SimulationSettings(**settings), grid)
    read = tomllib.loads(tomli_w.dumps(recorded))
    assert_same_plan(config.make_plan(read), plan)
    return read
