"""`tune`: the steps it takes, budgets, objectives and what stops it."""

import doctest
import functools
import importlib
import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import xarray as xr
from small_problem import HORIZON, SEEDS, SMALL, START

import jaxbandit as jb
from jaxbandit import tuning
from jaxbandit.core.rationals import QuotaTable
from jaxbandit.environment.ground_truth import ground_truth_of
from jaxbandit.metrics import definitions
from jaxbandit.policies.base import Policy


def tuned_once():
    """From a bonus that is too large."""
    return tuning.tune(
        SMALL, "hard-threshold-ucb", START, horizon=HORIZON, seeds=SEEDS, steps=12, check=4, optimizer=optax.adam(0.05)
    )


tuned = functools.cache(tuned_once)


def test_the_checked_step_with_the_lowest_objective_is_the_result():
    path = tuned().trajectory
    assert path.sizes == {"step": 13, "arm": 3}
    assert np.isfinite(path.hard_objective.values).tolist() == [step % 4 == 0 for step in range(13)]
    assert tuned().step == int(path.hard_objective.argmin("step"))
    np.testing.assert_array_equal(path.penalties.sel(step=tuned().step), tuned().values["penalties"])
    np.testing.assert_array_equal(path.penalties[0], START["penalties"])
    assert np.all(path.penalties >= 0)
    assert tuned().rounds == (13 + 4) * SEEDS * HORIZON
    assert list(path.data_vars) == [
        *("penalties", "objective", "objective_stderr", "gradient_norm"),
        *("penalized_regret", "hard_penalized_regret", "hard_objective"),
    ]


def test_tuning_lowers_the_regret_of_the_policy_on_other_seeds():
    before = jb.policy("hard-threshold-ucb", **START)
    fresh = jb.simulate(
        SMALL, {"before": before, "after": tuned().policy}, horizon=HORIZON, seeds=256, key=1, record=1,
        metrics=["penalized_regret"],
    )  # fmt: skip
    before, after = fresh.penalized_regret.values[:, 0, -1]
    assert after < before - 4 * np.hypot(*fresh.penalized_regret_stderr.values[:, 0, -1])


def test_tuning_again_gives_the_same():
    xr.testing.assert_identical(tuned_once().trajectory, tuned().trajectory)


def test_the_result_shows_policy_values_step_and_objective():
    values = np.round(tuned().values["penalties"], 6).tolist()
    before, after = (float(tuned().trajectory.hard_objective[step]) for step in (0, tuned().step))
    assert repr(tuned()) == (
        f"Tuned(hard-threshold-ucb: penalties = {values}; step {tuned().step} of 12; "
        f"penalized regret {before:.6g} before, {after:.6g} after)"
    )


def test_a_budget_is_met_by_the_policy_itself():
    """The start breaks it; the multiplier rises until the policy meets it, as the result does on the same seeds."""
    objective = tuning.Budget(most=4.0, multiplier=0.0, integral_gain=2.0)
    result = tuning.tune(
        SMALL, "hard-threshold-ucb", {"penalties": [0.0, 0.0, 0.0]},
        objective=objective, horizon=HORIZON, seeds=SEEDS, steps=12, check=1, learning_rate=0.2,
    )  # fmt: skip
    path = result.trajectory
    assert path.hard_unfairness[0] > 4 >= path.hard_unfairness[result.step]
    assert path.multiplier[0] == 0 < path.multiplier.max()
    inside = path.hard_regret.where(path.hard_unfairness <= 4)
    assert path.hard_regret[result.step] == inside.min()
    assert re.search(r"; step \d+ of 12; regret [\d.]+ before, [\d.]+ after; unfairness [\d.]+ before", repr(result))
    np.testing.assert_allclose(path.objective, path.regret + path.multiplier * (path.unfairness - 4), rtol=1e-5)


def test_the_multiplier_follows_the_excess_and_its_change():
    budget = tuning.Budget(most=5.0, multiplier=1.0, integral_gain=0.1, proportional_gain=2.0)
    assert budget.with_updated_multiplier(10.0, 10.0).multiplier == pytest.approx(1.1)
    assert budget.with_updated_multiplier(10.0, 5.0).multiplier == pytest.approx(1.1 + 2.0)
    assert budget.with_updated_multiplier(0.0, 5.0).multiplier == 0  # not below
    assert budget.replace(most=0.0).with_updated_multiplier(3.0, 3.0).multiplier == pytest.approx(1.3)


def test_rewards_are_those_of_the_counts():
    """The penalized reward is that of the oracle minus the penalized regret: L* = 12.8 min(gap, A) per arm."""
    counts = np.random.default_rng(0).multinomial(64, [0.5, 0.3, 0.2], (1, 1, 5)).transpose(0, 3, 1, 2).astype(float)
    quota = QuotaTable(SMALL.fractions, 1).rows(64, 1)
    inputs = definitions.metric_inputs(["penalized_regret"], np.array([64]), ground_truth_of(SMALL), quota)
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
        counts, inputs = jax.tree.map(lambda part: jnp.asarray(part, jnp.float64), (counts, inputs))
        regret = np.asarray(definitions.penalized_regret(counts, inputs))
        value = tuning.PenalizedReward().value(counts, inputs, {})
        reward = tuning.Reward().value(counts, inputs, {})
    np.testing.assert_allclose(value, 0.9 * 64 - 12.8 * (0.3 + 0.3) - regret, rtol=1e-12)
    np.testing.assert_allclose(reward, np.einsum("k,rkcs->rcs", [0.9, 0.6, 0.3], counts), rtol=1e-12)
    assert tuning.PenalizedReward().maximised
    assert tuning.Reward().maximised
    assert [tuning.MetricObjective(metric=name).maximised for name in ("regret", "utility")] == [False, True]


@pytest.mark.slow
def test_objectives_can_be_user_defined_and_maximised():
    class PlaysOfLastArm(tuning.Objective, name="plays-of-last-arm"):
        maximised = True

        def value(self, counts, inputs, measured):
            return counts[:, -1]

    result = tuning.tune(
        SMALL, "hard-threshold-ucb", {"penalties": [0.1] * 3},
        objective=PlaysOfLastArm(), horizon=HORIZON, seeds=SEEDS, steps=4, check=1, learning_rate=0.2,
    )  # fmt: skip
    del tuning.Objective.registry["plays-of-last-arm"]
    assert result.values["penalties"][2] > 0.1
    assert result.trajectory.hard_objective[result.step] == result.trajectory.hard_objective.max()


def test_an_objective_that_is_not_finite_raises_an_error_with_the_step_and_the_parameters():
    class Broken(jb.Index, name="broken-index"):
        bonus: float = jb.parameter(1.0, smooth=True)
        real_counts = True

        def value(self, state, now):
            return now.mean + jnp.log(self.bonus)

    jump = optax.GradientTransformation(  # from 1 to -1
        lambda parameters: (), lambda slopes, state, _: (jax.tree.map(lambda x: -2 * np.ones_like(x), slopes), state)
    )
    with pytest.raises(FloatingPointError, match=r"not finite in step 1, at bonus = -1\.0"):
        tuning.tune(SMALL, Broken(), ["bonus"], horizon=8, seeds=16, steps=5, optimizer=jump)
    del Policy.registry["broken-index"]


@pytest.mark.slow
def test_the_examples_of_tuning_run():
    tried = 0
    for name in ("gradients", "objective", "tune"):
        module = importlib.import_module(f"jaxbandit.tuning.{name}")
        for test in doctest.DocTestFinder().find(module, extraglobs={"jb": jb}):
            tried += len(test.examples)
            assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
    del tuning.Objective.registry["plays-of-last-arm"]
    assert tried > 15
