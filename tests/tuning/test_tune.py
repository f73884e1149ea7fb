"""`tune`: what it compares, that the result keeps its limits, known optima, and what stops it."""

import doctest
import functools
import importlib
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from small_problem import HORIZON, SEEDS, SMALL, START
from sweeps import swept

import jaxbandit as jb
from jaxbandit import tuning
from jaxbandit.core.rationals import QuotaTable
from jaxbandit.engine.batch.blocks import Size
from jaxbandit.engine.simulation import run
from jaxbandit.environment.ground_truth import ground_truth_of
from jaxbandit.metrics import definitions, formulas
from jaxbandit.tuning import Goal, Limit
from jaxbandit.tuning.search import evaluation

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
BUDGET = {"kind": "budget", "most": 4.0}
SETTING = {"horizon": HORIZON, "seeds": SEEDS, "steps": 5, "final_seeds": 256}


def tune(parameters=START, policy="hard-threshold-ucb", **changes):
    return tuning.tune(SMALL, policy, parameters, **{**SETTING, "objective": BUDGET, **changes})


tuned = functools.cache(tune)


def finals(policy, metric, **changes):
    """A metric of each run at the horizon."""
    options = {"horizon": HORIZON, "seeds": 256, "record": 1, "metrics": [metric], **changes}
    return jb.simulate(SMALL, policy, **options)[f"{metric}_final"].values[0]


# What is compared, and the trajectory.


@pytest.mark.slow
def test_the_points_are_simulated_on_fresh_runs_that_all_have_in_common():
    """Runs from `seeds` on: the means are those of `jb.simulate` with as many runs, or a few times as many."""
    assert [point.name for point in tuned().points] == ["start", "common", "result"]
    policies = {
        point.name: {"kind": "hard-threshold-ucb", "penalties": [point.values["penalties"].tolist()]}
        for point in tuned().points
    }
    fresh = jb.simulate(
        SMALL, policies, horizon=HORIZON, seeds=1024, first_seed=SEEDS, record=1, metrics=["regret", "unfairness"]
    )
    for place, point in enumerate(tuned().points):
        regret, missed = fresh.regret_final.values[place, 0], fresh.unfairness_final.values[place, 0]
        counts = range(256, 1025, 256)
        count = min(counts, key=lambda n: abs(regret[:n].std(ddof=1) / np.sqrt(n) - point.objective_stderr))
        np.testing.assert_allclose(point.objective, regret[:count].mean(), rtol=1e-6)
        np.testing.assert_allclose(point.objective_stderr, regret[:count].std(ddof=1) / np.sqrt(count), rtol=1e-5)
        np.testing.assert_allclose(point.limited["unfairness"], missed[:count].mean(), rtol=1e-6)
        upper = missed[:count].mean() + 1.96 * missed[:count].std(ddof=1) / np.sqrt(count)
        assert point.meets_limits == (upper <= 4.0)


@pytest.mark.slow
def test_the_result_keeps_its_limit_on_other_random_numbers_and_is_better_than_the_start():
    points = {point.name: point for point in tuned().points}
    assert points["result"].meets_limits
    policies = {
        name: {"kind": "hard-threshold-ucb", "penalties": [points[name].values["penalties"].tolist()]}
        for name in ("start", "result")
    }
    fresh = jb.simulate(
        SMALL, policies, horizon=HORIZON, seeds=1024, key=11, record=1, metrics=["regret", "unfairness"]
    )
    missed = fresh.unfairness_final.values[1, 0]
    assert missed.mean() <= 4.0 + 3 * missed.std() / 32
    start, result = fresh.regret_final.values[:, 0]
    assert result.mean() < start.mean() - 1.0
    if points["common"].meets_limits:
        assert points["result"].objective <= points["common"].objective


@pytest.mark.slow
def test_the_trajectory_begins_with_the_start_and_the_best_common_value():
    path = tuned().trajectory
    assert path.sizes["arm"] == 3
    assert 3 <= path.sizes["step"] <= 2 + SETTING["steps"]
    assert list(path.data_vars) == [
        *("penalties", "objective", "objective_stderr", "unfairness", "unfairness_stderr", "multiplier_unfairness"),
        "gradient_norm",
    ]
    np.testing.assert_allclose(path.penalties[0], START["penalties"], rtol=1e-12)
    assert np.unique(path.penalties[1]).size == 1
    np.testing.assert_allclose(path.penalties[1], tuned().points[1].values["penalties"])
    assert np.isnan(path.multiplier_unfairness[:2]).all()
    assert (path.multiplier_unfairness[2:] >= 0).all()
    assert np.isfinite(path.gradient_norm[2:]).all()
    assert np.isfinite(path.objective).all()
    runs = finals(jb.policy("hard-threshold-ucb", **START), "regret", seeds=SEEDS)[0]
    np.testing.assert_allclose(path.objective[0], runs.mean(), rtol=1e-6)
    np.testing.assert_allclose(path.objective_stderr[0], runs.std(ddof=1) / np.sqrt(SEEDS), rtol=1e-5)
    runs = finals(jb.policy("hard-threshold-ucb", **START), "unfairness", seeds=SEEDS)[0]
    np.testing.assert_allclose(path.unfairness_stderr[0], runs.std(ddof=1) / np.sqrt(SEEDS), rtol=1e-5)
    assert tuned().rounds > 41 * SEEDS // 2 * HORIZON


@pytest.mark.cpu
def test_its_simulations_share_few_programs(monkeypatch):
    """Of 16, 32, 64, 256 and 1024 seeds, and of 1 to 41 points."""
    sizes = set()

    def watched(plan):
        sizes.update(plan.sizes)
        return run(plan)

    monkeypatch.setattr(evaluation, "run", watched)
    tune()
    assert sizes == {Size(16, 64), Size(4, 256), Size(1, 1024)}


def test_tuning_again_gives_the_same():
    again = tune()
    xr.testing.assert_identical(again.trajectory, tuned().trajectory)
    assert repr(again) == repr(tuned())


def test_a_progress_bar_counts_the_rounds(capsys):
    found = tune(progress=True)
    shown = capsys.readouterr().err
    assert f"{found.rounds / 1e6:.2f}M" in shown
    assert "selections/s" in shown


def test_the_result_prints_as_a_table():
    lines = repr(tuned()).splitlines()
    assert re.fullmatch(r"hard-threshold-ucb: (converged|stopped) after \d steps; means ± 95 % on fresh runs", lines[0])
    assert re.fullmatch(r" +regret \(reward\) +unfairness <= 4 +values", lines[1])
    for line, point in zip(lines[2:5], tuned().points, strict=True):
        assert line.startswith(f"{point.name} ")
        numbers = ", ".join(f"{number:.4g}" for number in point.values["penalties"])
        assert line.endswith(f"penalties = [{numbers}]")
        number, half = re.search(r"([\d.]+) ± ([\d.]+)", line).groups()
        assert abs(float(number) - point.objective) < 0.06
        assert abs(float(half) - 1.96 * point.objective_stderr) < 0.06
    assert [line.removeprefix("warning: ") for line in lines[5:]] == list(tuned().warnings)


def test_the_figure_shows_objective_limit_parameters_and_prices():
    figure = tuned().figure()
    assert [axis.get_ylabel() for axis in figure.axes] == [
        *("regret (reward)", "unfairness (missed rounds)", "parameters", "objective per unit of the limit"),
    ]
    assert {axis.get_xlabel() for axis in figure.axes} == {"step"}
    labels = [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    assert "unfairness <= 4" in labels
    assert len(figure.axes[2].get_legend().get_texts()) == 3


# Known optima.


class Share(jb.Policy):
    """Plays arm 0 with probability p, else arm 1."""

    p: float = jb.parameter(0.9, low=0, high=1)

    def select(self, state, now):
        drawn = now.random.uniform() < self.p
        return jnp.concatenate([drawn, ~drawn])


class PlaysOfArm0(tuning.Objective):
    maximised = True
    label = "plays of arm 0"

    def value(self, counts, inputs, measured):
        return counts[:, 0]


def share_of_arm_0():
    """A metric with values from 0 to 1, defined anew; it ends with the test."""

    class Share0(jb.Metric, name="share_of_0"):
        """N_0(t) / t."""

        label = "share of arm 0"

        def value(self, now):
            return now.pulls[0] / now.t

    return Share0


T = 100
TWO_ARMS = jb.Problem([0.2, 1.0], fractions=[0.5, 0.0], reward="constant")  # regret: 0.8 N_0
OPTIMA = {
    # What to tune for, and the best p: N_0 is binomial with mean p T.
    "a budget": ({"kind": "budget", "most": 10.0}, 0.4),  # 0.5 T - p T <= 10
    "at least a share": ({"minimize": "regret", "subject_to": {"metric": "share_of_0", "at_least": 0.3}}, 0.3),
    "between two shares": (
        {
            "minimize": {"regret": -2.0},
            "subject_to": [{"metric": "share_of_0", "at_least": 0.1}, {"metric": "share_of_0", "at_most": 0.25}],
        },
        0.25,
    ),
    "a maximised objective": (Goal(PlaysOfArm0(), (Limit("share_of_0", 0.6),)), 0.6),
    "a weighted sum": ({"minimize": {"regret": 1.0, "unfairness": 1.6}}, 0.5),  # the missed round counts twice
    "no limit": ("regret", 0.0),
    "the upper end": (PlaysOfArm0(), 1.0),
}


@pytest.mark.parametrize("name", swept(OPTIMA, OPTIMA.keys() - {"at least a share", "no limit", "between two shares"}))
def test_a_known_optimum(name):
    """Up to the width of the interval that keeps a limit with confidence, and the bend of the missed rounds."""
    objective, best = OPTIMA[name]
    share_of_arm_0()
    found = tuning.tune(TWO_ARMS, Share(), ["p"], objective=objective, horizon=T, seeds=SEEDS, steps=5, final_seeds=512)
    inside = 0.01 if found.goal.limits else (0.06 if name == "a weighted sum" else 0.0)
    assert abs(float(found.values["p"]) - best) <= inside
    assert found.points[-1].meets_limits
    assert found.policy == Share(p=float(found.values["p"]))
    if name == "a maximised objective":
        np.testing.assert_allclose(found.points[-1].objective, T * best, rtol=0.02)
        assert found.trajectory.objective.attrs["long_name"] == "plays of arm 0"


# What stops it, and what the user gives.


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["relaxed", "score"])
def test_slopes_may_come_from_a_soft_policy(estimator):
    found = tune(estimator=estimator)
    assert found.points[-1].meets_limits
    assert found.points[-1].objective < found.points[0].objective - 1.0


@pytest.mark.slow
def test_several_parameters_of_different_shapes():
    found = tune({"penalties": [0.3, 0.2, 0.1], "exploration": 2.0}, steps=3)
    assert found.values["penalties"].shape == (3,)
    assert found.values["exploration"].shape == ()
    assert "penalties = [" in repr(found)
    assert "exploration = " in repr(found)
    assert found.trajectory.exploration.dims == ("step",)
    assert finals(found.policy, "unfairness", first_seed=SEEDS).mean() <= 4.2


@pytest.mark.slow
def test_a_number_for_all_arms_is_tuned_as_one_number():
    found = tune({"penalties": 0.6}, steps=3)
    assert found.values["penalties"].shape == ()
    assert isinstance(found.policy.penalties, float)
    assert found.points[-1].meets_limits


@pytest.mark.parametrize("estimator", ["perturbation", pytest.param("relaxed", marks=pytest.mark.slow)])
def test_parameters_that_start_at_0(estimator):
    """The start misses every round that it can; the search leaves it."""
    found = tune({"penalties": [0.0] * 3}, estimator=estimator)
    assert found.points[0].values["penalties"].tolist() == [0.0] * 3
    assert not found.points[0].meets_limits
    assert found.points[-1].meets_limits


@pytest.mark.slow
def test_one_round_and_two_runs():
    found = tune(horizon=1, seeds=2, final_seeds=2, steps=1)
    assert np.isfinite(found.points[-1].objective)


@pytest.mark.slow
def test_double_precision(float64):
    found = tune(seeds=16, final_seeds=64, steps=2)
    assert found.values["penalties"].dtype == np.float64
    assert found.points[-1].meets_limits
    expected = finals(found.policy, "regret", first_seed=16, seeds=64)[0].mean()
    if found.points[-1].objective_stderr > 0.04:
        np.testing.assert_allclose(found.points[-1].objective, expected, rtol=1e-9)


@pytest.mark.slow
def test_rewards_are_those_of_the_counts():
    """The penalized reward is that of the oracle minus the penalized regret: L* = 12.8 min(gap, A) per arm."""
    counts = np.random.default_rng(0).multinomial(64, [0.5, 0.3, 0.2], (1, 1, 5)).transpose(0, 3, 1, 2).astype(float)
    quota = QuotaTable(SMALL.fractions, 1).rows(64, 1)
    inputs = definitions.metric_inputs(["penalized_regret"], np.array([64]), ground_truth_of(SMALL, 64), quota)
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
        counts, inputs = jax.tree.map(lambda part: jnp.asarray(part, jnp.float64), (counts, inputs))
        regret = np.asarray(formulas.penalized_regret(counts, inputs))
        value = tuning.PenalizedReward().value(counts, inputs, {})
        reward = tuning.Reward().value(counts, inputs, {})
    np.testing.assert_allclose(value, 0.9 * 64 - 12.8 * (0.3 + 0.3) - regret, rtol=1e-12)
    np.testing.assert_allclose(reward, np.einsum("k,rkcs->rcs", [0.9, 0.6, 0.3], counts), rtol=1e-12)
    assert tuning.PenalizedReward().maximised
    assert tuning.Reward().maximised
    assert [tuning.MetricObjective(metric=name).maximised for name in ("regret", "utility")] == [False, True]


@pytest.mark.slow
def test_the_examples_of_tuning_run():
    tried = 0
    for name in ("goal", "estimators.gradients", "objective", "tune", "tuned"):
        module = importlib.import_module(f"jaxbandit.tuning.{name}")
        for test in doctest.DocTestFinder().find(module, extraglobs={"jb": jb}):
            tried += len(test.examples)
            assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
    del tuning.Objective.registry["plays-of-last-arm"]
    assert tried > 15
