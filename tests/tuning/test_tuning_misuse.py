"""What a user may give to `tune` by mistake, or for good reasons: a clear error or a result."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from small_problem import HORIZON, SEEDS, SMALL, START

import jaxbandit as jb
from jaxbandit import tuning
from jaxbandit.core.errors import InputError, ReturnedError
from jaxbandit.engine.host.progress_bar import Progress
from jaxbandit.tuning.goal import make_goal
from jaxbandit.tuning.parameters import make_tunables
from jaxbandit.tuning.search.evaluation import Evaluator

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SETTING = {"horizon": HORIZON, "seeds": SEEDS, "steps": 1, "final_seeds": 256}
SEVERAL = jb.Problem([[0.9, 0.5, 0.3], [0.4, 0.8, 0.6]], fractions=0.2, penalties=0.3)


def tune(problem=SMALL, policy="hard-threshold-ucb", parameters=START, **changes):
    return tuning.tune(
        problem, policy, parameters, **{**SETTING, "objective": {"kind": "budget", "most": 4.0}, **changes}
    )


# Values that are not finite.


def metric(value):
    """A metric of the user's, defined anew; it ends with the test."""

    class OddMetric(jb.Metric, name="odd"):
        """A metric that is not always a number."""

        def value(self, now):
            return value(now)

    return OddMetric


class Odd(tuning.Objective):
    """The plays of arm 0, NaN above `most`."""

    most: float = jb.parameter(0.0)

    def value(self, counts, inputs, measured):
        return jnp.where(counts[:, 0] > self.most, jnp.nan, counts[:, 0])


class Shapeless(tuning.Objective):
    def value(self, counts, inputs, measured):
        return counts


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["odd", {"minimize": "regret", "subject_to": {"metric": "odd", "at_most": 1}}])
def test_a_metric_that_is_not_finite_anywhere(objective):
    metric(lambda now: now.pulls[0] * jnp.nan)
    with pytest.raises(FloatingPointError, match=r"odd at round 64 is not finite"):
        tune(objective=objective)


@pytest.mark.slow
def test_an_objective_that_is_not_finite_anywhere():
    with pytest.raises(FloatingPointError, match=r"^the objective or a limited metric is not finite at any"):
        tune(objective=Odd())
    with pytest.raises(FloatingPointError, match=r"^the objective or its gradient is not finite at penalties = \[0\.6"):
        tuning.value_and_gradient(SMALL, "hard-threshold-ucb", START, objective=Odd(), horizon=HORIZON, seeds=SEEDS)


@pytest.mark.slow
def test_points_where_the_objective_is_not_finite_are_not_chosen():
    """Low rates play arm 0 often: NaN there. The best finite point is chosen."""
    found = tune(objective=Odd(most=44.0), steps=2)
    for point in found.points[1:]:
        assert np.isfinite(point.objective)
    assert found.points[-1].objective <= found.points[1].objective
    with pytest.warns(UserWarning, match=r"not finite at \d+ of \d+ points, the start among them; these points cannot"):
        tune(objective=Odd(most=42.0), parameters={"penalties": [0.01, 0.01, 0.01]}, steps=1)


@pytest.mark.slow
def test_points_where_a_metric_is_not_finite_are_not_refused_by_the_policy():
    metric(lambda now: jnp.where(now.pulls[0] > 42.0, jnp.nan, now.pulls[0]))
    limit = {"metric": "odd", "at_most": 100.0}
    words = r"not finite at \d+ of \d+ points.*; these points cannot be the result; the first error: .*odd at round 64"
    with pytest.warns(UserWarning, match=words):
        found = tune(objective={"minimize": "regret", "subject_to": limit}, parameters={"penalties": [0.4, 0.1, 0.1]})
    assert not [warning for warning in found.warnings if "refused" in warning]


def test_a_limited_metric_is_not_named_as_a_parameter():
    type("Mine", (jb.Metric,), {"value": lambda self, now: now.pulls[0]}, name="exploration")
    limit = {"metric": "exploration", "at_most": 100.0}
    with pytest.raises(InputError, match=r"metric = 'exploration': must be a metric without the name of a tuned para"):
        tune(SMALL, "ucb1", ["exploration"], objective={"minimize": "regret", "subject_to": limit})


def test_whole_numbers_are_for_grids():
    words = r"^parameters = 'window': must be a parameter that may be any real number.*; a grid .*\(here: exploration\)"
    with pytest.raises(InputError, match=words):
        tune(SMALL, "sliding-window-ucb", ["window"])


@pytest.mark.slow
def test_an_objective_of_a_wrong_shape():
    with pytest.raises(ReturnedError, match=r"^objective 'Shapeless': value returned an array of shape \(1, 3, 1, "):
        tune(objective=Shapeless())
    with pytest.raises(ReturnedError, match="expected float"):
        tuning.value_and_gradient(SMALL, "hard-threshold-ucb", START, objective=Shapeless(), horizon=HORIZON, seeds=8)


# Several instances.


@pytest.mark.slow
@pytest.mark.parametrize("over", ["mean", "worst"])
def test_instances(over):
    """The means, or the worst instance of each, from runs of `jb.simulate`."""
    limits = [{"metric": "unfairness", "at_most": 5.0}, {"metric": "unfairness", "at_least": 0.5}]
    found = tune(SEVERAL, objective={"minimize": "regret", "subject_to": limits, "over": over}, steps=2)
    choose = {"mean": (np.mean, np.mean), "worst": (np.max, np.min)}[over]
    names = ["unfairness"] if over == "mean" else ["unfairness", "unfairness_at_least"]
    policies = {
        point.name: {"kind": "hard-threshold-ucb", "penalties": [point.values["penalties"].tolist()]}
        for point in found.points
    }
    fresh = jb.simulate(
        SEVERAL, policies, horizon=HORIZON, seeds=1024, first_seed=SEEDS, record=1, metrics=["regret", "unfairness"]
    )
    regret, missed = fresh.regret_final.values, fresh.unfairness_final.values  # [policy, instance, seed]
    for place, point in enumerate(found.points):
        means = {n: choose[0](regret[place, :, :n].mean(axis=1)) for n in (256, 512, 768, 1024)}
        count = min(means, key=lambda n: abs(means[n] - point.objective))
        np.testing.assert_allclose(point.objective, means[count], rtol=1e-6)
        assert list(point.limited) == names
        for name, function in zip(names, choose, strict=False):
            expected = function(missed[place, :, :count].mean(axis=1))
            np.testing.assert_allclose(point.limited[name], expected, rtol=1e-6)
    lines = repr(found).splitlines()
    assert "unfairness <= 5" in lines[1]
    assert "unfairness >= 0.5" in lines[1]
    assert {*names, "multiplier_unfairness", "multiplier_unfairness_at_least"} <= set(found.trajectory)
    assert len(found.figure().axes) == 3 + len(names)


# Arguments.


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"key": jax.random.key(3)},
        {"key": np.uint64(2**63 + 1)},
        {"horizon": np.int64(HORIZON), "seeds": np.int32(SEEDS), "steps": np.int64(1)},
        {"parameters": {"penalties": np.array([0.6, 0.6, 0.6], np.float32)}},
        {"parameters": {"penalties": jnp.array([0.6, 0.6, 0.6])}},
        {"policy": {"kind": "hard-threshold-ucb", "penalties": [0.6, 0.6, 0.6]}, "parameters": ("penalties",)},
        {"learning_rate": 1e30},
    ],
    ids=lambda changes: "-".join(changes),
)
def test_numbers_of_any_library_and_unusual_values(changes):
    assert np.isfinite(tune(**changes).values["penalties"]).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"policy": {"kind": "lfg", "eta": [1.0, 2.0]}, "parameters": ["eta"]},
            "policies.eta = [1.0, 2.0]: must be a number or 3 numbers, one per arm",
        ),
        ({"policy": ["ucb1", "lfg"]}, "policies.kind = ['ucb1', 'lfg']: must be the name of a policy"),
        ({"parameters": ["eta"]}, "parameters = 'eta': must be one of exploration, log_offset, penalties"),
        ({"parameters": {"penalties"}}, "parameters = {'penalties'}: must be a list of names"),
        ({"parameters": {}}, "parameters = {}: must be a list of names"),
        (
            {"parameters": {"penalties": [[0.1, 0.2, 0.3]]}},
            "parameters.penalties = [[0.1, 0.2, 0.3]]: must be a number, or",
        ),
        (
            {"problem": jb.Problem([0.9, 0.5, 0.1]), "policy": "ucb1", "parameters": ["exploration"]},
            "objective = 'unfairness': must be one of ",
        ),
        (
            {"policy": {"kind": "min-probability", "floor": 0.0}, "parameters": {"floor": 0.9}},
            "parameters.floor = 0.9: must be at most L / K = 1 / 3",
        ),
        (
            {
                "problem": jb.Problem([0.9, 0.5, 0.1], plays=2, fractions=0.1),
                "policy": "fair-mmab",
                "parameters": {"J": 2},
            },
            "parameters = 'J': must be a parameter that may be any real number",
        ),
        (
            {"objective": {"minimize": {"regret": 0.0}}},
            "objective.minimize.weights = (('regret', 0.0),): must be a table",
        ),
        ({"horizon": 0}, "simulation.horizon = 0: must be a whole number >= 1"),
        ({"seeds": 1}, "seeds = 1: must be a whole number >= 2"),
        ({"final_seeds": 1}, "final_seeds = 1: must be a whole number >= 2"),
        ({"final_seeds": 1 << 30}, "final_seeds = 1073741824: must be at most "),
        ({"key": -1}, "simulation.key = -1: must be an integer from 0 to 2^64 - 1"),
        ({"optimizer": optax.adam}, "optimizer = <function adam"),
        ({"optimizer": optax.lbfgs()}, "optimizer = GradientTransformationExtraArgs("),
        ({"optimizer": optax.sgd(float("nan"))}, "optimizer = GradientTransformation"),
        ({"keep": 3}, "keep = 3: must be the path of a folder"),
        ({"progress": "yes"}, "progress = 'yes': must be true or false"),
        ({"common": True}, "unknown key common; valid keys: "),
        ({"constraint": "projection"}, "unknown key constraint; valid keys: "),
        ({"temperature": 0.1}, "temperature = 0.1: must not be given with the estimator 'perturbation'"),
    ],
)
def test_what_cannot_be_used_is_refused(changes, message):
    with pytest.raises(InputError) as caught:
        tune(**changes)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("keep", ["/proc/jaxbandit/here", __file__])
def test_a_folder_that_cannot_be_written(keep):
    with pytest.raises(jb.WriteError, match=r"unfinished/run\.toml cannot be written"):
        tune(keep=keep)


@pytest.mark.slow
def test_points_that_are_all_refused_in_the_first_call_are_an_error_and_later_have_no_value():
    class Few(jb.Metric, name="few_plays_of_arm_1"):
        """N_1, which is NaN above 25."""

        def value(self, now):
            return jnp.where(now.pulls[1] > 25, jnp.nan, now.pulls[1] * 1.0)

    try:
        problem, policy = SMALL.replace(fractions=[0.1, 0.6, 0.1], penalties=0.5), jb.policy("hard-threshold-ucb")
        tunables = make_tunables(policy.prepare(problem, HORIZON), ["penalties"], "perturbation", 3)
        goal = make_goal(
            {"minimize": "regret", "subject_to": [{"metric": "few_plays_of_arm_1", "at_most": 9}]}, problem
        )
        evaluate = Evaluator(problem, policy, tunables, goal, HORIZON, 0, Progress(1, 1, shown=False))
        fine, refused = ({"penalties": np.full(3, value)} for value in (0.0, 9.0))
        with pytest.raises(FloatingPointError, match="few_plays_of_arm_1"):
            evaluate([refused], SEEDS)
        assert np.isfinite(evaluate([fine, refused], SEEDS).objective[0]).all()
        later = evaluate([refused, refused], SEEDS)
        assert later.objective.shape == (2, 1, SEEDS)
        assert np.isnan([later.objective, later.metrics["few_plays_of_arm_1"]]).all()
        assert (len(evaluate.refusals), len(evaluate.failures)) == (0, 3)
    finally:
        jb.unregister("metrics", "few_plays_of_arm_1")
