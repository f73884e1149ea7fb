"""Metrics of users' own: in curves, tables, figures, tuning and files, against NumPy on traces."""

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from sweeps import first_fast, partly_fast

import jaxbandit as jb
from jaxbandit.experiments import dataset
from jaxbandit.metrics.metric import METRICS
from jaxbandit.metrics.welfare import INSTANCE_NUMBERS
from jaxbandit.tuning.objective import Objective

PROBLEM = {"means": [[0.9, 0.5, 0.2], [0.3, 0.4, 0.8]], "fractions": 0.2, "penalties": 0.3, "opportunity": "softmax"}
SETTINGS = {"horizon": 60, "seeds": 6, "record": 12, "key": 2}


def gini(**attributes):
    """A fairness metric, defined anew."""

    class Gini(jb.Metric, name="gini"):
        """The mean difference between two arms' selections, over twice their mean."""

        label = "Gini coefficient (share)"

        def value(self, now):
            apart = jnp.abs(now.pulls[:, None] - now.pulls[None]).sum(axis=(0, 1))
            return apart / (2 * len(now.pulls) * now.pulls.sum(axis=0))

    for name, value in attributes.items():
        setattr(Gini, name, value)
    return Gini


def exact_gini(pulls):
    apart = np.abs(pulls[..., :, None] - pulls[..., None, :]).sum(axis=(-1, -2))
    return apart / (2 * pulls.shape[-1] * pulls.sum(axis=-1))


@pytest.mark.slow
def test_it_counts_in_curves_tables_and_figures(tmp_path):
    gini()

    class Seen(jb.Metric, name="seen"):
        """Everything that a metric sees, in one number."""

        needs = ("fractions", "penalties", "opportunity")
        needs_rewards = True
        larger_is_better = True

        def value(self, now):
            owed = now.penalties * now.deficit.clip(0) + (now.quota - now.pulls) ** 2 + now.opportunities * now.t
            return now.rewards * now.plays - (owed + now.means * now.pulls).sum(axis=0)

    policies = {"u": "ucb1", "l": "lfg"}
    results = jb.simulate(jb.Problem(**PROBLEM), policies, trace=True, runs=["gini", Seen], **SETTINGS)
    t = results["round"].values
    counts = (results.arms.values[..., None] == np.arange(3)).sum(axis=-2).cumsum(axis=-2)[..., t - 1, :]
    np.testing.assert_allclose(results.gini_runs, exact_gini(counts), rtol=1e-12)
    np.testing.assert_allclose(results.gini, results.gini_runs.mean("seed"), atol=1e-11)
    np.testing.assert_array_equal(results.gini_final, results.gini_runs.isel(round=-1))
    quota, shape = 0.2 * t[:, None], (1, -1, 1, 1, 3)
    owed = (
        0.3 * (quota - counts).clip(0)
        + (quota - counts) ** 2
        + results.opportunities.values.reshape(shape) * t[:, None]
    )
    earned = results.rewards.values.sum(axis=-1).cumsum(axis=-1)[..., t - 1]
    seen = earned - (owed + results.means.values.reshape(shape) * counts).sum(axis=-1)
    np.testing.assert_allclose(results.seen_runs, seen, rtol=1e-9, atol=1e-6)

    assert results.gini.attrs["long_name"] == "Gini coefficient (share)"
    assert results.gini.attrs["formula"].startswith("The mean difference between")
    assert "gini" in jb.summary.table(results)
    assert {"gini", "seen_stderr"} <= set(jb.grids.table(results))
    mean = results[["gini", "seen"]].isel(round=-1).mean("instance")
    assert jb.grids.best(results, "gini") == mean.gini.idxmin("policy").item()
    assert jb.grids.best(results, "seen") == mean.seen.idxmax("policy").item()
    assert "Gini coefficient (share), u minus l" in str(jb.grids.difference(results, "u", "l", metric="gini"))
    dataset.write(results, tmp_path / "results.nc")
    METRICS.pop("gini")  # as in a session without the class
    with xr.open_dataset(tmp_path / "results.nc") as kept:
        assert "gini" in jb.summary.table(kept)
        figure = jb.plots.curves(kept, ["gini"])
        assert figure.axes[0].get_ylabel() == "Gini coefficient (share)"


@pytest.mark.slow
def test_it_ends_a_simulation_and_is_tuned():
    gini()
    problem = jb.Problem([0.9, 0.5, 0.2], fractions=0.2, penalties=0.3)
    results = jb.simulate(problem, "ucb1", metrics=["gini"], until="gini_stderr<0.005", **SETTINGS)
    assert results.gini_stderr[0, 0, -1] < 0.005
    assert results.sizes["seed"] > SETTINGS["seeds"]
    made = jb.tuning.value_and_gradient(
        problem, "hard-threshold-ucb", ["penalties"], objective="gini", horizon=40, seeds=16, key=1
    )
    assert 0 < float(made.value) < 1
    assert np.isfinite(made.gradient["penalties"]).all()


@pytest.mark.slow
def test_edited_code_is_computed_anew(tmp_path):
    factor = {"factor": 1.0}

    class Scaled(jb.Metric, name="scaled"):
        def value(self, now):
            return factor["factor"] * now.t + 0 * now.pulls[0]

    def finals(**more):
        return jb.simulate(jb.Problem([0.5, 0.4]), "ucb1", metrics=["scaled"], **SETTINGS, **more).scaled_final.values

    assert np.all(finals() == 60)
    factor["factor"] = 2.0
    assert np.all(finals() == 120)

    Scaled.value = lambda self, now: -now.t
    assert np.all(finals() == -60)


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        (
            {"value": lambda self, now: now.pulls},
            r"'gini': value returned float64 .*a number per run.*to \[\*runs\]",
        ),
        ({"value": lambda self, now: now.pulls[0] / 0 * 0}, "gini at round 1 is not finite"),
        ({"needs": ("merit",)}, "simulation.metrics = 'gini': .*gini needs problem.merit"),
        ({"value": lambda self, now: now.rewards}, "metric 'gini': value returned None"),
    ],
)
def test_what_is_wrong_is_said(attributes, words):
    gini(**attributes)
    with pytest.raises((jb.InputError, FloatingPointError), match=words):
        jb.simulate(jb.Problem([0.5, 0.4]), "ucb1", metrics=["gini"], **SETTINGS)


@pytest.mark.parametrize("name", ["pulls", "two words", "regret_final", "regret", "t"])
def test_names_of_other_variables_are_refused(name):
    with pytest.raises(jb.InputError, match=r"Mine\.name"):

        class Mine(jb.Metric, name=name):
            def value(self, now):
                return now.t


def test_parameters_are_refused():
    with pytest.raises(jb.InputError, match=r"Capped\.cap = 5\.0: must be a plain class attribute"):

        class Capped(jb.Metric, name="capped"):
            cap: float = jb.parameter(5.0)

            def value(self, now):
                return jnp.minimum(now.pulls.max(axis=0), self.cap)

    assert "capped" not in METRICS


STANDING_IN = ["regret", "r_regret", "penalized_regret", "max_deficit", "group_max_deficit", "p_mean_regret"]


@pytest.mark.parametrize("name", partly_fast(STANDING_IN, ["regret"]))
def test_a_name_may_be_given_over_on_purpose(name):
    """Also one that stands for a metric which needs fractions and penalties, which the problem does not have."""

    class Mine(jb.Metric, name=name, override=True):
        def value(self, now):
            return 2.0 * now.t

    results = jb.simulate(jb.Problem([0.5, 0.4]), "ucb1", metrics=[name], **SETTINGS)
    assert np.all(results[f"{name}_final"] == 120)
    assert f"{name}_ever" not in results


@pytest.mark.slow
def test_the_largest_deficit_over_all_rounds_is_that_of_the_built_in_metric():
    class Mine(jb.Metric, name="max_deficit", override=True):
        def value(self, now):
            return -100.0 * now.t

    results = jb.simulate(jb.Problem([0.5, 0.4], fractions=0.2), "ucb1", metrics=["max_deficit"], **SETTINGS)
    assert np.all(results.max_deficit_final == -6000)
    assert "max_deficit_ever" not in results


@pytest.mark.parametrize("name", [*INSTANCE_NUMBERS, "max_deficit_ever", "group_max_deficit_ever"])
def test_names_that_results_use_otherwise_are_refused(name):
    with pytest.raises(jb.InputError, match=rf"Mine\.name = '{name}'"):

        class Mine(jb.Metric, name=name, override=True):
            def value(self, now):
                return now.t


@pytest.mark.slow
def test_a_part_of_built_in_metrics_may_be_a_metric():
    """The engine sums the lost reward for several metrics, under a name that no metric has."""

    class Lost(jb.Metric, name="lost_reward"):
        def value(self, now):
            return ((now.means.max(axis=0) - now.means) * now.pulls).sum(axis=0)

    results = jb.simulate(jb.Problem([0.5, 0.4]), "ucb1", metrics=["regret", "lost_reward"], **SETTINGS)
    np.testing.assert_allclose(results.lost_reward, results.regret, rtol=1e-12)
    np.testing.assert_allclose(results.regret[..., -1], results.regret_final.mean("seed"), rtol=1e-12)


def divided(value):
    """A metric that is computed by default, defined anew."""

    class Divided(jb.Metric, name="divided"):
        def value(self, now):
            return value(now)


FAULTY = [
    (lambda now: now.pulls / now.t, jb.ReturnedError),
    (lambda now: jnp.log(now.pulls).min(axis=0), FloatingPointError),
    (lambda now: now.deficits.sum(axis=0), AttributeError),
]


@pytest.mark.parametrize(("value", "kind"), first_fast(FAULTY))
def test_the_error_of_a_metric_that_nobody_named_tells_how_to_do_without(value, kind):
    divided(value)
    try:
        with pytest.raises(kind) as refused:
            jb.simulate(jb.Problem([0.9, 0.5, 0.1]), "ucb1", horizon=20, seeds=2)
        told = "\n".join([str(refused.value), *getattr(refused.value, "__notes__", [])])
        assert "etrics=[...] leaves it out, and jb.unregister('metrics', 'divided') removes it" in told
        with pytest.raises(kind) as refused:
            jb.simulate(jb.Problem([0.9, 0.5, 0.1]), "ucb1", horizon=20, seeds=2, metrics=["divided"])
        assert "unregister" not in str(refused.value)
    finally:
        jb.unregister("metrics", "divided")
    assert "divided" not in jb.simulate(jb.Problem([0.9, 0.5, 0.1]), "ucb1", horizon=20, seeds=2)


def test_names_of_ones_own_can_be_removed():
    class Own(jb.Index, name="own-index"):
        def value(self, state, now):
            return now.mean

    assert "own-index" in jb.list_policies()
    jb.unregister("policies", "own-index")
    assert "own-index" not in jb.list_policies()
    with pytest.raises(jb.InputError, match=r"^name = 'own-index': must be one of"):
        jb.unregister("policies", "own-index")
    with pytest.raises(jb.InputError, match=r"^name = 'regret': .*'regret' is built in"):
        jb.unregister("metrics", "regret")
    with pytest.raises(jb.InputError, match=r"^kind = 'metric': .*did you mean 'metrics'"):
        jb.unregister("metric", "regret")


@pytest.mark.parametrize(
    "value",
    [
        lambda self, now: now.pulls[0] / now.pulls.sum(),
        lambda self, now: now.pulls.sum(),
        lambda self, now: now.pulls[0] / now.pulls.max(),
        lambda self, now: (now.pulls / now.pulls.sum(axis=(0, 1), keepdims=True))[0],
        lambda self, now: now.rewards - now.rewards.mean(),
        lambda self, now: now.pulls[0] * now.pulls.shape[-1],
    ],
)
def test_values_that_depend_on_other_runs_are_refused(value):
    type("Mixed", (jb.Metric,), {"value": value, "needs_rewards": True, "__module__": "users_module"}, name="mixed")
    says = r"metric 'mixed': value returned .* for a run alone and .* beside others; expected a number per run that do"
    with pytest.raises(jb.InputError, match=says):
        jb.simulate({"means": [0.9, 0.5]}, "ucb1", horizon=9, seeds=2, metrics=["mixed"])


def test_values_from_python_are_refused():
    drawn = np.random.default_rng()
    type("Drawn", (jb.Metric,), {"value": lambda self, now: now.pulls[0] + drawn.random()}, name="drawn")
    with pytest.raises(jb.InputError, match=r"metric 'drawn': a second call .* something else; .* \(random numbers"):
        jb.simulate({"means": [0.9, 0.5]}, "ucb1", horizon=9, seeds=2, metrics=["drawn"])


def test_values_that_are_not_finite_for_made_up_counts_are_of_each_run():
    class Ratio(jb.Metric, name="ratio"):
        def value(self, now):
            return jnp.where(now.pulls.sum(axis=0) == now.t, now.pulls[0] / now.t, jnp.nan)

    results = jb.simulate({"means": [0.9, 0.5]}, "ucb1", horizon=9, seeds=2, metrics=["ratio"])
    np.testing.assert_allclose(results.ratio_final, results.pulls.isel(arm=0) / 9)


@pytest.mark.parametrize("name", ["reward", "penalized_reward", "budget", "metric", "objective", "step"])
def test_a_name_that_tuning_uses_is_refused(name):
    with pytest.raises(jb.InputError, match=rf"Mine\.name = '{name}': must be a name that `jb\.tuning` does not use"):

        class Mine(jb.Metric, name=name):
            def value(self, now):
                return now.pulls[0]


def test_the_names_of_all_objectives_are_refused():
    kinds = set(Objective.registry)
    for name in kinds:
        with pytest.raises(jb.InputError, match="does not use"):
            type("Mine", (jb.Metric,), {"value": lambda self, now: now.t}, name=name)
    assert len(kinds) >= 5


def test_needs_are_keys_of_a_problem():
    class One(jb.Metric, name="one"):
        needs = "fractions"

        def value(self, now):
            return now.deficit[0]

    assert One.needs == ("fractions",)
    assert "one" not in jb.simulate({"means": [0.9, 0.5]}, "ucb1", horizon=9, seeds=2)
    with pytest.raises(jb.InputError, match=r"Two\.needs.*fraction.*did you mean 'fractions'"):
        type("Two", (jb.Metric,), {"needs": ("fraction",), "value": lambda self, now: now.t})
