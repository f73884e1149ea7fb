"""Indices that take long are left out in rounds in which every run owes a guaranteed play; results stay the same."""

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.policies.indices import KLUCB, Thompson


class EagerThompson(Thompson):
    """Computed in every round."""

    costly = False


class EagerKLUCB(KLUCB):
    """Computed in every round."""

    costly = False


@pytest.mark.slow
@pytest.mark.parametrize(("base", "eager"), [(Thompson, EagerThompson), (KLUCB, EagerKLUCB)])
@pytest.mark.parametrize("fractions", [0.09, np.linspace(0.02, 0.17, 10)])
def test_selections_are_those_of_indices_that_are_always_computed(base, eager, fractions):
    problem = jb.Problem(np.linspace(0.1, 0.9, 10), fractions=fractions)
    assert base.costly
    pulls = [
        jb.simulate(problem, jb.policy("fair-learn", base=one), horizon=300, seeds=20, key=5).pulls.values
        for one in (base, eager)
    ]
    np.testing.assert_array_equal(*pulls)
    assert (pulls[0] >= np.floor(300 * np.broadcast_to(fractions, 10) - 1)).all()  # the last axis is that of the arms


@pytest.mark.slow
def test_an_arm_that_is_away_owes_nothing():
    """A round is not one of guaranteed plays where the arms that are behind are not available."""
    table = np.ones((4, 3), bool)
    table[:, 0] = False
    problem = jb.Problem([0.2, 0.5, 0.8], fractions=[0.4, 0.1, 0.1], availability={"table": table})
    pulls = [
        jb.simulate(problem, jb.policy("fair-learn", base=one), horizon=200, seeds=20, key=5).pulls.values
        for one in (Thompson, EagerThompson)
    ]
    np.testing.assert_array_equal(*pulls)
    assert (pulls[0][..., 0] == 0).all()
    assert pulls[0][..., 2].mean() > 120
