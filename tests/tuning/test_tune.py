"""`tune`: the steps it takes, budgets, objectives and what stops it."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import xarray as xr

import jaxbandit as jb
from jaxbandit import tuning
from jaxbandit.policies.base import Policy

SMALL = jb.Problem([0.9, 0.5, 0.3], fractions=0.2, penalties=0.3)


def test_tuning_lowers_the_regret_of_the_policy_itself():
    """From a bonus that is too large; the result is ready to simulate, and the best step is the one kept."""
    result = tuning.tune(
        SMALL, "hard-threshold-ucb", {"penalties": [0.6, 0.6, 0.6]},
        horizon=100, seeds=32, steps=12, check=4, optimizer=optax.adam(0.05),
    )  # fmt: skip
    path = result.trajectory
    assert path.sizes == {"step": 13, "arm": 3}
    assert np.isfinite(path.hard_objective.values).tolist() == [step % 4 == 0 for step in range(13)]
    assert result.step == int(path.hard_objective.argmin("step"))
    np.testing.assert_array_equal(path.penalties.sel(step=result.step), result.values["penalties"])
    assert np.all(path.penalties >= 0)
    assert result.rounds == (13 + 4) * 32 * 100
    fresh = jb.simulate(
        SMALL, {"before": jb.policy("hard-threshold-ucb", penalties=[0.6] * 3), "after": result.policy},
        horizon=100, seeds=256, key=1, record=1,
    )  # fmt: skip
    before, after = fresh.penalized_regret.values[:, 0, -1]
    assert after < before - 4 * np.hypot(*fresh.penalized_regret_stderr.values[:, 0, -1])
    again = tuning.tune(
        SMALL, "hard-threshold-ucb", {"penalties": [0.6, 0.6, 0.6]},
        horizon=100, seeds=32, steps=12, check=4, optimizer=optax.adam(0.05),
    )  # fmt: skip
    xr.testing.assert_identical(again.trajectory, path)


def test_a_budget_is_met_by_the_policy_itself():
    """The start breaks it; the price rises until the policy keeps it, and what is kept keeps it on the same seeds."""
    objective = tuning.Budget(most=4.0, multiplier=0.0, pace=0.5)
    result = tuning.tune(
        SMALL, "hard-threshold-ucb", {"penalties": [0.0, 0.0, 0.0]},
        objective=objective, horizon=100, seeds=32, steps=12, check=1, learning_rate=0.2,
    )  # fmt: skip
    path = result.trajectory
    assert path.hard_unfairness[0] > 4 >= path.hard_unfairness[result.step]
    assert path.price[0] == 0 < path.price.max()
    inside = path.hard_regret.where(path.hard_unfairness <= 4)
    assert path.hard_regret[result.step] == inside.min()
    np.testing.assert_allclose(path.objective, path.regret + path.price * (path.unfairness - 4), rtol=1e-5)


@pytest.mark.slow
def test_rewards_are_maximised_and_objectives_can_be_ones_own():
    class Played(tuning.Objective, name="played"):
        maximised = True

        def value(self, counts, truth, measured):
            return counts[:, -1]

    def slope(objective):
        found = tuning.value_and_gradient(
            SMALL, "hard-threshold-ucb", ["penalties"], objective=objective, horizon=64, seeds=16
        )
        return found.value, found.gradient["penalties"]

    value, gradient = slope("penalized_reward")
    regret, opposite = slope("penalized_regret")
    np.testing.assert_allclose(gradient, -opposite, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(value, 0.9 * 64 - 12.8 * (0.3 + 0.3) - regret, rtol=1e-5)  # L* = 12.8 min(gap, A) an arm
    result = tuning.tune(
        SMALL,
        "hard-threshold-ucb",
        {"penalties": [0.1] * 3},
        objective=Played(),
        horizon=60,
        seeds=16,
        steps=4,
        check=1,
    )
    assert result.values["penalties"][2] > 0.1
    assert result.trajectory.hard_objective[result.step] == result.trajectory.hard_objective.max()


def test_a_number_that_is_none_stops_with_step_and_parameters():
    class Broken(jb.Index, name="broken-index"):
        bonus: float = jb.parameter(1.0, smooth=True)
        real_counts = True

        def value(self, state, now):
            return now.mean + jnp.log(self.bonus)

    with pytest.raises(FloatingPointError, match=r"step 1, at bonus = -1\.0"):
        tuning.tune(SMALL, Broken(), ["bonus"], horizon=64, seeds=16, steps=5, optimizer=_Jump())
    del Policy.registry["broken-index"]


def _Jump():  # noqa: N802
    """An optimiser that takes the parameter from 1 to -1."""
    return optax.GradientTransformation(
        lambda p: (), lambda g, s, p: (jax.tree.map(lambda x: -2 * np.ones_like(x), g), s)
    )
